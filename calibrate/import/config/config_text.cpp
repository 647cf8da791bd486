#include "calibrate/import/config/config_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// The values of a tree in their order, by their joined names.
class Flat {
 public:
  explicit Flat(ConfigForm form) : form_(form) {}

  void take_map(const YamlNode& map, const std::string& name, const std::string& spelled) {
    const std::string dot = name.empty() ? "" : ".";
    for (const YamlNode& value : map.entries)
      if (!value.key.starts_with('_') || says_what_is_built(value.key, name))
        take_value(value, name + dot + argument_name(value.key), spelled + dot + value.key, value.key_line);
  }
  [[nodiscard]] std::vector<GivenArgument> arguments() && { return std::move(out_); }

 private:
  /// torchtune's "_component_", and the function of a recipe (NVIDIA-NeMo/Nemotron: src/nemotron/recipes).
  static bool says_what_is_built(std::string_view key, std::string_view section) {
    return key == "_component_" || (key == "_target_" && section == "recipe");
  }
  void take_value(const YamlNode& node, const std::string& name, const std::string& spelled, int line) {
    if (node.kind == YamlNode::Kind::map) return take_map(node, name, spelled);
    if (node.kind == YamlNode::Kind::list) return take_list(node, name, spelled, line);
    out_.push_back(
        {name, spelled, node.kind == YamlNode::Kind::null ? "null" : scalar(node), static_cast<std::size_t>(line), {}});
  }

  /// DeepSpeed's files write a number of elements as 5e8.
  [[nodiscard]] std::string scalar(const YamlNode& node) const {
    if (form_ != ConfigForm::json || node.quoted || node.text.find_first_of("eE") == std::string::npos)
      return node.text;
    constexpr double most = 1e15;
    const auto value = finite_number(node.text, "", "");
    const bool whole =
        value && *value == static_cast<double>(static_cast<std::int64_t>(std::clamp(*value, -most, most)));
    return whole ? fmt::format("{}", static_cast<std::int64_t>(*value)) : node.text;
  }

  /// Items that are values stand in one value: "[1, 2]" as it was written, or joined by blanks where each has its line.
  void take_list(const YamlNode& list, const std::string& name, const std::string& spelled, int line) {
    std::string joined;
    for (std::size_t index = 0; index < list.items.size(); ++index) {
      const YamlNode& item = list.items[index];
      const std::size_t before = out_.size();
      const std::string indexed = fmt::format("{}.{}", name, index);
      take_value(item, indexed, fmt::format("{}.{}", spelled, index), item.position.line);
      if (out_.size() != before + 1 || out_.back().name != indexed) continue;
      joined += (joined.empty() ? "" : list.flow ? ", " : " ") + out_.back().value;
      out_.pop_back();
    }
    if (!joined.empty() || list.items.empty())
      out_.push_back({name, spelled, list.flow || joined.empty() ? "[" + joined + "]" : joined,
          static_cast<std::size_t>(line), {}});
  }

  ConfigForm form_;
  std::vector<GivenArgument> out_;
};

/// "\u00e9" stays as it is written: YAML has no pairs of them, which JSON has.
std::string with_escapes_kept(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size(); ++at) {
    out += json[at];
    if (json[at] != '\\' || at + 1 == json.size()) continue;
    if (json[at + 1] == 'u') out += '\\';
    out += json[++at];
  }
  return out;
}

/// The first line that is no comment; "" where the beginning of the text has none.
struct SayingLine {
  std::string_view text;
  std::size_t number = 1;
};
SayingLine first_saying(std::string_view text) {
  text = text.substr(0, 64 * 1024);
  std::size_t number = 1;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find_first_of("\r\n", at), text.size());
    const std::string_view plain = stripped(text.substr(at, end - at));
    if (!plain.empty() && plain[0] != '#' && plain != "---") return {plain, number};
    number += end < text.size() && text[end] == '\n' ? 1 : 0;
  }
  return {};
}

/// The first argument of each name.
using ArgumentPlaces = std::map<std::string, std::size_t, std::less<>>;

