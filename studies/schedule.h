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
  std::string file, dialect = "detect";     ///< --from: PyTorch's CSV, whose sizes count; else empty
};

/// schedule_request.cpp
Expected<ScheduleRequest> read_schedule_request(const Arguments& arguments);

struct ScheduleRun {
  std::string id, name;                     ///< of the kind, or the file's name
  std::vector<std::string> notes;           ///< what a file had that does not count
  bool in_seconds = false;
  double hop = 0;
  Order order;
  Timeline timeline;
  double lower_bound = 0;                   ///< of the makespan of any order on this placement under the cap
  double lower_bound_at_peak_memory = 0;    ///< and of any that holds no more on any rank than this one
  [[nodiscard]] double gap() const;         ///< makespan above the second, as a fraction
  /// Virtual stages of one copy of the model per rank.
  [[nodiscard]] int chunks() const { return order.stages() / order.directions / order.ranks; }
  /// The rank that holds most, in whole micro-batches of a rank's layers, so that kinds compare.
  [[nodiscard]] double peak_micro_batches() const;
};

/// schedule_run.cpp: makes the order, runs it and bounds it. Refusals speak of flags.
Expected<ScheduleRun> run_schedule(const std::string& kind, const ScheduleRequest& request);
/// schedule_file.cpp: the same for the order of request.file.
Expected<ScheduleRun> run_schedule_file(const ScheduleRequest& request);

/// A list of --times is one copy's stages, or all stages of both copies.
Expected<void> check_list_lengths(const ScheduleRequest& request, const std::string& kind, int copy, int directions);
/// Runs an order and bounds it; refused if it holds more than the cap.
Expected<ScheduleRun> time_order(Order order, const ScheduleRequest& request, const std::string& id,
                                 const std::string& name);

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
