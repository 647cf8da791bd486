// The collectives of one transformer layer against the published closed forms (docs/design.md, section C), to the
// byte. Each mapping states no collective: they follow from the splits and the homes.
//
// One sequence per data rank, s = t = 4096 positions, h 4096, 32 heads (g 8, r 4), d 128, f 14336, bf16 (2 B);
// weight gradients in 4 B. R(p) = (p-1)/p. Received bytes per rank:
//   U  = 2 b s h     = 2 * 4096 * 4096             =  33,554,432   one stream tensor
//   KV = 4 b s g d   = 4 * 4096 * 8 * 128          =  16,777,216   K and V
//   QO = 4 b s g r d = 4 * 4096 * 32 * 128         =  67,108,864   Q and O
// N = h(gr+2g)d + grdh + 3hf = 25,165,824 + 16,777,216 + 176,160,768 = 218,103,808 weights; gains 2h = 8,192 ("norm").
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

constexpr double U = 33'554'432, KV = 16'777'216, QO = 67'108'864, N = 218'103'808, gains = 8'192;

MovedBytes layer_moves(std::int64_t data_ranks, const std::string& mapping) {
  const Network net = section_c_network(data_ranks);
  return moved_bytes(net, placed_of(net, mapping), "layer");
}

TEST(Table, NothingMovesOnOneRank) {
  EXPECT_EQ(layer_moves(1, "mesh dp:1 cp:1 tp:1\nuse tp, sp, cp, dp, zero1, fsdp"), MovedBytes{});
}

