#include "studies/run/split/mapping_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/notation/mapping.h"

namespace stepcast::run {
namespace {

TEST(MappingText, TensorDataAndInterleavedPipeline) {
  Split split;
  split.tp = 8;
  split.dp = 16;
  split.pp = 4;
  split.chunks = 2;
  split.vocabulary = split.sequence = true;
  split.schedule = "interleaved-1f1b";
  split.micro_batches = 64;
  split.recompute.kind = Recompute::Kind::selective;
  EXPECT_EQ(mapping_text(split), "mesh tp:8 cp:1 dp:16 pp:4\n"
                                 "use tp, vocab, sp, dp, zero1\n"
                                 "par layer on pp cyclic(2) sched interleaved-1f1b for mb:64\n"
                                 "recompute attn.core\nsave O at use\n");
}

TEST(MappingText, ContextShardedWeightsAndFullRecompute) {
  Split split;
  split.cp = 2;
  split.dp = 4;
  split.zero = 3;
  split.recompute = {Recompute::Kind::full, 6};
  split.recompute_whole = true;
  EXPECT_EQ(mapping_text(split), "mesh tp:1 cp:2 dp:4 pp:1\n"
                                 "use tp, cp, dp, fsdp\n"
                                 "par layer on pp sched 1f1b for mb:1\n"
                                 "recompute norm, attn, residual, mlp whole layers 6\n");
}

/// What a mixer's backward makes again by itself it does in the layers that recompute nothing else, too.
TEST(MappingText, SomeLayersRecomputeAndEveryMixerItsOwnParts) {
  Split split;
  split.mixer = true;
  split.mixer_recompute = {"conv"};
  split.recompute = {Recompute::Kind::full, 1};
  EXPECT_THAT(mapping_text(split),
      testing::HasSubstr("recompute mixer.conv\nrecompute norm, attn, mixer, residual, mlp layers 1\n"));
  split.recompute.layers = 0;
  EXPECT_THAT(mapping_text(split), testing::Not(testing::HasSubstr("mixer.conv")));
}

TEST(MappingText, CopiesOfAMixersGroupSplitItsHeads) {
  Split split;
  split.tp = 2;
  split.mixer = true;
  EXPECT_THAT(mapping_text(split), testing::Not(testing::HasSubstr("u*m")));
  split.copies_groups = true;
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("pp:1\npar u*m on tp\nuse tp, dp, zero1\n"));
}

TEST(MappingText, UnevenLayersAreAListInOrderOfVirtualStages) {
  Split split;
  split.pp = 2;
  split.layers = {9, 7};
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("par layer on pp list [9,7] sched 1f1b for mb:1\n"));
  split.chunks = 2;
  split.schedule = "interleaved-1f1b";
  split.layers = {9, 8, 8, 7};
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("par layer on pp list [9,8,8,7] sched interleaved-1f1b"));
  split.schedule = "zb-v";
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("par layer on pp zigzag list [9,8,8,7] sched zb-v"));
}

TEST(MappingText, KindsOfContextParallelismAreTheAliasesOfThatName) {
  Split split;
  split.cp = 2;
  split.context = ContextKind::gather;
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("use tp, cp_gather, dp, zero1\n"));
  split.context = ContextKind::ulysses;
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("use tp, ulysses, dp, zero1\n"));
  split.cp = 1;
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("use tp, dp, zero1\n"));
}

TEST(MappingText, TheOrderIsThatOfTheMesh) {
  Split split;
  split.tp = 8;
  split.cp = 2;
  split.dp = 16;
  split.pp = 4;
  split.order = *parse_order("tp-cp-pp-dp", "");
  EXPECT_THAT(mapping_text(split), testing::StartsWith("mesh tp:8 cp:2 pp:4 dp:16\n"));
  EXPECT_EQ(stage_stride(split), 16);
  split.order = *parse_order("pp-dp-cp-tp", "");
  EXPECT_THAT(mapping_text(split), testing::StartsWith("mesh pp:4 dp:16 cp:2 tp:8\n"));
  EXPECT_EQ(stage_stride(split), 1);
  split.pp = 1;  // no stages: nothing for others to lie around
  EXPECT_THAT(mapping_text(split), testing::StartsWith("mesh dp:16 cp:2 tp:8 pp:1\n"));
}

