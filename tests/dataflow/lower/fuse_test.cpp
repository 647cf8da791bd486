// Which operators run as one kernel, what dropout and biases add to it, and what a move says of its rows. Layers as in
// work_test.cpp: h 4096, 32 heads over 8 groups, d 128, one sequence of 4096 per rank.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataflow/lower/lower.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

constexpr double stream = 4096.0 * 4096;  // elements of X on one rank

struct FuseCase {
  NetworkSpec spec = section_c_spec();
  Stack stack;
  std::string mapping = "mesh dp:2\nuse dp\n";

  [[nodiscard]] ProgramBlock layer() const {
    Plan plan;
    plan.mapping = mapping;
    plan.gpus = plan.global_batch = 2;
    auto lowered = lower(spec, plan, stack);
    EXPECT_TRUE(lowered.has_value()) << (lowered ? "" : to_text(lowered.error()));
    return lowered ? lowered->blocks.at(1) : ProgramBlock{};
  }
  [[nodiscard]] ProgramBlock fused(std::vector<std::string> groups) const {
    FuseCase other = *this;
    other.stack.fused = std::move(groups);
    return other.layer();
  }
};

FuseCase with_experts() {
  FuseCase c;
  c.spec.experts = {.count = 8, .top_k = 2, .ffn_hidden = 1024, .shared_ffn_hidden = 512};
  c.mapping = "mesh dp:2\nmesh etp:1 ep:2 edp:1\nuse dp, ep\n";
  return c;
}

FuseCase latent() {
  FuseCase c;
  c.spec.kv_heads = c.spec.heads;
  c.spec.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  return c;
}

std::vector<KernelWork> kernels(const ProgramBlock& block, const std::string& label) {
  std::vector<KernelWork> found;
  const auto same = [&](const KernelWork& work) { return work.label == label; };
  std::copy_if(block.works.begin(), block.works.end(), std::back_inserter(found), same);
  return found;
}

double total_flops(const ProgramBlock& block) {
  double sum = 0;
  for (const KernelWork& work : block.works) sum += work.flops.value();
  return sum;
}

/// Two products over one input become one of both widths, which reads the input once less; every other kernel stays.
void expect_joined(const FuseCase& c, const std::string& group, double n_first, double n_second, double input_bytes) {
  const ProgramBlock apart = c.fused({}), joined = c.fused({group});
  const auto before = kernels(apart, group), after = kernels(joined, group);
  ASSERT_EQ(before.size(), 2U) << group;
  ASSERT_EQ(after.size(), 1U) << group;
  EXPECT_EQ(before[0].n, n_first) << group;
  EXPECT_EQ(before[1].n, n_second) << group;
  EXPECT_EQ(after[0].n, n_first + n_second) << group;
  EXPECT_EQ((before[0].bytes + before[1].bytes - after[0].bytes).value(), input_bytes) << group;
  EXPECT_EQ(total_flops(apart), total_flops(joined)) << group;
  // Gradients: dX adds up along k, dW lies side by side; a sum of two contributions to the input's gradient is gone.
  EXPECT_EQ(kernels(joined, group + " dX").size(), 1U) << group;
  EXPECT_EQ(kernels(joined, group + " dW").size(), 1U) << group;
  EXPECT_LE(joined.works.size() + 3, apart.works.size()) << group;
  for (const KernelWork& work : joined.works) {
    const bool its = work.label.starts_with(group) || work.label.ends_with(" sum");
    EXPECT_TRUE(its || kernels(apart, work.label).size() == kernels(joined, work.label).size())
        << group << " changed " << work.label;
  }
}

TEST(KernelGroups, ProductsOverOneInputBecomeOne) {
  expect_joined({}, "mlp.up", 14336, 14336, stream * 2);
  expect_joined(with_experts(), "shared.up", 512, 512, stream * 2);
  expect_joined(with_experts(), "expert.up", 1024, 1024, 4 * 2048 * 4096.0 * 2);  // 2048 rows for each of 4 experts
  // Keys of 128 and values of 128 in 32 heads, from the latent of 512.
  expect_joined(latent(), "attn.up", 32 * 128, 32 * 128, 4096 * 512.0 * 2);
}

TEST(KernelGroups, LatentsAndTheSharedKeyAreOneProduct) {  // 1536 + 512 + 64 columns
  const ProgramBlock joined = latent().fused({"attn.down"});
  ASSERT_EQ(kernels(joined, "attn.down").size(), 1U);
  EXPECT_EQ(kernels(joined, "attn.down")[0].n, 1536 + 512 + 64);
  EXPECT_EQ(kernels(latent().fused({}), "attn.down").size(), 3U);
}

