// stepcast scale --migrate: each way is predict's own, what binds is named, and the path turns where another way pays.
#include "studies/scale/migrate.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::scale {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::run_line;

json path_of(const std::string& line) {
  const auto ran = run_line("scale --migrate --json " + line);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

// 8 B parameters at 18 bytes and more are over 144 GB without sharding.
TEST(Migrate, MemoryEndsPlainDataParallelism) {
  const json path = path_of("llama3-8b --seq 4096 --gpus 8,16 --global-batch 32");
  for (const json& size : path["sizes"]) {
    const json& ddp = size["rungs"][0];
    EXPECT_EQ(ddp["id"], "ddp");
    EXPECT_FALSE(ddp["works"]);
    EXPECT_EQ(ddp["binds"], "memory");
    EXPECT_NE(size["best"], "ddp");
  }
  EXPECT_EQ(path["sizes"][0]["rungs"][2]["why"], "one node has no copies");
  const json& fsdp = path["sizes"][1]["rungs"][1];
  const json alone = json::parse(
      run_line("predict llama3-8b --seq 4096 --gpus 16 --zero 3 --global-batch 64 --json --stack like:megatron-core" +
               std::string(fsdp["plan"] == "zero 3" ? "" : " --recompute full"))
          .out);
  EXPECT_NEAR(fsdp["step_time_s"], alone["step_time_s"], 1e-9);
}

TEST(Migrate, ABatchThatDoesNotGrowBinds) {
  const json path = path_of("llama3.2-1b --seq 2048 --gpus 8,64 --global-batch 16 --strong");
  EXPECT_EQ(path["sizes"][0]["global_batch"], 16);
  EXPECT_EQ(path["sizes"][1]["global_batch"], 16);
  EXPECT_EQ(path["sizes"][1]["rungs"][0]["binds"], "batch");  // 64 ranks, 16 sequences
  const json& last = path["sizes"][1];
  ASSERT_FALSE(last["best"].is_null());
  ASSERT_FALSE(path["turns"].empty());
  EXPECT_EQ(path["turns"][0]["gpus"], 64);
  EXPECT_EQ(path["turns"][0]["faster"], 0);  // the old way cannot run
}

TEST(Migrate, TheBestIsTheFastestOrThePlainerOfAlike) {
  const json path = path_of("llama3.2-1b --seq 2048 --gpus 8,16 --global-batch 64");
  for (const json& size : path["sizes"]) {
    double least = INFINITY, best = INFINITY;
    for (const json& rung : size["rungs"]) {
      if (!rung["works"]) continue;
      least = std::min(least, rung["step_time_s"].get<double>());
      if (rung["id"] == size["best"]) best = rung["step_time_s"];
    }
    EXPECT_LE(best, 1.02 * least);
  }
}

TEST(Migrate, ANetworkThatGrows) {
  const auto ran = run_line("scale llama3-8b --migrate --networks llama3.2-1b,llama3-8b --gpus 8,16 --global-batch 32 "
                            "--seq 2048");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("The path"));
  EXPECT_THAT(ran.out, HasSubstr("Llama 3.2 1B"));
}

TEST(Migrate, APageHasAPictureOfEachNetwork) {
  const std::string name = testing_program::own_path("path.html");
  const std::string line = "scale llama3-8b --migrate --networks llama3.2-1b,llama3-8b --gpus 8,16 --global-batch 32 "
                           "--seq 2048 --force --html ";
  const auto ran = run_line(line + name);
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(name);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const char* words : {"content=\"stepcast migration", "<h3>Llama 3.2 1B</h3>", "<h3>Llama 3 8B</h3>", "FSDP"})
    EXPECT_THAT(page, HasSubstr(words));
  std::size_t pictures = 0;
  for (std::size_t at = page.find("<svg"); at != page.npos; at = page.find("<svg", at + 1)) ++pictures;
  EXPECT_EQ(pictures, 2U);
}

TEST(Migrate, Refusals) {
  for (const auto& [line, words] : {std::pair{"llama3-8b --migrate --gpus 8,16", "--global-batch"},
           {"llama3-8b --migrate --gpus 8,16 --tp 2 --global-batch 32", "is what --migrate compares"},
           {"llama3-8b --migrate --gpus 8,16 --global-batch 32 --csv", "--csv"},
           {"llama3-8b --migrate --gpus 8,16 --global-batch 32 --strong --weak", "one kind of scaling"},
           {"llama3-8b --networks llama3-8b", "--migrate"}, {"llama3-8b --html path.html", "--migrate"},
           {"llama3-8b --migrate --gpus 20000 --global-batch 512", "has 16384 GPUs"},
           {"llama3-8b --migrate --gpus 48,64 --global-batch 512", "512 x 64/48 is not a whole global batch"},
           {"llama3-8b --migrate --networks llama3.2-1b,llama3-70b --gpus 8,16 --global-batch 32",
               "--networks: llama3-8b is not among them"},
           {"llama3-8b --migrate --networks llama3-8b,llama3-8b --gpus 8,16 --global-batch 32",
               "--networks: llama3-8b is named twice"},
           {"llama3-8b --migrate --networks nosuch --gpus 8,16 --global-batch 32", "nosuch"},
           {"llama3-405b --migrate --gpus 1,2 --global-batch 2 --seq 8k", "no way of sharding runs"}}) {
    const auto ran = run_line(std::string("scale ") + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(words)) << line;
  }
}

}  // namespace
}  // namespace stepcast::scale
