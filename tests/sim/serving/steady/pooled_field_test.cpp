// The steady state of two pools against cycles that one can write down, and against the simulator.
#include "sim/serving/steady/pooled_field.h"

#include <gtest/gtest.h>

#include "sim/serving/pooled_run.h"
#include "sim/serving/steady/steady_part.h"

namespace stepcast::sim {
namespace {

/// 10 ms, 1 ms for each word, 1 ms for each 16 positions of prompts.
const BatchTimer words_and_positions = [](const Batch& batch) {
  return Seconds(0.010 + 0.001 * batch.words + batch.positions / 16e3);
};

PooledState pooled_state(const RequestLaw& requests, const Servers& reads, const Servers& says,
    const PoolCounts& counts, const SteadyLoad& load) {
  const RequestMeans means = means_of(requests);
  const PromptReader prompts(means, reads, words_and_positions);
  const WordSpeaker words(means, says, words_and_positions);
  return PooledField(prompts, words, counts).of(load);
}

/// A prompt of 160 positions takes 20 ms, its keys 5 ms, 30 words behind the first 11 ms each: 31 words in 355 ms.
TEST(PooledField, OneUserIsACycleOverBothPools) {
  const PooledState one =
      pooled_state({.prompts = {160, 160}, .outputs = {31, 31}}, {}, {}, {1, 1, 0.005}, {.users = 1, .rounds = 10});
  EXPECT_EQ(one.doubt, MeanFieldDoubt::none);
  EXPECT_NEAR(one.per_word.value(), 0.011, 1e-12);
  EXPECT_NEAR(one.first_word->value(), 0.025, 1e-4);
  EXPECT_NEAR(one.words_per_second, 31 / 0.355, 0.1);
}

/// Two prompts of 160 in 30 ms are 66.7 a second, and two replicas read 133.3, however many users there are; 20
/// replicas of words could say more.
TEST(PooledField, PromptsBindWhereWordsHaveRoom) {
  const Servers reads{.policy = {.most_positions = 320}};
  const PooledState many = pooled_state(
      {.prompts = {160, 160}, .outputs = {31, 31}}, reads, {}, {2, 20, 0.001}, {.users = 1000, .rounds = 10});
  EXPECT_NEAR(many.requests_per_second / (2 * 2 / 0.030), 1, 0.01);
  EXPECT_NEAR(many.busy, 1, 0.01);
  // 1000 users / 133.3 a second, of which words take the smaller part.
  EXPECT_NEAR(many.first_word->value() + 30 * many.per_word.value(), 1000 / (2 * 2 / 0.030), 0.1);
}

/// So many words run as come while they take their time: 20 a second, each 100 x (10 + 1 x running) ms.
TEST(PooledField, AnOpenLoopHoldsWhatComes) {
  const RequestLaw requests{.prompts = {160, 160}, .outputs = {101, 101}};
  const PooledState state = pooled_state(requests, {}, {}, {4, 8, 0}, {.rate = 20});
  EXPECT_EQ(state.doubt, MeanFieldDoubt::none);
  EXPECT_NEAR(state.running / (20 * 100 * state.per_word.value()), 1, 1e-3);
  EXPECT_NEAR(state.words_per_second, 2020, 0.5);
  EXPECT_EQ(pooled_state(requests, {}, {}, {1, 1, 0}, {.rate = 1000}).doubt, MeanFieldDoubt::beyond_saturation);
  EXPECT_EQ(pooled_state(requests, {}, {}, {4, 8, 0}, {.rate = 20, .shape = 0.5}).doubt, MeanFieldDoubt::bursts);
}

TEST(PooledField, IsAsTheSimulatorRuns) {
  for (const std::int64_t users : {4, 40, 200})
    for (const Lengths outputs : {Lengths{50, 50}, Lengths{30, 70}}) {
      RequestLaw requests{.count = 10 * users, .prompts = {100, 300}, .outputs = outputs, .seed = 3};
      const Servers reads{.policy = {.most_positions = 2048}, .replicas = 2}, says{.policy = {}, .replicas = 3};
      const PooledRun run = simulate(Load{requests_of(requests), users},
          {reads, says, [](std::int64_t) { return Seconds(0.002); }}, words_and_positions, words_and_positions);
      const auto first = static_cast<std::size_t>(users);
      const SteadyPart part = steady_part(run.served, first, 9 * first);
      const PooledState state =
          pooled_state(requests, reads, says, {2, 3, 0.002}, {.users = static_cast<double>(users), .rounds = 10});
      EXPECT_NEAR(state.per_word / part.per_word, 1, 0.04) << users;
      EXPECT_NEAR(state.words_per_second / part.words_per_second, 1, 0.04) << users;
    }
}

TEST(PooledField, WhatItDoesNotKnowIsSaid) {
  const RequestLaw requests{.prompts = {160, 160}, .outputs = {101, 101}},
      few{.prompts = {160, 160}, .outputs = {9, 9}};
  const SteadyLoad load{.users = 8, .rounds = 10};
  EXPECT_EQ(pooled_state(few, {}, {}, {}, load).doubt, MeanFieldDoubt::one_word);
  EXPECT_EQ(pooled_state(requests, {}, {.policy = {.blocks = 10}}, {}, load).doubt, MeanFieldDoubt::never_fits);
  EXPECT_EQ(pooled_state(requests, {}, {.policy = {.blocks = 40}}, {}, load).doubt, MeanFieldDoubt::preempts);
  EXPECT_EQ(pooled_state(requests, {}, {.policy = {}, .stages = 2}, {}, load).doubt, MeanFieldDoubt::stages);
}

/// A prefix of 80 of 160 positions: half of the prompt is read, and words have 160 in the cache.
TEST(PooledField, ASharedPrefixIsSentAndNotRead) {
  const RequestLaw whole{.prompts = {160, 160}, .outputs = {31, 31}},
      shared{.prompts = {160, 160}, .outputs = {31, 31}, .shared = 80};
  const SteadyLoad load{.users = 1, .rounds = 10};
  const PooledState all = pooled_state(whole, {}, {}, {}, load), half = pooled_state(shared, {}, {}, {}, load);
  EXPECT_NEAR(all.first_word->value() - half.first_word->value(), 0.005, 1e-5);
  EXPECT_EQ(WordSpeaker(means_of(shared), {}, words_and_positions).means().context(), means_of(whole).context());
}

}  // namespace
}  // namespace stepcast::sim
