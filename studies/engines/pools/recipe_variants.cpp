#include "studies/engines/pools/recipe_variants.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/scripts/launch_arguments.h"
#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/yaml/yaml.h"

namespace stepcast::engines {
namespace {

constexpr std::string_view base = "base", plain = "override_", zipped = "zip_override_";

std::string_view first_name(std::string_view name) { return name.substr(0, name.find('.')); }

bool is_variant(std::string_view name) { return name == base || name.starts_with(plain) || name.starts_with(zipped); }

/// Of a section those below it, without its name.
std::vector<GivenArgument> section_of(const std::vector<GivenArgument>& all, std::string_view section) {
  std::vector<GivenArgument> out;
  for (const GivenArgument& one : all) {
    if (first_name(one.name) != section || one.name.size() == section.size()) continue;
    out.push_back(one);
    out.back().name.erase(0, section.size() + 1);
  }
  return out;
}

/// "[4, [8]]" of a list that was written so, or with each item in a line of its own; nullopt: an item is a map.
std::optional<std::string> flow_text(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::map) return std::nullopt;
  if (node.kind == YamlNode::Kind::null) return "null";
  if (node.kind == YamlNode::Kind::scalar) {
    const bool parted = node.text.find_first_of(",[]{}\"'") != std::string::npos;
    const char* quote = !parted ? "" : node.text.find('"') == std::string::npos ? "\"" : "'";
    return quote + node.text + quote;
  }
  std::string items;
  for (const YamlNode& item : node.items) {
    const auto text = flow_text(item);
    if (!text) return std::nullopt;
    items += (items.empty() ? "" : ", ") + *text;
  }
  return "[" + items + "]";
}

/// Keeps items apart that stand in lines of their own, which arguments join by blanks.
void part_items(const YamlNode& node, const std::string& name, std::vector<GivenArgument>& all) {
  for (const YamlNode& entry : node.entries) part_items(entry, name + "." + calibrate::argument_name(entry.key), all);
  if (node.kind != YamlNode::Kind::list || node.flow) return;
  const auto joined = std::ranges::find(all, name, &GivenArgument::name);
  if (const auto text = flow_text(node); text && joined != all.end()) joined->value = *text;
}

/// A list of a zip whose items are maps: an argument is NAME.0.KEY.
struct MapList {
  std::string name;
  std::size_t size = 0;
  std::size_t line = 0;

  /// "NAME.2." of the third item.
  [[nodiscard]] std::string item(std::size_t which) const { return fmt::format("{}.{}.", name, which); }
};

/// What stands inside of an item is that item's own, lists too.
Expected<void> find_map_lists(
    const YamlNode& node, const std::string& name, const std::string& where, std::vector<MapList>& found) {
  for (const YamlNode& entry : node.entries)
    TRY(find_map_lists(entry, name + "." + calibrate::argument_name(entry.key), where, found));
  const auto maps = static_cast<std::size_t>(std::ranges::count(node.items, YamlNode::Kind::map, &YamlNode::kind));
  if (maps == 0) return {};
  if (maps != node.items.size())
    return fail(fmt::format("{}:{} {}", where, node.key_line, name), "a list of maps and of other values",
        "items that are all maps, or none");
  found.push_back({name, maps, static_cast<std::size_t>(node.key_line)});
  return {};
}

/// Of all lists of zips. A text that is no YAML has none in lines.
Expected<std::vector<MapList>> part_zipped_items(
    const std::string& text, const std::string& where, std::vector<GivenArgument>& all) {
  std::vector<MapList> lists;
  const auto documents = read_yaml(text, where);
  if (!documents) return lists;
  for (const YamlNode& document : *documents)
    for (const YamlNode& section : document.entries) {
      const std::string name = calibrate::argument_name(section.key);
      if (!name.starts_with(zipped)) continue;
      part_items(section, name, all);
      TRY(find_map_lists(section, name, where, lists));
    }
  calibrate::resolve_references(all);
  return lists;
}

const MapList* list_around(const std::vector<MapList>& lists, const std::string& name) {
  const auto found = std::ranges::find_if(lists, [&](const MapList& l) { return name.starts_with(l.name + "."); });
  return found == lists.end() ? nullptr : &*found;
}

/// "[4, 8]" has two, and "[[4, 8], [4]]" too; nothing of another value.
std::optional<std::vector<std::string>> elements_of(std::string_view value) {
  value = stripped(value);
  std::vector<std::string> out;
  if (!value.starts_with('[') || !value.ends_with(']')) return std::nullopt;
  int depth = 0;
  char quote = '\0';
  std::string element;
  for (const char c : value.substr(1, value.size() - 2)) {
    if (quote != '\0') quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'') quote = c;
    else if (c == '[' || c == '{') ++depth;
    else if (c == ']' || c == '}') --depth;
    if (c != ',' || depth > 0 || quote != '\0') element += c;
    else out.emplace_back(stripped(element)), element.clear();
  }
  if (!stripped(element).empty() || !out.empty()) out.emplace_back(stripped(element));
  return out;
}

