#include "studies/job/by_machine.h"

#include <numeric>

#include <fmt/format.h>

namespace stepcast::job {
namespace {

double mean_over(std::span<const double> numbers, std::span<const std::int64_t> gpus) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    sum += numbers[i] * static_cast<double>(gpus[i]);
    all += static_cast<double>(gpus[i]);
  }
  return sum / all;
}

}  // namespace

Expected<JobWishes> wishes_on(
    JobWishes wishes, const std::vector<mixed::MachineShare>& all, std::span<const std::int64_t> gpus) {
  for (const auto& [flag, text] :
      {std::pair{"--failure-rate", wishes.rate_by_machine}, std::pair{"--gpu-hour-price", wishes.price_by_machine}})
    if (!text.empty() && all.empty())
      return fail(flag, fmt::format("'{:.60}' names machines, and the job runs on one", text), "a number alone");
  if (!wishes.rate_by_machine.empty()) {
    TRY(wishes.rate_of_kind,
        mixed::numbers_of_shares(wishes.rate_by_machine, all, "--failure-rate", 0, most_failure_rate));
    const double mean = mean_over(wishes.rate_of_kind, gpus);
    wishes.rates.per_node_day = {mean, mean, mean};
    wishes.rates.name = fmt::format(
        "{} a day and node of {} GPUs, {:g} in the mean", wishes.rate_by_machine, wishes.rates.node_gpus, mean);
  }
  if (!wishes.price_by_machine.empty()) {
    TRY(const auto prices, mixed::numbers_of_shares(wishes.price_by_machine, all, "--gpu-hour-price", 0, most_price));
    wishes.gpu_hour_price = mean_over(prices, gpus);
  }
  return wishes;
}

std::vector<double> failure_shares(const JobWishes& wishes, const std::vector<JobNodes>& kinds) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool own = wishes.rate_of_kind.size() == kinds.size();
    shares.push_back(static_cast<double>(kinds[i].gpus) * (own ? wishes.rate_of_kind[i] : 1));
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share = all > 0 ? share / all : 1 / static_cast<double>(shares.size());
  return shares;
}

}  // namespace stepcast::job
