#include <gtest/gtest.h>

#include "model/base/contains.h"
#include "model/catalog.h"

namespace stepcast {
namespace {

TEST(Engines, AreReadAsTheyAreWritten) {
  for (const Engine& row : built_in().engines) {
    const auto again = read_engine(write_engine(row), row.id);
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(write_engine(*again), write_engine(row));
    for (const Engine::Tuning& tuning : row.tunings) {
      EXPECT_LE(tuning.spread.p10, 1) << row.id;
      EXPECT_GE(tuning.spread.p90, 1) << row.id;
      // Launches are told by times to first tokens where the row does not name them; others that it leaves out are
      // assumed.
      const bool launches = tuning.host_per_launch.value() > 0 && !contains(tuning.fitted, "host_per_launch");
      const std::size_t fitted = tuning.fitted.size() + (launches ? 1 : 0);
      EXPECT_LE(fitted, 3u) << row.id << " " << tuning.architecture;
    }
  }
}

TEST(Engines, TheNearestTuningCounts) {
  const Engine& engine = **find_row(built_in().engines, "vllm-v0", "engine");
  EXPECT_EQ(find_tuning(engine, "hopper", "fp8")->products_in, "fp8");
  EXPECT_EQ(find_tuning(engine, "hopper", "bf16")->architecture, "hopper");
  EXPECT_EQ(find_tuning(engine, "hopper", "bf16")->products_in, "");
  EXPECT_EQ(find_tuning(engine, "volta", "fp16")->architecture, "");
}

/// What reduces in a tuning is some engine's: every shipped engine's own, and no misspelt one.
TEST(Engines, TheKernelsThatReduceAreSomeEngines) {
  Engine engine = **find_row(built_in().engines, "vllm", "engine");
  const auto read = [&](const std::string& software) {
    engine.tunings.front().all_reduce = software;
    const auto again = read_engine(write_engine(engine), "own.json");
    return again ? std::string("read") : to_text(again.error());
  };
  for (const Engine& row : built_in().engines) EXPECT_EQ(read(row.kernels), "read") << row.id;
  const std::string misspelt = read("trtlm");
  EXPECT_NE(misspelt.find("own.json:/tunings/0/all_reduce: no engine has kernels of 'trtlm'"), std::string::npos)
      << misspelt;
  EXPECT_NE(misspelt.find("trtllm"), std::string::npos) << misspelt;
}

/// 10 layers on 4 stages: two on each, and two are left.
TEST(Engines, LayersThatStagesDoNotDivideGoByRule) {
  using Layers = std::vector<std::int64_t>;
  Engine engine = **find_row(built_in().engines, "vllm", "engine");
  const auto dealt = [&](const char* id) {
    return layers_of_stages(**find_row(built_in().engines, id, "engine"), 10, 4);
  };
  EXPECT_EQ(dealt("vllm"), (Layers{2, 3, 3, 2}));
  EXPECT_EQ(dealt("vllm-v0"), (Layers{2, 2, 2, 4}));
  EXPECT_EQ(dealt("sglang"), (Layers{2, 2, 3, 3}));
  EXPECT_EQ(dealt("tensorrt-llm"), (Layers{3, 3, 2, 2}));
  EXPECT_EQ(dealt("deepspeed-mii"), Layers{}) << "nobody knows";
  EXPECT_EQ(layers_of_stages(engine, 61, 2), (Layers{31, 30}));
  EXPECT_EQ(layers_of_stages(engine, 11, 4), (Layers{3, 3, 3, 2})) << "all but the last";
  engine.uneven_stages = UnevenStages::refused;
  EXPECT_EQ(layers_of_stages(engine, 12, 4), (Layers{3, 3, 3, 3})) << "nothing is left";
}

TEST(Engines, AFileOfOnesOwnSaysWhatIsWrong) {
  std::string text = write_engine(**find_row(built_in().engines, "pytorch", "engine"));
  const auto without = [&](const std::string& part, const std::string& other) {
    std::string changed = text;
    const std::size_t at = changed.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    if (at != std::string::npos) changed.replace(at, part.size(), other);
    const auto read = read_engine(changed, "own.json");
    return read ? std::string() : to_text(read.error());
  };
  EXPECT_NE(without("\"cache_share\": 1", "\"cache_share\": 1.9").find("cache_share"), std::string::npos);
  EXPECT_NE(without("\"of total\"", "\"of all\"").find("cache_rule"), std::string::npos);
  EXPECT_NE(without("\"captured\"", "\"caught\"").find("captured"), std::string::npos);
  EXPECT_NE(without("\"most_positions\"", "\"profiled_positions\": -1, \"most_positions\"").find("profiled_positions"),
      std::string::npos);
  EXPECT_NE(without("\"cache_rate\": 0.72", "\"cache_rate\": 0").find("cache_rate"), std::string::npos);
  EXPECT_NE(without("\"attention_rate\": 0.5", "\"attention_rate\": 3").find("attention_rate"), std::string::npos);
  EXPECT_NE(
      without("\"function\": \"rope\"", "\"function\": \"rop\"").find("one_by_one/0/function"), std::string::npos);
  EXPECT_NE(
      without("\"function\": \"geglu\"", "\"function\": \"rope\"").find("rope is listed twice"), std::string::npos);
  EXPECT_NE(without("\"kernels\": 5", "\"kernels\": 0").find("one_by_one/0/kernels"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
