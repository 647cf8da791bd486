#include "calibrate/import/config/config_text.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/logs/log_lines.h"
#include "model/base/json_reader.h"

namespace stepcast {
namespace {

std::string line_where(const std::string& where, const LogLine& line) {
  return fmt::format("{}:{}", where, line.number);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_argument_letter);
}

std::string dotted(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// Without a comment behind it ("#" after a blank, outside quotes) and without quotes around it.
std::string plain_value(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0)
      quote = c == quote ? char{0} : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#' && (i == 0 || std::isspace(static_cast<unsigned char>(text[i - 1]))))
      text = text.substr(0, i);
  }
  text = stripped(text);
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

/// A line of a list: without a comment, and how many brackets more it opens than it closes, outside quotes.
struct ListLine {
  std::string_view text;
  int open = 0;
};

ListLine list_line(std::string_view text) {
  ListLine line{text};
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      quote = c == quote ? char{0} : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      line.text = text.substr(0, i);
      break;
    } else {
      line.open += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    }
  }
  line.text = stripped(line.text);
  return line;
}

/// The value that begins with `head`, over all lines of a list; `open`: brackets that the last line leaves open.
std::string whole_toml_value(std::string_view head, std::span<const LogLine> lines, std::size_t& at, int& open) {
  const ListLine first = list_line(head);
  open = first.open;
  std::string value(open > 0 ? first.text : head);
  while (open > 0 && at + 1 < lines.size()) {
    const ListLine next = list_line(lines[++at].text);
    open += next.open;
    if (!next.text.empty()) value.append(" ").append(next.text);
  }
  return value;
}

/// Maps by their indentation; a stack of those that are open.
class YamlReader {
 public:
  /// False on a line that is no YAML.
  bool take(std::string_view line) {
    const std::string_view plain = stripped(line);
    if (plain.empty() || plain[0] == '#' || plain == "---") return true;
    const std::size_t indent = line.find_first_not_of(" \t");
    const bool inside_item = in_list_ && indent > item_indent_;
    if (!is_yaml_line(line)) return inside_item;
    if (plain[0] == '-' && !inside_item)
      take_item(plain, indent);
    else if (!inside_item)
      take_name(plain, indent);
    return true;
  }
  [[nodiscard]] const ArgumentMap& out() const { return out_; }

 private:
  void take_item(std::string_view plain, std::size_t indent) {
    in_list_ = true, item_indent_ = indent;
    const std::string item = plain_value(plain.substr(1));
    if (open_.empty() || item.empty() || is_yaml_line(item)) return;
    std::string& list = out_[open_.back().path];
    list += (list.empty() ? "" : " ") + item;
  }

  void take_name(std::string_view plain, std::size_t indent) {
    in_list_ = false;
    while (!open_.empty() && open_.back().indent >= indent) open_.pop_back();
    const std::size_t colon = plain.find(':');
    const std::string name = dotted(open_.empty() ? "" : open_.back().path, argument_name(plain.substr(0, colon)));
    const std::string value = plain_value(plain.substr(colon + 1));
    if (value.empty() || value == "|" || value == ">")
      open_.push_back({indent, name});
    else
      out_[name] = value;
  }

  struct Open {
    std::size_t indent;
    std::string path;
  };
  std::vector<Open> open_;
  bool in_list_ = false;
  std::size_t item_indent_ = 0;
  ArgumentMap out_;
};

void flatten(JsonObject object, const std::string& path, ArgumentMap& out) {
  object.allow_unknown_keys();
  for (const std::string& key : object.keys()) {
    const std::string type = object.type_of(key), name = dotted(path, argument_name(key));
    if (type == "object") {
      flatten(object.object(key), name, out);
    } else if (type == "string") {
      object.read(key, out[name]);
    } else if (type == "boolean") {
      bool value = false;
      object.read(key, value);
      out[name] = value ? "true" : "false";
    } else if (type == "number") {
      double value = 0;
      object.read(key, value, NumberRange{});
      out[name] = fmt::format("{}", value);
    }
  }
}

}  // namespace

Expected<std::vector<GivenArgument>> toml_arguments(std::span<const LogLine> lines, const std::string& where) {
  std::vector<GivenArgument> out;
  std::set<std::string> names;
  std::string section;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = stripped(lines[i].text);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[' && line.find(']') != line.npos) {
      section = std::string(stripped(line.substr(1, line.find(']') - 1)));
      section.erase(0, std::min(section.find_first_not_of("[ "), section.size()));
      if (!is_name(section))
        return fail(line_where(where, lines[i]), fmt::format("section '{:.40}'", section), "TOML: [parallelism]");
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string_view name = stripped(line.substr(0, equals));
    if (equals == line.npos || !is_name(name))
      return fail(line_where(where, lines[i]), fmt::format("'{:.60}' is no TOML", line), "name = value");
    const std::size_t first = i;
    int open = 0;
    const std::string value = whole_toml_value(line.substr(equals + 1), lines, i, open);
    if (open > 0)
      return fail(line_where(where, lines[first]), fmt::format("the list of '{:.40}' does not end", name),
                  "close its bracket");
    const std::string known = dotted(section, argument_name(name));
    if (!names.insert(known).second)
      return fail(line_where(where, lines[first]), fmt::format("a second '{:.40}'", known), "keep one");
    if (known[0] == '_' || known.find("._") != known.npos) continue;
    out.push_back({known, dotted(section, name), plain_value(value), lines[first].number, {}});
  }
  return out;
}

Expected<ArgumentMap> read_toml(std::span<const LogLine> lines, const std::string& where) {
  const auto arguments = toml_arguments(lines, where);
  if (!arguments) return tl::unexpected(arguments.error());
  ArgumentMap out;
  for (const GivenArgument& argument : *arguments) out[argument.name] = argument.value;
  return out;
}

bool is_yaml_line(std::string_view line) {
  const std::string_view plain = stripped(line);
  if (plain == "-" || plain.starts_with("- ")) return true;
  const std::size_t colon = plain.find(':');
  return colon != plain.npos && is_name(plain.substr(0, colon)) &&
         (colon + 1 == plain.size() || plain[colon + 1] == ' ');
}

Expected<ArgumentMap> read_yaml(std::span<const LogLine> lines, const std::string& where) {
  YamlReader reader;
  for (const LogLine& line : lines)
    if (!reader.take(line.text))
      return fail(line_where(where, line), fmt::format("'{:.60}' is no YAML of names and values", stripped(line.text)),
                  "name: value");
  return reader.out();
}

Expected<ArgumentMap> read_json_arguments(std::string_view text, const std::string& where) {
  JsonObject object(text, where);
  ArgumentMap out;
  if (!object.failed()) flatten(object, "", out);
  return object.finish(std::move(out));
}

Expected<ArgumentMap> read_config(std::string_view text, const std::string& where) {
  const std::vector<LogLine> lines = log_lines(text);
  for (const LogLine& line : lines) {
    const std::string_view plain = stripped(line.text);
    if (plain.empty() || plain[0] == '#' || plain == "---") continue;
    if (plain[0] == '{') return read_json_arguments(text, where);
    if (plain[0] == '[' || (plain.find('=') != plain.npos && !is_yaml_line(plain))) return read_toml(lines, where);
    if (is_yaml_line(plain)) return read_yaml(lines, where);
    return fail(line_where(where, line), fmt::format("'{:.60}' is no configuration", plain),
                "JSON, TOML, YAML, or a script with the launch command");
  }
  return fail(where, "the file is empty", "JSON, TOML, YAML, or a script with the launch command");
}

}  // namespace stepcast