std::string unquoted(std::string text) {
  const bool quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.front() == text.back();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// Recipes that a zip makes: as many as its lists are long; a list of one serves for all.
Expected<std::size_t> count_of(const std::vector<GivenArgument>& all, std::string_view section,
    const std::vector<MapList>& lists, const std::string& where) {
  std::vector<MapList> zips;
  for (const GivenArgument& one : all)
    if (const auto elements = elements_of(one.value); first_name(one.name) == section && elements)
      if (list_around(lists, one.name) == nullptr) zips.push_back({one.name, elements->size(), one.line});
  for (const MapList& list : lists)
    if (first_name(list.name) == section) zips.push_back(list);
  std::size_t count = 1;
  for (const MapList& zip : zips) {
    if (zip.size <= 1) continue;
    if (count > 1 && zip.size != count)
      return fail(fmt::format("{}:{} {}", where, zip.line, zip.name),
          fmt::format("a list of {} beside lists of {}", zip.size, count), "lists of one length, or of one");
    count = zip.size;
  }
  return count;
}

/// Maps are merged, all else is replaced, and null takes a key away.
void merge(std::vector<GivenArgument>& into, const std::vector<GivenArgument>& over) {
  for (const GivenArgument& one : over) {
    std::erase_if(into, [&](const GivenArgument& old) {
      return old.name == one.name || old.name.starts_with(one.name + ".") || one.name.starts_with(old.name + ".");
    });
    if (one.value != "null") into.push_back(one);
  }
}

/// "override_NAME" and "zip_override_NAME[2]", in their order.
Expected<std::vector<std::string>> variants_of(
    const std::vector<GivenArgument>& all, const std::vector<MapList>& lists, const std::string& where) {
  std::vector<std::string> sections, names;
  for (const GivenArgument& one : all)
    if (const std::string name(first_name(one.name)); name != base && is_variant(name) && !contains(sections, name))
      sections.push_back(name);
  for (const std::string& name : sections) {
    if (!name.starts_with(zipped)) {
      names.push_back(name);
      continue;
    }
    TRY(const std::size_t count, count_of(all, name, lists, where));
    for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}[{}]", name, i));
  }
  return names;
}

/// The recipe of this number. Of a list of maps one item stands in the list's place, as it is.
std::vector<GivenArgument> taken(
    const std::vector<GivenArgument>& all, const std::vector<MapList>& lists, std::size_t which) {
  std::vector<GivenArgument> out;
  for (GivenArgument one : all) {
    if (const MapList* const list = list_around(lists, one.name)) {
      const std::string item = list->item(list->size == 1 ? 0 : which);
      if (!one.name.starts_with(item)) continue;
      one.name.replace(0, item.size(), list->name + ".");
    } else if (const auto elements = elements_of(one.value); elements && !elements->empty()) {
      one.value = unquoted((*elements)[elements->size() == 1 ? 0 : which]);
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<GivenArgument> without_variants(std::vector<GivenArgument> all) {
  for (GivenArgument& one : all)
    if (const std::size_t dot = one.name.find('.'); dot != one.name.npos && is_variant(first_name(one.name)))
      one.name.erase(0, dot + 1);
  return all;
}

Expected<std::vector<GivenArgument>> recipe_arguments(
    const std::string& text, const std::string& where, std::string_view variant) {
  TRY(auto all, calibrate::read_config_arguments(text, where));
  const bool shared = std::ranges::any_of(all, [](const GivenArgument& one) { return first_name(one.name) == base; });
  if (!shared) {
    if (variant.empty()) return all;
    return fail(where, fmt::format("'{:.60}' names one of several recipes, and it holds one", variant),
        fmt::format("--launch {}", where));
  }
  TRY(const auto lists, part_zipped_items(text, where, all));
  TRY(const auto names, variants_of(all, lists, where));
  std::string chosen(variant);
  if (chosen.empty() && names.size() == 1) chosen = names.front();
  if (chosen != base && contains(names, chosen + "[0]") && !contains(names, chosen + "[1]")) chosen += "[0]";
  if (chosen != base && !contains(names, chosen))
    return fail(where,
        chosen.empty() ? fmt::format("{} recipes share its base", names.size())
                       : fmt::format("it has no recipe '{:.60}'", chosen),
        fmt::format("--launch {}:NAME, of base, {}", where, fmt::join(names, ", ")));
  std::vector<GivenArgument> merged = section_of(all, base);
  if (chosen == base) return merged;
  if (!chosen.starts_with(zipped)) {
    merge(merged, section_of(all, chosen));
    return merged;
  }
  const std::size_t bracket = chosen.find('[');
  const auto which = parsed_number<std::size_t>(chosen.substr(bracket + 1, chosen.size() - bracket - 2)).value_or(0);
  std::erase_if(all, [&](const GivenArgument& one) { return first_name(one.name) != chosen.substr(0, bracket); });
  merge(merged, section_of(taken(all, lists, which), chosen.substr(0, bracket)));
  return merged;
}

}  // namespace stepcast::engines
