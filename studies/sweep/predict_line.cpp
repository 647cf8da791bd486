#include "studies/sweep/predict_line.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/json_reader.h"
#include "studies/scenario_file.h"

namespace stepcast {
namespace {

/// A scenario file says the nouns and what else stays, so that only what was typed over it is repeated.
bool is_scenario_file(const Arguments& arguments) {
  if (arguments.words.empty() || !names_a_file(arguments.words[0])) return false;
  const auto text = read_text_file(arguments.words[0]);
  return text && is_scenario(*text);
}

template <typename Row>
std::string noun_word(const std::optional<Chosen<Row>>& chosen, const std::string& typed, const char* in_full) {
  if (!typed.empty()) return typed;
  if (!chosen) return "";
  return chosen->id.empty() ? in_full : chosen->id;
}

std::string nouns_of(const Arguments& arguments, const Space& space, const std::string& default_machine) {
  const Request& request = space.request;
  const bool scenario = is_scenario_file(arguments);
  const std::string word = arguments.words.empty() ? "" : arguments.words[0];
  std::string text = "stepcast predict " + shell_word(noun_word(request.network, word, "NETWORK.json"));
  const auto add = [&](std::string_view flag, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", flag, shell_word(value));
  };
  const auto add_noun = [&](const char* flag, const auto& chosen, const char* in_full) {
    const std::string typed = arguments.value(flag);
    if (!scenario || !typed.empty()) add(flag, noun_word(chosen, typed, in_full));
  };
  add("--as", arguments.value("--as"));
  if (!scenario && !request.machine && arguments.value("--machine").empty()) add("--machine", default_machine);
  else add_noun("--machine", request.machine, "MACHINE.json");
  add_noun("--stack", request.stack, "STACK.json");
  add_noun("--profile", request.profile, "PROFILE.json");
  for (const auto& [key, value] : request.values) {
    const Flag* flag = find_key(run_flags(), key);
    const bool on_axis = find_axis(key) != nullptr || key == "global_batch" || key == "sequence" || key == "seq";
    if (flag != nullptr && !on_axis && (!scenario || value.where.starts_with("--"))) add(flag->name, value.text);
  }
  return text;
}

}  // namespace

std::string shell_word(std::string_view word) {
  constexpr std::string_view harmless = "_./:=,+-@%";
  const auto plain = [&](unsigned char c) { return std::isalnum(c) != 0 || harmless.find(static_cast<char>(c)) != std::string_view::npos; };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

PredictLine::PredictLine(const Arguments& arguments, const Space& space, SpacePoints& points)
    : nouns_(nouns_of(arguments, space, points.setting(Digits{}).scenario.machine.id)), space_(space), points_(points) {}

std::string PredictLine::of(std::uint64_t index) const {
  const std::string flags = points_.command(space_.digits(index));
  std::string text = nouns_;
  for (std::size_t at = 0; at < flags.size();) {
    const std::size_t space = std::min(flags.find(' ', at), flags.size());
    text += ' ' + shell_word(std::string_view(flags).substr(at, space - at));
    at = space + 1;
  }
  return text;
}

}  // namespace stepcast
