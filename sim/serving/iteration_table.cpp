#include "sim/serving/iteration_table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepcast::sim {
namespace {

/// All whole numbers up to 32, then 8 to each doubling: between two of them a line through what grows with the square
/// is off by a five-hundredth.
constexpr double whole_numbers = 32;
constexpr double per_doubling = 8;

constexpr std::size_t highest = 512;  ///< 32 x 2^60

const std::array<double, highest>& values() {
  static const std::array<double, highest> all = [] {
    std::array<double, highest> made{};
    for (std::size_t i = 0; i < highest; ++i) {
      const auto at = static_cast<double>(i);
      made[i] = at <= whole_numbers ? at : std::round(whole_numbers * std::exp2((at - whole_numbers) / per_doubling));
    }
    return made;
  }();
  return all;
}
double value_at(std::uint64_t index) { return values()[index]; }

/// The point below, and how far it is to the next.
struct Place {
  std::uint64_t below = 0;
  double share = 0;
};

/// `last`: a point that was below one asked for before, which the next is often near to.
Place place_of(double x, std::uint64_t& last) {
  if (x <= whole_numbers) {
    const double below = std::floor(x);
    return {static_cast<std::uint64_t>(below), x - below};
  }
  if (value_at(last) > x || value_at(last + 1) <= x) {
    constexpr int first_doubling = 5;  // 2^5 = whole_numbers
    const int doublings = std::ilogb(x) - first_doubling;
    last = static_cast<std::uint64_t>(whole_numbers + per_doubling * doublings);
    while (value_at(last + 1) <= x) ++last;
  }
  const double low = value_at(last), high = value_at(last + 1);
  return {last, (x - low) / (high - low)};
}

std::uint64_t nearest(double x) {
  std::uint64_t any = 0;
  const Place place = place_of(x, any);
  return place.share > 0.5 ? place.below + 1 : place.below;
}

constexpr unsigned field = 16;  ///< bits of each part of a key

}  // namespace

bool IterationTable::replayed(double sequences) const {
  return cost_->engine().captured && sequences <= static_cast<double>(cost_->engine().most_captured);
}

std::uint64_t IterationTable::padded(std::uint64_t sequences) const {
  const auto size = std::ranges::lower_bound(sizes_, static_cast<std::int64_t>(sequences));
  return size == sizes_.end() ? sequences : static_cast<std::uint64_t>(*size);
}

IterationTable::Known& IterationTable::at(Row& row, std::uint64_t index) {
  if (row.size() <= index) row.resize(index + 1);
  return row[index];
}

const IterationSums& IterationTable::words_by_row(std::uint64_t sequences, std::uint64_t context) {
  if (word_rows_.size() <= sequences) word_rows_.resize(sequences + 1);
  Known& known = at(word_rows_[sequences], context);
  if (!known.priced) {
    const Rows words{static_cast<double>(sequences), 1, value_at(context)};
    form_->add_rows(known.sums, std::span(&words, 1), *cost_);
    known.priced = true;
  }
  return known.sums;
}

const IterationSums& IterationTable::prompts_by_row(
    std::uint64_t prompts, std::uint64_t positions, std::uint64_t cached) {
  const auto [found, anew] = prompt_rows_.try_emplace((prompts << field | positions) << field | cached);
  if (anew) {
    const Rows rows{static_cast<double>(prompts), std::max(1.0, value_at(positions)), value_at(cached)};
    form_->add_rows(found->second, std::span(&rows, 1), *cost_);
  }
  return found->second;
}

const IterationSums& IterationTable::words_alone(std::uint64_t sequences) {
  Known& known = at(words_, sequences);
  if (!known.priced) {
    const Rows words{static_cast<double>(sequences), 1, 1};
    known.sums =
        form_->packed_sums(form_->pack(std::span(&words, 1)), *cost_, replayed(static_cast<double>(sequences)));
    known.priced = true, ++points_;
  }
  return known.sums;
}

const IterationSums& IterationTable::packed(
    std::uint64_t words, std::uint64_t prompts, std::uint64_t positions, std::uint64_t cached) {
  const auto [found, anew] = packed_.try_emplace(((words << field | prompts) << field | positions) << field | cached);
  if (anew) {
    const Rows rows[] = {
        {value_at(prompts), std::max(1.0, value_at(positions)), value_at(cached)}, {value_at(words), 1, 1}};
    const std::span<const Rows> both(rows, words > 0 ? 2 : 1);
    found->second = form_->packed_sums(form_->pack(both), *cost_, false);
    ++points_;
  }
  return found->second;
}

/// Prompts of one length that have as many pairs of positions as these.
void IterationTable::add_prompts(IterationSums& sums, const Batch& batch) {
  const double each = batch.positions / batch.prompts, behind = std::max(0.0, batch.pairs / batch.positions - each / 2);
  std::uint64_t any = 0;
  const Place longs = place_of(each, any), far = place_of(behind, any);
  const std::uint64_t beside = nearest(batch.words), together = nearest(batch.prompts);
  const auto prompts = static_cast<std::uint64_t>(batch.prompts);
  const bool keys = form_->counts_keys();
  for (const unsigned p : {0U, 1U}) {
    const double of_length = p == 1 ? longs.share : 1 - longs.share;
    if (of_length == 0) continue;
    if (!keys) sums.add(packed(beside, together, longs.below + p, 0), of_length);
    for (const unsigned c : {0U, 1U}) {
      const double share = of_length * (c == 1 ? far.share : 1 - far.share);
      if (share == 0) continue;
      if (keys) sums.add(packed(beside, together, longs.below + p, far.below + c), share);
      sums.add(prompts_by_row(prompts, longs.below + p, far.below + c), share);
    }
  }
}

IterationSums IterationTable::sums(const Batch& batch) {
  IterationSums sums;
  const auto words = static_cast<std::uint64_t>(batch.words);
  if (batch.prompts > 0) add_prompts(sums, batch);
  else sums = words_alone(padded(words));
  sums.sequences = batch.words + batch.prompts, sums.positions = batch.words + batch.positions;
  sums.hosts = form_->stages(), sums.host_pace = cost_->engine().pace();
  if (words == 0) return sums;
  const Place place = place_of(batch.contexts / batch.words, last_context_);
  sums.add(words_by_row(words, place.below), 1 - place.share);
  if (place.share > 0) sums.add(words_by_row(words, place.below + 1), place.share);
  return sums;
}

}  // namespace stepcast::sim
