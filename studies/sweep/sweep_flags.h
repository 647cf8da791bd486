// What `stepcast sweep` takes: the run flags of predict, of which the axes may have several values, and its own.
#pragma once

#include <span>
#include <string>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::sweep {

Expected<void> sweep_command(const Arguments& arguments, Console& console);
Expected<void> merge_command(const Arguments& arguments, Console& console);
/// A flag that is an axis (find_axis) has no check of its own: read_axis_values checks each value.
std::span<const Flag> sweep_flags();

/// --snapshot, from 0.01 s to a day.
Expected<double> snapshot_seconds(const std::string& text, const std::string& where);

}  // namespace stepcast::sweep
