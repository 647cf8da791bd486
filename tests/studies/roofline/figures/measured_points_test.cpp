// Timed kernels beside the forecast ones: what is the same kernel, what is loose, what is left out and said.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/rows/measurement.h"
#include "model/catalog.h"
#include "studies/cli/flags.h"
#include "studies/calibrate/own_shapes.h"
#include "studies/launch/asked_run.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/launch/run_flags.h"
#include "studies/run/forecast.h"
#include "tests/studies/roofline/round_gpu.h"

namespace stepcast::roofline {
namespace {

using testing::HasSubstr;
using testing_roofline::round_gpu;

const std::string timed_name = "own.json";

Roofs roofs_of_round_gpu() {
  Profile profile;
  profile.gpu = "round";
  return roofs_of(round_gpu(), profile);
}

/// A file of rows under one context.
class TimedFile {
 public:
  explicit TimedFile(const std::string& gpu = "round", const std::string& software = "cublas 13.1") {
    of(gpu, software);
  }
  TimedFile& of(const std::string& gpu, const std::string& software = "cublas 13.1") {
    MeasurementContext context;
    context.gpu = gpu;
    context.software = software;
    return under(context);
  }
  TimedFile& under(const MeasurementContext& context) {
    context_ = context_index(all_, context);
    return *this;
  }
  TimedFile& add(const Query& query, double seconds, bool throttled = false) {
    Measurement row;
    row.what = query;
    row.time = Seconds(seconds);
    row.context = context_;
    row.throttled = throttled;
    all_.rows.push_back(row);
    return *this;
  }
  [[nodiscard]] const Measurements& all() const { return all_; }

