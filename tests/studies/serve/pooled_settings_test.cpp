// 200 random settings of two pools of real engines: their steady state within 2 % of the simulator's throughput and
// time per word in nine of ten, where it does not say that it may be off.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "sim/serving/pooled_run.h"
#include "sim/serving/steady/pooled_field.h"
#include "sim/serving/steady/steady_part.h"
#include "studies/infer/pools.h"
#include "studies/infer/served_load.h"

namespace stepcast::serve {
namespace {

struct OfPool {
  std::int64_t tp, groups;
};
struct OfEngine {
  const char *network, *engine, *machine, *weights;
  std::vector<OfPool> splits;
};
const OfEngine of_engines[] = {{"llama3-8b", "vllm", "dgx-h100", "", {{1, 1}, {2, 1}}},
    {"llama3-70b", "tensorrt-llm", "dgx-h100", "fp8", {{4, 1}, {8, 1}}},
    {"llama3-70b", "sglang", "dgx-h100", "fp8", {{4, 1}, {8, 1}}}, {"mixtral-8x7b", "vllm", "dgx-h100", "", {{4, 1}}},
    {"deepseek-v3", "vllm", "dgx-h200", "fp8-block", {{8, 1}, {1, 8}, {1, 16}}},
    {"deepseek-v3", "tensorrt-llm", "gb200-nvl72", "fp8-block", {{4, 1}, {1, 8}, {1, 16}}}};

struct Timed {
  infer::Serving serving;
  std::unique_ptr<infer::ServedTimes> times;
  sim::BatchTimer timer;
};

std::vector<std::vector<Timed>> all_timed() {
  std::vector<std::vector<Timed>> out;
  for (const OfEngine& row : of_engines) {
    out.emplace_back();
    for (const OfPool& split : row.splits) {
      infer::ServingWishes wishes;
      wishes.network = row.network, wishes.engine = row.engine, wishes.machine = row.machine;
      wishes.weights = row.weights, wishes.tp = split.tp, wishes.attention_dp = split.groups;
      wishes.ep = split.groups;
      auto serving = infer::serving_of(wishes);
      EXPECT_TRUE(serving) << to_text(serving.error());
      out.back().push_back({std::move(*serving), nullptr, nullptr});
    }
    for (Timed& timed : out.back()) {
      timed.times = std::make_unique<infer::ServedTimes>(timed.serving);
      timed.timer = timed.times->timer();
    }
  }
  return out;
}

double one_of(std::mt19937_64& random, std::initializer_list<double> of) { return of.begin()[random() % of.size()]; }

double quantile(std::vector<double> errors, double share) {
  std::ranges::sort(errors);
  return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size()))];
}

