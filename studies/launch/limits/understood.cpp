#include "studies/launch/limits/understood.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

/// Parts of a program's name that tell what else it does: Megatron-LM's pretrain_bert.py, pretrain_t5.py,
/// pretrain_vision_dino.py, generate_samples_gpt.py, run_text_generation_server.py, tools/checkpoint/convert.py and
/// their kin.
struct ProgramWord {
  std::string_view part, doubt;
  bool whole = false;  ///< between what are no letters: "_dpo.", and not "endpoint"
};
constexpr std::string_view another = "trains another kind of network", nothing = "does not train",
                           preferred = "trains by preferences or rewards",
                           taught = "trains by a teacher or by answers of its own, which is not forecast",
                           prefixed = "trains with attention that is open over a prefix, which is not forecast";
constexpr ProgramWord program_words[] = {{"bert", another}, {"_t5", another}, {"vision", another},
    {"biencoder", another}, {"_ict", another}, {"realm", another}, {"retro", another}, {"mamba", another},
    {"hybrid", another}, {"multimodal", another}, {"_vlm", another}, {"_vl.", another}, {"rwkv", another},
    {"train_llava", another}, {"robobrain", another}, {"train_pi0", another}, {"generate", nothing},
    {"generation", nothing}, {"inference", nothing}, {"evaluate", nothing}, {"preprocess", nothing},
    {"create_doc_index", nothing}, {"convert", nothing}, {"merge_mp", nothing}, {"checkpoint", nothing},
    {"video", another}, {"reward", preferred}, {"rlhf", preferred}, {"dpo", preferred, true}, {"grpo", preferred, true},
    {"ppo", preferred, true}, {"orpo", preferred, true}, {"simpo", preferred, true}, {"kto", preferred, true},
    // huggingface/trl@f2cd57710a: examples/scripts
    {"cpo", preferred, true}, {"bco", preferred, true}, {"xpo", preferred, true}, {"tpo", preferred, true},
    {"nash_md", preferred, true}, {"rloo", preferred, true}, {"gspo", preferred, true}, {"mpo", preferred, true},
    {"prm", preferred, true}, {"gkd", taught, true}, {"gold", taught, true}, {"distill", taught, true},
    {"distillation", taught, true}, {"sdft", taught, true}, {"ssd", taught, true},
    // what ms-swift's and TRL's commands are told to do
    {" infer", nothing}, {" eval", nothing}, {" export", nothing}, {" deploy", nothing}, {" rollout", nothing},
    {" sample", nothing}, {" chat", nothing}, {" api", nothing}, {" merge", nothing}, {" serve", nothing},
    // Lightning-AI/litgpt: litgpt/finetune/adapter.py and adapter_v2.py
    {"finetune_adapter", "trains prefixes and scales, which are not forecast"},
    // bigscience-workshop/Megatron-DeepSpeed@8387ae17c1: its attention is open over a prefix of each document
    {"prefix_lm", prefixed}, {"non_causal", prefixed}, {"_ul2", prefixed}};

/// Does the program's name hold the word?
bool has_word(std::string_view program, const ProgramWord& word) {
  const auto is_letter = [&](std::size_t at) {
    return at < program.size() && std::isalpha(static_cast<unsigned char>(program[at])) != 0;
  };
  for (std::size_t at = program.find(word.part); at != program.npos; at = program.find(word.part, at + 1))
    if (!word.whole || ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.part.size()))) return true;
  return false;
}

bool has_any(const Launch& launch, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(launch.arguments,
      [&](const GivenArgument& given) { return std::ranges::find(names, given.name) != names.end(); });
}
bool has_pattern(const Launch& launch) { return has_any(launch, {"hybrid_layer_pattern", "hybrid_override_pattern"}); }

