#include "studies/launch/emit/carried.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/cli/shell_word.h"
#include "studies/launch/facts/text_if.h"
#include "studies/launch/read/answers.h"

namespace stepcast::launch {
namespace {

constexpr std::string_view carried_prefixes[] = {"CUDA_", "NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "OMP_", "UB_",
    "NVSHMEM_", "UCX_", "GLOO_", "TOKENIZERS_", "HF_", "WANDB_"};

/// "--save" of "--save", "save" and "--no_save".
std::string as_argument(const GivenArgument& given) {
  if (given.spelled.starts_with("--")) return given.spelled;
  std::string name = given.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

/// The variable that stands at `at`, with its sign and braces: "$DATA", "${DATA}", "$1"; "" where a shell would do more
/// there than put a value in.
std::string_view plain_variable(std::string_view value, std::size_t at) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const bool braced = value.substr(at).starts_with("${");
  const std::size_t begin = at + (braced ? 2 : 1);
  std::size_t end = begin;
  while (end < value.size() && letter(value[end])) ++end;
  if (end == begin || (braced && (end == value.size() || value[end] != '}'))) return {};
  return value.substr(at, end - at + (braced ? 1 : 0));
}

/// In double quotes, where a shell puts the variables in that `is_open` knows; it runs nothing of it.
template <typename IsOpen> std::string with_variables(std::string_view value, IsOpen is_open) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < value.size(); ++at) {
    const std::string_view variable = value[at] == '$' ? plain_variable(value, at) : std::string_view{};
    if (!variable.empty() && is_open(variable)) {
      quoted += variable;
      at += variable.size() - 1;
      continue;
    }
    if (std::string_view("\"\\$`").find(value[at]) != std::string_view::npos) quoted += '\\';
    quoted += value[at];
  }
  return quoted + "\"";
}

/// Does a shell run a command for it? What was quoted in the launch looks the same.
bool asks_a_command(std::string_view value) { return value.find("$(") != value.npos || value.find('`') != value.npos; }

