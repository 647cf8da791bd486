// What a trace holds, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "model/base/json_writer.h"
#include "studies/cli/console.h"
#include "studies/compare/traced/facts.h"

namespace stepcast::comparison {

/// One GPU's trace with its steps.
struct ReadTrace {
  RankTrace trace;
  FoundSteps steps;
};

/// "rank 3 of 8", "device 1 of FILE".
std::string rank_text(const RankTrace& trace);

std::string facts_text(const std::vector<ReadTrace>& traces, const Console& console);
/// Under the key "traces" of the open object.
void write_facts(JsonWriter& json, const std::vector<ReadTrace>& traces);

}  // namespace stepcast::comparison
