#include "sim/schedule/order.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "sim/schedule/orders.h"

namespace stepcast {
namespace {

// At 28 bytes per action with its start and end this is 1.9 GB. A larger size is a mistake, not a plan: 64 ranks
// x 8 chunks x 1024 micro-batches are 1 million.
constexpr std::int64_t max_actions = std::int64_t{1} << 26;

const auto& kind_table() {
  static const std::array kinds = {
      ScheduleKind{
          .id = "gpipe",
          .name = "GPipe",
          .source = "Huang et al., arXiv 1811.06965; backward in micro-batch order as in DeepSpeed and PyTorch",
          .legal = orders::legal_flush,
          .make = orders::make_gpipe},
      ScheduleKind{.id = "1f1b",
                   .name = "1F1B (PipeDream-flush)",
                   .source = "Narayanan et al., arXiv 2006.09503; Megatron-LM, DeepSpeed TrainSchedule",
                   .legal = orders::legal_flush,
                   .make = orders::make_1f1b},
      ScheduleKind{.id = "interleaved-1f1b",
                   .name = "Interleaved 1F1B (Megatron)",
                   .source = "Narayanan et al., arXiv 2104.04473; Megatron-LM core/pipeline_parallel/schedules.py",
                   .takes_chunks = true,
                   .takes_group = true,
                   .legal = orders::legal_interleaved,
                   .make = orders::make_interleaved_1f1b},
  };
  return kinds;
}

Expected<void> at_least_one(const char* what, int value) {
  if (value >= 1) return {};
  return fail(what, fmt::format("{} is {}", what, value), fmt::format("{} 1 or more", what));
}

Expected<void> not_too_large(const ScheduleSize& size) {
  const double actions = 2.0 * size.ranks * size.chunks * size.micro_batches;
  if (actions <= static_cast<double>(max_actions)) return {};
  return fail("schedule",
              fmt::format("{} ranks x {} chunks x {} micro-batches are {:.3g} actions", size.ranks, size.chunks,
                          size.micro_batches, actions),
              fmt::format("at most {}", max_actions));
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

Expected<void> check_size(const ScheduleKind& kind, const ScheduleSize& size) {
  if (auto ok = at_least_one("ranks", size.ranks); !ok) return ok;
  if (auto ok = at_least_one("chunks", size.chunks); !ok) return ok;
  if (auto ok = at_least_one("micro-batches", size.micro_batches); !ok) return ok;
  if (auto ok = not_too_large(size); !ok) return ok;
  if (size.chunks > 1 && !kind.takes_chunks) {
    return fail("chunks", fmt::format("schedule '{}' runs one chunk per rank, not {}", kind.id, size.chunks),
                "chunks 1, or schedule interleaved-1f1b");
  }
  if (size.group < 0)
    return fail("group", fmt::format("group is {}", size.group), "0 for the number of ranks, or more");
  if (size.group > 0 && !kind.takes_group) {
    return fail("group", fmt::format("schedule '{}' takes no group (found {})", kind.id, size.group),
                "leave it out, or schedule interleaved-1f1b");
  }
  return kind.legal(size);
}

Expected<Order> make_order(const std::string& id, const ScheduleSize& size) {
  const auto kind = find_schedule(id);
  if (!kind) return tl::unexpected(kind.error());
  if (auto ok = check_size(**kind, size); !ok) return tl::unexpected(ok.error());
  return (*kind)->make(size);
}

Expected<Order> make_order(const std::string& id, const ScheduleSize& size, const OrderTimes& times) {
  const auto kind = find_schedule(id);
  if (!kind) return tl::unexpected(kind.error());
  if (auto ok = check_size(**kind, size); !ok) return tl::unexpected(ok.error());
  return (*kind)->make_timed != nullptr ? (*kind)->make_timed(size, times) : (*kind)->make(size);
}

namespace orders {

OrderWriter::OrderWriter(const ScheduleSize& size) {
  order_.ranks = size.ranks;
  order_.chunks = size.chunks;
  order_.micro_batches = size.micro_batches;
  const int stages = size.ranks * size.chunks;
  order_.actions.reserve(std::size_t{2} * static_cast<std::size_t>(stages) *
                         static_cast<std::size_t>(size.micro_batches));
  order_.begin.reserve(static_cast<std::size_t>(size.ranks) + 1);
  order_.begin.push_back(0);
  for (int stage = 0; stage < stages; ++stage) order_.rank_of.push_back(stage % size.ranks);
}

}  // namespace orders
}  // namespace stepcast
