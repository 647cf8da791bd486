#include "studies/launch/dialects/adapted_modules.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "model/network/adapters.h"
#include "studies/launch/dialects/program_adapters.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {
namespace {

constexpr std::string_view by_network = "PEFT", must_be_told;

/// Where a program looks for modules, and which it has unless told.
struct ProgramTargets {
  std::string_view framework, name, usual, source;
};
constexpr std::string_view of_peft = "huggingface/peft@00073fe85c: src/peft/utils/constants.py";
constexpr ProgramTargets program_rows[] = {
    {"trainer", "lora_target_modules|lora_target|target_modules", by_network, of_peft},
    {"accelerate", "lora_target_modules|lora_target|target_modules", by_network, of_peft},
    {"deepspeed", "lora_target_modules|lora_target|target_modules", by_network, of_peft},
    {"llm-foundry", "model.peft_config.target_modules", by_network, of_peft},
    {"llama-factory", "lora_target", "all",
        "hiyouga/LLaMA-Factory@ff6d4d12ee: src/llamafactory/hparams/finetuning_args.py"},
    {"axolotl", "lora_target_modules", must_be_told,
        "axolotl-ai-cloud/axolotl@067b021c8b: src/axolotl/loaders/adapter.py"},
    {"ms-swift", "target_modules|lora_target_modules", "all-linear",
        "modelscope/ms-swift@3602360a56: swift/arguments/tuner_args.py"},
    {"megatron-swift", "target_modules", "all-linear",
        "modelscope/ms-swift@3602360a56: swift/megatron/arguments/megatron_args.py"},
    {"verl-sft", "model.target_modules", "all-linear", "volcengine/verl: verl/trainer/config/sft_trainer.yaml"},
    {"openrlhf-sft", "ds.lora.target_modules|target_modules", "all-linear",
        "OpenRLHF/OpenRLHF: openrlhf/cli/train_sft.py"},
    {"nemo", "target_modules", "linear_qkv,linear_proj,linear_fc1,linear_fc2",
        "NVIDIA/NeMo@8cfedd7203: nemo/collections/llm/peft/lora.py"},
    {"megatron-bridge", "target_modules", "linear_qkv,linear_proj,linear_fc1,linear_fc2",
        "NVIDIA-NeMo/Megatron-Bridge@067f987df0: src/megatron/bridge/peft/lora.py"},
    {"megatron-lm", "lora_target_modules", must_be_told,
        "Ascend/MindSpeed-LLM@c77308a14b: mindspeed_llm/features_manager/finetune/lora.py"},
    {"flagscale", "lora_target_modules", must_be_told, "FlagOpen/FlagScale@da4935ec60: flagscale/train/peft/lora.py"}};

/// Of NeMo 1: nemo/collections/nlp/parts/peft_config.py of NVIDIA/NeMo@8cfedd7203, get_target_modules.
constexpr std::string_view usual_of_nemo_1 = "attention_qkv";

/// PEFT's own, by words of a network's name at Hugging Face; the first that is in it counts. Types of networks that
/// PEFT has no row for stand in front, without modules.
struct NetworkTargets {
  std::string_view word, modules;
};
constexpr NetworkTargets network_rows[] = {{"-a3b", ""}, {"-a14b", ""}, {"-a22b", ""}, {"-vl", ""}, {"qwen3-next", ""},
    {"qwen3.5", ""}, {"gemma-3n", ""}, {"gemma-4", ""}, {"phi-3", ""}, {"phi-4", ""}, {"falcon3", "q_proj,v_proj"},
    {"llama", "q_proj,v_proj"}, {"vicuna", "q_proj,v_proj"}, {"mistral", "q_proj,v_proj"}, {"mixtral", "q_proj,v_proj"},
    {"qwen1.5", "q_proj,v_proj"}, {"qwen2", "q_proj,v_proj"}, {"qwen3", "q_proj,v_proj"}, {"gemma", "q_proj,v_proj"},
    {"opt-", "q_proj,v_proj"}, {"gpt-j", "q_proj,v_proj"}, {"pythia", "query_key_value"},
    {"gpt-neox", "query_key_value"}, {"bloom", "query_key_value"}, {"falcon", "query_key_value"}, {"gpt2", "c_attn"},
    {"mpt-", "Wqkv"}, {"phi-1", "q_proj,v_proj,fc1,fc2"}, {"phi-2", "q_proj,v_proj,fc1,fc2"}};

/// What modules of a transformer are called, and which projections they are, as --lora-on takes them. PEFT adapts all
/// modules whose names end so: GPT-2's c_proj are two.
struct NamedModule {
  std::string_view words, projections;
};
constexpr NamedModule module_rows[] = {{"all|all-linear|all_linear|ALL", "all"},
    {"q_proj|wq|q|query|linear_q|q_a_proj|q_b_proj|attention.wq", "q"}, {"k_proj|wk|k|key|linear_k", "k"},
    {"v_proj|wv|v|value|linear_v", "v"}, {"kv_a_proj_with_mqa|kv_b_proj", "k,v"},
    {"query_key_value|c_attn|qkv_proj|Wqkv|W_pack|linear_qkv|attention_qkv", "q,k,v"},
    {"o_proj|out_proj|wo|dense|linear_proj|attention_dense|output_proj|attn.c_proj", "out"}, {"c_proj", "out,down"},
    {"attention", "q,k,v,out"}, {"mlp", "gate,up,down"}, {"gate_proj|linear_fc1_gate", "gate"},
    {"up_proj|linear_fc1_up", "up"}, {"gate_up_proj|linear_fc1|fc1|fc_in|c_fc|dense_h_to_4h|mlp_fc1", "gate,up"},
    {"down_proj|linear_fc2|fc2|fc_out|dense_4h_to_h|mlp_fc2|mlp.c_proj", "down"}};

/// Of those there may be adapters, and none are forecast.
constexpr std::string_view aside[] = {"lm_head", "embed_tokens", "output", "head", "wte", "embed_out", "in_proj",
    "router", "gate", "shared_expert_gate", "x_proj", "dt_proj"};

bool is_one_of(std::string_view words, std::string_view word) {
  for (; !words.empty(); words.remove_prefix(std::min(words.find('|'), words.size() - 1) + 1))
    if (words.substr(0, words.find('|')) == word) return true;
  return false;
}

/// Of "['self_attn.q_proj', v_proj]" each word.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (std::string_view(" \t\n,[]'\"()").find(c) == std::string_view::npos) words.back() += c;
    else if (!words.back().empty()) words.emplace_back();
  if (words.back().empty()) words.pop_back();
  return words;
}

