// stepcast whatif asks what moves a step, and by how much.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::whatif {

Expected<void> whatif_command(const Arguments& arguments, Console& console);
std::span<const Flag> whatif_flags();

/// --factor, 2 where nobody says it.
Expected<double> asked_factor(const Arguments& arguments);
/// In the form that is asked for: --csv, --json, --top.
void print_levers(const Sensitivity& study, const Arguments& arguments, Console& console);

}  // namespace stepcast::whatif