ArgumentPlaces places_of(const std::vector<GivenArgument>& arguments) {
  ArgumentPlaces places;
  for (std::size_t i = 0; i < arguments.size(); ++i) places.emplace(arguments[i].name, i);
  return places;
}

const GivenArgument* referred(const std::vector<GivenArgument>& arguments, const ArgumentPlaces& places,
    const std::string& from, std::string_view reference) {
  std::string name(reference);
  // ${.name}: beside the value that asks; another dot goes one level up.
  std::string scope = from;
  for (std::size_t dots = 0; name.starts_with('.') && dots < 16; ++dots) {
    name.erase(0, 1);
    scope.resize(scope.rfind('.') == scope.npos ? 0 : scope.rfind('.'));
  }
  if (reference.starts_with('.') && !scope.empty()) name = scope + "." + name;
  const auto place = places.find(argument_name(name));
  return place == places.end() ? nullptr : &arguments[place->second];
}

/// Sums that NeMo's and its launcher's configurations write (register_new_resolver in their scripts): "multiply:4, 8".
/// Nothing where the name is no such sum, or its terms are no numbers.
std::optional<std::string> resolved_sum(std::string_view name) {
  const struct {
    std::string_view word;
    double (*of)(double, double);
  } sums[] = {{"multiply", [](double a, double b) { return a * b; }}, {"add", [](double a, double b) { return a + b; }},
      {"divide_ceil", [](double a, double b) { return std::ceil(a / b); }},
      {"divide_floor", [](double a, double b) { return std::floor(a / b); }}};
  const std::size_t colon = name.find(':'), comma = name.find(',', std::min(colon, name.size()));
  if (colon == name.npos || comma == name.npos) return std::nullopt;
  const auto a = finite_number(stripped(name.substr(colon + 1, comma - colon - 1)), "", ""),
             b = finite_number(stripped(name.substr(comma + 1)), "", "");
  for (const auto& [word, of] : sums)
    if (a && b && stripped(name.substr(0, colon)) == word)
      if (const double sum = of(*a, *b); std::isfinite(sum)) return fmt::format("{}", sum);
  return std::nullopt;
}

}  // namespace

bool is_yaml_line(std::string_view line) {
  const std::string_view plain = stripped(line);
  if (plain == "-" || plain.starts_with("- ")) return true;
  const std::string_view name = plain.substr(0, plain.find(':')), rest = plain.substr(name.size());
  return !name.empty() && std::all_of(name.begin(), name.end(), is_argument_letter) &&
         (rest == ":" || rest.starts_with(": "));
}

std::optional<ConfigForm> config_form(std::string_view text) {
  const std::string_view plain = first_saying(text).text;
  if (plain.empty()) return std::nullopt;
  if (plain[0] == '{') return ConfigForm::json;
  const std::size_t colon = plain.find(": "), equals = plain.find('=');
  const bool named = is_yaml_line(plain) || plain.ends_with(':') || colon < equals;
  if (plain[0] == '[' || (equals != plain.npos && !named)) return ConfigForm::toml;
  return named ? std::optional(ConfigForm::yaml) : std::nullopt;
}

void put_over(std::vector<GivenArgument>& arguments, std::span<const GivenArgument> over) {
  const auto refers = [](const GivenArgument& given) { return given.value.find("${") != std::string::npos; };
  if (std::none_of(arguments.begin(), arguments.end(), refers)) return;
  for (GivenArgument& argument : arguments)
    for (const GivenArgument& other : over)
      if (other.name == argument.name) argument.value = other.value, argument.unset = other.unset;
}

tl::expected<std::vector<GivenArgument>, TextError> config_arguments(
    const std::string& text, ConfigForm form, const std::string& where, std::span<const GivenArgument> over) {
  Flat flat(form);
  if (form == ConfigForm::toml) {
    TRY(const auto tree, toml_tree(text, where));
    flat.take_map(tree, "", "");
  } else {
    TRY(const auto documents, read_yaml(form == ConfigForm::json ? with_escapes_kept(text) : text, where));
    for (const YamlNode& document : documents) {
      if (document.kind != YamlNode::Kind::map && document.kind != YamlNode::Kind::null)
        return tl::unexpected(TextError{document.position, "no names with values", "name: value"});
      flat.take_map(document, "", "");
    }
  }
  std::vector<GivenArgument> arguments = std::move(flat).arguments();
  // toml++ sorts the names of a table.
  if (form == ConfigForm::toml)
    std::stable_sort(arguments.begin(), arguments.end(),
        [](const GivenArgument& a, const GivenArgument& b) { return a.line < b.line; });
  if (form == ConfigForm::yaml) {
    put_over(arguments, over);
    resolve_references(arguments);
  }
  return arguments;
}