/// Of programs that train no decoder, or do not train; "" of all others.
std::string program_doubt(const Launch& launch) {
  const std::string_view program = launch.program;
  if (program == "openrlhf.cli.train_sft") return {};  // "rlhf" is its package's name
  // Megatron-LM's programs for networks whose pattern of layers the launch tells
  if (has_pattern(launch) && (program.find("mamba") != program.npos || program.find("hybrid") != program.npos))
    return {};
  // and for an encoder with a decoder, which has as many layers where nothing tells them (examples/t5/pretrain_t5.py)
  const bool t5 = program.find("pretrain_t5") != program.npos;
  if (has_any(launch, {"decoder_num_layers"}) && program.find("_t5") != program.npos) return {};
  if (t5 && has_any(launch, {"decoder_seq_length"})) return {};
  if (t5)
    return fmt::format("{} trains an encoder with a decoder, and nothing says how long the decoder's sequences are "
                       "(--decoder-seq-length N)",
        program);
  const auto row = std::find_if(std::begin(program_words), std::end(program_words),
      [&](const ProgramWord& word) { return has_word(program, word); });
  if (row == std::end(program_words)) return {};
  return fmt::format("{} {}", program, row->doubt);
}

/// Does it ask for what its row calls not forecast?
bool is_refused(const Launch& launch, const ArgumentFact& fact, const GivenArgument& given) {
  const bool off = says_none(given.value) || (is_off(given.value) && given.value != "1");  // 1 is a switch too
  if (fact.refused.empty() || !launch.counts(given) || off) return false;
  const std::string value = lower_case(given.value);
  // the module that builds a pattern of layers
  if (has_pattern(launch) && (value.ends_with("mamba_stack_spec") || value.ends_with("hybrid_stack_spec")))
    return false;
  return value != lower_case(launch.framework->table().default_of(fact, launch.release)) &&
         !contains(fact.plain, value);
}

/// Sections of NeMo's, Bridge's and Megatron's configurations around the names of the tables.
constexpr std::string_view usual_sections[] = {"model", "trainer", "exp_manager", "training", "parallelism", "dataset",
    "optimizer", "config", "recipe", "model_parallel", "language_model", "tokenizer", "strategy", "plugins", "encoder",
    "decoder", "language", "vision", "optim", "scheduler", "sched", "logger", "logging", "checkpoint", "checkpointing",
    "profiling", "profiler", "cluster", "launcher", "stages", "modules", "policy", "actor", "student", "teacher",
    "network", "hparams", "params", "model_config", "model_args", "training_args", "train_config", "base_config",
    "common", "experiment", "comm_overlap", "mixed_precision", "callbacks", "megatron", "mcore", "train_ds",
    "data_module"};

