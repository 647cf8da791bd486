// Describes the circumstances under which a campaign's rows were timed. An earlier campaign's rows are recognised by
// them.
#pragma once

#include <string>

#include "calibrate/rows/measurement.h"
#include "kernels/bench/device.h"
#include "kernels/bench/gpu_bench.h"
#include "kernels/bench/work.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// What `source` says in every context of `stepcast calibrate measure`.
inline constexpr const char* measured_here = "stepcast calibrate measure";

/// GPU, driver, libraries, clocks and date: what all rows of a campaign share.
MeasurementContext setup_context(
    const DeviceInfo& device, const GpuSettings& settings, const std::string& gpu, const std::string& date);

/// Library and its version: "cublas 13.0.2", "stepcast 0.1.0".
std::string software_of(KernelSource source, const GpuSettings& settings);

/// One name for one row: what was timed, by whose kernel, in which regime, cache and company. The same for a row and
/// for the work that it came from.
std::string row_key(const Query& what, const MeasurementContext& context);

/// Fails where a row of `earlier` was not timed by this program, or on another GPU, driver, library or under another
/// power limit than `setup` says, naming both. Dates may differ.
Expected<void> check_earlier(const Measurements& earlier, const MeasurementContext& setup, const GpuSettings& settings);

}  // namespace stepcast::calibrate
