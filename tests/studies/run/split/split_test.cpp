#include "studies/run/split/split.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/fields.h"

namespace stepcast::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// 64 heads in 8 groups, MLP 28672 = 2^12 x 7, 80 layers.
NetworkSpec large() {
  NetworkSpec network;
  network.id = "large";
  network.layers = 80;
  network.heads = 64;
  network.kv_heads = 8;
  network.head_dim = 128;
  network.hidden = 8192;
  network.ffn_hidden = 28672;
  network.vocab = 128000;
  return network;
}

const SplitOrigin flags = flag_of;

/// tp 8, pp 4, dp 16 on 512 GPUs; 64 micro-batches of 1 x 8192.
struct Case {
  Split split;
  SplitSize size{512, 1, 1024, 8192};
  Case() {
    split.tp = 8;
    split.pp = 4;
    split.dp = 16;
    split.sequence = true;
    split.micro_batches = 64;
  }
  [[nodiscard]] std::string answer() const {
    const auto good = check_split(split, size, large(), flags);
    return good ? "good" : to_text(good.error());
  }
};

TEST(Split, GoodOnePasses) { EXPECT_EQ(Case().answer(), "good"); }

TEST(Split, CopiesDivideTheDataRanksAndHoldWholeGroupsOfExperts) {
  Case copied;
  copied.split.replicas = 4;
  EXPECT_EQ(copied.answer(), "good");
  copied.split.replicas = 3;
  EXPECT_EQ(
      copied.answer(), "--dp-replicate: dp 16 does not divide into 3 copies (legal dp-replicate: 1, 2, 4, 8, 16)");
  NetworkSpec network = large();
  network.experts.count = 64;
  network.experts.ffn_hidden = 2048;
  copied.split.experts = true;
  copied.split.ep = 32;  // of 128 ranks
  copied.split.replicas = 4;
  EXPECT_TRUE(check_split(copied.split, copied.size, network, flags));
  copied.split.replicas = 8;
  const auto wide = check_split(copied.split, copied.size, network, flags);
  ASSERT_FALSE(wide);
  EXPECT_EQ(to_text(wide.error()), "--dp-replicate: 8 copies of 16 ranks (tp 8 x cp 1 x dp 2) each: ep 32 x etp 1 does "
                                   "not divide them (legal dp-replicate at ep 32 x "
                                   "etp 1: 1, 2, 4)");
  copied.split.replicas = 3;
  EXPECT_THAT(to_text(check_split(copied.split, copied.size, network, flags).error()),
      HasSubstr("legal dp-replicate: 1, 2, 4)"));
}

TEST(Split, HeadsOnSevenListLegalSizes) {
  Case seven;
  seven.split.tp = 7;
  EXPECT_EQ(
      seven.answer(), "--tp: 64 heads (8 kv groups x 8) do not divide by tp 7 (legal tp: 1, 2, 4, 8, 16, 32, 64)");
}

TEST(Split, KvGroupsTakeTheirShareFirst) {
  NetworkSpec network = large();
  network.heads = 24;  // 8 groups of 3: tp 16 would leave 2 ways for 3 queries per group
  network.ffn_hidden = 24 * 1024;
  EXPECT_THAT(legal_tensor_sizes(network), ElementsAre(1, 2, 3, 4, 6, 8, 12, 24));
  network.ffn_hidden = 4096;  // no factor 3
  EXPECT_THAT(legal_tensor_sizes(network), ElementsAre(1, 2, 4, 8));
}

TEST(Split, GpusThatAreNoMultiple) {
  Case odd;
  odd.size.gpus = 500;
  EXPECT_EQ(odd.answer(), "--gpus: 500 GPUs are not a multiple of tp 8 x cp 1 x pp 4 = 32 (nearest: 480 or 512 GPUs)");
}

TEST(Split, LayersOverStagesAndChunks) {
  Case uneven;
  uneven.split.pp = 3;
  EXPECT_THAT(uneven.answer(), HasSubstr("80 layers do not divide by pp 3 (legal pp: 1, 2, 4, 8, 16;"));
  Case chunks;
  chunks.split.chunks = 3;
  EXPECT_THAT(
      chunks.answer(), HasSubstr("--chunks: 80 layers do not divide by pp 4 x 3 chunks (legal chunks at pp 4: 1, 2"));
}

TEST(Split, BatchNamesTheMultiplesAround) {
  Case batch;
  batch.size.global_batch = 1000;
  EXPECT_EQ(batch.answer(),
      "--global-batch: global batch 1000 is not a multiple of micro-batch 1 x dp 16 = 16 (nearest: 992 or 1008)");
  batch.size.global_batch = 8;
  EXPECT_THAT(batch.answer(), HasSubstr("nearest: 16"));
}

