// The Eyeriss taxonomy of small arrays: M = N = 8, K = 4 on 4 x 4 units.
#include <gtest/gtest.h>

#include "dataflow/translate/cluster/names.h"

namespace stepcast::dataflow {
namespace {

constexpr int kM = 0, kN = 1, kK = 2;

ChipLoop timed(int dim, std::int64_t trips) { return {dim, trips, -1, false, {}}; }
ChipLoop spread(int dim, std::int64_t trips, int axis) { return {dim, trips, axis, false, {}}; }
ChipIndex plain(int dim) { return {{{dim, 1}}}; }

/// Memory that keeps all, units that keep what `keeps` says (input, weight, output).
ChipProgram array(std::vector<ChipLoop> space, std::vector<ChipLoop> outside, std::vector<bool> keeps,
    std::vector<ChipLoop> inside = {}) {
  ChipProgram chip;
  chip.op = "O";
  chip.dims = {{"m", 8}, {"n", 8}, {"k", 4}};
  chip.tensors = {{"I", TensorUse::input, {plain(kM), plain(kK)}, 2},
      {"W", TensorUse::weight, {plain(kK), plain(kN)}, 2}, {"O", TensorUse::output, {plain(kM), plain(kN)}, 2}};
  ChipLevel memory, units;
  memory.name = "glb";
  memory.keeps = {true, true, true};
  memory.time = std::move(outside);
  units.name = "pe";
  units.axes = {{"x", 4}, {"y", 4}};
  units.keeps = std::move(keeps);
  units.store = units.keeps[0] || units.keeps[1] || units.keeps[2];
  units.space = std::move(space);
  units.time = std::move(inside);
  chip.levels = {memory, units};
  return chip;
}

TEST(Taxonomy, TheTensorKeptWhileOthersPass) {
  const std::vector<ChipLoop> kn{spread(kK, 4, 0), spread(kN, 4, 1)}, mn{spread(kM, 4, 0), spread(kN, 4, 1)},
      km{spread(kK, 4, 0), spread(kM, 4, 1)};
  const NameRow weight = taxonomy_name(array(kn, {timed(kN, 2), timed(kM, 8)}, {false, true, false}));
  EXPECT_EQ(weight.name, "weight-stationary");
  EXPECT_EQ(weight.why, "W stays at pe for 8 rounds while the others pass");
  EXPECT_EQ(taxonomy_name(array(mn, {timed(kM, 2), timed(kN, 2), timed(kK, 4)}, {false, false, true})).name,
      "output-stationary");
  EXPECT_EQ(taxonomy_name(array(km, {timed(kM, 2), timed(kN, 8)}, {true, false, false})).name, "input-stationary");
}

TEST(Taxonomy, OfSeveralKeptTheLongest) {
  const std::vector<ChipLoop> kn{spread(kK, 4, 0), spread(kN, 4, 1)};
  EXPECT_EQ(taxonomy_name(array(kn, {timed(kN, 2), timed(kM, 8)}, {true, true, true})).name, "weight-stationary");
}

TEST(Taxonomy, UnitsWithoutAStoreHaveNoLocalReuse) {
  EXPECT_EQ(taxonomy_name(array({spread(kK, 4, 0)}, {timed(kM, 8), timed(kN, 8)}, {false, false, false})).name,
      "no local reuse");
}

TEST(Taxonomy, EqualStaysHaveNoName) {
  // Nothing runs outside but the array's own parts: all three stay for the one round there is.
  const NameRow row = taxonomy_name(array({spread(kM, 4, 0), spread(kN, 4, 1)}, {}, {true, true, true}));
  EXPECT_EQ(row.name, "");
  EXPECT_NE(row.why.find("equally long, 1 rounds"), std::string::npos);
}

TEST(Taxonomy, RowsAcrossTheArrayAndAlongTheUnit) {
  // One-channel convolution O[p,q] += I[p+r,q+s] * W[r,s]: p and r on the array, s inside the unit.
  ChipProgram chip = array({}, {}, {true, true, true});
  chip.dims = {{"p", 4}, {"q", 8}, {"r", 4}, {"s", 4}};
  const ChipIndex rows{{{0, 1}, {2, 1}}}, columns{{{1, 1}, {3, 1}}};
  chip.tensors = {{"I", TensorUse::input, {rows, columns}, 2}, {"W", TensorUse::weight, {plain(2), plain(3)}, 2},
      {"O", TensorUse::output, {plain(0), plain(1)}, 2}};
  chip.levels[0].time = {timed(1, 8)};
  chip.levels[1].space = {spread(0, 4, 0), spread(2, 4, 1)};
  chip.levels[1].time = {timed(3, 4)};
  EXPECT_EQ(taxonomy_name(chip).name, "row-stationary");
  chip.levels[1].space = {spread(0, 4, 0)};
  EXPECT_NE(taxonomy_name(chip).name, "row-stationary");
}

}  // namespace
}  // namespace stepcast::dataflow
