#include "studies/cli/arguments.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast {
namespace {

bool takes_words_behind(std::span<const Flag> flags, const std::string& word) {
  const Flag* flag = find_flag(flags, word);
  return flag != nullptr && flag->words_behind;
}

bool looks_like_flag(const std::string& word) { return word.size() > 1 && word[0] == '-' && word != "--"; }

/// CLI11 lists unknown arguments in reverse and suggests nothing, so unknown flags are found first.
Expected<void> check_names(std::span<const Flag> flags, const std::vector<std::string>& typed) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.emplace_back(flag.name);
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (!looks_like_flag(typed[i])) continue;
    const std::string name = typed[i].substr(0, typed[i].find('='));
    const Flag* flag = find_flag(flags, name);
    if (flag == nullptr) {
      std::string hint = names.empty() ? "it takes none" : name_hint(name, names);
      return fail(name.substr(0, 60), "unknown flag", hint);
    }
    const bool value_is_next = flag->kind != FlagKind::toggle && name.size() == typed[i].size();
    if (!value_is_next) continue;
    const bool missing = i + 1 == typed.size() || find_flag(flags, typed[i + 1]) != nullptr;
    if (missing) return fail(name, "needs a value", fmt::format("{} {}: {}", name, flag->value, flag->doc));
    ++i;  // "--tp -1": the value may begin with a dash
  }
  return {};
}

/// Flags by their own names, whichever alias was typed.
void spell_out(std::span<const Flag> flags, std::vector<std::string>& typed) {
  for (std::string& word : typed) {
    if (!looks_like_flag(word)) continue;
    const std::size_t end = std::min(word.find('='), word.size());
    if (const Flag* flag = find_flag(flags, word.substr(0, end))) word.replace(0, end, flag->name);
  }
}

Expected<Arguments> run_parser(std::span<const Flag> flags, std::vector<std::string> typed) {
  Arguments arguments;
  std::map<std::string, std::vector<std::string>> values;
  CLI::App app;
  app.set_help_flag();
  for (const Flag& flag : flags) {
    const std::string name(flag.name);
    if (flag.kind == FlagKind::toggle) {
      app.add_flag_callback(name, [&arguments, name] { arguments.flags[name] = ""; });
    } else {
      app.add_option(name, values[name])->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  app.allow_extras();
  std::reverse(typed.begin(), typed.end());  // CLI11 takes a vector from its back
  try {
    app.parse(std::move(typed));
  } catch (const CLI::ParseError& error) {
    return fail("command line", error.what());
  }
  arguments.words = app.remaining();
  for (const auto& [name, given] : values) {
    if (!given.empty() && find_flag(flags, name)->repeats) {
      arguments.flags[name] = fmt::format("{}", fmt::join(given, ","));
      arguments.repeated[name] = given;
      continue;
    }
    if (given.size() > 1) return fail(name, fmt::format("given {} times", given.size()), "give it once");
    if (given.size() == 1) arguments.flags[name] = given[0];
  }
  return arguments;
}

}  // namespace

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto found = repeated.find(name);
  return found == repeated.end() ? std::vector<std::string>() : found->second;
}

Expected<Arguments> parse_arguments(std::span<const Flag> flags, std::size_t least_words, std::size_t most_words,
                                    const std::string& usage, const std::vector<std::string>& typed) {
  const auto end = std::find(typed.begin(), typed.end(), "--");
  std::vector<std::string> spelled(typed.begin(), end);
  // "--megatron run.sh ... -- --vocab-size 50257": over what the file says.
  const bool over_file = std::any_of(spelled.begin(), spelled.end(), [&](const std::string& word) {
    return takes_words_behind(flags, word.substr(0, word.find('=')));
  });
  // A flag whose value stands behind it: "--megatron -- --num-layers 32 ..." (studies/launch/read/asked_run.h).
  std::string takes_rest;
  if (end != typed.end() && !spelled.empty() && takes_words_behind(flags, spelled.back())) {
    takes_rest = spelled.back();
    spelled.pop_back();
  }
  if (const auto known = check_names(flags, spelled); !known) return tl::unexpected(known.error());
  spell_out(flags, spelled);
  auto arguments = run_parser(flags, std::move(spelled));
  if (!arguments) return arguments;
  if (end != typed.end()) {
    std::vector<std::string>& behind = takes_rest.empty() && !over_file ? arguments->words : arguments->rest;
    behind.insert(behind.end(), end + 1, typed.end());
  }
  if (!takes_rest.empty()) arguments->flags[takes_rest] = "--";
  const std::vector<std::string>& words = arguments->words;
  if (words.size() < least_words) return fail("command line", "something is missing", "usage: " + usage);
  if (words.size() > most_words)
    return fail("command line", fmt::format("unexpected argument '{}'", words[most_words].substr(0, 60)),
                "usage: " + usage);
  for (const auto& [name, text] : arguments->flags) {
    const Flag* flag = find_flag(flags, name);
    if (flag->kind == FlagKind::toggle) continue;
    if (const auto good = check_flag(*flag, text, name); !good) return tl::unexpected(good.error());
  }
  return arguments;
}

}  // namespace stepcast
