// The axes of a sweep: rows of a table. An axis is a flag of `stepcast predict` that may take several values; its scenario key
// names it in space files, and its flag's own rule checks each value.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/stack.h"

namespace stepcast {

/// In the order of the index, outermost first: what the costly parts of a price depend on stands in front.
enum class AxisId : std::uint8_t {
  gpus, precision, tp, cp, cp_kind, pp, ep, etp, order, tp_tier, pp_tier, dp_tier, sp, scatter_boundary, save_gathered, tp_overlap,
  recompute, micro_batch, chunks, schedule, layout, zero, dp_replicate, dp_overlap,
  count_,
};
constexpr std::size_t axis_count = static_cast<std::size_t>(AxisId::count_);

/// What the defaults of an axis go by.
struct AxisContext {
  const NetworkSpec* network = nullptr;
  const Machine* machine = nullptr;
  std::int64_t most_gpus = 1;               ///< the largest of the sweep's GPU counts
  std::int64_t global_batch = 1, sequence = 1;
  const Stack* stack = nullptr;             ///< null: not known yet
};

struct AxisRow {
  AxisId id;
  std::string_view key;                     ///< in scenario and space files: "micro_batch"
  std::string_view flag;                    ///< "--micro-batch"; "" = space files only
  bool number = false;                      ///< values are whole numbers, so that ranges make sense
  /// A value that the flag has not: "auto", what predict takes where nobody says. For the schedule that is 1f1b, with chunks
  /// interleaved-1f1b; for sp on where the sequence divides by tp; else the stack's own way. "": none.
  std::string_view own_word = {};
  /// Values with commas inside (layouts) are parted by ";".
  bool commas = false;
  /// What a sweep tries where nobody says; one value = what predict takes. gpus alone has none: it must be said.
  std::vector<std::string> (*usual)(const AxisContext&) = nullptr;
  /// Every value that could ever be legal, for "all"; none: there is no such list.
  std::vector<std::string> (*all)(const AxisContext&) = nullptr;
  std::string_view doc = {};                ///< "tensor parallelism; default: powers of two inside a node"
};
/// tp_tier, pp_tier and dp_tier say where an axis lies, "node" or "cluster": those inside the node come first in the mesh order. They
/// stand in for `order` where a space wants what Calculon searches (network tiers per kind of parallelism).
std::span<const AxisRow> axis_rows();
const AxisRow& row_of(AxisId id);
const AxisRow* find_axis(std::string_view key_or_flag);

/// Values of one axis; longer lists are refused.
constexpr std::size_t most_axis_values = 10'000;

/// "8", "1,2,4,8", "1..8" (each), "1..64*2" (times 2), "all", or several joined by commas. Duplicates and empty lists are errors; each
/// value passes the flag's own check. Lists stay as written: the first value is the one that stands for an axis without effect.
Expected<std::vector<std::string>> read_axis_values(const AxisRow& row, const std::string& text, const std::string& where,
                                                    const AxisContext& context);
/// The same of a list whose items may be any of that: those of a space file.
Expected<std::vector<std::string>> read_axis_values(const AxisRow& row, std::span<const std::string> texts, const std::string& where,
                                                    const AxisContext& context);

}  // namespace stepcast
