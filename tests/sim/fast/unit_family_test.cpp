// Programs put together from those of one and two sequences, against programs lowered at that size and on those ranks.
#include "sim/fast/unit_family.h"

#include <string>

#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"

namespace stepcast::sim {
namespace {

struct FamilyCase {
  const char *network, *mapping;
  std::int64_t gpus;
};

const FamilyCase family_cases[] = {
    {"gpt3-175b", "use tp, vocab, sp, dp, zero1\n", 64},
    {"gpt3-175b", "use tp, vocab, dp\npar layer on pp sched 1f1b for mb:*\nrecompute attn.core\nsave O at use\n", 64},
    {"llama3-8b", "use tp, vocab, sp, cp, dp, zero1\nrecompute norm, attn, residual, mlp whole\n", 64},
    {"llama3-8b", "use tp, ulysses, dp, fsdp\n", 64},
};

const std::string usual_mesh = "mesh tp:4 cp:2 dp:4 pp:2\n";

Expected<Program> family_program(const FamilyCase& test, const std::string& mesh, std::int64_t micro_batch) {
  const NetworkSpec& network = **find_row(built_in().networks, test.network, "network");
  const Stack& stack = **find_row(built_in().stacks, "megatron-core", "stack");
  Plan plan;
  const std::string stage =
      std::string(test.mapping).find("par layer") == std::string::npos ? "par layer on pp sched 1f1b for mb:*\n" : "";
  plan.mapping = mesh + test.mapping + stage;
  plan.gpus = test.gpus;
  plan.micro_batch = micro_batch;
  plan.global_batch = micro_batch * 4;
  return lower(network, plan, stack);
}

void expect_alike(double a, double b, const std::string& what) { EXPECT_NEAR(a, b, 1e-12 * std::abs(b)) << what; }

void expect_same_block(const ProgramBlock& made, const ProgramBlock& lowered) {
  ASSERT_EQ(made.works.size(), lowered.works.size());
  for (std::size_t i = 0; i < made.works.size(); ++i) {
    const KernelWork &a = made.works[i], &b = lowered.works[i];
    for (const auto size : {&KernelWork::m, &KernelWork::n, &KernelWork::k, &KernelWork::batch, &KernelWork::sequence,
             &KernelWork::imbalance})
      expect_alike(a.*size, b.*size, a.label);
    expect_alike(a.flops.value(), b.flops.value(), a.label);
    expect_alike(a.bytes.value(), b.bytes.value(), a.label);
  }
  ASSERT_EQ(made.moves.size(), lowered.moves.size());
  for (std::size_t i = 0; i < made.moves.size(); ++i)
    expect_alike(made.moves[i].received.value(), lowered.moves[i].received.value(), made.moves[i].label);
  ASSERT_EQ(made.buffers.size(), lowered.buffers.size());
  for (std::size_t i = 0; i < made.buffers.size(); ++i)
    expect_alike(made.buffers[i].bytes.value(), lowered.buffers[i].bytes.value(), made.buffers[i].label);
}

TEST(UnitFamily, EverySizeIsWhatLoweringGives) {
  for (const FamilyCase& test : family_cases) {
    auto one = family_program(test, usual_mesh, 1);
    const auto two = family_program(test, usual_mesh, 2);
    ASSERT_TRUE(one && two) << test.network;
    UnitFamily family(std::move(*one), *two);
    ASSERT_TRUE(family.grows_evenly());
    for (const std::int64_t sequences : {1, 2, 3, 8}) {
      const Program& made = family.at(static_cast<double>(sequences));
      const auto lowered = family_program(test, usual_mesh, sequences);
      ASSERT_TRUE(lowered);
      for (std::size_t block = 0; block < lowered->blocks.size(); ++block)
        expect_same_block(made.blocks[block], lowered->blocks[block]);
    }
  }
}

TEST(UnitFamily, GroupsLieWhereAnotherOrderOfTheMeshPutsThem) {
  const FamilyCase& test = family_cases[2];
  auto one = family_program(test, usual_mesh, 1);
  const auto two = family_program(test, usual_mesh, 2), moved = family_program(test, "mesh dp:4 tp:4 pp:2 cp:2\n", 1);
  ASSERT_TRUE(one && two && moved);
  UnitFamily family(std::move(*one), *two);
  const UnitFamily::Axis axes[] = {{1, 4, 4}, {4, 2, 32}};
  ASSERT_TRUE(family.lay(axes));
  const Program& made = family.at(1);
  int groups = 0;
  for (std::size_t b = 0; b < moved->blocks.size(); ++b) {
    for (std::size_t i = 0; i < moved->blocks[b].moves.size(); ++i) {
      const Move &here = made.blocks[b].moves[i], &there = moved->blocks[b].moves[i];
      ASSERT_EQ(here.group < 0, there.group < 0);
      if (here.group < 0) continue;
      const Group &a = made.groups[static_cast<std::size_t>(here.group)],
                  &g = moved->groups[static_cast<std::size_t>(there.group)];
      ASSERT_EQ(a.digits.size(), g.digits.size()) << here.label;
      for (std::size_t d = 0; d < a.digits.size(); ++d) EXPECT_EQ(a.digits[d].stride, g.digits[d].stride) << here.label;
      ++groups;
    }
  }
  EXPECT_GT(groups, 10);
}

TEST(UnitFamily, GroupsOfOtherRanksAreLeftAlone) {
  const FamilyCase& test = family_cases[3];  // weights are gathered over the data ranks too
  auto one = family_program(test, usual_mesh, 1);
  const auto two = family_program(test, usual_mesh, 2);
  ASSERT_TRUE(one && two);
  UnitFamily family(std::move(*one), *two);
  const std::vector<Group> before = family.at(1).groups;
  const UnitFamily::Axis axes[] = {{1, 4, 8}, {4, 2, 32}};
  EXPECT_FALSE(family.lay(axes));
  EXPECT_EQ(family.at(1).groups, before);
}

}  // namespace
}  // namespace stepcast::sim
