#include "sim/schedule/layers/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace stepcast::sim {
namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();
/// Stage costs that differ by less are the same sum in another order.
constexpr double rounding = 1e-12;

Expected<void> check(const PartitionProblem& problem) {
  const auto bad = [](double cost) { return !std::isfinite(cost) || cost < 0; };
  if (problem.stages < 1) return fail("stages", fmt::format("stages is {}", problem.stages), "1 or more");
  for (std::size_t i = 0; i < problem.layers.size(); ++i) {
    if (i > 0 && problem.layers[i] == problem.layers[i - 1]) continue;  // as good as the one before
    if (bad(problem.layers[i])) {
      return fail(fmt::format("layer {}", i), fmt::format("costs {}", problem.layers[i]), "a cost of 0 or more");
    }
  }
  if (bad(problem.embedding) || bad(problem.head) || bad(problem.loss)) {
    return fail("embedding, head, loss", fmt::format("cost {}, {}, {}", problem.embedding, problem.head, problem.loss),
        "costs of 0 or more");
  }
  const int bare = problem.bare_ends ? std::min(2, problem.stages) : 0;
  const auto layers = static_cast<int>(problem.layers.size());
  if (layers >= problem.stages - bare) return {};
  return fail("stages", fmt::format("{} layers cannot fill {} stages", layers, problem.stages),
      fmt::format("at most {} stages", layers + bare));
}

class Splitter {
 public:
  explicit Splitter(const PartitionProblem& problem) : Splitter({&problem, 1}, nullptr) {}
  explicit Splitter(const UnlikeStages& stages) : Splitter(stages.kinds, &stages) {}

  /// What makes the cost of a stage, looked up once for all that it may hold.
  struct Stage {
    const double* sums;
    double opening, closing;  ///< 0 but on the first and on the last stage
    /// Of layers first..last-1.
    [[nodiscard]] double cost(int first, int last) const { return sums[last] - sums[first] + opening + closing; }
  };
  [[nodiscard]] Stage stage_at(int stage) const {
    const int kind = unlike_ != nullptr ? unlike_->kind_of_stage[stage] : 0;
    const PartitionProblem& problem = kinds_[kind];
    return {sums_[kind].data(), stage == 0 ? problem.embedding : 0,
        stage == problem.stages - 1 ? problem.head + problem.loss : 0};
  }
  /// Of a stage that holds layers first..last-1.
  [[nodiscard]] double cost(int stage, int first, int last) const { return stage_at(stage).cost(first, last); }

  /// The least maximum first; then, with no stage above it, the least sum of squares.
  [[nodiscard]] std::vector<int> best() const {
    std::vector<int> counts;
    solve(
        &counts, least_maximum() * (1 + rounding), [](double a, double b) { return a + b; },
        [](double cost) { return cost * cost; });
    return counts;
  }

  [[nodiscard]] double least_maximum() const {
    if (unlike_ == nullptr) return least_filled();
    return solve(
        nullptr, nearly_least() * (1 + rounding), [](double a, double b) { return std::max(a, b); },
        [](double cost) { return cost; });
  }

  /// The least sum with no stage above `allowed`.
  [[nodiscard]] std::vector<int> least_sum(double allowed) const {
    std::vector<int> counts;
    solve(
        &counts, allowed, [](double a, double b) { return a + b; }, [](double cost) { return cost; });
    return counts;
  }

 private:
  /// The slowest stage of layers laid nearly evenly, which no best split exceeds; infinite where a stage would be
  /// empty.
  [[nodiscard]] double evenly() const {
    if (layers_ < stages_) return impossible;
    double slowest = 0;
    for (int stage = 0, first = 0; stage < stages_; ++stage) {
      const int last = first + layers_ / stages_ + (stage < layers_ % stages_ ? 1 : 0);
      slowest = std::max(slowest, cost(stage, first, last));
      first = last;
    }
    return slowest;
  }