 private:
  Measurements all_;
  int context_ = 0;
};

GemmQuery timed_gemm(double m, double n, double k, GemmLayout layout = GemmLayout::tn) {
  return {.m = m, .n = n, .k = k, .layout = layout};
}
MemoryQuery timed_stream(const char* op, double rows, double columns) { return {find_memory_op(op), rows, columns, 2}; }

OperatorPoint product_point(double m, double n, double k, Pass pass) {
  OperatorPoint point;
  point.name = "mlp.up";
  point.pass = point.work.pass = pass;
  point.kernel = point.work.kernel = KernelClass::gemm;
  point.work.m = m, point.work.n = n, point.work.k = k;
  point.flops = point.work.flops = Flops(2 * m * n * k);
  point.hbm = point.work.bytes = Bytes(2 * (m * k + k * n + m * n));
  return point;
}

struct PlacedFile {
  std::vector<OperatorPoint> points;
  PlacedRows rows;
};

PlacedFile placed_file(const TimedFile& rows, std::vector<OperatorPoint> points = {}) {
  PlacedFile out{std::move(points), {}};
  auto done = place_measured(rows.all(), timed_name, round_gpu(), roofs_of_round_gpu(), out.points);
  EXPECT_TRUE(done.has_value()) << (done ? "" : to_text(done.error()));
  if (done) out.rows = std::move(*done);
  return out;
}

Error refused_file(const TimedFile& rows) {
  std::vector<OperatorPoint> points;
  const auto done = place_measured(rows.all(), timed_name, round_gpu(), roofs_of_round_gpu(), points);
  EXPECT_FALSE(done.has_value());
  return done ? Error{} : done.error();
}

// --- the same kernel ---

TEST(MeasuredPoints, MedianOfAllRowsOfTheShape) {
  TimedFile rows;
  const GemmQuery query = timed_gemm(1000, 2000, 4000);
  rows.add(query, 4e-5).add(query, 2e-5).add(query, 3.2e-5);
  const PlacedFile out = placed_file(rows, {product_point(1000, 2000, 4000, Pass::forward)});
  ASSERT_TRUE(out.points[0].measured.has_value());
  const MeasuredPoint& measured = *out.points[0].measured;
  EXPECT_EQ(measured.rows, 3);
  EXPECT_DOUBLE_EQ(measured.time.value(), 3.2e-5);
  EXPECT_DOUBLE_EQ(measured.rate.value(), 5e14);
  EXPECT_EQ(measured.source, "cublas 13.1, own.json");
  const double intensity = 1.6e10 / (2 * (4e6 + 8e6 + 2e6));  // left of the ridge at 1000
  EXPECT_DOUBLE_EQ(measured.share_of_roof, 5e14 / (1e12 * intensity));
  EXPECT_TRUE(out.rows.loose.empty());
  EXPECT_TRUE(out.rows.notes.empty());
}

TEST(MeasuredPoints, LayoutTellsThePass) {
  const std::vector<OperatorPoint> points = {product_point(8192, 28672, 4096, Pass::forward),
      product_point(8192, 4096, 28672, Pass::input_grad), product_point(4096, 28672, 8192, Pass::weight_grad),
      product_point(8192, 28672, 4096, Pass::recompute)};
  const PlacedFile forward = placed_file(TimedFile().add(timed_gemm(8192, 28672, 4096), 4e-3), points);
  EXPECT_TRUE(forward.points[0].measured && forward.points[3].measured) << "recompute runs the forward kernel";
  EXPECT_FALSE(forward.points[1].measured || forward.points[2].measured);
  const PlacedFile input = placed_file(TimedFile().add(timed_gemm(8192, 4096, 28672, GemmLayout::nn), 4e-3), points);
  EXPECT_TRUE(input.points[1].measured);
  EXPECT_FALSE(input.points[0].measured);
  // dw = dyT x has the rows of w: the work's n.
  const PlacedFile weight = placed_file(TimedFile().add(timed_gemm(28672, 4096, 8192, GemmLayout::nt), 4e-3), points);
  EXPECT_TRUE(weight.points[2].measured);
  for (const Query& other : {Query(timed_gemm(8192, 4096, 28672)), Query(timed_gemm(4096, 28672, 8192, GemmLayout::nt)),
           Query(timed_gemm(8192, 28672, 4097)), Query(GemmQuery{.m = 8192, .n = 28672, .k = 4096, .batch = 2}),
           Query(GemmQuery{.m = 8192, .n = 28672, .k = 4096, .precision = Precision::fp16})}) {
    const PlacedFile none = placed_file(TimedFile().add(other, 4e-3), points);
    for (const OperatorPoint& point : none.points) EXPECT_FALSE(point.measured);
    EXPECT_EQ(none.rows.loose.size(), 1U);
  }
}

TEST(MeasuredPoints, OwnShapesOfANetworkAreItsOperators) {
  const auto arguments = parse_arguments(
      run_flags(), 1, 1, "", {"llama3-8b", "--machine", "dgx-h100", "--gpus", "1", "--global-batch", "4"});
  ASSERT_TRUE(arguments.has_value());
  const auto request = read_request("llama3-8b", *arguments);
  ASSERT_TRUE(request.has_value());
  const auto scenario = complete(*request);
  ASSERT_TRUE(scenario.has_value());
  const auto prediction = run::predict(*scenario);
  ASSERT_TRUE(prediction.has_value());
  const Gpu& gpu = scenario->machine.row.gpu;
  const auto shapes = calibration::own_shapes(scenario->network.row, {gpu, scenario->stack.row, Precision::bf16, 0});
  ASSERT_TRUE(shapes.has_value());
  TimedFile rows(gpu.id);
  for (const Query& query : *shapes) rows.add(query, 1);
  const Roofs roofs = roofs_of(gpu, scenario->profile.row);
  std::vector<OperatorPoint> points = operator_points(*scenario, *prediction, roofs);
  const auto done = place_measured(rows.all(), timed_name, gpu, roofs, points);
  ASSERT_TRUE(done.has_value());
  // What no row of such a file is alone: the tail, parts of kernels that files time whole.
  std::vector<std::string> untimed;
  for (const OperatorPoint& point : points)
    if (!point.measured) untimed.push_back(point.block + " " + point.name);
  EXPECT_THAT(untimed, testing::UnorderedElementsAre("step optimizer", "step gradient norm", "layer norm dW",
                           "head norm dW", "head loss", "head loss dX", "embedding embedding dW"));
  EXPECT_FALSE(done->loose.empty()) << "shapes of other splits";
}

TEST(MeasuredPoints, AttentionMatchesByHeadsAndSequencesThroughItsFlops) {
  const AttentionQuery query{.batch = 2, .queries = 4096, .keys = 4096, .heads = 32, .kv_heads = 8};
  OperatorPoint point;
  point.kernel = point.work.kernel = KernelClass::attention;
  point.work.sequence = 4096;
  point.work.head_dim = 128;
  point.flops = point.work.flops = forward_flops_of(query);
  point.hbm = point.work.bytes = bytes_of(query);
  EXPECT_TRUE(placed_file(TimedFile().add(query, 1e-3), {point}).points[0].measured);
  for (auto change : {+[](AttentionQuery& q) { q.batch = 1; }, +[](AttentionQuery& q) { q.kv_heads = 32; },
           +[](AttentionQuery& q) { q.head_dim = 64; }, +[](AttentionQuery& q) { q.pass = AttentionPass::backward; },
           +[](AttentionQuery& q) { q.pass = AttentionPass::decode; }, +[](AttentionQuery& q) { q.causal = false; }}) {
    AttentionQuery other = query;
    change(other);
    const PlacedFile out = placed_file(TimedFile().add(other, 1e-3), {point});
    EXPECT_FALSE(out.points[0].measured);
    EXPECT_EQ(out.rows.loose.size(), 1U);
  }
}

TEST(MeasuredPoints, StreamsMatchByOperatorAndBytes) {
  OperatorPoint point;
  point.name = point.work.label = "norm dX";
  point.pass = point.work.pass = Pass::input_grad;
  point.hbm = point.work.bytes = Bytes(3.05 * 2 * 8192 * 4096);  // statistics and weights besides
  EXPECT_TRUE(
      placed_file(TimedFile().add(timed_stream("norm-backward", 8192, 4096), 1e-3), {point}).points[0].measured);
  for (const MemoryQuery& other :
      {timed_stream("norm", 8192, 4096), timed_stream("norm-backward", 4096, 4096), timed_stream("add", 8192, 4096)})
    EXPECT_FALSE(placed_file(TimedFile().add(other, 1e-3), {point}).points[0].measured);
  point.name = point.work.label = "optimizer";
  point.pass = point.work.pass = Pass::step;
  point.hbm = bytes_of(timed_stream("adam", 8192, 4096));
  EXPECT_TRUE(placed_file(TimedFile().add(timed_stream("adam", 8192, 4096), 1e-3), {point}).points[0].measured);
}

TEST(MeasuredPoints, NarrowProductsRunAsForwardOnes) {
  OperatorPoint point = product_point(8192, 4096, 28672, Pass::input_grad);
  point.precision = Precision::fp8;
  point.operand_bytes = 1;
  const auto query = [](GemmLayout layout, bool scaled, bool casts) {
    // clang-format off
    return GemmQuery{.m = 8192, .n = 4096, .k = 28672, .precision = Precision::fp8, .block_scaled = scaled,
                     .layout = layout, .casts_x = casts};
    // clang-format on
  };
  const auto same = [&](const GemmQuery& row) {
    return placed_file(TimedFile().add(row, 1e-2), {point}).points[0].measured.has_value();
  };
  EXPECT_TRUE(same(query(GemmLayout::tn, false, false)));
  EXPECT_TRUE(same(query(GemmLayout::tn, false, true))) << "it casts its left operand";
  EXPECT_FALSE(same(query(GemmLayout::nn, false, false)));
  EXPECT_FALSE(same(query(GemmLayout::tn, true, false)));
  point.pass = point.work.pass = Pass::weight_grad;
  std::swap(point.work.m, point.work.n);
  EXPECT_TRUE(same(query(GemmLayout::tn, false, false)));
  EXPECT_FALSE(same(query(GemmLayout::tn, false, true))) << "both operands were cast before";
}

TEST(MeasuredPoints, OddHeadsKeepTheTypeOfTheirOperands) {
  OperatorPoint point = product_point(2048, 2048, 150, Pass::forward);
  point.precision = Precision::fp32;
  point.work.head_dim = 150;
  EXPECT_TRUE(placed_file(TimedFile().add(timed_gemm(2048, 2048, 150), 1e-3), {point}).points[0].measured);
  EXPECT_FALSE(
      placed_file(TimedFile().add(timed_gemm(2048, 2048, 150, GemmLayout::nn), 1e-3), {point}).points[0].measured);
}

// --- loose ---

TEST(MeasuredPoints, KernelOnTheRidgeIsOnTheRidge) {
  // 3000 x 3000 x 3000 in 2 bytes: 54 GFLOP over 54 MB, which L2 holds: 1000 FLOP/B. At the peak it takes 54 us.
  const PlacedFile out = placed_file(TimedFile().add(timed_gemm(3000, 3000, 3000), 54e-6));
  ASSERT_EQ(out.rows.loose.size(), 1U);
  const LoosePoint& point = out.rows.loose[0];
  EXPECT_EQ(point.kind, "gemm");
  EXPECT_EQ(point.shape, "3000 x 3000 x 3000");
  EXPECT_DOUBLE_EQ(point.flops_per_byte, 1000);
  EXPECT_DOUBLE_EQ(point.rate.value(), 1e15);
  EXPECT_DOUBLE_EQ(point.share_of_roof, 1);
  EXPECT_EQ(point.warning, "");
  EXPECT_EQ(point.outside, "");
}

TEST(MeasuredPoints, EqualLooseKernelsAreOneAndTheLongestComesFirst) {
  TimedFile rows;
  rows.add(timed_gemm(128, 128, 128), 1e-6)
      .add(timed_stream("norm", 8192, 4096), 3e-4)
      .add(timed_gemm(128, 128, 128), 3e-6);
  const PlacedFile out = placed_file(rows);
  ASSERT_EQ(out.rows.loose.size(), 2U);
  EXPECT_EQ(out.rows.loose[0].kind, "norm");
  EXPECT_EQ(out.rows.loose[0].outside, "no FLOPs counted");
  EXPECT_DOUBLE_EQ(out.rows.loose[0].share_of_roof, 2 * 2 * 8192.0 * 4096 / 3e-4 / 1e12);
  EXPECT_DOUBLE_EQ(out.rows.loose[1].time.value(), 2e-6);
  EXPECT_THAT(out.rows.loose[1].source, HasSubstr("median of 2 rows"));
}

TEST(MeasuredPoints, AboveARoofWarns) {
  PlacedFile out = placed_file(
      TimedFile().add(timed_gemm(3000, 3000, 3000), 27e-6), {product_point(3000, 3000, 3000, Pass::forward)});
  EXPECT_THAT(out.points[0].warning, HasSubstr("as measured 100 % above the datasheet roof"));
  out = placed_file(TimedFile().add(timed_stream("norm", 8192, 4096), 1e-4));
  EXPECT_THAT(out.rows.loose[0].warning, HasSubstr("above the datasheet roof of 1.00 TB/s"));
}

TEST(MeasuredPoints, LayersOfExpertsAreLoose) {
  const MoeQuery layer{.tokens = 1024, .hidden = 4096, .inter = 14336, .topk = 2, .experts = 8};
  const PlacedFile out = placed_file(TimedFile().add(layer, 1e-3));
  ASSERT_EQ(out.rows.loose.size(), 1U);
  EXPECT_EQ(out.rows.loose[0].kind, "experts");
  EXPECT_GT(out.rows.loose[0].flops_per_byte, 0);
}

// --- left out ---

TEST(MeasuredPoints, WhatIsLeftOutIsCounted) {
  TimedFile rows;
  const GemmQuery query = timed_gemm(128, 128, 128);
  rows.add(query, 1e-5).add(query, 1e-5, true);
  MeasurementContext context;
  context.gpu = "round";
  context.regime = "sustained";
  rows.under(context).add(query, 1e-5, true);
  context.regime = "burst";
  context.cache = "warm";
  rows.under(context).add(query, 1e-5).add(query, 1e-5);
  context.cache = "";
  context.beside = "copy";
  rows.under(context).add(query, 1e-5);
  rows.of("h100-sxm").add(query, 1e-5);
  rows.of("").add(query, 1e-5).add(TransferQuery{TransferKind::host_to_device, Bytes(1e6)}, 1e-5);
  const PlacedFile out = placed_file(rows);
  ASSERT_EQ(out.rows.loose.size(), 1U);
  EXPECT_THAT(out.rows.loose[0].source, HasSubstr("median of 3 rows"))
      << "this GPU's, its sustained one, and one of no named GPU";
  EXPECT_THAT(out.rows.notes,
      testing::ElementsAre(HasSubstr("1 row with clocks pulled down"), HasSubstr("1 row with something else"),
          HasSubstr("2 rows out of a warm L2"), HasSubstr("1 row of other GPUs left out: h100-sxm"),
          HasSubstr("1 row of collectives, copies and launches")));
}

TEST(MeasuredPoints, FileOfOtherGpusIsRefusedWithTheirNames) {
  TimedFile rows("h100-sxm");
  rows.add(timed_gemm(128, 128, 128), 1e-5).of("a100-80gb").add(timed_gemm(128, 128, 128), 1e-5);
  const Error error = refused_file(rows);
  EXPECT_EQ(error.where, timed_name);
  EXPECT_THAT(error.what, HasSubstr("no row is of a kernel on round: its kernels ran on a100-80gb, h100-sxm"));
  EXPECT_FALSE(error.hint.empty());
}

TEST(MeasuredPoints, FileWithoutAKernelIsRefusedWithTheReason) {
  TimedFile rows;
  rows.add(CollectiveQuery{CollectiveKind::all_reduce, 8, 1, Bytes(1e6)}, 1e-5);
  EXPECT_THAT(refused_file(rows).what, HasSubstr("1 row of collectives, copies and launches"));
  EXPECT_THAT(
      refused_file(TimedFile().add(timed_gemm(1, 1, 1), 1e-5, true)).what, HasSubstr("1 row with clocks pulled down"));
  EXPECT_THAT(refused_file(TimedFile()).what, HasSubstr("no row of a kernel on round"));
}

TEST(MeasuredPoints, HostileNamesStayPlainText) {
  const std::string hostile = "<img src=x onerror=\"alert('&')\">";
  const PlacedFile out = placed_file(TimedFile("round", hostile).add(timed_gemm(128, 128, 128), 1e-5));
  EXPECT_EQ(out.rows.loose[0].source, hostile + ", own.json");
  EXPECT_THAT(refused_file(TimedFile(hostile).add(timed_gemm(1, 1, 1), 1e-5)).what, HasSubstr(hostile));
}

}  // namespace
}  // namespace stepcast::roofline
