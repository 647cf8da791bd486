// The sweep of serving: what is counted, what is best, what is simulated, and what is refused.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/serve/sweep/asked.h"
#include "studies/serve/sweep/configuration.h"
#include "studies/serve/sweep/explored.h"
#include "tests/studies/run_program.h"

namespace stepcast::serve::sweeping {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::run_line;

const std::string small = "serve-sweep llama3-8b --machine dgx-h100 --gpus 2,4 --tp 1,2,3 --input 512 --output 64 ";

json swept(const std::string& line) {
  const auto ran = run_line(line + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}
std::int64_t refused(const json& sweep, const std::string& part) {
  std::int64_t count = 0;
  for (const json& one : sweep["refused"])
    if (one["reason"].get<std::string>().find(part) != std::string::npos) count += one["count"].get<std::int64_t>();
  return count;
}

TEST(ServeSweep, EveryCombinationIsARowOrCountedWithItsReason) {
  const json sweep =
      swept(small + "--pp 1,2 --ep 1,2 --engine vllm,sglang --concurrency 1,8,64 --slo tpot<8ms --simulate 0");
  EXPECT_EQ(sweep["combinations"], 2 * 3 * 2 * 2 * 2 * 3);
  EXPECT_EQ(refused(sweep, "") + static_cast<std::int64_t>(sweep["rows"].size()), sweep["combinations"]);
  // tp 3 divides neither, tp x pp of 2 x 2 does not divide 2.
  EXPECT_EQ(refused(sweep, "GPUs do not divide"), (2 * 2 + 1) * 2 * 2 * 3);
  // What divides: 2 GPUs by 1, 2 x 1 and 1 x 2, 4 GPUs by these and by 2 x 2. Half of it has ep 2.
  EXPECT_EQ(refused(sweep, "no experts to share"), (3 + 4) * 2 * 3);
  EXPECT_GT(refused(sweep, "outside the targets"), 0);
  EXPECT_TRUE(std::ranges::any_of(sweep["rows"], [](const json& row) { return row["pp"] == 2; }));
}

/// One simulation is the command's own run.
TEST(ServeSweep, SimulatedRowsAreThoseOfServe) {
  const json sweep = swept("serve-sweep llama3-8b --gpus 1 --tp 1 --input 512 --output 64 --concurrency 8");
  ASSERT_EQ(sweep["rows"].size(), 1);
  const json& row = sweep["rows"][0];
  EXPECT_TRUE(row["simulated"].get<bool>());
  const std::string command = sweep["best"][0]["command"];
  const auto served = run_line(command.substr(std::string("stepcast ").size()) + " --json");
  ASSERT_EQ(served.code, 0) << command << served.err;
  const json load = json::parse(served.out);
  EXPECT_NEAR(row["tpot_s"].get<double>() / load["tpot"]["mean_s"].get<double>(), 1, 0.03) << command;
  EXPECT_NEAR(row["tokens_per_s_per_gpu"].get<double>() / load["tokens_per_s_per_gpu"].get<double>(), 1, 0.05);
  EXPECT_NEAR(row["mean_field_tpot_s"].get<double>() / row["tpot_s"].get<double>(), 1, 0.03);
  EXPECT_NEAR(
      row["mean_field_tokens_per_s_per_gpu"].get<double>() / row["tokens_per_s_per_gpu"].get<double>(), 1, 0.03);
}

TEST(ServeSweep, TheFrontIsWhatNothingBeats) {
  const json sweep = swept(small + "--simulate 4");
  int on_front = 0;
  for (const json& row : sweep["rows"]) {
    if (!row["sure"].get<bool>()) {
      EXPECT_FALSE(row["front"].get<bool>());
      continue;
    }
    bool beaten = false;
    for (const json& other : sweep["rows"])
      if (other["sure"].get<bool>() && &other != &row) {
        const double gpu = other["tokens_per_s_per_gpu"].get<double>() - row["tokens_per_s_per_gpu"].get<double>(),
                     user = other["tokens_per_s_per_user"].get<double>() - row["tokens_per_s_per_user"].get<double>();
        beaten = beaten || (gpu >= 0 && user >= 0 && (gpu + user > 0 || other["front"].get<bool>()));
      }
    EXPECT_NE(beaten, row["front"].get<bool>()) << row.dump();
    on_front += row["front"].get<bool>() ? 1 : 0;
  }
  EXPECT_GT(on_front, 2);
  EXPECT_EQ(std::ranges::count_if(sweep["rows"], [](const json& row) { return row["simulated"].get<bool>(); }), 4);
}

/// 3.6 USD per hour are 0.001 a second: a million tokens at 2,000 tokens/s/GPU take 500 s, 0.5 USD.
TEST(ServeSweep, CostIsThePriceOfTheTime) {
  const json sweep = swept(small + "--price 3.6 --concurrency 4,32");
  double last = 0;
  for (const json& row : sweep["rows"]) {
    const double cost = row["usd_per_million_output_tokens"];
    EXPECT_NEAR(cost, 1000 / row["tokens_per_s_per_gpu"].get<double>(), 1e-9 * cost);
    EXPECT_GE(cost, last) << "cheapest first";
    last = cost;
  }
  const json two = swept("serve-sweep llama3-8b --machine dgx-h100,dgx-a100 --gpus 1 --tp 1 --input 512 --output 64 "
                         "--concurrency 8 --price dgx-h100=3.6,dgx-a100=1.8");
  for (const json& row : two["rows"])
    EXPECT_NEAR(row["usd_per_million_output_tokens"].get<double>() * row["tokens_per_s_per_gpu"].get<double>(),
        row["machine"] == "dgx-h100" ? 1000 : 500, 1e-6);
}

TEST(ServeSweep, RatesBeyondSaturationAreCounted) {
  const json sweep = swept("serve-sweep llama3-8b --gpus 1 --tp 1 --input 512 --output 64 --rate 2,1000");
  EXPECT_EQ(refused(sweep, "beyond saturation"), 1);
  ASSERT_EQ(sweep["rows"].size(), 1);
  EXPECT_EQ(sweep["rows"][0]["requests_per_s_sent"], 2);
}

/// 70B in bf16 on one GPU has no room; on 8 it has.
TEST(ServeSweep, WhatDoesNotFitIsCounted) {
  const json sweep =
      swept("serve-sweep llama3-70b --machine dgx-h100 --gpus 8 --input 512 --output 64 --concurrency 8 --simulate 0");
  EXPECT_EQ(refused(sweep, "leave no room"), 1) << sweep["refused"].dump();
  EXPECT_GE(sweep["rows"].size(), 2);
}

TEST(ServeSweep, TextAndTableAndPageShowTheSame) {
  const std::string page = own_path("front.html");
  std::filesystem::remove(page);
  const auto text = run_line(small + "--concurrency 1,16 --slo ttft<2s,tpot<50ms --price 2 --html " + page);
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part : {"Front of tokens/s/GPU over tokens/s/user", "$/M tokens", "goodput",
           "stepcast serve llama3-8b", "GPUs do not divide", "simulated request by request"})
    EXPECT_THAT(text.out, HasSubstr(part));
  std::ifstream in(page);
  const std::string html{std::istreambuf_iterator<char>(in), {}};
  for (const char* part : {"<svg", "tokens/s/user", "front of all", "GPUs do not divide", "stepcast serve llama3-8b"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(run_line(small + "--concurrency 1,16 --csv").out, HasSubstr("tokens_per_s_per_gpu"));
  const auto none = run_line(small + "--concurrency 16 --slo tpot<1us");
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, HasSubstr("Nothing is left"));
}

TEST(ServeSweep, WrongInputSaysWhatIsWrong) {
  const std::string base = "serve-sweep llama3-8b --gpus 1 --input 512 --output 64 ";
  const std::pair<std::string, const char*> rows[] = {{"serve-sweep llama3-8b --input 5 --output 5", "how many GPUs"},
      {"serve-sweep llama3-8b --gpus 1 --output 5", "how long requests are"}, {base + "--tp 1,1", "1 twice"},
      {base + "--tp 4..2", "ends before it begins"}, {base + "--concurrency x", "--concurrency"},
      {base + "--rate 1 --concurrency 2", "more than one way"}, {base + "--rate 0", "no rate"},
      {base + "--engine vlm", "vllm"}, {base + "--machine dgx-h10", "dgx-h100"}, {base + "--price free", "no price"},
      {base + "--price dgx-a100=2", "not asked for"},
      {base + "--machine dgx-h100,dgx-a100 --price dgx-h100=2", "no price of dgx-a100"},
      {"serve-sweep llama3-8b --gpus 1 --input 512 --output 1", "requests of one word"},
      {base + "--slo fast", "no target"}, {base + "--shared 512", "are cached"},
      {base + "--engine vllm,", "empty name"}, {base + "--json --csv", "beside"},
      {"serve-sweep llama9 --gpus 1 --input 5 --output 5", "llama"}};
  for (const auto& [line, part] : rows) {
    const auto ran = run_line(line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(part)) << line;
  }
}

/// Ten requests of each of 400,000 users are more than the 3,000,000 that serve takes.
TEST(ServeSweep, TheLineOfManyUsersSaysHowManyRequests) {
  Asked asked;
  asked.network = "llama3-8b", asked.closed = true;
  asked.law.prompts = sim::lengths_of(512, 1), asked.law.outputs = sim::lengths_of(64, 1);
  const Configuration one;
  EXPECT_THAT(serve_line(asked, one, 400'000), HasSubstr("--requests 3000000 --concurrency 400000"));
  EXPECT_THAT(serve_line(asked, one, 300'000), Not(HasSubstr("--requests")));
  asked.closed = false;
  Configuration many;
  many.replicas = many.gpus = 4'000;
  EXPECT_THAT(serve_line(asked, many, 10), HasSubstr("--requests 3000000 --rate 10"));
}

/// What was asked of nodes and targets stands in the line, so that it is the same row.
TEST(ServeSweep, TheLineHasNodesAndTargets) {
  const auto swept = run_line("serve-sweep llama3-8b --gpus 4 --tp 4 --node-gpus 2 --input 512 --output 64 "
                              "--concurrency 8 --slo ttft<500ms");
  ASSERT_EQ(swept.code, 0) << swept.err;
  const std::string title = "To run the first one again\n  stepcast ";
  const std::size_t at = swept.out.find(title);
  ASSERT_NE(at, std::string::npos) << swept.out;
  const std::string line =
      swept.out.substr(at + title.size(), swept.out.find('\n', at + title.size()) - at - title.size());
  EXPECT_THAT(line, HasSubstr("--node-gpus 2"));
  EXPECT_THAT(line, HasSubstr("--slo 'ttft<500ms'"));
  const auto whole = run_line("serve-sweep llama3-8b --gpus 4 --tp 4 --input 512 --output 64 --concurrency 8 --csv"),
             halves = run_line(
                 "serve-sweep llama3-8b --gpus 4 --tp 4 --node-gpus 2 --input 512 --output 64 --concurrency 8 --csv");
  EXPECT_NE(whole.out, halves.out) << "ranks across the network";
}

TEST(ServeSweep, ListsAreNumbersAndRanges) {
  EXPECT_THAT(*read_counts("8", "x"), ElementsAre(8));
  EXPECT_THAT(*read_counts("7,1..3,8..64*2", "x"), ElementsAre(7, 1, 2, 3, 8, 16, 32, 64));
  EXPECT_FALSE(read_counts("3,1..3", "x")) << "3 is there twice";
  EXPECT_FALSE(read_counts("0", "x"));
  EXPECT_FALSE(read_counts("1..2000", "x")) << "more than 1,000";
}

}  // namespace
}  // namespace stepcast::serve::sweeping
