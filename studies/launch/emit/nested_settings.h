// Writes settings with dotted names as nested JSON, and repeats those of a launch as they were.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/read/launch.h"

namespace stepcast::launch {

struct NestedSetting {
  std::string name;      ///< "zero_optimization.stage"
  std::string value;     ///< as JSON has it: "2", "true", "\"AdamW\"", "[0.9, 0.95]"
  bool followed = true;  ///< false: it changes the step, and no forecast follows it
};

/// One object; sections stand where their first setting does. Names are there once, and none is a section of another.
std::string nested_json(const std::vector<NestedSetting>& settings);

/// Writes a word as JSON: numbers, booleans, null and lists as they are, all else and items that are no JSON in quotes.
std::string json_literal(std::string_view plain);

/// What the launch's file says beside the step, in its order and spelling, less `written`: what answers no question,
/// and of what does the optimizer and the class of layers that FSDP gathers at once. Words of a command line and lists
/// of objects are left out. Nothing where the launch is none of this framework.
std::vector<NestedSetting> carried_settings(
    const Launch* like, std::string_view framework, const std::set<std::string>& written);

}  // namespace stepcast::launch
