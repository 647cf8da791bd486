#include "studies/mixed/mixed_run.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/lower.h"
#include "model/base/quantity_text.h"
#include "sim/layer_costs.h"
#include "sim/schedule/layers/deal.h"
#include "sim/step/paired.h"
#include "studies/mixed/kind_scenarios.h"
#include "studies/run/balance.h"

namespace stepcast::mixed {
namespace {

/// One of the fleet's forecasts, and what it needs.
class MixedForecast {
 public:
  MixedForecast(std::vector<KindScenario> kinds, std::int64_t block) : kinds_(std::move(kinds)), block_(block) {}

  Expected<MixedRun> run(bool by_stage, bool balance) {
    run_.by_stage = by_stage;
    for (const KindScenario& kind : kinds_) {
      run_.kinds.emplace_back();
      run_.kinds.back().share = kind.share;
      run_.kinds.back().scenario = kind.scenario;
    }
    TRY(by_stage ? over_stages(balance) : over_replicas());
    add_utilisation();
    return std::move(run_);
  }

 private:
  [[nodiscard]] const Scenario& first() const { return kinds_.front().scenario; }
  [[nodiscard]] const Split& split() const { return *first().split; }

  [[nodiscard]] StageCosts costs(std::vector<int> kind_of_stage) const {
    std::vector<RankKind> kinds;
    std::int64_t rank = 0;
    for (const KindScenario& kind : kinds_) {
      kinds.push_back({run::cost_model(kind.scenario), run::cost_model(kind.across), run_.by_stage ? rank : 0});
      rank += kind.share.gpus;
    }
    return {std::move(kinds), std::move(kind_of_stage), block_};
  }

  // Stages on kinds.

