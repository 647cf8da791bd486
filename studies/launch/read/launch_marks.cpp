// Whose launch it is: programs and names that only one framework has.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/tables/plain_words.h"
#include "studies/launch/facts/dialects.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/read/launch_parts.h"

namespace stepcast::launch {
namespace {

enum class MarkKind : std::uint8_t { program, launcher, argument, section, own };

/// `also`: an argument that must be there too; "" = none. `own`: any argument that the framework's table knows, and
/// that of `text`, which it was made from, does not.
struct LaunchMark {
  std::string_view framework;
  MarkKind kind;
  std::string_view text, also = "";
};

// First match wins. Programs: the entry points of each repository; sections: tables of torchtitan's configuration
// (torchtitan/config/configs.py), of NeMo's (examples/nlp/language_modeling/conf), of Megatron-Bridge's ConfigContainer
// (src/megatron/bridge/training/config.py), of llm-foundry's YAML (scripts/train/yamls).
constexpr LaunchMark launch_marks[] = {
    {"torchtitan", MarkKind::program, "torchtitan.train"},
    {"torchtitan", MarkKind::program, "run_train.sh"},
    {"torchtitan", MarkKind::section, "parallelism"},
    {"torchtitan", MarkKind::section, "activation_checkpoint"},
    {"torchtitan", MarkKind::argument, "job.config_file"},
    {"torchtitan", MarkKind::argument, "training.seq_len"},
    {"torchtitan", MarkKind::argument, "training.tensor_parallel_degree"},
    {"llm-foundry", MarkKind::launcher, "composer"},
    {"llm-foundry", MarkKind::argument, "max_duration"},
    {"llm-foundry", MarkKind::argument, "device_train_microbatch_size"},
    {"torchtune", MarkKind::launcher, "tune"},
    {"nemo", MarkKind::program, "megatron_gpt_pretraining.py"},
    {"nemo", MarkKind::program, "nemo"},
    {"openrlhf-sft", MarkKind::program, "openrlhf.cli.train_sft"},
    {"openrlhf-sft", MarkKind::program, "train_sft.py", "micro_train_batch_size"},
    {"ms-swift", MarkKind::program, "swift sft"},
    {"ms-swift", MarkKind::program, "swift pt"},
    {"megatron-swift", MarkKind::program, "megatron sft"},
    {"megatron-swift", MarkKind::program, "megatron pt"},
    {"litgpt", MarkKind::program, "litgpt pretrain"},
    {"litgpt", MarkKind::program, "litgpt finetune"},
    {"litgpt", MarkKind::program, "litgpt finetune_full"},
    {"litgpt", MarkKind::program, "litgpt finetune_lora"},
    {"litgpt", MarkKind::program, "litgpt finetune_adapter"},
    {"litgpt", MarkKind::program, "litgpt finetune_adapter_v2"},
    {"llama-factory", MarkKind::program, "llamafactory-cli train"},
    {"llama-factory", MarkKind::program, "lmf train"},
    {"llama-factory", MarkKind::program, "llamafactory.cli train"},
    {"axolotl", MarkKind::program, "axolotl train"},
    {"trainer", MarkKind::program, "trl sft"},
    {"trainer", MarkKind::program, "trl dpo"},
    {"trainer", MarkKind::program, "trl kto"},
    {"trainer", MarkKind::program, "trl grpo"},
    {"trainer", MarkKind::program, "trl reward"},
    {"nemo", MarkKind::section, "exp_manager"},
    {"nemo", MarkKind::section, "trainer"},
    {"megatron-bridge", MarkKind::section, "ddp"},
    {"megatron-bridge", MarkKind::section, "train"},
    {"megatron-bridge", MarkKind::section, "comm_overlap"},
    {"nemo", MarkKind::argument, "model.micro_batch_size"},
    {"nemo", MarkKind::argument, "model.tensor_model_parallel_size"},
    {"accelerate", MarkKind::launcher, "accelerate"},
    {"accelerate", MarkKind::argument, "distributed_type"},
    {"accelerate", MarkKind::argument, "compute_environment"},
    {"trainer", MarkKind::argument, "per_device_train_batch_size", "model_name_or_path"},
    {"trainer", MarkKind::argument, "per_device_train_batch_size", "model_name"},
    {"megatron-deepspeed", MarkKind::own, "megatron-lm", "num_layers"},
    {"megatron-lm", MarkKind::program, "pretrain_gpt.py"},
    {"megatron-lm", MarkKind::program, "pretrain_t5.py"},
    {"megatron-lm", MarkKind::program, "pretrain_mamba.py"},
    {"megatron-lm", MarkKind::program, "pretrain_hybrid.py"},
    {"megatron-lm", MarkKind::argument, "yaml_cfg"},
    {"deepspeed", MarkKind::section, "zero_optimization"},
    {"deepspeed", MarkKind::argument, "train_micro_batch_size_per_gpu"},
    {"deepspeed", MarkKind::argument, "train_batch_size"},
    {"deepspeed", MarkKind::argument, "deepspeed_config"},
    {"deepspeed", MarkKind::launcher, "deepspeed"},
};

// Of a launch that no flag calls a framework's: names that others have too, and that a flag would settle.
constexpr LaunchMark usual_marks[] = {
    {"megatron-lm", MarkKind::argument, "tensor_model_parallel_size", "micro_batch_size"},
    {"megatron-lm", MarkKind::argument, "num_layers", "hidden_size"},
    {"trainer", MarkKind::argument, "per_device_train_batch_size"},
    {"deepspeed", MarkKind::argument, "deepspeed"},
};

bool has_own(const Launch& launch, const ArgumentTable& table, const ArgumentTable& base) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const GivenArgument& given) {
    const ArgumentFact* fact = table.find(given.name);
    return fact != nullptr && fact->name == given.name && base.find(given.name) == nullptr;
  });
}

