// Pools of their own for prompts in a sweep: each row is serve's answer, what is left out is said, and either side
// wins.
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/serving/steady/steady_part.h"
#include "studies/serve/answer.h"
#include "studies/serve/sweep/explored.h"
#include "studies/serve/sweep/pooled_rows.h"
#include "studies/serve/sweep/simulated_row.h"
#include "tests/studies/run_program.h"

namespace stepcast::serve::sweeping {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_program::own_path;
using testing_program::run_line;

/// Llama 3 8B on four H100 under 16 users.
Asked four_gpus() {
  Asked asked;
  asked.network = "llama3-8b", asked.machines = {"dgx-h100"}, asked.engines = {"vllm"};
  asked.weights = asked.caches = {""};
  asked.gpus = {4}, asked.tp = {1, 2}, asked.pp = asked.ep = asked.attention_dp = {1};
  asked.most_sequences = asked.most_positions = {0};
  asked.pools = true;
  asked.prefill_tp = {1, 2}, asked.prefill_ep = asked.prefill_attention_dp = {1};
  asked.prefill_most_sequences = asked.prefill_most_positions = {0};
  asked.law.prompts = {4000, 4000}, asked.law.outputs = {64, 64};
  asked.loads = {16}, asked.simulated = 1000, asked.top = 1000;
  return asked;
}

Question question_for(const Asked& asked, const Configuration& c) {
  Question out;
  out.engine.network = asked.network, out.engine.machine = c.machine, out.engine.engine = c.engine;
  out.engine.tp = out.engine.gpus = c.tp;
  out.replicas = c.replicas;
  if (c.prompts) {
    out.prompts = PromptPoolWishes{out.engine, {}, c.prompts->replicas};
    out.prompts->engine.machine = c.prompts->machine;
    out.prompts->engine.tp = out.prompts->engine.gpus = c.prompts->tp;
  }
  out.law = asked.law;
  out.concurrency = static_cast<std::int64_t>(asked.loads.front());
  out.law.count = rounds_of(asked, *out.concurrency) * *out.concurrency;
  return out;
}

void expect_serves_answers(const Asked& asked) {
  const auto explored = explore(asked);
  ASSERT_TRUE(explored) << to_text(explored.error());
  const std::int64_t users = 16, rounds = rounds_of(asked, users);
  int pooled = 0;
  for (const Row& row : explored->rows) {
    const Configuration& c = explored->configurations[row.configuration];
    ASSERT_TRUE(row.simulated);
    const auto served = answer(question_for(asked, c));
    ASSERT_TRUE(served) << to_text(served.error());
    EXPECT_EQ(served->gpus, c.gpus);
    const sim::SteadyPart part =
        sim::steady_part(served->run, static_cast<std::size_t>(users), static_cast<std::size_t>((rounds - 1) * users));
    EXPECT_DOUBLE_EQ(row.simulated->per_word.value(), part.per_word.value());
    EXPECT_DOUBLE_EQ(row.simulated->words_per_gpu, part.words_per_second / 4);
    if (row.state.doubt == sim::MeanFieldDoubt::none) {
      EXPECT_NEAR(row.mean.per_word / part.per_word, 1, 0.05);
      EXPECT_NEAR(row.mean.words_per_gpu / row.simulated->words_per_gpu, 1, 0.05);
    }
    pooled += c.prompts ? 1 : 0;
    const auto ran = run_line(serve_line(asked, c, row.load).substr(std::string("stepcast ").size()) + " --json");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const json load = json::parse(ran.out);
    EXPECT_NEAR(load["tpot"]["mean_s"].get<double>() / part.per_word.value(), 1, 0.05);
    EXPECT_EQ(load["gpus"], 4);
    if (!c.prompts) continue;
    EXPECT_EQ(load["prefill_pool"]["gpus"], c.prompts->gpus());
    EXPECT_EQ(load["prefill_pool"]["machine"], c.prompts->machine);
  }
  EXPECT_GE(pooled, 4);
}

TEST(PooledSweep, EveryRowIsServesAnswer) { expect_serves_answers(four_gpus()); }

TEST(PooledSweep, EveryRowOfUnlikeMachinesIsServesAnswer) {
  Asked asked = four_gpus();
  asked.machines = {"hgx-h200"}, asked.prefill_machines = {"dgx-h100"};
  expect_serves_answers(asked);
}

json swept_pools(const std::string& line) {
  const auto ran = run_line("serve-sweep " + line + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}
std::int64_t left_out(const json& sweep, const std::string& part) {
  std::int64_t count = 0;
  for (const json& one : sweep["refused"])
    if (one["reason"].get<std::string>().find(part) != std::string::npos) count += one["count"].get<std::int64_t>();
  return count;
}

/// Of 8 GPUs: 1 to 7 of tp 1 for prompts beside tp 1, 2, 4 and 6 of them beside tp 2, ...
TEST(PooledSweep, RatiosFillTheGpus) {
  Asked asked = four_gpus();
  EXPECT_EQ(ratios_of(asked, 8, 1, 1).priced.size(), 7);
  EXPECT_EQ(ratios_of(asked, 8, 1, 2).priced.size(), 3);
  EXPECT_EQ(ratios_of(asked, 8, 3, 2).priced.size(), 1);
  EXPECT_EQ(ratios_of(asked, 8, 2, 4).priced.size(), 1);
  EXPECT_EQ(ratios_of(asked, 8, 8, 1).priced.size(), 0);
  asked.prefill_replicas = {2, 3}, asked.replicas = {5};
  ASSERT_EQ(ratios_of(asked, 8, 1, 1).priced.size(), 1);
  EXPECT_EQ(ratios_of(asked, 8, 1, 1).priced[0].prompts, 3);
  // Four GPUs: 3 ratios of tp 1 with tp 1, and one of each other pair.
  EXPECT_EQ(*pooled_combinations(four_gpus(), 1e7), 6);
  EXPECT_FALSE(pooled_combinations(four_gpus(), 5));
}

TEST(PooledSweep, WhatDoesNotBalanceIsLeftOut) {
  const json sweep = swept_pools(
      "llama3-8b --gpus 8 --tp 1,2 --input 4000 --output 64 --concurrency 1,8,32,128,512 --pools --simulate 0");
  EXPECT_EQ(left_out(sweep, "") + static_cast<std::int64_t>(sweep["rows"].size()), sweep["combinations"]);
  // tp 1 beside tp 1 in 7 ratios, tp 1 and 2 in 3, either way, tp 2 and 2 in 3; and both by themselves.
  EXPECT_EQ(sweep["combinations"], (7 + 3 + 3 + 3 + 2) * 5);
  EXPECT_GT(left_out(sweep, "half of their time to spare"), 0);
  EXPECT_GT(left_out(sweep, "fewer users fill"), 0);
  std::map<std::string, int> idle, full;
  for (const json& row : sweep["rows"]) {
    if (row["prefill_tp"].is_null()) continue;
    const double busy = row["prefill_busy"];
    const std::string pair = row["prefill_tp"].dump() + "/" + row["tp"].dump();
    if (busy < 0.5 && row["sure"].get<bool>())
      EXPECT_EQ(++idle[pair + "@" + row["concurrency"].dump()], 1) << "only one of a pair and a load";
    if (busy >= 0.95) EXPECT_EQ(++full[pair + "x" + row["prefill_replicas"].dump()], 1) << "only one load fills it";
  }
  EXPECT_FALSE(idle.empty());
  EXPECT_FALSE(full.empty());
}

/// One GPU of 2 $ reads and three of 4 $ say words: 3.5 $ each in the mean. With two machines for prompts there are as
/// many pairs more.
TEST(PooledSweep, PromptsMayBeReadOnOtherMachines) {
  const std::string line = "llama3-8b --machine hgx-h200 --gpus 4 --tp 1 --input 4000 --output 64 --concurrency 8 "
                           "--price hgx-h200=4,dgx-h100=2 --prefill-machine dgx-h100";
  const json one = swept_pools(line + " --prefill-replicas 1 --replicas 3");
  ASSERT_EQ(one["rows"].size(), 1);
  const json& row = one["rows"][0];
  EXPECT_EQ(row["machine"], "hgx-h200");
  EXPECT_EQ(row["prefill_machine"], "dgx-h100");
  EXPECT_NEAR(row["usd_per_million_output_tokens"].get<double>(),
      3.5 / 3600 / row["tokens_per_s_per_gpu"].get<double>() * 1e6, 1e-9);
  EXPECT_EQ(swept_pools(line)["combinations"], 1 + 3);
  EXPECT_EQ(swept_pools(line + ",hgx-h200")["combinations"], 1 + 2 * 3);
  const auto shown = run_line("serve-sweep " + line);
  EXPECT_THAT(shown.out, HasSubstr("x tp 1 on dgx-h100"));
}

const json& most_words(const json& sweep) {
  const json* best = nullptr;
  for (const json& row : sweep["rows"])
    if (row["sure"] && (best == nullptr || row["tokens_per_s_per_gpu"] > (*best)["tokens_per_s_per_gpu"])) best = &row;
  EXPECT_NE(best, nullptr);
  return *best;
}

/// Long prompts stand in the way of words that must come fast; short ones do not, and one pool wastes no GPU.
TEST(PooledSweep, PoolsWinWherePromptsAreLongAndWordsFast) {
  const std::string base = "llama3-70b --gpus 16 --tp 4,8 --weights fp8 --pools --simulate 0 ";
  const json fast = swept_pools(base + "--input 8000 --output 256 --slo tpot<18ms");
  EXPECT_FALSE(most_words(fast)["prefill_replicas"].is_null());
  const json slow = swept_pools(base + "--input 256 --output 1024");
  EXPECT_TRUE(most_words(slow)["prefill_replicas"].is_null());
}

TEST(PooledSweep, TextAndTableAndPageShowPools) {
  const std::string line = "serve-sweep llama3-8b --gpus 4 --tp 1 --prefill-tp 1,2 --input 4000 --output 64 "
                           "--concurrency 16,64 --slo tpot<50ms --price 2 ";
  const std::string page = own_path("pools.html");
  const auto text = run_line(line + "--html " + page + " --force");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part : {"prefill", " x tp 1", "1 x tp 2", "$/M tokens"}) EXPECT_THAT(text.out, HasSubstr(part));
  std::ifstream in(page);
  EXPECT_THAT((std::string{std::istreambuf_iterator<char>(in), {}}), HasSubstr("prefill 1 x tp 2"));
  EXPECT_THAT(run_line(line + "--csv").out, HasSubstr("prefill_replicas"));
  // Rates: what comes is a part of what is read at most.
  const json rates = swept_pools("llama3-8b --gpus 2 --tp 1 --pools --input 4000 --output 64 --rate 1,500");
  EXPECT_GT(left_out(rates, "beyond saturation"), 0);
}

/// Of 499,999 ratios those are priced from one to the next of which a pool changes by 5 %, and a closed loop runs on
/// the replicas that its users reach.
TEST(PooledSweep, MillionsOfGpusEnd) {
  Asked asked;
  const PoolRatios all = ratios_of(asked, 4'000'000, 8, 8);
  EXPECT_LT(all.priced.size(), 700u);
  EXPECT_EQ(all.priced.size() + all.between, 499'999u);
  EXPECT_EQ(all.priced.front().prompts, 1);
  double most = 0;
  for (std::size_t i = 1; i < all.priced.size(); ++i) {
    const PoolRatio &before = all.priced[i - 1], &here = all.priced[i];
    EXPECT_EQ(here.prompts * 8 + here.words * 8, 4'000'000);
    const auto grown = static_cast<double>(here.prompts - before.prompts);
    if (here.prompts - before.prompts > 1)
      most = std::max({most, grown / static_cast<double>(before.prompts), grown / static_cast<double>(before.words)});
  }
  EXPECT_LT(most, 0.05 + 1e-9);
  EXPECT_GT(most, 0.04);
  // 256 ratios are all priced, and so are those that lists name
  EXPECT_EQ(ratios_of(asked, 257, 1, 1).priced.size(), 256u);
  EXPECT_EQ(ratios_of(asked, 257, 1, 1).between, 0u);
  asked.replicas = {100, 7};
  const PoolRatios listed = ratios_of(asked, 4'000'000, 8, 8);
  ASSERT_EQ(listed.priced.size(), 2u);
  EXPECT_EQ(listed.priced[0].words, 100);
  EXPECT_EQ(listed.priced[1].prompts, 499'993);
  // 6 x 3 leave 2 x 4 of 26 GPUs, and 2 x 3 leave 5 x 4
  const PoolRatios uneven = ratios_of({}, 26, 3, 4);
  ASSERT_EQ(uneven.priced.size(), 2u);
  EXPECT_EQ(uneven.priced[0].words, 5);
  EXPECT_EQ(uneven.priced[1].words, 2);
  EXPECT_TRUE(ratios_of({}, 7, 2, 2).priced.empty());
  const json swept =
      swept_pools("llama3-8b --gpus 4000000 --tp 8 --pools --input 512 --output 16 --concurrency 8,64 --simulate 4");
  EXPECT_GT(left_out(swept, "both pools differ by less than 5 %"), 900'000);
  // 10,000 users in 16 words of 10 rounds reach 10,000 replicas: 160 x 10,000^2 looks are more than 10^10.
  asked.law.outputs = {16, 16};
  Configuration many;
  many.replicas = 400'000, many.prompts = PromptSplit{.replicas = 100'000};
  EXPECT_FALSE(can_simulate(asked, many, 10'000));
  EXPECT_TRUE(can_simulate(asked, many, 1'000));
  many.replicas = 4, many.prompts->replicas = 4;
  EXPECT_TRUE(can_simulate(asked, many, 10'000));
  EXPECT_THAT(run_line("serve-sweep llama3-8b --gpus 4000000 --tp 8 --pools --input 512 --output 16 --concurrency "
                       "1000000 --simulate 4")
                  .out,
      HasSubstr(" of so many replicas that they are not simulated"));
}

TEST(PooledSweep, WhatCannotBeIsSaid) {
  const std::string base = "serve-sweep llama3-8b --gpus 4 --input 512 --output 64 ";
  const std::pair<std::string, const char*> rows[] = {{base + "--prefill-tp x", "--prefill-tp"},
      {base + "--prefill-tp 1,1", "1 twice"}, {base + "--prefill-replicas 0", "--prefill-replicas"},
      {base + "--prefill-gpus 2", "--prefill-gpus"}, {base + "--prefill-machine dgx-h101", "--prefill-machine"},
      {base + "--machine dgx-h100 --prefill-machine dgx-a100 --price dgx-h100=2", "no price of dgx-a100"},
      {base + "--machine dgx-h100 --prefill-machine dgx-a100 --profile h100-sxm", "two kinds of machine"},
      {"serve-sweep llama3-8b --gpus 4 --input 512 --output 1 --pools", "requests of one word"},
      {"serve-sweep llama3-8b --gpus 1..1000 --input 512 --output 64 --tp 1..60 --prefill-tp 1..60", "combinations"}};
  for (const auto& [line, part] : rows) {
    const auto ran = run_line(line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(part)) << line;
  }
  const std::string large = "llama3-70b --gpus 8 --tp 4 --input 512 --output 64 --concurrency 8 --simulate 0 ";
  EXPECT_EQ(left_out(swept_pools(large + "--prefill-tp 1"), "where prompts are read, weights leave no room"), 1);
  EXPECT_EQ(left_out(swept_pools(large + "--prefill-tp 8"), "no whole replicas of both pools"), 1);
  EXPECT_EQ(left_out(swept_pools(large + "--prefill-tp 4 --prefill-ep 2"), "--prefill-ep"), 1);
  // serve says the same of the first.
  const auto served = run_line("serve llama3-70b --gpus 4 --prefill-gpus 4 --prefill-replicas 4 --prefill-tp 1 "
                               "--input 512 --output 64 --concurrency 8");
  EXPECT_EQ(served.code, 2);
  EXPECT_THAT(served.err, HasSubstr("--prefill-gpus"));
}

}  // namespace
}  // namespace stepcast::serve::sweeping
