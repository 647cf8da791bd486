// Which requests share an iteration, by hand.
#include "sim/serving/batching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ServingRequest request(std::int64_t prompt, std::int64_t output, std::int64_t cached = 0) {
  return {Seconds(0), prompt, output, cached};
}

/// 100 positions an iteration: 150 are read as 100 and 50, and the next prompt has the 50 that are left.
TEST(Batching, PromptsAreReadInPieces) {
  Batcher group({.most_positions = 100});
  group.submit(0, request(150, 2));
  group.submit(1, request(60, 2));
  Batch batch = group.plan();
  EXPECT_EQ(batch.prompts, 1);
  EXPECT_EQ(batch.positions, 100);
  EXPECT_EQ(batch.pairs, 100 * 50);
  EXPECT_EQ(group.finish().all(), 0);
  batch = group.plan();
  EXPECT_EQ(batch.prompts, 2);
  EXPECT_EQ(batch.positions, 100);
  EXPECT_EQ(batch.pairs, 50 * (100 + 25) + 50 * 25);
  EXPECT_THAT(group.finish().read, ElementsAre(0));
  batch = group.plan();  // a word behind 150 positions, and the last 10 of the other prompt
  EXPECT_EQ(batch.words, 1);
  EXPECT_EQ(batch.contexts, 150);
  EXPECT_EQ(batch.positions, 10);
  const auto& said = group.finish();
  EXPECT_THAT(said.joined, ElementsAre(0));
  EXPECT_EQ(said.words, 1);
  EXPECT_THAT(said.read, ElementsAre(1));
  EXPECT_THAT(said.ended, ElementsAre(0));
}

TEST(Batching, WholePromptsWaitForRoom) {
  Batcher group({.most_positions = 100, .pieces = false});
  group.submit(0, request(60, 1));
  group.submit(1, request(60, 1));
  group.submit(2, request(300, 1));
  EXPECT_EQ(group.plan().positions, 60);
  EXPECT_THAT(group.finish().ended, ElementsAre(0));
  EXPECT_EQ(group.plan().positions, 60);
  group.finish();
  EXPECT_EQ(group.plan().positions, 300) << "one that is longer than any iteration goes alone";
  group.finish();
  EXPECT_TRUE(group.plan().empty());
}

/// As long as an iteration, it does not wait until nobody says a word: an engine of whole prompts is built for it.
TEST(Batching, AWholePromptGoesBesideWords) {
  Batcher group({.most_positions = 100, .pieces = false});
  group.submit(0, request(10, 9));
  group.plan(), group.finish();
  group.submit(1, request(100, 9));
  group.submit(2, request(10, 9));
  const Batch batch = group.plan();
  EXPECT_EQ(batch.words, 1);
  EXPECT_EQ(batch.prompts, 1) << "and no other goes with it";
  EXPECT_EQ(batch.positions, 100);
}

TEST(Batching, PromptsApartHoldWordsUp) {
  Batcher group({.most_positions = 100, .prompts_apart = true});
  group.submit(0, request(10, 3));
  group.plan(), group.finish();
  group.submit(1, request(10, 3));
  Batch batch = group.plan();
  EXPECT_EQ(batch.words, 0);
  EXPECT_EQ(batch.prompts, 1);
  EXPECT_THAT(group.finish().read, ElementsAre(1));
  batch = group.plan();
  EXPECT_EQ(batch.words, 2);
  const auto& said = group.finish();
  EXPECT_EQ(said.words, 2);
  EXPECT_THAT(said.joined, ElementsAre(0, 1));
}

/// 6 blocks of 4 positions. Reserved: 8 + 8 positions are 4 blocks, so one runs at a time. Else both prompts of 2
/// blocks are let in, and as they grow the second gives way and is read again with what it had said.
TEST(Batching, TheCacheLetsInOrTakesBack) {
  const auto run = [](bool reserves) {
    Batcher group({.reserves_all = reserves, .blocks = 6, .block = 4});
    group.submit(0, request(8, 8));
    group.submit(1, request(8, 8));
    std::vector<double> prompts;
    while (group.outstanding() > 0) {
      prompts.push_back(group.plan().positions);
      EXPECT_LE(group.used_blocks(), 6);
      group.finish();
    }
    EXPECT_EQ(group.used_blocks(), 0);
    std::erase(prompts, 0);
    return std::pair{prompts, group.preempted()};
  };
  EXPECT_EQ(run(true), (std::pair{std::vector<double>{8, 8}, std::int64_t{0}}));
  // Both are read and say their words into blocks 3 and 3; behind 12 positions and 5 words the first wants a fourth.
  EXPECT_EQ(run(false), (std::pair{std::vector<double>{16, 13}, std::int64_t{1}}));
}

