// Runs one pipeline schedule, or each of them, with given times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/schedule/replay.h"
#include "studies/schedule/request.h"
#include "studies/timeline/pipeline_run.h"

namespace stepcast::schedule {

/// What --auto did.
struct ScheduleSearch {
  std::string from;  ///< the kind, or the way of searching, that found the order
  int tried = 0;     ///< orders laid out, all placements together
};

struct ScheduleRun : PipelineRun {
  std::vector<std::string> notes;  ///< what a file had that does not count
  bool blocking_hops = false;
  std::optional<ScheduleSearch> search;
  std::optional<LayerSplit> layers;      ///< --layer-costs
  std::optional<ScheduleReplay> replay;  ///< where single micro-batches have durations of their own
  /// Where the stages lie: "one stage per rank", "V", "looped", "both ways".
  [[nodiscard]] std::string placement() const;
  /// The rank that holds most, in whole micro-batches of a rank's layers, so that kinds compare.
  [[nodiscard]] double peak_micro_batches() const;
};

/// run.cpp: makes the order, runs it and bounds it. Refusals speak of flags.
Expected<ScheduleRun> run_schedule(const std::string& kind, const ScheduleRequest& request);
/// file.cpp: the same for the order of request.file.
Expected<ScheduleRun> run_schedule_file(const ScheduleRequest& request);

/// The schedule table's errors in the words of the flags.
Error in_schedule_flags(Error error);
/// A list of --times is one copy's stages, or all stages of both copies; a stage's own list has the micro-batches of
/// request.size.
Expected<void> check_list_lengths(const ScheduleRequest& request, const std::string& kind, int copy, int directions);
/// What kinds that schedule by the times look at: one micro-batch, one copy, each rank's own speed.
OrderTimes order_times(const ScheduleRequest& request, int chunks);
/// A rank's time is shared by the stages that one copy has on it; a list is read again for the second copy.
StageTimes engine_times(const Order& order, const ScheduleRequest& request);
/// Hops, speeds and the factor of fused pairs: what flags say of any order's times.
void set_request_knobs(const Order& order, const ScheduleRequest& request, StageTimes& times);
/// Runs an order and bounds it; refused if it holds more than the cap.
Expected<ScheduleRun> time_order(
    Order order, const ScheduleRequest& request, const std::string& id, const std::string& name);
/// The same with durations at hand: copies of one order that end the step together. The slowest one is shown.
Expected<ScheduleRun> time_copies(
    std::vector<TimedOrder> copies, const ScheduleRequest& request, const std::string& id, const std::string& name);

struct RefusedSchedule {
  std::string kind, reason;
};
struct ScheduleComparison {
  std::vector<ScheduleRun> runs;  ///< shortest makespan first
  std::vector<RefusedSchedule> refused;
};
/// compare.cpp: every kind that is legal here.
ScheduleComparison compare_schedules(const ScheduleRequest& request);
/// What --compare and --auto ask of a kind: two chunks or slices where it takes them and the request does not say how
/// many, and the cap that all kinds share.
ScheduleRequest request_for(const ScheduleKind& kind, const ScheduleRequest& request);
/// There, --memory-cap counts micro-batches of a whole rank, or chunks where --chunks says how many a rank has: an
/// activation of an order with other chunks or slices counts for its part.
double shared_cap_unit(const ScheduleRequest& request, int chunks, int slices);

/// auto.cpp: the shortest order under the cap that the search finds on one stage per rank or on a V, or that a
/// kind with one copy of the weights has; kinds that cut the sequence only where the request does.
Expected<ScheduleRun> find_schedule_order(const ScheduleRequest& request);

}  // namespace stepcast::schedule
