// NeMo 2 and Megatron-Bridge: nemo/collections/llm/recipes, src/megatron/bridge/recipes.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/dialects/settle_dialect.h"
#include "studies/launch/facts/nemo_recipes.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/jobs/nemo_executors.h"

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

/// What a recipe that is known has, where neither the launch nor a flag tells it.
void put_recipe(DialectWords& words, const NemoRecipe& row) {
  struct Setting {
    Asked asked;
    std::string_view name;
    std::string value;
    FieldId field;
  };
  const std::string strategy = "trainer.strategy.";
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  std::vector<Setting> settings = {{Asked::tp, "tensor_model_parallel_size", number(row.tp), FieldId::tp},
      {Asked::pp, "pipeline_model_parallel_size", number(row.pp), FieldId::pp},
      {Asked::cp, "context_parallel_size", number(row.cp), FieldId::cp},
      {Asked::ep, "expert_model_parallel_size", number(row.ep), FieldId::ep},
      {Asked::sequence_parallel, "sequence_parallel", flag(row.sequence_parallel), FieldId::sp},
      {Asked::micro_batch, "data.micro_batch_size", number(row.micro_batch), FieldId::micro_batch},
      {Asked::global_batch, "data.global_batch_size", number(row.global_batch), FieldId::global_batch},
      {Asked::sequence, "data.seq_length", number(row.sequence), FieldId::sequence},
      {Asked::sharded_optimizer, "use_distributed_optimizer", "true", FieldId::zero},
      {Asked::overlap_gradients, "overlap_grad_reduce", "true", FieldId::dp_overlap},
      {Asked::overlap_weights, "overlap_param_gather", "true", FieldId::param_overlap}};
  if (row.chunks > 0)
    settings.push_back({Asked::chunks, "virtual_pipeline_model_parallel_size", number(row.chunks), FieldId::chunks});
  if (row.recomputes) settings.push_back({Asked::recompute, "recompute_granularity", "full", FieldId::recompute});
  if (words.launch.gpus == 0 && !words.launch.told.contains(FieldId::gpus)) {
    settings.push_back({Asked::nodes, "trainer.num_nodes", number(row.nodes), FieldId::nodes});
    settings.push_back({Asked::gpus_per_node, "trainer.devices", number(row.gpus_per_node), FieldId::nodes});
  }
  std::vector<std::string> put;
  for (const Setting& one : settings) {
    if (words.launch.told.contains(one.field) || answers_one(words.launch, one.asked)) continue;
    words.put(one.name, one.value);
    put.push_back(fmt::format("{} {}", one.name, one.value));
  }
  if (!put.empty())
    words.note(fmt::format(
        "{}: as the recipe {} has it unless told (nemo/collections/llm/recipes)", fmt::join(put, ", "), row.name));
}

/// What recipes of Megatron-Bridge start from (NVIDIA-NeMo/Megatron-Bridge@067f987df0: src/megatron/bridge/recipes/
/// common.py and utils/optimizer_utils.py): pretraining sums and gathers beside the work, and the optimizer of all lies
/// in shards. `fsdp`: it says something where Megatron-FSDP is on alone.
struct CommonSetting {
  Asked asked;
  FieldId field;
  std::string_view name, value;
  bool fsdp = false;
};
constexpr CommonSetting common_pretraining[] = {
    {Asked::sharded_optimizer, FieldId::zero, "ddp.use_distributed_optimizer", "true"},
    {Asked::overlap_gradients, FieldId::dp_overlap, "ddp.overlap_grad_reduce", "true"},
    {Asked::overlap_weights, FieldId::param_overlap, "ddp.overlap_param_gather", "true"},
    {Asked::sharding, FieldId::zero, "ddp.data_parallel_sharding_strategy", "optim_grads_params", true}};
constexpr CommonSetting common_tuning[] = {
    {Asked::sharded_optimizer, FieldId::zero, "ddp.use_distributed_optimizer", "true"}};

/// Of a recipe in Python that is not read: what all of its kind start from, where the launch and flags are silent.
void put_common(DialectWords& words, const std::string& recipe) {
  const bool pretrains = recipe.find("pretrain") != recipe.npos;
  const std::span<const CommonSetting> rows =
      pretrains ? std::span<const CommonSetting>(common_pretraining) : std::span<const CommonSetting>(common_tuning);
  const bool fully = words.is_on("ddp.use_megatron_fsdp") || words.is_on("use_megatron_fsdp");
  std::vector<std::string> put;
  for (const CommonSetting& row : rows) {
    const auto is_told = [&](FieldId field) { return words.launch.told.contains(field); };
    // --param-overlap follows --dp-overlap
    const bool follows = row.field == FieldId::param_overlap && is_told(FieldId::dp_overlap);
    const bool told = follows || is_told(row.field) || answers_one(words.launch, row.asked);
    if (told || (row.fsdp && !fully)) continue;
    words.put(row.name, std::string(row.value));
    put.push_back(fmt::format("{} {}", row.name, row.value));
  }
  if (put.empty()) return;
  words.note(
      fmt::format("{}: as recipes of Megatron-Bridge have it where they do not say otherwise (recipes/common.py); "
                  "{:.60} is not read",
          fmt::join(put, ", "), recipe));
}

