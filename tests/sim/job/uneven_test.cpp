// Uneven work: closed forms, and three public jobs from their distributions alone.
#include "sim/job/uneven.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::uneven_test {
namespace {

TEST(Uneven, LargestOfNormalDraws) {
  EXPECT_NEAR(normal_maximum(1), 0, 1e-6);
  EXPECT_NEAR(normal_maximum(2), 1 / std::sqrt(3.14159265358979), 1e-6);
  EXPECT_NEAR(normal_maximum(3), 1.5 / std::sqrt(3.14159265358979), 1e-6);
  EXPECT_NEAR(normal_maximum(100), 2.50759, 1e-4);  // Harter 1961, table 1
}

TEST(Uneven, OneStageIsTheClosedForm) {
  const Order order = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 32});
  const StageTimes times = pipelines::equal_times(1, 1, 2, 0);
  for (const std::int64_t copies : {1, 8, 64}) {
    Unevenness uneven;
    uneven.micro_batches = 0.2;
    const auto drawn = uneven_steps(order, times, copies, uneven, 400, 1);
    ASSERT_TRUE(drawn) << to_text(drawn.error());
    EXPECT_NEAR(drawn->even, 96, 1e-9);
    EXPECT_NEAR(drawn->mean / one_stage_step(3, 32, copies, uneven).value(), 1, 0.01) << copies;
  }
}

TEST(Uneven, NothingUnevenIsTheEvenStep) {
  const Order order = pipelines::order_of("1f1b", {.ranks = 4, .chunks = 1, .micro_batches = 8});
  const auto drawn = uneven_steps(order, pipelines::equal_times(4, 1, 2, 0), 8, {}, 4, 1);
  EXPECT_EQ(drawn->mean, drawn->even);
  EXPECT_EQ(drawn->error, 0);
}

TEST(Uneven, ASlowRankRulesTheStep) {
  // One stage, 8 x 3: the slow one of 4 copies takes 48.
  Unevenness uneven;
  uneven.slow = 1, uneven.slow_factor = 2;
  const Order alone = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 8});
  EXPECT_NEAR(uneven_steps(alone, pipelines::equal_times(1, 1, 2, 0), 4, uneven, 10, 1)->mean, 48, 1e-9);
  // Of four stages one is the bottleneck: 8 x 6, and of the ramp of the others at most 3 x 3, as when it is the last.
  const Order order = pipelines::order_of("1f1b", {.ranks = 4, .chunks = 1, .micro_batches = 8});
  const auto drawn = uneven_steps(order, pipelines::equal_times(4, 1, 2, 0), 8, uneven, 50, 1);
  EXPECT_NEAR(drawn->even, 33, 1e-9);  // (8 + 3) x 3
  EXPECT_GT(drawn->p10, 48);
  EXPECT_LE(drawn->p90, 57 + 1e-9);
}

TEST(Uneven, CostsOfAFileAreOverTheirMean) {
  // Half the micro-batches cost 1, half 3: factors of 0.5 and 1.5; of one stage and copy the mean stays.
  Unevenness uneven;
  uneven.costs = {1, 3};
  const Order alone = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 8});
  const auto drawn = uneven_steps(alone, pipelines::equal_times(1, 1, 2, 0), 1, uneven, 2000, 1);
  EXPECT_NEAR(drawn->mean, 24, 4 * drawn->error);
  EXPECT_NEAR(drawn->error * std::sqrt(2000), 3 * 0.5 * std::sqrt(8), 0.3);
}

TEST(Uneven, NamedRanksAreSlowInEverySample) {
  // Rank 0 of copy 2 takes twice as long, the larger of two factors: one stage, 8 x 6, without any chance.
  Unevenness uneven;
  uneven.named = {{2, 0, 1.5}, {2, 0, 2}};
  const Order alone = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 8});
  const auto drawn = uneven_steps(alone, pipelines::equal_times(1, 1, 2, 0), 4, uneven, 3, 1);
  EXPECT_NEAR(drawn->mean, 48, 1e-9);
  EXPECT_EQ(drawn->p10, drawn->p90);
}

TEST(Uneven, TwoSlowGpusOfOneStageSlowItOnce) {
  // All eight GPUs of the one stage are slow: the stage takes 1.5 times as long, not 1.5^8.
  Unevenness uneven;
  uneven.slow = 8, uneven.slow_factor = 1.5, uneven.gpus_per_rank = 8;
  const Order alone = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 8});
  EXPECT_NEAR(uneven_steps(alone, pipelines::equal_times(1, 1, 2, 0), 1, uneven, 3, 1)->mean, 36, 1e-9);
}

