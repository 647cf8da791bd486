// The waterfall from what was expected to what was measured: each row's bar begins where the last one ended.
#pragma once

#include <string>

#include "studies/compare/beside.h"

namespace stepcast::comparison {

/// Pictures for wide screens and for phones.
std::string waterfall_svg(const Beside& beside);

}  // namespace stepcast::comparison