/// As above, with a host that has room for 3 blocks: the second gives way with its 3 blocks, of 8 positions and 4
/// words, and nothing is read again. It comes back as the first has ended, into 4 blocks for its next word, and no
/// third is let in before it. A host with room for 2 or none keeps nothing.
TEST(Batching, WhoGivesWayMayWaitInTheHostsMemory) {
  const auto run = [](std::int64_t host) {
    Batcher group({.blocks = 6, .block = 4, .swaps = true, .host_blocks = host});
    for (int i = 0; i < 2; ++i) group.submit(i, request(8, 8));
    std::vector<double> prompts, out, in;
    std::vector<std::int64_t> ended;
    bool third = false;
    while (group.outstanding() > 0) {
      const Batch batch = group.plan();
      EXPECT_LE(group.used_blocks(), 6);
      if (batch.positions > 0) prompts.push_back(batch.positions);
      if (batch.blocks_out > 0) out.push_back(batch.blocks_out);
      if (batch.blocks_in > 0) in.push_back(batch.blocks_in);
      for (const std::int64_t id : group.finish().ended) ended.push_back(id);
      if (group.preempted() == 1 && !third) group.submit(2, request(4, 1)), third = true;
    }
    EXPECT_EQ(group.used_blocks(), 0);
    EXPECT_EQ(group.preempted(), 1);
    EXPECT_EQ(group.swaps().refused, host == 3 ? 0 : 1);
    EXPECT_EQ(group.swaps().most_blocks, host == 3 ? 3 : 0);
    return std::tuple{prompts, out, in, ended};
  };
  using Numbers = std::vector<double>;
  EXPECT_EQ(run(3), (std::tuple{Numbers{16, 4}, Numbers{3}, Numbers{3}, std::vector<std::int64_t>{0, 2, 1}}));
  EXPECT_THAT(std::get<0>(run(2)), ElementsAre(16, 13 + 4))
      << "read again with what it had said, and the third with it";
  EXPECT_THAT(std::get<1>(run(2)), IsEmpty());
  EXPECT_EQ(run(0), run(2)) << "no room is no room";
}

TEST(Batching, SharedHeadsAreNeitherReadNorHeldTwice) {
  Batcher group({.blocks = 4, .block = 4});
  group.submit(0, request(12, 1, 8));
  EXPECT_EQ(group.blocks_at_end(request(12, 1, 8)), 2);
  const Batch batch = group.plan();
  EXPECT_EQ(batch.positions, 4);
  EXPECT_EQ(batch.pairs, 4 * (8 + 2));
  EXPECT_EQ(group.used_blocks(), 1);
}

/// 6 blocks, of which a head takes 2: two requests have a block each for the 4 positions behind it, and with a second
/// block each the cache is full. A third waits.
TEST(Batching, TheCacheHasSharedHeadsOnce) {
  Batcher group({.reserves_all = true, .blocks = 6, .block = 4, .shared_blocks = 2});
  for (int i = 0; i < 3; ++i) group.submit(i, request(12, 4, 8));
  EXPECT_EQ(group.used_blocks(), 2);
  EXPECT_EQ(group.plan().prompts, 2);
  EXPECT_EQ(group.used_blocks(), 6);
  EXPECT_EQ(group.waiting(), 1);
}

TEST(Batching, NoMoreThanTheMostRun) {
  Batcher group({.most_sequences = 2});
  for (int i = 0; i < 5; ++i) group.submit(i, request(10, 2));
  EXPECT_EQ(group.plan().prompts, 2);
  group.finish();
  EXPECT_EQ(group.plan().prompts, 0);
  EXPECT_EQ(group.waiting(), 3);
}

/// Prompts wait for others: three iterations at most, or until half of the positions are asked for.
TEST(Batching, PromptsMayWaitForEachOther) {
  Batcher group({.most_positions = 100, .most_wait = 3, .enough = 0.5});
  group.submit(0, request(10, 100));
  group.plan(), group.finish();
  group.submit(1, request(10, 100));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(group.plan().prompts, 0) << i;
    group.finish();
  }
  EXPECT_EQ(group.plan().prompts, 1);
  group.finish();
  group.submit(2, request(60, 100));
  EXPECT_EQ(group.plan().prompts, 1);
}

}  // namespace
}  // namespace stepcast::sim
