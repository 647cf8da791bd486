// Configuration files as arguments with their lines: which form a text has, JSON, and references between values.
#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "calibrate/import/config/config_text.h"
#include "calibrate/import/delimited.h"
#include "calibrate/import/logs/log_lines.h"
#include "model/base/json_reader.h"

namespace stepcast {
namespace {

/// Through a text that the strict reader has accepted: only names, values and lines are taken.
class JsonLines {
 public:
  explicit JsonLines(std::string_view text) : text_(text) {}
  std::vector<GivenArgument> read() {
    take_object("", "", false);
    return std::move(out_);
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      line_ += text_[at_++] == '\n' ? 1 : 0;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    return ++at_, true;
  }

  std::string take_string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
        out += text_[at_];
        continue;
      }
      const char c = text_[++at_];
      if (c == 'u') out += '\\';
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    ++at_;
    return out;
  }

  void take_object(const std::string& name, const std::string& spelled, bool comment) {
    take('{');
    while (!take('}') && at_ < text_.size()) {
      take(',');
      skip();
      if (at_ >= text_.size() || text_[at_] != '"') return;
      const std::size_t line = line_;
      const std::string key = take_string();
      take(':');
      const std::string dot = name.empty() ? "" : ".";
      take_value(name + dot + argument_name(key), spelled + dot + key, line, comment || key.starts_with('_'));
    }
  }

  void take_value(const std::string& name, const std::string& spelled, std::size_t line, bool comment) {
    skip();
    const char c = at_ < text_.size() ? text_[at_] : ' ';
    if (c == '{') return take_object(name, spelled, comment);
    if (c == '[') return take_list(name, spelled, line, comment);
    const std::string value = c == '"' ? take_string() : take_bare();
    if (!comment) out_.push_back({name, spelled, value, line, {}});
  }

  std::string take_bare() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
      ++at_;
    const std::string_view written = text_.substr(start, at_ - start);
    if (start == at_) ++at_;
    // 5e8 is how DeepSpeed's files write a number of elements.
    constexpr double most = 1e15;
    if (written.find_first_of("eE") == written.npos || written == "true" || written == "false")
      return std::string(written);
    const auto value = finite_number(written, "", "");
    const bool whole =
        value && *value == static_cast<double>(static_cast<std::int64_t>(std::clamp(*value, -most, most)));
    return whole ? fmt::format("{}", static_cast<std::int64_t>(*value)) : std::string(written);
  }

  void take_list(const std::string& name, const std::string& spelled, std::size_t line, bool comment) {
    take('[');
    std::string joined;
    for (std::size_t index = 0; !take(']') && at_ < text_.size(); ++index) {
      take(',');
      const std::size_t before = out_.size();
      take_value(fmt::format("{}.{}", name, index), fmt::format("{}.{}", spelled, index), line_, comment);
      if (out_.size() != before + 1 || out_.back().name != fmt::format("{}.{}", name, index)) continue;
      joined += (joined.empty() ? "" : ", ") + out_.back().value;
      out_.pop_back();
    }
    if (!comment && !joined.empty()) out_.push_back({name, spelled, "[" + joined + "]", line, {}});
  }

  std::string_view text_;
  std::size_t at_ = 0, line_ = 1;
  std::vector<GivenArgument> out_;
};

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

}  // namespace

Expected<std::vector<GivenArgument>> json_arguments(std::string_view text, const std::string& where) {
  JsonObject object(text, where);
  object.allow_unknown_keys();
  if (auto error = object.first_error()) return tl::unexpected(std::move(*error));
  return JsonLines(text).read();
}

std::optional<ConfigForm> config_form(std::string_view text) {
  for (const LogLine& line : log_lines(text.substr(0, 64 * 1024))) {
    const std::string_view plain = stripped(line.text);
    if (plain.empty() || plain[0] == '#' || plain == "---") continue;
    if (plain[0] == '{') return ConfigForm::json;
    const std::size_t colon = plain.find(": "), equals = plain.find('=');
    const bool named = is_yaml_line(plain) || plain.ends_with(':') || colon < equals;
    if (plain[0] == '[' || (equals != plain.npos && !named)) return ConfigForm::toml;
    return named ? std::optional(ConfigForm::yaml) : std::nullopt;
  }
  return std::nullopt;
}

Expected<std::vector<GivenArgument>> read_config_arguments(std::string_view text, const std::string& where) {
  constexpr std::size_t most = 4 * 1024 * 1024;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (text.size() > most)
    return fail(where, fmt::format("{} bytes", text.size()), fmt::format("a configuration has at most {}", most));
  const auto form = config_form(text);
  if (!form)
    return fail(where, stripped(text).empty() ? "the file is empty" : "it is no configuration",
                "JSON, TOML, YAML, or a script with the launch command");
  if (*form == ConfigForm::json) return json_arguments(text, where);
  return *form == ConfigForm::toml ? toml_arguments(log_lines(text), where) : yaml_arguments(text, where);
}

void resolve_references(std::vector<GivenArgument>& arguments, std::span<const std::string> known) {
  constexpr int most_steps = 32;
  constexpr std::size_t longest = 64 * 1024, most_put_in = 16 * 1024 * 1024;
  const ArgumentPlaces places = known.empty() ? places_of(arguments) : ArgumentPlaces{};
  std::size_t put_in = 0;
  for (GivenArgument& argument : arguments) {
    std::size_t at = 0;
    for (int steps = 0; steps < most_steps; ++steps) {
      const std::size_t open = argument.value.find("${", at), close = argument.value.find('}', open);
      if (open == std::string::npos || close == std::string::npos) break;
      const std::string name = argument.value.substr(open + 2, close - open - 2);
      const bool variable = known.empty() || std::find(known.begin(), known.end(), name) != known.end();
      const GivenArgument* other = known.empty() ? referred(arguments, places, argument.name, name) : nullptr;
      if (other != nullptr && other != &argument && other->value.size() + argument.value.size() < longest &&
          put_in + other->value.size() < most_put_in) {
        put_in += other->value.size();
        argument.value.replace(open, close + 1 - open, std::string(other->value));
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

}  // namespace stepcast