/// The row of a module by its whole name, or by the last part of it.
const NamedModule* module_row(std::string_view word) {
  for (const std::string_view name : {word, word.substr(word.rfind('.') + 1)})
    for (const NamedModule& row : module_rows)
      if (is_one_of(row.words, name)) return &row;
  return nullptr;
}

class Targets {
 public:
  /// `trained`: by the launch itself; else by a flag beside it.
  Targets(DialectWords& words, const ProgramTargets& row, bool trained) : words_(words), row_(row), trained_(trained) {}

  Expected<void> settle() {
    // Axolotl joins both: src/axolotl/loaders/adapter.py
    if (row_.framework == "axolotl" && words_.is_on("lora_target_linear")) return take("all", "");
    const GivenArgument* told = this->told();
    const bool default_word = told != nullptr && row_.framework == "ms-swift" && told->value == "DEFAULT";
    if (told != nullptr && !default_word) return take(told->value, place_of(words_.launch, *told));
    if (!trained_) return {};  // a flag's adapters stand on all, as without a launch
    if (row_.usual == by_network)
      if (const ProgramAdapters* own = adapters_of_program(words_)) return take_own(*own);
    std::string usual(row_.usual);
    // release 2 of ms-swift has a list for each network (DEFAULT): swift/llm/utils/model.py at v2.6.1
    if (row_.framework == "ms-swift" && words_.speaks_swift_2()) usual.clear();
    if (row_.framework == "nemo" && words_.has("adapter_dim")) usual = usual_of_nemo_1;
    if (row_.usual == by_network) usual = of_network();
    if (usual.empty()) return ask();
    TRY(take(usual, std::string(row_.source)));
    words_.note(fmt::format("adapters on {}: as {} has it unless told ({})", words_.launch.adapted,
        row_.usual == by_network ? "PEFT" : words_.launch.framework->name, row_.source));
    return {};
  }