  /// The slowest stage of some split that is close to the best: stages filled to a limit, which is halved towards the
  /// mean for as long as the layers go in. The closer, the less is left to search; stages differ by whole layers, so
  /// that less than half of the cheapest one gains nothing.
  [[nodiscard]] double nearly_least() const {
    constexpr int halvings = 12;
    double slowest = std::min(evenly(), filled(impossible)), low = sums_[0].back() / stages_;
    const std::vector<double>& layers = kinds_.front().layers;
    const double close = layers.empty() ? 0 : std::ranges::min(layers) / 2;
    for (int i = 0; i < halvings && slowest > low + close; ++i) {
      const double limit = low + (slowest - low) / 2, found = filled(limit);
      if (found < slowest) slowest = found;
      else low = limit;
    }
    return slowest;
  }

  /// Of stages of one kind: where any split stays below a limit, the one that fills each stage to it does. (Its stages
  /// begin no earlier than the other's, and a stage that begins later costs no more. A layer that is forced upon a
  /// stage is in the other split too, in a stage that costs no less.) So limits just below what was found are tried
  /// until none is met.
  [[nodiscard]] double least_filled() const {
    for (double slowest = nearly_least();;) {
      const double found = filled(std::nextafter(slowest, 0.0));
      if (!(found < slowest)) return slowest;
      slowest = found;
    }
  }

  /// The slowest stage where each is filled to the limit and the last one takes what is left.
  [[nodiscard]] double filled(double limit) const {
    double slowest = 0;
    for (int stage = 0, first = 0, open = fewest_from(0); stage < stages_; ++stage) {
      const Stage here = stage_at(stage);
      open -= least(stage);
      int last = stage == stages_ - 1 ? layers_ : std::min(first + least(stage), layers_ - open);
      while (last < layers_ - open && here.cost(first, last + 1) <= limit) ++last;
      slowest = std::max(slowest, here.cost(first, last));
      first = last;
    }
    return slowest;
  }

  /// Layers that the stages from this one on hold at least.
  [[nodiscard]] int fewest_from(int stage) const {
    int fewest = 0;
    for (; stage < stages_; ++stage) fewest += least(stage);
    return fewest;
  }

  Splitter(std::span<const PartitionProblem> kinds, const UnlikeStages* unlike)
      : kinds_(kinds), unlike_(unlike), stages_(kinds.front().stages),
        layers_(static_cast<int>(kinds.front().layers.size())) {
    for (const PartitionProblem& problem : kinds) {
      std::vector<double>& sums = sums_.emplace_back(problem.layers.size() + 1, 0);
      std::partial_sum(problem.layers.begin(), problem.layers.end(), sums.begin() + 1);
    }
  }

  [[nodiscard]] int least(int stage) const {
    const bool end = stage == 0 || stage == stages_ - 1;
    return kinds_.front().bare_ends && end ? 0 : 1;
  }

  struct Band {
    int from = 0, to = 0;
  };
  /// Of stage k, how many layers may lie before it, so that neither the stages before nor those behind must hold more
  /// than `allowed` lets them: no split without a stage above that has others.
  [[nodiscard]] std::vector<Band> bands(double allowed) const {
    std::vector<Band> bands(static_cast<std::size_t>(stages_) + 1, Band{layers_, layers_});
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      const Stage here = stage_at(stage);
      int first = bands[stage + 1].from;
      while (first > 0 && here.cost(first - 1, bands[stage + 1].from) <= allowed) --first;
      bands[stage].from = first;
    }
    bands[0].to = 0;
    for (int stage = 0; stage < stages_; ++stage) {
      const Stage here = stage_at(stage);
      int last = bands[stage].to;
      while (last < layers_ && here.cost(bands[stage].to, last + 1) <= allowed) ++last;
      bands[stage + 1].to = last;
    }
    return bands;
  }

  /// best[k][n]: the first k stages hold n layers. `join` adds a stage's `price` to that of those before it; neither is
  /// less than the price. A stage that begins earlier costs no less, so that the search ends where the stage alone is
  /// too much. `counts` may be null.
  template <typename Join, typename Price>
  double solve(std::vector<int>* counts, double allowed, Join join, Price price) const {
    const auto width = static_cast<std::size_t>(layers_) + 1;
    const std::vector<Band> band = bands(allowed);
    std::vector<double> best(width, impossible), next(width);
    // Only what has been written is read: of splits that hold all layers.
    const auto taken =
        counts == nullptr ? nullptr : std::make_unique_for_overwrite<int[]>(static_cast<std::size_t>(stages_) * width);
    best[0] = 0;
    for (int stage = 0; stage < stages_; ++stage) {
      const Band before = band[stage], behind = band[stage + 1];
      const Stage here = stage_at(stage);
      // Nothing outside of the band is read.
      if (behind.from <= behind.to) std::fill(next.begin() + behind.from, next.begin() + behind.to + 1, impossible);
      for (int last = std::max(behind.from, least(stage)); last <= behind.to; ++last) {
        for (int first = std::min(last - least(stage), before.to); first >= before.from; --first) {
          const double own = here.cost(first, last);
          if (own > allowed || price(own) > next[last]) break;
          if (best[first] == impossible) continue;
          const double all = join(best[first], price(own));
          if (all > next[last]) continue;
          next[last] = all;
          if (counts != nullptr)
            taken[static_cast<std::size_t>(stage) * width + static_cast<std::size_t>(last)] = last - first;
        }
      }
      best.swap(next);
    }
    if (counts == nullptr || best[layers_] == impossible) return best[layers_];
    counts->assign(static_cast<std::size_t>(stages_), 0);
    for (int stage = stages_ - 1, left = layers_; stage >= 0; --stage) {
      const int here = taken[static_cast<std::size_t>(stage) * width + static_cast<std::size_t>(left)];
      (*counts)[stage] = here;
      left -= here;
    }
    return best[layers_];
  }

  std::span<const PartitionProblem> kinds_;
  const UnlikeStages* unlike_;  ///< null: one kind
  int stages_, layers_;
  std::vector<std::vector<double>> sums_;  ///< by kind
};

