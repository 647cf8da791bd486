// Writes again, as it was, what a launch says beside the step: paths, logging, learning rates.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "studies/launch/emit/emit_text.h"

namespace stepcast::launch {

/// Arguments of the launch that no question asks for, and its tokenizer, less those of `written` (names with
/// underscores). Values are shell words; variables that the launch did not set stand in double quotes.
EmittedGroup carried_arguments(const Launch& like, const std::set<std::string>& written);
/// Those among them that are left out, each with why: today's release does not know it, or it had no value.
std::vector<std::string> not_carried(const Launch& like, const std::set<std::string>& written);
/// "$DATA": what the rows need from outside, as the launch did.
std::set<std::string> variables_of(const Launch& like, const EmittedGroup& carried);
/// Settings of CUDA, NCCL, PyTorch and the like.
std::vector<EmittedArgument> carried_environment(const Launch& like);
/// Why Megatron-LM does not train the plan with the optimizer that the launch names; "" where it does.
std::string kept_optimizer_gap(const EmitPlan& plan, const Launch* like);
/// Was any of the names given, with a value where it takes one?
bool gives_any(const Launch* like, std::initializer_list<std::string_view> names);

}  // namespace stepcast::launch