  Expected<void> over_stages(bool balance) {
    const std::int64_t stride = first().plan.gpus / split().pp;
    std::int64_t stage = 0;
    for (MixedKind& kind : run_.kinds) {
      kind.first_stage = stage;
      kind.stages = kind.share.gpus / stride;
      kind.replicas = split().dp;
      kind.micro_batches = split().micro_batches;
      stage += kind.stages;
    }
    for (std::size_t kind = 0; kind < run_.kinds.size(); ++kind)
      kind_of_stage_.insert(
          kind_of_stage_.end(), static_cast<std::size_t>(run_.kinds[kind].stages), static_cast<int>(kind));
    const std::int64_t parts = split().pp * split().chunks;
    LayerCounts layers = split().layers;
    if (layers.empty()) layers.assign(static_cast<std::size_t>(parts), first().network.row.layers / parts);
    if (balance) {
      TRY(layers, dealt_layers());
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

  Expected<Prediction> predict_with(const LayerCounts& layers) const {
    Split laid = split();
    laid.layers = layers;
    drop_even_layers(laid);
    Scenario scenario = first();
    lay_split(scenario, std::move(laid));
    return predict_as_laid(scenario, costs(kind_of_stage_));
  }

  /// What does not fit is worse than anything that does, by as much as it lacks.
  Expected<double> weighed_step(const LayerCounts& layers) const {
    TRY(const auto prediction, predict_with(layers));
    double lacking = 0;
    const std::vector<Bytes>& peaks = prediction.step.memory.peaks;
    for (std::size_t stage = 0; stage < peaks.size(); ++stage)
      lacking += std::max(0.0, peaks[stage] / capacity(static_cast<int>(stage)) - 1);
    return prediction.step.step_time.value() * (lacking > 0 ? 100 * (1 + lacking) : 1);
  }

  [[nodiscard]] Bytes capacity(int stage) const {
    return kinds_[kind_of_stage_[stage]].scenario.machine.row.gpu.memory;
  }

  Expected<LayerCounts> dealt_layers() const {
    TRY(const auto program, weighed_program(first()));
    sim::UnlikeStages stages;
    for (const KindScenario& kind : kinds_) {
      stages.kinds.push_back(sim::layer_costs(program, run::cost_model(kind.scenario), paired_share(program)));
      stages.kinds.back().bare_ends = true;
    }
    for (const Chunk& chunk : program.chunks) stages.kind_of_stage.push_back(kind_of_stage_[chunk.stage]);
    const auto step = [&](const std::vector<int>& layers) { return weighed_step({layers.begin(), layers.end()}); };
    TRY(const auto layers, sim::deal_layers(stages, step));
    return LayerCounts(layers.begin(), layers.end());
  }

  Expected<void> compare_even(const LayerCounts& dealt, std::int64_t parts) {
    run_.dealt = true;
    const std::int64_t all = first().network.row.layers;
    const LayerCounts even(static_cast<std::size_t>(parts), all / parts);
    if (all % parts != 0 || even == dealt) return {};
    TRY(const auto prediction, predict_with(even));
    if (prediction.step.memory.fits) run_.even = prediction.step.step_time;
    return {};
  }

  // Replicas on kinds.

  Expected<Prediction> predict_replica(std::size_t kind, std::int64_t micro_batches) const {
    Scenario scenario = kinds_[kind].scenario;
    Split own = *scenario.split;
    own.micro_batches = micro_batches;
    scenario.plan.global_batch = micro_batches * scenario.plan.micro_batch * own.dp;
    lay_split(scenario, std::move(own));
    const std::vector<int> all_alike(static_cast<std::size_t>(split().pp), static_cast<int>(kind));
    return predict_as_laid(scenario, costs(all_alike));
  }

  /// Data, pipeline and its exposed moves: what a replica does by itself.
  static Seconds alone(const Phases& phases) {
    return phases.data_wait + phases.host_to_device + phases.forward + phases.backward + phases.bubble +
           phases.exposed_communication;
  }

  /// Each micro-batch must be a replica's own: what it moves may not leave the kind.
  Expected<void> check_apart(const Program& program) const {
    const StageCosts with = costs(std::vector<int>(static_cast<std::size_t>(split().pp), 0));
    for (const ProgramBlock& block : program.blocks)
      for (const Move& move : block.moves)
        if (move.group >= 0 && with.leaves(program.groups[move.group]))
          return fail("--machine",
              fmt::format("replicas on machines of several kinds would wait for each other in each micro-batch: {} "
                          "over {}",
                  move.label, program.groups[move.group].label),
              "--zero 0, 1 or 2, experts that stay inside a kind, or pipeline stages on the kinds: --pp");
    return {};
  }

  Expected<Seconds> joint_step(const std::vector<std::int64_t>& micro_batches, std::vector<Prediction>* kept) const {
    Phases worst;
    Seconds ready;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      TRY(auto prediction, predict_replica(kind, micro_batches[kind]));
      const Phases& phases = prediction.step.phases;
      ready = std::max(ready, alone(phases));
      for (const auto part :
          {&Phases::gradient_sync, &Phases::clip, &Phases::optimizer, &Phases::parameter_gather, &Phases::host})
        worst.*part = std::max(worst.*part, phases.*part);
      if (kept != nullptr) kept->push_back(std::move(prediction));
    }
    return ready + worst.sum();
  }

  Expected<void> over_replicas() {
    std::vector<sim::UnlikePipelines> pipelines;
    const std::int64_t of_one = first().plan.gpus / split().dp, each = split().micro_batches;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      TRY(const auto few, predict_replica(kind, each));
      TRY(const auto many, predict_replica(kind, 2 * each));
      if (kind == 0) TRY(check_apart(few.program));
      const double a = alone(few.step.phases).value(), b = alone(many.step.phases).value();
      const double slope = (b - a) / static_cast<double>(each);
      pipelines.push_back({kinds_[kind].share.gpus / of_one, a - slope * static_cast<double>(each), slope});
    }
    const std::vector<std::int64_t> most = sim::deal_micro_batches(pipelines, each * split().dp);
    std::vector<Prediction> predictions;
    TRY(run_.step_time, joint_step(most, &predictions));
    run_.dealt = true;
    if (std::ranges::any_of(most, [&](std::int64_t own) { return own != each; })) {
      TRY(run_.even, joint_step(std::vector<std::int64_t>(kinds_.size(), each), nullptr));
    }
    take_replicas(pipelines, most, std::move(predictions));
    run_.notes.emplace_back(
        "replicas run different numbers of micro-batches where their GPUs differ, and gradients are weighted by them: "
        "this needs software that deals so (Whale, HexiScale, Metis); most gives all replicas the same number");
    return {};
  }

  void take_replicas(const std::vector<sim::UnlikePipelines>& pipelines, const std::vector<std::int64_t>& most,
      std::vector<Prediction> predictions) {
    std::int64_t room = -split().micro_batches * split().dp;
    std::size_t last = 0;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      MixedKind& own = run_.kinds[kind];
      own.stages = split().pp;
      own.replicas = pipelines[kind].count;
      own.micro_batches = most[kind];
      own.ready = alone(predictions[kind].step.phases);
      own.replica = predictions[kind].step;
      room += own.replicas * own.micro_batches;
      if (own.ready > run_.kinds[last].ready || kind == 0) last = kind;
    }
    // Some of the kind that ends last run one fewer; where it has too few, the next one's replicas do.
    for (std::size_t i = 0; i < kinds_.size() && room > 0; ++i) {
      MixedKind& own = run_.kinds[(last + i) % kinds_.size()];
      own.fewer = std::min(room, own.replicas);
      room -= own.fewer;
    }
    run_.layers = split().layers;
    run_.prediction = std::move(predictions[last]);
    const StepReport& slow = run_.prediction.step;
    run_.p10 = run_.step_time * (slow.p10 / slow.step_time);
    run_.p90 = run_.step_time * (slow.p90 / slow.step_time);
  }

