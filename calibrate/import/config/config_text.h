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
#include "model/yaml/yaml.h"

namespace stepcast::calibrate {

enum class ConfigForm : std::uint8_t { json, yaml, toml };
/// By the first line that says something: '{' is JSON, "[section]" or "name = value" TOML, "name: value" YAML; nothing
/// where it is none of them.
std::optional<ConfigForm> config_form(std::string_view text);

/// The arguments of a file in their order, with the lines of their names. Keys that begin with an underscore are
/// comments, with all below them. Lists of maps have their index in the name ("callbacks.0.name"); lists of values are
/// one value; null stays "null". In YAML, ${name} stands for another value of the file, ${multiply:4, ${name}} for a
/// sum of such, and one that the file lacks is a variable that nothing sets. Values of `over` that the file has, too,
/// count instead of its own wherever it refers to them. Fails on a text that is no configuration and on one that is cut
/// off or malformed, with its line.
Expected<std::vector<GivenArgument>> read_config_arguments(
    std::string_view text, const std::string& where, std::span<const GivenArgument> over = {});

/// The same by name, without those that are null.
Expected<ArgumentMap> read_config(std::string_view text, const std::string& where);

/// Of a text in a form that is known; for those who cut it out of a log.
tl::expected<std::vector<GivenArgument>, TextError> config_arguments(
    const std::string& text, ConfigForm form, const std::string& where, std::span<const GivenArgument> over = {});
/// The last of each name; nulls are left out.
ArgumentMap argument_map(const std::vector<GivenArgument>& arguments);

/// Each argument takes the last value that `over` has of its name, where one refers to another.
void put_over(std::vector<GivenArgument>& arguments, std::span<const GivenArgument> over);

/// Puts in what ${name} stands for and notes what nothing sets. `known`: only these names are variables; empty: all
/// are.
void resolve_references(std::vector<GivenArgument>& arguments, std::span<const std::string> known = {});

/// A TOML text as the tree that YAML has: a table is a map, and strings in lists keep their quotes.
tl::expected<YamlNode, TextError> toml_tree(const std::string& text, const std::string& where);

/// Whether a line can stand in a YAML block: "name: value", "name:", "- item".
bool is_yaml_line(std::string_view line);

}  // namespace stepcast::calibrate
