// --imbalance: what words it takes.
#include "studies/whatif/uneven_words.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::whatif::uneven_words_test {
namespace {

using testing::HasSubstr;

std::string unevenness_refusal(const std::string& words) {
  const auto read = read_unevenness(words, "--imbalance");
  return read ? std::string() : to_text(read.error());
}

TEST(UnevenWords, AreRead) {
  const auto read = read_unevenness("ranks=2% micro-batches=0.25 actions=1% slow=3x2.5 law=1,2,4,5,2.5", "--imbalance");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->uneven.ranks, 0.02);
  EXPECT_EQ(read->uneven.micro_batches, 0.25);
  EXPECT_EQ(read->uneven.slow, 3);
  EXPECT_EQ(read->uneven.slow_factor, 2.5);
  EXPECT_EQ(read->uneven.law->p95, 4);
  const auto named = read_unevenness("rank=12x1.5,3x2 node=1x1.2 rail=2 experts=1.3x", "--imbalance");
  ASSERT_EQ(named->named.size(), 3U);
  EXPECT_EQ(named->named[1].index, 3);
  EXPECT_TRUE(named->named[2].node);
  EXPECT_EQ(named->rail, 2);
  EXPECT_EQ(named->experts->busiest, 1.3);
  EXPECT_EQ(read_unevenness("experts=20%", "--imbalance")->experts->spread, 0.2);
  const std::string name = testing_program::own_path("costs");
  std::ofstream(name) << "1\n\n 3 \n";
  const auto lengths = read_unevenness("lengths=" + name + " fill=padded dealt=sorted", "--imbalance");
  EXPECT_EQ(lengths->documents->lengths, (std::vector<double>{1, 3}));
  EXPECT_EQ(lengths->documents->fill, sim::Fill::padded);
  EXPECT_EQ(lengths->uneven.dealing, sim::Dealing::sorted);
  // The law's median of 10,000 lengths.
  EXPECT_NEAR(read_unevenness("lengths=10,200,4000,8000,800", "--imbalance")->documents->lengths[5000], 200, 1);
  EXPECT_EQ(read_unevenness("costs=" + name, "--imbalance")->uneven.costs, (std::vector<double>{1, 3}));
}

TEST(UnevenWords, WrongOnesAreRefused) {
  EXPECT_THAT(unevenness_refusal(""), HasSubstr("nothing is uneven"));
  EXPECT_THAT(unevenness_refusal("ranks"), HasSubstr("'ranks' has no ="));
  EXPECT_THAT(unevenness_refusal("speed=2%"), HasSubstr("'speed' is no kind"));
  EXPECT_THAT(unevenness_refusal("ranks=2% ranks=3%"), HasSubstr("ranks twice"));
  EXPECT_THAT(unevenness_refusal("slow=2"), HasSubstr("no number of ranks and factor"));
  EXPECT_THAT(unevenness_refusal("rank=-1x2"), HasSubstr("rank=-1x2 is no number"));
  EXPECT_THAT(unevenness_refusal("rank=1x2,"), HasSubstr("rank= is no number"));
  EXPECT_THAT(unevenness_refusal("node=3"), HasSubstr("a node and factor"));
  EXPECT_THAT(unevenness_refusal("rail=0.5"), HasSubstr("no factor from 1 on"));
  EXPECT_THAT(unevenness_refusal("rank=12x0.5"), HasSubstr("rank=12x0.5: no GPU is faster than it is"));
  EXPECT_THAT(unevenness_refusal("rank=3x2,12x0.99"), HasSubstr("rank=12x0.99: no GPU is faster"));
  EXPECT_THAT(unevenness_refusal("node=3x0.5"), HasSubstr("node=3x0.5: no node is faster"));
  EXPECT_THAT(unevenness_refusal("slow=1x0.5"), HasSubstr("slow=1x0.5: no GPU is faster"));
  EXPECT_THAT(unevenness_refusal("slow=1x0.5"), HasSubstr("slow=1x2.5: 2.5 times as long, from 1 on"));
  EXPECT_EQ(unevenness_refusal("slow=1x1 rank=12x1 node=3x1 link=3x1"), "");
  EXPECT_THAT(unevenness_refusal("lengths=0.1,2,4,5,2.5"), HasSubstr("less than a token"));
  EXPECT_THAT(unevenness_refusal("fill=packed"), HasSubstr("says nothing without lengths"));
  EXPECT_THAT(unevenness_refusal("lengths=1,2,4,5,2.5 fill=tight"), HasSubstr("'fill=tight' is not known"));
  EXPECT_THAT(unevenness_refusal("ranks=1% dealt=sorted"), HasSubstr("micro-batches cost the same"));
  EXPECT_THAT(unevenness_refusal("experts=0.5x"), HasSubstr("no less than the mean"));
  EXPECT_THAT(unevenness_refusal("lengths=/no/such/file"), HasSubstr("/no/such/file"));
  EXPECT_THAT(unevenness_refusal("law=3,2,4,5,2.5"), HasSubstr("is no law"));
  EXPECT_THAT(unevenness_refusal("law=1,2,4"), HasSubstr("is no law"));
  const std::string name = testing_program::own_path("costs");
  std::ofstream(name) << "1\nmany\n";
  EXPECT_THAT(unevenness_refusal("costs=" + name), HasSubstr("costs:2: 'many' is no cost"));
}

}  // namespace
}  // namespace stepcast::whatif::uneven_words_test
