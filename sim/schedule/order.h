// The order of actions on every rank of a pipeline. Stage s of p ranks and v chunks: rank and chunk by `placement`;
// for the kinds here stage s sits on rank s % p as its chunk s / p.
// Rules and sources: PipeDream-flush (arXiv 2006.09503), GPipe (1811.06965), interleaved 1F1B (2104.04473).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/error.h"

namespace stepcast {

enum class ActionKind : std::uint8_t { forward, backward, input_grad, weight_grad };

/// One step of a rank's order. `stage` is the virtual stage 0..p*v-1.
struct Action {
  ActionKind kind = ActionKind::forward;
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;
  friend bool operator==(const Action&, const Action&) = default;
};

/// "F(s=2, mb=5)"; B is a fused backward, I its input-gradient and W its weight-gradient part.
std::string to_text(const Action& action);

struct Order {
  int ranks = 1, chunks = 1, micro_batches = 1;
  std::vector<Action> actions;            ///< all ranks one after the other
  std::vector<std::int32_t> begin;        ///< ranks+1 offsets into `actions`
  std::vector<std::int32_t> rank_of;      ///< virtual stage -> rank
  [[nodiscard]] int stages() const { return static_cast<int>(rank_of.size()); }
  [[nodiscard]] std::span<const Action> of_rank(int rank) const {
    return {actions.data() + begin[rank], static_cast<std::size_t>(begin[rank + 1] - begin[rank])};
  }
};

/// Is this a whole step? Offsets and placement fit, every micro-batch passes every stage once on the stage's rank: one F,
/// then one B, or one I and later one W. The error names rank and action. Orders that make_order() built need no check;
/// run() requires that an order from elsewhere has passed it.
Expected<void> check_order(const Order& order);

struct ScheduleSize {
  int ranks = 1;          ///< p
  int chunks = 1;         ///< v, virtual stages per rank
  int micro_batches = 1;  ///< m
  int group = 0;          ///< micro-batches per block of interleaving; 0 = p
};

/// A row of the schedule table. `legal` explains with the nearest legal values; it is asked after the rules that hold
/// for all kinds: positive counts, and no chunks or group where the kind takes none.
struct ScheduleKind {
  std::string id, name, source;
  bool takes_chunks = false;
  bool takes_group = false;
  Expected<void> (*legal)(const ScheduleSize&) = nullptr;
  Order (*make)(const ScheduleSize&) = nullptr;
};

std::span<const ScheduleKind> schedule_kinds();
Expected<const ScheduleKind*> find_schedule(const std::string& id);
/// All rules of a kind for a size, without making the order.
Expected<void> check_size(const ScheduleKind& kind, const ScheduleSize& size);
/// check_size, then make.
Expected<Order> make_order(const std::string& id, const ScheduleSize& size);

}  // namespace stepcast
