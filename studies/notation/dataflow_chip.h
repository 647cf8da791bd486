// One operator on an architecture for reading: its nest in a line, counts per level and tensor, time, energy, what
// stays.
#pragma once

#include <string>

#include "dataflow/chip/account/account.h"
#include "dataflow/chip/chip.h"
#include "dataflow/chip/count/count.h"
#include "model/base/error.h"
#include "model/base/json_writer.h"

namespace stepcast::notation {

struct ChipReport {
  ChipProgram chip;
  Counts counts;
  ChipAccount account;
};

/// Counted and accounted. Errors: more loops, levels or multiply-adds than can be counted.
Expected<ChipReport> chip_report(ChipProgram chip, Windows windows = Windows::exact);

/// "glb[I W O] n:8 k:4 m:128 - pe[W] k:16@x n:16@y", after the mapper lines of Timeloop (Parashar et al., ISPASS 2019).
std::string nest_line(const ChipProgram& chip);

std::string chip_text(const ChipReport& report);

/// A count as an integer where it is whole.
void count_field(JsonWriter& json, std::string_view key, double value);

// Into the open object of the operator.
void chip_head_json(JsonWriter& json, const ChipReport& report);  ///< operator, dims, levels, cycles, energy, ...
void chip_collectives_json(JsonWriter& json, const ChipReport& report);  ///< items of an open list
void chip_placements_json(JsonWriter& json, const ChipReport& report);   ///< items of an open list
void chip_stationary_json(JsonWriter& json, const ChipReport& report);   ///< items of an open list

}  // namespace stepcast::notation
