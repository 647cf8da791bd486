// stepcast schedule: what one pipeline schedule, or each of them, does with given times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/engine.h"
#include "sim/schedule/order.h"
#include "studies/arguments.h"

namespace stepcast {

/// What the flags say. Times are in seconds or in units of the user's own.
struct ScheduleRequest {
  ScheduleSize size;
  bool chunks_given = false, slices_given = false;
  bool in_seconds = false;                  ///< the times came with units
  double forward = 0, input_grad = 0, weight_grad = 0;  ///< per rank and micro-batch
  std::vector<double> forward_list, input_grad_list, weight_grad_list;  ///< --times: per virtual stage; else empty
  std::string times_file;
  double hop = 0;
  double pair_factor = 1;
  double memory_cap = 0;                    ///< in the unit of peak_activations; 0 = none
};

/// schedule_request.cpp
Expected<ScheduleRequest> read_schedule_request(const Arguments& arguments);

struct ScheduleRun {
  const ScheduleKind* kind = nullptr;
  ScheduleSize size;
  bool in_seconds = false;
  double hop = 0;
  Order order;
  Timeline timeline;
  double lower_bound = 0;                   ///< of the makespan of any order on this placement under the cap
  double lower_bound_at_peak_memory = 0;    ///< and of any that holds no more on any rank than this one
  [[nodiscard]] double gap() const;         ///< makespan above the second, as a fraction
  /// The rank that holds most, in whole micro-batches of a rank's layers, so that kinds compare.
  [[nodiscard]] double peak_micro_batches() const;
};

/// schedule_run.cpp: makes the order, runs it and bounds it. Refusals speak of flags.
Expected<ScheduleRun> run_schedule(const std::string& kind, const ScheduleRequest& request);

struct RefusedSchedule {
  std::string kind, reason;
};
struct ScheduleComparison {
  std::vector<ScheduleRun> runs;            ///< shortest makespan first
  std::vector<RefusedSchedule> refused;
};
/// Every kind that is legal here. Kinds with chunks or slices take two where the request does not say how many.
ScheduleComparison compare_schedules(const ScheduleRequest& request);

}  // namespace stepcast
