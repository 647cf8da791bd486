#include "studies/mixed/over_stages.h"

#include <algorithm>

#include "dataflow/lower/lower.h"
#include "sim/layer_costs.h"
#include "sim/schedule/layers/deal.h"
#include "sim/step/paired.h"
#include "studies/run/balance.h"

namespace stepcast::mixed {
namespace {

class StagesOnKinds {
 public:
  StagesOnKinds(const FleetKinds& fleet, Seconds enough, MixedRun& run) : fleet_(fleet), enough_(enough), run_(run) {}

  Expected<void> forecast(bool balance) {
    const std::int64_t stride = fleet_.first().plan.gpus / fleet_.split().pp;
    std::int64_t stage = 0;
    for (MixedKind& kind : run_.kinds) {
      kind.first_stage = stage;
      kind.stages = kind.share.gpus / stride;
      kind.replicas = fleet_.split().dp;
      kind.micro_batches = fleet_.split().micro_batches;
      stage += kind.stages;
    }
    for (std::size_t kind = 0; kind < run_.kinds.size(); ++kind)
      kind_of_stage_.insert(
          kind_of_stage_.end(), static_cast<std::size_t>(run_.kinds[kind].stages), static_cast<int>(kind));
    const std::int64_t parts = fleet_.split().pp * fleet_.split().chunks;
    LayerCounts layers = fleet_.split().layers;
    if (layers.empty()) layers.assign(static_cast<std::size_t>(parts), fleet_.first().network.row.layers / parts);
    if (balance) {
      TRY(auto stages, unlike_stages());
      TRY(run_.given_up, is_slow(stages));
      if (run_.given_up) return {};
      TRY(layers, dealt_layers(stages));
      TRY(compare_even(layers, parts));
    }
    run_.layers = layers;
    TRY(run_.prediction, predict_with(layers));
    const StepReport& step = run_.prediction.step;
    run_.step_time = step.step_time, run_.p10 = step.p10, run_.p90 = step.p90;
    for (MixedKind& kind : run_.kinds)
      for (std::int64_t s = kind.first_stage; s < kind.first_stage + kind.stages; ++s)
        kind.ready = std::max(kind.ready, step.timeline.busy[s]);
    return {};
  }

 private:
  Expected<Prediction> predict_with(const LayerCounts& layers) const {
    Split laid = fleet_.split();
    laid.layers = layers;
    drop_even_layers(laid);
    Scenario scenario = fleet_.first();
    lay_split(scenario, std::move(laid));
    return predict_as_laid(scenario, fleet_.costs(kind_of_stage_));
  }

  /// A virtual stage lacks what its rank lacks; with two copies of the model, what both ranks lack that hold it.
  Expected<sim::DealtStep> dealt_step(const LayerCounts& layers) const {
    TRY(const auto prediction, predict_with(layers));
    const std::vector<Bytes>& peaks = prediction.step.memory.peaks;
    const auto over = [&](int stage) { return (peaks[static_cast<std::size_t>(stage)] - capacity(stage)).value(); };
    sim::DealtStep step{prediction.step.step_time.value()};
    for (const Chunk& chunk : prediction.program.chunks) {
      const int stage = static_cast<int>(chunk.stage), mirror = static_cast<int>(peaks.size()) - 1 - stage;
      const bool two_copies = prediction.step.order.directions == 2;
      step.over.push_back(two_copies ? over_of_both(over(stage), over(mirror)) : over(stage));
    }
    return step;
  }

  static double over_of_both(double one, double other) {
    const double lacking = std::max(0.0, one) + std::max(0.0, other);
    return lacking > 0 ? lacking : std::max(one, other);
  }

  [[nodiscard]] Bytes capacity(int stage) const {
    return fleet_.kinds[kind_of_stage_[stage]].scenario.machine.row.gpu.memory;
  }

  Expected<sim::UnlikeStages> unlike_stages() const {
    TRY(const auto program, weighed_program(fleet_.first()));
    sim::UnlikeStages stages;
    for (const KindScenario& kind : fleet_.kinds) {
      stages.kinds.push_back(sim::layer_costs(program, run::cost_model(kind.scenario), paired_share(program)));
      stages.kinds.back().bare_ends = true;
    }
    for (const Chunk& chunk : program.chunks) stages.kind_of_stage.push_back(kind_of_stage_[chunk.stage]);
    return stages;
  }

  Expected<LayerCounts> dealt_layers(const sim::UnlikeStages& stages) const {
    const auto step = [&](const std::vector<int>& layers) { return dealt_step({layers.begin(), layers.end()}); };
    TRY(const auto layers, sim::deal_layers(stages, step));
    return LayerCounts(layers.begin(), layers.end());
  }

  /// A pipeline takes its micro-batches times its slowest stage at least, and no deal has a faster slowest one than the
  /// first of the front; by prices of layers, which the forecast meets within the tolerance.
  Expected<bool> is_slow(const sim::UnlikeStages& stages) const {
    constexpr double tolerance = 0.03;
    TRY(const auto front, sim::split_front(stages));
    double slowest = 0;
    std::size_t layer = 0;
    for (std::size_t stage = 0; stage < front.front().size(); ++stage) {
      const sim::PartitionProblem& kind = stages.kinds[static_cast<std::size_t>(stages.kind_of_stage[stage])];
      double cost = 0;
      for (int i = 0; i < front.front()[stage]; ++i) cost += kind.layers[layer++];
      slowest = std::max(slowest, cost);
    }
    const Seconds least = Seconds(slowest * static_cast<double>(fleet_.split().micro_batches)) * (1 - tolerance);
    return least > enough_;
  }

  Expected<void> compare_even(const LayerCounts& dealt, std::int64_t parts) {
    run_.dealt = true;
    const std::int64_t all = fleet_.first().network.row.layers;
    const LayerCounts even(static_cast<std::size_t>(parts), all / parts);
    if (all % parts != 0 || even == dealt) return {};
    TRY(const auto prediction, predict_with(even));
    if (prediction.step.memory.fits) run_.even = prediction.step.step_time;
    return {};
  }

  const FleetKinds& fleet_;
  Seconds enough_;
  MixedRun& run_;
  std::vector<int> kind_of_stage_;
};

}  // namespace

Expected<void> over_stages(const FleetKinds& fleet, bool balance, Seconds enough, MixedRun& run) {
  return StagesOnKinds(fleet, enough, run).forecast(balance);
}

}  // namespace stepcast::mixed
