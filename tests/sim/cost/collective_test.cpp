// What a stack makes of the bytes of a move: tokens instead of rows, operands that cross cast.
#include <gtest/gtest.h>

#include "sim/cost.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

/// Mean number of parts that hold at least one of a token's choices, over all ways to choose, per choice. Experts 0, 1,
/// .. lie on the parts in order, equally many on each.
double counted_share(int experts, int choices, int parts) {
  double touched = 0, ways = 0;
  for (unsigned chosen = 0; chosen < 1U << experts; ++chosen) {
    if (__builtin_popcount(chosen) != choices) continue;
    ways += 1;
    for (int part = 0; part < parts; ++part) {
      const unsigned own = ((1U << (experts / parts)) - 1) << (part * (experts / parts));
      if ((chosen & own) != 0) touched += 1;
    }
  }
  return touched / ways / choices;
}

/// The same where the choices lie in `top` of `groups` groups of neighbours, each set of them equally often.
double counted_share(int experts, int choices, int parts, int groups, int top) {
  double touched = 0, ways = 0;
  for (unsigned picked = 0; picked < 1U << groups; ++picked) {
    if (__builtin_popcount(picked) != top) continue;
    for (unsigned chosen = 0; chosen < 1U << experts; ++chosen) {
      bool within = __builtin_popcount(chosen) == choices;
      for (int e = 0; e < experts && within; ++e)
        within = (chosen >> e & 1) == 0 || (picked >> (e / (experts / groups)) & 1) != 0;
      if (!within) continue;
      ways += 1;
      for (int part = 0; part < parts; ++part)
        if ((chosen >> (part * (experts / parts)) & ((1U << (experts / parts)) - 1)) != 0) touched += 1;
    }
  }
  return touched / ways / choices;
}

class Exchange {
 public:
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();
  Move move;

  Exchange() {
    move.kind = MoveKind::all_to_all;
    move.received = Bytes(100e9);
    for (CollectiveCurve curve : profile.collectives)
      if (curve.kind == CollectiveKind::all_to_all && curve.ranks == 2)
        for (const int ranks : {3, 6, 8}) curve.ranks = ranks, profile.collectives.push_back(curve);
  }
  [[nodiscard]] double seconds(const Group& group, Precision precision = Precision::bf16) const {
    return CostModel(machine, profile, stack, precision).move(move, group).time.value();
  }
  /// Of the time of the same move with a row per choice.
  double share(int experts, int choices, const Group& group) {
    move.experts = experts, move.choices = choices;
    stack.expert_dispatch = Dispatch::rows;
    const double rows = seconds(group);
    stack.expert_dispatch = Dispatch::tokens;
    return seconds(group) / rows;
  }
};

TEST(ExpertDispatch, ATokenTravelsOncePerDestination) {
  Exchange exchange;
  // Two of four experts on two ranks: both on one rank in 2 of 6 ways, on average 5/3 destinations for 2 rows.
  EXPECT_NEAR(exchange.share(4, 2, small::group(1, 2)), 5.0 / 6, 1e-12);
  EXPECT_NEAR(exchange.share(4, 1, small::group(1, 2)), 1, 1e-12) << "one choice has one destination";
  EXPECT_NEAR(exchange.share(4, 3, small::group(1, 4)), 1, 1e-12) << "an expert per rank";
  EXPECT_NEAR(exchange.share(4, 4, small::group(1, 2)), 0.5, 1e-12) << "all experts: every rank once";
}

TEST(ExpertDispatch, MatchesTheCountOverAllChoices) {
  Exchange exchange;
  for (const int parts : {2, 4})
    for (const int experts : {4, 8, 12})
      for (int choices = 1; choices <= experts; ++choices)
        EXPECT_NEAR(
            exchange.share(experts, choices, small::group(1, parts)), counted_share(experts, choices, parts), 1e-12)
            << choices << " of " << experts << " on " << parts;
}

