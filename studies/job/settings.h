// From a forecast step and what is said of the job to the settings of its life.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/job/life.h"
#include "studies/job/checkpoint.h"
#include "studies/job/whole_step.h"
#include "studies/job/wishes.h"

namespace stepcast::job {

/// What of a job its step decides.
struct JobBase {
  std::int64_t gpus = 1, node_gpus = 8, model_gpus = 1;  ///< of the job, of a node, of one copy of the model
  std::vector<JobNodes> kinds;                           ///< GPUs of each kind where the job has those of its run
  std::string not_elastic;                               ///< why the job cannot go on without a replica; "": it can
  Seconds step;
  double tokens = 0;  ///< of a step
  CheckpointSize checkpoint;
  BytesPerSecond host_link;
  [[nodiscard]] std::int64_t nodes() const;
};

JobBase job_base(const JobRun& run, const WholeStep& step);

struct JobSettings {
  sim::LifeSettings life;
  StorageRates storage;
  CheckpointSize checkpoint;  ///< as asked for, else by the mapping
  CheckpointTimes times;
  double fixed_part = 1;  ///< of the failures that a fleet's large jobs have besides those by nodes
  bool interval_asked = false;
  std::vector<std::string> notes;  ///< what was taken for granted
};

/// The wishes of a job that runs on so many GPUs of each of the machines: rates and prices are the mean over its GPUs.
/// Errors: a machine without a number, a number of no machine, numbers by machine where one is named by itself (`all`
/// is empty).
Expected<JobWishes> wishes_on(
    JobWishes wishes, const std::vector<mixed::MachineShare>& all, std::span<const std::int64_t> gpus);

/// Of failures that grow with the nodes, the share that each kind has; they sum to 1.
std::vector<double> failure_shares(const JobWishes& wishes, const std::vector<JobNodes>& kinds);

/// Failures per second of a job of so many GPUs.
double failures_per_second(const JobWishes& wishes, std::int64_t gpus);

/// `life.work` is 0: the length comes last. Errors: nothing fails, an interval longer than the time between failures or
/// shorter than storage takes, what is not elastic.
Expected<JobSettings> job_settings(const JobBase& base, const JobWishes& wishes);

}  // namespace stepcast::job
