// The loader's buffer in closed form against a discrete simulation of its workers.
#include "sim/job/loader.h"

#include "tests/trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

/// Worker by worker: each has a batch with work left, in its own seconds, or none where there is no room. Storage slows
/// all of them alike where they are more than it feeds.
double discrete_step(const Loader& loader, double step, int steps, Draws& draws) {
  const std::int64_t room = loader.workers * loader.prefetch;
  std::vector<double> making;
  std::int64_t ready = 0;
  double now = 0, end = 0, began = 0;
  int taken = 0;
  bool running = false;
  constexpr int warm_up = 200;
  while (taken < steps + warm_up) {
    while (std::ssize(making) < loader.workers && std::ssize(making) + ready < room)
      making.push_back(loader.varies ? draws.exponential(1 / loader.make.value()) : loader.make.value());
    if (running && now >= end) running = false;
    if (!running && ready > 0) {
      --ready;
      running = true;
      end = now + step;
      if (++taken == warm_up) began = now;
      continue;
    }
    double pace = 1;
    if (loader.most_per_second > 0 && !making.empty())
      pace = std::min(1.0, loader.most_per_second * loader.make.value() / static_cast<double>(making.size()));
    const auto next = std::ranges::min_element(making);
    const double done = next == making.end() ? std::numeric_limits<double>::infinity() : now + *next / pace;
    const double until = running ? std::min(done, end) : done;
    for (double& left : making) left -= (until - now) * pace;
    now = until;
    if (done <= until) {
      making.erase(next);
      ++ready;
    }
  }
  return (now - began) / steps;
}

TEST(Loader, ThreeHundredRandomBuffersAgainstWorkersOneByOne) {
  Draws draws(300);
  for (int index = 0; index < trials(300); ++index) {
    Loader loader;
    loader.workers = 1 + static_cast<std::int64_t>(8 * draws.unit());
    loader.prefetch = 1 + static_cast<std::int64_t>(4 * draws.unit());
    loader.varies = draws.unit() < 0.8;
    const double load = 0.4 + 1.2 * draws.unit();  // makers' time over the step's
    loader.make = Seconds(load * static_cast<double>(loader.workers));
    if (draws.unit() < 0.3) loader.most_per_second = 0.7 + draws.unit();
    const double law = 1 + loader_wait(loader, Seconds(1)).value();
    EXPECT_NEAR(discrete_step(loader, 1, loader.varies ? 100'000 : 2'000, draws) / law, 1, 0.01)
        << index << ": " << loader.workers << " workers, prefetch " << loader.prefetch << ", load " << load;
  }
}

TEST(Loader, OneWorkerOneBatchByHand) {
  // One slot: the batch of the next step is made during this one. It is missing with e^(-step/make), and then takes
  // another make in the mean.
  Loader loader{1, 1, Seconds(2), true, 0};
  EXPECT_NEAR(loader_wait(loader, Seconds(3)).value(), 2 * std::exp(-1.5), 1e-9);
  loader.varies = false;
  EXPECT_EQ(loader_wait(loader, Seconds(3)), Seconds(0));
  EXPECT_EQ(loader_wait(loader, Seconds(1.5)), Seconds(0.5));
}

TEST(Loader, ManyRanksWaitForTheSlowest) {
  Draws draws(1);
  const Loader loader{4, 2, Seconds(3), true, 0};
  const double one = drawn_loader_wait(loader, Seconds(1), 1, 200'000, draws).value();
  EXPECT_NEAR(one, loader_wait(loader, Seconds(1)).value(), 0.01);
  EXPECT_GT(drawn_loader_wait(loader, Seconds(1), 64, 2'000, draws).value(), 2 * one);
  // One slot each, two ranks that make no more than one batch per step: both are done after the larger of two
  // exponential times or the step, whichever is later. E max(step, larger) - step = 2 e^-x - e^(-2x)/2 for make 1.
  const Loader single{1, 1, Seconds(1), true, 0};
  const double x = 0.7;
  EXPECT_NEAR(
      drawn_loader_wait(single, Seconds(x), 2, 200'000, draws).value(), 2 * std::exp(-x) - std::exp(-2 * x) / 2, 0.01);
}

// Data of 4,000 samples read in a new order each epoch, and a cache of 1,000, 2,000 and 3,000 that drops what was used
// longest ago, moved sample by sample.
TEST(Loader, HitsOfACacheOfWhatWasUsedLast) {
  constexpr int samples = 4000, epochs = 6;
  for (const double room : {0.25, 0.5, 0.75}) {
    Draws draws(5);
    std::vector<int> order(samples);
    std::iota(order.begin(), order.end(), 0);
    std::list<int> recent;
    std::vector<std::list<int>::iterator> place(samples, recent.end());
    int hits = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (int i = samples - 1; i > 0; --i) std::swap(order[i], order[static_cast<int>(draws.unit() * (i + 1))]);
      for (const int sample : order) {
        const bool hit = place[sample] != recent.end();
        hits += hit && epoch > 0 ? 1 : 0;
        if (hit) recent.erase(place[sample]);
        recent.push_front(sample);
        place[sample] = recent.begin();
        if (recent.size() <= room * samples) continue;
        place[recent.back()] = recent.end();
        recent.pop_back();
      }
    }
    EXPECT_NEAR(cache_hits(room, CacheKeeps::recent), hits / static_cast<double>(samples * (epochs - 1)), 0.01) << room;
    EXPECT_EQ(cache_hits(room, CacheKeeps::first), room);
  }
  EXPECT_EQ(cache_hits(1, CacheKeeps::recent), 1);
}

// A quarter of 2 s and three of 0.4 s are 0.8 s; storage is asked a quarter as often.
TEST(Loader, HitsMakeBatchesFasterAndAskStorageLess) {
  const Loader later = with_hits({2, 2, Seconds(2), false, 0.5}, 0.75, Seconds(0.4));
  EXPECT_NEAR(later.make.value(), 0.8, 1e-12);
  EXPECT_NEAR(later.most_per_second, 2, 1e-12);
  EXPECT_NEAR(loader_wait(later, Seconds(0.1)).value(), 0.4, 1e-12);  // 2 workers: a batch each 0.4 s; storage 0.5 s
}

}  // namespace
}  // namespace stepcast::sim
