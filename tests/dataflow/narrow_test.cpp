// Narrow plans: projections keep cast weights, and what only they read in backward is saved as it was cast.
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"

namespace stepcast::dataflow {
namespace {

ProgramBlock layer_in(
    Precision precision, const char* alias, const char* stack = "megatron-core", bool any_layout = false) {
  Plan plan;
  plan.mapping = std::string("mesh dp:8\nuse dp, ") + alias + "\n";
  plan.gpus = 8;
  plan.global_batch = 8;
  plan.precision = precision;
  plan.fp8_any_layout = any_layout;
  const auto program = lower(
      **find_row(built_in().networks, "llama3-8b", "network"), plan, **find_row(built_in().stacks, stack, "stack"));
  EXPECT_TRUE(program) << to_text(program.error());
  return program->blocks[1];
}

double bytes_of(const ProgramBlock& block, BufferKind kind) {
  double bytes = 0;
  for (const Buffer& buffer : block.buffers)
    if (buffer.kind == kind) bytes += buffer.bytes.value();
  return bytes;
}

// Matrices of one layer: 4096 (4096 + 2*1024) + 4096*4096 + 3 * 4096*14336 elements.
constexpr double kMatrices = 4096.0 * 6144 + 4096.0 * 4096 + 3 * 4096.0 * 14336;

TEST(NarrowPlans, EveryProjectionKeepsTwoCastWeights) {
  const double wide = bytes_of(layer_in(Precision::bf16, "zero1"), BufferKind::weight);
  EXPECT_DOUBLE_EQ(bytes_of(layer_in(Precision::fp8, "zero1"), BufferKind::weight) - wide, 2 * kMatrices);
  EXPECT_DOUBLE_EQ(
      bytes_of(layer_in(Precision::mxfp8, "zero1"), BufferKind::weight) - wide, 2 * kMatrices * (1 + 1.0 / 32));
}

TEST(NarrowPlans, WhereProductsTakeAnyLayoutOnlyTypesWithBlocksKeepATransposedCopy) {
  const auto more = [](Precision precision) {
    return bytes_of(layer_in(precision, "zero1", "megatron-core", true), BufferKind::weight) -
           bytes_of(layer_in(Precision::bf16, "zero1"), BufferKind::weight);
  };
  EXPECT_DOUBLE_EQ(more(Precision::fp8), kMatrices);
  EXPECT_DOUBLE_EQ(more(Precision::mxfp8), 2 * kMatrices * (1 + 1.0 / 32));
  EXPECT_DOUBLE_EQ(more(Precision::nvfp4), 2 * kMatrices * (0.5 + 1.0 / 16));
  // The chips are data: 10.x has such products, 9.0 and 12.0 do not.
  for (const Gpu& gpu : built_in().gpus) {
    const bool ten = gpu.id == "b200-sxm" || gpu.id == "b300-sxm" || gpu.id == "gb200" || gpu.id == "gb300";
    EXPECT_EQ(gpu.fp8_any_layout, ten) << gpu.id;
  }
}

TEST(NarrowPlans, GatheredWeightsKeepNone) {
  EXPECT_DOUBLE_EQ(bytes_of(layer_in(Precision::fp8, "fsdp"), BufferKind::weight),
      bytes_of(layer_in(Precision::bf16, "fsdp"), BufferKind::weight));
}

double cast_bytes_in(const ProgramBlock& block, Pass pass) {
  double bytes = 0;
  for (const KernelWork& work : block.works)
    if (work.label.ends_with(" cast") && work.pass == pass) bytes += work.bytes.value();
  return bytes;
}

// Two bytes read and one written of each element, forward and again for the gradients of the inputs.
TEST(NarrowPlans, GatheredWeightsAreCastInEachPassWhereCastsAreKernelsOfTheirOwn) {
  const ProgramBlock gathered = layer_in(Precision::fp8, "fsdp", "jax");
  EXPECT_DOUBLE_EQ(cast_bytes_in(gathered, Pass::forward), 3 * kMatrices);
  EXPECT_DOUBLE_EQ(cast_bytes_in(gathered, Pass::input_grad), 3 * kMatrices);
  EXPECT_EQ(cast_bytes_in(gathered, Pass::weight_grad), 0);
  EXPECT_EQ(cast_bytes_in(layer_in(Precision::bf16, "fsdp", "jax"), Pass::forward), 0);
  EXPECT_EQ(cast_bytes_in(layer_in(Precision::fp8, "zero1", "jax"), Pass::forward), 0) << "they stay";
  EXPECT_EQ(cast_bytes_in(layer_in(Precision::fp8, "fsdp"), Pass::forward), 0) << "narrow ones are gathered";
}

TEST(NarrowPlans, NormedInputsAndTheMlpsActivationAreSavedAsCast) {
  // norm1.y and norm2.y (8192 x 4096) and A (8192 x 14336), one byte instead of two; O is also read by the core and
  // stays.
  const double wide = bytes_of(layer_in(Precision::bf16, "zero1"), BufferKind::saved);
  EXPECT_DOUBLE_EQ(wide - bytes_of(layer_in(Precision::fp8, "zero1"), BufferKind::saved), 8192.0 * (2 * 4096 + 14336));
}

}  // namespace
}  // namespace stepcast::dataflow
