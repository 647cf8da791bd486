// Rules about the network, its number types and what Megatron-LM's defaults make of it: those are GPT-2's
// (megatron/training/ arguments.py, main of 2026-08), while most launches of today train something like Llama. And
// about releases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast {
namespace {

std::string ignored_groups(LaunchView& run) {
  const auto groups = run.ask.count(Asked::kv_heads);
  if (!groups || run.ask.flag(Asked::grouped_queries, false)) return {};
  return fmt::format("{} {} is ignored without {}: attention is multi-head, with {} groups",
      run.called(Asked::kv_heads), *groups, run.called(Asked::grouped_queries),
      run.heads > 0 ? std::to_string(run.heads) : "as many as heads");
}

bool is_gated(LaunchView& run) { return run.ask.flag(Asked::gated_mlp, false); }

/// validate_args: int(8 h / 3 / 64) * 64 with three matrices.
std::string gated_without_width(LaunchView& run) {
  const auto hidden = run.ask.count(Asked::hidden);
  if (!is_gated(run) || run.ask.answering(Asked::ffn_hidden) != nullptr || !hidden) return {};
  return fmt::format("{} without {}: the MLP becomes {} wide, 8/3 of hidden {} in whole 64s",
      run.called(Asked::gated_mlp), run.called(Asked::ffn_hidden), 8 * *hidden / 3 / 64 * 64, *hidden);
}

bool rotates(LaunchView& run) {
  return run.ask.flag(Asked::rotary, false) || lower_case(run.ask.text(Asked::positions).value_or("")) == "rope";
}

bool root_mean_square(LaunchView& run) {
  return lower_case(run.ask.text(Asked::norm).value_or("")).find("rms") != std::string::npos;
}

std::string default_dropout(LaunchView& run) {
  if (!rotates(run) && !root_mean_square(run)) return {};
  std::vector<std::string> left;
  for (const Asked asked : {Asked::attention_dropout, Asked::hidden_dropout}) {
    if (run.ask.is_given(asked)) continue;
    const double rate = run.ask.number_or_default(asked).value_or(0);
    if (rate > 0) left.push_back(fmt::format("{} {:g}", run.called(asked), rate));
  }
  if (left.empty()) return {};
  return fmt::format(
      "dropout stays on by default ({}), with kernels and masks of its own; networks with {} train without",
      fmt::join(left, ", "), rotates(run) ? "rotary positions" : "RMSNorm");
}

std::string default_network(LaunchView& run) {
  if (!is_gated(run)) return {};
  std::vector<std::string> left;
  if (!run.ask.is_given(Asked::no_linear_bias) && !run.ask.is_given(Asked::linear_bias))
    left.push_back(fmt::format("biases on every product ({})", run.called(Asked::no_linear_bias)));
  if (!run.ask.is_given(Asked::norm)) left.push_back(fmt::format("LayerNorm ({} RMSNorm)", run.called(Asked::norm)));
  if (!rotates(run) && !run.ask.is_given(Asked::positions) && !run.ask.is_given(Asked::no_positions))
    left.push_back(fmt::format("learned positions ({} rope)", run.called(Asked::positions)));
  if (left.empty()) return {};
  return fmt::format("{} beside defaults of GPT-2: {}", run.called(Asked::gated_mlp), fmt::join(left, ", "));
}

std::string tied_by_default(LaunchView& run) {
  if (!is_gated(run) || run.ask.is_given(Asked::untied) || run.ask.is_given(Asked::tied)) return {};
  return fmt::format(
      "without {} the LM head is the embedding; networks with a gated MLP mostly keep two", run.called(Asked::untied));
}

/// megatron/training/tokenizer: the vocabulary grows until tensor ranks hold alike.
std::string padded_vocabulary(LaunchView& run) {
  const auto words = run.ask.count(Asked::vocabulary);
  const double divisor = run.ask.number_or_default(Asked::vocabulary_divisor).value_or(0);
  if (!words || divisor < 1 || run.ask.answering(Asked::padded_vocabulary) != nullptr) return {};
  const std::int64_t step = static_cast<std::int64_t>(divisor) * run.tp, padded = (*words + step - 1) / step * step;
  if (padded == *words) return {};
  return fmt::format("vocabulary {} is padded to {}, a multiple of {} {:g} x tp {}", *words, padded,
      run.called(Asked::vocabulary_divisor), divisor, run.tp);
}

std::string two_number_types(LaunchView& run) {
  if (!run.ask.flag(Asked::bf16, false) || !run.ask.flag(Asked::fp16, false)) return {};
  return fmt::format("{} and {} contradict each other: one of them", run.called(Asked::bf16), run.called(Asked::fp16));
}

std::string no_number_type(LaunchView& run) {
  for (const Asked asked : {Asked::bf16, Asked::fp16, Asked::precision})
    if (run.ask.is_given(asked)) return {};
  return fmt::format(
      "neither {} nor {}: everything is trained in fp32", run.called(Asked::bf16), run.called(Asked::fp16));
}

std::string two_eights(LaunchView& run) {
  if (!run.ask.flag(Asked::fp8, false) || !run.ask.flag(Asked::fp4, false)) return {};
  return fmt::format("{} and {} contradict each other: one of them", run.called(Asked::fp8), run.called(Asked::fp4));
}

/// megatron/core/transformer/moe/moe_utils.py: rows beyond the capacity are dropped; padding makes shapes static.
std::string limited_experts(LaunchView& run) {
  const auto factor = run.ask.text(Asked::capacity);
  if (!factor || factor->starts_with("-") || run.experts < 2) return {};
  return fmt::format("{} {}: an expert takes at most {} x the mean rows and drops the rest{}",
      run.called(Asked::capacity), *factor, *factor,
      run.has("moe_pad_expert_input_to_capacity") ? ", padded to it" : ", unpadded, so that shapes still change");
}

std::string experts_one_by_one(LaunchView& run) {
  const std::int64_t local = run.experts / run.ep;
  if (run.experts < 2 || local < 2 || run.has("moe_grouped_gemm")) return {};
  return fmt::format(
      "without {} the {} experts of a rank are multiplied one after another", run.called("moe_grouped_gemm"), local);
}

/// validate_args: rows of the position table.
std::string few_positions(LaunchView& run) {
  const std::int64_t most = run.ask.count(Asked::max_positions, 0);
  if (most == 0 || run.sequence <= most) return {};
  return fmt::format("{} {} is less than the sequence of {}", run.called(Asked::max_positions), most, run.sequence);
}

/// The first argument to go and the last to come, where that is too late.
std::string no_common_release(LaunchView& run) {
  const ArgumentTable& table = run.launch.framework->table();
  const GivenArgument *gone = nullptr, *came = nullptr;
  std::string until, since;
  for (const GivenArgument& given : run.launch.arguments) {
    const ArgumentFact* fact = table.find(given.name);
    if (fact == nullptr) continue;
    if (!fact->until.empty() && (gone == nullptr || table.before(fact->until, until)))
      gone = &given, until = fact->until;
    if (!fact->since.empty() && (came == nullptr || table.before(since, fact->since)))
      came = &given, since = fact->since;
  }
  if (gone == nullptr || came == nullptr || table.before(since, until)) return {};
  return fmt::format(
      "{} went with release {} and {} came with {}: no release takes both", gone->spelled, until, came->spelled, since);
}

constexpr InteractionRule network_interaction_rules[] = {
    {"no common release", any_framework, true, "", no_common_release},
    {"ignored groups", megatron_lm, true, "kv_heads heads", ignored_groups},
    {"gated without width", megatron_lm, false, "gated_mlp hidden", gated_without_width},
    {"default dropout", megatron_lm | megatron_deepspeed, false, "rotary positions norm", default_dropout},
    {"default network", megatron_lm | megatron_deepspeed, false, "gated_mlp", default_network},
    {"tied by default", megatron_lm | megatron_deepspeed, false, "gated_mlp", tied_by_default},
    {"padded vocabulary", megatron_core | megatron_deepspeed, false, "vocabulary vocabulary_divisor tp",
        padded_vocabulary},
    {"two number types", megatron_core | megatron_deepspeed | deepspeed, true, "bf16 fp16", two_number_types},
    {"no number type", megatron_lm | megatron_deepspeed, false, "", no_number_type},
    {"two narrow types", megatron_core, true, "fp8 fp4", two_eights},
    {"limited experts", megatron_core, false, "capacity experts moe_pad_expert_input_to_capacity", limited_experts},
    {"experts one by one", megatron_lm, false, "experts ep", experts_one_by_one},
    {"few positions", megatron_lm | megatron_deepspeed, true, "max_positions sequence", few_positions},
};

}  // namespace

std::span<const InteractionRule> network_rules_of_launches() { return network_interaction_rules; }

}  // namespace stepcast