/// NVIDIA-NeMo/Nemotron: src/nemotron/recipes; "recipe._target_:
/// megatron.bridge.recipes.llama.llama3_8b_pretrain_config" calls a function, with what else stands in that section: a
/// recipe by the last part of its name.
void name_called_recipe(DialectWords& words) {
  const GivenArgument* target = words.last("recipe._target_");
  if (target == nullptr) return;
  words.put("recipe", target->value.substr(target->value.rfind('.') + 1), "recipe._target_");
  words.drop("recipe._target_");
}

/// "recipe.peft: null" leaves adapters out of a recipe that may tune some.
bool leaves_out_adapters(DialectWords& words) {
  const auto& all = words.launch.arguments;
  const auto told =
      std::find_if(all.rbegin(), all.rend(), [](const GivenArgument& given) { return given.name == "recipe.peft"; });
  return told != all.rend() && says_none(told->value);
}

/// A recipe brings a split of its own, which stands in Python: what the launch does not tell of it is asked for.
Expected<void> settle_recipe(DialectWords& words) {
  name_called_recipe(words);
  const GivenArgument* recipe = nullptr;
  for (const std::string_view name : {"factory", "recipe", "model_recipe_name", "mr"})
    if (recipe == nullptr) recipe = words.last(name);
  if (recipe == nullptr || says_yes(recipe->value)) return {};
  const NemoRecipe* known = words.launch.framework->id == "nemo" ? find_nemo_recipe(recipe->value) : nullptr;
  if (known != nullptr && !tunes_adapters(recipe->value, words.launch.program))
    return put_recipe(words, *known), Expected<void>{};
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
  const bool whole = leaves_out_adapters(words);
  const bool tunes = tunes_adapters(recipe->value, words.launch.program) || words.has("recipe.peft");
  if (tunes && !ranked && !whole)
    return fail(place_of(words.launch, *recipe),
        fmt::format("the recipe {:.60} may tune adapters, whose rank the launch does not tell", recipe->value),
        "--lora N; or -- peft.dim=N at the end of the command");
  words.note(
      fmt::format("what else the recipe {:.60} sets (recomputation, overlap, number types, predictors) is not read: "
                  "--recompute, --dp-overlap and --precision say it",
          recipe->value));
  const std::string name = recipe->value;
  if (words.launch.framework->id == "megatron-bridge") put_common(words, name);
  return {};
}

/// What the run's executor starts, taken out of the arguments.
std::vector<GivenArgument> taken_executors(Launch& launch) {
  std::vector<GivenArgument> taken;
  for (const GivenArgument& given : launch.arguments)
    if (given.name.starts_with(executor_front)) taken.push_back(given);
  std::erase_if(launch.arguments, [](const GivenArgument& given) { return given.name.starts_with(executor_front); });
  return taken;
}

/// Lightning stops where the executor starts other ranks than its trainer counts. Of several runs of one script others
/// than the training may have executors of their own: one that agrees is enough.
void hold_executors(Launch& launch, const std::vector<GivenArgument>& executors) {
  for (const GivenArgument& started : executors) {
    const bool nodes = started.name.ends_with("nodes");
    const GivenArgument* counted = launch.find(nodes ? "trainer.num_nodes" : "trainer.devices");
    if (counted == nullptr || !counted->unset.empty() || counted->value == started.value) continue;
    if (counted->value.find_first_not_of("0123456789") != std::string::npos) continue;  // "auto"
    if (std::ranges::any_of(executors,
            [&](const GivenArgument& other) { return other.name == started.name && other.value == counted->value; }))
      continue;
    launch.unfollowed.push_back(fmt::format("{}:{}: its executor has {} {}{}{}, and the recipe's trainer {}",
        launch.where, started.line, started.value, nodes ? "node" : "rank", started.value == "1" ? "" : "s",
        nodes ? "" : " a node", counted->value));
  }
}

}  // namespace

Expected<void> settle_nemo(DialectWords& words) {
  const std::vector<GivenArgument> executors = taken_executors(words.launch);
  TRY(settle_recipe(words));
  hold_executors(words.launch, executors);
  return {};
}

}  // namespace stepcast::launch
