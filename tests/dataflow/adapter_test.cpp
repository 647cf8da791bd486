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

}  // namespace
}  // namespace stepcast::dataflow
