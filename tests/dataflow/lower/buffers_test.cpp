// What lies in a rank's memory for one block: stand-ins of gradients, the logits, look-up gradients, and when what is
// kept for backward is made and read last.
//
// Network of section C (networks.h) on tp 4 with sp: bytes are 2 per element, h 4096, f 14336, v 128256, 4096
// positions.
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

Stack stand_in_stack() {
  Stack stack;
  stack.id = "s";
  stack.fused = {"norm", "attn.qkv", "rope", "mlp.up", "swiglu", "embedding", "loss"};
  stack.loss_bytes = 2;
  stack.gradient_stand_ins = stack.loss_in_place = true;
  return stack;
}

Program program_of(const NetworkSpec& spec, const std::string& mapping, std::int64_t gpus, const Stack& stack) {
  Plan plan;
  plan.mapping = mapping;
  plan.gpus = gpus;
  plan.global_batch = 8;
  auto program = lower(spec, plan, stack);
  EXPECT_TRUE(program) << (program ? "" : to_text(program.error()));
  return program ? std::move(*program) : Program{};
}

const Program& dense() {
  static const Program program = program_of(section_c_spec(),
      "mesh tp:4 cp:1 dp:1 pp:1\nuse tp, vocab, sp, dp, zero1\npar layer on pp sched 1f1b for mb:8", 4,
      stand_in_stack());
  return program;
}

std::vector<double> bytes_of(
    const Program& program, const std::string& block, Count count, const std::string& label = {}) {
  std::vector<double> bytes;
  for (const ProgramBlock& b : program.blocks)
    if (b.name == block)
      for (const Buffer& buffer : b.buffers)
        if (buffer.count == count && (label.empty() || buffer.label == label)) bytes.push_back(buffer.bytes.value());
  return bytes;
}

