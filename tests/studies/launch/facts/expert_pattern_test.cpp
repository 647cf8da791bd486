#include "studies/launch/facts/expert_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::launch {
namespace {

TEST(ExpertPattern, ListsAddAndRepeat) {
  EXPECT_THAT(*read_expert_pattern("([0]*2+[1]*3)"), testing::ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(*read_expert_pattern("(([0]*1+[1])*2)"), testing::ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(*read_expert_pattern("[0, 1, 1]"), testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(*read_expert_pattern("'[1]*2'"), testing::ElementsAre(1, 1));
}

TEST(ExpertPattern, WhatIsNoListIsRefused) {
  for (const char* text : {"", "3", "[0", "[0]*", "([0]*3", "[2]*4", "[0]*99999999", "(((([0]*100)*100)*100)*100)",
           "[0]*3]", "__import__('os')"})
    EXPECT_FALSE(read_expert_pattern(text)) << text;
  EXPECT_FALSE(read_expert_pattern(std::string(5000, '(')));
}

struct PatternRow {
  const char* text;
  std::int64_t dense, every;
};

TEST(ExpertPattern, DenseLayersInFrontAndThenEveryNth) {
  const PatternRow rows[] = {{"[0]*3+[1]*58", 3, 1}, {"[1]*4", 0, 1}, {"([0]+[1])*24", 0, 2},
      {"[0]*1+([0]*1+[1])*2+[0]*1", 1, 2}, {"[0,0,1,0,0,1]", 0, 3}};
  for (const PatternRow& row : rows) {
    const auto layers = expert_layers_of(*read_expert_pattern(row.text));
    ASSERT_TRUE(layers) << row.text;
    EXPECT_EQ(layers->dense, row.dense) << row.text;
    EXPECT_EQ(layers->every, row.every) << row.text;
  }
  EXPECT_FALSE(expert_layers_of({1, 0, 1, 0}));  // the first of each two
  EXPECT_FALSE(expert_layers_of({1, 1, 0, 1}));
}

}  // namespace
}  // namespace stepcast::launch
