// Kernels of an iteration under the roofs of their GPU, by hand.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/asked.h"
#include "studies/infer/roofs.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

Answer prompt(std::int64_t positions) {
  Asked asked;
  asked.wishes.network = "llama3-8b", asked.wishes.machine = "dgx-h100";
  asked.phase = "prefill", asked.prompt = positions;
  return *answer_to(asked);
}

const RoofedKernel& kernel_of(const std::vector<RoofedKernel>& kernels, const char* label) {
  return *std::ranges::find(kernels, label, &RoofedKernel::label);
}

/// mlp.down of Llama 3 8B: 4096 x 4096 x 14336, 2 m n k FLOPs over 2 (m k + n k + m n) bytes: 1,787 FLOP/B. H100: 989
/// TFLOP/s over 3.35 TB/s is 295. Of 16 positions it is 15.9.
TEST(Roofs, ProductsHaveTheIntensityOfTheirMatrices) {
  const Answer wide = prompt(4096), narrow = prompt(16);
  const auto many = roofed_kernels(wide.serving, wide.phase.shown),
             few = roofed_kernels(narrow.serving, narrow.phase.shown);
  const double m = 4096, n = 4096, k = 14336;
  EXPECT_NEAR(kernel_of(many, "mlp.down").intensity, m * n * k / (m * k + n * k + m * n), 1e-6);
  EXPECT_FALSE(kernel_of(many, "mlp.down").below_memory);
  EXPECT_NEAR(kernel_of(few, "mlp.down").intensity, 16 * n * k / (16 * k + n * k + 16 * n), 1e-6);
  EXPECT_TRUE(kernel_of(few, "mlp.down").below_memory);
}

TEST(Roofs, NoKernelIsAboveItsRoof) {
  for (const std::int64_t positions : {1, 64, 1024, 8192}) {
    const Answer answer = prompt(positions);
    for (const RoofedKernel& kernel : roofed_kernels(answer.serving, answer.phase.shown)) {
      EXPECT_LE(kernel.share, 1) << kernel.label << " of " << positions;
      EXPECT_GT(kernel.share, 0);
    }
  }
}

/// The L2 of an L40S holds 96 MiB, and its tables asked for the same 16.8 MB of weights in fp8 again and again; 32
/// layers have weights of their own, which come at 864 GB/s, with 4096 activations of one byte and as many results of
/// two.
TEST(Roofs, WeightsOfLayersComeFromMemoryThoughTheL2WouldHoldThem) {
  Asked asked;
  asked.wishes.network = "llama3-8b", asked.wishes.machine = "l40s-server", asked.wishes.weights = "fp8";
  asked.phase = "decode", asked.context = 4096;
  const Answer answer = *answer_to(asked);
  const auto kernels = roofed_kernels(answer.serving, answer.phase.shown);
  EXPECT_NEAR(kernel_of(kernels, "attn.out").time.value(), 32 * 4096.0 * (4096 + 1 + 2) / 864e9, 1e-9);
  for (const RoofedKernel& kernel : kernels) EXPECT_LE(kernel.share, 1 + 1e-9) << kernel.label;
}

/// An A100 widens keys in fp8 to bf16, and a V100 has fp16 alone: what they multiply has a roof.
TEST(Roofs, TypesWithoutUnitsHaveTheRoofOfWhatTheyAreWidenedTo) {
  for (const auto& [machine, cache] : {std::pair("dgx-a100", "fp8"), std::pair("dgx-1-v100", "")}) {
    Asked asked;
    asked.wishes.network = "llama3.2-1b", asked.wishes.machine = machine, asked.wishes.cache = cache;
    asked.phase = "decode", asked.context = 1000;
    const auto answer = answer_to(asked);
    ASSERT_TRUE(answer) << to_text(answer.error());
    for (const RoofedKernel& kernel : roofed_kernels(answer->serving, answer->phase.shown))
      EXPECT_LE(kernel.share, 1) << kernel.label << " on " << machine;
  }
}

TEST(Roofs, TheCommandPrintsThem) {
  const auto ran = testing_program::run_line("infer llama3-8b --prompt 4096 --roofline --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["peak_flops_per_s"], 989.4e12);
  EXPECT_EQ(json["kernels"][0]["label"], "mlp.up");
  EXPECT_EQ(json["kernels"][0]["roof"], "compute");
}

}  // namespace
}  // namespace stepcast::infer
