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
    const std::int64_t each = fleet_.split().micro_batches;
    TRY(pipelines_, measured_pipelines(each));
    const std::vector<std::int64_t> most =
        in_step_.empty() ? sim::deal_micro_batches(pipelines_, each * fleet_.split().dp) : alike(each);
    std::vector<Prediction> predictions;
    TRY(run_.step_time, joint_step(most, &predictions));
    run_.dealt = in_step_.empty();
    if (!in_step_.empty())
      run_.notes.push_back(fmt::format(
          "replicas wait for each other in each micro-batch ({}): all run as many, at the slowest kind's pace",
          in_step_));
    if (std::ranges::any_of(most, [&](std::int64_t own) { return own != each; })) {
      TRY(run_.even, joint_step(alike(each), nullptr));
      run_.notes.emplace_back(
          "replicas run different numbers of micro-batches, and gradients are weighted by them: "
          "this needs software that deals so (Whale, HexiScale, Metis); most gives all replicas the same number");
    }
    take_replicas(most, std::move(predictions));
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

  /// What each kind takes for a micro-batch, and whether they meet in each.
  Expected<std::vector<sim::UnlikePipelines>> measured_pipelines(std::int64_t each) {
    std::vector<sim::UnlikePipelines> pipelines;
    const std::int64_t of_one = fleet_.first().plan.gpus / fleet_.split().dp;
    for (std::size_t kind = 0; kind < fleet_.kinds.size(); ++kind) {
      TRY(const auto few, predict_replica(kind, each));
      TRY(const auto many, predict_replica(kind, 2 * each));
      if (kind == 0) {
        TRY(in_step_, meeting_in(few.program));
      }
      const double a = alone(few.step.phases).value(), b = alone(many.step.phases).value();
      const double slope = (b - a) / static_cast<double>(each);
      pipelines.push_back({fleet_.kinds[kind].share.gpus / of_one, a - slope * static_cast<double>(each), slope});
    }
    return pipelines;
  }

  [[nodiscard]] std::vector<std::int64_t> alike(std::int64_t each) const {
    return std::vector<std::int64_t>(fleet_.kinds.size(), each);
  }

  /// What of each micro-batch moves between replicas on different kinds; "": nothing. Layers are alike, so that in each
  /// of them the same kind is the last: waiting there is waiting for the slowest kind's pass. That is not so of stages,
  /// which run different micro-batches at a time.
  [[nodiscard]] Expected<std::string> meeting_in(const Program& program) const {
    const StageCosts with = fleet_.costs(std::vector<int>(static_cast<std::size_t>(fleet_.split().pp), 0));
    for (const ProgramBlock& block : program.blocks)
      for (const Move& move : block.moves) {
        if (move.group < 0 || !with.leaves(program.groups[move.group])) continue;
        std::string what = fmt::format("{} over {}", move.label, program.groups[move.group].label);
        if (fleet_.split().pp == 1) return what;
        return fail("--machine",
            fmt::format(
                "stages of replicas on machines of several kinds would wait for each other in each micro-batch: {}",
                what),
            "--zero 0 or 1, experts that stay inside a kind, or pipeline stages on the kinds: --order tp-cp-dp-pp");
      }
    return std::string();
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

  void take_replicas(const std::vector<std::int64_t>& most, std::vector<Prediction> predictions) {
    std::int64_t room = -fleet_.split().micro_batches * fleet_.split().dp;
    std::size_t last = 0;
    for (std::size_t kind = 0; kind < fleet_.kinds.size(); ++kind) {
      MixedKind& own = run_.kinds[kind];
      own.stages = fleet_.split().pp;
      own.replicas = pipelines_[kind].count;
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
  std::vector<sim::UnlikePipelines> pipelines_;
  std::string in_step_;
};

}  // namespace

Expected<void> over_replicas(const FleetKinds& fleet, MixedRun& run) { return ReplicasOnKinds(fleet, run).forecast(); }

}  // namespace stepcast::mixed
