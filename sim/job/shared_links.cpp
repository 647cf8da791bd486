#include "sim/job/shared_links.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace stepcast::sim {
namespace {

constexpr double flow_rounding = 1e-12;

using Mask = std::uint32_t;

/// Max-min rates of those jobs that the mask has.
std::vector<double> rates_of(const std::vector<SharingJob>& jobs, const std::vector<double>& capacity, Mask sending) {
  std::vector<JobFlows> flows;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    flows.push_back(jobs[job].flows);
    if ((sending >> job & 1U) == 0) std::ranges::fill(flows.back().on_link, 0.0);
  }
  return max_min_rates(flows, capacity);
}

/// Of a job while it sends, over what the others do.
double mean_rate(const std::vector<SharingJob>& jobs, const std::vector<double>& capacity, std::size_t job,
    const std::vector<double>& duty) {
  double mean = 0;
  for (Mask others = 0; others < Mask{1} << jobs.size(); ++others) {
    if ((others >> job & 1U) != 0) continue;
    double chance = 1;
    for (std::size_t other = 0; other < jobs.size(); ++other)
      if (other != job) chance *= (others >> other & 1U) != 0 ? duty[other] : 1 - duty[other];
    if (chance > 0) mean += chance * rates_of(jobs, capacity, others | Mask{1} << job)[job];
  }
  return mean;
}

double duty_of(const StepAtRate& at) { return std::min(1.0, at.sending / at.step); }

}  // namespace

std::vector<double> max_min_rates(const std::vector<JobFlows>& jobs, const std::vector<double>& capacity) {
  std::vector<double> rates(jobs.size(), 0.0), left = capacity;
  std::vector<char> rises(jobs.size(), 1);
  while (std::ranges::find(rises, char{1}) != rises.end()) {
    // All that rise are at one level, so that the nearest limit ends the same rise for all of them.
    double rise = std::numeric_limits<double>::infinity();
    std::vector<double> flows(capacity.size(), 0.0);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (!rises[job]) continue;
      rise = std::min(rise, jobs[job].most - rates[job]);
      for (std::size_t link = 0; link < flows.size(); ++link) flows[link] += jobs[job].on_link[link];
    }
    for (std::size_t link = 0; link < flows.size(); ++link)
      if (flows[link] > 0) rise = std::min(rise, left[link] / flows[link]);
    for (std::size_t link = 0; link < flows.size(); ++link) left[link] -= rise * flows[link];
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (!rises[job]) continue;
      rates[job] += rise;
      bool full = rates[job] >= jobs[job].most * (1 - flow_rounding);
      for (std::size_t link = 0; link < flows.size(); ++link)
        full = full || (jobs[job].on_link[link] > 0 && left[link] <= capacity[link] * flow_rounding);
      rises[job] = full ? 0 : 1;
    }
  }
  return rates;
}

std::vector<SharedStep> shared_steps(const std::vector<SharingJob>& jobs, const std::vector<double>& capacity) {
  std::vector<SharedStep> steps(jobs.size());
  std::vector<double> duty;
  const std::vector<double> all = rates_of(jobs, capacity, (Mask{1} << jobs.size()) - 1);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const StepAtRate alone = jobs[job].at(rates_of(jobs, capacity, Mask{1} << job)[job]);
    steps[job] = {alone.step, alone.step, jobs[job].at(all[job]).step};
    duty.push_back(duty_of(alone));
  }
  constexpr int most_rounds = 50;
  constexpr double settled = 1e-6;
  for (int round = 0; round < most_rounds; ++round) {
    double change = 0;
    const std::vector<double> before = duty;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const StepAtRate now = jobs[job].at(mean_rate(jobs, capacity, job, before));
      change = std::max(change, std::abs(now.step / steps[job].beside - 1));
      steps[job].beside = now.step, duty[job] = duty_of(now);
    }
    if (change < settled) break;
  }
  return steps;
}

}  // namespace stepcast::sim
