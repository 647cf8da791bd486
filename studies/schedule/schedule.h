// stepcast schedule shows what one pipeline schedule, or each of them, does with given times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/search/auto.h"
#include "sim/schedule/engine/engine.h"
#include "sim/schedule/order.h"
#include "studies/cli/arguments.h"
#include "studies/schedule/layers.h"
#include "studies/schedule/replay.h"

namespace stepcast {

/// What the flags say. Times are in seconds or in units of the user's own.
struct ScheduleRequest {
  ScheduleSize size;
  bool chunks_given = false, slices_given = false;
  bool in_seconds = false;                  ///< the times came with units
  double forward = 0, input_grad = 0, weight_grad = 0;  ///< per rank and micro-batch
  std::vector<double> forward_list, input_grad_list, weight_grad_list;  ///< --times: per virtual stage; else empty
  /// --times with a list for each micro-batch: by virtual stage, an empty one where it has one time for all. The lists
  /// above then hold the means. Empty: no stage of the key has such a list.
  std::vector<std::vector<double>> forward_each, input_grad_each, weight_grad_each;
  std::string times_file;
  std::optional<LayerSplit> layers = std::nullopt;  ///< --layer-costs: how they lie, behind the lists
  std::string times_given, times_missing;   ///< --from: a flag of times that is there, and one that is not
  std::optional<bool> units;                ///< of the times that were given; none: there is nothing but zeros
  double hop = 0;
  double pair_factor = 1;
  bool blocking_hops = false;               ///< --p2p-mode
  std::vector<double> rank_slowdown;        ///< 1 / --rank-speed; empty = 1
  double memory_cap = 0;                    ///< what --memory-cap says; 0 = none
  double cap_unit = 1;                      ///< activations of the order at hand per unit of it
  std::int64_t effort = AutoOptions{}.effort;  ///< --auto: AutoOptions::effort on each placement
  std::string file, dialect = "detect";     ///< --from: the file's sizes count; else empty
  std::optional<int> iteration;             ///< of a folder of Primus
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

/// What --auto did.
struct ScheduleSearch {
  std::string from;                         ///< the kind, or the way of searching, that found the order
  int tried = 0;                            ///< orders laid out, all placements together
};

struct ScheduleRun {
  std::string id, name;                     ///< of the kind, or the file's name
  std::vector<std::string> notes;           ///< what a file had that does not count
  bool in_seconds = false;
  double hop = 0;
  bool blocking_hops = false;
  std::optional<ScheduleSearch> search;
  std::optional<LayerSplit> layers = std::nullopt;  ///< --layer-costs
  std::optional<ScheduleReplay> replay;     ///< where single micro-batches have durations of their own
  Order order;
  StageTimes times;                         ///< that were run; of several copies, the slowest one's
  Timeline timeline;
  double lower_bound = 0;                   ///< of the makespan of any order on this placement under the cap
  double lower_bound_at_peak_memory = 0;    ///< and of any that holds no more on any rank than this one
  [[nodiscard]] double gap() const;         ///< makespan above the second, as a fraction
  /// Virtual stages of one copy of the model per rank.
  [[nodiscard]] int chunks() const { return order.stages() / order.directions / order.ranks; }
  [[nodiscard]] double gap_to_bound() const { return timeline.makespan.value() / lower_bound - 1; }
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
Expected<ScheduleRun> time_order(Order order, const ScheduleRequest& request, const std::string& id,
                                 const std::string& name);
/// The same with durations at hand: copies of one order that end the step together. The slowest one is shown.
Expected<ScheduleRun> time_copies(std::vector<TimedOrder> copies, const ScheduleRequest& request,
                                  const std::string& id, const std::string& name);

struct RefusedSchedule {
  std::string kind, reason;
};
struct ScheduleComparison {
  std::vector<ScheduleRun> runs;            ///< shortest makespan first
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

}  // namespace stepcast