std::vector<std::string> split_at_blanks(const std::string& value) {
  std::vector<std::string> words(1);
  for (const char c : value) {
    if (c != ' ') words.back() += c;
    else if (!words.back().empty()) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Lists, and values of arguments that nobody knows, are several words as they were; "${A:-b c}" stays one.
std::string carried_value(const GivenArgument& given, const ArgumentFact* fact) {
  const bool flag = fact != nullptr && fact->takes == "flag";
  if (flag || (fact == nullptr && given.value == "true")) return {};
  const bool several = (fact == nullptr || fact->takes == "list") && given.value.find("${") == std::string::npos &&
                       given.value.find("$(") == std::string::npos;
  const auto word = [&](const std::string& text) {
    const auto is_open = [&](std::string_view variable) {
      return std::any_of(given.unset.begin(), given.unset.end(),
          [&](const std::string& name) { return variable == "$" + name || variable == "${" + name + "}"; });
    };
    return given.unset.empty() || text.find('$') == std::string::npos ? shell_word(text)
                                                                      : with_variables(text, is_open);
  };
  if (!several) return word(given.value);
  std::string text;
  for (const std::string& part : split_at_blanks(given.value)) text += (text.empty() ? "" : " ") + word(part);
  return text;
}

bool says_off(const GivenArgument& given, const ArgumentFact* fact) {
  return fact != nullptr && fact->takes == "flag" && (given.value == "false" || given.value == "False");
}

/// The plan says it anew. What is asked for the vocabulary's sake only is the user's own: which tokenizer; and so are
/// what lies in host memory and the optimizer, of which a plan has the bytes alone.
bool is_of_step(const ArgumentFact* fact) {
  if (fact == nullptr) return false;
  if (!fact->asks) return fact->reach == Reach::step;
  constexpr Asked own[] = {Asked::tokenizer, Asked::optimizer_name};
  return std::ranges::find(own, *fact->asks) == std::end(own) && !is_beside_plan(*fact->asks);
}

/// The rows that are written again: the last of each name.
std::vector<const GivenArgument*> kept_arguments(const Launch& like, const std::set<std::string>& written) {
  std::vector<const GivenArgument*> kept;
  for (const GivenArgument& given : like.arguments) {
    const ArgumentFact* fact = like.framework->table().find(given.name);
    const std::string& name = fact == nullptr ? given.name : fact->name;
    if (like.counts(given) && !is_of_step(fact) && !written.contains(name) && !says_off(given, fact))
      kept.push_back(&given);
  }
  return kept;
}

/// Of one whose value is missing: it hung on a variable that is set to nothing, as in an example's PATH=<path>.
bool lacks_value(const GivenArgument& given, const ArgumentFact* fact) {
  return fact != nullptr && fact->takes != "flag" && given.value == "true" && fact->known.empty();
}

/// Why it is not written again; "" where it is.
std::string left_out_because(const Launch& like, const GivenArgument& given) {
  const ArgumentTable& table = like.framework->table();
  const ArgumentFact* fact = table.find(given.name);
  if (!is_plain_name(as_argument(given))) return "is no name";
  if (!given.unset.empty() && asks_a_command(given.value)) return "hangs on what a command prints";
  if (fact == nullptr) return {};
  if (lacks_value(given, fact)) return "has no value there";
  if (table.releases().empty() || table.knows(*fact, "")) return {};
  return fact->instead.empty() ? "is gone since " + fact->until
                               : fmt::format("is gone since {}, {} took its place", fact->until, fact->instead);
}

}  // namespace

EmittedGroup carried_arguments(const Launch& like, const std::set<std::string>& written) {
  EmittedGroup group{fmt::format("As in {}", like.where), {}};
  for (const GivenArgument* kept : kept_arguments(like, written)) {
    const GivenArgument& given = *kept;
    if (!left_out_because(like, given).empty()) continue;
    const ArgumentFact* fact = like.framework->table().find(given.name);
    const bool uncovered = fact != nullptr && fact->reach == Reach::uncovered;
    const char* unknown = fact == nullptr && !like.framework->table().facts().empty() ? "not known of any release" : "";
    group.add(as_argument(given).substr(2), carried_value(given, fact), uncovered ? "no forecast follows it" : unknown);
  }
  return group;
}

std::vector<std::string> not_carried(const Launch& like, const std::set<std::string>& written) {
  std::vector<std::string> texts;
  for (const GivenArgument* given : kept_arguments(like, written))
    if (const std::string why = left_out_because(like, *given); !why.empty())
      texts.push_back(fmt::format("{} {}", as_argument(*given), why));
  return texts;
}

std::set<std::string> variables_of(const Launch& like, const EmittedGroup& carried) {
  std::set<std::string> names;
  for (const GivenArgument& given : like.arguments)
    for (const std::string& name : given.unset)
      for (const EmittedArgument& row : carried.arguments)
        if ("--" + row.name == as_argument(given) && !name.starts_with('$') && !name.starts_with('`'))
          names.insert("$" + name);
  return names;
}

std::vector<EmittedArgument> carried_environment(const Launch& like) {
  std::vector<EmittedArgument> rows;
  for (const auto& [name, value] : like.environment) {
    const auto begins = [&known = name](std::string_view prefix) { return known.starts_with(prefix); };
    const bool known_prefix = std::any_of(std::begin(carried_prefixes), std::end(carried_prefixes), begins);
    const bool variable = is_plain_name(name) && name.find_first_of(".-") == std::string::npos;
    const auto is_open = [](std::string_view) { return true; };
    if (known_prefix && variable && !asks_a_command(value))
      rows.push_back(
          {name, value.find('$') == std::string::npos ? shell_word(value) : with_variables(value, is_open), ""});
  }
  return rows;
}

/// megatron/training/arguments.py of core_v0.19.0: any but Adam and SGD is refused with Megatron-FSDP, has its states
/// layer by layer on the data ranks where use_distributed_optimizer says so, and dist_muon has whatever it says.
std::string kept_optimizer_gap(const EmitPlan& plan, const Launch* like) {
  if (like == nullptr) return {};
  LaunchAnswers ask(*like);
  const std::string name = lower_case(ask.text(Asked::optimizer_name).value_or("adam"));
  const bool usual = name.find("adam") != name.npos || name == "sgd";
  const std::int64_t zero = plan.split.zero;
  if (!usual && zero >= 2)
    return fmt::format("zero {} beside the optimizer {}, which Megatron-FSDP refuses", zero, name);
  return text_if(zero == 0 && name == "dist_muon",
      "zero 0 beside dist_muon, whose name puts states in shards; --optimizer muon keeps them whole");
}

bool gives_any(const Launch* like, std::initializer_list<std::string_view> names) {
  if (like == nullptr) return false;
  return std::any_of(like->arguments.begin(), like->arguments.end(), [&](const GivenArgument& given) {
    const bool named = std::find(names.begin(), names.end(), given.name) != names.end();
    return named && !lacks_value(given, like->framework->table().find(given.name));
  });
}

}  // namespace stepcast::launch