TEST(ExpertDispatch, ChoicesOutOfSomeGroupsReachFewerDestinations) {
  Exchange exchange;
  for (const auto& [groups, top] : {std::pair{2, 1}, {4, 1}, {4, 2}, {4, 3}, {4, 4}, {8, 2}})
    for (const int parts : {2, 4})
      for (int choices = 1; choices <= 16 / groups * top; choices += 2) {
        exchange.move.groups = groups, exchange.move.top_groups = top;
        EXPECT_NEAR(
            exchange.share(16, choices, small::group(1, parts)), counted_share(16, choices, parts, groups, top), 1e-9)
            << choices << " of 16 in " << top << " of " << groups << " on " << parts;
      }
}

TEST(ExpertDispatch, ThousandsOfExpertsAreCountedToo) {
  Exchange exchange;
  EXPECT_NEAR(exchange.share(100'000, 1000, small::group(1, 2)), 2.0 / 1000, 1e-9) << "both ranks hold some";
  exchange.move.groups = 4096, exchange.move.top_groups = 2000;
  EXPECT_NEAR(exchange.share(8192, 1000, small::group(1, 4)), 4.0 / 1000, 1e-9);
}

TEST(ExpertDispatch, WhatProductsReadIsSentInFp8) {
  Exchange exchange;
  exchange.move.experts = 16, exchange.move.choices = 2, exchange.move.for_product = true;
  const auto share = [&](Precision precision) {
    exchange.stack.dispatch_cast = false;
    const double wide = exchange.seconds(small::group(1, 4), precision);
    exchange.stack.dispatch_cast = true;
    return exchange.seconds(small::group(1, 4), precision) / wide;
  };
  EXPECT_NEAR(share(Precision::fp8), (1 + 4.0 / 128) / 2, 1e-9) << "a byte, and an fp32 scale per 128";
  EXPECT_EQ(share(Precision::bf16), 1);
  exchange.move.for_product = false;
  EXPECT_EQ(share(Precision::fp8), 1) << "results return wide";
}

TEST(ExpertDispatch, BetweenNodesTheDestinationIsANode) {
  Exchange exchange;  // 16 ranks on 4 nodes: four destinations, not 16
  for (const int choices : {1, 2, 4, 8})
    EXPECT_NEAR(exchange.share(16, choices, small::group(1, 16)), counted_share(16, choices, 4), 1e-9) << choices;
}

TEST(ExpertDispatch, MovesThatCarryNoRoutedRowsAreLeftAlone) {
  Exchange exchange;
  const double before = exchange.seconds(small::group(1, 4));
  exchange.stack.expert_dispatch = Dispatch::tokens;
  EXPECT_EQ(exchange.seconds(small::group(1, 4)), before);
}

/// A gather of an activation that a product of layers reads.
Exchange cast_gather() {
  Exchange exchange;
  exchange.move.kind = MoveKind::all_gather;
  exchange.move.for_product = true;
  exchange.stack.gathers_cast = true;
  return exchange;
}

TEST(CastGathers, CrossAtHalfTheBytesUnderFp8) {
  Exchange gather = cast_gather();
  EXPECT_NEAR(gather.seconds(small::group(1, 4), Precision::fp8), 0.5, 1e-9);
  gather.stack.gathers_cast = false;
  EXPECT_NEAR(gather.seconds(small::group(1, 4), Precision::fp8), 1, 1e-9);
}

TEST(CastGathers, BlockScaledAndWidePlansCrossWide) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::mxfp8, Precision::nvfp4})
    EXPECT_NEAR(cast_gather().seconds(small::group(1, 4), precision), 1, 1e-9);
}

TEST(CastGathers, OnlyWhatAProductReadsIsCast) {
  const auto seconds = [](void (*change)(Move&)) {
    Exchange gather = cast_gather();
    change(gather.move);
    return gather.seconds(small::group(1, 4), Precision::fp8);
  };
  EXPECT_NEAR(seconds([](Move& move) { move.for_product = false; }), 1, 1e-9);
  EXPECT_NEAR(seconds([](Move& move) { move.kind = MoveKind::reduce_scatter; }), 1, 1e-9);
  EXPECT_NEAR(seconds([](Move& move) { move.cargo = Cargo::weight; }), 1, 1e-9);
  EXPECT_NEAR(seconds([](Move& move) { move.element_bytes = 4; }), 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::sim
