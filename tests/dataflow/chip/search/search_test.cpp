// The mapper against all mappings there are: a plain enumeration of factors, orders and keep lists for small operators.
#include <algorithm>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dataflow/chip/count/count.h"
#include "dataflow/chip/resolve/legality.h"
#include "dataflow/chip/search/search.h"
#include "dataflow/chip/search/search_walk.h"

namespace stepcast::dataflow {
namespace {

constexpr SearchObjective kObjectives[] = {SearchObjective::time, SearchObjective::energy, SearchObjective::traffic};

SearchProblem searched_problem(const std::string& text) {
  auto program = parse(text, "search.flow");
  if (!program) return ADD_FAILURE() << text << "\n" << to_text(program.error()), SearchProblem{};
  auto problem = search_problem(*program, "");
  if (!problem) return ADD_FAILURE() << text << "\n" << to_text(problem.error()), SearchProblem{};
  return *problem;
}

/// Every legal mapping, one after the other. Stated loops and lists are obeyed by trying all and dropping what differs.
class Everything {
 public:
  explicit Everything(const SearchProblem& problem)
      : problem_(problem), chip_(problem.start), table_(score_table(problem.start)) {
    for (int l = 0; l < levels(); ++l) {
      for (int a = 0; a < static_cast<int>(chip_.levels[l].axes.size()); ++a) slots_.push_back({l, a});
      if (problem.start.levels[l].store) slots_.push_back({l, -1});
    }
    factors_.assign(slots_.size(), std::vector<std::int64_t>(chip_.dims.size(), 1));
    share(0, 0, chip_.dims.front().extent);
  }

  double best[3] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
      std::numeric_limits<double>::infinity()};
  std::int64_t legal = 0;

 private:
  struct Slot {
    int level, axis;
  };
  [[nodiscard]] int levels() const { return static_cast<int>(chip_.levels.size()); }

  void share(std::size_t dim, std::size_t slot, std::int64_t left) {
    if (slot + 1 == slots_.size()) {
      factors_[slot][dim] = left;
      if (dim + 1 < chip_.dims.size()) share(dim + 1, 0, chip_.dims[dim + 1].extent);
      else with_factors();
      return;
    }
    for (std::int64_t f = 1; f <= left; ++f)
      if (left % f == 0) {
        factors_[slot][dim] = f;
        share(dim, slot + 1, left / f);
      }
  }

  void with_factors() {
    for (auto& level : chip_.levels) level.space.clear(), level.time.clear();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      const auto [level, axis] = slots_[s];
      std::int64_t parts = 1;
      for (int d = 0; d < static_cast<int>(chip_.dims.size()); ++d) {
        const std::int64_t f = factors_[s][d];
        for (const auto& loop :
            axis < 0 ? problem_.constraints.levels[level].time : problem_.constraints.levels[level].space)
          if (loop.dim == d && loop.axis == axis && loop.trips > 0 && loop.trips != f) return;
        parts *= f;
        if (f > 1) (axis < 0 ? chip_.levels[level].time : chip_.levels[level].space).push_back({d, f, axis, false, {}});
      }
      if (axis >= 0 && parts > chip_.levels[level].axes[axis].units) return;
    }
    with_order(0);
  }

  void with_order(int level) {
    if (level == levels()) return with_keeps(0);
    auto& time = chip_.levels[level].time;
    const auto by_dim = [](const ChipLoop& a, const ChipLoop& b) { return a.dim < b.dim; };
    std::sort(time.begin(), time.end(), by_dim);
    do {
      if (as_stated(level)) with_order(level + 1);
    } while (std::next_permutation(time.begin(), time.end(), by_dim));
  }

  [[nodiscard]] bool as_stated(int level) const {
    int last = -1;
    const auto& stated = problem_.constraints.levels[level].time;
    for (const ChipLoop& loop : chip_.levels[level].time)
      for (int i = 0; i < static_cast<int>(stated.size()); ++i)
        if (stated[i].dim == loop.dim) {
          if (i < last) return false;
          last = i;
        }
    return true;
  }

