// Computes the sensitivity of a step: each rate of the machine and each number of the plan is changed by itself; time,
// throughput and memory are compared.
#pragma once

#include <string>
#include <vector>

#include "studies/run/forecast.h"
#include "studies/run/request.h"

namespace stepcast::whatif {

/// What is compared of a forecast.
struct Outcome {
  Seconds step_time, p10, p90;
  double tokens = 0;  ///< per step
  double tokens_per_s_per_gpu = 0;
  std::int64_t gpus = 1;
  Bytes memory, capacity;
  bool fits = false;
  double bubble_fraction = 0;
  Phases phases;
  /// Seconds of one GPU: of two runs that do different work, or on more or fewer GPUs, the one with less is the
  /// cheaper.
  [[nodiscard]] Seconds gpu_time_per_token() const { return step_time * (static_cast<double>(gpus) / tokens); }
};
Outcome outcome_of(const Scenario& scenario, const Prediction& prediction);
/// The forecast of a scenario or of a request, or why there is none.
Expected<Outcome> outcome_of_scenario(const Scenario& scenario);
Expected<Outcome> outcome_of_request(const Request& request);

/// Relative change of the GPU time per token, -0.5 = half; equals that of the step where work and GPUs are the same.
double time_change(const Outcome& before, const Outcome& after);

/// The phase that changed most, and by how much.
struct PhaseMove {
  std::string_view name, key;
  Seconds change;
};
PhaseMove moved_most(const Outcome& before, const Outcome& after);

struct Variation {
  std::string to;     ///< "100 GB/s", "16"
  double factor = 0;  ///< of a machine's lever; 0 = of the plan
  double amount = 0;  ///< of a machine's lever, base units
  Outcome after;
};

struct LeverEffect {
  std::string id, name, from;
  bool of_machine = true;
  std::string unit;  ///< ending of JSON keys, of a machine's lever
  std::vector<Variation> variations;
  std::string idle;    ///< why the lever does nothing; "" = it acts
  double largest = 0;  ///< |log| of the largest change of GPU time per token
};

/// A neighbour that cannot run.
struct RefusedStep {
  std::string id, to, reason;
};

struct Sensitivity {
  Scenario scenario;
  std::string title;  ///< of a run on several kinds of machines; "" = the scenario's
  Outcome before;
  double factor = 2;
  std::vector<LeverEffect> levers;  ///< those that act, largest effect first; then the idle ones
  std::vector<RefusedStep> refused;
  /// A lever that was tried, with its largest effect noted.
  void add(LeverEffect effect);
  /// Those that act first, the largest effect before the others.
  void sort();
};

/// Errors: the run itself cannot be forecast.
Expected<Sensitivity> sensitivity(const Request& request, double factor);

}  // namespace stepcast::whatif
