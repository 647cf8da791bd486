// The parts of a step's forecast. Internal to sim/step: the interface is sim/step.h.
#pragma once

#include <string>
#include <vector>

#include "sim/step.h"
#include "sim/streams.h"

namespace stepcast {

/// One hop over an edge: the send, from the first rank of one stage to the first of the next, and the gather with which
/// the receiver puts together what crossed in pieces (nothing where it crossed whole).
struct HopPrice {
  Price send, gather;
  [[nodiscard]] Seconds time() const { return send.time + gather.time; }
};
HopPrice hop_price(const Program& program, const StageEdge& edge, const CostModel& cost);

/// What every part reads.
struct StepView {
  const Program& program;
  const CostModel& cost;
  const std::vector<BlockPrices>& prices;
  const std::vector<ChunkTimes>& chunks;
  const std::vector<HopPrice>& hops;  ///< by Program::edges
  const Order& order;
  const Timeline& timeline;
  int critical = 0;  ///< the stage whose ranks are occupied longest
};

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
};
std::vector<LawShare> law_shares(const StepView& view, const Tail& tail);

/// Spread of a kind of run, where it is wider than the profile's.
struct KindSpread { Spread spread; const char* runs = ""; };
KindSpread spread_of_kind(const Program& program);

/// Relative 10th to 90th percentile of the step.
Spread step_interval(const Profile& profile, const Program& program, const std::vector<LawShare>& shares, Seconds step);
std::vector<std::string> step_warnings(const std::vector<LawShare>& shares, const MemoryReport& memory, Seconds step);

}  // namespace stepcast