TEST(KernelGroups, BiasedProjectionsKeepTheirInputGradientsInOneProduct) {
  FuseCase c;
  const ProgramBlock plain = c.fused({"attn.qkv"});
  c.spec.qkv_bias = true;
  const ProgramBlock biased = c.fused({"attn.qkv"});
  for (const char* label : {"attn.qkv", "attn.qkv dX"}) {
    ASSERT_EQ(kernels(plain, label).size(), 1U);
    ASSERT_EQ(kernels(biased, label).size(), 1U) << label;
    EXPECT_EQ(kernels(biased, label)[0].bytes, kernels(plain, label)[0].bytes) << label;
  }
  EXPECT_EQ(kernels(biased, "attn.qkv dX")[0].k, 6144);  // (32 + 2 x 8) heads of 128
}

/// Bytes of the kernels with this label.
double bytes_of_kernels(const ProgramBlock& block, const std::string& label) {
  double sum = 0;
  for (const KernelWork& work : kernels(block, label)) sum += work.bytes.value();
  return sum;
}

TEST(Dropout, AddsItsMaskToTheResidualSum) {  // two sums per layer, a byte per element beside them
  FuseCase c;
  const ProgramBlock without = c.fused({"bias_dropout_add"});
  c.spec.dropout = true;
  const ProgramBlock with = c.fused({"bias_dropout_add"});
  EXPECT_EQ(bytes_of_kernels(with, "bias_dropout_add") - bytes_of_kernels(without, "bias_dropout_add"), 2 * stream);
  EXPECT_EQ(with.works.size(), without.works.size() + 2) << "and a kernel each in backward, where a sum alone has none";
  EXPECT_EQ(total_flops(with), total_flops(without));
}

TEST(Dropout, AloneReadsWritesAndKeepsAMask) {
  FuseCase c;
  const ProgramBlock without = c.fused({});
  c.spec.dropout = true;
  const ProgramBlock with = c.fused({});
  for (const char* label : {"bias_dropout_add", "bias_dropout_add dX"})
    EXPECT_EQ(bytes_of_kernels(with, label) - bytes_of_kernels(without, label), 2 * stream * (2 + 1 + 2)) << label;
}

TEST(Dropout, IsAKernelOfItsOwnOnTheProbabilitiesOfAnUnfusedCore) {
  FuseCase c;
  c.stack.attention = AttentionForm::unfused;
  c.spec.dropout = true;
  const double probabilities = 32 * 4096.0 * 4096;
  const ProgramBlock layer = c.layer();
  EXPECT_EQ(bytes_of_kernels(layer, "attention_dropout"), probabilities * (2 + 1 + 2));
  EXPECT_EQ(bytes_of_kernels(layer, "attention_dropout dX"), probabilities * (2 + 1 + 2));
}

TEST(Dropout, MasksAreKeptForBackward) {
  FuseCase c;
  const auto saved = [](const ProgramBlock& block) {
    double bytes = 0;
    for (const Buffer& buffer : block.buffers)
      if (buffer.kind == BufferKind::saved) bytes += buffer.bytes.value();
    return bytes;
  };
  const double without = saved(c.layer());
  c.spec.dropout = true;
  EXPECT_EQ(saved(c.layer()) - without, 2 * stream);
}

/// Each alone costs what it costs beside the other: both together are their sum.
TEST(Dropout, OfAttentionAndOfTheStreamAreTwo) {
  FuseCase c;
  c.stack.attention = AttentionForm::unfused;
  const auto bytes = [](const ProgramBlock& block) {
    double sum = 0;
    for (const KernelWork& work : block.works) sum += work.bytes.value();
    return sum;
  };
  const double without = bytes(c.layer());
  c.spec.dropout = true;
  const double both = bytes(c.layer()) - without;
  c.spec.no_hidden_dropout = true;
  const ProgramBlock alone = c.layer();
  const double attention = bytes(alone) - without;
  EXPECT_EQ(bytes_of_kernels(alone, "attention_dropout"), 32 * 4096.0 * 4096 * (2 + 1 + 2));
  c.spec.no_hidden_dropout = false, c.spec.no_attention_dropout = true;
  const ProgramBlock stream_alone = c.layer();
  const double hidden = bytes(stream_alone) - without;
  EXPECT_EQ(bytes_of_kernels(stream_alone, "attention_dropout"), 0);
  EXPECT_GT(attention, 0);
  EXPECT_GT(hidden, 0);
  EXPECT_DOUBLE_EQ(attention + hidden, both);
}

/// Fused attention drops inside its kernel and saves a seed in place of a mask.
TEST(Dropout, InsideFusedAttentionIsNoKernelOfItsOwn) {
  FuseCase c;
  const ProgramBlock without = c.layer();
  c.spec.dropout = c.spec.no_hidden_dropout = true;
  const ProgramBlock with = c.layer();
  EXPECT_EQ(with.works.size(), without.works.size());
  EXPECT_EQ(bytes_of_kernels(with, "attn.core"), bytes_of_kernels(without, "attn.core"));
}