TEST(PooledSettings, AreAsTheSimulatorHasThem) {
  const auto engines = all_timed();
  std::mt19937_64 random{11};
  std::vector<double> words, rates, firsts;
  std::map<std::string, int> doubts;
  while (words.size() < 200) {
    const std::size_t engine = random() % engines.size();
    const auto& splits = engines[engine];
    const Timed& prompts = splits[random() % splits.size()];
    const Timed& says = splits[random() % splits.size()];
    sim::RequestLaw law;
    const double shortest = one_of(random, {1, 0.8, 0.3});
    law.prompts = sim::lengths_of(static_cast<std::int64_t>(one_of(random, {256, 1024, 4000, 8000})), shortest);
    law.outputs = sim::lengths_of(static_cast<std::int64_t>(one_of(random, {64, 256, 1024})), shortest);
    law.seed = random() % 1000;
    if (random() % 5 == 0) law.shared = law.prompts.low / 2;
    const double length = law.prompts.mean() + law.outputs.mean() / 2;
    infer::BatchingWishes wishes;
    if (random() % 3 == 0) wishes.most_positions = static_cast<std::int64_t>(one_of(random, {2048, 8192, 16384}));
    const auto servers_of = [&](const Timed& timed, double positions, std::int64_t replicas) {
      return sim::Servers{infer::policy_of(timed.serving, positions, wishes), replicas,
          timed.serving.attention_groups(), 1, timed.serving.engine.host_per_request};
    };
    const auto readers = 1 + static_cast<std::int64_t>(random() % 4),
               speakers = 1 + static_cast<std::int64_t>(random() % 4);
    const sim::PooledServers servers{servers_of(prompts, law.prompts.mean(), readers),
        servers_of(says, length, speakers), infer::transfers(prompts.serving, says.serving)};
    const sim::RequestMeans means = sim::means_of(law);
    const sim::PromptReader reader(means, servers.prompts, prompts.timer);
    const sim::WordSpeaker speaker(means, servers.words, says.timer);
    const infer::CacheTransfer keys = infer::transfer_of(prompts.serving, says.serving, law.prompts.mean());
    const sim::PooledField field(reader, speaker,
        {static_cast<double>(readers), static_cast<double>(speakers), keys.time.value(), keys.sends / keys.time,
            keys.receives / keys.time});
    const bool closed = random() % 2 == 0;
    auto users = static_cast<std::int64_t>(one_of(random, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}));
    const double part = 0.1 + 0.75 * static_cast<double>(random() % 1000) / 1000;
    sim::SteadyLoad steady;
    constexpr std::int64_t rounds = 10;
    if (closed) steady.users = static_cast<double>(users), steady.rounds = rounds;
    else steady.rate = part * field.most();
    sim::PooledState state = field.of(steady);
    if (state.doubt != sim::MeanFieldDoubt::none || state.running > 700) {
      ++doubts[state.doubt == sim::MeanFieldDoubt::none ? "many" : sim::to_text(state.doubt)];
      continue;
    }
    sim::Load load;
    std::size_t first = 0, last = 0;
    if (closed) {
      law.count = rounds * users, load.concurrency = users;
      first = static_cast<std::size_t>(users), last = static_cast<std::size_t>((rounds - 1) * users);
      if (users < 8) law.count = 80 * users, last = static_cast<std::size_t>(79 * users);
      load.requests = sim::requests_of(law);
    } else {
      law.count = std::clamp<std::int64_t>(static_cast<std::int64_t>(20 * state.running), 1000, 10'000);
      first = static_cast<std::size_t>(law.count / 10), last = static_cast<std::size_t>(law.count - 1);
      load.requests = sim::requests_of(law);
      sim::let_arrive(load.requests, *steady.rate, 1, law.seed);
      steady.rate =
          static_cast<double>(last - first) / (load.requests[last].arrival - load.requests[first].arrival).value();
      state = field.of(steady);
      if (state.doubt != sim::MeanFieldDoubt::none) continue;
    }
    const sim::PooledRun ran = sim::simulate(load, servers, prompts.timer, says.timer);
    const sim::SteadyPart run = sim::steady_part(ran.served, first, last);
    words.push_back(std::abs(state.per_word / run.per_word - 1));
    if (state.first_word) firsts.push_back(std::abs(*state.first_word / run.first_word - 1));
    if (closed) rates.push_back(std::abs(state.words_per_second / run.words_per_second - 1));
  }
  for (const auto* errors : {&words, &rates, &firsts}) {
    double mean = 0;
    for (const double error : *errors) mean += error / static_cast<double>(errors->size());
    std::cout << (errors == &words      ? "time per word "
                     : errors == &rates ? "words per second "
                                        : "first word ")
              << errors->size() << ": mean " << 100 * mean << " %, median " << 100 * quantile(*errors, 0.5)
              << " %, 9 of 10 below " << 100 * quantile(*errors, 0.9) << " %, 96 of a hundred "
              << 100 * quantile(*errors, 0.96) << " %\n";
    if (errors == &firsts) continue;
    EXPECT_LT(mean, 0.01);
    EXPECT_LT(quantile(*errors, 0.9), 0.02);
  }
  EXPECT_LT(quantile(firsts, 0.5), 0.05);
  int doubted = 0;
  for (const auto& [why, count] : doubts) doubted += count;
  EXPECT_LT(doubted, 60) << "or it doubts too much";
  for (const auto& [why, count] : doubts) std::cout << count << " left out: " << why << "\n";
}

}  // namespace
}  // namespace stepcast::serve
