// Recipes in Python, as far as they are literal: functions of Megatron-Bridge that give a ConfigContainer, and scripts
// that take a recipe of NeMo 2 and change it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Of what such a function of Megatron-Bridge gives, arguments by the names of our tables. Errors: a recipe that starts
/// from a function that is not known here, or a network that it does not name.
/// `overrides`: words behind the recipe, which come later.
Expected<void> open_bridge_recipe(
    Launch& launch, const std::string& function, const std::vector<GivenArgument>& overrides);

class DialectWords;
/// Puts the layers of stages where the recipe's last word on them is a function of its file (bridge_layouts.cpp).
/// Errors: such a call for other stages than the recipe's, or with arguments that are not read.
Expected<void> take_bridge_layout(DialectWords& words, const std::vector<GivenArgument>& overrides);

/// Does it take a recipe of NeMo 2, "llm.llama3_8b.pretrain_recipe(...)"?
bool is_nemo_script(std::string_view text);
/// The recipe with what the script sets of it; parameters of its function are as that has them unless `defined` says.
/// Errors: several recipes. What is set under a condition is not followed.
Expected<void> open_nemo_script(
    Launch& launch, std::string_view text, const std::map<std::string, std::string>& defined);

}  // namespace stepcast::launch