TEST(Split, SequenceOverContextAndTensorRanks) {
  Case sequence;
  sequence.size.sequence = 8191;
  EXPECT_THAT(sequence.answer(), HasSubstr("nearest sequences: 8184 or 8192"));
  Case context;
  context.split.cp = 3;
  context.size.gpus = 96;
  EXPECT_THAT(context.answer(), HasSubstr("sequence 8192 does not divide by 24 for cp 3"));
}

TEST(Split, LearnedPositionsEnd) {
  NetworkSpec network = large();
  network.positions = Positions::learned;
  network.max_positions = 1024;
  const auto good = check_split(Case().split, Case().size, network, flags);
  ASSERT_FALSE(good);
  EXPECT_EQ(good.error().where, "--seq");
  EXPECT_EQ(good.error().hint, "at most 1024");
}

/// Training splits groups of heads; where a network has one, ranks may have copies of it beside their heads if the
/// software makes them.
TEST(Split, OneGroupOfAMixerMayBeCopied) {
  NetworkSpec network = large();
  network.mixer =
      make_mixer("mamba2", {{"heads", 16}, {"head_dim", 64}, {"groups", 1}, {"state", 64}, {"taps", 4}, {"chunk", 64}});
  network.pattern = {*layer_of_word("M-")};
  EXPECT_FALSE(mixer_splits(network, 2));
  EXPECT_TRUE(mixer_splits(network, 2, true));
  EXPECT_FALSE(mixer_splits(network, 32, true)) << "of 16 heads";
  EXPECT_EQ(legal_tensor_sizes(network), std::vector<std::int64_t>{1});
  EXPECT_EQ(legal_tensor_sizes(network, true).back(), 16);
  network.mixer =
      make_mixer("mamba2", {{"heads", 16}, {"head_dim", 64}, {"groups", 2}, {"state", 64}, {"taps", 4}, {"chunk", 64}});
  EXPECT_TRUE(mixer_splits(network, 2));
  EXPECT_FALSE(mixer_splits(network, 4, true)) << "copies are made of one group alone";
}

TEST(Split, SequencesInWhichAllKeysAreSeenEnd) {
  NetworkSpec network = large();
  network.dense_positions = 1024;
  Case c;
  const auto refused = check_split(c.split, c.size, network, flags);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--seq");
  EXPECT_THAT(refused.error().what, HasSubstr("beyond 1024 queries of"));
  EXPECT_EQ(refused.error().hint, "at most 1024");
  network.dense_positions = c.size.sequence;
  EXPECT_TRUE(check_split(c.split, c.size, network, flags));
}

TEST(Split, ScheduleThatCannotRunTheMicroBatches) {
  Case interleaved;
  interleaved.split.chunks = 2;
  interleaved.split.schedule = "interleaved-1f1b";
  interleaved.size.global_batch = 16 * 6;  // 6 micro-batches on 4 stages
  interleaved.split.micro_batches = 6;
  EXPECT_THAT(interleaved.answer(), HasSubstr("--schedule: interleaved-1f1b"));
  Case plain;
  plain.split.chunks = 2;  // 1F1B knows no chunks
  EXPECT_THAT(plain.answer(), HasSubstr("--schedule: 1f1b"));
}

TEST(Split, RecomputeMoreLayersThanThereAre) {
  Case more;
  more.split.recompute = {Recompute::Kind::full, 81};
  EXPECT_THAT(more.answer(), HasSubstr("from 1 to 20"));  // 80 layers on 4 stages
}

TEST(Split, UlyssesSplitsHeadsOverBothAndNeedsNoSecondPiece) {
  Case context;
  context.split.tp = 4;
  context.split.cp = 2;
  context.split.dp = 16;
  context.split.sequence = false;
  context.size.sequence = 8194;  // 2 x 4097
  EXPECT_THAT(context.answer(), HasSubstr("--cp: sequence 8194 does not divide by 4 for cp 2 (two pieces per rank)"));
  context.split.context = ContextKind::ulysses;
  EXPECT_EQ(context.answer(), "good");
  context.size.sequence = 8193;
  EXPECT_THAT(context.answer(), HasSubstr("does not divide by 2 for cp 2 (nearest sequences: 8192 or 8194)"));
  Case heads;
  heads.split.context = ContextKind::ulysses;
  heads.split.cp = 16;  // tp 8 x cp 16 = 128 ways for 64 heads
  heads.split.dp = 1;
  EXPECT_EQ(heads.answer(),
      "--cp: 64 heads (8 kv groups x 8) do not divide by tp 8 x cp 16 = 128, as ulysses splits them "
      "(legal cp at tp 8: 1, 2, 4, 8; or --cp-kind ring)");
  heads.split.context = ContextKind::ring;
  EXPECT_EQ(heads.answer(), "good");
}

