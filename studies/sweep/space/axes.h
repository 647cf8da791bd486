// The axes of a sweep: fields of a run (run/fields.h) that may take several values. The scenario key names an axis in
// space files, and the field's own rule checks each value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/run/fields.h"

namespace stepcast::sweep {

using AxisId = FieldId;
using AxisRow = RunField;

/// tp_tier, pp_tier and dp_tier say where an axis lies, "node" or "cluster": those inside the node come first in the
/// mesh order. They stand in for `order` where a space wants what Calculon searches (network tiers per kind of
/// parallelism). In the order of the index.
std::span<const AxisRow> axis_rows();
const AxisRow& row_of(AxisId id);
const AxisRow* find_axis(std::string_view key_or_flag);

/// Values of one axis; longer lists are refused.
constexpr std::size_t most_axis_values = 10'000;

/// "8", "1,2,4,8", "1..8" (each), "1..64*2" (times 2), "all", or several joined by commas. Duplicates and empty lists
/// are errors; each value passes the flag's own check. Lists stay as written: the first value is the one that stands
/// for an axis without effect.
Expected<std::vector<std::string>> read_axis_values(
    const AxisRow& row, const std::string& text, const std::string& where, const AxisContext& context);
/// The same of a list whose items may be any of that: those of a space file.
Expected<std::vector<std::string>> read_axis_values(
    const AxisRow& row, std::span<const std::string> texts, const std::string& where, const AxisContext& context);

}  // namespace stepcast::sweep
