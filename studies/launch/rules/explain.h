// stepcast explain --megatron lists every argument of a launch, what it means in both vocabularies and what it costs in
// this run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/run/forecast.h"
#include "studies/launch/read/launch_request.h"

namespace stepcast::launch {

/// The run with the argument minus the run without it; both are whole predictions.
struct ArgumentEffect {
  Seconds with_time, without_time;
  Bytes with_memory, without_memory;  ///< peak of the fullest rank
  Bytes with_moved, without_moved;    ///< received per rank and step, over all fabrics
  std::string why_not;                ///< why there is no run without it: it is needed, or what breaks
};

struct ExplainedArgument {
  GivenArgument given;
  const ArgumentFact* fact = nullptr;  ///< null: nobody knows it
  /// here: an argument that answers a question and is overruled reaches nothing
  Reach reach = Reach::nothing;
  std::string meaning;  ///< with its value put in: "tp 8"
  /// lines of the expanded mapping that are there by it ("+ ...") or gone ("- ...")
  std::vector<std::string> mapping;
  std::optional<ArgumentEffect> effect;  ///< of those that reach the step
  std::vector<std::string> said;         ///< unknown, removed, default anyway, given twice, not set: in words
};

struct Interaction {
  std::string_view id;                 ///< of its rule
  std::vector<std::string> arguments;  ///< names
  std::string text;                    ///< "sequence-parallel has no effect at tp 1"
  bool wrong = false;                  ///< the framework refuses it, or it does not do what it says
};

struct ExplainedLaunch {
  const Launch* launch = nullptr;  ///< the one that was explained, which has to outlive this
  /// that know every argument which the table has; "" where none knows them all
  std::string first_release, last_release;
  std::vector<ExplainedArgument> arguments;
  std::vector<Interaction> interactions;
  std::vector<std::string> notes;
  std::optional<Scenario> scenario;  ///< none where the launch cannot be forecast; `refusal` says why
  std::optional<Prediction> prediction;
  std::optional<Error> refusal;  ///< beside a scenario: what predict refuses and the forecast here leaves out
};

/// `over`: flags beside the launch (--machine, --gpus, ...), put over its request each time. Without a forecast every
/// argument is still explained.
ExplainedLaunch explain_launch(const Launch& launch, const LaunchHints& hints, const Arguments& over);

/// Interactions and likely mistakes, by rules (interaction_rule.h) over what was given, what it means and what it
/// costs; also of a launch that cannot be forecast.
std::vector<Interaction> interactions_of(const ExplainedLaunch& explained);

/// Accelerators that a job asks its scheduler for, or that its environment is for, where the machine has others.
std::vector<std::string> other_gpus(const Launch& launch, const Machine& machine);

std::string explained_text(const ExplainedLaunch& explained, const Console& console);
std::string explained_json(const ExplainedLaunch& explained);

}  // namespace stepcast::launch
