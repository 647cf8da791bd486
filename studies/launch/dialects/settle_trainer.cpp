// Programs on Hugging Face's Trainer: their own switches for adapters, and how samples fill a sequence.
#include <algorithm>
#include <cstdint>
#include <sstream>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/dialects/program_adapters.h"
#include "studies/launch/dialects/settle_dialect.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

/// What lies in host memory: nothing, the optimizer, weights, or both.
enum class Kept : std::uint8_t { gpu, optimizer, weights, both };
void keep_in_host(DialectWords& words, Kept kept) {
  if (kept == Kept::optimizer || kept == Kept::both)
    words.put("zero_optimization.offload_optimizer.device", "cpu", "deepspeed");
  if (kept == Kept::weights || kept == Kept::both)
    words.put("zero_optimization.offload_param.device", "cpu", "deepspeed");
}

/// Files of DeepSpeed that a framework's programs ship, by the last two parts of their path: what they say of shards.
struct ShippedFile {
  std::string_view framework;
  std::string_view path;
  int stage;
  bool overlaps;
  Kept kept = Kept::gpu;
};
constexpr ShippedFile shipped_files[] = {
    // hiyouga/LLaMA-Factory@ff6d4d12ee: examples/deepspeed
    {"llama-factory", "deepspeed/ds_z0_config.json", 0, false},
    {"llama-factory", "deepspeed/ds_z2_config.json", 2, false},
    {"llama-factory", "deepspeed/ds_z2_offload_config.json", 2, false, Kept::optimizer},
    {"llama-factory", "deepspeed/ds_z3_config.json", 3, false},
    {"llama-factory", "deepspeed/ds_z3_offload_config.json", 3, false, Kept::both},
    // axolotl-ai-cloud/axolotl@067b021c8b: deepspeed_configs; its zero2.json keeps the optimizer in host memory
    {"axolotl", "deepspeed_configs/zero1.json", 1, true},
    {"axolotl", "deepspeed_configs/zero2.json", 2, true, Kept::optimizer},
    {"axolotl", "deepspeed_configs/zero3.json", 3, true}, {"axolotl", "deepspeed_configs/zero3_bf16.json", 3, true},
    {"axolotl", "deepspeed_configs/zero3_bf16_cpuoffload_all.json", 3, true, Kept::both},
    {"axolotl", "deepspeed_configs/zero3_bf16_cpuoffload_params.json", 3, true, Kept::weights}};

/// Such a file that is not beside the launch is as its program ships it; the batch and the number type in it are the
/// Trainer's ("auto").
Expected<bool> take_shipped_file(DialectWords& words, const GivenArgument& file) {
  const std::string name = file.value;
  const auto row = std::ranges::find_if(shipped_files, [&](const ShippedFile& one) {
    return words.launch.framework->id == one.framework &&
           (name == one.path || name.ends_with("/" + std::string(one.path)));
  });
  if (row == std::end(shipped_files)) return false;
  keep_in_host(words, row->kept);
  words.put("zero_optimization.stage", std::to_string(row->stage), "deepspeed");
  words.put("zero_optimization.overlap_comm", row->overlaps ? "true" : "false", "deepspeed");
  std::erase(words.launch.unread, name);
  words.note(
      fmt::format("{:.80} is not beside the launch, and taken for the one that {} ships: stage {}, overlap_comm {}",
          name, words.launch.framework->name, row->stage, row->overlaps));
  return true;
}

/// The stage of ZeRO stands in a file that the arguments name.
Expected<void> check_deepspeed_file(DialectWords& words) {
  const GivenArgument* file = words.last("deepspeed");
  const bool read = std::ranges::any_of(
      words.launch.arguments, [](const GivenArgument& given) { return given.name.starts_with("zero_optimization."); });
  if (file == nullptr || says_yes(file->value) || read) return {};
  TRY(const bool shipped, take_shipped_file(words, *file));
  if (shipped) return {};
  return fail(place_of(words.launch, *file),
      fmt::format("{} is not beside the launch, and it says the stage of ZeRO", shown_name(file->value)),
      "the file beside it, --files-from FOLDER that has it, or -- --zero_optimization.stage N at the end of the "
      "command");
}

