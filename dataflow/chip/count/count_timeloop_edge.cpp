#include "dataflow/chip/count/count_timeloop_edge.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "dataflow/chip/count/count_parts.h"

namespace stepcast::dataflow::counting {
namespace {

using Point = std::vector<std::int64_t>;
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

Point plus(Point a, const Point& b, std::int64_t sign = 1) {
  for (std::size_t r = 0; r < a.size(); ++r) a[r] += sign * b[r];
  return a;
}

/// T less T shifted by -by, as disjoint boxes.
std::vector<Box> less_shifted(const Box& tile, const Point& by) {
  for (std::size_t r = 0; r < tile.size(); ++r)
    if (std::abs(by[r]) >= tile[r].second - tile[r].first) return {tile};
  std::vector<Box> parts;
  Box middle = tile;
  for (std::size_t r = 0; r < tile.size(); ++r) {
    const auto [low, high] = std::pair{tile[r].first - by[r], tile[r].second - by[r]};
    Box side = middle;
    if (middle[r].first < low) side[r] = {middle[r].first, low}, parts.push_back(side), middle[r].first = low;
    if (high < middle[r].second) side[r] = {high, middle[r].second}, parts.push_back(side), middle[r].second = high;
  }
  return parts;
}

std::int64_t elements_of(const std::vector<Box>& boxes) {
  std::int64_t sum = 0;
  for (const Box& box : boxes) {
    std::int64_t elements = 1;
    for (const auto& [low, high] : box) elements *= high - low;
    sum += elements;
  }
  return sum;
}

/// The shift that turns a into b, if one does.
std::optional<Point> shift_between(std::vector<Box> a, std::vector<Box> b) {
  if (a.empty() || a.size() != b.size()) return std::nullopt;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Point shift;
  for (std::size_t r = 0; r < a[0].size(); ++r) shift.push_back(b[0][r].first - a[0][r].first);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t r = 0; r < shift.size(); ++r)
      if (a[i][r].first + shift[r] != b[i][r].first || a[i][r].second + shift[r] != b[i][r].second) return std::nullopt;
  return shift;
}

}  // namespace

TimeloopEdge::TimeloopEdge(const Nest& nest, int tensor, int outer)
    : nest_(nest), shape_(nest.shape[tensor]), outer_(outer),
      tile_(shape_.rank, {0, 1}), units_{{0, 0, Point(shape_.rank, 0)}} {
  inside_.fill(1);
  for (int i = nest.loops - 1; i >= 0; --i) take(nest.loop[i]);
  std::sort(units_.begin(), units_.end(), [](const Unit& a, const Unit& b) {
    return std::pair{a.row, a.column} < std::pair{b.row, b.column};
  });
  count_steps();
}

double TimeloopEdge::reads() const {
  double all = 0;
  for (const auto& [groups, elements] : reads_) all += elements;
  return all;
}

double TimeloopEdge::copies() const {
  double all = 0;
  for (const auto& [groups, elements] : reads_) all += elements * static_cast<double>(groups.first);
  return all;
}

/// Group by group, as Timeloop adds them: the integer part of the sum is what it prints.
double TimeloopEdge::share() const {
  double all = 0;
  for (const auto& [groups, elements] : reads_) all += elements * static_cast<double>(groups.first) / units();
  return all;
}

std::int64_t TimeloopEdge::tile() const { return elements_of({tile_}); }

TimeloopEdge::Point TimeloopEdge::moves(int dim, std::int64_t rounds) const {
  Point by(shape_.rank, 0);
  for (int r = 0; r < shape_.rank; ++r)
    for (int k = 0; k < shape_.index[r].terms; ++k)
      if (shape_.index[r].dim[k] == dim) by[r] = shape_.index[r].step[k] * rounds;
  return by;
}

void TimeloopEdge::take(const Nest::Loop& loop) {
  const Point by = moves(loop.dim, inside_[loop.dim]);
  inside_[loop.dim] *= loop.trips;
  if (slot(loop) > 2 * (outer_ + 1)) {
    for (int r = 0; r < shape_.rank; ++r) tile_[r].second += by[r] * (loop.trips - 1);
  } else if (!loop.space) {
    rounds_.push_back({loop.trips, by, {}});
  } else if (loop.level == outer_ + 1) {
    const std::int64_t pitch = loop.down ? rows_ : columns_;
    const std::vector<Unit> before = std::exchange(units_, {});
    for (std::int64_t n = 0; n < loop.trips; ++n)
      for (Unit unit : before) {
        (loop.down ? unit.row : unit.column) += n * pitch;
        for (int r = 0; r < shape_.rank; ++r) unit.at[r] += n * by[r];
        units_.push_back(unit);
      }
    (loop.down ? rows_ : columns_) *= loop.trips;
  }
}

void TimeloopEdge::count_steps() {
  Point inner(shape_.rank, 0);
  for (std::size_t k = 0; k < rounds_.size(); ++k) {
    Round& round = rounds_[k];
    const Point own = round.by;
    round.by = plus(own, inner, -1);
    inner = plus(inner, own);
    round.fresh = round.by == rounds_[0].by ? less_shifted(tile_, round.by) : std::vector<Box>{tile_};
  }
  const Round first{1, Point(shape_.rank, 0), {tile_}};
  step(first, nullptr, 1);
  if (rounds_.empty()) return;
  const auto innermost = static_cast<double>(rounds_[0].trips - 1);
  step(rounds_[0], &first, innermost);
  for (std::size_t k = 1; k < rounds_.size(); ++k) {
    double times = static_cast<double>(rounds_[k].trips - 1);
    for (std::size_t out = k + 1; out < rounds_.size(); ++out) times *= static_cast<double>(rounds_[out].trips);
    step(rounds_[k], &rounds_[0], times);
    step(rounds_[0], &rounds_[k], innermost * times);
  }
}

/// One kind of step, after another kind, so many times.
void TimeloopEdge::step(const Round& now, const Round* before, double times) {
  const double elements = static_cast<double>(elements_of(now.fresh)) * times;
  if (elements == 0) return;
  std::map<Point, std::int64_t> all, unserved;
  double served = 0;
  const auto shift = before ? shift_between(now.fresh, before->fresh) : std::nullopt;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    ++all[units_[i].at];
    if (shift && neighbour_has(i, plus(plus(units_[i].at, now.by), *shift, -1))) ++served;
    else ++unserved[units_[i].at];
  }
  const bool forwards = unserved.size() < all.size();
  std::map<std::int64_t, std::int64_t> groups;
  for (const auto& [at, together] : forwards ? unserved : all) ++groups[together];
  for (const auto& [together, times_over] : groups)
    reads_[{together, times_over}] += elements * static_cast<double>(times_over);
  if (forwards) forwarded_ += elements * served;
}

/// Is there a unit at `at` beside unit i? Timeloop numbers units along the rows used and steps by the array's width.
bool TimeloopEdge::neighbour_has(std::size_t i, const Point& at) const {
  const auto [across, down] = nest_.mesh[outer_ + 1];
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(across, columns_));
  const std::size_t count = units_.size();
  const auto has = [&](std::size_t j) { return j < count && units_[j].at == at; };
  if (std::max<std::int64_t>(down, rows_) > 1 && ((i >= width && has(i - width)) || has(i + width))) return true;
  return width > 1 && ((i % width != 0 && has(i - 1)) || (i % width != width - 1 && has(i + 1)));
}

}  // namespace stepcast::dataflow::counting
