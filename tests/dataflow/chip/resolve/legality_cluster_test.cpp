// The legality rules of a cluster for written programs: sums are finished before nonlinear operators, and what cannot
// be split says which sizes can.
#include <algorithm>

#include <gtest/gtest.h>

#include "dataflow/notation/mapping.h"
#include "dataflow/place/moves.h"
#include "dataflow/notation/written.h"
#include "tests/dataflow/ledger.h"

namespace stepcast::dataflow {
namespace {

Expected<PlacedNetwork> placed_program(const std::string& text, Network* network_out = nullptr) {
  const auto program = parse(text, "plan.flow");
  if (!program) return tl::unexpected(program.error());
  const auto statements = expand(*program);
  if (!statements) return tl::unexpected(statements.error());
  const auto network = network_of(*program);
  if (!network) return tl::unexpected(network.error());
  if (network_out != nullptr) *network_out = *network;
  std::int64_t ranks = 1;
  for (const auto& axis : program->meshes.front().axes) ranks *= axis.size;
  return place(*network, program->meshes, *statements, ranks, {});
}

std::string placing_error(const std::string& text) {
  const auto placed = placed_program(text);
  return placed ? "" : to_text(placed.error());
}

const std::string kMlp = "dim b:8 h:16 f:32\n"
                         "up: U[b,f] += X[b,h] * W1[h,f]\n"
                         "act: V[b,f] = gelu U[b,f]\n"
                         "down: Y[b,h] += V[b,f] * W2[f,h]\n";

TEST(ClusterLegality, PartialIsReducedBeforeANonlinearOperator) {
  // h is summed over 4 ranks in `up`; gelu needs the whole sum: one all-reduce of U, 8 x 32 x 2 B, 2 x 3/4 of it
  // received.
  Network network;
  const auto placed = placed_program("mesh tp:4\n" + kMlp + "at up: par h on tp\n", &network);
  ASSERT_TRUE(placed) << to_text(placed.error());
  const MovedBytes moved = moved_bytes(network, *placed, "program");
  ASSERT_TRUE(moved.contains("forward all_reduce"));
  EXPECT_EQ(moved.at("forward all_reduce"), 2 * 0.75 * 8 * 32 * 2);
  const PlacedBlock& block = block_of(network, *placed, "program");
  std::vector<std::string> order;
  for (const PlacedItem& item : block.forward)
    order.push_back(item.kind == PlacedKind::move ? to_text(item.move) + std::string(" ") +
                                                        network.tensors[block.copies[item.reads[0]].tensor].name
                                                  : network.blocks[0].operators[item.op].name);
  const auto at = [&](const std::string& name) { return std::find(order.begin(), order.end(), name) - order.begin(); };
  EXPECT_LT(at("up"), at("all_reduce U"));
  EXPECT_LT(at("all_reduce U"), at("act"));
}

TEST(ClusterLegality, PartialKeptThroughANonlinearOperator) {
  EXPECT_EQ(placing_error("mesh tp:4\n" + kMlp + "at up: par h on tp\nhome U: partial on tp\n"),
      "program/act: U is Partial on tp here, and operator act is not linear in it there "
      "(reduce it before: give it the home `full` or a dim on that axis)");
}

TEST(ClusterLegality, PartialTimesPartial) {
  EXPECT_EQ(placing_error("mesh tp:4\ndim b:8 h:16 f:32\na: A[b,f] += X[b,h] * W1[h,f]\nb: B[b,f] += X[b,h] * W2[h,f]\n"
                          "c: C[b] += A[b,f] * B[b,f]\npar h on tp\nhome A: partial on tp\nhome B: partial on tp\n"),
      "program/c: two Partial operands of a product on tp (reduce one of them before the product)");
}

TEST(ClusterLegality, HeadsThatDoNotDivide) {
  const std::string error = placing_error(
      "mesh tp:16\ndim s:8 h:16 heads:40 d:4\nq: Q[s,heads,d] += X[s,h] * Wq[h,heads,d]\npar heads on tp\n");
  EXPECT_TRUE(error.starts_with("plan.flow:4:1: ")) << error;
  EXPECT_NE(error.find("heads (extent 40) of operator q over 16 ranks, which does not divide: 2.5 per rank"),
      std::string::npos)
      << error;
  EXPECT_NE(error.find("legal sizes: 1, 2, 4, 5, 8, 10, 20, 40"), std::string::npos) << error;
}

TEST(ClusterLegality, UnknownAxis) {
  EXPECT_EQ(placing_error("mesh tp:4\n" + kMlp + "par f on pt\n"),
      "plan.flow:6:1: found axis 'pt', which no mesh line has (did you mean 'tp'? axes: tp; an axis of one rank "
      "is written pt:1)");
}

}  // namespace
}  // namespace stepcast::dataflow
