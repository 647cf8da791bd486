// Finds the command line that starts a training, and separates what the launcher is told (how many GPUs) from what the
// program is told. The command comes from a shell script (variables, arrays, continued lines) or from a log that shows
// it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_line.h"
#include "calibrate/import/scripts/launch_words.h"
#include "calibrate/import/shell/sourced_text.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Launchers known: torchrun, torch.distributed.run and .launch, deepspeed, srun (with #SBATCH), mpirun, accelerate,
/// composer, jsrun, python, torchtitan's run_train.sh (NGPU=), nemo. Commands that run no Python program with arguments
/// are passed over; where `sourced` looks for scripts, one that runs a script that is not at hand stays (`script`).
/// `defined`: variables of whoever reads, "1" for the first argument of the script; what the script sets itself goes
/// over them. `empty`: names of variables that conditions take for empty where nothing sets them. Fails where a command
/// is cut off inside a quote.
Expected<std::vector<LaunchLine>> find_launches(std::string_view text, const std::string& where,
    const ArgumentMap& defined = {}, const SourcedText& sourced = {}, const std::set<std::string>* empty = nullptr);

/// Arguments behind --: words as they are, no shell. The launcher may stand in front of them, or only the program's
/// arguments.
LaunchLine launch_of_words(const std::vector<std::string>& words);

}  // namespace stepcast::calibrate
