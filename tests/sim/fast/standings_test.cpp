#include "sim/fast/standings.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

struct RankedChoice {
  std::uint64_t number;
  Costs costs;
};

/// Few values, so that there are ties.
std::vector<RankedChoice> choices(int count, int values, std::mt19937& random) {
  std::vector<RankedChoice> all;
  for (int i = 0; i < count; ++i) {
    RankedChoice choice{static_cast<std::uint64_t>(i), {}};
    for (double& cost : choice.costs.of) cost = 0.1 * static_cast<double>(random() % static_cast<unsigned>(values)) - 1;
    all.push_back(choice);
  }
  return all;
}

std::vector<std::uint64_t> best_by_sorting(std::vector<RankedChoice> all, std::size_t top) {
  std::stable_sort(all.begin(), all.end(),
      [](const RankedChoice& a, const RankedChoice& b) { return a.costs.of[0] < b.costs.of[0]; });
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < std::min(top, all.size()); ++i) numbers.push_back(all[i].number);
  return numbers;
}

bool beats(const Costs& a, const Costs& b, int front) {
  bool better = false;
  for (int i = 1; i <= front; ++i) {
    if (a.of[i] > b.of[i]) return false;
    better = better || a.of[i] < b.of[i];
  }
  return better;
}

std::set<std::uint64_t> front_by_force(const std::vector<RankedChoice>& all, int front) {
  std::set<std::uint64_t> numbers;
  for (const RankedChoice& choice : all)
    if (std::none_of(
            all.begin(), all.end(), [&](const RankedChoice& other) { return beats(other.costs, choice.costs, front); }))
      numbers.insert(choice.number);
  return numbers;
}

/// What a walker keeps that looks at open choices only, by bounds that lie up to `slack` below and a rounding above.
struct Walked {
  std::vector<std::uint64_t> top;
  std::set<std::uint64_t> front;
  std::size_t looked = 0;
};

Walked walk(const std::vector<RankedChoice>& all, std::size_t top, int front, double slack, std::size_t room,
    std::mt19937& random) {
  Standings standings(top, front);
  Shortlist list(room);
  std::vector<RankedChoice> looked;
  std::uint64_t dismissed = 0;
  const auto look = [&](const Shortlist::Entry& entry) {
    looked.push_back(all[entry.number]);
    standings.enter(entry.number, all[entry.number].costs);
    return true;
  };
  for (const RankedChoice& choice : all) {
    Costs at_least = choice.costs;
    for (double& cost : at_least.of)
      cost += std::abs(cost) * (1e-10 * (random() % 10)) - slack * (random() % 100 / 100.0);
    if (!standings.open(at_least)) {
      ++dismissed;
      continue;
    }
    list.add(choice.number, at_least);
    if (list.full()) dismissed += list.look_through(standings, look);
  }
  dismissed += list.look_through(standings, look);
  EXPECT_EQ(dismissed + looked.size(), all.size());
  std::sort(
      looked.begin(), looked.end(), [](const RankedChoice& a, const RankedChoice& b) { return a.number < b.number; });
  return {best_by_sorting(looked, top), front_by_force(looked, front), looked.size()};
}

TEST(Standings, NoChoiceOfTheListOrTheFrontIsDismissed) {
  std::mt19937 random(7);
  std::size_t looked = 0, all_choices = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const std::vector<RankedChoice> all =
        choices(1 + static_cast<int>(random() % 300), 2 + static_cast<int>(random() % 60), random);
    const std::size_t top = random() % 20, room = 1 + random() % 50;
    const int front = static_cast<int>(random() % 5);
    const Walked walked = walk(all, top, front, trial % 3 == 0 ? 0 : 0.5, room, random);
    EXPECT_EQ(walked.top, best_by_sorting(all, top)) << trial;
    if (front > 0) {
      EXPECT_EQ(walked.front, front_by_force(all, front)) << trial;
    }
    looked += walked.looked, all_choices += all.size();
  }
  EXPECT_LT(looked, all_choices / 2) << "bounds dismiss next to nothing";
}

