#include "studies/sweep/price/costs.h"

#include <cmath>
#include <limits>

#include "model/network/network.h"

namespace stepcast::sweep {

CostRule::CostRule(Figure objective, const std::vector<Figure>& front, const SpacePoints& points) {
  figures_.push_back(objective);
  for (const Figure figure : front) figures_.push_back(figure);
  const Space& space = points.space();
  tokens_ = static_cast<double>(space.global_batch) * static_cast<double>(space.sequence);
  price_ = space.price_per_gpu_hour;
}

Costs CostRule::of(const Figures& figures) const {
  Costs costs;
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const double value = figures[static_cast<std::size_t>(figures_[i])];
    costs.of[i] = row_of(figures_[i]).more_is_better ? -value : value;
  }
  return costs;
}

double CostRule::least(Figure figure, const FastPrice& price, const Setting& setting) const {
  const Scenario& scenario = setting.scenario;
  const double gpus = static_cast<double>(scenario.plan.gpus), capacity = scenario.machine.row.gpu.memory.value();
  switch (figure) {
    case Figure::step_time: return price.step_s;
    case Figure::tokens_per_s_per_gpu: return -tokens_ / price.step_s / gpus;
    case Figure::cost: return price_ * gpus * price.step_s / 3600 / tokens_ * 1e9;
    case Figure::energy: return step_energy(scenario.machine.row.gpu, gpus, price.step_s, price.kernel_s);
    case Figure::memory_peak: return std::round(price.memory_bytes);
    case Figure::memory_headroom: return -std::round(capacity - price.memory_bytes);
    default: return -std::numeric_limits<double>::infinity();
  }
}

Costs CostRule::at_least(const FastPrice& price, const Setting& setting) const {
  Costs costs;
  for (std::size_t i = 0; i < figures_.size(); ++i)
    costs.of[i] = price.bounded ? least(figures_[i], price, setting) : -std::numeric_limits<double>::infinity();
  costs.of[step_cost] = price.step_s;
  return costs;
}

}  // namespace stepcast::sweep
