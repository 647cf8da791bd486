#include "sim/schedule/orders/fixed_kinds.h"

#include <cstdint>

#include <fmt/format.h>

#include "sim/schedule/orders/orders.h"

namespace stepcast::sim {
namespace {

// At 28 bytes per action with its start and end this is 1.9 GB. A larger size is a mistake, not a plan: 64 ranks
// x 8 chunks x 1024 micro-batches are 1 million.
constexpr std::int64_t max_actions = std::int64_t{1} << 26;

// clang-format off
/// Families in the order in which the kinds are listed; a further one is a line here.
constexpr std::vector<ScheduleKind> (*families[])() = {
    orders::flush_kinds,     orders::interleaved_kinds, orders::grouped_kinds, orders::zero_bubble_kinds,
    orders::v_pattern_kinds, orders::both_ways_kinds,   orders::sliced_kinds,
};
// clang-format on

Expected<void> at_least_one(const char* what, int value) {
  if (value >= 1) return {};
  return fail(what, fmt::format("{} is {}", what, value), fmt::format("{} 1 or more", what));
}

Expected<void> not_too_large(const ScheduleKind& kind, const ScheduleSize& size) {
  const double passes = kind.splits_backward ? 3 : 2;
  const double actions = passes * size.ranks * chunks_of(kind, size) * size.micro_batches * size.slices;
  if (actions <= static_cast<double>(max_actions)) return {};
  return fail("schedule",
      fmt::format("{} ranks x {} chunks x {} micro-batches are {:.3g} actions", size.ranks, chunks_of(kind, size),
          size.micro_batches, actions),
      fmt::format("at most {}", max_actions));
}

/// "chunks 1, or schedule a, b or c": the kinds that have what this one lacks.
std::string kinds_that(bool ScheduleKind::*takes) {
  std::vector<std::string> ids;
  for (const ScheduleKind& kind : fixed_kinds()) {
    if (kind.*takes) ids.push_back(kind.id);
  }
  const std::string last = ids.back();
  ids.pop_back();
  return ids.empty() ? last : fmt::format("{} or {}", fmt::join(ids, ", "), last);
}

Expected<void> check_chunks(const ScheduleKind& kind, const ScheduleSize& size) {
  if (size.chunks == 1 || kind.takes_chunks || size.chunks == kind.own_chunks) return {};
  if (kind.own_chunks > 0) {
    return fail("chunks",
        fmt::format("schedule '{}' runs {} chunks per rank, not {}", kind.id, kind.own_chunks, size.chunks),
        fmt::format("leave it out, or chunks {}", kind.own_chunks));
  }
  return fail("chunks", fmt::format("schedule '{}' runs one chunk per rank, not {}", kind.id, size.chunks),
      fmt::format("chunks 1, or schedule {}", kinds_that(&ScheduleKind::takes_chunks)));
}

Expected<void> check_group(const ScheduleKind& kind, const ScheduleSize& size) {
  if (size.group < 0) return fail("group", fmt::format("group is {}", size.group), "group 1 or more, or leave it out");
  if (size.group == 0 || kind.takes_group) return {};
  return fail("group", fmt::format("schedule '{}' takes no group (found {})", kind.id, size.group),
      fmt::format("leave it out, or schedule {}", kinds_that(&ScheduleKind::takes_group)));
}

Expected<void> check_slices(const ScheduleKind& kind, const ScheduleSize& size) {
  if (size.slices == 1 || kind.takes_slices) return {};
  return fail("slices", fmt::format("schedule '{}' does not cut the sequence (found {} slices)", kind.id, size.slices),
      fmt::format("slices 1, or schedule {}", kinds_that(&ScheduleKind::takes_slices)));
}

}  // namespace

const std::vector<ScheduleKind>& fixed_kinds() {
  static const std::vector<ScheduleKind> kinds = [] {
    std::vector<ScheduleKind> all;
    for (const auto family : families) {
      for (ScheduleKind& kind : family()) all.push_back(std::move(kind));
    }
    return all;
  }();
  return kinds;
}

Expected<void> check_size(const ScheduleKind& kind, const ScheduleSize& size) {
  TRY(at_least_one("ranks", size.ranks));
  TRY(at_least_one("chunks", size.chunks));
  TRY(at_least_one("micro-batches", size.micro_batches));
  TRY(at_least_one("slices", size.slices));
  TRY(not_too_large(kind, size));
  TRY(check_chunks(kind, size));
  TRY(check_group(kind, size));
  TRY(check_slices(kind, size));
  return kind.legal != nullptr ? kind.legal(size) : Expected<void>{};
}

}  // namespace stepcast::sim
