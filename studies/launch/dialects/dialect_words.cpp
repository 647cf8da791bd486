#include "studies/launch/dialects/dialect_words.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "studies/launch/facts/number_in.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {

namespace {

/// Is it told nothing? "none" is a choice of its own where the table has it among those of the argument.
bool tells_nothing(const Launch& launch, const GivenArgument& given) {
  if (!says_none(given.value)) return false;
  const ArgumentFact* fact = launch.framework->table().find(given.name);
  return fact == nullptr || std::ranges::find(fact->known, lower_case(given.value)) == fact->known.end();
}

}  // namespace

bool can_be_defined(const GivenArgument& given, std::string_view unset) {
  const bool written = given.value.find('$') != std::string::npos;  // attributes in Python are not
  return written && unset.find_first_of(" ()`'\"+=<>{}") == unset.npos && unset.find("//") == unset.npos &&
         (unset.size() == 1 || unset.find('*') == unset.npos);
}

bool says_yes(const std::string& value) {
  const std::string plain = lower_case(value);
  return plain == "true" || plain == "1" || plain == "yes";
}

GivenArgument* DialectWords::last(std::string_view name) {
  const auto found = std::find_if(launch.arguments.rbegin(), launch.arguments.rend(),
      [&](const GivenArgument& given) { return nested_ ? names_argument(given.name, name) : given.name == name; });
  return found == launch.arguments.rend() || tells_nothing(launch, *found) ? nullptr : &*found;
}

bool DialectWords::has_any(std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return has(name); });
}

std::string DialectWords::value(std::string_view name, std::string_view otherwise) {
  const GivenArgument* given = last(name);
  return given == nullptr ? std::string(otherwise) : given->value;
}

bool DialectWords::is_on(std::string_view name, bool otherwise) {
  const GivenArgument* given = last(name);
  return given == nullptr ? otherwise : says_yes(given->value);
}

Error DialectWords::no_number(const GivenArgument& given, std::string_view kind) const {
  if (given.unset.empty())
    return {place_of(launch, given), fmt::format("'{:.60}' is no {} up to 2,000,000", given.value, kind),
        fmt::format("a {}", kind)};
  const std::string& first = given.unset.front();
  if (first.find_first_of("(`") != first.npos)
    return {place_of(launch, given), fmt::format("hangs on what {:.60} prints, and nothing of a launch is run", first),
        "the value in a copy of the launch"};
  if (!can_be_defined(given, first))
    return {place_of(launch, given), fmt::format("hangs on '{:.60}', and nothing of a launch is run", first),
        "the value in the launch, or a flag"};
  return {place_of(launch, given), fmt::format("nothing sets ${:.60}", first),
      fmt::format("--define {}=VALUE, or the value in the launch", first)};
}

Expected<std::int64_t> DialectWords::count(std::string_view name, std::int64_t otherwise) {
  const GivenArgument* given = last(name);
  if (given == nullptr) return otherwise;
  const auto value = number_in(given->value);
  if (!value || *value != std::floor(*value) || std::abs(*value) > most_of_a_size)
    return tl::unexpected(no_number(*given, "whole number"));
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(*value));
}

Expected<double> DialectWords::number(std::string_view name, double otherwise) {
  const GivenArgument* given = last(name);
  if (given == nullptr) return otherwise;
  const auto value = number_in(given->value);
  if (!value || *value <= 0 || *value > most_of_a_size) return tl::unexpected(no_number(*given, "number above 0"));
  return *value;
}

void DialectWords::put(std::string_view name, std::string text, std::string_view like) {
  if (GivenArgument* given = last(name)) return void(given->value = std::move(text));
  const GivenArgument* model = like.empty() ? nullptr : last(like);
  GivenArgument made = model == nullptr ? GivenArgument{} : *model;
  made.name = name;
  if (model == nullptr) made.spelled = name;
  made.value = std::move(text);
  launch.arguments.push_back(std::move(made));
}

void DialectWords::put_defaults(std::initializer_list<std::pair<std::string_view, std::string_view>> defaults) {
  std::vector<std::string> there;
  for (const auto& [name, text] : defaults) {
    if (has(name)) continue;
    put(name, std::string(text));
    // errors do not point at a line that nobody wrote
    launch.arguments.back().spelled = fmt::format("{} (default of {})", name, launch.framework->name);
    there.push_back(fmt::format("{} {}", name, text));
  }
  if (!there.empty()) note(fmt::format("{}: as {} has it unless told", fmt::join(there, ", "), launch.framework->name));
}

void DialectWords::drop(std::string_view name) {
  std::erase_if(launch.arguments, [&](const GivenArgument& given) { return names_argument(given.name, name); });
}

Error DialectWords::limit(const GivenArgument& given, std::string_view why) const {
  return {place_of(launch, given), fmt::format("{:.60}: {}", given.value, why), "a run without it"};
}

Expected<void> DialectWords::put_number_type(const GivenArgument* given) {
  const std::string type = given == nullptr ? "bfloat16" : given->value;
  if (has_any({"bf16", "fp16"})) return {};
  if (given == nullptr) note("number type bf16, as nearly all checkpoints have it");
  else if (type != "bfloat16" && type != "float16" && type != "float32")
    return fail(place_of(launch, *given), fmt::format("{} '{:.40}' is not known", given->name, type),
        "bfloat16, float16 or float32");
  if (type != "float32") put(type == "float16" ? "fp16" : "bf16", "true");
  else if (launch.framework->table().find("mixed_precision") != nullptr) put("mixed_precision", "fp32");
  return {};
}

void DialectWords::ask_samples(std::string_view name, bool full) {
  const GivenArgument* given = last(name);
  if (!full && given != nullptr) launch.bound = fmt::format("{} {:.40}", place_of(launch, *given), given->value);
}

}  // namespace stepcast::launch
