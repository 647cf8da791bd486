// What a campaign writes beside its rows: the state of the card, and what was seen on the way.
#pragma once

#include <string>

#include "calibrate/measure/sample.h"
#include "calibrate/rows/measurement.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::calibrate {

/// Where no such note is there yet: a campaign that goes on with a file says nothing twice.
void add_note(Measurements& measurements, const std::string& note);

/// Clocks, power limit, ECC, MIG, other processes.
void note_setup(Measurements& measurements, const DeviceInfo& device, const GpuSettings& settings);

/// "throttled: 2 of 40 bursts: gemm ..., ...", of all rows, instead of what an earlier campaign said.
void note_throttled(Measurements& measurements);

/// "sustained gemm ...: 1.38 ms in bursts, 1.61 ms settled, time constant 400 ms, 1755 to 1410 MHz, 698 W". `kind` is
/// "sustained" or "alternating".
std::string sustained_note(const std::string& kind, const std::string& work, const Sustained& run);
/// How such a note of this work begins.
std::string sustained_note_head(const std::string& kind, const std::string& work);
bool has_note(const Measurements& measurements, const std::string& head);

/// Mean power of the last half of the run; 0 = not known.
double settled_power(const Sustained& run);

}  // namespace stepcast::calibrate
