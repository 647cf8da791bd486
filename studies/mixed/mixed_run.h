// A step on machines of several kinds. Ranks lie on the machines in the order that names them. Where pipeline stages
// are the outermost axis of the mesh, each stage lies on one kind and layers are dealt by speed; where data-parallel
// replicas are outermost (no stages, or --order tp-cp-pp-dp), each replica lies on one kind and micro-batches are dealt
// by speed. What passes between kinds takes as long as the slower side's network needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/mixed/shares.h"
#include "studies/run/forecast.h"

namespace stepcast::mixed {

/// What the GPUs of one kind do.
struct MixedKind {
  MachineShare share;
  Scenario scenario;  ///< the run as if all GPUs were of this kind
  std::int64_t first_stage = 0, stages = 1;
  std::int64_t replicas = 1;               ///< that lie on it; with stages on kinds: all of them
  std::int64_t micro_batches = 1;          ///< of a replica
  std::int64_t fewer = 0;                  ///< replicas that run one micro-batch less
  Seconds ready;                           ///< when its gradients are there, before what the kinds do together
  double work = 0;                         ///< share of the step's model FLOPs
  double mfu = 0;                          ///< of its own GPUs' peak
  std::optional<sim::StepReport> replica;  ///< replicas on kinds: the forecast of one
};

struct MixedRun {
  bool by_stage = true;
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
  [[nodiscard]] double tokens() const;
  [[nodiscard]] Bytes peak(int stage) const;
  [[nodiscard]] bool fits() const;
};

/// `request` names no machine. Errors: those of complete() on each kind; a split whose stages or replicas lie on more
/// than one kind, a mapping, a profile, number types that differ, exchanges of each micro-batch between kinds.
Expected<MixedRun> forecast_mixed(const Request& request, const std::vector<MachineShare>& shares,
    const std::optional<BetweenKinds>& between, const std::string& where);

}  // namespace stepcast::mixed
