// Scenario files: a whole run as JSON, read strictly.
//
//   { "network": "llama3-70b", "machine": "dgx-h100", "stack": "megatron-core", "profile": "...", "gpus": 512,
//     "tp": 8, "pp": 4, "micro_batch": 1, "global_batch": 1024, "sequence": 8192, "precision": "bf16" }
//
// A noun is a catalogue id or alias, or the whole object as its own file would hold it. Only the network is required;
// what else is absent gets the command line's default. Instead of the keys that split (tp, pp, ...) there may be
// "mapping": a list of lines of the notation.
#pragma once

#include <string>

#include "studies/run/request.h"
#include "studies/run/scenario.h"

namespace stepcast::run {

/// Whether a JSON text is a scenario: an object with a "network". Broken text is not; its reader then says what is
/// wrong.
bool is_scenario(const std::string& text);

/// `where` is the file's path.
Expected<Request> read_scenario(const std::string& text, const std::string& where);

/// The file that gives the same run and leaves nothing to assume.
std::string write_scenario(const Scenario& scenario);

}  // namespace stepcast::run
