#include "studies/launch/emit/nested_settings.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "studies/launch/emit/emit_text.h"

namespace stepcast::launch {
namespace {

std::string first_part(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

/// Names below one section, without it.
std::vector<NestedSetting> settings_below(const std::vector<NestedSetting>& settings, const std::string& section) {
  std::vector<NestedSetting> below;
  for (const NestedSetting& setting : settings)
    if (setting.name.starts_with(section + "."))
      below.push_back({setting.name.substr(section.size() + 1), setting.value});
  return below;
}

std::string nested_object(const std::vector<NestedSetting>& settings, std::size_t depth) {
  const std::string indent(2 * (depth + 1), ' ');
  std::set<std::string> done;
  std::string text;
  for (const NestedSetting& setting : settings) {
    const std::string part = first_part(setting.name);
    if (!done.insert(part).second) continue;
    const std::string value =
        part == setting.name ? setting.value : nested_object(settings_below(settings, part), depth + 1);
    text += fmt::format("{}{}{}: {}", text.empty() ? "\n" : ",\n", indent, json_quoted(part), value);
  }
  return fmt::format("{{{}\n{}}}", text, std::string(2 * depth, ' '));
}

bool is_json(std::string_view text) {
  const JsonObject probe(fmt::format("{{\"value\": {}}}", text), "");
  return !probe.failed() && probe.keys().size() == 1;
}

std::string quoted_items(std::string_view list) {
  std::string text;
  for (std::string_view rest = list.substr(1, list.size() - 2); !rest.empty();) {
    const std::size_t comma = rest.find(", ");
    const std::string_view item = rest.substr(0, comma);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", is_json(item) ? std::string(item) : json_quoted(item));
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 2);
  }
  return "[" + text + "]";
}

/// "layer_specs.0.patterns": a value inside a list of objects.
bool stands_in_list(std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
    if (dot + 1 < name.size() && std::isdigit(static_cast<unsigned char>(name[dot + 1])) != 0) return true;
  return false;
}

/// The optimizer stays what it was, and where it was; a plan says nothing about which class of layers FSDP gathers at
/// once.
bool stays_with_the_file(const ArgumentFact& fact) {
  return fact.asks == Asked::optimizer_name || (fact.asks && is_beside_plan(*fact.asks)) ||
         fact.name.ends_with("transformer_layer_cls_to_wrap");
}

bool is_beside_step(const ArgumentFact* fact) {
  return fact == nullptr || stays_with_the_file(*fact) || (!fact->asks && fact->reach != Reach::step);
}

}  // namespace

std::string nested_json(const std::vector<NestedSetting>& settings) { return nested_object(settings, 0) + "\n"; }

std::string json_literal(std::string_view plain) {
  const bool list = plain.size() > 1 && plain.front() == '[' && plain.back() == ']';
  if (is_json(plain)) return std::string(plain);
  return list ? quoted_items(plain) : json_quoted(plain);
}

std::vector<NestedSetting> carried_settings(
    const Launch* like, std::string_view framework, const std::set<std::string>& written) {
  std::vector<NestedSetting> settings;
  if (launch_of(like, framework) == nullptr) return settings;
  for (const GivenArgument& given : like->arguments) {
    const ArgumentFact* fact = like->framework->table().find(given.name);
    if (given.spelled.starts_with("-") || stands_in_list(given.name) || !given.unset.empty() ||
        written.contains(given.name))
      continue;
    constexpr std::size_t longest = 200;  // each dot is a level of the file
    if (given.spelled.size() > longest || !is_beside_step(fact) || !like->counts(given)) continue;
    const bool followed =
        fact == nullptr || (fact->reach != Reach::uncovered && !(fact->asks && is_beside_plan(*fact->asks)));
    settings.push_back({given.spelled, json_literal(given.value), followed});
  }
  return settings;
}

}  // namespace stepcast::launch
