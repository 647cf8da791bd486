// Configurations that are Python functions, as torchtitan has them since March 2026, and Megatron-Bridge's recipes:
// what is literal of one is read, and nothing is run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_arguments.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Has it a function that gives a Trainer.Config, or a ConfigContainer?
bool is_python_config(std::string_view text);
/// The functions that give one, in their order.
std::vector<std::string> python_config_functions(std::string_view text);

/// The arguments of one of them: keywords of nested calls by their joined names ("training.steps"), and ".class" where
/// a call chooses one ("activation_checkpoint.class"); what a call is asked of is its "of" ("model.of.0"), a function
/// of another file that all starts from is "config_base", and one that is handed the configuration is an argument of
/// its own name. What is computed is a value that hangs on its own text, and so is what a condition decides that hangs
/// on what is not known. Parameters are as `defined` says, else as the function has them: "config_parameter.NAME".
/// Errors: no such function; a statement whose effect is not known, with its line.
Expected<std::vector<GivenArgument>> read_python_config(std::string_view text, const std::string& where,
    const std::string& function, const std::map<std::string, std::string>& defined = {});

}  // namespace stepcast::calibrate
