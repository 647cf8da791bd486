// Recipes in Python, as far as they are literal: functions of Megatron-Bridge that give a ConfigContainer, and scripts
// that take a recipe of NeMo 2 and change it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Of what such a function of Megatron-Bridge gives, arguments by the names of our tables. Errors: a recipe that starts
/// from a function that is not known here, or a network that it does not name.
Expected<void> open_bridge_recipe(Launch& launch, const std::string& function);

class DialectWords;
/// Puts the layers of stages where a function of the recipe's file makes them (bridge_layouts.cpp).
Expected<void> take_bridge_layout(DialectWords& words);

/// Does it take a recipe of NeMo 2, "llm.llama3_8b.pretrain_recipe(...)"?
bool is_nemo_script(std::string_view text);
/// The recipe with what the script sets of it; parameters of its function are as that has them unless `defined` says.
/// Errors: several recipes. What is set under a condition is not followed.
Expected<void> open_nemo_script(
    Launch& launch, std::string_view text, const std::map<std::string, std::string>& defined);

}  // namespace stepcast::launch
