#include "studies/cli/arguments.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::cli {
namespace {

bool takes_words_behind(std::span<const Flag> flags, const std::string& word) {
  const Flag* flag = find_flag(flags, word);
  return flag != nullptr && flag->words_behind;
}

bool looks_like_flag(const std::string& word) { return word.size() > 1 && word[0] == '-' && word != "--"; }

/// What other programs call a flag, and what says the same here.
struct OtherName {
  std::string_view name, flag, hint;
};
constexpr OtherName other_names[] = {{"--mbs", "--micro-batch", "--micro-batch"},
    {"--micro-batch-size", "--micro-batch", "--micro-batch"}, {"--gbs", "--global-batch", "--global-batch"},
    {"--batch", "--global-batch", "--global-batch"}, {"--batch-size", "--global-batch", "--global-batch"},
    {"--global-batch-size", "--global-batch", "--global-batch"}, {"--fsdp", "--zero", "--zero 3"},
    {"--vpp", "--chunks", "--chunks"}, {"--mixed-precision", "--precision", "--precision"},
    {"--max-num-seqs", "--most-sequences", "--most-sequences"}, {"--request-rate", "--rate", "--rate"},
    {"--num-prompts", "--requests", "--requests"}, {"--max-concurrency", "--concurrency", "--concurrency"},
    {"--input-len", "--input", "--input"}, {"--output-len", "--output", "--output"},
    {"--max-num-batched-tokens", "--most-positions", "--most-positions"}};
/// Words that programs mean unlike things by.
struct UnlikeName {
  std::string_view name, flag, hint;
};
// vllm/benchmarks/datasets.py, RandomDataset: lengths from (1 - r) to (1 + r) of what is asked;
// sglang/bench_serving.py, sample_random_requests: from r of it to all.
constexpr UnlikeName unlike_names[] = {{"--random-range-ratio", "--shortest",
    "--shortest 0.8 is SGLang's 0.8, lengths from 0.8 of the most; vLLM's 0.2 are lengths from 0.8 to 1.2 of --input: "
    "1.2 times as long at most, and --shortest 0.667"}};

/// Flags of an iteration of an engine, and what asks of one as these commands ask of a step of training.
constexpr std::string_view iteration_flags[] = {
    "--context", "--prompt", "--cached", "--phase", "--engine", "--weights", "--kv", "--dp-attention", "--draft"};
struct IterationView {
  std::string_view command, view;
};
constexpr IterationView iteration_views[] = {
    {"whatif", " --what-if"}, {"roofline", " --roofline"}, {"timeline", " --trace FILE.json"}, {"predict", ""}};

/// Of a step's command that was asked of an iteration. "": of another.
std::string iteration_hint(const std::string& usage, const std::string& name) {
  const auto row = std::ranges::find_if(iteration_views,
      [&](const IterationView& one) { return usage.starts_with(fmt::format("stepcast {} ", one.command)); });
  if (row == std::end(iteration_views) || std::ranges::count(iteration_flags, name) == 0) return "";
  return fmt::format("of an engine's iteration: stepcast infer NETWORK {} ...{}", name, row->view);
}

/// By meaning, else by letters.
std::string unknown_flag_hint(std::span<const Flag> flags, const std::string& usage, const std::string& name) {
  if (flags.empty()) return "it takes none";
  if (std::string iteration = iteration_hint(usage, name); !iteration.empty()) return iteration;
  const auto* other = std::ranges::find(other_names, name, &OtherName::name);
  if (other != std::end(other_names) && find_flag(flags, other->flag) != nullptr)
    return fmt::format("did you mean '{}'?", other->hint);
  const auto* unlike = std::ranges::find(unlike_names, name, &UnlikeName::name);
  if (unlike != std::end(unlike_names) && find_flag(flags, unlike->flag) != nullptr) return std::string(unlike->hint);
  std::vector<std::string> names;
  for (const Flag& one : flags) names.emplace_back(one.name);
  return name_hint(name, names);
}

/// "8k" in digits; any other text as it is.
std::string in_digits(const std::string& text) {
  if (text.size() < 2 || (text.back() != 'k' && text.back() != 'K')) return text;
  const auto thousands = parsed_number<std::int64_t>(std::string_view(text).substr(0, text.size() - 1));
  constexpr std::int64_t most = 1'000'000'000'000, k = 1024;
  return thousands && *thousands >= 0 && *thousands < most ? std::to_string(*thousands * k) : text;
}

/// Words and flags apart, whichever alias of a flag was typed.
Expected<Arguments> taken_apart(
    std::span<const Flag> flags, const std::string& usage, const std::vector<std::string>& typed) {
  Arguments arguments;
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    if (!looks_like_flag(typed[i])) {
      arguments.words.push_back(typed[i]);
      continue;
    }
    const std::size_t equals = typed[i].find('=');
    const std::string name = typed[i].substr(0, equals);
    const Flag* flag = find_flag(flags, name);
    if (flag == nullptr) return fail(name.substr(0, 60), "unknown flag", unknown_flag_hint(flags, usage, name));
    const std::string own(flag->name);
    if (flag->kind == FlagKind::toggle) {
      if (equals != std::string::npos) return fail(name, "takes no value", fmt::format("{}: {}", name, flag->doc));
      arguments.flags[own] = "";
    } else if (equals != std::string::npos && equals + 1 < typed[i].size()) {
      values[own].push_back(typed[i].substr(equals + 1));
    } else if (equals != std::string::npos || i + 1 == typed.size() || find_flag(flags, typed[i + 1]) != nullptr) {
      return fail(name, "needs a value", fmt::format("{} {}: {}", name, flag->value, flag->doc));
    } else {
      values[own].push_back(typed[++i]);  // "--tp -1": the value may begin with a dash
    }
  }
  for (auto& [name, given] : values) {
    if (find_flag(flags, name)->sizes) std::ranges::transform(given, given.begin(), in_digits);
    arguments.flags[name] = fmt::format("{}", fmt::join(given, ","));
    if (find_flag(flags, name)->repeats) arguments.repeated[name] = given;
    else if (given.size() > 1) return fail(name, fmt::format("given {} times", given.size()), "give it once");
  }
  return arguments;
}

