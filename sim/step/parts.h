// The parts of a step's forecast. Internal to sim/step: the interface is sim/step.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "sim/step/stage_costs.h"
#include "sim/step/step_report.h"
#include "sim/streams.h"

namespace stepcast::sim {

/// One hop over an edge: the send, from the first rank of one stage to the first of the next, and the gather with which
/// the receiver puts together what crossed in pieces (nothing where it crossed whole).
struct HopPrice {
  Price send, gather;
  [[nodiscard]] Seconds time() const { return send.time + gather.time; }
};
HopPrice hop_price(const Program& program, const StageEdge& edge, const StageCosts& costs);
std::vector<HopPrice> hop_prices(const Program& program, const StageCosts& costs);

/// What passes a chunk at once, a micro-batch or a slice of one, priced and laid on its streams.
struct PricedUnits {
  std::vector<std::vector<BlockPrices>> prices;   ///< by kind of ranks; the mean over slices
  std::vector<ChunkTimes> chunks;                 ///< the mean over slices
  std::vector<std::vector<ChunkTimes>> by_slice;  ///< empty where the sequence is whole
  /// Of the unit that begins and ends the step: the first slice.
  [[nodiscard]] const std::vector<ChunkTimes>& outer() const { return by_slice.empty() ? chunks : by_slice.front(); }
};
PricedUnits price_units(std::span<const Program> slices, const StageCosts& costs);

/// The layers of a V lie on other ranks than chunks that are dealt round: fails where these are not the order's.
Expected<void> same_placement(const Program& program, const Order& order);

/// The schedule's order, run in time.
struct Pipeline {
  Order order;
  StageTimes times;
  Timeline timeline;
};
Expected<Pipeline> run_pipeline(const Program& program, const PricedUnits& priced, const std::vector<HopPrice>& hops,
    const CostModel& cost, double memory_cap);

/// What every part reads. A unit is what passes a chunk at once: a micro-batch, or a slice of one.
struct StepView {
  const Program& program;  ///< both copies, where there are two; of the first slice, where there are slices
  const StageCosts& costs;
  const std::vector<std::vector<BlockPrices>>& prices_by_kind;
  const std::vector<ChunkTimes>& chunks;  ///< of one unit; the mean over slices
  const std::vector<ChunkTimes>& outer;   ///< of the unit that begins and ends the step
  const std::vector<HopPrice>& hops;      ///< by Program::edges
  const Order& order;
  const Timeline& timeline;
  double units = 1;  ///< that pass each chunk
  int critical = 0;  ///< the stage whose ranks are occupied longest
  [[nodiscard]] const std::vector<BlockPrices>& prices(int stage) const { return prices_by_kind[costs.kind_of(stage)]; }
};

/// notes.cpp: what this order makes us assume or leave out.
std::vector<std::string> schedule_notes(const StepView& view);

/// copies.cpp: the program with a second copy of its chunks, which runs from the last rank to the first.
Program both_ways(const Program& program, double gradient_bytes);

/// slices.cpp: single durations by stage and unit, where the slices of a micro-batch differ.
void set_slice_times(const std::vector<std::vector<ChunkTimes>>& by_slice, const Order& order, StageTimes& times);

/// Calls of one move on one stage over the step.
struct StepMove {
  const Move* move = nullptr;
  Price price;
  int stage = 0;
  double calls = 0;
  Seconds exposed;
};

/// What follows the pipeline (and what the first forward waits for), with the moves it is made of.
struct Tail {
  Seconds gradient_sync, clip, optimizer, parameter_gather;
  std::vector<StepMove> moves;
};
Tail step_tail(const StepView& view);

/// Rows of the critical stage, then those of moves that only other stages do.
std::vector<CollectiveReport> collective_rows(const StepView& view, const Tail& tail);

/// Share of the critical stage's step that rests on one law.
struct LawShare {
  const char* law = "";
  Source source = Source::assumed;
  Spread spread;
  bool extrapolated = false;
  Seconds time;
  bool attention = false;
};
std::vector<LawShare> law_shares(const StepView& view, const Tail& tail);

/// Spread of a kind of run, where it is wider than the profile's.
struct KindSpread {
  Spread spread;
  const char* runs = "";
};
KindSpread spread_of_kind(const Program& program);

/// Relative 10th to 90th percentile of the step.
Spread step_interval(const CostModel& cost, const Program& program, const std::vector<LawShare>& shares, Seconds step);
/// What other software may make of the step's moves, where nobody says which one ran: half widths, down and up.
Doubt doubt_of_moves(
    const CostModel& cost, const Program& program, const std::vector<CollectiveReport>& rows, int stage, Seconds step);
/// Of laws that can move the step's last printed digit.
std::vector<PriceDoubt> price_doubts(const std::vector<LawShare>& shares, Seconds step);
std::vector<std::string> step_warnings(const std::vector<PriceDoubt>& doubts, const MemoryReport& memory);

}  // namespace stepcast::sim
