#include "dataflow/chip/search/search_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/chip/resolve/legality.h"
#include "dataflow/chip/resolve/numbers.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow::mapper {
namespace {

using Loop = SearchConstraints::Loop;

std::string stated(const Loop& loop, const ChipLevel& level) {
  return fmt::format("'{}' at {}", loop.text, level.name);
}

/// Stated loops over one dim, outer to inner, each with its level.
std::vector<std::pair<const Loop*, const ChipLevel*>> loops_over(
    int dim, const ChipProgram& start, const SearchConstraints& constraints) {
  std::vector<std::pair<const Loop*, const ChipLevel*>> found;
  for (std::size_t l = 0; l < constraints.levels.size(); ++l)
    for (const auto* list : {&constraints.levels[l].space, &constraints.levels[l].time})
      for (const Loop& loop : *list)
        if (loop.dim == dim) found.emplace_back(&loop, &start.levels[l]);
  return found;
}

Expected<void> check_once(const ChipProgram& start, const SearchConstraints& constraints) {
  for (std::size_t l = 0; l < constraints.levels.size(); ++l)
    for (const auto* list : {&constraints.levels[l].time, &constraints.levels[l].space})
      for (std::size_t i = 0; i < list->size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if ((*list)[i].dim == (*list)[j].dim && (*list)[i].axis == (*list)[j].axis)
            return fail(to_text((*list)[i].position),
                fmt::format("{} is a second loop over {} there", stated((*list)[i], start.levels[l]),
                    start.dims[(*list)[i].dim].name),
                "a search takes one loop per dim and level, or per dim and axis: multiply the two");
  return {};
}

Expected<void> check_units(const ChipProgram& start, const SearchConstraints& constraints) {
  for (std::size_t l = 0; l < constraints.levels.size(); ++l) {
    std::vector<std::int64_t> parts(start.levels[l].axes.size(), 1);
    for (const Loop& loop : constraints.levels[l].space) {
      const ChipAxis& axis = start.levels[l].axes[loop.axis];
      parts[loop.axis] = safe_product(parts[loop.axis], std::max<std::int64_t>(1, loop.trips));
      if (parts[loop.axis] > axis.units)
        return fail(to_text(loop.position),
            fmt::format("'{}' makes {} parts on an axis of {} units of {}", loop.text, parts[loop.axis], axis.units,
                start.levels[l].name),
            fmt::format("at most {} here",
                std::max<std::int64_t>(1, axis.units / (parts[loop.axis] / std::max<std::int64_t>(1, loop.trips)))));
    }
  }
  return {};
}

Expected<void> check_factors(const ChipProgram& start, const SearchConstraints& constraints) {
  for (int d = 0; d < static_cast<int>(start.dims.size()); ++d) {
    const auto loops = loops_over(d, start, constraints);
    const bool ragged = std::any_of(loops.begin(), loops.end(), [](const auto& loop) { return loop.first->ragged; });
    std::int64_t left = start.dims[d].extent;
    const Loop* last = nullptr;
    for (const auto& [loop, level] : loops) {
      if (loop->trips == 0 || ragged) continue;
      if (left % loop->trips != 0)
        return fail(to_text(loop->position),
            fmt::format("{} does not divide {}, what the other stated factors leave of {} ({})", stated(*loop, *level),
                left, start.dims[d].name, start.dims[d].extent),
            fmt::format("one of: {}; or '{}:{}?' for a short last round", divisors_near(left, loop->trips),
                start.dims[d].name, loop->trips));
      left /= loop->trips;
      last = loop;
    }
    if (left == 1 || last == nullptr || ragged) continue;
    bool open = false;
    for (std::size_t l = 0; l < start.levels.size(); ++l) {
      const auto fixed = [&](const Loop& loop) { return loop.dim == d && loop.trips > 0; };
      open = open || (start.levels[l].store &&
                         std::none_of(constraints.levels[l].time.begin(), constraints.levels[l].time.end(), fixed));
      open = open || (!start.levels[l].axes.empty() &&
                         std::none_of(constraints.levels[l].space.begin(), constraints.levels[l].space.end(), fixed));
    }
    if (!open)
      return fail(to_text(last->position),
          fmt::format("the stated factors of {} give {} of {}, and every level states one", start.dims[d].name,
              start.dims[d].extent / left, start.dims[d].extent),
          fmt::format("leave one of them open, such as '{}:*'", start.dims[d].name));
  }
  return {};
}

/// Stated loops alone make the smallest tiles that stated lists must hold.
Expected<void> check_tiles(const ChipProgram& start, const SearchConstraints& constraints) {
  ChipProgram least = start;
  std::vector<Position> places(start.levels.size());
  for (std::size_t l = 0; l < start.levels.size(); ++l) {
    ChipLevel& level = least.levels[l];
    level.space.clear();
    level.time.clear();
    for (const Loop& loop : constraints.levels[l].space)
      if (loop.trips > 1) level.space.push_back({loop.dim, loop.trips, loop.axis, loop.ragged, loop.position});
    for (const Loop& loop : constraints.levels[l].time)
      if (loop.trips > 1) level.time.push_back({loop.dim, loop.trips, -1, loop.ragged, loop.position});
    places[l] = constraints.levels[l].position;
  }
  TRY(check_keeps(start, places));
  bool outermost = true;
  for (std::size_t l = 0; l < start.levels.size(); ++l) {
    if (!start.levels[l].store) continue;
    if (outermost)  // holds all there is, whatever the loops
      for (int d = 0; d < static_cast<int>(start.dims.size()); ++d)
        least.levels[l].time.push_back({d, start.dims[d].extent, -1, true, {}});
    else if (!constraints.levels[l].keeps) least.levels[l].keeps.assign(start.tensors.size(), false);
    outermost = false;
  }
  return check_capacity(least, places);
}

}  // namespace

Expected<void> check_constraints(const ChipProgram& start, const SearchConstraints& constraints) {
  TRY(check_once(start, constraints));
  TRY(check_units(start, constraints));
  TRY(check_factors(start, constraints));
  return check_tiles(start, constraints);
}

std::vector<std::int64_t> stated_extents(const ChipProgram& start, const SearchConstraints& constraints) {
  std::vector<std::int64_t> extents;
  for (int d = 0; d < static_cast<int>(start.dims.size()); ++d) {
    std::int64_t parts = 1;
    bool ragged = false;
    for (const auto& [loop, level] : loops_over(d, start, constraints)) {
      if (loop->trips > 0) parts = safe_product(parts, loop->trips);
      ragged = ragged || loop->ragged;
    }
    const std::int64_t extent = start.dims[d].extent;
    extents.push_back(ragged ? (extent + parts - 1) / parts * parts : extent);
  }
  return extents;
}

}  // namespace stepcast::dataflow::mapper