bool has_mark(const Launch& launch, const LaunchLine* line, const LaunchMark& mark) {
  switch (mark.kind) {
    case MarkKind::program: return line != nullptr && line->program == mark.text;
    case MarkKind::launcher: return line != nullptr && line->launcher == mark.text;
    case MarkKind::argument: return launch.find(mark.text) != nullptr;
    case MarkKind::own: return has_own(launch, argument_table(mark.framework), argument_table(mark.text));
    case MarkKind::section: break;
  }
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const GivenArgument& given) {
    return given.name.size() > mark.text.size() && given.name.starts_with(mark.text) &&
           given.name[mark.text.size()] == '.';
  });
}

/// How many of its arguments say something that a forecast asks for, in the words of whichever framework.
std::size_t telling_arguments(const LaunchLine& launch) {
  const auto tells = [](const GivenArgument& given) {
    return std::any_of(frameworks().begin(), frameworks().end(), [&](const Framework& row) {
      const ArgumentFact* fact = row.table().find(given.name);
      return fact != nullptr && fact->asks;
    });
  };
  return static_cast<std::size_t>(std::count_if(launch.given.begin(), launch.given.end(), tells));
}

bool names_training(const LaunchLine& launch) {
  constexpr std::string_view parts[] = {"train", "finetune", "nemo", "sft", " pt"};
  return std::any_of(std::begin(parts), std::end(parts),
      [&](std::string_view part) { return launch.program.find(part) != std::string::npos; });
}

/// "--do_predict" without "--do_train": programs on the Trainer then run what another command has trained.
bool only_predicts(const LaunchLine& launch) {
  const auto on = [&](const char* name) {
    const auto found = launch.arguments.find(name);
    return found != launch.arguments.end() && !is_off(found->second);
  };
  return !on("do_train") && (on("do_predict") || on("do_eval"));
}

/// Of several the launches that a predicate holds for, where there are any: the rest goes to the others.
void keep_where(std::vector<const LaunchLine*>& telling, std::vector<const LaunchLine*>& others,
    bool (*holds)(const LaunchLine& launch)) {
  const auto picks = [&](const LaunchLine* launch) { return holds(*launch); };
  if (telling.size() < 2 || std::none_of(telling.begin(), telling.end(), picks)) return;
  const auto middle = std::stable_partition(telling.begin(), telling.end(), picks);
  others.insert(others.end(), middle, telling.end());
  telling.erase(middle, telling.end());
}