/// "--fsdp fsdp.json" names a file that says the kind: it counts, and the name no more.
Expected<void> take_fsdp_file(DialectWords& words) {
  const GivenArgument* last = words.last("fsdp");
  const auto is_file = [](const std::string& value) {
    return value.ends_with(".json") || value.ends_with(".yaml") || value.ends_with(".yml");
  };
  if (last == nullptr || !is_file(last->value)) return {};
  const std::string name = last->value, place = place_of(words.launch, *last);
  if (contains(words.launch.unread, name))
    return fail(place, fmt::format("{} is not beside the launch, and it says what is in shards", shown_name(name)),
        "the file beside it, or -- --fsdp full_shard at the end of the command");
  std::erase_if(
      words.launch.arguments, [&](const GivenArgument& given) { return given.name == "fsdp" && given.value == name; });
  const GivenArgument* kind = words.last("fsdp");
  if (kind != nullptr && is_file(kind->value)) return take_fsdp_file(words);
  if (kind == nullptr && words.launch.framework->id == "ms-swift")  // swift/arguments/sft_args.py
    words.put("fsdp", "full_shard"),
        words.note(fmt::format("{:.80} names no kind: full_shard, as ms-swift has it", name));
  else if (kind == nullptr)
    return fail(place, fmt::format("{:.80} does not say what is in shards: it has no \"fsdp\"", name),
        "\"fsdp\": \"full_shard auto_wrap\" in it, or -- --fsdp full_shard at the end of the command");
  return {};
}

/// Of "auto_wrap full_shard" the kind alone: the first word that is one.
Expected<void> order_fsdp(DialectWords& words) {
  TRY(take_fsdp_file(words));
  constexpr std::string_view kinds[] = {
      "hybrid_shard_zero2", "hybrid_shard", "full_shard", "shard_grad_op", "no_shard"};
  for (GivenArgument& one : words.launch.arguments) {
    if (one.name != "fsdp") continue;
    const std::string text = lower_case(one.value);
    if (text.find("offload") != text.npos)
      words.launch.unfollowed.push_back(
          fmt::format("{} {}: what is kept in host memory is not forecast", place_of(words.launch, one), one.value));
    std::istringstream parts(text);
    for (std::string word; parts >> word;)
      if (std::ranges::find(kinds, word) != std::end(kinds)) {
        one.value = word;
        break;
      }
  }
  return {};
}

/// Does an argument that belongs to an engine say that it runs? FSDP's version alone does not, and stage 0 is
/// DeepSpeed's too.
bool starts_engine(const GivenArgument& given) {
  constexpr std::string_view engines[] = {"deepspeed", "fsdp", "zero_", "use_deepspeed", "use_fsdp"};
  const bool named = std::ranges::any_of(engines, [&](std::string_view engine) {
    return given.name.starts_with(engine) || given.name.find("." + std::string(engine)) != given.name.npos;
  });
  if (!named || given.name == "fsdp_version") return false;
  const bool number = given.value == "1" || (given.value == "0" && given.name.ends_with("stage"));
  return number || (!is_off(given.value) && !is_switched_off(given.value));
}

/// Neither DeepSpeed, whose optimizer has copies in 32 bits, nor FSDP, for which accelerate makes some
/// (huggingface/accelerate: src/accelerate/accelerator.py and utils/fsdp_utils.py), runs the weights as they are
/// loaded.
bool runs_as_loaded(const DialectWords& words) {
  return std::ranges::none_of(words.launch.arguments, [&](const GivenArgument& given) {
    const std::string value = lower_case(given.value);
    const bool by_accelerate = given.name == "distributed_type" && !value.ends_with("multi_gpu") && value != "no";
    return by_accelerate || starts_engine(given);
  });
}

/// The type in which weights are told to be loaded; "auto" is one here, and not none. "" = none is told.
std::string told_type(const Launch& launch) {
  const GivenArgument* told = launch.find("torch_dtype");
  if (told == nullptr) told = launch.find("dtype");
  const std::string type = told == nullptr ? "" : lower_case(told->value);
  return type != "auto" && says_none(type) ? "" : type;
}

/// "--torch_dtype bfloat16", and "auto", which is what the network's own file has: 16 bits in those of today.
void take_loaded_type(DialectWords& words) {
  const std::string type = told_type(words.launch);
  if (!runs_as_loaded(words) || (type != "auto" && !type.ends_with("16"))) return;
  words.launch.short_weights = true;
  if (type == "auto") words.note("weights are loaded in the type of the network's file (auto), taken for 16 bits");
}

