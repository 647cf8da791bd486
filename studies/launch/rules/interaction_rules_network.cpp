// Rules about the network, its number types and what Megatron-LM's defaults make of it: those are GPT-2's
// (megatron/training/ arguments.py, main of 2026-08), while most launches of today train something like Llama. And
// about releases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "studies/launch/facts/text_if.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast::launch {
namespace {

bool rotates(LaunchView& run) {
  return run.asks(Asked::rotary) || lower_case(run.ask.text(Asked::positions).value_or("")) == "rope";
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
  if (!run.asks(Asked::gated_mlp)) return {};
  std::vector<std::string> left;
  if (!run.ask.is_given(Asked::no_linear_bias) && !run.ask.is_given(Asked::linear_bias))
    left.push_back(fmt::format("biases on every product ({})", run.called(Asked::no_linear_bias)));
  if (!run.ask.is_given(Asked::norm)) left.push_back(fmt::format("LayerNorm ({} RMSNorm)", run.called(Asked::norm)));
  if (!rotates(run) && !run.ask.is_given(Asked::positions) && !run.ask.is_given(Asked::no_positions))
    left.push_back(fmt::format("learned positions ({} rope)", run.called(Asked::positions)));
  if (left.empty()) return {};
  return fmt::format("{} beside defaults of GPT-2: {}", run.called(Asked::gated_mlp), fmt::join(left, ", "));
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

}  // namespace

std::vector<InteractionRule> network_rules_of_launches(LaunchView& run) {
  constexpr unsigned megatrons = megatron_core | megatron_deepspeed, older = megatron_lm | megatron_deepspeed;
  LaunchAnswers& ask = run.ask;
  const std::int64_t groups = ask.count(Asked::kv_heads, 0), hidden = ask.count(Asked::hidden, 0);
  const std::int64_t positions = ask.count(Asked::max_positions, 0), local_experts = run.experts / run.ep;
  const bool gated = run.asks(Asked::gated_mlp), bf16 = run.asks(Asked::bf16), fp16 = run.asks(Asked::fp16);
  const std::string capacity = ask.text(Asked::capacity).value_or("-");
  return {
      {"no common release", any_framework, true, "", no_common_release(run)},
      {"ignored groups", megatron_lm, true, "kv_heads heads",
          text_if(groups > 0 && !run.asks(Asked::grouped_queries),
              "{} {} is ignored without {}: attention is multi-head, with {} groups", run.called(Asked::kv_heads),
              groups, run.called(Asked::grouped_queries),
              run.heads > 0 ? std::to_string(run.heads) : "as many as heads")},
      // validate_args: int(8 h / 3 / 64) * 64 with three matrices.
      {"gated without width", megatron_lm, false, "gated_mlp hidden",
          text_if(gated && ask.answering(Asked::ffn_hidden) == nullptr && hidden > 0,
              "{} without {}: the MLP becomes {} wide, 8/3 of hidden {} in whole 64s", run.called(Asked::gated_mlp),
              run.called(Asked::ffn_hidden), 8 * hidden / 3 / 64 * 64, hidden)},
      {"default dropout", older, false, "rotary positions norm", default_dropout(run)},
      {"default network", older, false, "gated_mlp", default_network(run)},
      {"tied by default", older, false, "gated_mlp",
          text_if(gated && !ask.is_given(Asked::untied) && !ask.is_given(Asked::tied),
              "without {} the LM head is the embedding; networks with a gated MLP mostly keep two",
              run.called(Asked::untied))},
      {"padded vocabulary", megatrons, false, "vocabulary vocabulary_divisor tp", padded_vocabulary(run)},
      {"two number types", megatrons | deepspeed, true, "bf16 fp16",
          text_if(bf16 && fp16, "{} and {} contradict each other: one of them", run.called(Asked::bf16),
              run.called(Asked::fp16))},
      {"no number type", older, false, "",
          text_if(!ask.is_given(Asked::bf16) && !ask.is_given(Asked::fp16) && !ask.is_given(Asked::precision),
              "neither {} nor {}: everything is trained in fp32", run.called(Asked::bf16), run.called(Asked::fp16))},
      {"two narrow types", megatron_core, true, "fp8 fp4",
          text_if(run.asks(Asked::fp8) && run.asks(Asked::fp4), "{} and {} contradict each other: one of them",
              run.called(Asked::fp8), run.called(Asked::fp4))},
      // megatron/core/transformer/moe/moe_utils.py: rows beyond the capacity are dropped; padding makes shapes static.
      {"limited experts", megatron_core, false, "capacity experts moe_pad_expert_input_to_capacity",
          text_if(!capacity.starts_with("-") && run.experts > 1,
              "{} {}: an expert takes at most {} x the mean rows and drops the rest{}", run.called(Asked::capacity),
              capacity, capacity,
              run.has("moe_pad_expert_input_to_capacity") ? ", padded to it"
                                                          : ", unpadded, so that shapes still change")},
      {"experts one by one", megatron_lm, false, "experts ep",
          text_if(local_experts > 1 && !run.has("moe_grouped_gemm"),
              "without {} the {} experts of a rank are multiplied one after another", run.called("moe_grouped_gemm"),
              local_experts)},
      // validate_args: rows of the position table.
      {"few positions", older, true, "max_positions sequence",
          text_if(positions > 0 && run.sequence > positions, "{} {} is less than the sequence of {}",
              run.called(Asked::max_positions), positions, run.sequence)},
  };
}

}  // namespace stepcast::launch
