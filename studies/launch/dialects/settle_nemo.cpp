// NeMo 2 and Megatron-Bridge: nemo/collections/llm/recipes, src/megatron/bridge/recipes.
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {
namespace {

bool answers_one(const Launch& launch, Asked asked) {
  return std::ranges::any_of(launch.arguments, [&](const GivenArgument& given) {
    const ArgumentFact* fact = launch.framework->table().find(given.name);
    return fact != nullptr && fact->asks == asked;
  });
}

/// What every recipe sets, and the flag that tells it.
struct RecipeSetting {
  Asked asked;
  FieldId field;
  std::string_view name, flag;
};
constexpr RecipeSetting recipe_settings[] = {{Asked::tp, FieldId::tp, "tensor_model_parallel_size", "--tp"},
    {Asked::pp, FieldId::pp, "pipeline_model_parallel_size", "--pp"},
    {Asked::cp, FieldId::cp, "context_parallel_size", "--cp"},
    {Asked::micro_batch, FieldId::micro_batch, "micro_batch_size", "--micro-batch"},
    {Asked::global_batch, FieldId::global_batch, "global_batch_size", "--global-batch"},
    {Asked::sequence, FieldId::sequence, "seq_length", "--seq"}};

/// finetune_recipe() has peft_scheme "lora" unless told; recipes of adapters have them in their names.
bool tunes_adapters(std::string_view recipe, std::string_view program) {
  const std::string_view tuned[] = {"finetune", "lora", "dora", "peft"};
  return program.find("finetune") != program.npos ||
         std::ranges::any_of(tuned, [&](std::string_view word) { return recipe.find(word) != recipe.npos; });
}

}  // namespace

/// A recipe brings a split of its own, which stands in Python: what the launch does not tell of it is asked for.
Expected<void> settle_nemo(DialectWords& words) {
  const GivenArgument* recipe = nullptr;
  for (const std::string_view name : {"factory", "recipe", "model_recipe_name", "mr"})
    if (recipe == nullptr) recipe = words.last(name);
  if (recipe == nullptr || says_yes(recipe->value)) return {};
  std::vector<std::string_view> untold, flags;
  for (const RecipeSetting& row : recipe_settings)
    if (!words.launch.told.contains(row.field) && !answers_one(words.launch, row.asked))
      untold.push_back(row.name), flags.push_back(row.flag);
  if (!untold.empty())
    return fail(place_of(words.launch, *recipe),
        fmt::format("the recipe {:.60} has settings of its own, which are not read, and the launch does not tell {}",
            recipe->value, fmt::join(untold, ", ")),
        fmt::format("{} N; or -- {}=N at the end of the command", fmt::join(flags, " N "), fmt::join(untold, "=N ")));
  const bool ranked = words.launch.told.contains(FieldId::lora) || answers_one(words.launch, Asked::lora_rank);
  if (tunes_adapters(recipe->value, words.launch.program) && !ranked)
    return fail(place_of(words.launch, *recipe),
        fmt::format("the recipe {:.60} may tune adapters, whose rank the launch does not tell", recipe->value),
        "--lora N; or -- peft.dim=N at the end of the command");
  words.note(fmt::format(
      "what else the recipe {:.60} sets (recomputation, overlap, number types) is not read", recipe->value));
  return {};
}

}  // namespace stepcast::launch
