// A mapping explained, in words and in JSON: with every alias written out, and the line that decided each operator and
// axis.
#pragma once

#include <string>

#include "dataflow/lower/lower.h"
#include "model/base/json_writer.h"
#include "studies/print/paint.h"

namespace stepcast::notation {

/// An empty line, then "Title  what stands beside it".
std::string explained_heading(const print::Paint& paint, const char* title, const char* beside);

std::string mapping_text(const dataflow::Explanation& mapping, const print::Paint& paint);

/// The keys "mapping" and "choices" of the open object.
void write_mapping(JsonWriter& json, const dataflow::Explanation& mapping);

}  // namespace stepcast::notation