/// The program's own rank where it is not told; what else it trains beside adapters is not forecast.
Expected<void> settle_rank(DialectWords& words) {
  const ProgramAdapters* own = adapters_of_program(words);
  if (own != nullptr && !own->trained.empty() &&
      (own->unless.empty() || network_word(words).find(own->unless) == std::string::npos))
    words.note(fmt::format(
        "{} trains {} whole beside its adapters, which is not forecast ({})", own->name, own->trained, own->source));
  if (words.has_any({"lora_r", "lora_rank"})) return {};
  if (own == nullptr)
    return fail(words.launch.where,
        fmt::format("{} trains adapters, and nothing says of which rank", words.launch.program),
        "-- --lora_r N at the end of the command");
  words.put("lora_r", std::to_string(own->rank));
  words.note(fmt::format("lora_r {}: as {} has it unless told ({})", own->rank, own->name, own->source));
  return {};
}

/// run_clm.py, FastChat's and Qwen's train.py, TRL's sft.py, DeepSpeed-Chat's main.py.
Expected<void> settle_program(DialectWords& words) {
  const std::string& program = words.launch.program;
  constexpr std::string_view switches[] = {"use_lora", "use_peft", "lora_enable"};
  const bool by_name = program.find("lora") != std::string::npos || program.find("peft") != std::string::npos;
  const bool given = std::ranges::any_of(switches, [&](std::string_view name) { return words.has(name); });
  const bool on =
      given ? std::ranges::any_of(switches, [&](std::string_view name) { return words.is_on(name); }) : by_name;
  if (given && !on) words.drop("lora_r"), words.drop("lora_rank");
  else if (on) TRY(settle_rank(words));
  // DeepSpeed-Chat, training/utils/utils.py and its programs' --dtype
  const bool chat = words.has("zero_stage") && words.has("data_split");
  if (chat && !words.has("dtype")) words.note("fp16: as DeepSpeed-Chat has it unless told (--dtype)");
  if (chat && words.value("dtype", "fp16") == "fp16") words.put("fp16", "true");
  if (chat && words.value("dtype") == "bf16") words.put("bf16", "true", "zero_stage");
  TRY(order_fsdp(words));
  if (!chat) take_loaded_type(words);
  // DeepSpeed-Chat's training/utils/data/data_utils.py fills samples up to the maximum
  for (const std::string_view name : {"max_seq_length", "max_seq_len", "model_max_length", "max_length", "cutoff_len"})
    if (words.has(name)) words.ask_samples(name, chat || words.is_on("packing") || words.is_on("pad_to_max_length"));
  return {};
}

/// The Trainer's own program of accelerate's and DeepSpeed's launches: one with a network of Hugging Face.
bool runs_trainer(DialectWords& words) {
  const bool named = words.has_any({"model_name_or_path", "model_name"});
  return named && (words.has("per_device_train_batch_size") || is_trl(words));
}

}  // namespace

Expected<void> settle_trainer(DialectWords& words) {
  if (runs_trainer(words)) TRY(settle_trl(words));
  if (runs_trainer(words)) TRY(settle_program(words));
  return words.launch.framework->trainer ? check_deepspeed_file(words) : Expected<void>{};
}

Expected<void> settle_llama_factory(DialectWords& words) {
  const auto engine = words.launch.environment.find("USE_MCA");  // src/llamafactory/train/tuner.py
  if (engine != words.launch.environment.end() && says_yes(engine->second))
    return fail(words.launch.where, "USE_MCA=1 trains on Megatron-LM, whose plan is not read of LLaMA-Factory",
        "the network in place of NETWORK, and the plan by flags: --tp, --pp, --zero, --micro-batch, --global-batch");
  if (words.value("finetuning_type", "lora") != "lora") words.drop("lora_rank");
  else words.put_default("lora_rank", "8");
  // src/llamafactory/model/adapter.py: nothing is cast to 32 bits, and no engine's own switch for a type is on
  if (words.is_on("pure_bf16")) {
    if (!runs_as_loaded(words))
      return tl::unexpected(
          words.limit(*words.last("pure_bf16"), "which copies DeepSpeed or FSDP keeps under it is not known"));
    words.put("bf16", "true", "pure_bf16");
    words.launch.short_weights = true;
  }
  words.drop("gradient_checkpointing");
  if (!words.has("disable_gradient_checkpointing")) words.put_default("gradient_checkpointing", "true");
  else
    words.put("gradient_checkpointing", words.is_on("disable_gradient_checkpointing") ? "false" : "true",
        "disable_gradient_checkpointing");
  words.ask_samples("cutoff_len", words.is_on("packing", words.value("stage", "sft") == "pt"));
  return check_deepspeed_file(words);
}

