// Launches by their arguments alone, as if somebody had typed them, and what was understood of them.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch::given_launches {

using GivenValues = std::vector<std::pair<std::string, std::string>>;

/// As if somebody had typed them, an argument per line.
inline Launch given_launch(const char* framework, const GivenValues& values, std::int64_t gpus = 0) {
  Launch launch;
  launch.framework = find_framework(framework);
  launch.where = "run.sh";
  launch.gpus = gpus, launch.gpus_per_node = std::min<std::int64_t>(gpus, 8);
  for (const auto& [name, value] : values)
    launch.arguments.push_back({name, "--" + name, value, launch.arguments.size() + 1, {}});
  return launch;
}

/// GPT-3 of 6.7 billion parameters as Megatron-LM is told it: everything else is its default.
inline GivenValues with_gpt(GivenValues more) {
  GivenValues all = {{"num_layers", "32"}, {"hidden_size", "4096"}, {"num_attention_heads", "32"},
      {"seq_length", "2048"}, {"max_position_embeddings", "2048"}, {"vocab_size", "51200"}, {"micro_batch_size", "2"},
      {"global_batch_size", "512"}, {"bf16", "true"}};
  for (auto& one : more) {
    std::erase_if(all, [&](const auto& row) { return row.first == one.first; });
    all.push_back(std::move(one));
  }
  return all;
}

inline Expected<LaunchReading> megatron_reading(GivenValues more, std::int64_t gpus = 64) {
  return read_meaning(given_launch("megatron-lm", with_gpt(std::move(more)), gpus), {});
}

inline std::string said(const LaunchReading& reading, const char* key) {
  const auto found = reading.request.said().find(key);
  return found == reading.request.said().end() ? "(nothing)" : found->second.text;
}
inline const NetworkSpec& trained(const LaunchReading& reading) { return reading.request.network->row; }

}  // namespace stepcast::launch::given_launches
