// Holds what `stepcast schedule` is asked: sizes, times, how hops and ranks behave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/engine/balance.h"
#include "sim/schedule/order.h"
#include "sim/schedule/search/auto.h"
#include "studies/cli/arguments.h"

namespace stepcast::schedule {

/// How the layers of --layer-costs lie.
struct LayerSplit {
  std::vector<int> layers;  ///< per virtual stage, in forward order
  std::string layout;       ///< the same as Megatron writes it
  Balance balance;          ///< of the schedule's run
};

/// What the flags say. Times are in seconds or in units of the user's own.
struct ScheduleRequest {
  ScheduleSize size;
  bool chunks_given = false, slices_given = false;
  bool in_seconds = false;                                              ///< the times came with units
  double forward = 0, input_grad = 0, weight_grad = 0;                  ///< per rank and micro-batch
  std::vector<double> forward_list, input_grad_list, weight_grad_list;  ///< --times: per virtual stage; else empty
  /// --times with a list for each micro-batch: by virtual stage, an empty one where it has one time for all. The lists
  /// above then hold the means. Empty: no stage of the key has such a list.
  std::vector<std::vector<double>> forward_each, input_grad_each, weight_grad_each;
  std::string times_file;
  std::optional<LayerSplit> layers = std::nullopt;  ///< --layer-costs: how they lie, behind the lists
  std::string times_given, times_missing;           ///< --from: a flag of times that is there, and one that is not
  std::optional<bool> units;                        ///< of the times that were given; none: there is nothing but zeros
  double hop = 0;
  double pair_factor = 1;
  bool blocking_hops = false;                  ///< --p2p-mode
  std::vector<double> rank_slowdown;           ///< 1 / --rank-speed; empty = 1
  double memory_cap = 0;                       ///< what --memory-cap says; 0 = none
  double cap_unit = 1;                         ///< activations of the order at hand per unit of it
  std::int64_t effort = AutoOptions{}.effort;  ///< --auto: AutoOptions::effort on each placement
  std::string file, dialect = "detect";        ///< --from: the file's sizes count; else empty
  std::optional<int> iteration;                ///< of a folder of Primus
};

/// request.cpp
Expected<ScheduleRequest> read_schedule_request(const Arguments& arguments);
/// times.cpp: durations and hops.
Expected<void> read_schedule_times(const Arguments& arguments, ScheduleRequest& request);
std::optional<double> bare_number(const std::string& text);
/// knobs.cpp: how hops and ranks behave, and how long the search goes on.
Expected<void> read_schedule_knobs(const Arguments& arguments, ScheduleRequest& request);
/// A speed for each rank. Asked again once the ranks of a file are known.
Expected<void> check_speeds(const ScheduleRequest& request, int ranks);
/// Some 20 minutes on one core for each placement.
constexpr std::int64_t most_schedule_effort = 20'000'000'000;

}  // namespace stepcast::schedule
