#include "studies/mapping_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/mapping.h"

namespace stepcast {
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
  EXPECT_EQ(mapping_text(split),
            "mesh tp:8 cp:1 dp:16 pp:4\n"
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
  EXPECT_EQ(mapping_text(split),
            "mesh tp:1 cp:2 dp:4 pp:1\n"
            "use tp, cp, dp, fsdp\n"
            "par layer on pp sched 1f1b for mb:1\n"
            "recompute norm, attn, residual, mlp whole layers 6\n");
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
}  // namespace stepcast
