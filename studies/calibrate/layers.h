// stepcast calibrate layers, with the doors to the machine as arguments: the program opens real GPUs, tests a fake one.
#pragma once

#include "model/base/error.h"
#include "studies/calibrate/measure_settings.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"

namespace stepcast::calibration {

/// With --output: measures layers of the networks that the words name. Without: the words are a file of layers and a
/// profile, whose forecast is held beside what was measured.
Expected<void> layers(const Arguments& arguments, const MeasureDoors& doors, Console& console);

}  // namespace stepcast::calibration
