#include "studies/launch/read/answers.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/dialects/dialect_words.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/number_in.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

/// Axes of a split, of which no framework takes a number below 0; of other counts -1 may stand for "not set".
constexpr Asked axes[] = {Asked::tp, Asked::pp, Asked::cp, Asked::ep, Asked::etp, Asked::ulysses};

/// Lists are written with either kind of quotes, and with blanks or without.
std::string without_quotes(const std::string& value) {
  std::string plain = lower_case(value);
  std::erase_if(plain, [](char c) { return c == '"' || c == '\'' || c == ' '; });
  return plain;
}

bool same_setting(const std::string& one, const std::string& other) {
  if (without_quotes(one) == without_quotes(other)) return true;
  if (is_switched_off(one) || is_switched_off(other)) return is_switched_off(one) && is_switched_off(other);
  if (says_yes(lower_case(one)) && says_yes(lower_case(other))) return true;
  const auto a = number_in(one), b = number_in(other);
  return a && b && *a == *b;
}

/// Says it what holds anyway: its default or, where none is known, that it is off; or what the stacks have?
bool is_as_usual(const ArgumentFact& fact, const std::string& usual, const GivenArgument& given) {
  if (says_none(given.value) || is_usual_value(given.name, given.value)) return true;
  if (!says_none(usual)) return same_setting(given.value, usual);
  return is_off(given.value) && !(fact.takes == "flag" && given.value == "1");
}

std::ptrdiff_t depth_of(const std::string& name) { return std::count(name.begin(), name.end(), '.'); }

}  // namespace

LaunchAnswers::LaunchAnswers(const Launch& launch) : launch_(launch), table_(launch.framework->table()) {
  constexpr std::size_t longest = 512;  // as the table's own rows are looked up
  for (const GivenArgument& given : launch.arguments)
    for (std::string_view end = given.name; given.name.size() <= longest; end.remove_prefix(end.find('.') + 1)) {
      if (auto& list = named_[end]; list.empty() || list.back() != &given) list.push_back(&given);
      if (end.find('.') == std::string_view::npos) break;
    }
}

std::span<const GivenArgument* const> LaunchAnswers::named(std::string_view row) const {
  const auto found = named_.find(row);
  return found == named_.end() ? std::span<const GivenArgument* const>() : found->second;
}

/// By the first row of the table that is given with a value; of nested names that end in it the least nested one (the
/// model's own before that of one of its parts), and of one name the last.
const GivenArgument* LaunchAnswers::answering(Asked asked) const {
  for (const ArgumentFact* row : table_.answering(asked)) {
    const GivenArgument* best = nullptr;
    for (const GivenArgument* given : named(row->name))
      if (best == nullptr || depth_of(given->name) <= depth_of(best->name)) best = given;
    if (best != nullptr && !says_none(best->value)) return best;
  }
  return nullptr;
}

