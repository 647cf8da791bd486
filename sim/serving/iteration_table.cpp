#include "sim/serving/iteration_table.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {
namespace {

/// All whole numbers up to 32, then 16 to each doubling: a line through what grows with the square is off by a
/// two-thousandth between them.
constexpr double whole_numbers = 32;
constexpr double per_doubling = 16;

double value_at(std::uint64_t index) {
  const auto i = static_cast<double>(index);
  return i <= whole_numbers ? i : std::round(whole_numbers * std::exp2((i - whole_numbers) / per_doubling));
}

/// The point below, and how far it is to the next.
struct Place {
  std::uint64_t below = 0;
  double share = 0;
};

Place place_of(double x) {
  if (x <= whole_numbers) {
    const double below = std::floor(x);
    return {static_cast<std::uint64_t>(below), x - below};
  }
  auto below = static_cast<std::uint64_t>(whole_numbers + per_doubling * std::log2(x / whole_numbers));
  if (value_at(below) > x) --below;
  const double low = value_at(below), high = value_at(below + 1);
  if (x >= high) return {below + 1, 0};
  return {below, (x - low) / (high - low)};
}

std::uint64_t nearest(double x) {
  const Place place = place_of(x);
  return place.share > 0.5 ? place.below + 1 : place.below;
}

void add(IterationSums& sums, const IterationSums& other, double share) {
  sums.kernels += other.kernels * share, sums.moves += other.moves * share, sums.rereads += other.rereads * share;
  sums.sequences += other.sequences * share, sums.launched += other.launched * share;
}

constexpr unsigned field = 16;  ///< bits of each part of a key

}  // namespace

bool IterationTable::replayed(double sequences) const {
  return cost_->engine().captured && sequences <= static_cast<double>(cost_->engine().most_captured);
}

const IterationSums& IterationTable::words_at(std::uint64_t sequences, std::uint64_t context) {
  const auto [found, anew] = words_.try_emplace(sequences << field | context);
  if (anew) {
    const Rows words{static_cast<double>(sequences), 1, value_at(context)};
    form_->add_attention(found->second, std::span(&words, 1), *cost_);
  }
  return found->second;
}

const IterationSums& IterationTable::prompts_at(
    std::uint64_t words, std::uint64_t prompts, std::uint64_t positions, std::uint64_t cached) {
  const auto [found, anew] = prompts_.try_emplace(((words << field | prompts) << field | positions) << field | cached);
  if (anew) {
    // Without prompts every number of sequences has a point of its own.
    const double running = prompts > 0 ? value_at(words) : static_cast<double>(words);
    const Rows rows[] = {
        {running, 1, 1}, {static_cast<double>(prompts), std::max(1.0, value_at(positions)), value_at(cached)}};
    const std::size_t from = running > 0 ? 0 : 1, to = prompts > 0 ? 2 : 1;
    const std::span<const Rows> packed(rows + from, to - from);
    found->second = form_->packed_sums(form_->pack(packed), *cost_, prompts == 0 && replayed(running));
    if (prompts > 0) form_->add_attention(found->second, std::span(rows + 1, 1), *cost_);
  }
  return found->second;
}

IterationSums IterationTable::sums(const Batch& batch) {
  IterationSums sums;
  const auto words = static_cast<std::uint64_t>(batch.words), prompts = static_cast<std::uint64_t>(batch.prompts);
  if (prompts == 0) {
    sums = prompts_at(words, 0, 0, 0);
  } else {
    // Prompts of one length that have as many pairs of positions.
    const double each = batch.positions / batch.prompts,
                 behind = std::max(0.0, batch.pairs / batch.positions - each / 2);
    const Place long_as = place_of(each), far = place_of(behind);
    const std::uint64_t beside = nearest(batch.words);
    for (const int p : {0, 1})
      for (const int c : {0, 1})
        if (const double share = (p == 1 ? long_as.share : 1 - long_as.share) * (c == 1 ? far.share : 1 - far.share);
            share > 0)
          add(sums, prompts_at(beside, prompts, long_as.below + p, far.below + c), share);
    sums.sequences = batch.words + batch.prompts;
  }
  if (words > 0) {
    const Place place = place_of(batch.contexts / batch.words);
    add(sums, words_at(words, place.below), 1 - place.share);
    if (place.share > 0) add(sums, words_at(words, place.below + 1), place.share);
  }
  return sums;
}

}  // namespace stepcast::sim
