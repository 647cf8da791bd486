#include "calibrate/measure/state_log.h"

namespace stepcast::calibrate {
namespace {

constexpr double GpuState::*state_values[] = {
    &GpuState::sm_clock_mhz, &GpuState::memory_clock_mhz, &GpuState::power_w, &GpuState::temperature_c};

}  // namespace

GpuState StateLog::read() {
  const auto state = bench_.state();
  if (state) return *state;
  if (error_.empty()) error_ = to_text(state.error());
  return {};
}

void StateLog::keep(const GpuState& state) {
  for (double GpuState::*value : state_values) {
    if (!(state.*value > 0)) continue;
    sum_.*value += state.*value;
    count_.*value += 1;
  }
  sum_.power_capped |= state.power_capped;
  sum_.thermally_slowed |= state.thermally_slowed;
}

GpuState StateLog::mean() const {
  GpuState mean = sum_;
  for (double GpuState::*value : state_values)
    if (count_.*value > 0) mean.*value /= count_.*value;
  return mean;
}

}  // namespace stepcast::calibrate