Expected<void> settle_axolotl(DialectWords& words) {
  if (!words.has("adapter")) words.drop("lora_r");
  else if (!words.has("lora_r"))
    return fail(place_of(words.launch, *words.last("adapter")), "adapters without a rank", "lora_r");
  for (GivenArgument& given : words.launch.arguments) {
    if (given.name == "fsdp")  // "[full_shard, auto_wrap]"
      std::erase_if(given.value, [](char c) { return c == '[' || c == ']' || c == ','; });
    if (given.name == "bf16" && (given.value == "auto" || given.value == "full")) given.value = "true";
  }
  constexpr std::string_view fused[] = {"liger", "cut_cross_entropy"};
  bool cut = false;
  for (const GivenArgument& given : words.launch.arguments) {
    const bool kernels = std::ranges::any_of(
        fused, [&](std::string_view word) { return lower_case(given.value).find(word) != std::string::npos; });
    cut = cut || (given.name.starts_with("plugins") && lower_case(given.value).find(fused[1]) != std::string::npos);
    if (given.name.starts_with("plugins") && !given.value.empty() && given.value != "null" && !kernels)
      return tl::unexpected(words.limit(given, "what this extension does to a step is not known"));
  }
  // src/axolotl/integrations/cut_cross_entropy/args.py: on wherever its extension is
  if (cut) words.put_default("cut_cross_entropy", "true");
  words.ask_samples("sequence_len", words.is_on("sample_packing") || words.is_on("pad_to_sequence_len"));
  // src/axolotl/utils/config/__init__.py: bf16 is the type in which weights are loaded, too
  words.launch.short_weights = runs_as_loaded(words) && (words.is_on("bf16") || words.is_on("bfloat16"));
  return check_deepspeed_file(words);
}

/// swift/model/utils.py (is_mp, get_default_device_map): where a rank sees several GPUs its layers lie over these, one
/// after the other. Error: such a run.
Expected<void> check_swift_ranks(DialectWords& words) {
  const Launch& launch = words.launch;
  const auto found = launch.environment.find("CUDA_VISIBLE_DEVICES");
  if (found == launch.environment.end() || !launch.untold_gpus.empty()) return {};
  const std::int64_t devices = calibrate::visible_devices(found->second);
  TRY(const std::int64_t told, words.count("num_processes"));  // accelerate's, of all nodes
  TRY(const std::int64_t nodes, words.count("num_machines", 1));
  TRY(const std::int64_t own, words.count("ENV.NPROC_PER_NODE", launch.gpus_per_node));
  const std::int64_t of_node = told > 0 ? told / std::max<std::int64_t>(1, nodes) : own;
  const std::int64_t ranks = std::max<std::int64_t>(1, of_node > 0 ? of_node : launch.gpus);
  if (devices <= ranks) return {};
  return fail(fmt::format("{} CUDA_VISIBLE_DEVICES", launch.where),
      fmt::format("{} GPUs for {} rank{} of a node: a rank's layers lie over several GPUs (device_map), which is not "
                  "forecast",
          devices, ranks, ranks == 1 ? "" : "s"),
      fmt::format("NPROC_PER_NODE={} in a copy of the launch, a rank for each GPU", devices));
}

/// Release 2 had words of its own (modelscope/ms-swift@v2.6.1: swift/llm/utils/argument.py): number types, a network by
/// its type alone, and samples of 2048 tokens unless told.
void settle_swift_2(DialectWords& words) {
  if (!words.speaks_swift_2()) return;
  struct TypeWord {
    std::string_view word, type;
  };
  constexpr TypeWord types[] = {{"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp32", "float32"}, {"auto", "bfloat16"}};
  if (GivenArgument* told = words.last("dtype"); told != nullptr)
    if (const auto* row = std::ranges::find(types, lower_case(told->value), &TypeWord::word); row != std::end(types))
      told->value = row->type;
  const bool named = words.has_any({"model", "model_id_or_path", "model_cache_dir"});
  if (!named && words.has("model_type")) words.put("model", words.value("model_type"), "model_type");
  words.put_default("max_length", "2048");
}

/// swift/optimizers/mapping.py: a name goes over --optim, but for those that only group learning rates of its
/// optimizer.
void name_swift_optimizer(DialectWords& words) {
  constexpr std::string_view groups[] = {"default", "lorap", "multimodal"};
  const GivenArgument* own = words.last("optimizer");
  if (own == nullptr || contains(groups, own->value)) return;
  words.drop("optim");
  words.last("optimizer")->name = "optim";
}

