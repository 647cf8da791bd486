// The flags of commands that have no header of their own to list them in.
#pragma once

#include <span>

#include "studies/cli/flags.h"

namespace stepcast::studies {

std::span<const Flag> json_flag();
std::span<const Flag> show_flags();
std::span<const Flag> list_flags();
/// A term takes no flag but --json, a launch those of a run.
std::span<const Flag> explain_flags();
std::span<const Flag> merge_flags();
std::span<const Flag> validate_flags();
std::span<const Flag> dataflow_flags();
std::span<const Flag> schedule_flags();

}  // namespace stepcast::studies
