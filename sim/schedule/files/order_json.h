// stepcast's own file of an order: sizes, placement, actions as PyTorch writes them (pytorch_csv.h) and, if known, the
// duration of every action.
//
//   { "micro_batches": 2, "rank_of": [0, 1],
//     "ranks": [{"order": ["0F0", "0F1", "0B0", "0B1"]}, {"order": ["1F0", "1B0", "1F1", "1B1"]}],
//     "durations": [{"forward": [1, 1], "input_grad": [2, 2], "weight_grad": [0, 0]}, ...] }
//
// "slices" and "directions" are 1 where they are left out. "durations" has one object per virtual stage and in it one
// number per micro-batch (per unit where the sequence is cut), bare numbers of one unit of time: of seconds with
// "time_unit": "s", else of the user's own ("abstract"). A fused backward lasts input_grad + weight_grad.
//
// Copies of the pipeline that end a step together, each with durations of its own, take the place of "durations":
//
//   "copies": [{"durations": [...]}, {"durations": [...]}], "tail": 0.16, "measured": 2.22
//
// "tail" is what follows the last backward until the step ends (gradients summed over copies, optimizer); "measured" is
// the step that the durations were taken from. Both are optional, with durations or copies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/order.h"
#include "sim/schedule/engine/replay.h"

namespace stepcast::sim {

struct OrderFile {
  TimedOrder timed;                ///< the order has passed check_order(); times with their means, hops 0
  bool has_durations = false;      ///< else `timed.times` is empty
  std::vector<TimedOrder> copies;  ///< of "copies", `timed` is the first; else empty
  bool in_seconds = false;         ///< what the durations are bare numbers of
  std::optional<double> tail, measured;
};

/// Errors name the file, the JSON pointer and the action.
Expected<OrderFile> read_order_json(std::string_view text, const std::string& where);

/// Every order reads back the same, with and without durations (forward_each, ... or else the stages' means).
std::string write_order_json(const Order& order);
std::string write_order_json(const TimedOrder& timed, bool in_seconds = false);

}  // namespace stepcast::sim
