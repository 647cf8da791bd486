// Opens launches in Python, as far as they are literal: configurations of torchtitan, recipes of Megatron-Bridge and
// scripts around those of NeMo 2.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Is it Python that open_python_launch reads?
bool is_python_launch(const std::string& text);

/// Its arguments, as they stand there, and parameters of its functions as `defined`; of the `words` behind -- those are
/// taken out that choose one of its functions. Error: several functions and none chosen, or what its own reader does
/// not follow.
Expected<Launch> open_python_launch(const std::string& text, const std::string& where, std::vector<std::string>& words,
    const std::map<std::string, std::string>& defined);

/// The arguments that one function of torchtitan's config_registry.py sets, and what they have been read with as notes.
/// Error: no such function, or what its reader does not follow.
Expected<Launch> open_torchtitan_function(const std::string& text, const std::string& where,
    const std::string& function, const std::map<std::string, std::string>& defined);

}  // namespace stepcast::launch
