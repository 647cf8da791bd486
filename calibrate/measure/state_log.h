// Records what the driver said about clocks, power and temperature while something was timed. Times are kept when the
// driver does not answer: its answer counts as unknown, and the first error is kept.
#pragma once

#include <string>

#include "kernels/bench/gpu_bench.h"

namespace stepcast::calibrate {

class StateLog {
 public:
  explicit StateLog(GpuBench& bench) : bench_(bench) {}
  GpuState read();
  void keep(const GpuState& state);     ///< counts in the mean
  [[nodiscard]] GpuState mean() const;  ///< of what was known each time; flags that were up at any time
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  GpuBench& bench_;
  GpuState sum_, count_;  ///< count_: how often each value was known
  std::string error_;
};

}  // namespace stepcast::calibrate
