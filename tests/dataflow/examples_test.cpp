// The shipped mapping files mean what their comments say: layouts of the literature are text, not code.
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "dataflow/place/block.h"
#include "dataflow/lower/lower.h"
#include "dataflow/notation/written.h"
#include "model/catalog.h"

namespace stepcast::dataflow {
namespace {

std::string example_text(const std::string& name) {
  std::ifstream file(std::string(STEPCAST_SOURCE_DIR) + "/examples/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

PlacedNetwork placed_example(const std::string& name) {
  const auto program = parse(example_text(name), name);
  EXPECT_TRUE(program) << to_text(program.error());
  const auto network = network_of(*program);
  EXPECT_TRUE(network) << to_text(network.error());
  const auto statements = expand(*program);
  EXPECT_TRUE(statements) << to_text(statements.error());
  std::int64_t ranks = 1;
  for (const auto& axis : program->meshes.front().axes) ranks *= axis.size;
  auto placed = place(*network, program->meshes, *statements, ranks, {});
  EXPECT_TRUE(placed) << to_text(placed.error());
  return std::move(*placed);
}

/// Bytes received in forward, by what moves.
std::map<Cargo, double> forward_bytes(const PlacedNetwork& placed) {
  std::map<Cargo, double> bytes;
  for (const PlacedItem& item : placed.blocks.front().forward)
    if (item.kind == PlacedKind::move) bytes[item.cargo] += item.received;
  return bytes;
}

TEST(Examples, SummaMulticastsThreeQuartersOfItsRowAndColumn) {
  auto bytes = forward_bytes(placed_example("summa.flow"));
  EXPECT_EQ(bytes[Cargo::activation], 6291456);
  EXPECT_EQ(bytes[Cargo::weight], 6291456);
}

TEST(Examples, CannonMovesTheSameBytesInRings) {
  const PlacedNetwork placed = placed_example("cannon.flow");
  auto bytes = forward_bytes(placed);
  EXPECT_EQ(bytes[Cargo::activation], 3.0 * 4096 * 4096 * 2 / 16);
  EXPECT_EQ(bytes[Cargo::weight], 3.0 * 4096 * 4096 * 2 / 16);
  for (const PlacedItem& item : placed.blocks.front().forward)
    EXPECT_TRUE(item.kind != PlacedKind::move || item.move == MoveKind::ring);
}

TEST(Examples, CopiesHalveThePanelsAndSumOnce) {
  auto bytes = forward_bytes(placed_example("summa_2_5d.flow"));
  EXPECT_EQ(bytes[Cargo::weight], 3145728);
  EXPECT_EQ(bytes[Cargo::activation], 3145728 + 2097152);
}

TEST(Examples, TwoDimensionalWeightStationaryMovesOnlyActivations) {
  auto bytes = forward_bytes(placed_example("pope_2d.flow"));
  EXPECT_EQ(bytes[Cargo::activation], 110592);
  EXPECT_EQ(bytes[Cargo::weight], 0);
}

TEST(Examples, WeightGatheredGathersEachMatrixOnce) {
  auto bytes = forward_bytes(placed_example("pope_weight_gathered.flow"));
  EXPECT_EQ(bytes[Cargo::weight], 50331648);
}

TEST(Examples, FullyShardedFileEqualsTheAlias) {
  const NetworkSpec& spec = **find_row(built_in().networks, "llama3-8b", "network");
  const Stack& stack = **find_row(built_in().stacks, "pytorch-fsdp", "stack");
  const Plan file{.mapping = example_text("fsdp.flow"),
      .mapping_where = "fsdp.flow",
      .gpus = 64,
      .micro_batch = 1,
      .global_batch = 64,
      .cache = {},
      .adapted = {}};
  Plan alias = file;
  alias.mapping = "mesh dp:64\nuse dp, fsdp\n";
  const auto a = lower(spec, file, stack), b = lower(spec, alias, stack);
  ASSERT_TRUE(a) << to_text(a.error());
  ASSERT_TRUE(b) << to_text(b.error());
  ASSERT_EQ(a->blocks.size(), b->blocks.size());
  for (std::size_t i = 0; i < a->blocks.size(); ++i) {
    ASSERT_EQ(a->blocks[i].moves.size(), b->blocks[i].moves.size());
    for (std::size_t m = 0; m < a->blocks[i].moves.size(); ++m) {
      EXPECT_EQ(a->blocks[i].moves[m].label, b->blocks[i].moves[m].label);
      EXPECT_EQ(a->blocks[i].moves[m].received, b->blocks[i].moves[m].received);
    }
  }
}

}  // namespace
}  // namespace stepcast::dataflow
