// Nanotron: src/nanotron/config/parallelism_config.py, src/nanotron/parallel/context.py
#include "model/base/text.h"
#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {

Expected<void> settle_nanotron(DialectWords& words) {
  std::erase_if(
      words.launch.arguments, [](const GivenArgument& given) { return given.name.starts_with("lighteval."); });
  if (const GivenArgument* mode = words.last("parallelism.tp_mode"))
    words.put("parallelism.tp_mode", lower_case(mode->value) == "reduce_scatter" ? "true" : "false");
  if (!words.has("parallelism.pp_engine")) words.put("parallelism.pp_engine", "afab", "parallelism.pp");
  TRY(const std::int64_t experts, words.count("parallelism.expert_parallel_size", 1));
  if (experts > 1 && words.has("parallelism.dp")) {  // its data ranks are beside those of experts
    TRY(const std::int64_t dp, words.count("parallelism.dp"));
    words.put("parallelism.dp", std::to_string(dp * experts));
  }
  if (!words.is_on("model_config.moe_config.enable_shared_expert"))
    words.drop("model_config.moe_config.shared_expert_intermediate_size");
  const GivenArgument* layers = words.last("model_config.moe_config.layers");
  if (layers != nullptr && layers->value.find("-1") == std::string::npos)
    return tl::unexpected(words.limit(*layers, "experts in some layers alone are not read"));
  return {};
}

}  // namespace stepcast::launch