  // Both.

  [[nodiscard]] double work_of(const MixedKind& kind) const {
    if (!run_.by_stage) return static_cast<double>(kind.replicas * kind.micro_batches - kind.fewer);
    double flops = 0;
    const Program& program = run_.prediction.program;
    for (const Chunk& chunk : program.chunks)
      if (chunk.stage >= kind.first_stage && chunk.stage < kind.first_stage + kind.stages)
        for (const BlockRun& run : chunk.runs)
          flops += program.blocks[run.block].model_flops * static_cast<double>(run.count);
    return flops;
  }

  void add_utilisation() {
    const Plan& plan = first().plan;
    double all = 0, peaks = 0;
    for (MixedKind& kind : run_.kinds) all += kind.work = work_of(kind);
    const Flops model = run::step_model_flops(first());
    for (MixedKind& kind : run_.kinds) {
      kind.work /= all;
      const FlopsPerSecond peak =
          kind.scenario.machine.row.gpu.peak[static_cast<int>(plan.precision)] * static_cast<double>(kind.share.gpus);
      kind.mfu = model * kind.work / run_.step_time / peak;
      peaks += peak.value();
    }
    run_.mfu = model / run_.step_time / FlopsPerSecond(peaks);
  }

  std::vector<KindScenario> kinds_;
  std::int64_t block_;  ///< ranks in aligned blocks of so many are of one kind
  std::vector<int> kind_of_stage_;
  MixedRun run_;
};

/// Which axis the kinds cut: stages (true) or replicas.
Expected<bool> cut_by_stage(
    const std::vector<MachineShare>& shares, const Scenario& scenario, const std::string& where) {
  const Split& split = *scenario.split;
  const bool by_stage = split.pp > 1 && split.order.back() == MeshAxis::pp;
  if (!by_stage && split.order.back() != MeshAxis::dp && split.pp > 1)
    return fail(where, fmt::format("with --order {} neither stages nor replicas are outermost", to_text(split.order)),
        "--order tp-cp-dp-pp for stages on the kinds, tp-cp-pp-dp for replicas");
  if (!by_stage && split.chunks > 1)
    return fail("--chunks",
        "replicas that are dealt micro-batches by speed may get any number of them, and interleaved "
        "stages take multiples of the stages",
        "--chunks 1, or stages on the kinds: --order tp-cp-dp-pp");
  const std::int64_t part = by_stage ? scenario.plan.gpus / split.pp : scenario.plan.gpus / split.dp;
  const char* noun = by_stage ? "pipeline stage" : "replica";
  for (const MachineShare& share : shares)
    if (share.gpus % part != 0)
      return fail(where,
          fmt::format("a {} takes {} GPUs, and {} has {}: it would lie on two kinds of machines", noun, part,
              share.machine.row.id, share.gpus),
          by_stage ? "more stages (--pp), or replicas on the kinds: --order tp-cp-pp-dp"
                   : "smaller --tp, --cp or --pp");
  return by_stage;
}

}  // namespace

std::int64_t MixedRun::gpus() const {
  return std::accumulate(kinds.begin(), kinds.end(), std::int64_t{0},
      [](std::int64_t sum, const MixedKind& kind) { return sum + kind.share.gpus; });
}

double MixedRun::tokens() const {
  const Plan& plan = kinds.front().scenario.plan;
  return static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
}

bool MixedRun::fits() const {
  return std::ranges::all_of(kinds, [&](const MixedKind& kind) {
    if (kind.replica) return kind.replica->memory.fits;
    const Bytes capacity = kind.scenario.machine.row.gpu.memory;
    const auto& peaks = prediction.step.memory.peaks;
    return std::all_of(peaks.begin() + kind.first_stage, peaks.begin() + kind.first_stage + kind.stages,
        [&](Bytes peak) { return peak <= capacity; });
  });
}

Expected<MixedRun> forecast_mixed(const Request& request, const std::vector<MachineShare>& shares,
    const std::optional<BetweenKinds>& between, const std::string& where) {
  TRY(auto kinds, kind_scenarios(request, shares, between, where));
  const Scenario first = kinds.front().scenario;
  TRY(const auto by_stage, cut_by_stage(shares, first, where));
  std::int64_t block = 0;
  for (const MachineShare& share : shares) block = std::gcd(block, share.gpus);
  TRY(auto run, MixedForecast(std::move(kinds), block).run(by_stage, first.balance));
  run.between = between ? fmt::format("{} per GPU between the kinds, as said", format_rate(between->rate))
                        : "between the kinds the slower of their networks";
  return run;
}

}  // namespace stepcast::mixed