TEST(ExpertBiases, AreAddedOutsideOfKernelsWhereExpertsRunOneByOne) {
  FuseCase c = with_experts();
  c.spec.experts.expert_bias = true;
  c.stack.fused = {"expert.up", "swiglu"};
  const ProgramBlock grouped = c.layer();
  c.stack.calls_per_expert = 2;
  const ProgramBlock apart = c.layer();
  ASSERT_EQ(grouped.works.size(), apart.works.size());
  const auto ratio = [&](const char* label) {
    return bytes_of_kernels(apart, label) / bytes_of_kernels(grouped, label);
  };
  EXPECT_NEAR(ratio("expert.down.bias"), 7, 1e-12);      // 28 bytes per element in place of 4
  EXPECT_NEAR(ratio("expert.down.bias dW"), 18, 1e-12);  // 36 in place of 2
  for (const char* label : {"swiglu", "dispatch", "combine", "expert.up", "expert.down"})
    EXPECT_EQ(ratio(label), 1) << label;
}

TEST(RecomputedRegions, EndWhereNothingMoreIsNeededOnlyIfTheSoftwareStopsThere) {
  FuseCase c;
  c.mapping = "mesh dp:2\nuse dp\nrecompute mlp\n";
  const ProgramBlock whole = c.layer();
  c.stack.recompute_whole = false;
  const ProgramBlock stopped = c.layer();
  // The last product's output is read by a sum, whose backward needs nothing.
  EXPECT_EQ(kernels(whole, "mlp.down again").size(), 1U);
  EXPECT_EQ(kernels(stopped, "mlp.down again").size(), 0U);
  EXPECT_EQ(kernels(whole, "mlp.up again").size(), kernels(stopped, "mlp.up again").size());
  EXPECT_EQ(total_flops(whole) - total_flops(stopped), 2 * 4096.0 * 4096 * 14336);
}

TEST(MovesOfRows, NameTheirExpertsAndChoices) {
  int exchanged = 0;
  for (const Move& move : with_experts().layer().moves) {
    const bool rows = move.kind == MoveKind::all_to_all;
    EXPECT_EQ(move.experts, rows ? 8 : 0) << move.label;
    EXPECT_EQ(move.choices, rows ? 2 : 0) << move.label;
    exchanged += rows ? 1 : 0;
  }
  EXPECT_EQ(exchanged, 4);
}

TEST(MovesForProducts, AreTheGathersThatLayersCastAndNotTheHeads) {
  FuseCase c;
  c.mapping = "mesh tp:2\nuse tp, sp\n";
  int gathers = 0;
  for (const Move& move : c.layer().moves) {
    EXPECT_EQ(move.for_product, move.kind == MoveKind::all_gather) << move.label;
    EXPECT_EQ(move.element_bytes, 2) << move.label;
    gathers += move.for_product ? 1 : 0;
  }
  EXPECT_EQ(gathers, 6);  // norm1.y, norm2.y, dY1, dY2, and the first two again
  Plan plan;
  plan.mapping = c.mapping;
  plan.gpus = plan.global_batch = 2;
  const auto program = lower(c.spec, plan, c.stack);
  ASSERT_TRUE(program.has_value());
  for (const Move& move : program->blocks.back().moves) EXPECT_FALSE(move.for_product) << move.label;
}

/// Forward the coefficients of four streams and what the sublayer reads are one kernel, and what puts its result back
/// is another; backward both parts are kernels by what they touch.
TEST(Fuse, MixedStreamsAreTwoKernelsOfASublayerForward) {
  FuseCase c;
  c.spec.streams = 4;
  const ProgramBlock layer = c.layer();
  for (const char* number : {"1", "2"}) {
    std::vector<KernelWork> before, behind;
    for (const KernelWork& work : layer.works) {
      if (work.streams > 0) EXPECT_EQ(work.pass, Pass::forward) << work.label;
      if (work.pass != Pass::forward) continue;
      if (work.label == std::string("streams") + number) before.push_back(work);
      if (work.label == std::string("residual") + number) behind.push_back(work);
    }
    ASSERT_EQ(before.size(), 1U);
    ASSERT_EQ(behind.size(), 1U);
    for (const KernelWork& work : {before[0], behind[0]}) {
      EXPECT_EQ(work.kernel, KernelClass::pointwise);
      EXPECT_EQ(work.streams, 4);
      EXPECT_EQ(work.m, 4096);
      EXPECT_EQ(work.k, 4096);
      EXPECT_EQ(work.element_bytes, 2);
    }
    EXPECT_EQ(before[0].n, 24);  // 4 that go in, 4 that come out, 16 of each with each
    EXPECT_DOUBLE_EQ(before[0].flops.value(), 2 * 24 * 4 * stream);
    // x once, what the sublayer reads, a matrix of 24 x 16,384 and some numbers of each position
    EXPECT_NEAR(before[0].bytes.value() / (2 * 5 * stream), 1, 0.02);
    EXPECT_EQ(behind[0].n, 0);
    EXPECT_EQ(behind[0].flops.value(), 0);
    EXPECT_NEAR(behind[0].bytes.value() / (2 * 9 * stream), 1, 0.02);
  }
}

}  // namespace
}  // namespace stepcast::dataflow
