// Launches for tests: typed in one string, or a legal one of Llama 3 8B with changes.
#pragma once

#include <sstream>
#include <string>

#include "studies/launch/read/launch.h"

namespace stepcast::launch::testing_launch {

inline bool names_an_argument(const std::string& word) { return word.starts_with("--"); }

/// "--tensor-model-parallel-size 8 --bf16": one argument per line.
inline Launch typed_launch(const std::string& text, const std::string& framework = "megatron-lm") {
  Launch launch;
  launch.framework = find_framework(framework);
  launch.where = "run.sh";
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (names_an_argument(word)) {
      GivenArgument given;
      given.name = argument_name(word);
      given.spelled = word;
      given.value = "true";
      given.line = launch.arguments.size() + 1;
      launch.arguments.push_back(given);
    } else {
      std::string& value = launch.arguments.back().value;
      value = value == "true" ? word : value + " " + word;
    }
  }
  return launch;
}

/// As typed, with arguments of the same name in the place of the old ones; "!--bf16" takes one away.
inline Launch changed_launch(Launch launch, const std::string& changes) {
  std::string added;
  std::istringstream in(changes);
  for (std::string word; in >> word;) {
    if (word[0] == '!')
      std::erase_if(launch.arguments, [&](const GivenArgument& given) { return given.spelled == word.substr(1); });
    else added += word + " ";
  }
  for (const GivenArgument& given : typed_launch(added, std::string(launch.framework->id)).arguments) {
    std::erase_if(launch.arguments, [&](const GivenArgument& old) { return old.name == given.name; });
    launch.arguments.push_back(given);
  }
  return launch;
}

/// 32 GPUs of 4 nodes: tp 2, pp 2, dp 8, 16 micro-batches; nothing in it that a rule speaks of.
inline Launch quiet_megatron() {
  Launch launch = typed_launch(
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
      "--num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 --swiglu "
      "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope "
      "--untie-embeddings-and-output-weights --attention-dropout 0 --hidden-dropout 0 --bf16 "
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "
      "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --micro-batch-size 1 "
      "--global-batch-size 128");
  launch.gpus = 32;
  launch.gpus_per_node = 8;
  launch.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  return launch;
}

inline Launch quiet_deepspeed() {
  Launch launch = typed_launch(
      "--train_batch_size 64 --train_micro_batch_size_per_gpu 2 --gradient_accumulation_steps 4 --bf16.enabled "
      "--zero_optimization.stage 1",
      "deepspeed");
  launch.gpus = 8;
  launch.gpus_per_node = 8;
  return launch;
}

inline Launch quiet_torchtitan() {
  Launch launch =
      typed_launch("--model.name llama3 --model.flavor 8B --training.local_batch_size 8 --training.seq_len 8192 "
                   "--parallelism.pipeline_parallel_degree 2",
          "torchtitan");
  launch.gpus = 16;
  launch.gpus_per_node = 8;
  return launch;
}

}  // namespace stepcast::launch::testing_launch
