// Configuration files of training programs as flat arguments: TOML (torchtitan), YAML (NeMo, Megatron-Bridge) and JSON
// (DeepSpeed). Nested names are joined by dots: "zero_optimization.stage", "parallelism.tensor_parallel_degree".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_arguments.h"

namespace stepcast {

/// A line of a log or file, without what terminals, torchrun and srun put around it.
struct LogLine {
  std::size_t number = 0;  ///< in the file, from 1
  std::string text;
};

/// Reads a whole file, told by its first sign: '{' is JSON, "[section]" or "name = value" TOML, "name: value" YAML.
/// Fails on a text that is none of them and on one that is cut off or malformed, with its line.
Expected<ArgumentMap> read_config(std::string_view text, const std::string& where);

enum class ConfigForm : std::uint8_t { json, yaml, toml };
/// Tells the form by the first line that says something; returns nothing where it is none of them.
std::optional<ConfigForm> config_form(std::string_view text);

/// The same as arguments in their order, with the lines of their names. Keys that begin with an underscore are
/// comments, with all below them. Lists of maps have their index in the name ("callbacks.0.name"); lists of values are
/// one value; null stays "null". YAML is read whole: anchors, merge keys, flow maps, strings of several lines; ${name}
/// stands for another value of the file, and one that the file lacks is a variable that nothing sets.
Expected<std::vector<GivenArgument>> read_config_arguments(std::string_view text, const std::string& where);

Expected<std::vector<GivenArgument>> json_arguments(std::string_view text, const std::string& where);
Expected<std::vector<GivenArgument>> toml_arguments(std::span<const LogLine> lines, const std::string& where);
Expected<std::vector<GivenArgument>> yaml_arguments(std::string_view text, const std::string& where);
/// Puts in what ${name} stands for and notes what nothing sets. `known`: only these names are variables; empty: all
/// are.
void resolve_references(std::vector<GivenArgument>& arguments, std::span<const std::string> known = {});

/// Tables and values; lists keep their text ("[\"model\", \"loss\"]"). Fails with the line on anything else.
Expected<ArgumentMap> read_toml(std::span<const LogLine> lines, const std::string& where);

/// Nested maps of scalars by indentation, as OmegaConf and PyYAML write them. Lists of scalars keep their text; what
/// stands in lists of maps is left out. Fails with the line on anything else.
Expected<ArgumentMap> read_yaml(std::span<const LogLine> lines, const std::string& where);

/// Whether a line can stand in a YAML block: "name: value", "name:", "- item".
bool is_yaml_line(std::string_view line);

Expected<ArgumentMap> read_json_arguments(std::string_view text, const std::string& where);

}  // namespace stepcast