  void with_keeps(int level) {
    if (level == levels()) return evaluate();
    const ChipLevel& given = problem_.start.levels[level];
    if (level == 0 || !given.store || problem_.constraints.levels[level].keeps) return with_keeps(level + 1);
    for (unsigned mask = 0; mask < 1U << chip_.tensors.size(); ++mask) {
      for (std::size_t t = 0; t < chip_.tensors.size(); ++t) chip_.levels[level].keeps[t] = mask >> t & 1U;
      chip_.levels[level].store = mask != 0;
      with_keeps(level + 1);
    }
  }

  void evaluate() {
    for (int l = 0; l < levels(); ++l) {
      double used = 0;
      for (std::size_t t = 0; t < chip_.tensors.size(); ++t)
        if (chip_.levels[l].keeps[t]) used += resident_bytes(chip_, static_cast<int>(t), l);
      if (chip_.levels[l].capacity_bytes > 0 && used > chip_.levels[l].capacity_bytes) return;
    }
    const auto nest = nest_of(chip_);
    ASSERT_TRUE(nest);
    count(*nest, counts_);
    const ChipScore score = dataflow::score(*nest, counts_, table_);
    for (int o = 0; o < 3; ++o) best[o] = std::min(best[o], objective_of(score, kObjectives[o]));
    ++legal;
  }

  const SearchProblem& problem_;
  ChipProgram chip_;
  ScoreTable table_;
  Counts counts_;
  std::vector<Slot> slots_;
  std::vector<std::vector<std::int64_t>> factors_;
};

/// Branch and bound alone, from no mapping and from a poor one: only a bound above the truth would miss the optimum.
void expect_walked(const SearchProblem& problem, const Everything& all) {
  const auto space =
      mapper::space_of(problem.start, problem.constraints, std::vector<std::int64_t>(problem.start.dims.size(), 0));
  ASSERT_TRUE(space);
  const auto shapes = nest_of(space->chip);
  ASSERT_TRUE(shapes);
  for (int o = 0; o < 3; ++o)
    for (const double pairs : {0.0, mapper::full_tail_pairs})
      for (const double poor : {std::numeric_limits<double>::infinity(), all.best[o] * 1.5, all.best[o] * 1.0001}) {
        SearchOptions options;
        options.objective = kObjectives[o];
        mapper::Found found;
        found.rank[0] = poor;
        const mapper::Tally tally =
            mapper::walk_all(*space, score_table(problem.start), options, *shapes, 0, found, pairs);
        if (all.legal == 0) EXPECT_EQ(tally.evaluated, 0);
        else
          EXPECT_NEAR(found.rank[0], all.best[o], 1e-9 * all.best[o])
              << "objective " << o << " from " << poor << " pairs " << pairs;
      }
}

/// The mapper finds the optimum of each objective, says so, and its mapping is worth what it says.
void expect_optimum(const std::string& text) {
  SCOPED_TRACE(text);
  const SearchProblem problem = searched_problem(text);
  const Everything all(problem);
  expect_walked(problem, all);
  for (int o = 0; o < 3; ++o) {
    SearchOptions options;
    options.objective = kObjectives[o];
    const auto found = search(problem.start, problem.constraints, options);
    if (all.legal == 0) {
      EXPECT_FALSE(found);
      continue;
    }
    ASSERT_TRUE(found) << to_text(found.error());
    const double value = objective_of(found->score, kObjectives[o]);
    EXPECT_NEAR(value, all.best[o], 1e-9 * all.best[o]) << "objective " << o << "\n"
                                                        << print(written_chip(found->best));
    EXPECT_TRUE(found->complete);
    EXPECT_LE(found->lower_bound, all.best[o] * (1 + 1e-9)) << "objective " << o;
    EXPECT_EQ(found->gap, 0);
    const auto nest = nest_of(found->best);
    Counts counts;
    count(*nest, counts);
    EXPECT_EQ(objective_of(score(*nest, counts, score_table(found->best)), kObjectives[o]), value);
  }
}

TEST(Search, TwoLevelsAndUnits) {
  expect_optimum(
      "arch dram { glb cap:64 B { pe[2x2] { rf cap:8 B } } }\ndim m:4 n:2 k:2\np: O[m,n] += I[m,k] * W[k,n]");
  expect_optimum("arch dram { glb cap:40 B { pe[4] } }\ndim m:4 n:6 k:4\np: O[m,n] += I[m,k] * W[k,n]\nglb: [I W O]");
}