TEST(Split, ABoundaryInPiecesMustDivide) {
  Case pieces;
  pieces.split.sequence = false;
  pieces.split.scatter = Scatter::stated;
  pieces.size.sequence = 8196;
  EXPECT_EQ(pieces.answer(),
      "--scatter-boundary: sequence 8196 does not divide by tp 8 x cp 1 = 8, in which pieces it goes to the next stage "
      "(nearest sequences: 8192 or 8200; or --scatter-boundary off)");
  pieces.split.scatter = Scatter::none;
  EXPECT_EQ(pieces.answer(), "good");
}

TEST(Split, ExpertsMustEndWhereTheOrderPutsTheStages) {
  NetworkSpec network = large();
  network.experts.count = 8;
  network.experts.top_k = 2;
  network.experts.ffn_hidden = 4096;
  Case sparse;
  sparse.split.experts = true;
  const auto answer = [&](std::int64_t ep, std::int64_t etp, MeshOrder order) {
    sparse.split.ep = ep;
    sparse.split.etp = etp;
    sparse.split.order = order;
    const auto good = check_split(sparse.split, sparse.size, network, flags);
    return good ? "good" : to_text(good.error());
  };
  const MeshOrder middle = *parse_order("tp-cp-pp-dp", ""), first = *parse_order("pp-tp-cp-dp", "");
  EXPECT_EQ(answer(4, 1, usual_order), "good");
  EXPECT_EQ(answer(4, 1, first), "good");
  EXPECT_EQ(answer(8, 1, middle), "good");  // stages 8 ranks apart, behind ep
  EXPECT_EQ(answer(4, 2, middle), "good");
  EXPECT_EQ(answer(4, 1, middle), "--order: order tp-cp-pp-dp puts stages 8 ranks apart, where no axis of the experts "
                                  "ends (etp 1, times ep 4, times edp 32) "
                                  "(etp or ep x etp of 8, or an order with pp first or last)");
}

TEST(Split, ExpertsAndTensorsMustEndAtRanksThatDivide) {
  NetworkSpec network = large();
  network.experts.count = 8;
  network.experts.ffn_hidden = 4096;
  Case sparse;
  sparse.split.experts = true;
  sparse.split.tp = 2;
  sparse.split.cp = 3;
  sparse.split.dp = 4;
  sparse.split.pp = 4;
  sparse.split.ep = 4;  // experts end at 4 ranks, tp x cp at 6
  sparse.size = {96, 1, 96, 6144};
  const auto refused = check_split(sparse.split, sparse.size, network, flags);
  ASSERT_FALSE(refused);
  EXPECT_EQ(to_text(refused.error()),
      "--ep: ep 4 and etp 1 end at other ranks than tp 2, cp 3 and dp 4: 4 does not divide 6 "
      "(etp and ep x etp must divide tp, tp x cp and tp x cp x dp, or be multiples of them)");
  sparse.split.ep = 2;
  EXPECT_TRUE(check_split(sparse.split, sparse.size, network, flags));
}

TEST(Split, RulesAreWalkedInOrderAndSayTheSameAsTheCheck) {
  std::set<std::string_view> ids;
  for (const SplitRule& rule : split_rules()) EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
  // Every small split: the first rule that does not hold is the one whose error check_split gives.
  std::set<std::string_view> seen;
  for (const std::int64_t tp : {1, 3, 7, 8})
    for (const std::int64_t pp : {1, 3, 4})
      for (const std::int64_t cp : {1, 3})
        for (const std::int64_t batch : {1000, 1024})
          for (const std::int64_t ep : {1, 2}) {
            Case c;
            c.split.tp = tp;
            c.split.pp = pp;
            c.split.cp = cp;
            c.split.ep = ep;
            c.split.dp = std::max<std::int64_t>(1, 512 / (tp * cp * pp));
            c.size.global_batch = batch;
            c.split.micro_batches = batch / c.split.dp;
            const SplitRule* broken = broken_rule(c.split, c.size, large());
            EXPECT_EQ(broken == nullptr, c.answer() == "good");
            if (broken == nullptr) continue;
            seen.insert(broken->id);
            EXPECT_EQ(to_text(broken->explain(c.split, c.size, large(), flags)), c.answer());
            for (const SplitRule& rule : split_rules()) {
              if (rule.id == broken->id) break;
              EXPECT_TRUE(rule.holds(c.split, c.size, large())) << rule.id;
            }
          }
  EXPECT_GE(seen.size(), 5U);
}

TEST(Split, NearestHelpers) {
  EXPECT_THAT(divisors(12), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_EQ(nearest_values({1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, 100), "1, 2, 4, 8, 16, 32, 64, 128");
  EXPECT_EQ(nearest_multiples(100, 32), "96 or 128");
  EXPECT_EQ(nearest_multiples(5, 32), "32");
  EXPECT_EQ(nearest_multiples(100, 32, 120), "96");
}

}  // namespace
}  // namespace stepcast::run
