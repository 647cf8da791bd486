// Fair sharing of links: by hand, by its definition on random jobs, and what steps take against jobs drawn one by one.
#include "sim/job/shared_links.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "sim/job/draws.h"

namespace stepcast::sim {
namespace {

TEST(SharedLinks, RatesByHand) {
  // Two alike on a link of 10; one that can take 2 leaves 8.
  EXPECT_EQ(max_min_rates({{10, {1}}, {10, {1}}}, {10}), (std::vector<double>{5, 5}));
  EXPECT_EQ(max_min_rates({{2, {1}}, {10, {1}}}, {10}), (std::vector<double>{2, 8}));
  // The first passes both links: half of the narrow one, and the third has what is left of the wide one.
  EXPECT_EQ(max_min_rates({{9, {1, 1}}, {9, {1, 0}}, {9, {0, 1}}}, {1, 3}), (std::vector<double>{0.5, 0.5, 2.5}));
  // Rates are of flows: three of one job and one of another are four.
  EXPECT_EQ(max_min_rates({{9, {3}}, {9, {1}}}, {8}), (std::vector<double>{2, 2}));
  EXPECT_EQ(max_min_rates({{7, {0}}}, {8}), (std::vector<double>{7}));
}

// No link carries too much, and who has less than it could has a full link on which nobody has more.
TEST(SharedLinks, RandomJobsMeetTheDefinition) {
  Draws draws(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> capacity;
    for (int link = 0; link < 4; ++link) capacity.push_back(1 + 9 * draws.unit());
    std::vector<JobFlows> jobs;
    for (int job = 0; job < 5; ++job) {
      JobFlows flows{0.2 + 4 * draws.unit(), {}};
      for (int link = 0; link < 4; ++link)
        flows.on_link.push_back(draws.unit() < 0.5 ? 0 : std::ceil(3 * draws.unit()));
      jobs.push_back(flows);
    }
    const auto rates = max_min_rates(jobs, capacity);
    std::vector<double> used(capacity.size(), 0.0);
    for (std::size_t job = 0; job < jobs.size(); ++job)
      for (std::size_t link = 0; link < used.size(); ++link) used[link] += rates[job] * jobs[job].on_link[link];
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      bool right = rates[job] >= jobs[job].most * (1 - 1e-9);
      for (std::size_t link = 0; link < used.size(); ++link) {
        EXPECT_LE(used[link], capacity[link] * (1 + 1e-9));
        double largest = 0;
        for (std::size_t other = 0; other < jobs.size(); ++other)
          if (jobs[other].on_link[link] > 0) largest = std::max(largest, rates[other]);
        right = right || (jobs[job].on_link[link] > 0 && used[link] >= capacity[link] * (1 - 1e-9) &&
                             rates[job] >= largest * (1 - 1e-9));
      }
      EXPECT_TRUE(right) << trial << " " << job;
    }
  }
}

/// Computes for so long, then sends so much.
SharingJob plain_job(double compute, double volume, double flows = 1) {
  return {{1, {flows}}, [=](double rate) {
            return StepAtRate{Seconds(compute + volume / rate), Seconds(volume / rate)};
          }};
}

// Both compute 1 s and send 1 s alone: chances are 1 : 1 : 1 : 2 for none, one, the other and both, so that a job ends
// (1 + 2 / 2) / 5 steps a second.
TEST(SharedLinks, TwoAlikeJobsByHand) {
  const auto steps = shared_steps({plain_job(1, 1), plain_job(1, 1)}, {1});
  for (const SharedStep& step : steps) {
    EXPECT_NEAR(step.alone.step.value(), 2, 1e-12);
    EXPECT_NEAR(step.beside.value(), 2.5, 1e-6);
    EXPECT_NEAR(step.worst.value(), 3, 1e-12);
  }
}

TEST(SharedLinks, WhoSharesNothingIsAlone) {
  SharingJob apart = plain_job(1, 1);
  apart.flows.on_link = {0};
  const auto steps = shared_steps({apart, plain_job(1, 1)}, {1});
  for (const SharedStep& step : steps) EXPECT_EQ(step.beside, step.alone.step);
}

// Two flows of its own on a link of 1 have half of it each: 1 s of computing, and a volume of 1 takes 2 s.
TEST(SharedLinks, AloneAJobHasWhatItsOwnFlowsLeaveEachOther) {
  const auto steps = shared_steps({plain_job(1, 1, 2), plain_job(1, 1)}, {1});
  EXPECT_NEAR(steps[0].alone.step.value(), 3, 1e-12);
  EXPECT_NEAR(steps[0].alone.sending.value(), 2, 1e-12);
  EXPECT_NEAR(steps[1].alone.sending.value(), 1, 1e-12);
}

// Three jobs whose computing takes exponential times, moved from event to event: what they send shares the link evenly.
TEST(SharedLinks, AgreesWithJobsDrawnOneByOne) {
  struct Drawn {
    double compute, volume, left = 0;
    bool sends = false;
    double steps = 0;
  };
  std::vector<Drawn> jobs = {{3, 1}, {2, 0.5}, {4, 2}};
  std::vector<SharingJob> sharing;
  for (const Drawn& job : jobs) sharing.push_back(plain_job(job.compute, job.volume));
  const auto forecast = shared_steps(sharing, {1});
  Draws draws(1);
  for (Drawn& job : jobs) job.left = draws.exponential(1 / job.compute);
  double time = 0;
  while (time < 300'000) {
    const auto sending = static_cast<double>(std::ranges::count_if(jobs, &Drawn::sends));
    double next = INFINITY;
    const auto rate = [&](const Drawn& job) { return job.sends ? 1 / sending : 1.0; };
    for (const Drawn& job : jobs) next = std::min(next, job.left / rate(job));
    time += next;
    std::vector<double> rates;
    for (const Drawn& job : jobs) rates.push_back(rate(job));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Drawn& job = jobs[i];
      job.left -= next * rates[i];
      if (job.left > 1e-12) continue;
      job.steps += job.sends ? 1 : 0;
      job.sends = !job.sends;
      job.left = job.sends ? job.volume : draws.exponential(1 / job.compute);
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i)
    EXPECT_NEAR(forecast[i].beside.value(), time / jobs[i].steps, 0.01 * forecast[i].beside.value()) << i;
}

}  // namespace
}  // namespace stepcast::sim