/// Documents of a tenth or of a whole sequence, which two fifths of forward and backward attend over.
Unevenness of_documents(Fill fill, Dealing dealing) {
  Unevenness uneven;
  uneven.documents = Documents{{100, 1000}, fill, 1000, 1};
  uneven.attending_forward = uneven.attending_backward = {0.4};
  uneven.dealing = dealing;
  return uneven;
}

TEST(Uneven, DocumentsByClosedFormAndByTheEngine) {
  const Order alone = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 32});
  const StageTimes times = pipelines::equal_times(1, 1, 2, 0);
  for (const Fill fill : {Fill::packed, Fill::padded}) {
    const Unevenness uneven = of_documents(fill, Dealing::as_they_come);
    const auto drawn = uneven_steps(alone, times, 16, uneven, 400, 1);
    const auto closed = one_stage_step(3, 32, 16, uneven);
    ASSERT_TRUE(closed);
    EXPECT_NEAR(drawn->mean / *closed, 1, 0.01);
  }
  // Documents of one length: 32 x 3 x (0.6 + 0.4 x 0.1), whoever gets which.
  Unevenness even = of_documents(Fill::packed, Dealing::balanced);
  even.documents->lengths = {100};
  EXPECT_NEAR(uneven_steps(alone, times, 16, even, 3, 1)->mean, 96 * 0.64, 1e-9);
  EXPECT_FALSE(one_stage_step(3, 32, 16, even));
}

TEST(Uneven, DealingByCostShortensTheStep) {
  const Order order = pipelines::order_of("1f1b", {.ranks = 1, .chunks = 1, .micro_batches = 8});
  const StageTimes times = pipelines::equal_times(1, 1, 2, 0);
  const auto step = [&](Dealing dealing) {
    return uneven_steps(order, times, 16, of_documents(Fill::padded, dealing), 200, 1)->mean;
  };
  const double mean = 24 * (0.5 + 0.5 * (0.6 * 0.1 + 0.4 * 0.01));  // of a pipeline, without waiting
  EXPECT_LT(step(Dealing::balanced), step(Dealing::as_they_come) * 0.8);
  EXPECT_LT(step(Dealing::sorted), step(Dealing::as_they_come) * 0.8);
  EXPECT_GE(step(Dealing::balanced), mean * 0.99);
}

TEST(Uneven, ALawMeetsItsPercentilesAndItsMean) {
  const DurationLaw law{132.7, 145.5, 288.6, 310.0, 161.7};
  EXPECT_NEAR(law.at(0.05), 132.7, 1e-9);
  EXPECT_NEAR(law.at(0.5), 145.5, 1e-9);
  EXPECT_NEAR(law.at(0.95), 288.6, 1e-9);
  EXPECT_NEAR(law.at(1), 310.0, 1e-9);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) sum += law.at((i + 0.5) / 10'000) / 10'000;
  EXPECT_NEAR(sum, 161.7, 0.1);
}

// Three public Megatron-style jobs (ByteDance-Seed/StragglerAnalysis 8efcd7f, Apache-2.0): percentiles of forward and
// backward by stage over all ranks and steps, in ms; tail and hop as means and medians; the mean observed step and the
// published step without stragglers.
struct KnownJob {
  const char* name;
  int copies, stages, micro_batches;
  double tail, hop, observed, without;
  std::vector<DurationLaw> forward, backward;
  bool by_rank;  ///< the spread is of ranks, not of micro-batches: as many ranks lie at each share of the law
};
const std::vector<KnownJob>& known_jobs() {
  static const std::vector<KnownJob> jobs = {
      {"AR: one worker slow", 4, 4, 32, 0.847811, 0.0012, 46.6492, 23.4847,
          {{211.9, 219.6, 550.1, 556.1, 299.9}, {211.2, 218.1, 223.7, 236.0, 217.8},
              {210.8, 217.5, 222.7, 227.2, 217.2}, {226.0, 232.2, 237.1, 279.6, 232.0}},
          {{370.2, 386.6, 884.6, 912.6, 504.7}, {369.1, 382.8, 399.5, 405.1, 383.1},
              {366.9, 381.7, 398.3, 405.0, 381.8}, {379.5, 396.0, 411.1, 419.5, 395.6}},
          true},
      {"SE: sequences of many lengths", 32, 2, 8, 0.124017, 0.008, 9.113, 5.8975,
          {{132.7, 145.5, 288.6, 310.0, 161.7}, {246.5, 259.8, 419.8, 446.1, 278.0}},
          {{255.1, 288.3, 796.0, 829.4, 347.8}, {392.0, 425.5, 934.2, 972.8, 485.0}}, false},
      {"ST: a long last stage", 2, 4, 4, 0.161071, 0.0012, 2.21444, 1.8433,
          {{62.8, 67.2, 69.3, 74.8, 66.8}, {63.2, 67.6, 69.6, 72.6, 67.1}, {63.0, 68.0, 70.1, 72.4, 67.5},
              {134.4, 140.2, 142.6, 144.6, 139.7}},
          {{134.6, 144.0, 147.9, 148.4, 143.1}, {135.0, 144.5, 147.5, 148.1, 143.2},
              {133.9, 145.6, 147.9, 148.8, 143.8}, {194.6, 205.0, 208.7, 210.0, 203.5}},
          false}};
  return jobs;
}

