// What is said of a job by machine: "--failure-rate dgx-h100=0.004,dgx-a100=0.0065".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "studies/job/job_run.h"
#include "studies/job/wishes.h"

namespace stepcast::job {

/// The wishes of a job that runs on so many GPUs of each of the machines: rates and prices are the mean over its GPUs.
/// Errors: a machine without a number, a number of no machine, numbers by machine where one is named by itself (`all`
/// is empty).
Expected<JobWishes> wishes_on(
    JobWishes wishes, const std::vector<mixed::MachineShare>& all, std::span<const std::int64_t> gpus);

/// Of failures that grow with the nodes, the share that each kind has; they sum to 1.
std::vector<double> failure_shares(const JobWishes& wishes, const std::vector<JobNodes>& kinds);

}  // namespace stepcast::job
