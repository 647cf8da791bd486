#include "studies/sweep/result/result.h"
#include "studies/run/forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/base/text.h"

namespace stepcast::sweep {
namespace {

/// Less is better, whatever the figure; what is no number loses against all that is one.
double badness(Figure figure, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  return row_of(figure).more_is_better ? -value : value;
}

double badness_of(Figure figure, const SweepRow& row) {
  return badness(figure, row.figures[static_cast<std::size_t>(figure)]);
}

/// By one figure, ties by the index: the order of both lists.
bool comes_before(const SweepRow& a, const SweepRow& b, Figure figure) {
  const double bad_a = badness_of(figure, a), bad_b = badness_of(figure, b);
  return bad_a != bad_b ? bad_a < bad_b : a.index < b.index;
}

Figure sweep_objective(const SweepQuestion& question) {
  return find_figure(question.objective, "objective").value_or(Figure::step_time);
}

}  // namespace

std::uint64_t SweepQuestion::size() const {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();  // what readers of JSON take
  std::uint64_t product = 1;
  for (const SweepAxis& axis : axes)
    if (axis.values.empty()) return 0;
  for (const SweepAxis& axis : axes) {
    if (product > most / axis.values.size()) return most;
    product *= axis.values.size();
  }
  return product;
}

std::string text_hash(std::string_view text) { return fmt::format("{:016x}", fnv1a(text)); }

void SweepTally::add(const SweepTally& other) {
  const bool nearer = other.smallest_overflow_bytes < smallest_overflow_bytes ||
                      (other.smallest_overflow_bytes == smallest_overflow_bytes &&
                          other.smallest_overflow_index < smallest_overflow_index);
  if (other.does_not_fit > 0 && (does_not_fit == 0 || nearer)) {
    smallest_overflow_bytes = other.smallest_overflow_bytes;
    smallest_overflow_index = other.smallest_overflow_index;
  }
  enumerated += other.enumerated;
  does_not_fit += other.does_not_fit;
  excluded += other.excluded;
  for (const auto& [reason, n] : other.illegal) illegal[reason] += n;
}

std::uint64_t SweepTally::illegal_sum() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, n] : illegal) sum += n;
  return sum;
}

bool SweepResult::complete() const { return missing(done, range_of(shard, question.size())).empty(); }

bool better(const SweepRow& a, const SweepRow& b, const SweepQuestion& question) {
  return comes_before(a, b, sweep_objective(question));
}

bool dominates(const Figures& a, const Figures& b, const std::vector<Figure>& front) {
  bool better_in_one = false;
  for (const Figure figure : front) {
    const auto i = static_cast<std::size_t>(figure);
    const double bad_a = badness(figure, a[i]), bad_b = badness(figure, b[i]);
    if (bad_a > bad_b) return false;
    better_in_one |= bad_a < bad_b;
  }
  return better_in_one;
}

void keep_top(std::vector<SweepRow>& top, SweepRow row, const SweepQuestion& question) {
  const auto before = [by = sweep_objective(question)](
                          const SweepRow& a, const SweepRow& b) { return comes_before(a, b, by); };
  const bool full = top.size() >= question.top;
  if (full && (top.empty() || !before(row, top.back()))) return;
  const auto at = std::lower_bound(top.begin(), top.end(), row, before);
  if (at != top.end() && at->index == row.index) return;
  if (full) top.pop_back();  // `at` is at or before it, as the row comes before it
  top.insert(at, std::move(row));
}

void keep_front(std::vector<SweepRow>& front, SweepRow row, const std::vector<Figure>& figures) {
  if (figures.empty()) return;
  const Figure first = figures.front();
  const double bad = badness_of(first, row);
  // Who is worse in the first figure cannot dominate the row, who is better there cannot be dominated by it.
  const auto ties =
      std::partition_point(front.begin(), front.end(), [&](const SweepRow& r) { return badness_of(first, r) < bad; });
  const auto worse =
      std::partition_point(ties, front.end(), [&](const SweepRow& r) { return badness_of(first, r) <= bad; });
  for (auto other = front.begin(); other != worse; ++other)
    if (other->index == row.index || dominates(other->figures, row.figures, figures)) return;
  front.erase(
      std::remove_if(ties, front.end(), [&](const SweepRow& r) { return dominates(row.figures, r.figures, figures); }),
      front.end());
  const auto at = std::lower_bound(
      front.begin(), front.end(), row, [&](const SweepRow& a, const SweepRow& b) { return comes_before(a, b, first); });
  front.insert(at, std::move(row));
}

}  // namespace stepcast::sweep
