// A training log as a measured run: what validation and calibration forecast. What the log leaves open comes from hints
// and the program's defaults, and everything that was assumed is said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/import/logs/steady_step.h"
#include "calibrate/import/logs/training_log.h"
#include "model/base/error.h"
#include "model/machine/machine.h"
#include "studies/records/run_record.h"

namespace stepcast::launch {

/// What a log rarely says and the user does. Empty and 0: nothing.
struct LoggedRunHints {
  std::string machine;  ///< id of a machine or GPU in the catalogue; without one the log must name the GPU
  std::string network;  ///< id of a network in the catalogue, for geometry that the log does not tell
  std::int64_t gpus = 0;
};

struct LoggedRun {
  Run run;
  SteadyStep steady;
  std::vector<std::string> assumptions;  ///< the log's notes too
};

/// Fails where the log and the hints leave open what a forecast needs (GPU, geometry, batch, number of GPUs), and where
/// they contradict each other: GPUs that are no multiple of tp x pp x cp, a batch that does not divide, two world
/// sizes.
Expected<LoggedRun> logged_run(const TrainingLog& log, const LoggedRunHints& hints);

Expected<RunHardware> logged_hardware(const TrainingLog& log, const LoggedRunHints& hints, std::int64_t gpus_per_node,
    std::vector<std::string>& assumptions);

}  // namespace stepcast::launch
