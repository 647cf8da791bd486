#include "studies/launch/facts/step_words.h"

#include <gtest/gtest.h>

namespace stepcast::launch {
namespace {

TEST(StepWords, ArgumentsThatMayChangeTheStep) {
  const std::pair<const char*, const char*> changes[] = {{"optimizer_cpu_offload", "True"},
      {"window_size", "(4096, 0)"}, {"zero_optimization.offload_param.device", "cpu"}, {"model.cpu_offloading", "true"},
      {"cp_comm_type", "a2a"}, {"attention_backend", "unfused"}, {"hidden_dropout", "0.1"}};
  for (const auto& [name, value] : changes) EXPECT_TRUE(may_change_step(name, value)) << name;
}

TEST(StepWords, ArgumentsThatDoNot) {
  const std::pair<const char*, const char*> others[] = {{"optimizer_cpu_offload", "False"}, {"window_size", "None"},
      {"lr", "1e-4"}, {"inference_cuda_graph_max_tokens", "512"}, {"cp_comm_type", "p2p"},
      {"masked_softmax_fusion", "True"}, {"fp8_amax_history_len", "1024"}, {"checkpoint.async_mode", "async"},
      {"hidden_dropout", "0.0"}};
  for (const auto& [name, value] : others) EXPECT_FALSE(may_change_step(name, value)) << name;
}

}  // namespace
}  // namespace stepcast::launch