double run_of(const KnownJob& job, const StageTimes& times) {
  const Order order =
      pipelines::order_of("1f1b", {.ranks = job.stages, .chunks = 1, .micro_batches = job.micro_batches});
  const auto timeline = run(order, times);
  EXPECT_TRUE(timeline) << job.name;
  return timeline ? timeline->makespan.value() : 0;
}

StageTimes times_of(const KnownJob& job) {
  StageTimes times;
  times.hop_forward.assign(static_cast<std::size_t>(job.stages - 1), Seconds(job.hop));
  times.hop_backward = times.hop_forward;
  times.forward.assign(static_cast<std::size_t>(job.stages), Seconds(1));
  times.input_grad = times.weight_grad = times.forward;
  return times;
}

/// One of so many ranks of a stage with a law of two heaps (their mean says how many are in the upper) is slow; the
/// others, and micro-batches, have shares of the law.
double drawn_step(const KnownJob& job, Draws& draws) {
  double slowest = 0;
  for (int copy = 0; copy < job.copies; ++copy) {
    StageTimes times = times_of(job);
    std::vector<double> shares(static_cast<std::size_t>(job.micro_batches));
    for (double& share : shares) share = draws.unit();
    for (int stage = 0; stage < job.stages; ++stage)
      for (int unit = 0; unit < job.micro_batches; ++unit) {
        const DurationLaw &f = job.forward[static_cast<std::size_t>(stage)],
                          &b = job.backward[static_cast<std::size_t>(stage)];
        double share = shares[static_cast<std::size_t>(unit)];
        // Of ranks in two heaps one in 1/s is in the upper, s by the mean: all of its micro-batches are.
        const double upper = (f.mean - f.p50) / (f.p95 - f.p50);
        if (job.by_rank && f.p95 > 1.5 * f.p50) share = copy < std::lround(upper * job.copies) ? 0.95 : 0.5;
        times.forward_each.push_back(f.at(share) / 1000);
        times.input_grad_each.push_back(b.at(share) / 1000);
        times.weight_grad_each.push_back(0);
      }
    slowest = std::max(slowest, run_of(job, times));
  }
  return slowest + job.tail;
}

TEST(Uneven, ThreeRealJobsFromTheirDistributionsAlone) {
  Draws draws(2026);
  for (const KnownJob& job : known_jobs()) {
    constexpr int samples = 40;
    double mean = 0;
    for (int sample = 0; sample < samples; ++sample) mean += drawn_step(job, draws) / samples;
    RecordProperty(job.name, std::to_string(mean));
    EXPECT_NEAR(mean / job.observed, 1, 0.05) << job.name << " " << mean;
  }
}

/// The published what-if: operations of a kind all take their mean over stages, ranks and micro-batches.
TEST(Uneven, WithoutStragglersTheyAreWhatWasPublished) {
  for (const KnownJob& job : known_jobs()) {
    double forward = 0, backward = 0;
    for (const DurationLaw& law : job.forward) forward += law.mean / 1000 / job.stages;
    for (const DurationLaw& law : job.backward) backward += law.mean / 1000 / job.stages;
    StageTimes times = times_of(job);
    for (Seconds& time : times.forward) time = Seconds(forward);
    for (Seconds& time : times.input_grad) time = Seconds(backward);
    for (Seconds& time : times.weight_grad) time = Seconds(0);
    EXPECT_NEAR((run_of(job, times) + job.tail) / job.without, 1, 0.05) << job.name;
  }
}

}  // namespace
}  // namespace stepcast::sim::uneven_test
