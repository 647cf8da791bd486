#include "studies/timeline/scene.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/streams.h"
#include "studies/run/figures/memory_fit.h"
#include "studies/run/figures/phases.h"

namespace stepcast::timeline {
namespace {

/// The pipeline's own phases are its actions.
bool in_pipeline(std::string_view key) {
  return key == "forward" || key == "backward" || key == "bubble" || key == "exposed_communication";
}

bool is_communication(std::string_view key) { return key == "gradient_sync" || key == "parameter_gather"; }

bool is_of_host(std::string_view key) { return key == "data_wait" || key == "host_to_device" || key == "host"; }

/// The outermost level that a phase's collectives cross; -1 where there are none.
class PhaseFabrics {
 public:
  PhaseFabrics(const Program& program, const CostModel& cost) {
    for (const ProgramBlock& block : program.blocks)
      for (const Move& move : block.step_moves) see(program, move, move.when == When::once_last_use, cost);
    for (const std::vector<Move>* moves : {&program.tail, &program.shared})
      for (const Move& move : *moves)
        if (move.cargo != Cargo::scalar) see(program, move, move.cargo != Cargo::weight, cost);
  }
  [[nodiscard]] int of(std::string_view key) const { return key == "gradient_sync" ? gradients_ : parameters_; }

 private:
  void see(const Program& program, const Move& move, bool gradient, const CostModel& cost) {
    int& level = gradient ? gradients_ : parameters_;
    level = std::max(level, price_move(program, move, cost).tier);
  }
  int gradients_ = -1, parameters_ = -1;
};

/// The level's own stream: where it has two, the one for what compute stands still for.
int stream_of_level(const StepScene& scene, const Machine& machine, int level) {
  for (std::size_t i = StepScene::first_fabric_stream; level >= 0 && i < scene.streams.size(); ++i)
    if (scene.streams[i].key == machine.levels[level].name) return static_cast<int>(i);
  return -1;
}

/// One after the other, in the order of the phases. Sums of seconds end where the step does, to the last digit.
void add_scene_phases(const Scenario& scenario, const Prediction& prediction, StepScene& scene) {
  const StepReport& step = prediction.step;
  const PhaseFabrics fabrics(prediction.program, cost_model(scenario).with_ranks(prediction.program.ranks));
  Seconds now;
  for (const PhaseRow& phase : phase_rows(step.phases)) {
    const Seconds from = now;
    now += phase.time;
    if (in_pipeline(phase.key)) {
      if (phase.key == "forward") scene.begin = from.value();
    } else if (phase.time > Seconds(0)) {
      SceneStretch stretch{
          std::string(phase.name), std::string(phase.key), is_communication(phase.key), from.value(), now.value()};
      if (stretch.communication) stretch.stream = stream_of_level(scene, scenario.machine.row, fabrics.of(phase.key));
      if (is_of_host(phase.key)) stretch.stream = scene.host_stream;
      scene.around.push_back(std::move(stretch));
    }
  }
  scene.end = step.step_time.value();
  scene.too_much = too_much_memory(step.memory);
  const bool tail = !scene.around.empty() && scene.around.back().start > scene.begin;
  if (tail) scene.around.back().end = scene.end;
}

/// By virtual stage, what it hands on takes: hop i is between stages i and i+1.
std::vector<double> hops_of_stages(const std::vector<Seconds>& hops, bool back, int stages) {
  std::vector<double> from(static_cast<std::size_t>(stages), 0.0);
  for (std::size_t i = 0; i < hops.size(); ++i) from[back ? i + 1 : i] = hops[i].value();
  return from;
}

std::vector<double> scene_bytes(const std::vector<Bytes>& list) {
  std::vector<double> bytes;
  for (const Bytes one : list) bytes.push_back(one.value());
  return bytes;
}

void add_hops(const StepReport& step, StepScene& scene) {
  const int stages = step.order.stages();
  scene.blocking_hops = step.times.blocking_hops;
  scene.hop_ahead = hops_of_stages(step.times.hop_forward, false, stages);
  scene.hop_back = hops_of_stages(step.times.hop_backward, true, stages);
  scene.holds = hop_holds(step.order, step.times, step.timeline);
  for (std::vector<HopHold>& rank : scene.holds)
    for (HopHold& hold : rank) hold = {scene.begin + hold.start, scene.begin + hold.end};
}

std::string scene_title(const Scenario& scenario) {
  const auto& network = scenario.network.row;
  const auto& machine = scenario.machine.row;
  return fmt::format("{} on {} {} of {}: {}", network.name.empty() ? network.id : network.name, scenario.plan.gpus,
      scenario.plan.gpus == 1 ? "GPU" : "GPUs", machine.name.empty() ? machine.id : machine.name, in_words(scenario));
}

std::string scene_size(const Plan& plan) {
  return fmt::format("{} sequences of {} per step, micro-batch {}, {}", plan.global_batch, plan.sequence,
      plan.micro_batch, to_text(plan.precision));
}

}  // namespace

std::size_t StepScene::inside_index(int stage, ActionKind kind, int slice) const {
  constexpr std::size_t kinds = 4;
  return (static_cast<std::size_t>(stage) * kinds + static_cast<std::size_t>(kind)) *
             static_cast<std::size_t>(order->slices) +
         static_cast<std::size_t>(slice);
}

std::size_t StepScene::inside_index(std::size_t action) const {
  const Action& one = order->actions[action];
  return inside_index(one.stage, one.kind, one.micro_batch % order->slices);
}

void StepScene::place_actions() {
  const std::size_t count = order->actions.size();
  action_start.resize(count);
  action_end.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    action_start[i] = begin + timeline->start[i].value();
    action_end[i] = begin + timeline->end[i].value();
    if (i == 0 || !order->actions[i - 1].with_next) continue;
    const double first = inside_seconds.empty() ? 1 : inside_seconds[inside_index(i - 1)];
    const double both = first + (inside_seconds.empty() ? 1 : inside_seconds[inside_index(i)]);
    action_end[i - 1] = action_start[i] += (action_end[i] - action_start[i]) * (both > 0 ? first / both : 0.5);
  }
}

Expected<StepScene> step_scene(const Scenario& scenario, const Prediction& prediction) {
  const StepReport& step = prediction.step;
  StepScene scene;
  scene.title = scene_title(scenario), scene.size = scene_size(scenario.plan);
  scene.order = &step.order;
  scene.timeline = &step.timeline;
  TRY(add_inside(scenario, prediction, scene));
  add_scene_phases(scenario, prediction, scene);
  add_hops(step, scene);
  scene.place_actions();
  scene.kept = scene_bytes(step.memory.kept);
  scene.always = scene_bytes(step.memory.always);
  scene.capacity = step.memory.capacity.value();
  scene.ranks_per_stage = prediction.program.ranks / prediction.program.stages;
  scene.stage_stride = prediction.program.stage_stride;
  scene.slowest_stage = step.slowest_stage;
  return scene;
}

}  // namespace stepcast::timeline
