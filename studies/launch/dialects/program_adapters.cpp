#include "studies/launch/dialects/program_adapters.h"

#include <algorithm>

#include "model/base/text.h"

namespace stepcast::launch {
namespace {

// Qwen's c_attn is queries, keys and values, its c_proj the output of attention and of the MLP, w1 and w2 are up and
// gate (Qwen/Qwen-7B, modeling_qwen.py). LLaVA's adapters stand beside all linear layers of the language model but its
// head.
constexpr std::string_view ends = "embedding and head", talks = "chat";
constexpr ProgramAdapters own_rows[] = {
    {"train_lora.py", "", "", 8, "q,v", "", "", "FastChat", "lm-sys/FastChat@02d4581b22: fastchat/train/train_lora.py"},
    {"finetune.py", "dataset_mixer_list", "", 64, "all", "", "", "open-instruct",
        "allenai/open-instruct: open_instruct/finetune.py"},
    {"finetune.py", "use_lora", "qwen-vl", 64, "q,k,v,out,gate,up", ends, "", "Qwen-VL",
        "QwenLM/Qwen-VL@0f31930594: finetune.py"},
    {"finetune.py", "use_lora", "qwen-", 64, "all", ends, talks, "Qwen", "QwenLM/Qwen@00dceebbaa: finetune.py"},
    {"finetune.py", "use_lora", "qwen", 64, "all", "", "", "Qwen2.5",
        "QwenLM/Qwen2.5@120ae27dc9: examples/sft/finetune.py"},
    {"train.py", "lora_enable", "", 64, "all", "", "", "LLaVA", "haotian-liu/LLaVA@0034661529: llava/train/train.py"},
    {"train_mem.py", "lora_enable", "", 64, "all", "", "", "LLaVA",
        "haotian-liu/LLaVA@0034661529: llava/train/train.py"}};

}  // namespace

std::string network_word(DialectWords& words) {
  for (const char* name : {"model_name_or_path", "model_name", "model_id", "base_model", "model"})
    if (words.has(name)) {
      const std::string path = lower_case(words.value(name));
      return path.substr(path.rfind('/') + 1);
    }
  return {};
}

const ProgramAdapters* adapters_of_program(DialectWords& words) {
  const std::string network = network_word(words);
  const auto row = std::ranges::find_if(own_rows, [&](const ProgramAdapters& one) {
    return words.launch.program == one.program && (one.argument.empty() || words.has(one.argument)) &&
           network.find(one.network) != network.npos;
  });
  return row == std::end(own_rows) ? nullptr : &*row;
}

}  // namespace stepcast::launch
