// Starts the cases of a gate by their command templates, one run after another, each with its output and a manifest.
//
// A template is a command for the shell in which {case}, {repeat}, {seed}, {gpus}, {output}, {manifest} and {folder}
// (of the gate's file) are replaced. Where it does not name {output}, what it prints becomes the output. Where it names
// {manifest}, the job itself writes it there, on its node (`stepcast gate manifest FILE > {manifest}`).
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/console.h"
#include "studies/gate/gate_file.h"
#include "studies/gate/manifest.h"

namespace stepcast::gate {

struct StartedRuns {
  std::size_t made = 0, kept = 0;   ///< kept: there from before
  std::vector<std::string> failed;  ///< in words, with the output's name
};

/// Runs what is missing up to `repeats` of each case, or with `more` so many beyond what is there. `only`: a case; "" =
/// all that have a command. Errors: a template with an unknown name in braces, no case with a command, a folder that
/// cannot be made. A command that ends with an error leaves no result; its output is kept as NN.failed.
Expected<StartedRuns> run_cases(
    const GateFile& file, const std::string& only, std::size_t more, const ManifestSources& sources, Console& console);

/// The template with names in braces replaced; "{{" is a brace. Error: an unknown name.
Expected<std::string> filled_template(
    const std::string& text, const std::vector<std::pair<std::string, std::string>>& values, const std::string& where);

}  // namespace stepcast::gate
