// The steps of reading a launch: they find the command of a script that trains, its framework, and the files that it
// names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/config/config_text.h"
#include "studies/launch/facts/launch.h"
#include "studies/launch/limits/named_file.h"

namespace stepcast::launch {

/// Finds the command that trains; of equal ones it takes the first. Errors: none has an argument, two that differ.
Expected<const LaunchLine*> training_launch(
    const std::vector<LaunchLine>& launches, const std::string& where, std::vector<std::string>& notes);

/// Tells the framework by marks of programs and names; `usual` where there is none.
const Framework* framework_of(const Launch& launch, const LaunchLine* line, std::string_view usual);

/// Arguments in files that the launch names: those that the script writes itself, and those in `folders` (none: no file
/// is opened), torchtitan's registry among them, whose parameters are as `defined` says. What the command line says
/// stands behind them.
Expected<void> add_named_files(Launch& launch, const LaunchLine* line, const LaunchFolders& folders,
    const std::map<std::string, std::string>& defined);

}  // namespace stepcast::launch
