// What of the logits lies in memory where the loss is worked off in pieces, and shards beside what is gathered of them.
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

/// Network of section C (networks.h): 4096 positions of 128,256 words, of which a rank of tp 4 has 32,064.
constexpr double all_logits = 2.0 * 4096 * 128'256 / 4;

Stack loss_stack(LossForm loss) {
  Stack stack;
  stack.id = "s";
  stack.fused = {"norm", "attn.qkv", "rope", "mlp.up", "swiglu", "embedding", "loss"};
  stack.loss_bytes = 2, stack.loss = loss;
  return stack;
}

Program program_of(const std::string& mapping, std::int64_t gpus, const Stack& stack) {
  Plan plan;
  plan.mapping = mapping, plan.gpus = gpus, plan.global_batch = 8;
  auto program = lower(section_c_spec(), plan, stack);
  EXPECT_TRUE(program) << (program ? "" : to_text(program.error()));
  return program ? std::move(*program) : Program{};
}

double bytes_of(const Program& program, Count count, const std::string& label) {
  double bytes = 0;
  for (const ProgramBlock& block : program.blocks)
    for (const Buffer& buffer : block.buffers)
      if (block.name == "head" && buffer.count == count && buffer.label == label) bytes += buffer.bytes.value();
  return bytes;
}

struct LogitBytes {
  double kept, passing;  ///< from forward to backward; their gradient
};
LogitBytes logits_of(LossForm loss, const std::string& more = "") {
  const Program program = program_of("mesh tp:4\nuse tp, vocab, sp" + more, 4, loss_stack(loss));
  return {bytes_of(program, Count::per_micro_batch, "logits"), bytes_of(program, Count::transient_backward, "dlogits")};
}

TEST(LogitsInMemory, WholeInPiecesKeptAndOnTheChip) {
  EXPECT_EQ(logits_of({}).kept, all_logits);
  EXPECT_EQ(logits_of({}).passing, all_logits);
  EXPECT_EQ(logits_of({LossPieces::count, 8}).kept, all_logits / 8);
  EXPECT_EQ(logits_of({LossPieces::count, 8}).passing, all_logits / 8);
  EXPECT_EQ(logits_of({LossPieces::count, 8, true}).kept, all_logits) << "autograd keeps what pieces have read";
  EXPECT_EQ(logits_of({LossPieces::count, 8, true}).passing, all_logits / 8);
  EXPECT_EQ(logits_of({LossPieces::tokens, 256}).passing, all_logits / 16);
  EXPECT_EQ(logits_of({LossPieces::on_chip}).passing, 0);
}

TEST(LogitsInMemory, OnesThatAreMadeAgainAreNotKept) {
  EXPECT_EQ(logits_of({LossPieces::tokens, 256}, "\nrecompute head, loss").kept, 0);
  EXPECT_EQ(logits_of({LossPieces::tokens, 256}, "\nrecompute head, loss").passing, all_logits / 16);
}

double optimizer_bytes(const std::string& zero, double master) {
  Stack stack = loss_stack({});
  stack.master_bytes = master;
  double bytes = 0;
  for (const ProgramBlock& block : program_of("mesh dp:4\nuse dp, " + zero, 4, stack).blocks)
    for (const Buffer& buffer : block.buffers) {
      if (buffer.kind == BufferKind::optimizer) bytes += buffer.bytes.value();
    }
  return bytes;
}

/// FSDP's shards of 32 bits stay beside the copy that is gathered of them for a step; copies of other software are
/// views of its whole weights, whatever their optimizer is divided by.
TEST(LogitsInMemory, ShardsThatAreTheirOwnMasterLieBesideWholeWeights) {
  constexpr double fsdp = 2, other = 4, moments = 8, weight = 2;
  const double sharded = optimizer_bytes("fsdp", fsdp);
  EXPECT_NEAR(optimizer_bytes("zero2", fsdp) / sharded, (fsdp + moments + weight) / (fsdp + moments), 1e-9);
  EXPECT_NEAR(optimizer_bytes("zero2", other) / optimizer_bytes("fsdp", other), 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::dataflow
