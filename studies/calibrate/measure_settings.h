// stepcast calibrate measure, with the doors to the machine as arguments: the program opens real GPUs, tests a fake
// one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/plan/plan.h"
#include "kernels/bench/collective_bench.h"
#include "kernels/bench/gpu_bench.h"
#include "kernels/process/launch_place.h"
#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::calibration {

struct MeasureDoors {
  std::function<Expected<std::vector<DeviceInfo>>()> devices;
  std::function<std::vector<LibraryState>()> libraries;
  std::function<Expected<std::unique_ptr<GpuBench>>(int)> open_gpu;
  std::function<Expected<LaunchPlace>()> place;
  std::function<Expected<std::unique_ptr<CollectiveBench>>(const LaunchPlace&)> open_collectives;
  std::function<bool()> interrupted;
  std::string date;  ///< of today: "2026-11-21"
};
MeasureDoors real_doors();

/// What the command line says.
struct MeasureSettings {
  std::string output, profile;  ///< files; profile "" = not written
  std::string gpu;              ///< catalogue id; "" = by the device's name
  int index = 0;                ///< of the GPU
  Seconds budget{180};
  std::vector<std::string> only;
  std::vector<Query> own;
  std::string start, id;  ///< of the fit, as `calibrate fit` has them
  std::uint64_t seed = 1;
  bool dry_run = false, resume = false, json = false, force = false;
};
Expected<MeasureSettings> measure_settings(const Arguments& arguments);

Expected<void> measure(const MeasureSettings& settings, const MeasureDoors& doors, Console& console);

}  // namespace stepcast::calibration
