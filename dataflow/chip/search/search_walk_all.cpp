// All keep lists, cheapest first; the ways on from the outermost level are shared out among threads in batches. Every
// task of a batch starts from the best of the batches before, so that nothing depends on which thread is faster.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "dataflow/chip/search/search_walk.h"

namespace stepcast::dataflow::mapper {
namespace {

constexpr double most_plans = 4096;
constexpr std::size_t most_batch = 8;
constexpr double most_close_steps = 3e6;  // of one plan

using Keeps = std::array<TensorMask, most_chip_levels>;

/// Where there are too many: all that is free kept, but for up to two tensors at a level each.
std::vector<Keeps> few_keeps(const Space& space) {
  Keeps full{};
  std::vector<std::pair<int, TensorMask>> free;
  for (int l = 0; l < space.levels; ++l) {
    full[l] = space.masks[l].front();
    for (int t = 0; space.masks[l].size() > 1 && t < space.tensors; ++t) free.emplace_back(l, 1U << t);
  }
  std::vector<Keeps> all{full};
  for (std::size_t a = 0; a < free.size(); ++a)
    for (std::size_t b = a; b < free.size(); ++b) {
      all.push_back(full);
      for (const auto& [level, tensor] : {free[a], free[b]}) all.back()[level] &= ~tensor;
    }
  return all;
}

std::vector<Keeps> all_keeps(const Space& space, bool& limited) {
  double number = 1;
  for (const auto& masks : space.masks) number *= static_cast<double>(masks.size());
  if (number > most_plans) return limited = true, few_keeps(space);
  std::vector<Keeps> all{Keeps{}};
  for (int l = 0; l < space.levels; ++l) {
    std::vector<Keeps> next;
    for (const Keeps& keeps : all)
      for (const TensorMask mask : space.masks[l]) {
        next.push_back(keeps);
        next.back()[l] = mask;
      }
    all = std::move(next);
  }
  return all;
}

/// Steps from a tile to a tile inside it.
double tile_pairs(const Space& space) {
  double pairs = 1;
  for (const DimGrid& grid : space.grids)
    pairs *=
        static_cast<double>(std::count_if(grid.quotient.begin(), grid.quotient.end(), [](int q) { return q >= 0; }));
  return pairs;
}

struct RankedPlan {
  KeepPlan plan;
  Rank bound;
};

Rank root_bound(const Bounder& bounder, SearchObjective objective) {
  Found none;
  Rank best = none.rank;
  for (std::size_t c = 0; c < bounder.plan().stages[0].combos.size(); ++c) {
    Frontier at = bounder.root();
    if (!bounder.arrive(at, 0, static_cast<int>(c))) continue;
    const Rank bound = rank_of(bounder.rough_bound(at, 0), objective);
    if (less(bound, best)) best = bound;
  }
  return best;
}

/// Closer, where tiles are few: with the best tiles further inside.
double close_root_bound(
    const Space& space, const ScoreTable& table, const RankedPlan& ranked, SearchObjective objective) {
  if (objective != SearchObjective::energy || ranked.plan.last() < 2) return ranked.bound[0];
  double combos = 0;
  for (const Stage& stage : ranked.plan.stages) combos += static_cast<double>(stage.combos.size());
  if (space.lattice() * combos > most_close_steps) return ranked.bound[0];
  Bounder bounder(space, table, ranked.plan, std::numeric_limits<double>::infinity(), true);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < ranked.plan.stages[0].combos.size(); ++c) {
    Frontier at = bounder.root();
    if (bounder.arrive(at, 0, static_cast<int>(c)))
      best = std::min(best, bounder.bound(at, 0, bounder.tail(0, at.tile)).energy_pj);
  }
  return std::max(best, ranked.bound[0]);
}

class PlanWalk {
 public:
  PlanWalk(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes, Goal goal,
      const KeepPlan& plan, double cycle_limit, bool quick)
      : table_(table), options_(options), shapes_(shapes), goal_(goal) {
    for (int i = 0; i < std::max(1, options.threads); ++i)
      bounders_.push_back(std::make_unique<Bounder>(space, table, plan, cycle_limit, quick));
  }

  void run(Found& found, Tally& tally) {
    std::vector<Task> tasks = first_tasks(found, tally);
    std::size_t done = 0;
    for (std::size_t size = 1; done < tasks.size(); size = std::min(2 * size, most_batch)) {
      if (tally.looked >= options_.most_evaluations) {
        for (; done < tasks.size(); ++done)
          if (goal_.hopeful(tasks[done].child.bound, found.rank))
            tally.open = std::min(tally.open, tasks[done].child.bound[0]);
        break;
      }
      const std::size_t end = std::min(tasks.size(), done + size);
      batch(tasks, done, end, found, tally);
      done = end;
    }
    for (const auto& bounder : bounders_) tally.limited = tally.limited || bounder->limited;
  }