/// First what `given` hangs on, then what other arguments do that a forecast asks for.
std::string LaunchAnswers::how_to_define(const GivenArgument& given) const {
  std::vector<std::string> names;
  const auto add = [&](const GivenArgument& one) {
    for (const std::string& name : one.unset)
      if (can_be_defined(one, name) && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  };
  add(given);
  for (const GivenArgument& other : launch_.arguments)
    if (const ArgumentFact* fact = table_.find(other.name); fact != nullptr && fact->asks && launch_.counts(other))
      add(other);
  std::vector<std::string> defines;
  for (const std::string& name : names) defines.push_back(fmt::format("--define {}=VALUE", name));
  const std::string files =
      launch_.unread.empty() ? ""
                             : fmt::format(", or --files-from FOLDER that has {}", shown_name(launch_.unread.front()));
  return fmt::format(
      "{}, or the value{} in the launch{}", fmt::join(defines, " "), names.size() == 1 ? "" : "s", files);
}

/// "$TP" or "$(( TP * 2 ))" where nothing sets TP; "$(nproc)", which would have to be run.
Error LaunchAnswers::unset_value(const GivenArgument& given) const {
  const std::string& first = given.unset.front();
  const bool command = first.starts_with("$(") || first.starts_with('`');
  const std::string name = command ? first : "$" + first;
  const bool whole = given.value == name || given.value == "${" + first + "}";
  const std::string what = whole ? fmt::format("nothing sets {}", name)
                                 : fmt::format("{:.60} hangs on {}, which nothing sets", given.value, name);
  if (command)
    return {place_of(launch_, given),
        fmt::format("{:.60} hangs on what {:.60} prints, and nothing of a launch is run", given.value, name),
        fmt::format(
            "the value in a copy of the launch, or -- {} VALUE at the end of the command", spelled_argument(given))};
  if (!can_be_defined(given, first))
    return {place_of(launch_, given), fmt::format("hangs on '{:.60}', and nothing of a launch is run", first),
        "the value in the launch, or a flag"};
  return {place_of(launch_, given), what, how_to_define(given)};
}

const GivenArgument* LaunchAnswers::find(Asked asked) {
  for (const ArgumentFact* row : table_.answering(asked))
    for (const GivenArgument* given : named(row->name)) used_.insert(given->name);
  const GivenArgument* found = answering(asked);
  const bool by_its_end = asked == Asked::tokenizer;  // a file's last part names it, whatever folder it lies in
  if (found != nullptr && !found->unset.empty() && !error_ && !by_its_end) error_ = unset_value(*found);
  return found;
}

std::string LaunchAnswers::where(Asked asked) const {
  const GivenArgument* given = answering(asked);
  return given == nullptr ? launch_.where : place_of(launch_, *given);
}

std::string LaunchAnswers::name(Asked asked) const {
  const GivenArgument* given = answering(asked);
  return given == nullptr ? "" : given->name;
}

bool LaunchAnswers::is_given(Asked asked) const {
  const auto rows = table_.answering(asked);
  return std::ranges::any_of(rows, [&](const ArgumentFact* row) { return !named(row->name).empty(); });
}

std::optional<std::string> LaunchAnswers::text(Asked asked) {
  const GivenArgument* given = find(asked);
  return given == nullptr ? std::nullopt : std::optional(given->value);
}

std::optional<std::string> LaunchAnswers::text_or_default(Asked asked) {
  if (auto given = text(asked)) return given;
  for (const ArgumentFact* row : table_.answering(asked)) {
    if (!table_.knows(*row, launch_.release)) continue;
    const std::string value = table_.default_of(*row, launch_.release);
    if (!says_none(value)) return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> LaunchAnswers::count(Asked asked) {
  const GivenArgument* given = find(asked);
  if (given == nullptr) return std::nullopt;
  const auto value = number_in(given->value);
  const double least = std::ranges::find(axes, asked) == std::end(axes) ? -1 : 0;
  if (value && *value < least && !error_)
    error_ = Error{
        place_of(launch_, *given), fmt::format("{:.60} is below {}", given->value, least), "a whole number from 1 on"};
  if (value && *value == std::floor(*value) && std::abs(*value) <= most_of_a_size)
    return *value >= 1 ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;  // 0 and -1: not set
  if (!error_) error_ = no_count(*given);
  return std::nullopt;
}

Error LaunchAnswers::no_count(const GivenArgument& given) const {
  if (given.value == "true") return {place_of(launch_, given), "has no value", "a whole number behind it"};
  if (given.value == "\?\?\?")
    return {place_of(launch_, given), "'\?\?\?' is left for the user to say", "a whole number in its place"};
  return {place_of(launch_, given), fmt::format("'{:.60}' is no whole number up to 2,000,000", given.value),
      "a whole number"};
}

std::optional<std::int64_t> LaunchAnswers::count_or_default(Asked asked) {
  if (is_given(asked)) return count(asked);
  const auto text = text_or_default(asked);
  const auto value = text ? number_in(*text) : std::nullopt;
  return value && *value >= 1 ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
}

void LaunchAnswers::refuse(Asked asked, std::string what, std::string hint) {
  if (!error_) error_ = Error{where(asked), std::move(what), std::move(hint)};
}

/// Where several arguments answer, one that says yes is enough: logs print the others as False. Of one name the last
/// counts, whatever the earlier ones say.
std::optional<bool> LaunchAnswers::flag(Asked asked) {
  if (find(asked) == nullptr) return std::nullopt;
  for (const ArgumentFact* row : table_.answering(asked))
    for (const GivenArgument& given : launch_.arguments)
      if (names_argument(given.name, row->name) && launch_.counts(given) && !says_none(given.value) &&
          !is_switched_off(given.value))
        return true;
  return false;
}

std::optional<double> LaunchAnswers::number_or_default(Asked asked) {
  const auto text = text_or_default(asked);
  if (!text) return std::nullopt;
  const auto value = number_in(*text);
  if (!value && !error_) error_ = Error{where(asked), fmt::format("'{:.60}'", *text), "a number"};
  return value;
}

bool LaunchAnswers::is_left_out(const GivenArgument& given, bool experts) const {
  const ArgumentFact* fact = table_.find(given.name);
  if (fact == nullptr || fact->asks || fact->reach != Reach::uncovered || !launch_.counts(given)) return false;
  const bool of_experts = given.name.substr(given.name.rfind('.') + 1).starts_with("moe_");
  return (experts || !of_experts) && !is_as_usual(*fact, table_.default_of(*fact, launch_.release), given);
}

std::vector<std::string> LaunchAnswers::left_over(bool experts) const {
  std::vector<std::string> named, notes;
  std::size_t others = 0;
  for (const GivenArgument& given : launch_.arguments) {
    if (used_.contains(given.name)) {
      const GivenArgument* last = launch_.find(given.name);
      if (last != &given && last->value != given.value)
        notes.push_back(fmt::format("{} {:.40} is given again, and the last counts: {:.40}", place_of(launch_, given),
            given.value, last->value));
      continue;
    }
    if (table_.find(given.name) == nullptr) continue;
    if (is_left_out(given, experts)) named.push_back(fmt::format("{}={:.60}", given.name, given.value));
    else ++others;
  }
  if (!named.empty()) notes.push_back(fmt::format("not taken into account: {}", fmt::join(named, ", ")));
  if (others > 0)
    notes.push_back(
        fmt::format("{} further argument{} taken to leave the step's time as it is", others, others == 1 ? "" : "s"));
  return notes;
}

}  // namespace stepcast::launch
