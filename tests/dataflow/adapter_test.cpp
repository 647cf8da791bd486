// Low-rank adapters: the frozen network has no weight gradient, no optimizer state and no gradient traffic.
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"

namespace stepcast::dataflow {
namespace {

Program adapted(std::int64_t rank) {
  Plan plan;
  plan.mapping = "mesh tp:2 dp:4\nuse tp, sp, dp, zero1\n";
  plan.gpus = 8;
  plan.global_batch = 8;
  plan.lora_rank = rank;
  auto program = lower(**find_row(built_in().networks, "llama3-8b", "network"), plan,
      **find_row(built_in().stacks, "megatron-core", "stack"));
  EXPECT_TRUE(program) << to_text(program.error());
  return std::move(*program);
}

double layer_bytes(const Program& program, BufferKind kind) {
  double bytes = 0;
  for (const Buffer& buffer : program.blocks[1].buffers)
    if (buffer.kind == kind) bytes += buffer.bytes.value();
  return bytes;
}

TEST(Adapters, TrainOnlyThemselves) {
  const Program all = adapted(0), low = adapted(16);
  // 16 (8192 + 2*5120 + 8192 + 3*18432) parameters per layer, those of q, k, v, gate and up on tp: A whole, B in
  // halves; out and down: A in halves, B whole. Adam keeps 12 bytes each, in quarters over dp.
  const double a_whole = 16.0 * 4096 * 5, b_halves = 16.0 * (4096 + 1024 + 1024 + 14336 + 14336) / 2;
  const double a_halves = 16.0 * (4096 + 14336) / 2, b_whole = 16.0 * 4096 * 2;
  EXPECT_EQ(low.blocks[1].optimizer_elements, (a_whole + b_halves + a_halves + b_whole) / 4);
  EXPECT_EQ(layer_bytes(low, BufferKind::gradient), 4 * (a_whole + b_halves + a_halves + b_whole));
  EXPECT_GT(layer_bytes(low, BufferKind::weight), layer_bytes(all, BufferKind::weight));
  EXPECT_EQ(low.blocks[0].optimizer_elements, 0);
}

TEST(Adapters, WeightGradientsAreSmall) {
  const auto weight_grad = [](const Program& program) {
    double flops = 0;
    for (const KernelWork& work : program.blocks[1].works)
      if (work.pass == Pass::weight_grad) flops += work.flops.value();
    return flops;
  };
  EXPECT_LT(weight_grad(adapted(16)), 0.02 * weight_grad(adapted(0)));
}

Expected<Program> adapted_on(const char* network, const char* projections) {
  Plan plan;
  plan.mapping = "mesh tp:1 dp:1\nuse tp, dp\n";
  plan.gpus = plan.global_batch = 1;
  plan.lora_rank = 16;
  plan.adapted = *AdaptedProjections::parse(projections, "--lora-on");
  return lower(**find_row(built_in().networks, network, "network"), plan,
      **find_row(built_in().stacks, "megatron-core", "stack"));
}

double trained(const Program& program) {
  double elements = 0;
  for (const ProgramBlock& block : program.blocks) elements += block.optimizer_elements;
  return elements;
}

/// With biases, norms of heads, sinks, latents, experts and layers that predict: what is trained is small, and each
/// projection has its part.
TEST(Adapters, StandOnProjectionsOfEveryKindOfNetwork) {
  for (const char* network : {"llama3-8b", "gpt2-1.5b", "qwen2.5-7b", "gpt3-175b", "gpt-oss-20b", "deepseek-v3",
           "glm-4.5", "bloom-176b", "mpt-7b"}) {
    const auto all = adapted_on(network, "all"), q = adapted_on(network, "q"), kv = adapted_on(network, "k,v"),
               rest = adapted_on(network, "out");
    ASSERT_TRUE(all && q && kv && rest) << network;
    EXPECT_GT(trained(*q), 0) << network;
    EXPECT_GT(trained(*all), trained(*q) + trained(*kv)) << network;
    // 16 (in + out) of each product are far fewer than a hundredth of in x out
    double weights = 0;
    for (const ProgramBlock& block : all->blocks) weights += static_cast<double>(block.parameters);
    EXPECT_LT(trained(*all), 0.05 * weights) << network;
  }
}

TEST(Adapters, AllStandsAlone) {
  for (const auto& [text, hint] :
      {std::pair{"all,q,v", "all alone, or without it: q,v"}, {"q,all", "without it: q"}, {"all,all", "all, once"}}) {
    const auto set = AdaptedProjections::parse(text, "--lora-on");
    ASSERT_FALSE(set) << text;
    EXPECT_NE(set.error().hint.find(hint), std::string::npos) << set.error().hint;
  }
  EXPECT_TRUE(AdaptedProjections::parse("all", "--lora-on")->all());
}

TEST(Adapters, NoProjectionThatHasThemIsAnError) {
  const auto none = adapted_on("gpt3-175b", "gate");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("no projection that adapters stand on: gate"), std::string::npos);
  EXPECT_FALSE(adapted_on("mixtral-8x7b", "up,down"));
}

}  // namespace
}  // namespace stepcast::dataflow