/// Beside programs that prepare its data: the one that trains and names a configuration.
void take_only_training(std::vector<const LaunchLine*>& others, std::vector<const LaunchLine*>& telling) {
  const auto trains = [](const LaunchLine* launch) {
    return !launch->script && names_training(*launch) && !launch->positional.empty();
  };
  if (std::ranges::count_if(others, trains) != 1) return;
  const auto only = std::ranges::find_if(others, trains);
  telling.push_back(*only);
  others.erase(only);
}

bool same_launch(const LaunchLine& a, const LaunchLine& b) {
  return a.program == b.program && a.arguments == b.arguments && a.unknown == b.unknown && a.gpus() == b.gpus();
}

std::string launches_text(const std::vector<const LaunchLine*>& launches) {
  constexpr std::size_t most = 5;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(most, launches.size()); ++i)
    texts.push_back(fmt::format("{} in line {}", launches[i]->program, launches[i]->line));
  if (launches.size() > most) texts.push_back(fmt::format("{} more", launches.size() - most));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

const Framework* framework_of(const Launch& launch, const LaunchLine* line, std::string_view usual) {
  if (const Dialect* dialect = dialect_of(launch); dialect != nullptr && !dialect->framework.empty())
    return find_framework(dialect->framework);
  const auto stands = [&](const LaunchMark& mark) {
    return has_mark(launch, line, mark) && (mark.also.empty() || launch.find(mark.also) != nullptr);
  };
  if (const auto* mark = std::ranges::find_if(launch_marks, stands); mark != std::end(launch_marks))
    return find_framework(mark->framework);
  if (!usual.empty()) return find_framework(usual);
  const auto* mark = std::ranges::find_if(usual_marks, stands);
  return mark == std::end(usual_marks) ? nullptr : find_framework(mark->framework);
}

Expected<const LaunchLine*> training_launch(
    const std::vector<LaunchLine>& launches, const std::string& where, std::vector<std::string>& notes) {
  std::vector<const LaunchLine*> telling, others;
  const auto programs =
      std::count_if(launches.begin(), launches.end(), [](const LaunchLine& launch) { return !launch.script; });
  for (const LaunchLine& launch : launches) {
    const bool names_file = launch.launcher == "accelerate" || launch.launcher == "composer" ||
                            launch.launcher == "tune" || !launch.positional.empty() || names_training(launch);
    const std::size_t told = launch.script ? 0 : telling_arguments(launch);
    const bool known = std::any_of(
        telling.begin(), telling.end(), [&](const LaunchLine* other) { return same_launch(*other, launch); });
    if (!known) (told > 0 || (names_file && programs == 1 && !launch.script) ? telling : others).push_back(&launch);
  }
  keep_where(telling, others, names_training);
  keep_where(telling, others, [](const LaunchLine& launch) { return !only_predicts(launch); });
  if (telling.empty()) take_only_training(others, telling);
  const auto script =
      std::find_if(others.begin(), others.end(), [](const LaunchLine* launch) { return launch->script; });
  if (telling.empty() && script != others.end())
    return fail(fmt::format("{}:{}", where, (*script)->line),
        fmt::format("it runs {}, which is not beside it and may have the launch", (*script)->program),
        "a copy of that script beside this one, or --files-from FOLDER with it");
  if (telling.empty())
    return fail(where,
        others.empty() ? "no command that starts a training"
                       : fmt::format("none of {} has arguments of a training", launches_text(others)),
        "a script with its launch (torchrun, srun, deepspeed, ... PROGRAM.py ARGUMENTS), a configuration, or "
        "the arguments behind --; serving engines: serve --launch, infer --launch");
  if (telling.size() > 1)
    return fail(fmt::format("{}:{}", where, telling.front()->line),
        fmt::format("{} launches that differ: {}", telling.size(), launches_text(telling)),
        "--define the variable that chooses between them, leave one in a copy of the script, or give its "
        "arguments behind --");
  if (!others.empty())
    notes.push_back(fmt::format("read: {}; not read: {}", launches_text(telling), launches_text(others)));
  return telling.front();
}

}  // namespace stepcast::launch
