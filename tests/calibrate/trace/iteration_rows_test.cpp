#include "calibrate/trace/iteration_rows.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

IterationRows rows_of(const char* name) {
  const auto rows = iteration_rows_in(name);
  EXPECT_TRUE(rows) << name;
  return rows.value_or(IterationRows{});
}

TEST(IterationRows, NamesOfEnginesSayTheirRows) {
  EXPECT_EQ(rows_of("execute_context_1(888_788544)_generation_0(0)"), (IterationRows{1, 888, 0}));
  EXPECT_EQ(rows_of("execute_context_2(512)_generation_30(30)"), (IterationRows{2, 512, 30}));
  EXPECT_EQ(rows_of("execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)"),
      (IterationRows{15, 15360, 0}));
  EXPECT_EQ(rows_of("execute_new_1_cached_8"), (IterationRows{1, -1, 8}));
  EXPECT_EQ(rows_of("step[EXTEND bs=15 toks=15360]"), (IterationRows{15, 15360, 0}));
  EXPECT_EQ(rows_of("step[DECODE bs=64 toks=64]"), (IterationRows{0, 0, 64}));
  EXPECT_EQ(rows_of("[Executor] _forward_step 12: 1 ctx reqs, 9 gen reqs"), (IterationRows{1, -1, 9}));
}

TEST(IterationRows, WhatSaysNoRowsHasNone) {
  EXPECT_FALSE(rows_of("execute_model").known());
  EXPECT_FALSE(rows_of("step[IDLE]").known());
  EXPECT_FALSE(iteration_rows_in("ProfilerStep#6"));
  EXPECT_FALSE(iteration_rows_in("execute_context_one"));
}

}  // namespace
}  // namespace stepcast::calibrate
