// The mean field against cycles that one can write down, against what every steady state conserves, and against the
// simulator; and what it says that it does not know.
#include "sim/serving/steady/mean_field.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "sim/serving/steady/steady_part.h"

namespace stepcast::sim {
namespace {

/// 10 ms, 1 ms for each word, 1 ms for each 16 positions of prompts.
const BatchTimer affine = [](const Batch& batch) {
  return Seconds(0.010 + 0.001 * batch.words + batch.positions / 16e3);
};

RequestLaw law(Lengths prompts, Lengths outputs) { return {.count = 1, .prompts = prompts, .outputs = outputs}; }
SteadyState of(const RequestLaw& requests, const Servers& servers, const SteadyLoad& load) {
  return MeanField(means_of(requests), servers, affine).of(load);
}

/// 160 positions take 20 ms, 30 words behind the first 11 ms each: 31 words in 350 ms.
TEST(MeanField, OneUserIsACycle) {
  const SteadyState one = of(law({160, 160}, {31, 31}), {}, {.users = 1});
  EXPECT_EQ(one.doubt, MeanFieldDoubt::none);
  EXPECT_NEAR(one.per_word.value(), 0.011, 1e-12);
  EXPECT_NEAR(one.first_word->value(), 0.020, 1e-12);
  EXPECT_NEAR(one.words_per_second, 31 / 0.350, 1e-9);
  EXPECT_NEAR(one.running, 1, 1e-9);
}

/// Of 4 users two prompts of 160 fit an iteration of 322: two cohorts. An iteration of words takes 14 ms, one that
/// reads two prompts beside two words 32 ms; in 31 iterations each cohort is read once, and each meets the other's
/// once.
TEST(MeanField, CohortsStayTogether) {
  const SteadyState four = of(law({160, 160}, {31, 31}), {.policy = {.most_positions = 322}}, {.users = 4});
  EXPECT_NEAR(four.per_word.value(), (29 * 0.014 + 0.032) / 30, 1e-12);
  EXPECT_NEAR(four.words_per_second, 124 / (29 * 0.014 + 2 * 0.032), 1e-9);
}

/// Where prompts come first all four are read, two by two in 30 ms, and then all speak: those read first wait for the
/// others, 15 ms in the mean.
TEST(MeanField, PromptsApartAreReadFirst) {
  const SteadyState four =
      of(law({160, 160}, {31, 31}), {.policy = {.most_positions = 320, .prompts_apart = true}}, {.users = 4});
  EXPECT_NEAR(four.first_word->value(), 0.045, 1e-12);
  EXPECT_NEAR(four.per_word.value(), (30 * 0.014 + 0.015) / 30, 1e-12);
  EXPECT_NEAR(four.words_per_second, 124 / (2 * 0.030 + 30 * 0.014), 1e-9);
}

/// Users are requests per second times the time that each takes.
TEST(MeanField, LittlesLawHoldsInClosedLoops) {
  for (const double users : {1.0, 3.0, 8.0, 40.0, 400.0})
    for (const bool apart : {false, true})
      for (const Lengths outputs : {Lengths{50, 50}, Lengths{30, 70}}) {
        const RequestLaw requests = law({100, 300}, outputs);
        const SteadyState state =
            of(requests, {.policy = {.most_sequences = 64, .prompts_apart = apart}}, {.users = users});
        const double words = (requests.outputs.mean() - 1) * state.per_word.value();
        EXPECT_NEAR(state.requests_per_second * (state.first_word->value() + words) / users, 1, 0.03) << users << apart;
      }
}

/// Prompts that cost nothing and words that never slow each other down: a word takes its iteration, and so many are
/// under way as come while one is.
TEST(MeanField, AnOpenLoopWithoutContentionIsMGInfinity) {
  const BatchTimer even = [](const Batch&) { return Seconds(0.010); };
  const MeanField field(means_of(law({10, 10}, {101, 101})), {.policy = {.most_sequences = 4000}}, even);
  const SteadyState state = field.of({.rate = 20});
  EXPECT_EQ(state.doubt, MeanFieldDoubt::none);
  EXPECT_NEAR(state.per_word.value(), 0.010, 1e-9);
  EXPECT_NEAR(state.running, 20 * 1.010, 1e-3);
  EXPECT_NEAR(state.words_per_second, 2020, 1e-9);
}

TEST(MeanField, FasterArrivalsMakeWordsSlower) {
  const MeanField field(means_of(law({100, 300}, {60, 140})), {.policy = {.most_sequences = 256}}, affine);
  double last = 0;
  for (const double share : {0.01, 0.1, 0.3, 0.5, 0.7, 0.85}) {
    const SteadyState state = field.of({.rate = share * field.saturation().requests_per_second});
    EXPECT_GT(state.per_word.value(), last) << share;
    last = state.per_word.value();
  }
}

/// 60 settings of a machine made up: closed loops of many rounds and open loops below 80 % of saturation.
TEST(MeanField, IsTheSimulatorsMean) {
  int settings = 0, inside = 0;
  for (const bool apart : {false, true})
    for (const Lengths outputs : {Lengths{64, 64}, Lengths{40, 88}})
      for (const std::int64_t prompt : {16, 100, 400})
        for (const double load : {2.0, 8.0, 24.0, 0.15, 0.35}) {
          RequestLaw requests = law({prompt / 2, prompt}, outputs);
          const Servers servers{.policy = {.most_positions = 512, .most_sequences = 64, .prompts_apart = apart}};
          const MeanField field(means_of(requests), servers, affine);
          SteadyLoad steady;
          requests.count = load < 1 ? 8000 : static_cast<std::int64_t>(load) * 40;
          Load asked{requests_of(requests), load < 1 ? 0 : static_cast<std::int64_t>(load)};
          if (load < 1) {
            let_arrive(asked.requests, load * field.saturation().requests_per_second, 1, 3);
            steady.rate = static_cast<double>(requests.count) / asked.requests.back().arrival.value();
          } else {
            steady.users = load;
          }
          const SteadyState state = field.of(steady);
          if (state.doubt != MeanFieldDoubt::none) continue;
          const std::size_t size = asked.requests.size();
          const SteadyPart part = steady_part(simulate(asked, servers, affine), size / 4, size * 9 / 10);
          ++settings;
          inside += std::abs(state.per_word / part.per_word - 1) < 0.03 ? 1 : 0;
        }
  EXPECT_GE(settings, 48) << "or it doubts too much";
  EXPECT_GE(inside, settings * 9 / 10);
}

struct Doubtful {
  MeanFieldDoubt doubt;
  RequestLaw law;
  BatchingPolicy policy;
  SteadyLoad load;
};

TEST(MeanField, SaysWhereItDoesNotHold) {
  const RequestLaw usual = law({160, 160}, {64, 64});
  const double most = of(usual, {}, {}).requests_per_second;
  const Doubtful rows[] = {
      {MeanFieldDoubt::near_saturation, usual, {}, {.rate = 0.92 * most}},
      {MeanFieldDoubt::beyond_saturation, usual, {}, {.rate = 1.2 * most}},
      {MeanFieldDoubt::bursts, usual, {}, {.rate = 0.1 * most, .shape = 0.5}},
      {MeanFieldDoubt::preempts, usual, {.blocks = 100}, {.users = 10}},
      {MeanFieldDoubt::one_word, law({160, 160}, {2, 2}), {}, {.users = 4}},
      {MeanFieldDoubt::holds_back, usual, {.most_wait = 4}, {.users = 4}},
      {MeanFieldDoubt::starves, usual, {.most_positions = 170, .pieces = false}, {.users = 32}},
      {MeanFieldDoubt::never_fits, usual, {.blocks = 8}, {.users = 1}},
  };
  for (const Doubtful& row : rows) {
    const SteadyState state = of(row.law, {.policy = row.policy}, row.load);
    EXPECT_EQ(state.doubt, row.doubt) << to_text(row.doubt) << ", not " << to_text(state.doubt);
    EXPECT_STRNE(to_text(row.doubt), "");
  }
  EXPECT_EQ(of(usual, {.policy = {.reserves_all = true, .blocks = 100}}, {.users = 10}).doubt, MeanFieldDoubt::none)
      << "who waits until there is room for all gives no way";
  EXPECT_EQ(of(usual, {.policy = {}, .replicas = 2, .groups = 4}, {.users = 2}).doubt, MeanFieldDoubt::uneven);
  const RequestLaw read = law({4000, 4000}, {32, 32});
  EXPECT_EQ(of(read, {}, {.rate = 0.8 * of(read, {}, {}).requests_per_second}).doubt, MeanFieldDoubt::reads_much);
  EXPECT_FALSE(of(usual, {}, {.rate = 1.2 * most}).first_word) << "it grows without bound";
}

}  // namespace
}  // namespace stepcast::sim
