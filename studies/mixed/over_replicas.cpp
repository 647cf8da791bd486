#include "studies/mixed/over_replicas.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/schedule/layers/deal.h"
#include "studies/mixed/notes.h"

namespace stepcast::mixed {
namespace {

class ReplicasOnKinds {
 public:
  ReplicasOnKinds(const FleetKinds& fleet, MixedRun& run) : fleet_(fleet), run_(run) {}

  Expected<void> forecast() {
    std::vector<sim::UnlikePipelines> pipelines;
    const std::int64_t of_one = fleet_.first().plan.gpus / fleet_.split().dp, each = fleet_.split().micro_batches;
    for (std::size_t kind = 0; kind < fleet_.kinds.size(); ++kind) {
      TRY(const auto few, predict_replica(kind, each));
      TRY(const auto many, predict_replica(kind, 2 * each));
      if (kind == 0) TRY(check_apart(few.program));
      const double a = alone(few.step.phases).value(), b = alone(many.step.phases).value();
      const double slope = (b - a) / static_cast<double>(each);
      pipelines.push_back({fleet_.kinds[kind].share.gpus / of_one, a - slope * static_cast<double>(each), slope});
    }
    const std::vector<std::int64_t> most = sim::deal_micro_batches(pipelines, each * fleet_.split().dp);
    std::vector<Prediction> predictions;
    TRY(run_.step_time, joint_step(most, &predictions));
    run_.dealt = true;
    if (std::ranges::any_of(most, [&](std::int64_t own) { return own != each; })) {
      TRY(run_.even, joint_step(std::vector<std::int64_t>(fleet_.kinds.size(), each), nullptr));
      run_.notes.emplace_back(
          "replicas run different numbers of micro-batches, and gradients are weighted by them: "
          "this needs software that deals so (Whale, HexiScale, Metis); most gives all replicas the same number");
    }
    take_replicas(pipelines, most, std::move(predictions));
    return {};
  }

 private:
  Expected<Prediction> predict_replica(std::size_t kind, std::int64_t micro_batches) const {
    Scenario scenario = fleet_.kinds[kind].scenario;
    Split own = *scenario.split;
    own.micro_batches = micro_batches;
    scenario.plan.global_batch = micro_batches * scenario.plan.micro_batch * own.dp;
    lay_split(scenario, std::move(own));
    const std::vector<int> all_alike(static_cast<std::size_t>(fleet_.split().pp), static_cast<int>(kind));
    return predict_as_laid(scenario, fleet_.costs(all_alike));
  }

  /// Data, pipeline and its exposed moves: what a replica does by itself.
  static Seconds alone(const Phases& phases) {
    return phases.data_wait + phases.host_to_device + phases.forward + phases.backward + phases.bubble +
           phases.exposed_communication;
  }

  /// Each micro-batch must be a replica's own: what it moves may not leave the kind.
  Expected<void> check_apart(const Program& program) const {
    const StageCosts with = fleet_.costs(std::vector<int>(static_cast<std::size_t>(fleet_.split().pp), 0));
    for (const ProgramBlock& block : program.blocks)
      for (const Move& move : block.moves)
        if (move.group >= 0 && with.leaves(program.groups[move.group]))
          return fail("--machine",
              fmt::format("replicas on machines of several kinds would wait for each other in each micro-batch: {} "
                          "over {}",
                  move.label, program.groups[move.group].label),
              "--zero 0 or 1, experts that stay inside a kind, or pipeline stages on the kinds: --pp");
    return {};
  }

  Expected<Seconds> joint_step(const std::vector<std::int64_t>& micro_batches, std::vector<Prediction>* kept) const {
    Phases worst;
    Seconds ready;
    for (std::size_t kind = 0; kind < fleet_.kinds.size(); ++kind) {
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

  void take_replicas(const std::vector<sim::UnlikePipelines>& pipelines, const std::vector<std::int64_t>& most,
      std::vector<Prediction> predictions) {
    std::int64_t room = -fleet_.split().micro_batches * fleet_.split().dp;
    std::size_t last = 0;
    for (std::size_t kind = 0; kind < fleet_.kinds.size(); ++kind) {
      MixedKind& own = run_.kinds[kind];
      own.stages = fleet_.split().pp;
      own.replicas = pipelines[kind].count;
      own.micro_batches = most[kind];
      own.ready = alone(predictions[kind].step.phases);
      own.replica = predictions[kind].step;
      own.notes = prediction_notes(predictions[kind]), own.warnings = predictions[kind].warnings;
      room += own.replicas * own.micro_batches;
      if (own.ready > run_.kinds[last].ready || kind == 0) last = kind;
    }
    // Some of the kind that ends last run one fewer; where they cannot, the next one's replicas do.
    for (std::size_t i = 0; i < fleet_.kinds.size() && room > 0; ++i) {
      MixedKind& own = run_.kinds[(last + i) % fleet_.kinds.size()];
      own.fewer = own.micro_batches > 1 ? std::min(room, own.replicas) : 0;
      room -= own.fewer;
    }
    run_.layers = fleet_.split().layers;
    run_.prediction = std::move(predictions[last]);
    const StepReport& slow = run_.prediction.step;
    run_.p10 = run_.step_time * (slow.p10 / slow.step_time);
    run_.p90 = run_.step_time * (slow.p90 / slow.step_time);
  }

  const FleetKinds& fleet_;
  MixedRun& run_;
};

}  // namespace

Expected<void> over_replicas(const FleetKinds& fleet, MixedRun& run) { return ReplicasOnKinds(fleet, run).forecast(); }

}  // namespace stepcast::mixed
