// torchtune: recipes/*_finetune_{distributed,single_device}.py, torchtune/models/*/_model_builders.py
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/dialects/settle_dialect.h"
#include "studies/launch/facts/number_in.h"

namespace stepcast::launch {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// "llama3_1_8b" is llama3.1-8b, and "qwen3_0_6b" qwen3-0.6b: a point between digits is written as a line, behind the
/// family, which the module is named by.
std::string model_of_builder(std::string_view family, std::string_view builder) {
  const auto points = [](std::string text) {
    for (std::size_t i = 1; i + 1 < text.size(); ++i)
      if (text[i] == '_') text[i] = is_digit(text[i - 1]) && is_digit(text[i + 1]) ? '.' : '-';
    return text;
  };
  if (!builder.starts_with(family)) return points(std::string(builder));
  const std::string rest(builder.substr(family.size()));
  return points(std::string(family)) + (rest.empty() ? "" : "-" + points(rest.substr(1)));
}

/// Parts of a recipe that make another step of it than one of fine-tuning by the next word.
Expected<void> check_recipe(DialectWords& words) {
  for (const GivenArgument& given : words.launch.arguments) {
    if (given.name != "loss._component_") continue;
    const std::string loss = lower_case(given.value);
    for (const std::string_view other : {"dpo", "rso", "simpo", "ppo", "grpo", "kl"})
      if (std::string_view(loss).substr(loss.rfind('.') + 1).find(other) != std::string_view::npos)
        return tl::unexpected(words.limit(given, "trained by preferences, rewards or a teacher"));
  }
  return {};
}

/// Its builders have no modules of their own, and a switch for the MLP.
Expected<void> adapters_of_torchtune(DialectWords& words) {
  struct Module {
    std::string_view word, projection;
  };
  constexpr Module modules[] = {{"q_proj", "q"}, {"k_proj", "k"}, {"v_proj", "v"}, {"output_proj", "out"}};
  const std::string attention = words.value("model.lora_attn_modules");
  std::string adapted;
  for (const Module& row : modules)
    if (attention.find(row.word) != attention.npos)
      adapted += (adapted.empty() ? "" : ",") + std::string(row.projection);
  if (words.is_on("model.apply_lora_to_mlp")) adapted += adapted.empty() ? "gate,up,down" : ",gate,up,down";
  if (adapted.empty() && !words.launch.told.contains(FieldId::lora_on))
    return fail(words.launch.where, "adapters on no projection", "model.lora_attn_modules, or --lora-on q,v");
  words.launch.adapted = adapted;
  if (words.is_on("model.apply_lora_to_output")) words.note("the adapter of the LM head is not forecast");
  return {};
}

}  // namespace

Expected<void> settle_torchtune(DialectWords& words) {
  TRY(check_recipe(words));
  GivenArgument* model = words.last("model._component_");
  const std::string config = words.value("config");
  if (!config.empty() && contains(words.launch.unread, config))
    return fail(words.launch.where,
        fmt::format("{} is not beside the launch, and it says what is trained", shown_name(config)),
        "the file beside it, or --files-from FOLDER that has it");
  if (!config.empty() && !config.ends_with(".yaml") && !config.ends_with(".yml"))
    return fail(words.launch.where, fmt::format("torchtune's own configuration {:.60} is not read", config),
        fmt::format(
            "a copy of it (tune cp {:.60} FILE) as --torchtune FILE, with what the command changes behind --", config));
  if (model == nullptr) return fail(words.launch.where, "no model._component_", "the builder of the network");
  const std::string whole = model->value;  // arguments move when others are put beside them
  std::string_view path = whole;
  std::string_view builder = path.substr(path.rfind('.') + 1);
  path.remove_suffix(std::min(path.size(), builder.size() + 1));
  const std::string_view family = path.substr(path.rfind('.') + 1);
  const bool quantized = builder.starts_with("qlora_"), adapters = quantized || builder.starts_with("lora_");
  if (quantized || words.is_on("model.quantize_base"))
    return tl::unexpected(words.limit(*model, "weights of few bits are not forecast"));
  if (adapters) builder.remove_prefix(5);
  if (!adapters) words.drop("model.lora_rank");
  else words.put_default("model.lora_rank", "8");
  if (adapters) TRY(adapters_of_torchtune(words));
  words.put("model._component_", model_of_builder(family, builder));
  if (GivenArgument* optimizer = words.last("optimizer._component_")) {
    const std::string name = lower_case(optimizer->value.substr(optimizer->value.rfind('.') + 1));
    optimizer->value = name.find("8bit") != name.npos ? "adamw_8bit"
                       : name.starts_with("paged")    ? name.substr(5)
                                                      : name;
    // torch/optim/sgd.py: no momentum unless told, and then no states
    if (name == "sgd" && number_in(words.value("optimizer.momentum", "0")) == 0.0)
      optimizer->value = "sgd_without_momentum";
  }
  words.ask_samples("tokenizer.max_seq_len", words.is_on("dataset.packed"));
  return {};
}

}  // namespace stepcast::launch
