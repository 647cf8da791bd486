// The answers of stepcast whatif: a tornado of levers, what each does to time, throughput, memory and phases, which do
// nothing and why, and which neighbours cannot run. JSON holds the same in base units.
#pragma once

#include <string>

#include "model/base/json_writer.h"
#include "studies/cli/console.h"
#include "studies/whatif/sensitivity.h"
#include "studies/whatif/whatif_change.h"

namespace stepcast::whatif {

/// The first `top` levers that act, and all whose change decides whether the run fits in memory.
std::string whatif_text(const Sensitivity& study, std::size_t top, const Console& console);
std::string whatif_json(const Sensitivity& study, std::size_t top);

std::string change_text(const ChangeEffect& effect, const Console& console);
std::string change_json(const ChangeEffect& effect);
/// The object "phases_s" in the open one.
void write_phases(JsonWriter& json, const Phases& phases);

/// The levers of a study that reports show, see whatif_text.
std::vector<const LeverEffect*> shown_levers(const Sensitivity& study, std::size_t top);

/// "Llama 3 70B on 512 x H100 SXM (DGX H100); tp 8, ...; 64 x 16 sequences of 8192 per step; bf16", wrapped. `nodes`
/// stands behind the machine: ", 64 nodes".
std::string run_title(const Scenario& scenario, const Console& console, const std::string& nodes = "");
/// "2.31 s (2.20 to 2.45), 1,234 tokens/s/GPU, 61.2 GiB of 80.0 GiB".
std::string outcome_words(const Outcome& outcome);
/// "-3.1 %", "+0.02 %"; "0 %" below that.
std::string signed_percent(double change);

}  // namespace stepcast::whatif
