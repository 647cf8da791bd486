// Runs of a load: closed forms of queues, what every run conserves, and a second simulator.
#include "sim/serving/served_run.h"

#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "sim/serving/service_figures.h"
#include "tests/sim/serving/plain_server.h"

namespace stepcast::sim {
namespace {

/// Times that doubles hold to the last bit.
Seconds dyadic(const Batch& batch) {
  return Seconds(1 + batch.words / 4 + batch.positions / 16 + batch.contexts / 1024 + batch.pairs / 4096 +
                 batch.blocks_out / 32 + batch.blocks_in / 64);
}

ServedRun one_at_a_time(const Lengths& prompts, double rate, const BatchTimer& timer) {
  Load load{requests_of({.count = 200'000, .prompts = prompts, .outputs = {1, 1}, .seed = 5}), 0};
  let_arrive(load.requests, rate, 1, 5);
  return simulate(load, {.policy = {.most_sequences = 1}}, timer);
}
double mean_wait(const ServedRun& run, double service) {
  double sum = 0;
  for (const Served& request : run.requests) sum += (request.first - request.sent).value();
  return sum / static_cast<double>(run.requests.size()) - service;
}

/// A queue with Poisson arrivals and one time of service s: r s / (2 (1 - r)) of waiting (Pollaczek and Khinchine).
TEST(ServedRun, WithoutBatchingItIsMD1) {
  for (const double r : {0.3, 0.5, 0.8}) {
    const auto run = one_at_a_time({8, 8}, r, [](const Batch&) { return Seconds(1); });
    EXPECT_NEAR(mean_wait(run, 1) / (r / (2 * (1 - r))), 1, 0.03) << r;
  }
}

/// Service of 1, 2 or 3 s, as likely: mean 2, mean square 14/3; at 0.25 a second 0.25 x 14/3 / (2 (1 - 0.5)) = 7/6 s.
TEST(ServedRun, WithoutBatchingItIsMG1) {
  const auto run = one_at_a_time({1, 3}, 0.25, [](const Batch& batch) { return Seconds(batch.positions); });
  EXPECT_NEAR(mean_wait(run, 2), 7.0 / 6, 0.03);
}

Load closed(std::int64_t users, std::int64_t count = 300) {
  return {requests_of({.count = count, .prompts = {20, 90}, .outputs = {1, 40}, .seed = 2}), users};
}

TEST(ServedRun, EveryWordIsSaidOnceAndEveryGapCounted) {
  for (const std::int64_t replicas : {1, 3})
    for (const auto& [groups, stages] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 3}}) {
      const Load load = closed(16);
      const ServedRun run = simulate(load,
          {.policy = {.most_positions = 64, .blocks = 20, .block = 16},
              .replicas = replicas,
              .groups = groups,
              .stages = stages},
          dyadic);
      std::int64_t words = 0, said = 0, gaps = 0, behind_first = 0;
      for (const RanIteration& ran : run.iterations) said += ran.words;
      for (const Gap& gap : run.gaps) gaps += gap.count;
      for (const ServingRequest& request : load.requests) words += request.output, behind_first += request.output - 1;
      EXPECT_EQ(said, words);
      EXPECT_EQ(gaps, behind_first);
      for (const Served& request : run.requests) {
        EXPECT_LT(request.sent, request.first);
        EXPECT_LE(request.first, request.last);
        EXPECT_TRUE(std::isfinite(request.last.value()));
      }
    }
}

/// The requests under way, over time, are all their times from sending to the end.
TEST(ServedRun, LittlesLawHolds) {
  const ServedRun run = simulate(closed(16), {.policy = {.most_positions = 64, .blocks = 20, .block = 16}}, dyadic);
  double under_way = 0, times = 0;
  for (const RanIteration& ran : run.iterations)
    under_way += static_cast<double>(ran.running + ran.waiting) * ran.time.value();
  for (const Served& request : run.requests) times += (request.last - request.sent).value();
  EXPECT_DOUBLE_EQ(under_way, times);
  EXPECT_GT(run.preempted, 0) << "or the cache is not small";
}

/// The mean time per word is the sum of each iteration's part in it.
TEST(ServedRun, PaceSumsToTheTimesPerWord) {
  const ServedRun run = simulate(closed(8), {.policy = {.most_positions = 64}, .replicas = 2}, dyadic);
  double pace = 0, words = 0;
  for (const RanIteration& ran : run.iterations) pace += ran.pace * ran.time.value();
  for (const Served& request : run.requests)
    if (request.output > 1) words += (request.last - request.first).value() / static_cast<double>(request.output - 1);
  EXPECT_NEAR(pace / words, 1, 1e-9);
}

TEST(ServedRun, AClosedLoopHasSoManyUnderWay) {
  const ServedRun run = simulate(closed(16), {.policy = {.most_positions = 64}}, dyadic);
  for (std::size_t i = 0; i + 1 < run.iterations.size(); ++i)
    if (run.iterations[i].start < run.requests.back().sent) {
      EXPECT_EQ(run.iterations[i].running + run.iterations[i].waiting, 16);
    }
}

TEST(ServedRun, FasterArrivalsWaitLonger) {
  double last = 0;
  for (const double rate : {0.01, 0.05, 0.1, 0.15}) {
    Load load = closed(0);
    load.concurrency = 0;
    let_arrive(load.requests, rate, 1, 9);
    const ServedRun run = simulate(load, {.policy = {.most_positions = 64, .most_sequences = 8}}, dyadic);
    const double wait = mean_wait(run, 0);
    EXPECT_GE(wait, last) << rate;
    last = wait;
  }
}

TEST(ServedRun, AFasterServerAndALargerCacheServeSooner) {
  const auto span = [](double speed, std::int64_t blocks) {
    const ServedRun run = simulate(closed(16), {.policy = {.most_positions = 64, .blocks = blocks, .block = 16}},
        [=](const Batch& batch) { return dyadic(batch) / speed; });
    return run.iterations.back().start + run.iterations.back().time;
  };
  EXPECT_DOUBLE_EQ((span(1, 100) / span(2, 100)), 2);
  EXPECT_LT(span(1, 100), span(1, 20));
}

/// What comes before the server is waited for, by each user before each request, and does not keep the server busy.
TEST(ServedRun, TheWayToTheServerTakesTime) {
  const Load load{std::vector<ServingRequest>(3, {Seconds(0), 16, 3}), 1};
  const ServedRun near = simulate(load, {.policy = {}}, dyadic),
                  far = simulate(load, {.policy = {}, .before = Seconds(0.5)}, dyadic);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ((far.requests[i].first - far.requests[i].sent - Seconds(0.5)).value(),
        (near.requests[i].first - near.requests[i].sent).value());
  EXPECT_EQ((far.requests[2].last - near.requests[2].last).value(), 1.5);
}

/// Iterations of 2 s. One that comes at 1 s misses that of 2 s, which was planned at 0 s, and has that of 4 s; a third
/// comes at 20 s, when nothing runs, and misses none.
TEST(ServedRun, WhatIsPlannedAheadIsMissed) {
  const Load load{{{Seconds(0), 16, 5}, {Seconds(1), 16, 2}, {Seconds(20), 16, 1}}, 0};
  const auto firsts = [&](bool ahead) {
    const ServedRun run = simulate(load, {.policy = {.plans_ahead = ahead}}, [](const Batch&) { return Seconds(2); });
    std::vector<double> out;
    for (const Served& request : run.requests) out.push_back(request.first.value());
    return out;
  };
  EXPECT_EQ(firsts(false), (std::vector<double>{2, 4, 22}));
  EXPECT_EQ(firsts(true), (std::vector<double>{2, 6, 22}));
}

/// Two replicas with half the users each do what one does with its half.
TEST(ServedRun, ReplicasAreEnginesBesideEachOther) {
  std::vector<ServingRequest> alike(40, {Seconds(0), 50, 10});
  const ServedRun one = simulate({std::vector(alike.begin(), alike.begin() + 20), 4}, {.policy = {}}, dyadic),
                  two = simulate({alike, 8}, {.policy = {}, .replicas = 2}, dyadic);
  const auto end = [](const ServedRun& run) {
    return (run.iterations.back().start + run.iterations.back().time).value();
  };
  EXPECT_EQ(end(one), end(two));
  EXPECT_EQ(2 * one.iterations.size(), two.iterations.size());
}

/// Iterations of 2 s on two stages of 1 s each. One request alone says a word each 2 s; two are in lanes of their own,
/// the second a second behind the first, and both say one each 2 s.
TEST(ServedRun, StagesWorkOnSeveralIterationsAtOnce) {
  const auto two_seconds = [](const Batch&) { return Seconds(2); };
  const auto run = [&](std::size_t count) {
    return simulate(
        {std::vector<ServingRequest>(count, {Seconds(0), 16, 3}), 0}, {.policy = {}, .stages = 2}, two_seconds);
  };
  EXPECT_EQ(run(1).requests[0].last.value(), 6);
  const ServedRun both = run(2);
  EXPECT_EQ(both.requests[0].last.value(), 6);
  EXPECT_EQ(both.requests[1].first.value(), 3);
  EXPECT_EQ(both.requests[1].last.value(), 7);
  EXPECT_EQ(run(4).requests[3].last.value(), 7) << "lanes say words of two as of one";
  const BatchingPolicy lane = lane_policy({.most_sequences = 9, .blocks = 100, .shared_blocks = 10}, 4);
  EXPECT_EQ(lane.blocks, 25);
  EXPECT_EQ(lane.shared_blocks, 3);
  EXPECT_EQ(lane.most_sequences, 2);
}

/// Iterations of 4 s, a quarter on the first stage and the rest on the second. The first word comes after 4 s; the
/// other request is on the second stage from 4 s to 7 s. From then on the second stage is never idle: a word each 3 s.
TEST(ServedRun, TheSlowestStageSetsThePace) {
  const auto four_seconds = [](const Batch&) { return Seconds(4); };
  const ServedRun run = simulate({std::vector<ServingRequest>(2, {Seconds(0), 16, 2}), 0},
      {.policy = {}, .stages = 2, .parts = {0.25, 0.75}}, four_seconds);
  EXPECT_EQ(run.requests[0].first.value(), 4);
  EXPECT_EQ(run.requests[1].first.value(), 7);
  EXPECT_EQ(run.requests[0].last.value(), 10);
  EXPECT_EQ(run.requests[1].last.value(), 13);
}

/// 200 settings at random: the same words at the same times as by a simulator that was written apart. `host`: the
/// host's memory has room for some of those that give way, for all of them or, now and then, for none.
void hold_against_a_plain_simulator(unsigned seed, bool host) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  int preempted = 0, stored = 0, unstored = 0;
  for (int setting = 0; setting < 200; ++setting) {
    BatchingPolicy policy;
    policy.most_positions = pick(8, 80), policy.most_sequences = pick(1, 12);
    policy.prompts_apart = pick(0, 1) == 1, policy.pieces = pick(0, 1) == 1, policy.reserves_all = pick(0, 2) == 0;
    policy.plans_ahead = pick(0, 1) == 1;
    policy.block = pick(1, 8), policy.blocks = (90 + policy.block) / policy.block + pick(0, 40);
    policy.swaps = host;
    if (host) policy.host_blocks = pick(0, 30) / policy.block, policy.spare_blocks = pick(0, 2);
    if (host && setting % 3 == 0) policy.spare_of_each = pick(0, 2);
    const RequestLaw law{.count = pick(1, 40),
        .prompts = {1, pick(1, 50)},
        .outputs = {1, pick(1, 30)},
        .shared = pick(0, 2) == 0 ? pick(0, 20) : 0,
        .seed = random()};
    policy.shared_blocks = law.shared / policy.block, policy.blocks += policy.shared_blocks;
    Load load{requests_of(law), pick(0, 1) == 0 ? 0 : pick(1, 15)};
    if (load.concurrency == 0) {
      let_arrive(load.requests, 0.02 * pick(1, 20), 1, random());
      for (ServingRequest& request : load.requests) request.arrival = Seconds(std::round(request.arrival.value()));
    }
    const ServedRun run = simulate(load, {.policy = policy}, dyadic);
    const PlainRun plain = run_plainly(load, policy, dyadic);
    ASSERT_EQ(static_cast<int>(run.iterations.size()), plain.iterations) << setting;
    ASSERT_EQ(run.preempted, plain.preempted) << setting;
    ASSERT_EQ(run.swaps.sequences, plain.stored) << setting;
    ASSERT_EQ(run.swaps.refused, plain.unstored) << setting;
    ASSERT_EQ(run.swaps.blocks_out, run.swaps.blocks_in) << setting << ": all came back";
    ASSERT_LE(run.swaps.most_blocks, policy.host_blocks) << setting;
    for (std::size_t i = 0; i < run.requests.size(); ++i) {
      ASSERT_EQ(run.requests[i].first.value(), plain.first[i]) << setting << " " << i;
      ASSERT_EQ(run.requests[i].last.value(), plain.last[i]) << setting << " " << i;
    }
    preempted += plain.preempted, stored += plain.stored, unstored += plain.unstored;
  }
  EXPECT_GT(preempted, 20);
  EXPECT_EQ(stored > 20, host);
  EXPECT_EQ(unstored > 20, host);
}

TEST(ServedRun, APlainSimulatorSaysTheSame) { hold_against_a_plain_simulator(11, false); }
TEST(ServedRun, APlainSimulatorSwapsTheSame) { hold_against_a_plain_simulator(12, true); }

/// Ten values of one, and one of a hundred that counts once: nine tenths are not above 1.
TEST(ServiceFigures, PercentilesCountEachAsOftenAsItSays) {
  const Latency latency = latency_of({{100, 1}, {1, 10}});
  EXPECT_EQ(latency.p50.value(), 1);
  EXPECT_EQ(latency.p90.value(), 1);
  EXPECT_EQ(latency.p99.value(), 100);
  EXPECT_DOUBLE_EQ(latency.mean.value(), 110.0 / 11);
  EXPECT_EQ(latency_of({}).p99.value(), 0);
}

/// One user, two requests of 16 positions and 3 words: prompt 2.03 s, words at 1.25 s and the cache's part.
TEST(ServiceFigures, OneUserIsCountedByHand) {
  const Load load{std::vector<ServingRequest>(2, {Seconds(0), 16, 3}), 1};
  const Servers servers{.policy = {.blocks = 10, .block = 16}};
  const ServiceFigures figures = figures_of(simulate(load, servers, dyadic), servers, 0);
  const double prompt = 1 + 16.0 / 16 + 16 * 8 / 4096.0, words = 2 * 1.25 + (16 + 17) / 1024.0;
  EXPECT_DOUBLE_EQ(figures.first_word.p50.value(), prompt);
  EXPECT_DOUBLE_EQ(figures.per_word.mean.value(), words / 2);
  EXPECT_DOUBLE_EQ(figures.whole.p99.value(), prompt + words);
  EXPECT_DOUBLE_EQ(figures.words_per_second, 6 / (2 * (prompt + words)));
  EXPECT_DOUBLE_EQ(figures.in_prompts, prompt / (prompt + words));
  EXPECT_NEAR(figures.idle, 0, 1e-12);
  EXPECT_EQ(figures.running, 1);
  EXPECT_EQ(figures.most_used_blocks, 2);
  const ServiceFigures second = figures_of(simulate(load, servers, dyadic), servers, 1);
  EXPECT_DOUBLE_EQ(second.span.value(), prompt + words);
}

/// Three requests of 11 words from 0 to 10 s, from 4 to 14 s and from 8 to 18 s, a word each second. The first is not
/// counted: behind 4 s stand six of its ten seconds, and 2.6 requests come in 14 s, not 3.
TEST(ServiceFigures, RequestsOfTheWarmUpCountAsFarAsTheirWordsComeBehindIt) {
  ServedRun run;
  for (const double sent : {0.0, 4.0, 8.0})
    run.requests.push_back({Seconds(sent), Seconds(sent), Seconds(sent + 10), 16, 11});
  const Servers servers{.policy = {.blocks = 10, .block = 16}};
  EXPECT_DOUBLE_EQ(figures_of(run, servers, 0).requests_per_second, 3.0 / 18);
  EXPECT_DOUBLE_EQ(figures_of(run, servers, 1).requests_per_second, 2.6 / 14);
  run.requests[0].last = Seconds(4);
  EXPECT_DOUBLE_EQ(figures_of(run, servers, 1).requests_per_second, 2.0 / 14) << "it ended with the warm-up";
}

}  // namespace
}  // namespace stepcast::sim
