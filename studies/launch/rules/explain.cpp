#include "studies/launch/rules/explain.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/launch_release.h"
#include "studies/launch/read/answers.h"
#include "studies/launch/read/launch_flags.h"
#include "studies/launch/rules/mapping_difference.h"
#include "studies/launch/facts/step_words.h"
#include "studies/run/figures/collectives.h"
#include "studies/run/forecast.h"

namespace stepcast::launch {
namespace {

/// What a run of `stepcast predict` makes of a launch.
struct LaunchForecast {
  LaunchReading reading;
  Scenario scenario;
  Prediction prediction;
  std::string mapping;  ///< expanded
};

/// The steps of predict on a launch, in its order.
Expected<LaunchForecast> forecast_launch(const Launch& launch, const LaunchHints& hints, const Arguments& over) {
  TRY(auto reading, read_meaning(launch, hints));
  TRY(take_flags(reading.request, over));
  TRY(auto scenario, complete(reading.request));
  TRY(auto prediction, run::predict(scenario));
  TRY(auto mapping, explain(scenario.network.row, scenario.plan, scenario.stack.row));
  return LaunchForecast{std::move(reading), std::move(scenario), std::move(prediction), std::move(mapping.expanded)};
}

Bytes moved_bytes(const Prediction& prediction) {
  Bytes moved;
  for (const CollectiveSum& sum : joined_collectives(prediction.step)) moved += sum.received;
  return moved;
}

class LaunchExplainer {
 public:
  LaunchExplainer(const Launch& launch, const LaunchHints& hints, const Arguments& over)
      : launch_(launch), hints_(leniently(hints)), lenient_(hints.lenient), over_(over),
        table_(launch.framework->table()), answers_(launch), base_(forecast_launch(launch, hints_, over)) {
    for (const GivenArgument& given : launch.arguments) last_[given.name] = &given;
    experts_ = !base_ || base_->scenario.network.row.experts.count > 0;
  }

  ExplainedLaunch run() {
    explained_.launch = &launch_;
    explained_.notes = launch_.notes;
    take_releases();
    for (const GivenArgument& given : launch_.arguments) explained_.arguments.push_back(explain_argument(given));
    take_forecast();
    explained_.interactions = interactions_of(explained_);
    if (explained_.scenario)
      for (std::string& text : other_gpus(launch_, explained_.scenario->machine.row))
        explained_.interactions.push_back({"other GPUs", {}, std::move(text), false});
    return std::move(explained_);
  }

 private:
  /// What is not known is explained as such, and the rest of the launch beside it.
  static LaunchHints leniently(LaunchHints hints) {
    hints.lenient = true;
    return hints;
  }

  void take_releases() {
    const KnownReleases known = known_releases(launch_);
    explained_.first_release = known.first;
    explained_.last_release = known.last;
    dated_ = launch_;
    dated_.release = release_in_force(launch_);
  }

  void take_forecast() {
    if (!base_) {
      explained_.refusal = base_.error();
      return;
    }
    if (auto strict = read_meaning(launch_, strictly()); !strict) explained_.refusal = strict.error();
    explained_.notes = base_->reading.notes;  // the launch's own first
    explained_.scenario = std::move(base_->scenario);
    explained_.prediction = std::move(base_->prediction);
  }

  [[nodiscard]] LaunchHints strictly() const {
    LaunchHints hints = hints_;
    hints.lenient = lenient_;
    return hints;
  }

  ExplainedArgument explain_argument(const GivenArgument& given) {
    ExplainedArgument argument;
    argument.given = given;
    argument.fact = table_.find(given.name);
    argument.reach = reach_of(argument);
    argument.meaning = argument.fact == nullptr ? "" : argument_meaning(*argument.fact, given.value);
    argument.said = argument_doubts(dated_, given, unknown_ < most_nearest);
    unknown_ += argument.fact == nullptr ? 1 : 0;
    if (const std::string idle = idle_because(given, argument.fact); !idle.empty()) {
      argument.said.push_back(idle);
      argument.reach = Reach::nothing;
    }
    if (argument.fact != nullptr && argument.reach == Reach::uncovered && !answers_.is_left_out(given, experts_))
      argument.reach = Reach::nothing;
    if (argument.reach == Reach::step) take_effect(argument);
    return argument;
  }

  /// Of one that no table knows by the words of its name.
  static Reach reach_of(const ExplainedArgument& argument) {
    if (argument.fact == nullptr)
      return may_change_step(argument.given.name, argument.given.value) ? Reach::uncovered : Reach::nothing;
    return argument.fact->asks ? Reach::step : argument.fact->reach;
  }

  /// Why one that answers a question changes nothing here; "" where it counts.
  [[nodiscard]] std::string idle_because(const GivenArgument& given, const ArgumentFact* fact) const {
    if (const GivenArgument* last = last_.at(given.name); last != &given)
      return last->line == 0 ? "given again, which counts"
                             : fmt::format("given again in line {}, which counts", last->line);
    if (fact == nullptr || !fact->asks) return {};
    if (says_none(given.value)) return "says nothing, as if it were left out";
    const GivenArgument* winner = answers_.answering(*fact->asks);
    const bool all_count = *fact->asks == Asked::tokenizer;
    if (winner != nullptr && winner->name != given.name && !all_count)
      return fmt::format("overruled by {}", spelled_argument(*winner));
    if (base_ && !base_->reading.used.contains(given.name)) return "nothing asks for it in this run";
    return {};
  }

  void take_effect(ExplainedArgument& argument) const {
    const auto other = forecast_launch(without(launch_, argument.given.name), hints_, over_);
    if (!base_) {
      if (other)
        argument.said.push_back(fmt::format(
            "without it the launch can be forecast: {} a step", format_seconds(other->prediction.step.step_time)));
      return;
    }
    ArgumentEffect effect;
    effect.with_time = base_->prediction.step.step_time;
    effect.with_memory = base_->prediction.step.memory.peak;
    effect.with_moved = moved_bytes(base_->prediction);
    if (other) {
      effect.without_time = other->prediction.step.step_time;
      effect.without_memory = other->prediction.step.memory.peak;
      effect.without_moved = moved_bytes(other->prediction);
      argument.mapping = mapping_difference(base_->mapping, other->mapping);
    } else {
      effect.why_not = other.error().what;
    }
    argument.effect = effect;
  }

  const Launch& launch_;
  LaunchHints hints_;
  bool lenient_;
  const Arguments& over_;
  const ArgumentTable& table_;
  LaunchAnswers answers_;
  Expected<LaunchForecast> base_;
  std::unordered_map<std::string_view, const GivenArgument*> last_;  ///< of each name
  Launch dated_;                                                     ///< its release is the one in force
  ExplainedLaunch explained_;
  std::size_t unknown_ = 0;  ///< arguments so far
  bool experts_ = true;      ///< has the network any, as far as is known?
};

}  // namespace

ExplainedLaunch explain_launch(const Launch& launch, const LaunchHints& hints, const Arguments& over) {
  return LaunchExplainer(launch, hints, over).run();
}

}  // namespace stepcast::launch
