// LitGPT: litgpt/pretrain.py, litgpt/finetune/{full,lora}.py, litgpt/args.py.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {
namespace {

/// Which switches of litgpt/finetune/lora.py are on unless told.
struct LitgptAdapter {
  std::string_view name, projections;
  bool usual;
};
constexpr LitgptAdapter litgpt_adapters[] = {{"lora_query", "q", true}, {"lora_key", "k", false},
    {"lora_value", "v", true}, {"lora_projection", "out", false}, {"lora_mlp", "gate,up,down", false}};

Expected<void> adapters_of_litgpt(DialectWords& words) {
  words.put_default("lora_r", "8");
  std::vector<std::string_view> on;
  for (const LitgptAdapter& row : litgpt_adapters)
    if (words.is_on(row.name, row.usual)) on.push_back(row.projections);
  if (on.empty() && !words.launch.told.contains(FieldId::lora_on))
    return fail(words.launch.where, "adapters on no projection", "lora_query: true, or --lora-on q,v");
  words.launch.adapted = fmt::format("{}", fmt::join(on, ","));
  if (words.is_on("lora_head")) words.note("the adapter of lora_head is not forecast");
  return {};
}

/// litgpt/__main__.py: its commands take the network as their first word; "finetune lora" is "finetune_lora" of
/// releases before 0.4.2, and "finetune" alone is that.
enum class LitgptRun : std::uint8_t { pretrain, full, lora, untold };
LitgptRun run_of_litgpt(const std::string& program) {
  if (program == "litgpt pretrain") return LitgptRun::pretrain;
  if (program == "litgpt finetune_full") return LitgptRun::full;
  return program.starts_with("litgpt finetune") ? LitgptRun::lora : LitgptRun::untold;
}

}  // namespace

/// Fine-tuning over several ranks shards all over them and recomputes each block; pretraining shards inside a node,
/// and compiles.
Expected<void> settle_litgpt(DialectWords& words) {
  const GivenArgument* model = words.last("model_name");
  const LitgptRun told = run_of_litgpt(words.launch.program);
  const bool pretrains = told == LitgptRun::untold
                             ? model != nullptr || words.has_any({"initial_checkpoint_dir", "tokenizer_dir"})
                             : told == LitgptRun::pretrain;
  if (model == nullptr && !words.has("checkpoint_dir"))
    return fail(words.launch.where, "no model_name, and no checkpoint_dir that names a network", "model_name");
  if (pretrains) words.put_defaults({{"train.global_batch_size", "512"}, {"train.micro_batch_size", "4"}});
  else words.put_defaults({{"train.global_batch_size", "16"}, {"train.micro_batch_size", "1"}});
  if (!words.has("train.max_seq_length") && !words.launch.told.contains(FieldId::sequence))
    return fail(words.launch.where,
        pretrains ? "no train.max_seq_length: sequences are as long as its network is made for"
                  : "no train.max_seq_length: sequences are as long as the longest of the data",
        "-- --train.max_seq_length N at the end of the command, or --seq N beside the launch");
  words.ask_samples("train.max_seq_length", pretrains);
  bool several = true;
  if (words.value("devices", pretrains ? "auto" : "1") == "auto") {
    words.drop("devices");
  } else {
    words.put_default("devices", "1");
    TRY(const std::int64_t devices, words.count("devices", 1));
    TRY(const std::int64_t nodes, words.count("num_nodes", 1));
    several = devices * nodes > 1;
  }
  words.put_default("precision", "bf16-mixed");
  const bool ranked = std::ranges::any_of(
      words.launch.arguments, [](const GivenArgument& given) { return given.name.starts_with("lora_"); });
  const bool lora = told == LitgptRun::lora || (told == LitgptRun::untold && !pretrains && ranked);
  if (lora) TRY(adapters_of_litgpt(words));
  if (words.has("optimizer.class_path")) {
    const std::string path = words.value("optimizer.class_path");
    words.put("optimizer.class_path", path.substr(path.rfind('.') + 1));
  }
  words.put("sharding_strategy", pretrains ? "HYBRID_SHARD" : "FULL_SHARD");
  words.put("activation_checkpointing_policy", !pretrains && several ? "true" : "false");
  words.put("compile", pretrains ? "true" : "false");
  words.note(pretrains ? "shards inside a node, compiled, nothing recomputed: litgpt/pretrain.py"
                       : fmt::format("{}: litgpt/finetune/{}.py",
                             several ? "shards over all ranks, each block recomputed" : "one rank, nothing recomputed",
                             lora ? "lora" : "full"));
  return {};
}

/// OpenRLHF: openrlhf/cli/train_sft.py, whose names had no sections before 2026.
Expected<void> settle_openrlhf(DialectWords& words) {
  struct OldName {
    std::string_view old, name, usual;
  };
  constexpr OldName names[] = {{"train_batch_size", "train.batch_size", "128"},
      {"micro_train_batch_size", "train.micro_batch_size", "8"}, {"zero_stage", "ds.zero_stage", "2"},
      {"max_len", "data.max_len", "2048"}};
  for (const OldName& row : names)
    if (!words.has(row.old)) words.put_default(row.name, row.usual);
  for (const std::string_view rank : {"ds.lora.rank", "lora_rank"}) {
    TRY(const std::int64_t width, words.count(rank));
    if (width == 0) words.drop(rank);
  }
  const bool packed = words.is_on("ds.packing_samples") || words.is_on("packing_samples");
  words.ask_samples(words.has("max_len") ? "max_len" : "data.max_len", packed);
  return {};
}

}  // namespace stepcast::launch
