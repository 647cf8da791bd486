// Arguments with which an engine does not start.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::HasSubstr;

TEST(EngineStarts, PositionsWithWhichVllmDoesNotStartAreRefused) {
  const auto error = [](const std::string& more) { return read("vllm serve Qwen/Qwen3-8B " + more).error; };
  const std::string few = "--max-num-batched-tokens 2048 ";
  EXPECT_THAT(error(few + "--max-num-seqs 4096"), HasSubstr("2048 positions of an iteration for 4096 sequences"));
  EXPECT_EQ(error(few + "--max-num-seqs 2048"), "");
  const std::string whole = "--no-enable-chunked-prefill " + few;
  EXPECT_THAT(error(whole + "--max-model-len 8192"), HasSubstr("requests of 8192 are not cut"));
  EXPECT_EQ(error(whole + "--max-model-len 2048"), "");
  EXPECT_EQ(error(few + "--max-model-len 8192"), "");
}

}  // namespace
}  // namespace stepcast::engines