 private:
  struct Task {
    int combo = 0;
    Frontier at;
    Walker::Child child;
    bool whole = false;  ///< no stage inside: the task is all of it
  };

  [[nodiscard]] Walker walker(std::size_t thread, const Found& found, const Tally& tally) const {
    return {*bounders_[thread], table_, shapes_, goal_, found.rank, options_.most_evaluations - tally.looked};
  }

  static void join(const Walker& walker, Found& found, Tally& tally) {
    tally.looked += walker.tally.looked;
    tally.evaluated += walker.tally.evaluated;
    tally.pruned += walker.tally.pruned;
    tally.open = std::min(tally.open, walker.tally.open);
    tally.leaf = std::min(tally.leaf, walker.tally.leaf);
    if (walker.found.any() && less(walker.found.rank, found.rank)) found = walker.found;
  }

  std::vector<Task> first_tasks(const Found& found, Tally& tally) {
    std::vector<Task> tasks;
    Bounder& bounder = *bounders_.front();
    for (std::size_t c = 0; c < bounder.plan().stages[0].combos.size(); ++c) {
      Walker walk = walker(0, found, tally);
      Frontier at = bounder.root();
      if (!bounder.arrive(at, 0, static_cast<int>(c))) {
        ++tally.pruned;
        continue;
      }
      const Rank own = rank_of(bounder.rough_bound(at, 0), options_.objective);
      if (bounder.plan().last() == 1) {
        tasks.push_back({static_cast<int>(c), at, {own, {}, {}, nullptr, 0}, true});
        continue;
      }
      for (const Walker::Child& child : walk.children(at, 0, own))
        tasks.push_back({static_cast<int>(c), at, child, false});
      Found none = found;
      join(walk, none, tally);
    }
    std::stable_sort(tasks.begin(), tasks.end(),
        [&](const Task& a, const Task& b) { return a.child.bound[goal_.phase] < b.child.bound[goal_.phase]; });
    return tasks;
  }

  static void work(const Task& task, Walker& walk) {
    walk.begin(task.combo);
    if (task.whole) walk.walk(task.at, 0, task.child.bound);
    else walk.follow(task.at, 0, task.child);
  }

  void batch(const std::vector<Task>& tasks, std::size_t first, std::size_t end, Found& found, Tally& tally) {
    const std::size_t count = end - first, threads = std::min(bounders_.size(), count);
    std::vector<std::unique_ptr<Walker>> walks(count);
    std::atomic<std::size_t> next{0};
    const auto serve = [&](std::size_t thread) {
      for (std::size_t i = next++; i < count; i = next++) {
        walks[i] = std::make_unique<Walker>(walker(thread, found, tally));
        work(tasks[first + i], *walks[i]);
      }
    };
    std::vector<std::thread> helpers;
    for (std::size_t thread = 1; thread < threads; ++thread) helpers.emplace_back(serve, thread);
    serve(0);
    for (std::thread& helper : helpers) helper.join();
    for (const auto& walk : walks) join(*walk, found, tally);
  }

  const ScoreTable& table_;
  const SearchOptions& options_;
  const Nest& shapes_;
  Goal goal_;
  std::vector<std::unique_ptr<Bounder>> bounders_;
};

}  // namespace

Tally walk_all(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes, int phase,
    Found& found, double most_tail_pairs) {
  const Goal goal{options.objective, phase};
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  const int cycles_at = options.objective == SearchObjective::time ? 0 : 1;
  Tally tally;
  tally.left_out = space.limited;
  std::vector<RankedPlan> plans;
  Planner planner(space, table);
  for (const Keeps& keeps : all_keeps(space, tally.left_out)) {
    plans.push_back({planner.plan(keeps), {}});
    plans.back().bound = root_bound(Bounder(space, table, plans.back().plan, no_limit), options.objective);
  }
  const bool quick = tile_pairs(space) * static_cast<double>(plans.size()) > most_tail_pairs;
  std::stable_sort(plans.begin(), plans.end(),
      [&](const RankedPlan& a, const RankedPlan& b) { return a.bound[phase] < b.bound[phase]; });
  for (const RankedPlan& plan : plans) {
    if (!goal.hopeful(plan.bound, found.rank)) {
      ++tally.pruned;
      continue;
    }
    if (tally.looked >= options.most_evaluations) {
      tally.open =
          std::min(tally.open, phase == 0 ? close_root_bound(space, table, plan, options.objective) : plan.bound[0]);
      continue;
    }
    const double cycle_limit = phase >= cycles_at ? found.rank[cycles_at] * (1 + 1e-9) : no_limit;
    PlanWalk(space, table, options, shapes, goal, plan.plan, cycle_limit, quick).run(found, tally);
  }
  return tally;
}

}  // namespace stepcast::dataflow::mapper
