// stepcast whatif asks what moves a step, and by how much.
#pragma once

#include <span>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/cli/console.h"
#include "studies/cli/flags.h"

namespace stepcast::whatif {

Expected<void> whatif_command(const Arguments& arguments, Console& console);
std::span<const Flag> whatif_flags();

}  // namespace stepcast::whatif