TEST(Search, BandwidthAndSystolicFill) {
  expect_optimum(
      "arch dram bw:2 B/cycle { glb cap:48 B bw:8 B/cycle { pe[2x2]@systolic cap:4 B } }\ndim m:4 n:4 k:2\np: O[m,n] "
      "+= I[m,k] * W[k,n]\nglb: [I W O]");
  expect_optimum(
      "arch dram bw:4 B/cycle { glb cap:32 B buffers:2 { pe[2]@ring { rf cap:12 B bw:4 B/cycle } } }\ndim m:3 n:4 "
      "k:2\np: O[m,n] += I[m,k] * W[k,n]\nglb: [I W O]");
}

TEST(Search, ThreeStoresOneInsideTheUnits) {
  expect_optimum(
      "arch dram { l2 cap:96 B { pe[2] { l1 cap:24 B { mac[2] { rf cap:6 B } } } } }\ndim m:2 n:4 k:2\np: O[m,n] += "
      "I[m,k] * W[k,n]\nl2: [I W O]\nrf: [O]");
}

TEST(Search, OrderMattersTwice) {
  for (const int glb : {40, 56, 72})
    for (const int rf : {6, 10, 14})
      expect_optimum(
          fmt::format("arch dram {{ glb cap:{} B energy:6 pJ {{ rf cap:{} B energy:1 pJ }} }}\ndim m:4 n:8 k:4\np: "
                      "O[m,n] += I[m,k] * W[k,n]\n"
                      "dram: [I W O]\nglb: [I W O]\nrf: [I W O]",
              glb, rf));
}

TEST(Search, SlidingWindows) {
  expect_optimum(
      "arch dram { glb cap:32 B { pe[3] { rf cap:12 B } } }\ndim p:6 r:3 c:2\nconv: O[p] += I[c,p+r] * W[c,r]");
  expect_optimum("arch dram { glb cap:24 B { pe[2] } }\ndim p:4 r:3 k:4\nconv: O[k,p] += I[2*p+r] * W[k,r]");
}

TEST(Search, StatedPartsAreObeyed) {
  const char* arch =
      "arch dram { glb cap:64 B { pe[2x2] { rf cap:16 B } } }\ndim m:4 n:4 k:4\np: O[m,n] += I[m,k] * W[k,n]\n";
  expect_optimum(std::string(arch) + "dram: for k:2 for n:*\nglb: [I W O]\nrf: [O]");
  expect_optimum(std::string(arch) + "pe: par k:2 on x par n:2 on y\nglb: for m:2 [I O]");
}

TEST(Search, RandomSmallOperators) {
  std::mt19937 random(11);
  const auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random() % of.size()); };
  const char* operators[] = {
      "O[m,n] += I[m,k] * W[k,n]", "O[m] += I[m,k] * W[k,n]", "O[n] += I[m,k] * W[k,n]", "O[m,n] += I[m+k] * W[k,n]"};
  const char* fabrics[] = {"", "@systolic", "@switch"};
  const char* lists[] = {"[I W O]", "[W]", "[I O]", "[]"};
  for (int i = 0; i < 40; ++i) {
    const std::string inner = pick({0, 1}) ? fmt::format(" {{ rf cap:{} B }}", pick({4, 6, 8, 12, 16})) : "";
    std::string text =
        fmt::format("arch dram bw:{} B/cycle {{ glb cap:{} B {{ pe[{}]{}{} }} }}\ndim m:{} n:{} k:{}\np: {}\n",
            pick({1, 2, 100}), pick({16, 24, 40, 64, 100}), pick({2, 3, 4}), fabrics[random() % 3], inner,
            pick({1, 2, 3, 4}), pick({2, 4}), pick({1, 2, 3}), operators[random() % 4]);
    if (!inner.empty()) text += fmt::format("glb: {}\n", lists[random() % 4]);
    if (pick({0, 1, 2}) == 0) text += "dram: for m:*  for n:2\n";
    expect_optimum(text);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace stepcast::dataflow