 private:
  const GivenArgument* told() {
    for (std::string_view names = row_.name; !names.empty();
         names.remove_prefix(std::min(names.find('|'), names.size() - 1) + 1))
      if (const GivenArgument* given = words_.last(names.substr(0, names.find('|'))); given != nullptr) return given;
    return nullptr;
  }

  /// Those that the program itself has in place of PEFT's.
  Expected<void> take_own(const ProgramAdapters& own) {
    words_.launch.adapted = own.projections;
    words_.note(
        fmt::format("adapters on {}: as {} has it unless told ({})", words_.launch.adapted, own.name, own.source));
    return {};
  }

  std::string of_network() {
    const std::string network = network_word(words_);
    for (const NetworkTargets& row : network_rows)
      if (network.find(row.word) != network.npos) return std::string(row.modules);
    return {};
  }

  Expected<void> ask() {
    const std::string name(row_.name.substr(0, row_.name.find('|')));
    return fail(words_.launch.where,
        fmt::format("nothing says which projections have adapters, and {} has no default for them here",
            row_.usual == by_network ? "PEFT" : words_.launch.framework->name),
        fmt::format("--lora-on q,v, or all; or -- --{} q_proj v_proj at the end of the command", name));
  }

  Expected<void> take(std::string_view text, const std::string& where) {
    std::vector<std::string> projections, others;
    for (const std::string& word : words_of(text)) {
      if (word.find_first_of("*^\\|$") != word.npos || word.find("layers.") != word.npos)
        return fail(where, fmt::format("'{:.60}' picks modules by a pattern", word),
            "a list of modules: q_proj, v_proj; or --lora-on q,v beside the launch");
      if (const NamedModule* row = module_row(word)) projections.emplace_back(row->projections);
      else if (std::ranges::find(aside, word) != std::end(aside)) others.push_back(word);
      else
        return fail(where, fmt::format("'{:.60}' is no module that is known", word),
            "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj or all-linear; or --lora-on q,v beside it");
    }
    if (projections.empty()) return ask();
    if (!others.empty()) words_.note(fmt::format("adapters on {} are not forecast", fmt::join(others, ", ")));
    const bool all = std::ranges::find(projections, "all") != projections.end();
    TRY(const auto set, AdaptedProjections::parse(all ? "all" : fmt::format("{}", fmt::join(projections, ",")), where));
    words_.launch.adapted = set.text();
    return {};
  }

  DialectWords& words_;
  const ProgramTargets& row_;
  bool trained_;
};

bool trains_adapters(const Launch& launch) {
  return std::ranges::any_of(launch.arguments, [&](const GivenArgument& given) {
    const ArgumentFact* fact = launch.framework->table().find(given.name);
    return fact != nullptr && fact->asks == Asked::lora_rank && !says_none(given.value) && given.value != "0";
  });
}

}  // namespace

Expected<void> settle_adapters(DialectWords& words) {
  const Launch& launch = words.launch;
  const bool trained = trains_adapters(launch);
  if (!launch.adapted.empty() || launch.told.contains(FieldId::lora_on)) return {};
  if (!trained && !launch.told.contains(FieldId::lora)) return {};
  const auto row = std::ranges::find(program_rows, launch.framework->id, &ProgramTargets::framework);
  return row == std::end(program_rows) ? Expected<void>{} : Targets(words, *row, trained).settle();
}

}  // namespace stepcast::launch
