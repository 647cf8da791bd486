// Nanotron: src/nanotron/config/parallelism_config.py, src/nanotron/parallel/context.py
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {
namespace {

/// Its model_config says the layers, and no experts.
bool is_dense(DialectWords& words) {
  const auto of_experts = [](const GivenArgument& given) {
    return given.name.find("moe_config.") != std::string::npos && !given.value.empty();
  };
  return words.has("model_config.hidden_size") && !words.is_on("model_config.is_llamoe_config") &&
         std::ranges::none_of(words.launch.arguments, of_experts);
}

}  // namespace

Expected<void> settle_nanotron(DialectWords& words) {
  std::erase_if(
      words.launch.arguments, [](const GivenArgument& given) { return given.name.starts_with("lighteval."); });
  if (const GivenArgument* mode = words.last("parallelism.tp_mode"))
    words.put("parallelism.tp_mode", lower_case(mode->value) == "reduce_scatter" ? "true" : "false");
  TRY(const std::int64_t stages, words.count("parallelism.pp", 1));
  if (stages > 1) words.put_default("parallelism.pp_engine", "afab");
  else if (!words.has("parallelism.pp_engine")) words.put("parallelism.pp_engine", "afab", "parallelism.pp");
  if (words.has("tokens.batch_accumulation_per_replica")) {
    TRY(const std::int64_t passes, words.count("tokens.batch_accumulation_per_replica"));
    if (passes < 1)
      return fail(place_of(words.launch, *words.last("tokens.batch_accumulation_per_replica")),
          fmt::format("{} passes of a step", passes), "1 or more");
  }
  TRY(const std::int64_t experts, words.count("parallelism.expert_parallel_size", 1));
  if (experts > 1 && is_dense(words))
    return tl::unexpected(words.limit(*words.last("parallelism.expert_parallel_size"),
        "ranks of experts, and no layer has any: its model_config has no moe_config"));
  if (experts > 1 && words.has("parallelism.dp")) {  // its data ranks are beside those of experts
    TRY(const std::int64_t dp, words.count("parallelism.dp"));
    words.put("parallelism.dp", std::to_string(dp * experts));
  }
  if (!words.is_on("model_config.moe_config.enable_shared_expert"))
    words.drop("model_config.moe_config.shared_expert_intermediate_size");
  // src/nanotron/helpers.py: only the accumulator of gradients in fp32 has copies of the weights in fp32
  if (words.has("optimizer.accumulate_grad_in_fp32"))
    words.launch.short_weights = !words.is_on("optimizer.accumulate_grad_in_fp32");
  const GivenArgument* layers = words.last("model_config.moe_config.layers");
  if (layers != nullptr && layers->value.find("-1") == std::string::npos)
    return tl::unexpected(words.limit(*layers, "experts in some layers alone are not read"));
  return {};
}

}  // namespace stepcast::launch
