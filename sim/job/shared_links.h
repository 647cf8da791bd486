// Jobs beside each other on links that they share: the rates that fair sharing gives them, and what steps take then.
// Rates are max-min fair (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2): no flow can have more
// without one that has no more getting less. That congestion control of RDMA networks comes near it is assumed (DCQCN,
// Zhu et al., SIGCOMM 2015, aims at it).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "model/base/units.h"

namespace stepcast::sim {

/// A job's flows, all of one rate: its collectives wait for the slowest.
struct JobFlows {
  double most = 0;              ///< rate of a flow that no shared link limits
  std::vector<double> on_link;  ///< flows on each link
};

/// Rate of the flows of each job while all of them send; links have `capacity` in the same unit. By progressive
/// filling: all rates rise together; those on a full link stay. A job without flows has its `most`.
std::vector<double> max_min_rates(const std::vector<JobFlows>& jobs, const std::vector<double>& capacity);

/// A step at a rate, and how much of it the job sends over the shared links.
struct StepAtRate {
  Seconds step, sending;
};
struct SharingJob {
  JobFlows flows;
  std::function<StepAtRate(double rate)> at;
};

struct SharedStep {
  StepAtRate alone;  ///< beside nobody: at what its links have for its own flows
  Seconds beside;    ///< the others begin to send at times of their own
  Seconds worst;     ///< all others send whenever it does
};

/// Of 16 jobs there are 65,536 sets, each with rates and a chance of its own.
constexpr std::size_t most_sharing_jobs = 16;

/// Of each job, at most `most_sharing_jobs`. Who sends is a Markov chain over all sets of jobs: for times in between
/// that are exponential it is exact where links are shared evenly, whatever the volumes are (processor sharing;
/// Baskett, Chandy, Muntz and Palacios, J. ACM 22, 1975). A job that sends beside its own work has less in between at a
/// lower rate: a fixed point. Phases that fall together or apart lie between `alone` and `worst` (Rajasekaran et al.,
/// CASSINI, NSDI 2024, arXiv 2308.00852, shifts steps so that they fall apart).
std::vector<SharedStep> shared_steps(const std::vector<SharingJob>& jobs, const std::vector<double>& capacity);

}  // namespace stepcast::sim
