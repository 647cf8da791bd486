#include "studies/launch/read/command_words.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace stepcast::launch {
namespace {

/// Lightning-AI/litgpt: litgpt/__main__.py; "finetune lora" was its older form of "finetune_lora".
void name_words_of_litgpt(Launch& launch, std::vector<GivenArgument> words) {
  constexpr std::string_view kinds[] = {"full", "lora", "adapter", "adapter_v2"};
  if (launch.program == "litgpt finetune" && !words.empty() &&
      std::ranges::find(kinds, words.front().value) != std::end(kinds)) {
    launch.program += "_" + words.front().value;
    words.erase(words.begin());
  }
  if (words.empty()) return;
  words.front().name = launch.program == "litgpt pretrain" ? "model_name" : "checkpoint_dir";
  launch.arguments.insert(launch.arguments.begin(), words.front());
}

}  // namespace

void name_command_words(Launch& launch, std::vector<GivenArgument> words) {
  if (launch.program == "nemo")
    for (const GivenArgument& word : words) launch.program += ' ' + word.value;
  if (launch.program.starts_with("litgpt ")) name_words_of_litgpt(launch, std::move(words));
}

}  // namespace stepcast::launch