/// `layers` add up to all of them.
Partition partition_of(const PartitionProblem& problem, const Splitter& splitter, std::vector<int> layers) {
  Partition split;
  split.layers = std::move(layers);
  split.cost.reserve(split.layers.size());
  int first = 0;
  for (int stage = 0; stage < problem.stages; ++stage) {
    const int last = first + split.layers[static_cast<std::size_t>(stage)];
    split.cost.push_back(splitter.cost(stage, first, last));
    first = last;
  }
  split.most = *std::ranges::max_element(split.cost);
  split.mean = std::accumulate(split.cost.begin(), split.cost.end(), 0.0) / problem.stages;
  return split;
}

}  // namespace

Expected<Partition> split_as(const PartitionProblem& problem, const std::vector<int>& layers) {
  const int sum = std::accumulate(layers.begin(), layers.end(), 0);
  if (layers.size() != static_cast<std::size_t>(problem.stages) || sum != static_cast<int>(problem.layers.size())) {
    return fail("layers per stage", fmt::format("{} stages hold {} layers", layers.size(), sum),
        fmt::format("{} counts that add up to {}", problem.stages, problem.layers.size()));
  }
  const int fewest = *std::ranges::min_element(layers);
  if (fewest < 0) return fail("layers per stage", fmt::format("a stage holds {}", fewest), "0 or more");
  return partition_of(problem, Splitter(problem), layers);
}

Expected<Partition> split_layers(const PartitionProblem& problem) {
  TRY(check(problem));
  const Splitter splitter(problem);
  std::vector<int> best = splitter.best();
  if (best.empty()) return split_as(problem, best);
  return partition_of(problem, splitter, std::move(best));
}

Expected<std::vector<std::vector<int>>> split_front(const UnlikeStages& stages) {
  for (const PartitionProblem& problem : stages.kinds) TRY(check(problem));
  const Splitter splitter(stages);
  double slowest = splitter.least_maximum();
  constexpr int most_steps = 24;
  constexpr double step = 1.04;  // beyond 2.5 x the least maximum no sum makes up for it
  std::vector<std::vector<int>> front;
  for (int i = 0; i < most_steps; ++i, slowest *= step) {
    std::vector<int> counts = splitter.least_sum(slowest * (1 + rounding));
    if (front.empty() || counts != front.back()) front.push_back(std::move(counts));
  }
  return front;
}

Expected<Partition> split_evenly(const PartitionProblem& problem) {
  TRY(check(problem));
  const auto layers = static_cast<int>(problem.layers.size());
  std::vector<int> counts(static_cast<std::size_t>(problem.stages), layers / problem.stages);
  for (int stage = 0; stage < layers % problem.stages; ++stage) ++counts[stage];
  return split_as(problem, counts);
}

}  // namespace stepcast::sim
