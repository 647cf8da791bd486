// A gap as text and as JSON: rows that sum to it, causes in order of seconds.
#pragma once

#include <string>

#include "model/base/json_writer.h"
#include "studies/cli/console.h"
#include "studies/compare/beside.h"

namespace stepcast::comparison {

std::string gap_text(const Beside& beside, const Console& console);
/// Into the open object.
void write_gap(JsonWriter& json, const Beside& beside);

}  // namespace stepcast::comparison
