// One operator at every boundary: counts by hand, and what limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "studies/roofline/figures/boundaries.h"
#include "studies/roofline/figures/boundary_nest.h"
#include "tests/studies/roofline/roofline_case.h"

namespace stepcast::roofline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_roofline::roofline_case;
using testing_roofline::RooflineCase;

KernelWork product(double m, double n, double k, Pass pass = Pass::forward) {
  KernelWork work;
  work.kernel = KernelClass::gemm;
  work.m = m, work.n = n, work.k = k, work.pass = pass;
  work.flops = work.useful = Flops(2 * m * n * k);
  return work;
}

Gpu boundary_gpu() {
  Gpu gpu;
  gpu.architecture = "hopper";
  gpu.multiprocessors = 4;
  gpu.l2 = Bytes(1e9);
  return gpu;
}

std::vector<OperatorBoundaries> boundaries_of(const RooflineCase& run) {
  return operator_boundaries(run.scenario, run.prediction, run.points, run.roofs);
}

const OperatorBoundaries& named(const std::vector<OperatorBoundaries>& all, const std::string& name, Pass pass) {
  static const OperatorBoundaries none;
  for (const OperatorBoundaries& one : all)
    if (one.name == name && one.pass == pass) return one;
  ADD_FAILURE() << "no operator " << name;
  return none;
}

const BoundaryRow* row_of(const OperatorBoundaries& one, const std::string& outer) {
  for (const BoundaryRow& row : one.rows)
    if (row.outer == outer) return &row;
  return nullptr;
}

TEST(ProductNest, CountsOneWaveOfTilesByHand) {
  // 512 x 256 on four multiprocessors: tiles of 128 x 256 or smaller that give each of them one; everything fits in L2.
  const auto nest = product_nest(product(512, 256, 1024), 2, boundary_gpu());
  ASSERT_TRUE(nest);
  ASSERT_EQ(nest->crossings.size(), 4U);
  const double a = 512 * 1024 * 2, b = 1024 * 256 * 2, c = 512 * 256 * 2;
  std::vector<std::string> outer;
  for (const NestCrossing& crossing : nest->crossings) outer.push_back(crossing.outer);
  EXPECT_THAT(outer, ElementsAre("registers", "shared memory", "L2", "HBM"));
  EXPECT_EQ(nest->crossings[3].bytes, a + b + c) << "every element once";
  const auto& [m, n, k] = std::tuple(512.0, 256.0, 1024.0);
  const double down = std::stod(nest->line.substr(nest->line.find("sm m:") + 5)), across = 4 / down;
  EXPECT_EQ(nest->crossings[2].bytes, a * across + b * down + c)
      << "a copy for every multiprocessor of a row or column: " << nest->line;
  const double tile_m = m / down, tile_n = n / across, mma_m = std::min(64.0, tile_m), mma_n = std::min(256.0, tile_n);
  EXPECT_EQ(nest->crossings[1].bytes, 2 * m * n * k * (1 / mma_m + 1 / mma_n)) << nest->line;
  EXPECT_EQ(nest->crossings[1].stationary, "outputs");
  EXPECT_THAT(nest->crossings[1].text, HasSubstr("output-stationary at rf"));
}

TEST(ProductNest, OfABatchIsSoManyProducts) {
  KernelWork work = product(512, 256, 1024);
  const auto one = product_nest(work, 2, boundary_gpu());
  work.batch = 4;
  const auto four = product_nest(work, 2, boundary_gpu());
  ASSERT_TRUE(one && four);
  EXPECT_GE(four->crossings[3].bytes, 4 * one->crossings[3].bytes);
}

TEST(ProductNest, NeedsAGpuThatIsKnown) {
  Gpu gpu = boundary_gpu();
  gpu.l2 = Bytes(0);
  EXPECT_FALSE(product_nest(product(512, 256, 1024), 2, gpu));
  EXPECT_FALSE(product_nest(product(0.5, 256, 1024), 2, boundary_gpu())) << "fewer than one row";
}

TEST(ProductNest, CallsTensorsAsThePassHasThem) {
  EXPECT_THAT(product_roles(product(1, 1, 1)),
      ElementsAre(std::string("inputs"), std::string("weights"), std::string("outputs")));
  EXPECT_STREQ(product_roles(product(1, 1, 1, Pass::input_grad))[0], "output gradients");
  EXPECT_STREQ(product_roles(product(1, 1, 1, Pass::weight_grad))[2], "weight gradients");
  EXPECT_THAT(
      product_nest(product(512, 256, 1024, Pass::weight_grad), 2, boundary_gpu())->line, HasSubstr("hbm[X dY dW]"));
  KernelWork scores = product(512, 512, 128);
  scores.head_dim = 128;
  EXPECT_STREQ(product_roles(scores)[1], "right operand") << "no weight";
}

