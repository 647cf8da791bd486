// What a step on machines of several kinds takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/mixed/shares.h"
#include "studies/run/forecast.h"
#include "studies/whatif/around_steps.h"

namespace stepcast::mixed {

/// What the GPUs of one kind do.
struct MixedKind {
  MachineShare share;
  Scenario scenario;  ///< the run as if all GPUs were of this kind
  std::int64_t first_stage = 0, stages = 1;
  std::int64_t replicas = 1;                 ///< that lie on it; with stages on kinds: all of them
  std::int64_t micro_batches = 1;            ///< of a replica
  std::int64_t fewer = 0;                    ///< replicas that run one micro-batch less
  Seconds ready;                             ///< when its gradients are there, before what the kinds do together
  double work = 0;                           ///< share of the step's model FLOPs
  double mfu = 0;                            ///< of its own GPUs' peak
  std::optional<sim::StepReport> replica;    ///< replicas on kinds: the forecast of one
  std::vector<std::string> notes, warnings;  ///< of that forecast
};

constexpr Seconds unbounded{1e300};

struct MixedRun {
  bool by_stage = true;
  bool given_up = false;  ///< there is nothing of it: no deal of layers is fast enough
  std::vector<MixedKind> kinds;
  std::vector<std::int64_t> layers;  ///< of each virtual stage
  bool dealt = false;                ///< layers or micro-batches by speed
  std::optional<Seconds> even;       ///< the step of even layers or micro-batches, where these are others
  Prediction prediction;             ///< stages on kinds: of the whole; replicas: of the kind that is ready last
  Seconds step_time, p10, p90;
  double mfu = 0;  ///< of the peaks of all GPUs together
  std::string between;
  std::vector<std::string> notes;
  [[nodiscard]] std::int64_t gpus() const;
  [[nodiscard]] std::vector<MachineShare> shares() const;
  [[nodiscard]] double tokens() const;
  [[nodiscard]] bool fits() const;
  /// Does each rank hold stages of two copies of the model (dualpipe, chimera)?
  [[nodiscard]] bool two_copies() const { return prediction.step.order.directions == 2; }
  /// On all its stages; of two copies of the model, those of the first.
  [[nodiscard]] std::int64_t layers_of(const MixedKind& kind) const;
  /// Work and MFU, from the rest.
  void add_utilisation();
};

/// What was given of what stands around steps; a loader's times are those of a mean batch, and where replicas on kinds
/// are dealt others they take as much longer or shorter. Errors: those of around_parts(); an evaluation of replicas on
/// kinds, whose micro-batches are dealt for steps.
Expected<std::vector<AroundPart>> around_kinds(
    const MixedRun& run, const AroundSteps& around, Seconds step, std::uint64_t seed);

}  // namespace stepcast::mixed
