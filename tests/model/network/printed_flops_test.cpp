// FLOPs per token against what NVIDIA's programs printed: TFLOP/s over tokens/s of NVIDIA-NeMo/Megatron-Bridge 067f987
// docs/performance-summary.md and its archive, the median of each network (printed rates are rounded, so that rows of
// one network spread by 2 %).
#include "model/network/printed_flops.h"

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

double gigaflops_per_token(const char* network, std::int64_t modules) {
  NetworkSpec spec = **find_row(built_in().networks, network, "network");
  spec.mtp_layers = modules;
  if (modules == 0) spec.mtp_pattern.clear();
  return printed_flops(spec, 1, 8192) / 1e9;
}

TEST(PrintedFlops, AreThoseOfMeasuredHybrids) {
  EXPECT_NEAR(gigaflops_per_token("nemotron-3-nano", 0) / 22.2768, 1, 0.005);         // 14 rows
  EXPECT_NEAR(gigaflops_per_token("nemotron-3-super", 2) / 84.6929, 1, 0.005);        // 11 rows
  EXPECT_NEAR(gigaflops_per_token("nemotron-3.5-lightning", 2) / 28.1459, 1, 0.015);  // one row
}

TEST(PrintedFlops, OfATransformerAreOurOwn) {
  const NetworkSpec& spec = **find_row(built_in().networks, "llama3-8b", "network");
  EXPECT_DOUBLE_EQ(printed_flops(spec, 1, 8192), model_flops(spec, 1, 8192, true));
}

/// pytorch/torchtitan pull request 4441 prints this figure of Flash with one prediction module; Llama 3 8B by its
/// formula of 6 N + 12 l h q t.
TEST(TorchtitanFlops, AreThoseThatItsTestsPrint) {
  const NetworkSpec& flash = **find_row(built_in().networks, "deepseek-v4-flash", "network");
  EXPECT_EQ(flash.mtp_layers, 1);
  EXPECT_EQ(torchtitan_flops(flash, 1, 4096), 92'762'352'876.0);
  const NetworkSpec& llama = **find_row(built_in().networks, "llama3-8b", "network");
  EXPECT_DOUBLE_EQ(torchtitan_flops(llama, 1, 8192), 6.0 * (8'030'261'248 - 128'256 * 4096) + 12.0 * 32 * 4096 * 8192);
}

/// Qwen3-Next: 8 P P per value head in place of the chunked form, half of one percent of a layer.
TEST(PrintedFlops, OfGatedDeltaNetsAreNear) {
  const NetworkSpec& spec = **find_row(built_in().networks, "qwen3-next-80b-a3b", "network");
  EXPECT_NEAR(printed_flops(spec, 1, 4096) / model_flops(spec, 1, 4096, true), 1, 0.05);
}

}  // namespace
}  // namespace stepcast
