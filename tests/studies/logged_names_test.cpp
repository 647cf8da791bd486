#include "studies/logged_names.h"

#include <gtest/gtest.h>

#include "calibrate/import/training_log.h"
#include "studies/validation/stack_rule.h"

namespace stepcast {
namespace {

TEST(LoggedNames, ArgumentsThatMayChangeTheStep) {
  const std::pair<const char*, const char*> changes[] = {{"optimizer_cpu_offload", "True"},
                                                         {"window_size", "(4096, 0)"},
                                                         {"zero_optimization.offload_param.device", "cpu"},
                                                         {"model.cpu_offloading", "true"},
                                                         {"cp_comm_type", "a2a"},
                                                         {"attention_backend", "unfused"},
                                                         {"hidden_dropout", "0.1"}};
  for (const auto& [name, value] : changes) EXPECT_TRUE(may_change_step(name, value)) << name;
}

TEST(LoggedNames, ArgumentsThatDoNot) {
  const std::pair<const char*, const char*> others[] = {{"optimizer_cpu_offload", "False"},
                                                        {"window_size", "None"},
                                                        {"lr", "1e-4"},
                                                        {"inference_cuda_graph_max_tokens", "512"},
                                                        {"cp_comm_type", "p2p"},
                                                        {"masked_softmax_fusion", "True"},
                                                        {"fp8_amax_history_len", "1024"},
                                                        {"checkpoint.async_mode", "async"},
                                                        {"hidden_dropout", "0.0"}};
  for (const auto& [name, value] : others) EXPECT_FALSE(may_change_step(name, value)) << name;
}

TEST(LoggedNames, EveryLoggedProgramIsKnownWithItsStack) {
  const std::pair<const char*, const char*> stacks[] = {{"megatron-lm", "megatron-core"},
                                                        {"megatron-bridge", "nemo"},
                                                        {"megatron-deepspeed", "megatron-deepspeed"},
                                                        {"nemo", "nemo"},
                                                        {"torchtitan", "pytorch-fsdp"},
                                                        {"deepspeed", "deepspeed-zero"}};
  for (const auto& [framework, stack] : stacks) {
    const TrainingProgram* program = find_program(framework);
    ASSERT_NE(program, nullptr) << framework;
    stepcast::Run run;
    run.software = std::string(program->software);
    EXPECT_EQ(stack_of(run).id, stack);
    EXPECT_FALSE(stack_of(run).guessed);
  }
  for (const LogFormat& format : log_formats()) EXPECT_NE(find_program(format.framework), nullptr) << format.framework;
  EXPECT_EQ(find_program("jax"), nullptr);
}

}  // namespace
}  // namespace stepcast