Expected<std::vector<GivenArgument>> read_config_arguments(
    std::string_view text, const std::string& where, std::span<const GivenArgument> over) {
  constexpr std::size_t most = 4 * 1024 * 1024;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (text.size() > most)
    return fail(where, fmt::format("{} bytes", text.size()), fmt::format("a configuration has at most {}", most));
  auto form = config_form(text);
  // GPT-NeoX's YAML is one map in braces, with comments in it
  if (form == ConfigForm::json && (where.ends_with(".yml") || where.ends_with(".yaml"))) form = ConfigForm::yaml;
  if (!form) {
    const SayingLine first = first_saying(text);
    const char* hint = "JSON, TOML, YAML, or a script with the launch command";
    if (first.text.empty())
      return fail(where, stripped(text).empty() ? "the file is empty" : "nothing but comments", hint);
    return fail(
        fmt::format("{}:{}", where, first.number), fmt::format("'{:.60}' is no configuration", first.text), hint);
  }
  if (*form == ConfigForm::json) {  // YAML would take more than JSON does
    JsonObject object(text, where);
    object.allow_unknown_keys();
    if (auto error = object.first_error()) return tl::unexpected(std::move(*error));
  }
  auto arguments = config_arguments(std::string(text), *form, where, over);
  if (!arguments) return tl::unexpected(arguments.error().error());
  return std::move(*arguments);
}

ArgumentMap argument_map(const std::vector<GivenArgument>& arguments) {
  ArgumentMap out;
  for (const GivenArgument& argument : arguments)
    if (argument.value != "null") out[argument.name] = argument.value;
  return out;
}

Expected<ArgumentMap> read_config(std::string_view text, const std::string& where) {
  TRY(const auto arguments, read_config_arguments(text, where));
  return argument_map(arguments);
}

void resolve_references(std::vector<GivenArgument>& arguments, std::span<const std::string> known) {
  constexpr int most_steps = 32;
  constexpr std::size_t longest = 64 * 1024, most_put_in = 16 * 1024 * 1024;
  const ArgumentPlaces places = known.empty() ? places_of(arguments) : ArgumentPlaces{};
  std::size_t put_in = 0;
  for (GivenArgument& argument : arguments) {
    std::size_t at = 0;
    for (int steps = 0; steps < most_steps; ++steps) {
      // the innermost first, as in ${multiply:4, ${.hidden_size}}
      const std::size_t from = argument.value.find("${", at), close = argument.value.find('}', from);
      if (from == std::string::npos || close == std::string::npos) break;
      const std::size_t open = argument.value.rfind("${", close);
      const std::string name = argument.value.substr(open + 2, close - open - 2);
      const bool variable = known.empty() || std::find(known.begin(), known.end(), name) != known.end();
      const GivenArgument* other = known.empty() ? referred(arguments, places, argument.name, name) : nullptr;
      if (other != nullptr && other != &argument && other->value.size() + argument.value.size() < longest &&
          put_in + other->value.size() < most_put_in) {
        put_in += other->value.size();
        argument.value.replace(open, close + 1 - open, std::string(other->value));
        continue;
      }
      if (const auto number = known.empty() ? resolved_sum(name) : std::nullopt) {
        argument.value.replace(open, close + 1 - open, *number);
        continue;
      }
      if (variable && std::find(argument.unset.begin(), argument.unset.end(), name) == argument.unset.end())
        argument.unset.push_back(name);
      at = close + 1;
    }
    if (argument.value.find("${", at) != std::string::npos && argument.unset.empty() && known.empty())
      argument.unset.push_back(argument.value.substr(0, 40));
  }
}

}  // namespace stepcast::calibrate