TEST(MappingText, ExpertsLieAroundTheSameStages) {
  Split split;
  split.experts = true;
  split.tp = 4;
  split.dp = 4;
  split.pp = 2;
  const auto second_line = [&](const char* order, std::int64_t etp, std::int64_t ep) {
    split.order = *parse_order(order, "");
    split.etp = etp;
    split.ep = ep;
    const std::string text = mapping_text(split);
    const std::size_t begin = text.find('\n') + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(second_line("tp-cp-dp-pp", 1, 8), "mesh etp:1 ep:8 edp:2 pp:2");
  EXPECT_EQ(second_line("pp-tp-cp-dp", 1, 8), "mesh etp:1 pp:2 ep:8 edp:2");
  EXPECT_EQ(second_line("tp-cp-pp-dp", 1, 4), "mesh etp:1 ep:4 pp:2 edp:4");
  EXPECT_EQ(second_line("tp-cp-pp-dp", 4, 2), "mesh etp:4 pp:2 ep:2 edp:2");
  EXPECT_TRUE(experts_meet_stages(split));
  split.ep = 2, split.etp = 1;
  EXPECT_FALSE(experts_meet_stages(split));
}

TEST(MappingText, CopiesOfShardsHaveAnAxisOfTheirOwn) {
  Split split;
  split.tp = 4;
  split.dp = 16;
  split.replicas = 4;
  split.zero = 3;
  EXPECT_EQ(mapping_text(split), "mesh tp:4 cp:1 dp:4 rep:4 pp:1\n"
                                 "use tp, fsdp\n"
                                 "par b on dp*rep\n"
                                 "par layer on pp sched 1f1b for mb:1\n");
  EXPECT_TRUE(experts_meet_stages(split));
  split.experts = true;
  split.ep = 8;
  split.pp = 2;
  split.order = *parse_order("tp-cp-pp-dp", "");
  split.etp = 4;  // as wide as tp, so that the stages lie behind both
  split.ep = 2;
  EXPECT_EQ(mapping_text(split), "mesh tp:4 cp:1 pp:2 dp:4 rep:4\n"
                                 "mesh etp:4 pp:2 ep:2 edp:2 erep:4\n"
                                 "at expert: home weights: * on edp\n"
                                 "use tp, etp, fsdp\n"
                                 "par b on dp*rep\n"
                                 "at expert: par e on ep\n"
                                 "at expert: par c on edp*erep\n"
                                 "par layer on pp sched 1f1b for mb:1\n");
  const MeshCuts cuts = mesh_cuts(split);
  EXPECT_EQ(cuts.first_crossing(), cuts.count);
  split.etp = 1, split.ep = 16, split.order = usual_order;  // 16 ranks hold a copy: one of each expert
  EXPECT_THAT(mapping_text(split), testing::HasSubstr("mesh etp:1 ep:16 edp:1 erep:4 pp:2\n"));
}

TEST(MappingText, EveryChoiceIsTextThatParses) {
  for (const std::int64_t zero : {0, 1, 2, 3})
    for (const auto kind : {Recompute::Kind::none, Recompute::Kind::selective, Recompute::Kind::full})
      for (const char* schedule : {"gpipe", "1f1b", "interleaved-1f1b"}) {
        Split split;
        split.tp = split.cp = split.dp = split.pp = split.chunks = 2;
        split.vocabulary = split.sequence = true;
        split.zero = zero;
        split.recompute.kind = kind;
        split.schedule = schedule;
        const auto program = parse(mapping_text(split), "test");
        ASSERT_TRUE(program) << to_text(program.error());
        EXPECT_TRUE(expand(*program)) << mapping_text(split);
      }
}

}  // namespace
}  // namespace stepcast::run