/// The bound of the second lies above what it costs, by rounding: it is better than the first in the second cost all
/// the same.
TEST(Standings, RoundingInABoundDismissesNothingFromTheFront) {
  Standings standings(0, 2);
  standings.enter(0, {{0, 1, 5}});
  EXPECT_TRUE(standings.open({{0, 2, 5 * (1 + 1e-12)}}));
  EXPECT_FALSE(standings.open({{0, 2, 5 * (1 + 1e-6)}}));
  EXPECT_TRUE(standings.open({{0, 0.5, 6}}));
}

TEST(Standings, EqualCostsStayOpenToEarlierNumbers) {
  Standings standings(2, 0);
  standings.enter(7, {{1}});
  standings.enter(9, {{2}});
  EXPECT_TRUE(standings.open({{2}}));
  EXPECT_FALSE(standings.open({{2.1}}));
  standings.enter(8, {{2}});
  EXPECT_TRUE(standings.open({{2}}));
  standings.enter(3, {{1.5}});
  EXPECT_FALSE(standings.open({{2}}));
}

TEST(Standings, NothingIsWantedOfAnEmptyList) {
  Standings standings(0, 0);
  EXPECT_FALSE(standings.open({{-infinite}}));
}

TEST(Standings, UnknownBoundsStayOpen) {
  Standings standings(1, 2);
  standings.enter(0, {{-1e300, -1e300, -1e300}});
  EXPECT_TRUE(standings.open({{-infinite, -infinite, -infinite}}));
  EXPECT_TRUE(standings.open({{0, -infinite, 0}}));
  EXPECT_FALSE(standings.open({{0, 0, 0}}));
}

TEST(Shortlist, LooksCheapestFirstAndStopsWhenTold) {
  Standings standings(1, 0);
  Shortlist list(10);
  for (const auto& [number, cost] : std::vector<std::pair<std::uint64_t, double>>{{0, 3}, {1, 1}, {2, 2}, {3, 1}})
    list.add(number, {{cost}});
  std::vector<std::uint64_t> looked;
  EXPECT_EQ(list.look_through(standings,
                [&](const Shortlist::Entry& entry) { return looked.push_back(entry.number), looked.size() < 3; }),
      0U);
  EXPECT_EQ(looked, (std::vector<std::uint64_t>{1, 3, 2}));
  EXPECT_EQ(list.look_through(standings, [&](const Shortlist::Entry&) { return true; }), 0U) << "the list was emptied";
}

/// Whatever the threads' turns, nothing of the list or front is dismissed.
TEST(Standings, ThreadsShareThem) {
  std::mt19937 random(3);
  const std::vector<RankedChoice> all = choices(4000, 500, random);
  Standings standings(10, 2);
  std::vector<std::vector<RankedChoice>> looked(4);
  std::vector<std::thread> crew;
  for (std::size_t t = 0; t < looked.size(); ++t)
    crew.emplace_back([&, t] {
      for (std::size_t i = t; i < all.size(); i += looked.size()) {
        if (!standings.open(all[i].costs)) continue;
        looked[t].push_back(all[i]);
        standings.enter(all[i].number, all[i].costs);
      }
    });
  for (std::thread& thread : crew) thread.join();
  std::vector<RankedChoice> kept;
  for (const auto& part : looked) kept.insert(kept.end(), part.begin(), part.end());
  std::sort(kept.begin(), kept.end(), [](const RankedChoice& a, const RankedChoice& b) { return a.number < b.number; });
  EXPECT_EQ(best_by_sorting(kept, 10), best_by_sorting(all, 10));
  EXPECT_EQ(front_by_force(kept, 2), front_by_force(all, 2));
  EXPECT_LT(kept.size(), all.size() / 4);
}

}  // namespace
}  // namespace stepcast::sim
