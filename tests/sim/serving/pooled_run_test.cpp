// Two pools and the link between them: by hand, as queues, what every run conserves.
#include "sim/serving/pooled_run.h"

#include <cmath>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/serving/plain_server.h"

namespace stepcast::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Seconds second(const Batch&) { return Seconds(1); }
Seconds quarter(const Batch&) { return Seconds(0.25); }
Seconds in_no_time(const Batch&) { return Seconds(0); }
std::function<Seconds(std::int64_t)> link(double seconds) {
  return [=](std::int64_t) { return Seconds(seconds); };
}
/// Times that doubles hold to the last bit.
Seconds dyadic_times(const Batch& batch) {
  return Seconds(1 + batch.words / 4 + batch.positions / 16 + batch.blocks_out / 32 + batch.blocks_in / 64);
}

/// A prompt of 1 s, a link of half a second, two further words of a quarter each; then the user sends the next.
TEST(PooledRun, OneUserIsCountedByHand) {
  const Load load{std::vector<ServingRequest>(2, {Seconds(0), 16, 3}), 1};
  const PooledRun run = simulate(load, {{.policy = {}}, {.policy = {}}, link(0.5)}, second, quarter);
  EXPECT_EQ(run.read[0].value(), 1);
  EXPECT_EQ(run.served.requests[0].first.value(), 1.5);
  EXPECT_EQ(run.served.requests[0].last.value(), 2);
  EXPECT_EQ(run.served.requests[1].sent.value(), 2);
  EXPECT_EQ(run.served.requests[1].last.value(), 4);
  EXPECT_EQ(run.sending.value(), 1);
}

/// Three prompts of one iteration, whose keys take a second each: the links of a group take one after the other. Two
/// groups of prompts and two of words send side by side.
TEST(PooledRun, LinksTakeOneAfterTheOther) {
  const Load load{std::vector<ServingRequest>(3, {Seconds(0), 16, 2}), 0};
  const PooledRun one = simulate(load, {{.policy = {}}, {.policy = {}}, link(1)}, second, quarter);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(one.served.requests[i].first.value(), 2.0 + static_cast<double>(i));
  // A sender whose links are busy for a quarter of it sends the next to another group meanwhile.
  const PooledRun quick = simulate(Load{std::vector<ServingRequest>(2, {Seconds(0), 16, 2}), 0},
      {{.policy = {}}, {.policy = {}, .groups = 2},
          [](std::int64_t) { return KeyTransfer(Seconds(0.25), Seconds(1)); }},
      second, quarter);
  EXPECT_EQ(quick.served.requests[0].first.value(), 2);
  EXPECT_EQ(quick.served.requests[1].first.value(), 2.25);
  const Load both{std::vector<ServingRequest>(2, {Seconds(0), 16, 2}), 0};
  const PooledRun two =
      simulate(both, {{.policy = {}, .replicas = 2}, {.policy = {}, .groups = 2}, link(1)}, second, quarter);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(two.served.requests[i].first.value(), 2);
}

/// The pool of words has room for one request of 32 positions, that of prompts for two of 16. Both are read at 1 s, the
/// first goes over at once and makes room for a third, read at 2 s; the fourth waits until the second goes over, as the
/// first's 15 further words are said at 16 s.
TEST(PooledRun, PromptsStayUntilTheirWordsHaveRoom) {
  const Load load{std::vector<ServingRequest>(4, {Seconds(0), 16, 16}), 0};
  const Servers prompts{.policy = {.blocks = 2, .block = 16}},
      words{.policy = {.reserves_all = true, .blocks = 2, .block = 16}};
  const PooledRun run = simulate(load, {prompts, words, link(0)}, second, second);
  std::vector<double> read;
  for (const Seconds at : run.read) read.push_back(at.value());
  EXPECT_THAT(read, ElementsAre(1, 1, 2, 17));
  EXPECT_EQ(run.served.requests[1].first.value(), 16);
  EXPECT_EQ(run.served.requests[3].last.value(), 1 + 4 * 15);
}

double mean_pool_wait(const PooledRun& run, bool until_read) {
  double sum = 0;
  for (std::size_t i = 0; i < run.read.size(); ++i)
    sum += ((until_read ? run.read[i] : run.served.requests[i].first) - run.served.requests[i].sent).value();
  return sum / static_cast<double>(run.read.size());
}