TEST(Table, DataParallel) {
  // AR 2 R(4) 4N, and of the gains 2 R(4) 4 * 8192.
  EXPECT_EQ(layer_moves(4, "mesh tp:1 cp:1 dp:4\nuse dp"),
      (MovedBytes{{"last use all_reduce", 1'308'622'848}, {"norm last use all_reduce", 49'152}}));
  EXPECT_EQ(1'308'622'848, 2 * 0.75 * 4 * N);
}

TEST(Table, DataParallelStaged) {
  // 8 ranks in each of 4 nodes: RS R(8) V and AG R(8) V inside, AR 2 R(4) V/8 between nodes, with V = 4N; against
  // 2 R(32) V flat. Over 32 sequences.
  const double V = 4 * N, norm = 4 * gains;
  EXPECT_EQ(layer_moves(32, "mesh in:8 out:4\npar b on in*out ; move grads reduce staged"),
      (MovedBytes{{"last use reduce_scatter", 7.0 / 8 * V}, {"last use all_reduce", 2 * 0.75 * V / 8},
          {"last use all_gather", 7.0 / 8 * V}, {"norm last use reduce_scatter", 7.0 / 8 * norm},
          {"norm last use all_reduce", 2 * 0.75 * norm / 8}, {"norm last use all_gather", 7.0 / 8 * norm}}));
}

TEST(Table, Zero1) {
  // RS R(4) 4N, then AG R(4) 2N of the new weights.
  EXPECT_EQ(layer_moves(4, "mesh tp:1 cp:1 dp:4\nuse dp, zero1"),
      (MovedBytes{{"last use reduce_scatter", 654'311'424}, {"tail all_gather", 327'155'712},
          {"norm last use reduce_scatter", 0.75 * 4 * gains}, {"norm tail all_gather", 0.75 * 2 * gains}}));
}

TEST(Table, Zero2) {
  EXPECT_EQ(layer_moves(4, "mesh tp:1 cp:1 dp:4\nuse dp, zero2"),
      (MovedBytes{{"backward gradient reduce_scatter", 654'311'424}, {"tail all_gather", 327'155'712},
          {"norm backward gradient reduce_scatter", 0.75 * 4 * gains}, {"norm tail all_gather", 0.75 * 2 * gains}}));
}

TEST(Table, Fsdp) {
  // AG R(4) 2N forward and again in backward, RS R(4) 4N. Weight-grad does not read W, but a norm's gain is read by
  // both.
  EXPECT_EQ(layer_moves(4, "mesh tp:1 cp:1 dp:4\nuse dp, fsdp"),
      (MovedBytes{{"forward weight all_gather", 327'155'712}, {"backward weight all_gather again", 327'155'712},
          {"backward gradient reduce_scatter", 654'311'424}, {"norm forward weight all_gather", 0.75 * 2 * gains},
          {"norm backward weight all_gather again", 0.75 * 2 * gains},
          {"norm backward gradient reduce_scatter", 0.75 * 4 * gains}}));
}

TEST(Table, FsdpKeptFromForwardToBackward) {
  EXPECT_EQ(layer_moves(4, "mesh tp:1 cp:1 dp:4\nuse dp, fsdp\nmove weights gather life microbatch"),
      (MovedBytes{{"forward weight all_gather", 327'155'712}, {"backward gradient reduce_scatter", 654'311'424},
          {"norm forward weight all_gather", 0.75 * 2 * gains},
          {"norm backward gradient reduce_scatter", 0.75 * 4 * gains}}));
}

TEST(Table, FsdpWithoutSynchronisation) {
  // Gathered once per step and reduced once per step.
  EXPECT_EQ(layer_moves(4, "mesh tp:1 cp:1 dp:4\nuse dp, fsdp_nosync\nmove weights gather life step"),
      (MovedBytes{{"first use all_gather", 327'155'712}, {"last use reduce_scatter", 654'311'424},
          {"norm first use all_gather", 0.75 * 2 * gains}, {"norm last use reduce_scatter", 0.75 * 4 * gains}}));
}

TEST(Table, HybridShardedDataParallel) {
  // AG R(2) 2N twice and RS R(2) 4N inside the shard group; AR 2 R(2) 4N/2 over the replicas once per step.
  const MovedBytes once{{"forward weight all_gather", 218'103'808}, {"backward weight all_gather again", 218'103'808},
      {"backward gradient reduce_scatter", 436'207'616}, {"last use all_reduce", 436'207'616},
      {"norm forward weight all_gather", gains}, {"norm backward weight all_gather again", gains},
      {"norm backward gradient reduce_scatter", 2 * gains}, {"norm last use all_reduce", 2 * gains}};
  EXPECT_EQ(layer_moves(4, "mesh shard:2 rep:2\npar b on rep*shard\nuse hsdp"), once);
  // PyTorch's default reduces over the replicas each micro-batch.
  MovedBytes each = once;
  each["backward gradient all_reduce"] = 436'207'616;
  each["norm backward gradient all_reduce"] = 2 * gains;
  each.erase("last use all_reduce");
  each.erase("norm last use all_reduce");
  EXPECT_EQ(layer_moves(4, "mesh shard:2 rep:2\npar b on rep*shard\nuse hsdp\nhome grads: full on rep"), each);
}

TEST(Table, TensorParallel) {
  // AR(Y1), AR(Y2) forward; AR(dX1), AR(dX3) backward: 2 * 2 R(4) U each way. Megatron-LM's four per layer.
  const Network net = section_c_network();
  const PlacedNetwork placed = placed_of(net, "mesh tp:4\nuse tp");
  EXPECT_EQ(moved_bytes(net, placed, "layer"),
      (MovedBytes{{"forward all_reduce", 100'663'296}, {"backward all_reduce", 100'663'296}}));
  EXPECT_EQ(moves_in(net, placed, "layer", "forward all_reduce"), 2);
  EXPECT_EQ(moves_in(net, placed, "layer", "backward all_reduce"), 2);
}

TEST(Table, TensorAndSequenceParallel) {
  // AG(X1, X3) 2 R(4) U and RS(Y1, Y2) the same; backward AG(dY2, dY1), AG again (X3, X1), RS(dX3, dX1).
  // The gains see a quarter of the positions each: AR 2 R(4) 4 * 8192 = 49,152.
  EXPECT_EQ(layer_moves(1, "mesh tp:4\nuse tp, sp"),
      (MovedBytes{{"forward all_gather", 50'331'648}, {"forward reduce_scatter", 50'331'648},
          {"backward all_gather", 50'331'648}, {"backward all_gather again", 50'331'648},
          {"backward reduce_scatter", 50'331'648}, {"norm last use all_reduce", 49'152}}));
}

TEST(Table, MoreRanksThanKvHeads) {
  // tp 16 over g 8 and r 4: kv heads lie twice. dK and dV are summed over pairs: each 2 R(2) * 2 b s (g/8) d =
  // 1,048,576.
  EXPECT_EQ(layer_moves(1, "mesh tp:16\nuse tp, sp"),
      (MovedBytes{{"forward all_gather", 62'914'560}, {"forward reduce_scatter", 62'914'560},
          {"backward all_gather", 62'914'560}, {"backward all_gather again", 62'914'560},
          {"backward reduce_scatter", 62'914'560}, {"backward all_reduce", 2 * 1'048'576},
          {"norm last use all_reduce", 61'440}}));
}

TEST(Table, ContextParallelByGather) {
  // AG(K, V) R(2) KV; again for backward; RS(dK, dV). Each rank sees half of the positions: dW is summed, 2 R(2) 4N.
  EXPECT_EQ(layer_moves(1, "mesh cp:2\nuse cp_gather"),
      (MovedBytes{{"forward all_gather", 8'388'608}, {"backward all_gather again", 8'388'608},
          {"backward reduce_scatter", 8'388'608}, {"last use all_reduce", 872'415'232},
          {"norm last use all_reduce", 4 * gains}}));
}

TEST(Table, ContextParallelByRing) {
  // The same bytes in p-1 steps; the rotating dK, dV start with their own chunk and travel home: p hops of KV/2 = KV.
  EXPECT_EQ(layer_moves(1, "mesh cp:2\nuse cp"),
      (MovedBytes{{"forward ring", 8'388'608}, {"backward ring again", 8'388'608}, {"backward ring", 16'777'216},
          {"last use all_reduce", 872'415'232}, {"norm last use all_reduce", 4 * gains}}));
}

TEST(Table, Ulysses) {
  // A2A of Q, K, V and O at a quarter each: R(4) (QO + KV)/4. Four forward, four backward: nothing is sent again.
  const Network net = section_c_network();
  const PlacedNetwork placed = placed_of(net, "mesh tp:1 cp:4\nuse ulysses");
  EXPECT_EQ(moved_bytes(net, placed, "layer"),
      (MovedBytes{{"forward all_to_all", 15'728'640}, {"backward all_to_all", 15'728'640},
          {"last use all_reduce", 1'308'622'848}, {"norm last use all_reduce", 2 * 0.75 * 4 * gains}}));
  EXPECT_EQ(15'728'640, 0.75 * (QO + KV) / 4);
  EXPECT_EQ(moves_in(net, placed, "layer", "forward all_to_all"), 4);
  EXPECT_EQ(moves_in(net, placed, "layer", "backward all_to_all"), 4);
}

TEST(Table, TensorSequenceAndContextParallel) {
  // Half of the positions per cp rank: tp moves U/2; AG(K, V) R(2) KV/4; dW over cp 2 R(2) 4N/4; gains over tp*cp = 8.
  EXPECT_EQ(layer_moves(1, "mesh tp:4 cp:2\nuse tp, sp, cp_gather"),
      (MovedBytes{{"forward all_gather", 25'165'824 + 2'097'152}, {"forward reduce_scatter", 25'165'824},
          {"backward all_gather", 25'165'824}, {"backward all_gather again", 25'165'824 + 2'097'152},
          {"backward reduce_scatter", 25'165'824 + 2'097'152}, {"last use all_reduce", 218'103'808},
          {"norm last use all_reduce", 57'344}}));
  EXPECT_EQ(25'165'824, 2 * 0.75 * U / 2);
}

TEST(Table, FsdpWithTensorAndSequenceParallel) {
  // AG R(4) 2N/4 twice, RS R(4) 4N/4. The gains' gradients are summed over tp on the dp shard: 2 R(4) 8192 = 12,288 B
  // once per step.
  EXPECT_EQ(layer_moves(4, "mesh tp:4 cp:1 dp:4\nuse tp, sp, dp, fsdp"),
      (MovedBytes{{"forward weight all_gather", 81'788'928}, {"backward weight all_gather again", 81'788'928},
          {"backward gradient reduce_scatter", 163'577'856}, {"forward all_gather", 50'331'648},
          {"forward reduce_scatter", 50'331'648}, {"backward all_gather", 50'331'648},
          {"backward all_gather again", 50'331'648}, {"backward reduce_scatter", 50'331'648},
          {"norm forward weight all_gather", 0.75 * 2 * gains},
          {"norm backward weight all_gather again", 0.75 * 2 * gains},
          {"norm backward gradient reduce_scatter", 0.75 * 4 * gains}, {"norm last use all_reduce", 12'288}}));
}

TEST(Table, Zero1WithTensorParallel) {
  // RS R(4) 4N/4, AG R(4) 2N/4; the gains lie whole on tp. (pp 2 adds stage edges only, which a block does not see.)
  EXPECT_EQ(layer_moves(4, "mesh tp:4 cp:1 dp:4\nuse tp, dp, zero1"),
      (MovedBytes{{"forward all_reduce", 100'663'296}, {"backward all_reduce", 100'663'296},
          {"last use reduce_scatter", 163'577'856}, {"tail all_gather", 81'788'928},
          {"norm last use reduce_scatter", 0.75 * 4 * gains}, {"norm tail all_gather", 0.75 * 2 * gains}}));
}

TEST(Table, Zero1OverDataAndContextWithTensorAndSequenceParallel) {
  // RS over dp*cp = 8: R(8) 4N/4; AG R(8) 2N/4. The gains over tp on the shard: 2 R(4) 4 * 8192 / 8 = 6,144.
  EXPECT_EQ(layer_moves(4, "mesh tp:4 cp:2 dp:4\nuse tp, sp, cp_gather, dp, zero1"),
      (MovedBytes{{"forward all_gather", 25'165'824 + 2'097'152}, {"forward reduce_scatter", 25'165'824},
          {"backward all_gather", 25'165'824}, {"backward all_gather again", 25'165'824 + 2'097'152},
          {"backward reduce_scatter", 25'165'824 + 2'097'152}, {"last use reduce_scatter", 190'840'832},
          {"tail all_gather", 95'420'416}, {"norm last use reduce_scatter", 7.0 / 8 * 4 * gains},
          {"norm last use all_reduce", 6'144}, {"norm tail all_gather", 7.0 / 8 * 2 * gains}}));
}

}  // namespace
}  // namespace stepcast::dataflow
