#include "sim/job/shared_links.h"

#include <algorithm>
#include <cassert>
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

/// Who sends and who does not, as a chain: a job begins to send after exponential times of mean `idle`, and ends what
/// it sends, of mean `volume`, at the rate that fair sharing gives it. Chances of each set in the long run, by
/// relaxation.
std::vector<double> chances_of_sets(
    const std::vector<std::vector<double>>& rates, const std::vector<double>& idle, const std::vector<double>& volume) {
  const std::size_t jobs = idle.size();
  std::vector<double> chances(rates.size(), 1 / static_cast<double>(rates.size()));
  constexpr int most_rounds = 20'000;
  constexpr double settled = 1e-12;
  for (int round = 0; round < most_rounds; ++round) {
    double change = 0, sum = 0;
    for (Mask set = 0; set < rates.size(); ++set) {
      double in = 0, out = 0;
      for (std::size_t job = 0; job < jobs; ++job) {
        const Mask other = set ^ (Mask{1} << job);
        const bool sends = (set >> job & 1U) != 0;
        out += sends ? rates[set][job] / volume[job] : 1 / idle[job];
        in += chances[other] * (sends ? 1 / idle[job] : rates[other][job] / volume[job]);
      }
      change = std::max(change, std::abs(in / out - chances[set]));
      sum += chances[set] = in / out;
    }
    for (double& chance : chances) chance /= sum;
    if (change < settled) break;
  }
  return chances;
}

/// Of each job while it sends, over what the others do.
std::vector<double> mean_rates(const std::vector<std::vector<double>>& rates, const std::vector<double>& chances) {
  std::vector<double> means;
  for (std::size_t job = 0; job < rates.front().size(); ++job) {
    double sent = 0, time = 0;
    for (Mask set = 0; set < rates.size(); ++set) {
      if ((set >> job & 1U) == 0) continue;
      sent += chances[set] * rates[set][job], time += chances[set];
    }
    means.push_back(sent / time);
  }
  return means;
}

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
  assert(jobs.size() <= most_sharing_jobs);
  std::vector<std::vector<double>> rates;  // of each set of those that send
  for (Mask set = 0; set < Mask{1} << jobs.size(); ++set) rates.push_back(rates_of(jobs, capacity, set));
  std::vector<SharedStep> steps;
  std::vector<double> idle(jobs.size()), volume(jobs.size());
  const auto take = [&](std::size_t job, double rate, const StepAtRate& at) {
    constexpr double least_idle = 1e-6;  // of a step: of a job that always sends
    idle[job] = std::max((at.step - at.sending).value(), least_idle * at.step.value());
    volume[job] = std::max(at.sending.value(), least_idle * at.step.value()) * rate;
  };
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const double rate = rates[Mask{1} << job][job];
    const StepAtRate alone = jobs[job].at(rate);
    steps.push_back({alone, alone.step, jobs[job].at(rates.back()[job]).step});
    take(job, rate, alone);
  }
  constexpr int most_rounds = 50;
  constexpr double settled = 1e-6;
  double change = 1;
  for (int round = 0; round < most_rounds && change > settled; ++round) {
    change = 0;
    const auto means = mean_rates(rates, chances_of_sets(rates, idle, volume));
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const StepAtRate now = jobs[job].at(means[job]);
      change = std::max(change, std::abs(now.step / steps[job].beside - 1));
      steps[job].beside = now.step;
      take(job, means[job], now);
    }
  }
  return steps;
}

}  // namespace stepcast::sim
