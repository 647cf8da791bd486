// The collectives of one layer with experts against the closed forms of docs/design.md, section C, to the byte.
//
// Attention as in table_test.cpp; e 16 experts of width j 4096, k 2 of them per token, a shared expert of width fs
// 4096. One sequence per data rank. Received bytes per rank, R(p) = (p-1)/p:
//   U    = 2 b s h = 33,554,432                         one stream tensor; the routed rows are k of them, 2U
//   N_d  = attention 41,943,040 + router 16 * 4096 + shared 3 * 4096 * 4096 = 92,340,224     lies on all data ranks
//   N_e  = 3 e h j = 3 * 16 * 4096 * 4096 = 805,306,368                                      split over ep
//   gates: b s k fp32 numbers = 4096 * 2 * 4 = 32,768 B; gains 2h = 8,192 ("norm").
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

constexpr double rows2u = 67'108'864, N_d = 92'340'224, N_e = 805'306'368, norms = 8'192;
const std::string ep4_mesh = "mesh tp:1 cp:1 dp:8\nmesh etp:1 ep:4 edp:2\n";

Network expert_network(std::int64_t data_ranks) {
  NetworkSpec spec = section_c_spec();
  spec.experts = {.count = 16, .top_k = 2, .ffn_hidden = 4096, .shared_ffn_hidden = 4096};
  return section_c_network(data_ranks, spec);
}

MovedBytes expert_moves(std::int64_t data_ranks, const std::string& mapping) {
  const Network net = expert_network(data_ranks);
  return moved_bytes(net, placed_of(net, mapping), "expert_layer");
}

TEST(TableExperts, NothingMovesOnOneRank) {
  EXPECT_EQ(expert_moves(1, "mesh tp:1 cp:1 dp:1\nmesh etp:1 ep:1 edp:1\nuse tp, sp, dp, ep, etp"), MovedBytes{});
}

TEST(TableExperts, AllToAllDispatch) {
  // A2A(Xe) and A2A(Oe), R(8) 2U each; backward A2A(dOe) and A2A(dXe). Experts lie once: only N_d is summed, 2 R(8) 4
  // N_d.
  const Network net = expert_network(8);
  const PlacedNetwork placed = placed_of(net, "mesh tp:1 cp:1 dp:8\nmesh etp:1 ep:8 edp:1\nuse dp, ep");
  EXPECT_EQ(moved_bytes(net, placed, "expert_layer"),
      (MovedBytes{{"forward all_to_all", 117'440'512}, {"backward all_to_all", 117'440'512},
          {"last use all_reduce", 646'381'568}, {"norm last use all_reduce", 2 * 7.0 / 8 * 4 * norms}}));
  EXPECT_EQ(moves_in(net, placed, "expert_layer", "forward all_to_all"), 2);
  EXPECT_EQ(moves_in(net, placed, "expert_layer", "backward all_to_all"), 2);
  EXPECT_EQ(117'440'512, 2 * 7.0 / 8 * rows2u);
  EXPECT_EQ(646'381'568, 2 * 7.0 / 8 * 4 * N_d);
}

