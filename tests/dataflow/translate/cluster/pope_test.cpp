// Layouts of Pope et al. and the two-axis products, by structure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/translate/cluster/names.h"

namespace stepcast::dataflow {
namespace {

using testing::HasSubstr;

PlacementView pope_view(const std::string& text) {
  const auto program = parse(text, "test.flow");
  EXPECT_TRUE(program) << to_text(program.error());
  auto view = placement_view(*program);
  EXPECT_TRUE(view) << to_text(view.error());
  return std::move(*view);
}

const std::string pope_mlp = "mesh x:4 yz:16\ndim b:64 s:8 h:8192 f:32768\nmlp.up: U[b,s,f] += X[b,s,h] * Wup[h,f]\n"
                             "mlp.act: A[b,s,f] = gelu U[b,s,f]\nmlp.down: Y[b,s,h] += A[b,s,f] * Wdown[f,h]\n";

TEST(PopeNames, WeightStationary) {
  const auto rows = pope_names(pope_view(pope_mlp + "home X: h on x, h on yz\nhome Y: h on x, h on yz\nuse ws2d\n"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "2-D weight-stationary");
  EXPECT_EQ(rows[1].name, "2-D weight-stationary");
  EXPECT_EQ(pope_names(pope_view(pope_mlp + "par f on x*yz\n"))[0].name, "1-D weight-stationary");
}

TEST(PopeNames, WeightGathered) {
  EXPECT_EQ(pope_names(pope_view(pope_mlp + "use wg_x\n"))[0].name, "weight-gathered X");
  EXPECT_EQ(pope_names(pope_view(pope_mlp + "par b on x*yz\nhome weights: h on x, f on yz\n"))[0].name,
      "weight-gathered XYZ");
}

TEST(PopeNames, WholeWeightsHaveNone) {
  const auto rows = pope_names(pope_view(pope_mlp + "par b on x*yz\n"));
  EXPECT_EQ(rows[0].name, "");
  EXPECT_THAT(rows[0].why, HasSubstr("Wup is whole on every rank"));
}

std::string product_name(const std::string& mesh, const std::string& statements) {
  const auto rows =
      product_names(pope_view(mesh + "\ndim m:64 n:64 k:64\nO: O[m,n] += I[m,k] * W[k,n]\n" + statements));
  return rows.size() == 1 ? rows.front().name : "rows: " + std::to_string(rows.size());
}

TEST(ProductNames, ByMannerAndCopies) {
  EXPECT_EQ(product_name("mesh x:4 y:4", "use summa\n"), "SUMMA");
  EXPECT_EQ(product_name("mesh x:4 y:4", "use cannon\n"), "Cannon");
  EXPECT_EQ(product_name("mesh x:4 y:4 c:2", "use summa25d\n"), "2.5-D (SUMMA)");
  EXPECT_EQ(product_name("mesh x:4 y:4", "par m on x\npar n on y\n"), "");
  EXPECT_EQ(product_name("mesh x:4 y:4", "par m on x\n"), "rows: 0");
}

}  // namespace
}  // namespace stepcast::dataflow
