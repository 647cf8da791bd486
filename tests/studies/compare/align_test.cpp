#include "studies/compare/align.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::comparison {
namespace {

using testing::HasSubstr;

const AlignedProducts* named(const Alignment& alignment, const std::string& name) {
  for (const AlignedProducts& one : alignment.products)
    if (one.name == name) return &one;
  return nullptr;
}

/// One fused product for q, k and v, and gate and up apart: what multiplies as much belongs together.
TEST(AlignedProductsOfSides, FusedOnesStandForSeveral) {
  std::vector<SplitProduct> expected, measured;
  for (int layer = 0; layer < 2; ++layer) {
    expected.insert(
        expected.end(), {{"q", 1, 4e9}, {"k", 0.5, 1e9}, {"v", 0.5, 1e9}, {"up", 8, 16e9}, {"down", 4, 8e9}});
    measured.insert(measured.end(), {{"a", 2.5, 6e9}, {"b", 4, 8e9}, {"b", 4, 8e9}, {"c", 5, 8e9}});
  }
  const Alignment aligned = align_products(expected, measured);
  EXPECT_THAT(aligned.how, HasSubstr("by their shapes: 8 run, 10 are expected"));
  ASSERT_NE(named(aligned, "k, q, v"), nullptr);
  EXPECT_DOUBLE_EQ(named(aligned, "k, q, v")->expected, 4);
  EXPECT_DOUBLE_EQ(named(aligned, "k, q, v")->measured, 5);
  EXPECT_EQ(named(aligned, "up")->measured_calls, 4U);
  EXPECT_DOUBLE_EQ(named(aligned, "down")->measured, 10);
}

/// What adds up the parts of a split product has no shape of its own.
TEST(AlignedProductsOfSides, SumsOfSplitProductsBelongToThem) {
  const Alignment aligned =
      align_products({{"up", 1, 5e9}, {"down", 1, 7e9}}, {{"a", 1, 5e9}, {"sum", 0.25, 0}, {"b", 1, 7e9}});
  ASSERT_NE(named(aligned, "up"), nullptr);
  EXPECT_DOUBLE_EQ(named(aligned, "up")->measured, 1.25);
}

/// A forward pass without its head, and a product of angles that no operator has.
TEST(AlignedProductsOfSides, WhatOneSideHasAloneStandsByItself) {
  std::vector<SplitProduct> expected, measured{{"angles", 0.5, 1e3}};
  for (int layer = 0; layer < 24; ++layer) expected.push_back({"up", 1, 5e9}), measured.push_back({"a", 2, 5e9});
  expected.push_back({"head", 7, 9e9});
  const Alignment aligned = align_products(expected, measured);
  ASSERT_NE(named(aligned, "head"), nullptr);
  EXPECT_EQ(named(aligned, "head")->measured_calls, 0U);
  EXPECT_DOUBLE_EQ(named(aligned, "up")->measured, 48);
  EXPECT_DOUBLE_EQ(named(aligned, "others")->measured, 0.5);
}

TEST(AlignedProductsOfSides, WorkOfAnotherSizeIsNotToldApart) {
  const Alignment aligned =
      align_products({{"up", 1, 5e9}, {"down", 1, 7e9}}, {{"a", 1, 5e9}, {"b", 1, 9e9}, {"c", 1, 1e9}});
  EXPECT_TRUE(aligned.products.empty());
  EXPECT_THAT(aligned.how, HasSubstr("not told apart: 3 run, 2 are expected"));
}

/// Without shapes, as many of both in the same order of sizes.
TEST(AlignedProductsOfSides, ByOrderWhereNobodyRecordedShapes) {
  const Alignment aligned =
      align_products({{"up", 2, 0}, {"down", 1, 0}, {"head", 9, 0}}, {{"a", 3, 0}, {"b", 1, 0}, {"c", 8, 0}});
  EXPECT_THAT(aligned.how, HasSubstr("by their order: 3 of both"));
  EXPECT_DOUBLE_EQ(named(aligned, "up")->measured, 3);
}

/// Graphs record no shapes: of each layer three kernels for q, k and v, two for out (a split product and its sum), one
/// for the rest, and a head at the end.
TEST(AlignedProductsOfSides, ByOrderWithinLayersThatRepeat) {
  std::vector<SplitProduct> expected, measured;
  for (int layer = 0; layer < 8; ++layer) {
    expected.insert(expected.end(), {{"qkv", 6, 0}, {"out", 4, 0}, {"up", 16, 0}, {"down", 8, 0}});
    measured.insert(
        measured.end(), {{"a", 4, 0}, {"b", 1, 0}, {"b", 1, 0}, {"a", 3, 0}, {"sum", 1, 0}, {"c", 20, 0}, {"a", 8, 0}});
  }
  expected.push_back({"head", 30, 0}), measured.push_back({"d", 33, 0});
  const Alignment aligned = align_products(expected, measured);
  EXPECT_THAT(aligned.how, HasSubstr("in 8 layers: 7 kernels of each for 4"));
  ASSERT_NE(named(aligned, "out"), nullptr);
  EXPECT_EQ(named(aligned, "qkv")->measured_calls, 24U);
  EXPECT_DOUBLE_EQ(named(aligned, "out")->measured, 32);
  EXPECT_DOUBLE_EQ(named(aligned, "up")->measured, 160);
  EXPECT_DOUBLE_EQ(named(aligned, "head")->measured, 33);
  // A kernel that takes five times what any operator should is of none.
  for (SplitProduct& one : measured)
    if (one.name == "c") one.seconds = 400;
  EXPECT_TRUE(align_products(expected, measured).products.empty());
}

}  // namespace
}  // namespace stepcast::comparison
