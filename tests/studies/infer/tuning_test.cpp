// What the figures of an engine's tuning do to an iteration.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/infer/serving.h"

namespace stepcast::infer {
namespace {

/// Of 2,048 profiled positions and of one more: moves, and each of them, take 1.5 times as long behind, and kernels no
/// longer.
TEST(Tuning, MovesBeyondWhatWasProfiledTakeLonger) {
  const auto iteration = [](double factor, double positions) {
    Engine engine = **find_row(built_in().engines, "vllm-2023", "engine");
    EXPECT_EQ(engine.profiled_positions, 2048);
    for (Engine::Tuning& tuning : engine.tunings) tuning.beyond_profiled = factor;
    ServingWishes wishes;
    wishes.tp = 4;
    const Serving serving = *serving_of(
        wishes, *run::choose_network("llama2-70b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    return ServingCost(serving).time(sim::Rows{1, positions, 0});
  };
  const auto same = [](const sim::IterationTime& a, const sim::IterationTime& b, double ratio) {
    EXPECT_NEAR(b.kernels / a.kernels, 1, 1e-12);
    EXPECT_NEAR(b.moves / a.moves, ratio, 1e-9);
    for (std::size_t i = 0; i < a.parts.size(); ++i)
      EXPECT_NEAR(b.parts[i].time / a.parts[i].time, a.parts[i].is_move ? ratio : 1, 1e-9) << a.parts[i].label;
    EXPECT_NEAR((b.host + b.kernels + b.moves) / b.time, 1, 1e-12);
  };
  same(iteration(1, 2048), iteration(1.5, 2048), 1);
  same(iteration(1, 2049), iteration(1.5, 2049), 1.5);
}

/// 100 launches of 20 us are 2 ms, beside 10 ms on the GPU nothing; where both take turns they are 12 ms, and of 10,000
/// launches 210.
TEST(Tuning, LaunchesInTurnAddToTheGpusTime) {
  Engine engine;
  Engine::Tuning tuning;
  tuning.host_per_launch = Seconds(20e-6);
  sim::IterationSums sums;
  sums.kernels = Seconds(7e-3), sums.moves = Seconds(3e-3), sums.launched = 100;
  const auto milliseconds = [&] { return sim::elapsed(sums, engine, tuning).value() * 1e3; };
  EXPECT_NEAR(milliseconds(), 10, 1e-9);
  engine.launches_in_turn = true;
  EXPECT_NEAR(milliseconds(), 12, 1e-9);
  sums.launched = 10'000;
  EXPECT_NEAR(milliseconds(), 210, 1e-9);
  engine.launches_in_turn = false;
  EXPECT_NEAR(milliseconds(), 200, 1e-9) << "the host takes longer";
}

/// Where keys of an fp8 cache are multiplied as they are, words over 4,096 of them take as long as words over 2,048 in
/// bf16, as many bytes, but for what starts; where they are made wide before, longer.
TEST(Tuning, KeysInFp8TakeAsLongAsAsManyBytes) {
  const auto attention = [](bool as_they_are, const char* cache, double keys) {
    Engine engine = **find_row(built_in().engines, "tensorrt-llm-2024", "engine");
    EXPECT_TRUE(engine.multiplies_fp8_keys);
    engine.multiplies_fp8_keys = as_they_are;
    ServingWishes wishes;
    wishes.cache = cache, wishes.tp = 4;
    const Serving serving = *serving_of(
        wishes, *run::choose_network("llama3-70b", "network"), *run::choose_machine("hgx-h200", "machine"), engine);
    Seconds time;
    for (const sim::IterationPart& part : ServingCost(serving).time(sim::Rows{128, 1, keys - 1}).parts)
      if (part.attends) time += part.time;
    return time;
  };
  EXPECT_NEAR(attention(true, "fp8", 4096) / attention(true, "bf16", 2048), 1, 0.01);
  EXPECT_GT(attention(false, "fp8", 4096) / attention(true, "fp8", 4096), 1.02);
  EXPECT_EQ(attention(false, "bf16", 4096), attention(true, "bf16", 4096));
}

/// Engines of plans have windows where a launch says so. Mistral 7B's of 4,096 positions: behind 20,000 a sequence
/// takes 20,000 x 128 KiB of the cache in bf16 there, and under vLLM 4,096 x 128 KiB; its layers see as much.
TEST(Tuning, WindowsOfPlansAreThoseThatALaunchSays) {
  const auto serving = [](const char* id, bool when_said, const char* network = "mistral-7b") {
    Engine engine = **find_row(built_in().engines, id, "engine");
    if (!when_said) engine.windows_when_said = false;
    return *serving_of(
        {}, *run::choose_network(network, "network"), *run::choose_machine("dgx-h100", "machine"), engine);
  };
  const auto says_all = [](const Serving& made) {
    return std::ranges::any_of(
        made.assumptions, [](const std::string& text) { return text.starts_with("every layer sees all positions: "); });
  };
  const double position = 32 * 2 * 8 * 128 * 2;
  const Serving all = serving("tensorrt-llm-2024", true), said = serving("tensorrt-llm-2024", false),
                vllm = serving("vllm", true);
  EXPECT_EQ(all.cache_bytes(20'000), 20'000 * position);
  EXPECT_EQ(said.cache_bytes(20'000), 4096 * position);
  EXPECT_EQ(vllm.cache_bytes(20'000), 4096 * position);
  EXPECT_TRUE(says_all(all));
  for (const Serving& other : {said, vllm, serving("tensorrt-llm-2024", true, "llama3-8b")})
    EXPECT_FALSE(says_all(other));
  const auto seen = [](const Serving& made, double before) {
    Flops flops;
    for (const sim::IterationPart& part : ServingCost(made).time(sim::Rows{1, 1, before}).parts)
      if (part.attends) flops += part.useful;
    return flops;
  };
  EXPECT_NEAR(seen(all, 20'000) / seen(said, 20'000), 20'001.0 / 4096, 1e-9);
  EXPECT_EQ(seen(all, 4000), seen(said, 4000));
}

/// 1,000 sequences and 100 launches beside 10 ms on the GPU: launches of 20 us and a loop of 15 us are 2 + 15 ms, which
/// an engine that plans ahead does beside the GPU, and others the loop before it. A host of half the pace takes 34 ms;
/// on four stages each host does all of each iteration: 2 + 60 ms.
TEST(Tuning, AnIterationIsNoShorterThanTheHostsLoop) {
  Engine engine;
  engine.loop_per_sequence = Seconds(15e-6), engine.plans_ahead = true;
  Engine::Tuning tuning;
  tuning.host_per_launch = Seconds(20e-6);
  sim::IterationSums sums;
  sums.kernels = Seconds(10e-3), sums.sequences = 1000, sums.launched = 100;
  const auto milliseconds = [&] { return sim::elapsed(sums, engine, tuning).value() * 1e3; };
  EXPECT_NEAR(milliseconds(), 17, 1e-9);
  sums.host_pace = 2;
  EXPECT_NEAR(milliseconds(), 34, 1e-9);
  sums.host_pace = 1, sums.hosts = 4;
  EXPECT_NEAR(milliseconds(), 62, 1e-9);
  sums.hosts = 1, engine.plans_ahead = false;
  EXPECT_NEAR(milliseconds(), 25, 1e-9);
  engine.plans_ahead = true, sums.kernels = Seconds(20e-3);
  EXPECT_NEAR(milliseconds(), 20, 1e-9) << "the GPU takes longer";
}

/// A law that is off by as much again beyond what it has seen: squares of logarithms add, at most by those of 25 %. A
/// fitted tuning's interval holds products of such sizes already: vLLM's on Hopper is, SGLang's is assumed.
TEST(Tuning, WhatNoLawHasSeenAddsToTheInterval) {
  for (const auto& [engine, fitted] : {std::pair{"vllm", true}, std::pair{"sglang", false}}) {
    ServingWishes wishes;
    wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.engine = engine, wishes.tp = 8;
    const Serving serving = *serving_of(wishes);
    const ServingCost cost(serving);
    ASSERT_EQ(!cost.tuning().fitted.empty(), fitted);
    const sim::IterationTime far = cost.time(sim::Rows{1, 100'000, 0});
    double unseen = 0, products = 0;
    for (const sim::IterationPart& part : far.parts)
      if (part.extrapolated) (part.kernel == dataflow::KernelClass::gemm ? products : unseen) += part.time / far.time;
    ASSERT_GT(unseen, 0.01);
    ASSERT_GT(products, 0.01);
    const double inside = std::log(cost.tuning().spread.p90),
                 beyond = (unseen + (fitted ? 0 : products)) * std::log(1.25);
    EXPECT_NEAR(std::log(far.spread.p90), std::sqrt(inside * inside + beyond * beyond), 1e-9) << engine;
  }
}

/// Products of experts alone take twice as long, and the iteration as much longer as they took.
TEST(Tuning, ExpertsHaveAFigureOfTheirOwn) {
  const auto iteration = [](double factor) {
    Engine engine = **find_row(built_in().engines, "vllm", "engine");
    for (Engine::Tuning& tuning : engine.tunings) tuning.experts = factor;
    ServingWishes wishes;
    wishes.tp = 4;
    const Serving serving = *serving_of(
        wishes, *run::choose_network("mixtral-8x7b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    return ServingCost(serving).time(sim::Rows{16, 1, 1000});
  };
  const sim::IterationTime one = iteration(1), two = iteration(2);
  Seconds experts;
  for (std::size_t i = 0; i < one.parts.size(); ++i) {
    const bool of_experts = one.parts[i].label == "expert.up" || one.parts[i].label == "expert.down";
    EXPECT_NEAR(two.parts[i].time / one.parts[i].time, of_experts ? 2 : 1, 1e-12) << one.parts[i].label;
    if (of_experts) experts += one.parts[i].time;
  }
  EXPECT_GT(experts.value(), 0);
  EXPECT_NEAR((two.time - one.time) / experts, 1, 1e-9);
}

/// A factor below 1 is of what experts take beyond their bytes at the datasheet's rate: with 0 they are there, and
/// never below, whatever the batch.
TEST(Tuning, ExpertsTakeNoLessThanTheRoof) {
  const Machine machine = run::choose_machine("dgx-b200", "machine")->row;
  const auto iteration = [&](double factor, double sequences) {
    Engine engine = **find_row(built_in().engines, "tensorrt-llm", "engine");
    for (Engine::Tuning& tuning : engine.tunings) tuning.experts = factor;
    ServingWishes wishes;
    wishes.tp = 2, wishes.weights = "mxfp4";
    const Serving serving = *serving_of(
        wishes, *run::choose_network("gpt-oss-120b", "network"), *run::choose_machine("dgx-b200", "machine"), engine);
    return ServingCost(serving).time(sim::Rows{sequences, 1, 1000});
  };
  for (const double sequences : {1.0, 8.0, 64.0, 256.0}) {
    const sim::IterationTime law = iteration(1, sequences), half = iteration(0.5, sequences),
                             roof = iteration(0, sequences);
    int products = 0;
    for (std::size_t i = 0; i < roof.parts.size(); ++i) {
      const sim::IterationPart& part = roof.parts[i];
      if (part.label != "expert.up" && part.label != "expert.down") continue;
      ++products;
      const Seconds bytes = part.bytes / machine.gpu.memory_bandwidth;
      EXPECT_GE(part.time / bytes, 1 - 1e-9) << part.label << " of " << sequences;
      EXPECT_NEAR((half.parts[i].time - part.time) / (law.parts[i].time - part.time), 0.5, 1e-6) << part.label;
    }
    EXPECT_EQ(products, 2);
    EXPECT_NEAR((half.time - roof.time) / (law.time - roof.time), 0.5, 1e-6);
  }
}

/// Figures of one network have the spread of its own records there, and a wide one elsewhere.
TEST(Tuning, TheNetworkOfAFitHasAnIntervalOfItsOwn) {
  const auto spread = [](const char* network) {
    const Engine engine = **find_row(built_in().engines, "tensorrt-llm", "engine");
    ServingWishes wishes;
    wishes.tp = 2, wishes.weights = "mxfp4";
    const Serving serving = *serving_of(
        wishes, *run::choose_network(network, "network"), *run::choose_machine("dgx-b200", "machine"), engine);
    return ServingCost(serving).time(sim::Rows{64, 1, 1000}).spread;
  };
  const Spread own = spread("gpt-oss-120b"), other = spread("gpt-oss-20b");
  EXPECT_GT(own.p10, other.p10 + 0.02);
  EXPECT_LT(own.p90, other.p90 - 0.1);
  Engine::Tuning tuning;
  tuning.spread = {0.5, 2};
  EXPECT_EQ(tuning.spread_of("").p10, 0.5) << "no network is the one of no fit";
}

/// 32 layers with two products of experts each: 64 starts of 10 us are 0.64 ms, of which each product has 0.32.
TEST(Tuning, EachCallOfExpertsStarts) {
  const auto iteration = [](double microseconds) {
    Engine engine = **find_row(built_in().engines, "vllm", "engine");
    for (Engine::Tuning& tuning : engine.tunings) tuning.expert_start = Seconds(microseconds * 1e-6);
    ServingWishes wishes;
    wishes.tp = 4;
    const Serving serving = *serving_of(
        wishes, *run::choose_network("mixtral-8x7b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    return ServingCost(serving).time(sim::Rows{16, 1, 1000});
  };
  const sim::IterationTime without = iteration(0), with = iteration(10);
  EXPECT_EQ(with.sums.expert_calls, 64);
  EXPECT_NEAR((with.time - without.time).value(), 0.64e-3, 1e-12);
  for (std::size_t i = 0; i < with.parts.size(); ++i) {
    const bool of_experts = with.parts[i].label == "expert.up" || with.parts[i].label == "expert.down";
    EXPECT_NEAR((with.parts[i].time - without.parts[i].time).value(), of_experts ? 0.32e-3 : 0, 1e-12);
  }
}

/// Caches in fp8 that kernels dequantise are read at the share of the memory's rate that the row says, those in bf16 as
/// before: of 3,350 GB/s at most 0.25, so that a step behind 100,000 positions takes over four times as long as bytes /
/// 3,350 GB/s.
TEST(Tuning, CachesInFp8HaveARateOfTheirOwn) {
  const auto attention = [](const char* cache, double rate, const char* network = "llama3-8b") {
    Engine engine = **find_row(built_in().engines, "vllm", "engine");
    for (Engine::Tuning& tuning : engine.tunings) tuning.fp8_cache_rate = rate;
    ServingWishes wishes;
    wishes.cache = cache;
    const Serving serving = *serving_of(
        wishes, *run::choose_network(network, "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    Seconds time;
    for (const sim::IterationPart& part : ServingCost(serving).time(sim::Rows{16, 1, 100'000}).parts)
      if (part.attends) time += part.time;
    return time;
  };
  const Seconds streamed = Bytes(16 * 100'000.0 * 32 * 2 * 8 * 128) / BytesPerSecond(3350e9);
  EXPECT_NEAR(attention("fp8", 0.25) / streamed, 4, 0.02);
  EXPECT_LT(attention("fp8", 0) / streamed, 2);
  EXPECT_EQ(attention("bf16", 0.25), attention("bf16", 0));
  // Heads of 64 are read at 0.85 of that: 16 layers of 8 take 1 / (0.25 x 0.85) = 4.71 times as long.
  const Seconds narrower = Bytes(16 * 100'000.0 * 16 * 2 * 8 * 64) / BytesPerSecond(3350e9);
  EXPECT_NEAR(attention("fp8", 0.25, "llama3.2-1b") / narrower, 4.71, 0.05);
}

/// From vLLM 0.14 on nothing stands before the kernels: a decode step of Llama 3.1 8B behind 16,384 positions as the
/// lines of vLLM's blog of 2026-04-22 have it, 6.44 ms + 16,384 x 43.7 ns on an H100, 3.93 + 18.0 on a B200 and 3.96 +
/// 9.72 with an fp8 cache, within 10 %.
TEST(Tuning, DecodeBeginsWhereKernelsDo) {
  struct Line {
    const char *machine, *cache;
    double milliseconds;
  };
  for (const Line& line : {Line{"dgx-h100", "", 7.156}, Line{"dgx-b200", "", 4.225}, Line{"dgx-b200", "fp8", 4.119}}) {
    ServingWishes wishes;
    wishes.network = "llama3-8b", wishes.machine = line.machine, wishes.cache = line.cache, wishes.engine = "vllm-2026";
    const double made = ServingCost(*serving_of(wishes)).time(sim::Rows{1, 1, 16'384}).time.value() * 1e3;
    EXPECT_NEAR(made / line.milliseconds, 1, 0.1) << line.machine << " " << line.cache;
  }
}

/// A decode step of one sequence grows with its context as vLLM's blog of 2026-04-22 measured it, within 10 %:
/// Llama 3.1 8B on an H100 by 43.7 ns per position, on a B200 by 18.0 and with an fp8 cache by 9.72; gpt-oss 20b there
/// by 3.56.
TEST(Tuning, DecodeGrowsWithTheContextAsMeasured) {
  struct Slope {
    const char *network, *machine, *weights, *cache;
    double nanoseconds;
  };
  for (const Slope& measured :
      {Slope{"llama3.1-8b", "dgx-h100", "bf16", "bf16", 43.7}, Slope{"llama3.1-8b", "dgx-b200", "bf16", "bf16", 18.0},
          Slope{"llama3.1-8b", "dgx-b200", "bf16", "fp8", 9.72},
          Slope{"gpt-oss-20b", "dgx-b200", "mxfp4", "bf16", 3.56}}) {
    ServingWishes wishes;
    wishes.network = measured.network, wishes.machine = measured.machine;
    wishes.weights = measured.weights, wishes.cache = measured.cache;
    const Serving serving = *serving_of(wishes);
    const double contexts[] = {2'048, 16'384, 65'536, 120'000};
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const double context : contexts) {
      const double time = ServingCost(serving).time(sim::Rows{1, 1, context}).time.value();
      n += 1, x += context, y += time, xx += context * context, xy += context * time;
    }
    const double slope = (n * xy - x * y) / (n * xx - x * x);
    EXPECT_NEAR(slope * 1e9 / measured.nanoseconds, 1, 0.1) << measured.network << " on " << measured.machine;
  }
}

/// A tuning names the software that reduces, in graphs and without. Where nobody timed it on as many ranks, the
/// engine's own kernels count; where nobody timed those either, another's in graphs, and NCCL without.
TEST(Tuning, TheKernelsThatReduceAreThoseThatItNames) {
  Engine engine = **find_row(built_in().engines, "vllm", "engine");
  engine.kernels = "own", engine.measured_kernels = "other", engine.nccl_alone = false;
  for (Engine::Tuning& tuning : engine.tunings) tuning.all_reduce = "named", tuning.kernels = 1;
  ServingWishes wishes;
  wishes.tp = 4;
  Serving serving = *serving_of(
      wishes, *run::choose_network("llama3-8b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
  const auto reduced = [&](const std::vector<std::pair<const char*, double>>& laws, bool graph) {
    auto profile = std::make_shared<Profile>(*serving.profile);
    profile->engine_all_reduces.clear();
    for (const auto& [software, seconds] : laws) {
      EngineAllReduce& law = profile->engine_all_reduces.emplace_back();
      law.software = software, law.captured = graph, law.ranks = 4;
      law.points = {{Bytes(1), Seconds(seconds)}, {Bytes(1e12), Seconds(seconds)}};
    }
    serving.profile = profile;
    const sim::Rows rows = graph ? sim::Rows{4, 1, 100} : sim::Rows{1, 1000, 0};
    const ServingCost cost(serving);
    EXPECT_EQ(cost.captured(std::span(&rows, 1)), graph);
    const sim::IterationTime time = cost.time(rows);
    for (const sim::IterationPart& part : time.parts)
      if (part.label == "Y1 all_reduce") return part.time.value() / part.calls;
    return 0.0;
  };
  for (const bool graph : {true, false}) {
    EXPECT_NEAR(reduced({{"other 1", 4}, {"own 1", 2}, {"named 1", 1}}, graph), 1, 1e-9) << graph;
    EXPECT_NEAR(reduced({{"other 1", 4}, {"own 1", 2}}, graph), 2, 1e-9) << graph;
  }
  EXPECT_NEAR(reduced({{"other 1", 4}}, true), 4, 1e-9);
  EXPECT_LT(reduced({{"other 1", 4}}, false), 1) << "NCCL";
}

}  // namespace
}  // namespace stepcast::infer
