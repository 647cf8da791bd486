// Programs put together from those of one and two sequences and of few and more data ranks, against programs lowered at
// that size and on those ranks.
#include "sim/fast/unit_family.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

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
    {"nemotron-h-8b", "use tp, vocab, sp, dp, zero1\n", 64},
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
  plan.global_batch = micro_batch * 16;
  return lower(network, plan, stack);
}

void expect_alike(double a, double b, const std::string& what) { EXPECT_NEAR(a, b, 1e-12 * std::abs(b)) << what; }

void expect_same_block(const ProgramBlock& made, const ProgramBlock& lowered) {
  ASSERT_EQ(made.works.size(), lowered.works.size());
  for (std::size_t i = 0; i < made.works.size(); ++i) {
    const KernelWork &a = made.works[i], &b = lowered.works[i];
    for (const auto size : {&KernelWork::m, &KernelWork::n, &KernelWork::k, &KernelWork::batch, &KernelWork::sequence,
             &KernelWork::sequences, &KernelWork::queries, &KernelWork::heads, &KernelWork::imbalance})
      expect_alike(a.*size, b.*size, a.label);
    for (const auto size : {&ScanShape::sequences, &ScanShape::positions, &ScanShape::heads, &ScanShape::chunk})
      expect_alike(a.scan.*size, b.scan.*size, a.label);
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

/// Groups of what a micro-batch moves: the same ranks in both. Gives how many there are.
int expect_same_groups(const Program& made, const Program& lowered) {
  int groups = 0;
  for (std::size_t b = 0; b < lowered.blocks.size(); ++b) {
    for (std::size_t i = 0; i < lowered.blocks[b].moves.size(); ++i) {
      const Move &here = made.blocks[b].moves[i], &there = lowered.blocks[b].moves[i];
      EXPECT_EQ(here.group < 0, there.group < 0);
      if (here.group < 0 || there.group < 0) continue;
      const Group &a = made.groups[static_cast<std::size_t>(here.group)],
                  &g = lowered.groups[static_cast<std::size_t>(there.group)];
      EXPECT_EQ(a.size, g.size) << here.label;
      EXPECT_EQ(a.digits.size(), g.digits.size()) << here.label;
      for (std::size_t d = 0; d < std::min(a.digits.size(), g.digits.size()); ++d) {
        EXPECT_EQ(a.digits[d].stride, g.digits[d].stride) << here.label;
        EXPECT_EQ(a.digits[d].size, g.digits[d].size) << here.label;
      }
      ++groups;
    }
  }
  return groups;
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

// Sizes between two programs are known only where both ask the same kernels: a core that looks back 512 positions is
// not one that looks back as far as there are, nor one whose backward is a forward.
TEST(UnitFamily, ProgramsWhoseKernelsDifferInMoreThanSizesDoNotGrowEvenly) {
  using Change = void (*)(KernelWork&);
  const Change changes[] = {[](KernelWork& work) { work.key_reach.domain = Domain::window; },
      [](KernelWork& work) { work.key_reach.reach = 512; }, [](KernelWork& work) { work.key_reach.beside.ratio = 4; },
      [](KernelWork& work) { work.backward = !work.backward; }, [](KernelWork& work) { work.routed = true; }};
  for (const Change change : changes) {
    auto one = family_program(family_cases[2], usual_mesh, 1), two = family_program(family_cases[2], usual_mesh, 2);
    ASSERT_TRUE(one && two);
    KernelWork* core = nullptr;
    for (ProgramBlock& block : two->blocks)
      for (KernelWork& work : block.works)
        if (work.kernel == KernelClass::attention) core = &work;
    ASSERT_NE(core, nullptr);
    change(*core);
    EXPECT_FALSE(UnitFamily(std::move(*one), *two).grows_evenly());
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
  EXPECT_GT(expect_same_groups(made, *moved), 10);
}

// tp 4 x cp 2 lie inside dp, so that shards over cp x dp are one run of ranks as lowered. In the other order dp lies
// 1 apart, tp 16, and cp 16 x 4 x 2 = 128.
TEST(UnitFamily, ShardsOverAnyNumberOfDataRanksAreWhatLoweringGives) {
  for (const char* mapping : {"use tp, vocab, sp, cp, dp, zero2\n", "use tp, ulysses, dp, fsdp\n"}) {
    const FamilyCase few{"llama3-8b", mapping, 32}, more{"llama3-8b", mapping, 64}, many{"llama3-8b", mapping, 256};
    auto one = family_program(few, "mesh tp:4 cp:2 dp:2 pp:2\n", 1);
    const auto two = family_program(few, "mesh tp:4 cp:2 dp:2 pp:2\n", 2),
               spread = family_program(more, "mesh tp:4 cp:2 dp:4 pp:2\n", 1);
    ASSERT_TRUE(one && two && spread) << mapping;
    UnitFamily family(std::move(*one), *two, 1.0 / 2, *spread, 1.0 / 4);
    ASSERT_TRUE(family.grows_evenly()) << mapping;
    const std::int64_t usual[] = {1, 4, 8}, other[] = {16, 128, 1};
    for (const auto& [mesh, to] :
        {std::pair{"mesh tp:4 cp:2 dp:16 pp:2\n", usual}, std::pair{"mesh dp:16 tp:4 pp:2 cp:2\n", other}}) {
      const UnitFamily::Axis axes[] = {{1, 4, to[0]}, {4, 2, to[1]}, {8, 2, to[2], 16}};
      ASSERT_TRUE(family.lay(axes)) << mapping;
      const Program& made = family.at(2, 1.0 / 16);
      const auto lowered = family_program(many, mesh, 2);
      ASSERT_TRUE(lowered) << mapping;
      for (std::size_t block = 0; block < lowered->blocks.size(); ++block)
        expect_same_block(made.blocks[block], lowered->blocks[block]);
      EXPECT_GT(expect_same_groups(made, *lowered), 10);
    }
  }
}

// Tensor and context ranks, 4 and 2 of them, as parts of one axis of 8: these may lie apart, but be no more.
TEST(UnitFamily, PartsOfAnAxisDoNotGrow) {
  const FamilyCase& test = family_cases[2];
  auto one = family_program(test, usual_mesh, 1);
  const auto two = family_program(test, usual_mesh, 2);
  ASSERT_TRUE(one && two);
  UnitFamily family(std::move(*one), *two);
  const UnitFamily::Axis apart[] = {{1, 8, 4}}, more[] = {{1, 8, 4, 16}};
  EXPECT_TRUE(family.lay(apart));
  EXPECT_FALSE(family.lay(more));
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
