#include "studies/records/recipe_rule.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "studies/records/stack_rule.h"

namespace stepcast::records {
namespace {

/// Fields with "" match anything. `gpus` and `networks` hold words of which one has to be the name, or its beginning up
/// to a hyphen, as which an underscore counts; `precision` is the record's.
struct RecipeRule {
  std::string_view from, until;  ///< container releases, `until` included
  std::string_view gpus, networks, precision;
  Dispatch dispatch;
  Capture captured;
  bool overlapped;
  bool narrow_attention, narrow_head;
};

constexpr Dispatch recipe_rows = Dispatch::rows, tokens = Dispatch::tokens;
constexpr Capture nothing = Capture::nothing, parts = Capture::static_parts, step = Capture::step;

// NVIDIA-NeMo/Megatron-Bridge, tags v0.1.0 to v0.6.0 (containers 25.09 to 26.08): scripts/performance/configs/*/
// *workload_base_configs.py, since v0.6.0 src/megatron/bridge/perf_recipes: moe_flex_dispatcher_backend (none is
// all-to-all, deepep and hybridep send tokens), cuda_graph_impl and cuda_graph_scope, moe_a2a_overlap,
// fp8_dot_product_attention, and fp8_output_proj in *_llm_pretrain.py. First fit.
constexpr RecipeRule recipe_rules[] = {
    {"26.06", "", "GB200 GB300", "DeepSeek", "mxfp8", tokens, step, true, true, true},
    {"26.06", "", "GB200 GB300", "GPT-OSS", "mxfp8", tokens, step, true, true, true},
    {"26.06", "", "GB200 GB300", "Qwen3", "mxfp8", tokens, step, true, true, false},
    {"26.04", "", "GB300", "Kimi", "", tokens, nothing, false, false, false},
    {"26.04", "26.04.01", "GB300", "DeepSeek", "mxfp8", tokens, nothing, false, false, false},
    {"26.04", "", "GB200", "GPT-OSS", "bf16", tokens, nothing, true, false, false},
    {"25.11", "", "GB200", "GPT-OSS", "bf16", recipe_rows, nothing, false, false, false},
    {"25.11", "", "GB300", "GPT-OSS", "bf16", recipe_rows, parts, false, false, false},
    {"25.11", "", "GB200 GB300", "", "", tokens, parts, false, false, false},
    {"25.09", "25.09", "GB200", "Qwen3", "", recipe_rows, parts, false, false, false},
    {"25.09", "", "H100", "DeepSeek", "", tokens, nothing, true, false, false},
    {"26.02.01", "26.02.01", "H100", "Qwen3-235B", "", tokens, nothing, true, false, false},
    {"25.11", "", "H100", "Qwen3-235B", "", recipe_rows, nothing, true, false, false},
    {"25.11", "26.02.01", "H100", "Qwen3-30B", "", recipe_rows, nothing, true, false, false},
    {"26.04", "", "H100", "Qwen3-30B", "", tokens, nothing, false, false, false},
    {"26.02", "26.02", "B300", "Qwen3-235B", "", recipe_rows, nothing, true, false, false},
    {"26.02.01", "26.02.01", "B300", "Qwen3-235B", "", tokens, nothing, false, false, false},
    {"26.02", "", "B200 B300", "DeepSeek", "", tokens, nothing, false, false, false},
    {"26.02", "", "B300", "Qwen3-30B", "", tokens, parts, false, false, false},
    {"26.02.01", "", "B200", "Qwen3-30B", "", tokens, parts, false, false, false},
    {"25.11", "", "B200", "Qwen3-30B", "", recipe_rows, parts, false, false, false},
    {"26.04", "", "B300", "GPT-OSS", "", tokens, parts, false, false, false},
    {"26.02", "", "B300", "GPT-OSS", "", recipe_rows, parts, false, false, false},
    {"26.04", "", "B200", "GPT-OSS", "", tokens, nothing, false, false, false},
    {"26.02", "", "B200", "Nemotron-3-Super", "mxfp8", tokens, nothing, false, false, false},
    {"26.02", "", "", "Nemotron-3-Nano Nemotron-3-Super Nemotron-3-5-Lightning", "", tokens, parts, false, false,
        false},
};

bool holds(std::string_view words, std::string text) {
  if (words.empty()) return true;
  std::ranges::replace(text, '_', '-');
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    if (text == word || (text.starts_with(word) && text[word.size()] == '-')) return true;
    at = end + 1;
  }
  return false;
}

/// "26.02.01" of "Megatron-Bridge, NeMo 26.02.01 container"; "26.06" of "nemo 26.06.rc7". Their order is that of text.
/// Containers are called after their month: software that nobody knows counts as that of its record's.
std::string release_of(const Run& run) {
  if (stack_of(run).guessed) return run.date.size() < 7 ? "" : run.date.substr(2, 2) + '.' + run.date.substr(5, 2);
  const std::string text = run.software.value_or("");
  const std::size_t digits = text.find_first_of("0123456789");
  if (digits == std::string::npos) return {};
  std::string release = text.substr(digits, text.find_first_not_of("0123456789.", digits) - digits);
  while (release.ends_with('.')) release.pop_back();
  return release;
}

bool fits(const RecipeRule& rule, const Run& run) {
  const std::string release = release_of(run);
  if (release < rule.from || (!rule.until.empty() && release > rule.until)) return false;
  const bool in_precision = rule.precision.empty() || run.precision.value_or("") == rule.precision;
  return in_precision && holds(rule.gpus, run.hardware.gpu) && holds(rule.networks, run.model.name);
}

}  // namespace

void follow_recipe(const Run& run, Stack& stack, std::vector<std::string>& assumptions) {
  const std::string software = run.software.value_or("");
  const bool routed = run.model.experts || run.model.attention.value_or("") == "hybrid";
  if (!routed) return;
  if (software.find("DeepEP") != std::string::npos) {
    stack.expert_dispatch = tokens;
    assumptions.emplace_back("tokens dispatched by DeepEP");
  }
  // Who trains experts by software that nobody knows, in Megatron's way, is taken to set what these recipes set.
  const RunStack named = stack_of(run);
  const bool taken_for_it = named.guessed && named.id == "megatron-core";
  if (software.find("Megatron-Bridge") == std::string::npos && !taken_for_it) return;
  const auto rule =
      std::find_if(std::begin(recipe_rules), std::end(recipe_rules), [&](const RecipeRule& r) { return fits(r, run); });
  if (rule == std::end(recipe_rules)) return;
  stack.expert_dispatch = rule->dispatch;
  stack.captured = rule->captured;
  // one fused grouped product (cutedsl_fused_grouped_mlp)
  if (rule->captured == Capture::step) stack.calls_per_expert = 0;
  stack.expert_moves = rule->overlapped ? Manners::overlapped : Manners::blocking;
  stack.narrow_attention = rule->narrow_attention;
  stack.narrow_head = rule->narrow_head;
  assumptions.push_back(fmt::format("as in the release's recipe: {} dispatched, {} in CUDA graphs, expert exchanges {}",
      rule->dispatch == recipe_rows ? "rows" : "tokens",
      rule->captured == step    ? "the step"
      : rule->captured == parts ? "parts"
                                : "nothing",
      rule->overlapped ? "overlapped" : "not overlapped"));
}

}  // namespace stepcast::records
