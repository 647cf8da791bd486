// What a job runs: a request on one machine, or on GPUs of several kinds, and what its step takes there.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "studies/mixed/mixed_run.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::job {

using JobQuestion = std::variant<Request, mixed::MixedRequest>;

/// GPUs that are alike, and what they draw.
struct JobNodes {
  std::int64_t gpus = 1, node_gpus = 8;
  double power_w = 0;  ///< of a GPU, by datasheet
  [[nodiscard]] std::int64_t nodes() const { return (gpus + node_gpus - 1) / node_gpus; }
};

struct JobRun {
  Scenario scenario;      ///< of several kinds: as if all GPUs were of the first
  Prediction prediction;  ///< of several kinds: see MixedRun
  Outcome outcome;        ///< of several kinds: memory of the fullest over its own
  std::optional<mixed::MixedRun> mixed;
  [[nodiscard]] std::vector<JobNodes> nodes() const;
};

/// A run of one machine that was forecast elsewhere.
JobRun run_of(Scenario scenario, Prediction prediction);
/// Errors: what predict refuses.
Expected<JobRun> run_of(const JobQuestion& question);
/// The same on so many times the GPUs with so many times the batch; the outermost level of a machine that ends before
/// holds more. Errors: those of run_of(); numbers beyond what a run may have; it does not fit.
Expected<JobRun> grown_run(const JobQuestion& question, const JobRun& now, std::int64_t gpus, std::int64_t batch);

/// "64 x H100 SXM", of several kinds "64 x H100 SXM (DGX H100) + ...": what stands behind "on" in a page's title.
std::string machines_text(const JobRun& run);

}  // namespace stepcast::job
