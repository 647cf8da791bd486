// OLMo before OLMo-core: olmo/config.py, olmo/model.py.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/launch/dialects/settle_dialect.h"
#include "studies/launch/facts/step_words.h"
#include "studies/run/forecast.h"

namespace stepcast::launch {
namespace {

/// The width that is told is of both halves of a gate.
Expected<std::int64_t> width_of_olmo(DialectWords& words, std::int64_t hidden) {
  TRY(const std::int64_t told, words.count("model.mlp_hidden_size"));
  TRY(const std::int64_t ratio, words.count("model.mlp_ratio", 4));
  const std::int64_t both = told > 0 ? told : ratio * hidden;
  const bool gated = lower_case(words.value("model.activation_type", "swiglu")) == "swiglu";
  if (gated && both % 2 != 0)
    return fail(words.launch.where, fmt::format("a gated MLP of {} columns has no halves", both), "an even number");
  return gated ? both / 2 : both;
}

/// Norms behind attention and MLP are those of OLMo 2, whose sizes are in the catalogue.
Expected<void> norms_behind(DialectWords& words, std::int64_t hidden, std::int64_t width) {
  TRY(const std::int64_t layers, words.count("model.n_layers"));
  TRY(const std::int64_t heads, words.count("model.n_heads"));
  const auto row = std::ranges::find_if(built_in().networks, [&](const NetworkSpec& one) {
    return one.norm_place == NormPlace::behind && one.layers == layers && one.hidden == hidden && one.heads == heads &&
           one.ffn_hidden == width;
  });
  if (row == built_in().networks.end())
    return tl::unexpected(words.limit(*words.last("model.norm_after"),
        "norms behind attention and MLP are read of networks in the catalogue (olmo2-7b, olmo2-13b) alone"));
  words.put("model.name", row->id);
  return {};
}

/// Norms have biases where linear layers have them, unless they are told apart (LayerNormBase in olmo/model.py).
std::string norm_of_olmo(DialectWords& words) {
  if (lower_case(words.value("model.layer_norm_type", "default")) == "rms") return "RMSNorm";
  const bool biases = words.is_on("model.bias_for_layer_norm", words.is_on("model.include_bias", true));
  return biases ? "LayerNorm" : "layernorm-without-offset";
}

/// ModelConfig in olmo/config.py: 50304 rows where nothing is told, those of the vocabulary where null is told.
void rows_of_olmo(DialectWords& words) {
  const GivenArgument* told = words.launch.find("model.embedding_size");
  if (told == nullptr || !says_none(told->value)) return words.put_default("model.embedding_size", "50304");
  words.drop("model.embedding_size");
  words.put("model.embedding_size", words.value("model.vocab_size", "50257"));
}

}  // namespace

Expected<void> settle_olmo(DialectWords& words) {
  if (!words.has_any({"model.d_model", "model.n_layers"}))
    return fail(words.launch.where, "no model.d_model and model.n_layers: a command, and not its YAML",
        "--olmo with the YAML that the command names, and its changes behind --");
  if (!words.is_on("model.rope"))
    return fail(words.launch.where, "positions without rotation (model.rope) are not read here", "a run with rope");
  TRY(const std::int64_t hidden, words.count("model.d_model"));
  TRY(const std::int64_t width, width_of_olmo(words, hidden));
  if (words.is_on("model.norm_after")) TRY(norms_behind(words, hidden, width));
  words.put("model.mlp_hidden_size", std::to_string(width), "model.d_model");
  words.note(fmt::format("MLP width {}: of mlp_hidden_size or mlp_ratio, half where it has a gate", width));
  words.put("model.layer_norm_type", norm_of_olmo(words));
  rows_of_olmo(words);
  words.put_defaults({{"global_train_batch_size", "512"}, {"fsdp.sharding_strategy", "FULL_SHARD"}});
  const GivenArgument* kept = words.last("activation_checkpointing");
  if (kept != nullptr && kept->value != "whole_layer")
    return tl::unexpected(words.limit(*kept, "recomputation of some layers or parts is not read here"));
  if (kept != nullptr) words.put("activation_checkpointing", "full");
  const bool compiles = std::ranges::any_of(
      words.launch.arguments, [](const GivenArgument& given) { return given.name.starts_with("compile."); });
  words.drop("compile");  // null says that nothing is compiled
  words.put("compile", compiles ? "true" : "false");
  return {};
}

}  // namespace stepcast::launch
