#include "studies/launch/facts/argument_words.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "model/base/utf8.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

/// Questions that the flags of predict put in a word of their own.
struct AskedWord {
  Asked asked;
  std::string_view text;  ///< {} is the value
};
// clang-format off
constexpr AskedWord asked_words[] = {
    {Asked::tp, "tp {}"}, {Asked::pp, "pp {}"}, {Asked::cp, "cp {}"}, {Asked::ep, "ep {}"}, {Asked::etp, "etp {}"},
    {Asked::ulysses, "cp {}, Ulysses"}, {Asked::zero, "zero {}"}, {Asked::chunks, "{} chunks per stage"},
    {Asked::layers_per_chunk, "chunks of {} layers"}, {Asked::sequence_parallel, "sp"}, {Asked::replicas, "rep {}"},
    {Asked::shards, "shard {}"}, {Asked::shard_ranks, "shard {}"}, {Asked::micro_batch, "micro-batch {}"},
    {Asked::global_batch, "global batch {}"}, {Asked::accumulation, "{} micro-batches"}, {Asked::layers, "layer:{}"},
    {Asked::hidden, "h:{}"}, {Asked::ffn_hidden, "f:{}"}, {Asked::heads, "g*r:{}"}, {Asked::kv_heads, "g:{}"},
    {Asked::head_dim, "d:{}"}, {Asked::sequence, "s:{}"}, {Asked::vocabulary, "v:{}"}, {Asked::experts, "e:{}"},
    {Asked::top_k, "top {}"}, {Asked::expert_ffn, "j:{}"}, {Asked::lora_rank, "LoRA rank {}"},
};
// clang-format on

/// "", "on" of flags; long values are cut in the middle, where paths say least.
std::string shown_value(const std::string& value) {
  constexpr std::size_t most = 60;
  if (value.size() <= most) return value;
  return fmt::format("{}...{}", utf8_head(value, most / 2), utf8_tail(value, most / 2));
}

bool same_value(const std::string& one, const std::string& other) {
  double a = 0, b = 0;
  const auto read = [](const std::string& text, double& into) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), into);
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
  };
  if (read(one, a) && read(other, b)) return a == b;
  return lower_case(one) == lower_case(other);
}

/// "1.0", or "2.0 to 23.04".
std::string knowing_releases(const ArgumentTable& table, const ArgumentFact& fact) {
  std::string first, last;
  for (const Release& release : table.releases()) {
    if (!table.knows(fact, release.id)) continue;
    if (first.empty()) first = release.id;
    last = release.id;
  }
  return first == last ? first : fmt::format("{} to {}", first, last);
}

std::string took_its_place(const Launch& launch, const ArgumentFact& fact) {
  return fact.instead.empty() ? "nothing took its place"
                              : fmt::format("{} took its place", spelled_name(*launch.framework, fact.instead));
}

/// Outside the releases that know it: of the launch's release, or of the newest; and what went since the launch's.
std::string of_other_releases(const Launch& launch, const ArgumentFact& fact) {
  const ArgumentTable& table = launch.framework->table();
  const bool known = table.knows(fact, launch.release);
  if (known && table.knows(fact, "")) return {};
  if (known) return fmt::format("gone with {}; {}", fact.until, took_its_place(launch, fact));
  const std::string release = launch.release.empty() ? "today's release" : fmt::format("release {}", launch.release);
  if (!fact.since.empty() && table.before(launch.release, fact.since))
    return fmt::format("{} does not know it yet: it came with {}", release, fact.since);
  return fmt::format("{} does not know it any more: known of {}, gone with {}; {}", release,
      knowing_releases(table, fact), fact.until, took_its_place(launch, fact));
}

std::string of_default(const Launch& launch, const ArgumentFact& fact, const std::string& value) {
  const std::string usual = launch.framework->table().default_of(fact, launch.release);
  if (usual.empty() || !same_value(usual, value)) return {};
  return launch.release.empty() ? "the default anyway" : fmt::format("the default of {} anyway", launch.release);
}

std::string of_values(const ArgumentFact& fact, const GivenArgument& given) {
  if (fact.known.empty() || !given.unset.empty() || given.value.find(' ') != given.value.npos) return {};
  const bool known = std::any_of(
      fact.known.begin(), fact.known.end(), [&](const std::string& value) { return same_value(value, given.value); });
  return known ? "" : fmt::format("'{:.40}' is none of its values: {}", given.value, fmt::join(fact.known, ", "));
}

}  // namespace

std::string argument_meaning(const ArgumentFact& fact, const std::string& value) {
  const auto row = std::find_if(std::begin(asked_words), std::end(asked_words),
      [&](const AskedWord& word) { return fact.asks && word.asked == *fact.asks; });
  const bool off = fact.takes == "flag" && is_switched_off(value);
  if (off) return "Off: " + fact.what;
  if (row == std::end(asked_words)) return fact.what;
  return fmt::format("{}: {}", fmt::format(fmt::runtime(row->text), shown_value(value)), fact.what);
}

std::string spelled_argument(const GivenArgument& given) { return given.spelled.empty() ? given.name : given.spelled; }

std::string spelled_name(const Framework& framework, std::string_view name) {
  std::string spelled(name);
  const bool on_command_line = framework.id.starts_with("megatron-lm") || framework.id == "megatron-deepspeed";
  if (!on_command_line || spelled.find('.') != spelled.npos) return spelled;
  std::replace(spelled.begin(), spelled.end(), '_', '-');
  return "--" + spelled;
}

namespace {

/// torchtitan's settings can have sections of a module that a launch names (torchtitan/config/manager.py).
std::string of_module(const Launch& launch) {
  if (launch.framework->id != "torchtitan") return {};
  for (const std::string_view name : {"job.custom_config_module", "experimental.custom_args_module"})
    if (const GivenArgument* module = launch.find(name); module != nullptr && !says_none(module->value))
      return fmt::format("; {:.80} may add it, and what it does then is not known", module->value);
  return {};
}

}  // namespace

std::string unknown_argument(const Launch& launch, const GivenArgument& given, bool look) {
  std::vector<std::string_view> known;
  for (const Framework& other : frameworks()) {
    const ArgumentFact* fact = &other == launch.framework ? nullptr : other.table().find(given.name);
    if (fact != nullptr && fact->name == given.name) known.push_back(other.name);
  }
  if (!known.empty())
    return fmt::format("an argument of {}, not known of {}", fmt::join(known, ", "), launch.framework->name);
  const std::string near = look ? nearest_name(given.name, launch.framework->table().names()) : "";
  return fmt::format("not known of any release of {}{}{}", launch.framework->name,
      near.empty() ? "" : fmt::format("; near it: {}", spelled_name(*launch.framework, near)), of_module(launch));
}

std::vector<std::string> argument_doubts(const Launch& launch, const GivenArgument& given, bool look) {
  const ArgumentFact* fact = launch.framework->table().find(given.name);
  std::vector<std::string> doubts;
  const auto add = [&](std::string text) {
    if (!text.empty()) doubts.push_back(std::move(text));
  };
  if (fact == nullptr) add(unknown_argument(launch, given, look));
  if (fact != nullptr) add(of_other_releases(launch, *fact));
  if (!given.unset.empty()) add(fmt::format("hangs on ${}, which nothing sets", fmt::join(given.unset, " and $")));
  if (fact != nullptr && given.unset.empty()) {
    add(of_default(launch, *fact, given.value));
    add(of_values(*fact, given));
  }
  return doubts;
}

}  // namespace stepcast::launch