/// Where --csv takes a file it is a question, not a form of the answer.
Expected<void> check_one_form(std::span<const Flag> flags, const Arguments& arguments) {
  const Flag* csv = find_flag(flags, "--csv");
  if (csv == nullptr || csv->kind != FlagKind::toggle) return {};
  if (!arguments.has("--csv") || !arguments.has("--json")) return {};
  return fail("--csv", "beside --json: two forms of one answer", "one of them");
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
  const bool over_file = std::any_of(spelled.begin(), spelled.end(),
      [&](const std::string& word) { return takes_words_behind(flags, word.substr(0, word.find('='))); });
  // A flag whose value stands behind it: "--megatron -- --num-layers 32 ..." (studies/launch/asked_run.h).
  std::string takes_rest;
  if (end != typed.end() && !spelled.empty() && takes_words_behind(flags, spelled.back())) {
    takes_rest = spelled.back();
    spelled.pop_back();
  }
  TRY(auto arguments, taken_apart(flags, usage, spelled));
  if (end != typed.end()) {
    std::vector<std::string>& behind = takes_rest.empty() && !over_file ? arguments.words : arguments.rest;
    behind.insert(behind.end(), end + 1, typed.end());
  }
  if (!takes_rest.empty()) arguments.flags[takes_rest] = "--";
  const std::vector<std::string>& words = arguments.words;
  if (words.size() < least_words) return fail("command line", "something is missing", "usage: " + usage);
  if (words.size() > most_words)
    return fail(
        "command line", fmt::format("unexpected argument '{}'", words[most_words].substr(0, 60)), "usage: " + usage);
  TRY(check_one_form(flags, arguments));
  for (const auto& [name, text] : arguments.flags) {
    const Flag* flag = find_flag(flags, name);
    if (flag->kind == FlagKind::toggle) continue;
    TRY(check_flag(*flag, text, name));
  }
  return arguments;
}

}  // namespace stepcast::cli