TEST(Buffers, OnePlaceholderPerWeightOfTheSoftware) {
  // Q, K, V are one weight: 4096 * (4096 + 2 * 1024) / 4 * 2 B; out 4096 * 4096 / 4; gate and up 2 * 4096 * 14336 / 4;
  // down.
  EXPECT_EQ(
      bytes_of(dense(), "layer", Count::shared), (std::vector<double>{12'582'912, 8'388'608, 58'720'256, 29'360'128}));
  EXPECT_EQ(bytes_of(dense(), "head", Count::shared), (std::vector<double>{128'256.0 * 4096 / 4 * 2}));
  EXPECT_TRUE(bytes_of(dense(), "embedding", Count::shared).empty()) << "a look-up adds no product into an accumulator";
}

TEST(Buffers, FunctionsThatRunKernelByKernelKeepTheirResultsOnTheWay) {
  const auto kept = [](std::int64_t results) {
    Stack stack = stand_in_stack();
    stack.one_by_one = {{"swiglu", 5.0 / 3, 2, results}};
    const Program program = program_of(section_c_spec(), "mesh tp:4 dp:1\nuse tp, vocab, sp, dp, zero1", 4, stack);
    double bytes = 0;
    for (const double each : bytes_of(program, "layer", Count::per_micro_batch)) bytes += each;
    return bytes;
  };
  EXPECT_EQ(kept(1) - kept(0), 4096.0 * 14336 / 4 * 2);  // silu(gate) beside gate and up
}

TEST(Buffers, NoPlaceholdersWhereTheSoftwareHasNone) {
  Stack plain = stand_in_stack();
  plain.gradient_stand_ins = false;
  const Program program = program_of(section_c_spec(), "mesh tp:4\nuse tp, sp", 4, plain);
  EXPECT_TRUE(bytes_of(program, "layer", Count::shared).empty());
}

TEST(Buffers, ExpertsOfOneShapeShareAPlaceholder) {
  // 16 experts of width 4096, four on a rank: one matrix, not four: gate and up 2 * 4096 * 4096 * 2 B, down half of it.
  NetworkSpec spec = section_c_spec();
  spec.experts = {.count = 16, .top_k = 2, .ffn_hidden = 4096};
  const Program program =
      program_of(spec, "mesh tp:1 cp:1 dp:4\nmesh etp:1 ep:4 edp:1\nuse dp, ep", 4, stand_in_stack());
  const std::vector<double> bytes = bytes_of(program, "expert_layer", Count::shared);
  ASSERT_GE(bytes.size(), 2U);
  EXPECT_EQ(bytes[bytes.size() - 2], 67'108'864);
  EXPECT_EQ(bytes.back(), 33'554'432);
}

TEST(Buffers, ALookUpsGradientIsAWholeTable) {
  // Of the weight's own two bytes, not of the accumulator's four.
  EXPECT_EQ(
      bytes_of(dense(), "embedding", Count::transient_backward, "dE"), (std::vector<double>{128'256.0 * 4096 / 4 * 2}));
}

TEST(Buffers, TheLossWritesOverTheLogits) {
  EXPECT_EQ(
      bytes_of(dense(), "head", Count::per_micro_batch, "logits"), (std::vector<double>{2.0 * 4096 * 128'256 / 4}));
  EXPECT_TRUE(bytes_of(dense(), "head", Count::transient_backward, "dlogits").empty());
  Stack apart = stand_in_stack();
  apart.loss_in_place = false;
  const Program program = program_of(section_c_spec(), "mesh tp:4\nuse tp, vocab, sp", 4, apart);
  EXPECT_EQ(
      bytes_of(program, "head", Count::transient_backward, "dlogits"), (std::vector<double>{2.0 * 4096 * 128'256 / 4}));
}

TEST(Buffers, GatesInTheExpertsKeepNoRowsForCombining) {
  // 2 experts per token: rows of 2 * 4096 positions, 2 * 8192 * 4096 B; kept for the gates' gradient where combining
  // scales.
  NetworkSpec spec = section_c_spec();
  spec.experts = {.count = 16, .top_k = 2, .ffn_hidden = 4096};
  const std::string mapping = "mesh tp:1 cp:1 dp:4\nmesh etp:1 ep:4 edp:1\nuse dp, ep";
  Stack stack = stand_in_stack();
  EXPECT_EQ(bytes_of(program_of(spec, mapping, 4, stack), "expert_layer", Count::per_micro_batch, "Oe"),
      (std::vector<double>{67'108'864}));
  stack.gates_in_experts = true;
  EXPECT_TRUE(bytes_of(program_of(spec, mapping, 4, stack), "expert_layer", Count::per_micro_batch, "Oe").empty());
}

TEST(Buffers, TheRotaryKeyOncePerLocalHead) {
  // 64 numbers of 2 bytes for 4096 positions, shared by 128 heads; 32 of them on a rank.
  NetworkSpec spec = section_c_spec();
  spec.heads = spec.kv_heads = 128;
  spec.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  Stack stack = stand_in_stack();
  const std::string mapping = "mesh tp:4\nuse tp";
  EXPECT_EQ(bytes_of(program_of(spec, mapping, 4, stack), "layer", Count::per_micro_batch, "kr.rotated"),
      (std::vector<double>{524'288}));
  stack.rotary_key_per_head = true;
  EXPECT_EQ(bytes_of(program_of(spec, mapping, 4, stack), "layer", Count::per_micro_batch, "kr.rotated"),
      (std::vector<double>{32 * 524'288.0}));
}

TEST(Buffers, KeptTensorsDieWithTheirLastReader) {
  for (const ProgramBlock& block : dense().blocks) {
    const auto saved = [&](const std::string& label) {
      for (const Buffer& buffer : block.buffers)
        if (buffer.count == Count::per_micro_batch && buffer.label == label) return buffer;
      return Buffer{};
    };
    if (block.name == "layer") {
      // Backward goes from the MLP's output to the first norm; forward the other way.
      EXPECT_LT(saved("A").dies, saved("mlp.gate").dies);
      EXPECT_LT(saved("mlp.gate").dies, saved("O").dies);
      EXPECT_LT(saved("O").dies, saved("norm1.y").dies);
      EXPECT_GT(saved("A").born, saved("O").born);
    }
    for (const Buffer& buffer : block.buffers)
      if (buffer.count == Count::per_micro_batch) {
        EXPECT_GE(buffer.dies, 0) << buffer.label;
        EXPECT_LT(buffer.dies, static_cast<int>(block.backward.size())) << buffer.label;
        EXPECT_LT(buffer.born, static_cast<int>(block.forward.size())) << buffer.label;
      }
  }
}

}  // namespace
}  // namespace stepcast::dataflow