std::vector<std::string> known_sections(const ArgumentTable& table) {
  std::vector<std::string> known(std::begin(usual_sections), std::end(usual_sections));
  for (const ArgumentFact& fact : table.facts()) {
    const std::string_view name = fact.name;
    for (std::size_t begin = 0, dot = name.find('.'); dot != name.npos; begin = dot + 1, dot = name.find('.', begin))
      known.emplace_back(name.substr(begin, dot - begin));
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

/// What is wrong with the sections in front of a name that ends in a known one: "did you mean 'model'?"; "" = nothing.
/// Short ones are too near to each other to be told from mistakes.
std::string wrong_section(
    const Launch& launch, const GivenArgument& given, const ArgumentFact& fact, const std::vector<std::string>& known) {
  constexpr std::size_t shortest = 5;
  std::string_view front = given.name;
  if (!front.ends_with(fact.name) || front.size() == fact.name.size()) return {};
  front.remove_suffix(fact.name.size());
  if (launch.framework->whole_names && fact.name.find('.') != fact.name.npos)
    return fmt::format("there is only {}", fact.name);
  if (!launch.framework->free_sections) return {};
  for (std::size_t dot = front.find('.'); dot != front.npos; front.remove_prefix(dot + 1), dot = front.find('.')) {
    const std::string_view section = front.substr(0, dot);
    if (section.size() < shortest || contains(known, section)) continue;
    if (const std::string near = nearest_name(section, known); !near.empty())
      return fmt::format("section {:.40}: did you mean '{}'?", section, near);
  }
  return {};
}

/// "--bf16 8" on a command line: a word behind a switch is part of something that was not read.
std::string stray_word(const ArgumentFact& fact, const GivenArgument& given) {
  constexpr std::string_view words[] = {
      "", "\\", "true", "false", "1", "0", "yes", "no", "on", "off", "t", "f", "y", "n"};
  if (fact.takes != "flag" || !given.spelled.starts_with("--") || !given.unset.empty() || !fact.known.empty() ||
      says_none(given.value) || given.spelled.ends_with(given.value) || contains(words, lower_case(given.value)))
    return {};
  return fmt::format("a switch, and '{:.40}' behind it is not understood", given.value);
}

/// All of a launch that somebody wrote by hand; of more the first, and how many there are.
std::string listed(const std::vector<std::string>& unknown) {
  constexpr std::size_t most = 40;
  if (unknown.size() <= most) return fmt::format("{}", fmt::join(unknown, "; "));
  return fmt::format(
      "{}; and {} more", fmt::join(unknown.begin(), unknown.begin() + most, "; "), unknown.size() - most);
}

}  // namespace

std::vector<std::string> refused_arguments(const Launch& launch) {
  std::vector<std::string> refused;
  for (const GivenArgument& given : launch.arguments)
    if (const ArgumentFact* fact = launch.framework->table().find(given.name);
        fact != nullptr && is_refused(launch, *fact, given))
      refused.push_back(fmt::format("{} {:.40} ({})", place_of(launch, given), given.value, fact->refused));
  return refused;
}

/// What lies in host memory or on disk, and moves to the GPU and back: every program's offload, by the same rule.
std::vector<std::string> offloaded_arguments(const Launch& launch) {
  std::vector<std::string> offloaded;
  for (const GivenArgument& given : launch.arguments) {
    const ArgumentFact* fact = launch.framework->table().find(given.name);
    const bool off = says_none(given.value) || is_off(given.value);
    if (fact == nullptr || !fact->asks || !is_offload(*fact->asks) || off || !launch.counts(given)) continue;
    offloaded.push_back(fmt::format("{} {:.40}: what is kept in host memory is not forecast, which takes longer and "
                                    "leaves room on the GPU",
        place_of(launch, given), given.value));
  }
  return offloaded;
}

std::vector<std::string> unknown_arguments(const Launch& launch) {
  std::vector<std::string> unknown;
  const bool nested = std::any_of(launch.arguments.begin(), launch.arguments.end(),
      [](const GivenArgument& given) { return given.name.find('.') != given.name.npos; });
  const auto known = nested ? known_sections(launch.framework->table()) : std::vector<std::string>();
  for (const GivenArgument& given : launch.arguments) {
    const ArgumentFact* fact = launch.framework->table().find(given.name);
    std::string wrong = fact == nullptr ? unknown_argument(launch, given, unknown.size() < most_nearest)
                                        : wrong_section(launch, given, *fact, known);
    if (fact != nullptr && wrong.empty()) wrong = stray_word(*fact, given);
    if (!wrong.empty()) unknown.push_back(fmt::format("{} ({})", place_of(launch, given), wrong));
  }
  return unknown;
}

Expected<std::vector<std::string>> understood(const Launch& launch, bool lenient) {
  std::vector<std::string> warnings, doubts;
  for (const std::string& file : launch.unread)
    warnings.push_back(
        fmt::format("{} is named in {} and not there: what it says is not known; --files-from FOLDER that has it",
            shown_name(file), launch.where));
  if (const auto refused = refused_arguments(launch); !refused.empty())
    return fail(launch.where, fmt::format("what is trained is not forecast: {}", fmt::join(refused, "; ")),
        "without such arguments it is the forecast of another run");
  if (std::string doubt = program_doubt(launch); !doubt.empty()) doubts.push_back(std::move(doubt));
  if (!launch.lost.empty())
    doubts.push_back(fmt::format("{} is not there, and it has arguments of the launch: --files-from FOLDER that has it",
        shown_name(launch.lost)));
  doubts.insert(doubts.end(), launch.unfollowed.begin(), launch.unfollowed.end());
  const std::vector<std::string> offloaded = offloaded_arguments(launch);
  doubts.insert(doubts.end(), offloaded.begin(), offloaded.end());
  if (const auto unknown = unknown_arguments(launch); !unknown.empty())
    doubts.push_back(fmt::format("{} argument{} may change the run and {} not known: {}", unknown.size(),
        unknown.size() == 1 ? "" : "s", unknown.size() == 1 ? "is" : "are", listed(unknown)));
  if (!doubts.empty() && !lenient)
    return fail(launch.where, fmt::format("{}", fmt::join(doubts, "; ")),
        "a copy of the launch with the right names, or --lenient for a forecast without what is not known");
  warnings.insert(warnings.begin(), doubts.begin(), doubts.end());
  return warnings;
}

}  // namespace stepcast::launch