TEST(Boundaries, OfAProductGoFromRegistersToTheLink) {
  const RooflineCase run = roofline_case("llama3-70b", {{"gpus", "512"}, {"tp", "8"}, {"pp", "4"}});
  const auto all = boundaries_of(run);
  const OperatorBoundaries& up = named(all, "mlp.up", Pass::forward);
  std::vector<std::string> inner;
  for (const BoundaryRow& row : up.rows) inner.push_back(row.inner);
  EXPECT_THAT(inner, ElementsAre("multiply-adds", "registers", "shared memory", "L2", "GPU"));
  const BoundaryRow& link = up.rows.back();
  EXPECT_EQ(link.outer, "node");
  EXPECT_DOUBLE_EQ(link.bytes.value(), 7.0 / 8 * 8192 * 8192 * 2) << "of 8192 positions of width 8192, all but its own";
  EXPECT_EQ(link.stationary, "weights and outputs");
  EXPECT_THAT(link.text, HasSubstr("norm2.y all_gather over tp (8 GPUs) brings the inputs"));
  const OperatorBoundaries& down = named(all, "mlp.down", Pass::forward);
  EXPECT_THAT(down.rows.back().text, HasSubstr("takes the outputs"));
  EXPECT_EQ(down.rows.back().stationary, "inputs and weights");
  EXPECT_THAT(named(all, "mlp.down dW", Pass::weight_grad).rows.back().text, HasSubstr("brings the output gradients"));
  EXPECT_FALSE(row_of(named(all, "attn.core", Pass::forward), "node"));
}

TEST(Boundaries, AreThePointsInTheirOrderAtTheirBytes) {
  for (const RooflineCase& run : testing_roofline::real_cases()) {
    const auto all = boundaries_of(run);
    ASSERT_EQ(all.size(), run.points.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].name, run.points[i].name);
      const BoundaryRow* hbm = row_of(all[i], "HBM");
      ASSERT_TRUE(hbm) << all[i].name;
      EXPECT_EQ(hbm->bytes.value(), run.points[i].hbm.value()) << all[i].name;
      EXPECT_NEAR(hbm->time.value() * hbm->rate.value(), hbm->bytes.value(), 1e-9 * hbm->bytes.value()) << all[i].name;
      if (const BoundaryRow* l2 = row_of(all[i], "L2")) {
        EXPECT_EQ(l2->bytes.value(), run.points[i].l2.value()) << all[i].name;
      }
    }
  }
}

TEST(Boundaries, LimitWhereTheLongestIsLongerThanTheMultiplyAdds) {
  for (const RooflineCase& run : testing_roofline::real_cases())
    for (const OperatorBoundaries& one : boundaries_of(run)) {
      const BoundaryRow* limiting = nullptr;
      for (const BoundaryRow& row : one.rows) {
        if (!row.limits) continue;
        EXPECT_FALSE(std::exchange(limiting, &row)) << one.name << ": two limits";
        EXPECT_NE(row.basis, RoofBasis::assumed) << one.name << ": nobody knows the rate of " << row.outer;
      }
      EXPECT_EQ(one.limit, limiting ? limiting->outer : "compute");
      for (const BoundaryRow& row : one.rows) {
        const bool known = row.basis != RoofBasis::assumed;
        EXPECT_TRUE(!known || row.time <= (limiting ? limiting->time : one.compute)) << one.name << ", " << row.outer;
      }
    }
}

TEST(Boundaries, OfWhatOnlyReadsAndWritesAreHbms) {
  const RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  const auto all = boundaries_of(run);
  const OperatorBoundaries& activation = named(all, "swiglu", Pass::forward);
  ASSERT_EQ(activation.rows.size(), 1U);
  EXPECT_EQ(activation.limit, "HBM");
  EXPECT_EQ(activation.rows[0].flops_per_byte, 0);
  EXPECT_EQ(named(all, "optimizer", Pass::step).limit, "HBM");
}

TEST(Boundaries, OfAttentionSayWhatABlockKeeps) {
  const RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  const auto all = boundaries_of(run);
  EXPECT_EQ(named(all, "attn.core", Pass::forward).rows.front().stationary, "queries and outputs");
  EXPECT_EQ(named(all, "attn.core dX", Pass::input_grad).rows.front().stationary, "keys, values and their gradients");
}

TEST(Boundaries, OfShardedWeightsSayThatTheyMove) {
  const RooflineCase run = roofline_case("llama3-8b", {{"gpus", "16"}, {"zero", "3"}});
  const auto all = boundaries_of(run);
  const OperatorBoundaries& up = named(all, "mlp.up", Pass::forward);
  const BoundaryRow* link = row_of(up, "cluster");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->stationary, "inputs and outputs");
  EXPECT_THAT(link->text, HasSubstr("brings the weights"));
}

TEST(Boundaries, OfAGpuWithoutL2HaveNoNest) {
  RooflineCase run = roofline_case("llama3-8b", {{"gpus", "8"}});
  run.scenario.machine.row.gpu.l2 = Bytes(0);
  run.roofs = roofs_of(run.scenario.machine.row.gpu, run.scenario.profile.row);
  const auto all = boundaries_of(run);
  const OperatorBoundaries& up = named(all, "mlp.up", Pass::forward);
  EXPECT_EQ(up.nest, "");
  EXPECT_TRUE(row_of(up, "HBM"));
}

}  // namespace
}  // namespace stepcast::roofline