/// swift/trainers/arguments.py, swift/arguments/{sft_args,tuner_args}.py and base_args/model_args.py of ms-swift: its
/// own defaults, and names for DeepSpeed's files and FSDP's that it ships.
Expected<void> settle_swift(DialectWords& words) {
  take_swift_environment(words);
  TRY(check_swift_ranks(words));
  settle_swift_2(words);
  name_swift_optimizer(words);
  words.put_default("gradient_checkpointing", "true");
  const std::string tuner = words.value("tuner_type", words.value("train_type", words.value("sft_type", "lora")));
  if (tuner == "full") words.drop("lora_rank");
  else words.put_default("lora_rank", "8");
  TRY(words.put_number_type(words.last(words.has("torch_dtype") ? "torch_dtype" : "dtype")));
  if (GivenArgument* file = words.last("deepspeed")) {  // swift/config/zero*.json
    constexpr std::string_view older = "default-";      // as releases 1 and 2 called them
    const std::string name = file->value.starts_with(older) ? file->value.substr(older.size()) : file->value;
    if (name.size() >= 5 && name.starts_with("zero") && name[4] >= '0' && name[4] <= '3' &&
        name.find('.') == name.npos) {
      const bool kept = name.size() > 5;  // zero2_offload
      words.put("zero_optimization.stage", name.substr(4, 1), "deepspeed");
      keep_in_host(words, !kept ? Kept::gpu : name[4] == '3' ? Kept::both : Kept::optimizer);
      if (name[4] == '3') words.put("zero_optimization.overlap_comm", "false", "deepspeed");
    }
  }
  if (GivenArgument* fsdp = words.last("fsdp"); fsdp != nullptr && fsdp->value == "fsdp2") fsdp->value = "full_shard";
  TRY(order_fsdp(words));
  words.ask_samples("max_length", words.is_on("packing"));
  // swift/arguments/base_args/model_args.py: weights are loaded in the type in which products run, unless told
  const std::string type = told_type(words.launch);
  words.launch.short_weights = runs_as_loaded(words) && (type.empty() || type.ends_with("16"));
  return check_deepspeed_file(words);
}

/// verl/trainer/fsdp_sft_trainer.py at v0.1: data.micro_batch_size is that of all ranks; since f2a76acd9 of January
/// 2025 it says nothing, and micro_batch_size_per_gpu counts.
Expected<void> settle_older_verl(DialectWords& words) {
  const GivenArgument* given = words.last("data.micro_batch_size");
  const bool told = words.has("data.micro_batch_size_per_gpu") || words.launch.told.contains(FieldId::micro_batch);
  if (given == nullptr || told || words.launch.release == "main") return {};
  const std::string place = place_of(words.launch, *given);
  if (words.launch.release.empty())
    return fail(place,
        "counts the sequences of all ranks up to verl 0.1; since January 2025 it says nothing, and a rank has 4",
        "--release 0.1 or --release main; or -- data.micro_batch_size_per_gpu=N");
  TRY(const std::int64_t all, words.count("data.micro_batch_size"));
  const std::int64_t ranks = words.launch.gpus;
  if (ranks == 0 || all % ranks != 0)
    return fail(place,
        ranks == 0 ? "is divided by the ranks, and the launch does not tell how many"
                   : fmt::format("{} sequences do not divide over {} ranks", all, ranks),
        "-- data.micro_batch_size_per_gpu=N at the end of the command");
  words.put("data.micro_batch_size_per_gpu", std::to_string(all / ranks), "data.micro_batch_size");
  words.note(fmt::format("micro-batch {}: {} sequences over {} ranks, as verl 0.1 has it", all / ranks, all, ranks));
  return {};
}

/// verl/trainer/config/sft_trainer.yaml: the shards of FSDP lie over all ranks, and a micro-batch per GPU counts alone.
Expected<void> settle_verl(DialectWords& words) {
  TRY(settle_older_verl(words));
  words.put_defaults({{"data.train_batch_size", "256"}, {"data.micro_batch_size_per_gpu", "4"},
      {"data.max_length", "1024"}, {"model.enable_gradient_checkpointing", "true"}});
  TRY(const std::int64_t rank, words.count("model.lora_rank"));
  if (rank == 0) words.drop("model.lora_rank");
  // verl/utils/dataset/sft_dataset.py fills each sample up to the maximum
  words.ask_samples("data.max_length", !words.is_on("use_remove_padding"));
  return {};
}

}  // namespace stepcast::launch
