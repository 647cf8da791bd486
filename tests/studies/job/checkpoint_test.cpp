// Bytes of a checkpoint by the mapping: twelve plans against what the formats write.
#include "studies/job/checkpoint.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/run/request.h"

namespace stepcast::job {
namespace {

struct CheckpointPlan {
  const char *network, *stack;
  std::vector<std::pair<const char*, const char*>> said;
  double per_parameter;  ///< checkpoint.h has the formula
};

/// Megatron-LM and DeepSpeed write 2 + 4 + 4 + 4 bytes per parameter, FSDP 4 + 4 + 4, pure bf16 with bf16 moments
/// 2 + 2 + 2, whatever lies where.
const std::vector<CheckpointPlan>& plans() {
  static const std::vector<CheckpointPlan> all = {
      {"llama3-8b", "megatron-core", {{"gpus", "8"}}, 14},
      {"llama3-8b", "megatron-core", {{"gpus", "16"}, {"tp", "4"}, {"pp", "2"}}, 14},
      {"llama3-70b", "megatron-core", {{"gpus", "64"}, {"tp", "8"}, {"pp", "4"}}, 14},
      {"llama3-70b", "megatron-core", {{"gpus", "64"}, {"tp", "8"}, {"pp", "4"}, {"zero", "0"}}, 14},
      {"gpt3-175b", "megatron-core", {{"gpus", "128"}, {"tp", "8"}, {"pp", "8"}}, 14},
      {"gpt3-13b", "deepspeed-zero", {{"gpus", "32"}, {"zero", "1"}}, 14},
      {"gpt3-13b", "deepspeed-zero", {{"gpus", "32"}, {"zero", "3"}}, 14},
      {"llama3-8b", "pytorch-fsdp", {{"gpus", "16"}, {"zero", "3"}}, 12},
      {"llama3-70b", "pytorch-fsdp", {{"gpus", "256"}, {"zero", "3"}}, 12},
      {"llama3-8b", "pytorch-fsdp", {{"gpus", "32"}, {"zero", "3"}, {"tp", "2"}}, 12},
      {"llama3-8b", "pytorch", {{"gpus", "8"}, {"zero", "0"}}, 6},
      {"mixtral-8x7b", "megatron-core", {{"gpus", "64"}, {"ep", "8"}}, 14},
  };
  return all;
}

TEST(Checkpoint, TwelvePlansWeighWhatTheirFormatsWrite) {
  ASSERT_EQ(plans().size(), 12U);
  for (const CheckpointPlan& plan : plans()) {
    run::Request request;
    request.network = *run::choose_network(plan.network, "network");
    request.machine = *run::choose_machine("dgx-h100", "machine");
    request.stack = *run::choose_stack(plan.stack, "stack");
    for (const auto& [key, value] : plan.said) ASSERT_TRUE(request.say(key, value, key));
    const auto scenario = run::complete(request);
    ASSERT_TRUE(scenario) << plan.network << " " << to_text(scenario.error());
    const auto prediction = run::predict(*scenario);
    ASSERT_TRUE(prediction) << plan.network << " " << to_text(prediction.error());
    const CheckpointSize size = checkpoint_size(*scenario, prediction->program);
    const auto parameters = static_cast<double>(parameter_count(scenario->network.row));
    EXPECT_NEAR(size.all.value() / (plan.per_parameter * parameters), 1, 1e-9) << plan.network << " " << plan.stack;
    // The fullest GPU writes at least its even share, and all of them no less than the whole.
    EXPECT_GE(size.fullest_gpu.value() * static_cast<double>(scenario->plan.gpus), size.all.value() * (1 - 1e-9));
    EXPECT_LT(size.fullest_gpu.value() * static_cast<double>(scenario->plan.gpus), size.all.value() * 1.6);
  }
}

CheckpointSize size_of(const char* network, const std::vector<std::pair<const char*, const char*>>& said,
    const char* stack = "megatron-core") {
  run::Request request;
  request.network = *run::choose_network(network, "network");
  request.machine = *run::choose_machine("dgx-h100", "machine");
  request.stack = *run::choose_stack(stack, "stack");
  for (const auto& [key, value] : said) EXPECT_TRUE(request.say(key, value, key)) << key;
  const auto scenario = run::complete(request);
  if (!scenario) throw std::runtime_error(to_text(scenario.error()));
  return checkpoint_size(*scenario, run::predict(*scenario)->program);
}

TEST(Checkpoint, OfAdaptersHoldsThemAlone) {
  const CheckpointSize size = size_of("llama3-8b", {{"gpus", "8"}, {"lora", "16"}});
  // Llama 3 8B: 4096 wide, 1024 of keys and of values, 14336 inside the MLP, 32 layers. q and out 2 x 8192, k and v 2 x
  // 5120, gate, up and down 3 x 18432 elements of each rank.
  const double adapters = 32 * 16 * (2 * 8192.0 + 2 * 5120.0 + 3 * 18432.0);
  EXPECT_DOUBLE_EQ(size.trained, adapters);
  EXPECT_NEAR(size.all.value() / (14 * adapters), 1, 1e-9);
  const CheckpointSize some = size_of("llama3-8b", {{"gpus", "8"}, {"lora", "16"}, {"lora_on", "q,v"}});
  EXPECT_DOUBLE_EQ(some.trained, 32 * 16 * (8192.0 + 5120.0));
}

TEST(Checkpoint, OfFrozenPartsHoldsTheirWeightsAlone) {
  const std::vector<std::pair<const char*, const char*>> run{
      {"gpus", "8"}, {"images", "1"}, {"encoder_sequence", "1024"}};
  auto frozen = run;
  frozen.emplace_back("freeze", "encoder,projector");
  const CheckpointSize all = size_of("qwen2.5-vl-7b", run), some = size_of("qwen2.5-vl-7b", frozen);
  const NetworkSpec network = run::choose_network("qwen2.5-vl-7b", "network")->row;
  EXPECT_DOUBLE_EQ(all.trained, all.written);
  EXPECT_DOUBLE_EQ(some.written, all.written);
  EXPECT_NEAR((all.trained - some.trained) / static_cast<double>(encoder_parameter_count(network)), 1, 1e-9);
  EXPECT_NEAR((all.all - some.all).value() / (12 * static_cast<double>(encoder_parameter_count(network))), 1, 1e-6);
  // FSDP's fp32 weights stay without their moments.
  frozen.emplace_back("zero", "3");
  const CheckpointSize sharded = size_of("qwen2.5-vl-7b", frozen, "pytorch-fsdp");
  EXPECT_NEAR(sharded.all.value() / (4 * sharded.written + 8 * sharded.trained), 1, 1e-9);
}

TEST(Checkpoint, BloomsIsWhatItsCardSays) {
  // 176.247 B parameters x 14 bytes = 2.467e12 = 2.24 TiB; the model card has 2.3 TB with optimizer states.
  EXPECT_NEAR(176.247e9 * 14 / 0x1p40, 2.3, 0.06);
}

TEST(Checkpoint, TimesAreBytesOverRates) {
  const StorageRates rates{BytesPerSecond(20e9), BytesPerSecond(40e9), true};
  const CheckpointTimes times = checkpoint_times({Bytes(400e9), Bytes(5e9), 2, 12}, rates, BytesPerSecond(50e9));
  EXPECT_EQ(times.write, Seconds(20));
  EXPECT_EQ(times.read, Seconds(10));
  EXPECT_EQ(times.copy, Seconds(0.1));
  EXPECT_EQ(default_storage(512).write, BytesPerSecond(40e9));  // two units of 32 nodes
  EXPECT_EQ(default_storage(8).write, BytesPerSecond(4e9));     // a single node
  EXPECT_EQ(default_storage(8).read, BytesPerSecond(8e9));
  EXPECT_EQ(default_storage(128).read, BytesPerSecond(40e9));  // more nodes than a unit's storage serves at once
}

}  // namespace
}  // namespace stepcast::job