TEST(TableExperts, AllGatherDispatch) {
  // The dispatch split by expert: AG(X3) R(8) 8U and the gates R(8) 8 * 32,768; RS(Y2). Backward AG(dY2), RS(dX3), and
  // of the gates an AG again and an RS.
  EXPECT_EQ(expert_moves(8, "mesh tp:1 cp:1 dp:8\nmesh etp:1 ep:8 edp:1\nuse ep_gather, dp, ep"),
      (MovedBytes{{"forward all_gather", 234'881'024 + 229'376}, {"forward reduce_scatter", 234'881'024},
          {"backward all_gather", 234'881'024}, {"backward all_gather again", 229'376},
          {"backward reduce_scatter", 234'881'024 + 229'376}, {"last use all_reduce", 646'381'568},
          {"norm last use all_reduce", 2 * 7.0 / 8 * 4 * norms}}));
}

TEST(TableExperts, ReplicatedExperts) {
  // ep 4 x edp 2 over dp 8: A2A 2 R(4) 2U; N_d over 8 ranks, a quarter of the experts over edp: 2 R(2) 4 N_e/4.
  EXPECT_EQ(expert_moves(8, ep4_mesh + "use dp, ep"),
      (MovedBytes{{"forward all_to_all", 100'663'296}, {"backward all_to_all", 100'663'296},
          {"last use all_reduce", 646'381'568 + 805'306'368}, {"norm last use all_reduce", 2 * 7.0 / 8 * 4 * norms}}));
  EXPECT_EQ(805'306'368, 2 * 0.5 * 4 * N_e / 4);
}

TEST(TableExperts, ReplicatedExpertsZero1) {
  // N_d: RS R(8) 4 N_d and AG R(8) 2 N_d over 8; experts: RS R(2) 4 N_e/4 and AG R(2) 2 N_e/4 over edp alone.
  EXPECT_EQ(expert_moves(8, ep4_mesh + "at expert: home optimizer: * on edp\nuse dp, ep, zero1"),
      (MovedBytes{{"forward all_to_all", 100'663'296}, {"backward all_to_all", 100'663'296},
          {"last use reduce_scatter", 323'190'784 + 402'653'184}, {"tail all_gather", 161'595'392 + 201'326'592},
          {"norm last use reduce_scatter", 7.0 / 8 * 4 * norms}, {"norm tail all_gather", 7.0 / 8 * 2 * norms}}));
}

TEST(TableExperts, ReplicatedExpertsFsdp) {
  // AG forward, again in backward, RS each micro-batch; over 8 and over edp as with zero1. The sum over tokens of each
  // gain is scattered as any other gradient.
  EXPECT_EQ(expert_moves(8, ep4_mesh + "at expert: home weights: * on edp\nuse dp, ep, fsdp"),
      (MovedBytes{{"forward all_to_all", 100'663'296}, {"backward all_to_all", 100'663'296},
          {"forward weight all_gather", 161'595'392 + 201'326'592},
          {"backward weight all_gather again", 161'595'392 + 201'326'592},
          {"backward gradient reduce_scatter", 323'190'784 + 402'653'184},
          {"norm forward weight all_gather", 7.0 / 8 * 2 * norms},
          {"norm backward weight all_gather again", 7.0 / 8 * 2 * norms},
          {"norm backward gradient reduce_scatter", 7.0 / 8 * 4 * norms}}));
}

TEST(TableExperts, FoldedOverTensorRanks) {
  // dp 4 tp 4 sp; ep 8 takes the tp ranks and two of dp, edp the other two. Each rank routes a quarter of its
  // positions: A2A 2 R(8) 2U/4 each way. tp as for the dense layer (shared expert and attention); dW of attention and
  // shared expert over dp 4: 2 R(4) 4 (92,274,688/4); experts over edp 2 R(2) 4 N_e/8; the router sees tp*dp = 16
  // parts: 2 R(16) 4 * 65,536.
  EXPECT_EQ(expert_moves(4, "mesh tp:4 cp:1 dp:4\nmesh etp:1 ep:8 edp:2\nuse tp, sp, dp, ep, etp"),
      (MovedBytes{{"forward all_gather", 50'331'648}, {"forward reduce_scatter", 50'331'648},
          {"forward all_to_all", 29'360'128}, {"backward all_to_all", 29'360'128}, {"backward all_gather", 50'331'648},
          {"backward all_gather again", 50'331'648}, {"backward reduce_scatter", 50'331'648},
          {"last use all_reduce", 138'412'032 + 402'653'184 + 491'520},
          {"norm last use all_reduce", 2 * 15.0 / 16 * 4 * norms}}));
  EXPECT_EQ(29'360'128, 2 * 7.0 / 8 * rows2u / 4);
}

TEST(TableExperts, ExpertTensorParallel) {
  // etp 4 on the tp ranks, ep 2 and edp 2 on dp: A2A over ep 2 R(2) 2U/4, then AG(Xe) over etp R(4) 2U and RS(Oe) the
  // same; backward AG(dOe), AG again (Xe), RS(dXe) beside the dense layer's three.
  EXPECT_EQ(expert_moves(4, "mesh tp:4 cp:1 dp:4\nmesh etp:4 ep:2 edp:2\nuse tp, sp, dp, ep, etp"),
      (MovedBytes{{"forward all_gather", 50'331'648 + 50'331'648}, {"forward reduce_scatter", 50'331'648 + 50'331'648},
          {"forward all_to_all", 16'777'216}, {"backward all_to_all", 16'777'216},
          {"backward all_gather", 50'331'648 + 50'331'648}, {"backward all_gather again", 50'331'648 + 50'331'648},
          {"backward reduce_scatter", 50'331'648 + 50'331'648},
          {"last use all_reduce", 138'412'032 + 402'653'184 + 491'520},
          {"norm last use all_reduce", 2 * 15.0 / 16 * 4 * norms}}));
}

}  // namespace
}  // namespace stepcast::dataflow