/// Prompts one at a time, or keys on one link, with Poisson arrivals: r / (2 (1 - r)) of waiting before a service of 1.
TEST(PooledRun, APoolAndALinkAreQueues) {
  Load load{requests_of({.count = 100'000, .prompts = {8, 8}, .outputs = {2, 2}, .seed = 5}), 0};
  const double r = 0.6, wait = r / (2 * (1 - r));
  let_arrive(load.requests, r, 1, 5);
  const Servers at_once{.policy = {}}, one{.policy = {.most_sequences = 1}};
  const PooledRun queue = simulate(load, {one, at_once, link(0)}, second, in_no_time);
  EXPECT_NEAR((mean_pool_wait(queue, true) - 1) / wait, 1, 0.05);
  const PooledRun on_link = simulate(load, {at_once, at_once, link(1)}, in_no_time, in_no_time);
  EXPECT_NEAR((mean_pool_wait(on_link, false) - 1) / wait, 1, 0.05);
}

Load closed_pools(std::int64_t users) {
  return {requests_of({.count = 300, .prompts = {20, 90}, .outputs = {2, 40}, .shared = 10, .seed = 2}), users};
}

TEST(PooledRun, EveryPromptIsReadAndEveryWordIsSaidOnce) {
  for (const std::int64_t replicas : {1, 3})
    for (const bool apart : {false, true})
      for (const std::int64_t blocks : {12, 40}) {
        const Load load = closed_pools(16);
        const Servers prompts{
            .policy = {.most_positions = 64, .blocks = blocks, .block = 16}, .replicas = replicas, .groups = 2};
        Servers words = prompts;
        words.policy.prompts_apart = apart, words.replicas = 2;
        const PooledRun run = simulate(load, {prompts, words, link(0.5)}, dyadic_times, dyadic_times);
        std::int64_t said = 0, of_all = 0, gaps = 0;
        double positions = 0, to_read = 0, again = 0, pace = 0, per_word = 0;
        for (const RanIteration& ran : run.served.iterations) {
          said += ran.words, again += ran.batch.prompts, pace += ran.pace * ran.time.value();
        }
        for (const RanIteration& ran : run.reading) positions += ran.words;
        for (const Gap& gap : run.served.gaps) gaps += gap.count;
        for (std::size_t i = 0; i < load.requests.size(); ++i) {
          const Served& request = run.served.requests[i];
          of_all += request.output, to_read += 1;
          per_word += (request.last - request.first).value() / static_cast<double>(request.output - 1);
          EXPECT_LT(request.sent, run.read[i]);
          EXPECT_LE(run.read[i] + Seconds(0.5), request.first);
          EXPECT_LT(request.first, request.last);
          EXPECT_TRUE(std::isfinite(request.last.value()));
        }
        EXPECT_EQ(said, of_all);
        EXPECT_EQ(gaps, of_all - 300);
        EXPECT_EQ(positions, to_read) << "of each prompt the first word";
        EXPECT_NEAR(pace / per_word, 1, 1e-9);
        EXPECT_EQ(run.served.preempted > 0, again > 0);
        EXPECT_EQ(run.served.preempted > 0, blocks == 12) << "a small cache takes back";
        EXPECT_EQ(run.sending.value(), 150);
      }
}

TEST(PooledRun, AFasterLinkAndMorePromptRanksEndSooner) {
  const auto span = [](double seconds, std::int64_t replicas) {
    const PooledRun run = simulate(closed_pools(16),
        {{.policy = {.most_positions = 64}, .replicas = replicas}, {.policy = {}}, link(seconds)}, dyadic_times,
        quarter);
    return run.served.iterations.back().start.value();
  };
  EXPECT_LT(span(0, 1), span(4, 1));
  EXPECT_LT(span(4, 1), span(8, 1));
  EXPECT_LT(span(1, 2), span(1, 1));
}

/// 200 settings at random: the same words at the same times as by a simulator that was written apart.
TEST(PooledRun, APlainSimulatorSaysTheSame) {
  std::mt19937 random(13);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const auto policy_of = [&] {
    BatchingPolicy policy;
    policy.most_positions = pick(8, 80), policy.most_sequences = pick(1, 12);
    policy.prompts_apart = pick(0, 1) == 1, policy.pieces = pick(0, 1) == 1, policy.reserves_all = pick(0, 2) == 0;
    policy.plans_ahead = pick(0, 1) == 1;
    policy.block = pick(1, 8), policy.blocks = (90 + policy.block) / policy.block + pick(0, 40);
    return policy;
  };
  int preempted = 0, stored = 0, waited = 0;
  for (int setting = 0; setting < 200; ++setting) {
    const Servers prompts{.policy = policy_of()};
    Servers words{.policy = policy_of()};
    words.policy.swaps = setting % 2 == 1;
    if (words.policy.swaps)
      words.policy.host_blocks = 60 / words.policy.block, words.policy.spare_of_each = setting / 2 % 3;
    const RequestLaw law{.count = pick(1, 40),
        .prompts = {1, pick(1, 50)},
        .outputs = {2, pick(2, 30)},
        .shared = pick(0, 2) == 0 ? pick(0, 20) : 0,
        .seed = random()};
    Load load{requests_of(law), pick(0, 1) == 0 ? 0 : pick(1, 15)};
    if (load.concurrency == 0) {
      let_arrive(load.requests, 0.02 * pick(1, 20), 1, random());
      for (ServingRequest& request : load.requests) request.arrival = Seconds(std::round(request.arrival.value()));
    }
    const double link = pick(0, 4) / 32.0;  // of each position
    const PooledRun run = simulate(load,
        {prompts, words, [=](std::int64_t positions) { return Seconds(link * static_cast<double>(positions)); }},
        dyadic_times, dyadic_times);
    const PlainRun plain = run_pools_plainly(
        load, prompts.policy, words.policy, [=](long positions) { return link * static_cast<double>(positions); },
        dyadic_times);
    ASSERT_EQ(static_cast<int>(run.reading.size() + run.served.iterations.size()), plain.iterations) << setting;
    ASSERT_EQ(run.served.preempted, plain.preempted) << setting;
    ASSERT_EQ(run.served.swaps.sequences, plain.stored) << setting;
    for (std::size_t i = 0; i < run.served.requests.size(); ++i) {
      ASSERT_EQ(run.served.requests[i].first.value(), plain.first[i]) << setting << " " << i;
      ASSERT_EQ(run.served.requests[i].last.value(), plain.last[i]) << setting << " " << i;
      waited += run.served.requests[i].first > run.read[i] + Seconds(link * 50) ? 1 : 0;
    }
    preempted += plain.preempted, stored += plain.stored;
  }
  EXPECT_GT(preempted, 20);
  EXPECT_GT(stored, 20);
  EXPECT_GT(waited, 20) << "for room or for the link";
}

/// Ten users reach ten groups of each pool at most: with a hundred replicas the same runs.
TEST(PooledRun, ReplicasThatNobodyReachesChangeNothing) {
  const auto run = [](std::int64_t replicas) {
    const Servers pool{.policy = {.most_positions = 64}, .replicas = replicas, .groups = 2};
    return simulate(closed_pools(10), {pool, pool, link(0.5)}, dyadic_times, dyadic_times);
  };
  const PooledRun few = run(5), many = run(100);
  ASSERT_EQ(few.served.iterations.size(), many.served.iterations.size());
  for (std::size_t i = 0; i < few.read.size(); ++i) {
    EXPECT_EQ(few.read[i], many.read[i]);
    EXPECT_EQ(few.served.requests[i].last, many.served.requests[i].last);
  }
  EXPECT_EQ(reached({.policy = {}, .replicas = 100, .groups = 2}, 10).replicas, 5);
  EXPECT_EQ(reached({.policy = {}, .replicas = 100, .groups = 2}, 11).replicas, 6);
  EXPECT_EQ(reached({.policy = {}, .replicas = 3}, 11).replicas, 3);
  EXPECT_EQ(reached({.policy = {}, .replicas = 100}, 0).replicas, 100) << "of an open loop any number may be there";
}

/// Keys that came from elsewhere take blocks as they are let in, and no word before they are there.
TEST(Batching, KeysComeFromElsewhere) {
  Batcher reads({.blocks = 4, .block = 4}), says({.blocks = 4, .block = 4});
  const ServingRequest request{Seconds(0), 8, 3};
  reads.submit_to_read(7, request);
  EXPECT_EQ(reads.plan().positions, 8);
  EXPECT_THAT(reads.finish().ended, ElementsAre(7));
  EXPECT_EQ(reads.used_blocks(), 2);
  says.submit_read(7, request);
  EXPECT_TRUE(says.plan().empty());
  EXPECT_THAT(says.let_in(), ElementsAre(7));
  EXPECT_EQ(says.used_blocks(), 2);
  reads.hand_over(7);
  EXPECT_EQ(reads.used_blocks(), 0);
  says.arrive(7);
  EXPECT_EQ(says.plan().words, 1);
  EXPECT_THAT(says.let_in(), IsEmpty());
  EXPECT_THAT(says.finish().ended, IsEmpty());
  EXPECT_EQ(says.plan().contexts, 9);
  EXPECT_THAT(says.finish().ended, ElementsAre(7));
  EXPECT_EQ(says.used_blocks(), 0);
}

}  // namespace
}  // namespace stepcast::sim
