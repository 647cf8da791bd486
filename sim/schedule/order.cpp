#include "sim/schedule/order.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

#include <fmt/format.h>

#include "sim/schedule/search/greedy.h"
#include "sim/schedule/orders/orders.h"

namespace stepcast {
namespace {

// At 28 bytes per action with its start and end this is 1.9 GB. A larger size is a mistake, not a plan: 64 ranks
// x 8 chunks x 1024 micro-batches are 1 million.
constexpr std::int64_t max_actions = std::int64_t{1} << 26;

/// Families in the order in which the kinds are listed; a further one is a line here.
constexpr std::vector<ScheduleKind> (*families[])() = {
    orders::flush_kinds,     orders::interleaved_kinds, orders::grouped_kinds, orders::zero_bubble_kinds,
    orders::v_pattern_kinds, orders::both_ways_kinds,   orders::sliced_kinds,
    orders::timed_kinds,
};

const std::vector<ScheduleKind>& kind_table() {
  static const std::vector<ScheduleKind> kinds = [] {
    std::vector<ScheduleKind> all;
    for (const auto family : families) {
      for (ScheduleKind& kind : family()) all.push_back(std::move(kind));
    }
    return all;
  }();
  return kinds;
}

Expected<void> at_least_one(const char* what, int value) {
  if (value >= 1) return {};
  return fail(what, fmt::format("{} is {}", what, value), fmt::format("{} 1 or more", what));
}

Expected<void> not_too_large(const ScheduleKind& kind, const ScheduleSize& size) {
  const double passes = kind.splits_backward ? 3 : 2;
  const double actions = passes * size.ranks * chunks_of(kind, size) * size.micro_batches * size.slices;
  if (actions <= static_cast<double>(max_actions)) return {};
  return fail("schedule",
              fmt::format("{} ranks x {} chunks x {} micro-batches are {:.3g} actions", size.ranks,
                          chunks_of(kind, size), size.micro_batches, actions),
              fmt::format("at most {}", max_actions));
}

/// "chunks 1, or schedule a, b or c": the kinds that have what this one lacks.
std::string kinds_that(bool ScheduleKind::*takes) {
  std::vector<std::string> ids;
  for (const ScheduleKind& kind : kind_table()) {
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
  if (size.group < 0)
    return fail("group", fmt::format("group is {}", size.group), "group 1 or more, or leave it out");
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

std::string to_text(const Action& action) {
  constexpr char letter[] = {'F', 'B', 'I', 'W'};
  return fmt::format("{}(s={}, mb={})", letter[static_cast<int>(action.kind)], action.stage, action.micro_batch);
}

std::span<const ScheduleKind> schedule_kinds() { return kind_table(); }

Expected<const ScheduleKind*> find_schedule(const std::string& id) {
  std::vector<std::string> ids;
  for (const ScheduleKind& kind : kind_table()) {
    if (kind.id == id) return &kind;
    ids.push_back(kind.id);
  }
  return fail("schedule", fmt::format("unknown schedule '{}'", id), name_hint(id, ids));
}

int chunks_of(const ScheduleKind& kind, const ScheduleSize& size) {
  return kind.own_chunks > 0 ? kind.own_chunks : size.chunks;
}

Expected<void> check_size(const ScheduleKind& kind, const ScheduleSize& size) {
  if (auto ok = at_least_one("ranks", size.ranks); !ok) return ok;
  if (auto ok = at_least_one("chunks", size.chunks); !ok) return ok;
  if (auto ok = at_least_one("micro-batches", size.micro_batches); !ok) return ok;
  if (auto ok = at_least_one("slices", size.slices); !ok) return ok;
  if (auto ok = not_too_large(kind, size); !ok) return ok;
  if (auto ok = check_chunks(kind, size); !ok) return ok;
  if (auto ok = check_group(kind, size); !ok) return ok;
  if (auto ok = check_slices(kind, size); !ok) return ok;
  return kind.legal != nullptr ? kind.legal(size) : Expected<void>{};
}

Expected<Order> make_order(const std::string& id, const ScheduleSize& size) {
  const auto kind = find_schedule(id);
  if (!kind) return tl::unexpected(kind.error());
  if (auto ok = check_size(**kind, size); !ok) return tl::unexpected(ok.error());
  if ((*kind)->make_timed == nullptr) return (*kind)->make(size);
  const std::vector<double> unit(static_cast<std::size_t>(size.ranks) * chunks_of(**kind, size), 1.0);
  return (*kind)->make_timed(size, {.forward = unit, .input_grad = unit, .weight_grad = unit});
}

Expected<Order> make_order(const std::string& id, const ScheduleSize& size, const OrderTimes& times) {
  const auto kind = find_schedule(id);
  if (!kind) return tl::unexpected(kind.error());
  if (auto ok = check_size(**kind, size); !ok) return tl::unexpected(ok.error());
  return (*kind)->make_timed != nullptr ? (*kind)->make_timed(size, times) : (*kind)->make(size);
}

namespace orders {
namespace {

int rank_under(Placement placement, int stage, int ranks) {
  if (placement == Placement::looped || stage < ranks) return stage % ranks;
  return 2 * ranks - 1 - stage;  // the way back of a V, and of the second copy
}

}  // namespace

OrderWriter::OrderWriter(const ScheduleSize& size, Placement placement) {
  order_.ranks = size.ranks;
  order_.chunks = placement == Placement::looped ? size.chunks : 2;
  order_.micro_batches = size.micro_batches;
  order_.slices = size.slices;
  order_.directions = placement == Placement::both_ways ? 2 : 1;
  const int stages = size.ranks * order_.chunks;
  order_.actions.reserve(std::size_t{2} * static_cast<std::size_t>(stages) *
                         static_cast<std::size_t>(order_.units() / order_.directions));
  order_.begin.reserve(static_cast<std::size_t>(size.ranks) + 1);
  order_.begin.push_back(0);
  for (int stage = 0; stage < stages; ++stage) order_.rank_of.push_back(rank_under(placement, stage, size.ranks));
}

void write_slots(OrderWriter& writer, std::vector<SlottedAction> actions) {
  std::sort(actions.begin(), actions.end(),
            [](const SlottedAction& a, const SlottedAction& b) { return a.slot < b.slot; });
  for (std::size_t i = 0; i < actions.size(); ++i) {
    assert(i == 0 || actions[i - 1].slot < actions[i].slot);
    writer.add(actions[i].action);
  }
}

Expected<void> at_least_micro_batches(const char* kind, int micro_batches, int least, const char* besides) {
  if (micro_batches >= least) return {};
  return fail("micro-batches", fmt::format("{} needs {} micro-batches here, not {}", kind, least, micro_batches),
              fmt::format("micro-batches {} or more{}", least, besides));
}

Expected<void> even_ranks(const char* kind, int ranks) {
  if (ranks % 2 == 0) return {};
  return fail("ranks", fmt::format("{} runs a copy of the model each way, which {} ranks cannot share", kind, ranks),
              ranks > 1 ? fmt::format("ranks {} or {}", ranks - 1, ranks + 1) : "ranks 2");
}

Expected<void> even_micro_batches(const char* kind, int micro_batches) {
  if (micro_batches % 2 == 0) return {};
  return fail("micro-batches", fmt::format("{} sends half of the micro-batches each way, not {}", kind, micro_batches),
              micro_batches > 1 ? fmt::format("micro-batches {} or {}", micro_batches - 1, micro_batches + 1)
                                : "micro-batches 2");
}

}  // namespace orders
}  // namespace stepcast
