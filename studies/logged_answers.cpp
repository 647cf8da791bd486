#include "studies/logged_answers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/delimited.h"

namespace stepcast {
namespace {

bool ends_in(std::string_view name, std::string_view part) {
  return name == part ||
         (name.size() > part.size() && name.ends_with(part) && name[name.size() - part.size() - 1] == '.');
}

/// Of nested names that end in it the least nested one: the model's own before that of one of its parts.
ArgumentMap::const_iterator least_nested(const ArgumentMap& arguments, std::string_view part) {
  auto best = arguments.end();
  const auto depth = [](const std::string& name) { return std::count(name.begin(), name.end(), '.'); };
  for (auto at = arguments.begin(); at != arguments.end(); ++at)
    if (ends_in(at->first, part) && (best == arguments.end() || depth(at->first) < depth(best->first))) best = at;
  return best;
}

bool says_none(std::string_view value) {
  const std::string plain = lower_case(value);
  return plain.empty() || plain == "none" || plain == "null" || plain == "~" || plain == "auto";
}

}  // namespace

std::optional<LoggedAnswers::Answer> LoggedAnswers::find(Asked asked) {
  std::optional<Answer> first;
  for (const ArgumentName& row : program_.names) {
    if (row.asked != asked) continue;
    for (const auto& [name, value] : log_.arguments)
      if (ends_in(name, row.name)) used_.insert(name);
    const auto found = least_nested(log_.arguments, row.name);
    if (found != log_.arguments.end() && !first && !says_none(found->second))
      first = Answer{found->first, found->second};
  }
  return first;
}

std::optional<std::string> LoggedAnswers::text(Asked asked) {
  const auto answer = find(asked);
  return answer ? std::optional(answer->value) : std::nullopt;
}

std::optional<std::int64_t> LoggedAnswers::count(Asked asked) {
  const auto answer = find(asked);
  if (!answer) return std::nullopt;
  std::string_view plain = answer->value;
  if (plain.starts_with('[') && plain.ends_with(']'))
    plain = plain.substr(1, plain.size() - 2);  // nargs='+' prints [8]
  double value = 0;
  const auto end = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  constexpr double most = 2e6;  // of one size or count; products of three fit an integer
  const bool whole = end.ec == std::errc() && end.ptr == plain.data() + plain.size() && value == std::floor(value) &&
                     std::abs(value) <= most;
  if (whole && value >= 1) return static_cast<std::int64_t>(value);
  if (whole) return std::nullopt;  // 0 and -1: not set
  if (!error_)
    error_ = Error{fmt::format("{}: {}", log_.where, answer->name), fmt::format("'{:.60}'", answer->value),
                   "a whole number"};
  return std::nullopt;
}

std::optional<bool> LoggedAnswers::flag(Asked asked) {
  const auto answer = find(asked);
  if (!answer) return std::nullopt;
  const std::string plain = lower_case(answer->value);
  return plain != "false" && plain != "0" && plain != "no";
}

std::vector<std::string> LoggedAnswers::left_over(bool experts) const {
  std::vector<std::string> named, notes;
  std::size_t others = 0;
  for (const auto& [name, value] : log_.arguments) {
    if (used_.count(name) != 0) continue;
    const bool of_experts = name.substr(name.rfind('.') + 1).starts_with("moe_");
    if (may_change_step(name, value) && (experts || !of_experts))
      named.push_back(fmt::format("{}={:.60}", name, value));
    else
      ++others;
  }
  if (!named.empty()) notes.push_back(fmt::format("not taken into account: {}", fmt::join(named, ", ")));
  if (others > 0)
    notes.push_back(
        fmt::format("{} further argument{} taken to leave the step's time as it is", others, others == 1 ? "" : "s"));
  return notes;
}

}  // namespace stepcast
