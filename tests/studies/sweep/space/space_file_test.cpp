#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/sweep/space/space_words.h"
#include "tests/studies/sweep/space/space_of.h"

namespace stepcast::sweep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_program::own_path;
using testing_space::error;
using testing_space::file_with;
using testing_space::good;
using testing_space::values;

const std::string good_file = R"({
  "network": "gpt3-175b", "machine": "dgx-a100", "stack": "megatron-2022", "gpus": 64, "global_batch": 64, "sequence": 2048,
  "axes": { "tp": "all", "pp": [1, 2, 4, 8], "micro_batch": "1..8*2", "zero": 1, "recompute": ["none", "full"], "sp": "on",
            "layout": ["even", "12,12,12,12,12,12,12,12"], "tp_tier": ["node", "cluster"] },
  "where": "memory.peak < 70 GiB", "objective": "cost", "pareto": ["time", "memory.peak"], "top": 25, "price": 2.5
})";

std::string replaced_in(const std::string& from, const std::string& to) {
  std::string text = good_file;
  return file_with(text.replace(text.find(from), from.size(), to));
}

TEST(SpaceFile, SaysAllThatFlagsSay) {
  const Space space = good(file_with(good_file));
  EXPECT_EQ(space.request.network->id, "gpt3-175b");
  EXPECT_EQ(space.request.machine->id, "dgx-a100");
  EXPECT_THAT(values(space, AxisId::tp), ElementsAre("1", "2", "3", "4", "6", "8", "12", "16", "24", "32", "48"));
  EXPECT_THAT(values(space, AxisId::pp), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(values(space, AxisId::micro_batch), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(values(space, AxisId::layout), ElementsAre("even", "12,12,12,12,12,12,12,12"));
  EXPECT_THAT(values(space, AxisId::tp_tier), ElementsAre("node", "cluster"));
  EXPECT_THAT(values(space, AxisId::pp_tier), ElementsAre("cluster"));
  EXPECT_TRUE(space.tiers);
  EXPECT_EQ(space.where, "memory.peak < 70 GiB");
  EXPECT_THAT(space.where_origin, testing::EndsWith("space.json:/where"));
  EXPECT_EQ(space.objective, "cost");
  EXPECT_THAT(space.pareto, ElementsAre("step_time", "memory.peak"));  // by their full names
  EXPECT_EQ(space.top, 25U);
  EXPECT_EQ(space.price_per_gpu_hour, 2.5);
  EXPECT_THAT(space.request.said().at("sp").where, HasSubstr("space.json:/axes/sp"));
}

TEST(SpaceFile, FlagsWinOverIt) {
  const Space space = good(
      file_with(good_file) + " --gpus 128 --tp 8 --global-batch 128 --machine dgx-h100 --objective step_time --top 3");
  EXPECT_THAT(values(space, AxisId::gpus), ElementsAre("128"));
  EXPECT_THAT(values(space, AxisId::tp), ElementsAre("8"));
  EXPECT_EQ(space.global_batch, 128);
  EXPECT_EQ(space.request.machine->id, "dgx-h100");
  EXPECT_EQ(space.objective, "step_time");
  EXPECT_EQ(space.top, 3U);
}

TEST(SpaceFile, TheNetworkMayBeNamedBeside) {
  const std::string file = replaced_in("\"network\": \"gpt3-175b\", ", "");
  EXPECT_THAT(error(file),
      AllOf(HasSubstr("space.json:/network: no network is named"), HasSubstr("NETWORK on the command line")));
  EXPECT_EQ(
      good("gpt3-13b " + replaced_in("\"12,12,12,12,12,12,12,12\"", "\"balanced\"")).request.network->id, "gpt3-13b");
  EXPECT_EQ(good("gpt3-175b " + file).request.network->id, "gpt3-175b");
}

TEST(SpaceFile, AScenarioFileIsASpaceOfItsValues) {
  const std::string path = own_path("run.json");
  std::ofstream(path)
      << R"({"network": "llama3-8b", "gpus": 16, "tp": 2, "pp": 4, "global_batch": 32, "layout": "9,8,8,7"})";
  const Space space = good(path + " --pp 4,8");
  EXPECT_THAT(values(space, AxisId::tp), ElementsAre("2"));
  EXPECT_THAT(values(space, AxisId::pp), ElementsAre("4", "8"));
  EXPECT_THAT(values(space, AxisId::layout), ElementsAre("9,8,8,7"));
  EXPECT_THAT(error(path + " " + file_with(good_file)),
      AllOf(HasSubstr("NETWORK"), HasSubstr("is a scenario file, and so is --space")));
}

TEST(SpaceFile, MistakesNameFilePointerAndTheNearestName) {
  EXPECT_THAT(error(replaced_in("\"axes\"", "\"axis\"")),
      AllOf(HasSubstr("space.json:/axis: unknown key"), HasSubstr("did you mean 'axes'?")));
  EXPECT_THAT(
      error(replaced_in("\"gpus\"", "\"gpu\"")), AllOf(HasSubstr("space.json:/gpu: unknown key"), HasSubstr("'gpus'")));
  EXPECT_THAT(error(replaced_in("\"micro_batch\"", "\"micro_batches\"")),
      AllOf(HasSubstr("space.json:/axes/micro_batches: unknown axis"), HasSubstr("did you mean 'micro_batch'?")));
  EXPECT_THAT(error(replaced_in("\"pp\"", "\"--pp\"")), HasSubstr("unknown axis"));
  EXPECT_THAT(error(replaced_in("[1, 2, 4, 8]", "[]")), HasSubstr("space.json:/axes/pp: the list is empty"));
  EXPECT_THAT(error(replaced_in("[1, 2, 4, 8]", "[1, 2, 2]")), HasSubstr("space.json:/axes/pp: 2 is listed twice"));
  EXPECT_THAT(error(replaced_in("[1, 2, 4, 8]", "[1, 0]")), HasSubstr("space.json:/axes/pp: 0 is out of range"));
  EXPECT_THAT(error(replaced_in("[1, 2, 4, 8]", "[1, \"2\"]")), HasSubstr("space.json:/axes/pp"));
  EXPECT_THAT(error(replaced_in("[1, 2, 4, 8]", "1.5")), HasSubstr("space.json:/axes/pp"));
  EXPECT_THAT(error(replaced_in("[1, 2, 4, 8]", "{}")), HasSubstr("space.json:/axes/pp: found an object"));
  EXPECT_THAT(
      error(replaced_in("[\"none\", \"full\"]", "[\"none\", \"fool\"]")), HasSubstr("space.json:/axes/recompute"));
  EXPECT_THAT(error(replaced_in("\"sp\": \"on\"", "\"sp\": true")), HasSubstr("space.json:/axes/sp: found true"));
  EXPECT_THAT(error(replaced_in("[\"node\", \"cluster\"]", "[\"rack\"]")),
      HasSubstr("space.json:/axes/tp_tier: unknown tier 'rack'"));
  EXPECT_THAT(error(replaced_in("{ \"tp\"", "{ \"gpus\": 8, \"tp\"")),
      AllOf(HasSubstr("space.json:/axes/gpus: gpus is said twice"), HasSubstr("space.json:/gpus")));
  EXPECT_THAT(error(replaced_in("\"gpt3-175b\"", "\"gpt3-175\"")),
      AllOf(HasSubstr("space.json:/network"), HasSubstr("gpt3-175b")));
  EXPECT_THAT(error(replaced_in("\"gpus\": 64", "\"gpus\": [64]")), HasSubstr("space.json:/gpus: found a list of 1"));
  EXPECT_THAT(error(file_with(R"({"network": "llama3-8b", "gpus": 8, "global_batch": 8, "axes": []})")),
      HasSubstr("space.json:/axes: found a list"));
}

TEST(SpaceFile, MistakesInGoals) {
  EXPECT_THAT(error(replaced_in("\"objective\": \"cost\"", "\"objective\": \"step_tme\"")),
      AllOf(HasSubstr("space.json:/objective"), HasSubstr("step_time")));
  EXPECT_THAT(error(replaced_in("[\"time\", \"memory.peak\"]", "[\"time\", \"step_time\"]")),
      HasSubstr("space.json:/pareto: step_time is listed twice"));
  EXPECT_THAT(error(replaced_in("[\"time\", \"memory.peak\"]", R"(["time", "memory.peak", "mfu", "hfu", "energy"])")),
      HasSubstr("space.json:/pareto: more than 4 figures"));
  EXPECT_THAT(error(replaced_in("[\"time\", \"memory.peak\"]", "[\"time\"]")),
      AllOf(HasSubstr("two figures or more"), HasSubstr("--objective")));
  EXPECT_THAT(error(replaced_in("[\"time\", \"memory.peak\"]", "[]")), HasSubstr("two figures or more"));
  EXPECT_THAT(error(replaced_in("[\"time\", \"memory.peak\"]", "\"time\"")), HasSubstr("space.json:/pareto: found"));
  EXPECT_THAT(error(replaced_in("25", "0")), HasSubstr("space.json:/top: 0 is out of range"));
  EXPECT_THAT(error(replaced_in("25", "\"25\"")), HasSubstr("space.json:/top: found"));
  EXPECT_THAT(error(replaced_in("2.5", "0")),
      AllOf(HasSubstr("space.json:/price: 0 is out of range"), HasSubstr("US dollars")));
  EXPECT_THAT(error(replaced_in("2.5", "\"2.5\"")), HasSubstr("space.json:/price: found"));
  EXPECT_THAT(error(replaced_in(", \"price\": 2.5", "")),
      AllOf(HasSubstr("space.json:/objective: the cost needs the price"), HasSubstr("--price")));
  EXPECT_THAT(error(replaced_in("\"where\": \"memory.peak < 70 GiB\"", "\"where\": 70")),
      HasSubstr("space.json:/where: found 70"));
}

TEST(SpaceFile, BrokenFilesAreErrorsNotCrashes) {
  EXPECT_THAT(error("--space nowhere.json"), HasSubstr("nowhere.json: cannot be read"));
  EXPECT_THAT(error(replaced_in("\"gpus\": 64,", "\"gpus\": 64")), HasSubstr("space.json:2:"));
  EXPECT_THAT(error(replaced_in("\"gpus\": 64", "\"gpus\": 64, \"gpus\": 32")), HasSubstr("gpus"));
  EXPECT_THAT(error(file_with("[]")), HasSubstr("a JSON object"));
  for (std::size_t length = 0; length + 1 < good_file.size(); length += 3) {
    const auto words = read_space_file(good_file.substr(0, length), "space.json", std::nullopt);
    ASSERT_FALSE(words) << length;
  }
}

/// Python's json writes numbers that JSON does not have.
TEST(SpaceFile, NumbersThatAreNoneAreErrors) {
  for (const char* word : {"Infinity", "-Infinity", "NaN"})
    EXPECT_THAT(error(replaced_in("\"gpus\": 64", fmt::format("\"gpus\": {}", word))), HasSubstr("Infinity or NaN"))
        << word;
}

TEST(SpaceFile, TiersAndSeveralOrdersExcludeEachOther) {
  EXPECT_THAT(error(replaced_in("{ \"tp\"", "{ \"order\": [\"tp-cp-dp-pp\", \"tp-cp-pp-dp\"], \"tp\"")),
      AllOf(HasSubstr("space.json:/axes/tp_tier: tp_tier decides the order"),
          HasSubstr("either tiers or several orders")));
  EXPECT_THAT(error(replaced_in("{ \"tp\"", "{ \"order\": \"tp-cp-pp-dp\", \"tp\"")), "accepted");
}

}  // namespace
}  // namespace stepcast::sweep
