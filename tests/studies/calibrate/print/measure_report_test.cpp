// The pages of a plan and of a verdict: what stands there, within the width of a terminal; and the same for programs.
#include "studies/calibrate/print/measure_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/catalog.h"
#include "studies/print/table.h"
#include "tests/calibrate/measure/known_rows.h"

namespace stepcast::calibration {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Page80 {
  std::ostringstream out, err;
  Console console{out, err, false, true, 80};
};

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, shown_width(line));
  return widest;
}

MeasurePlan plan_with_own_shape() {
  PlanRequest request;
  request.gpu = known_gpu();
  request.budget = Seconds(30);
  request.cudnn = true;
  request.own = {GemmQuery{.m = 8192, .n = 4608, .k = 3072}};
  return make_plan(request).value();
}

TEST(PlanReport, phases_own_shapes_and_what_is_left_out) {
  const MeasurePlan plan = plan_with_own_shape();
  Page80 page;
  const std::string text = plan_report({plan, known_gpu(), "", "nccl: libnccl.so.2 was not found"}, page.console);
  EXPECT_THAT(text, HasSubstr("NVIDIA H100-SXM5-80GB, which is not here"));
  for (const MeasurePhase& phase : measure_phases()) {
    if (phase.id == "collectives") continue;  // planned with the GPUs that are there
    EXPECT_THAT(text, HasSubstr("\n  " + std::string(phase.id) + " "));
  }
  EXPECT_THAT(text, HasSubstr("the model's own first: gemm bf16 tn 8192x4608x3072"));
  EXPECT_THAT(text, HasSubstr("of 30.0 s: "));
  EXPECT_THAT(text, HasSubstr("left out"));
  EXPECT_THAT(text, HasSubstr("missing: nccl: libnccl.so.2"));
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_THAT(plan_report({plan, known_gpu(), "NVIDIA H100 80GB HBM3", ""}, page.console), Not(HasSubstr("not here")));
}

TEST(PlanReport, json_has_every_work_and_adds_up) {
  const MeasurePlan plan = plan_with_own_shape();
  const auto json = nlohmann::json::parse(plan_json({plan, known_gpu(), "", ""}));
  EXPECT_EQ(json["works"].size(), plan.works.size());
  EXPECT_EQ(json["left_out"].size(), plan.left_out.size());
  double sum = 0;
  std::size_t works = 0;
  for (const auto& phase : json["phases"])
    sum += phase["estimate_s"].get<double>(), works += phase["works"].get<std::size_t>();
  EXPECT_NEAR(sum, json["estimate_s"].get<double>(), 1e-6);
  EXPECT_EQ(works, plan.works.size());
  EXPECT_LE(json["estimate_s"].get<double>(), json["budget_s"].get<double>());
  bool own = false, in_turn = false;
  for (const auto& work : json["works"]) {
    own = own || (work["own"] == true && work["work"] == "gemm bf16 tn 8192x4608x3072" && work["phase"] == "gemm");
    in_turn = in_turn || work["mode"] == "sustained";
  }
  EXPECT_TRUE(own);
  EXPECT_TRUE(in_turn);
}

/// A campaign on the known card with something of everything in it.
struct ReportedCampaign {
  KnownRows known;
  MeasureResult result;
  FittedProfile fitted;
  ReportedCampaign() {
    known.add_campaign();
    known.add(AttentionQuery{.batch = 16, .queries = 8192, .keys = 8192, .heads = 32, .kv_heads = 32}, Seconds(0.05),
        "stepcast 1.0");
    known.add_product({.m = 4096, .n = 4096, .k = 4096}, 1.8).throttled = true;
    result.measurements = known.rows;
    result.skipped = {{"gemm fp8 tn 1024x1024x1024", "cublasLt has no algorithm"}};
    result.repeats = {{"norm", Seconds(1), Seconds(1.003)}};
    result.finished = true;
    result.resumed = 12;
    fitted = known.fitted();
  }
  [[nodiscard]] MeasureReport report() const {
    return {result, verdict_of(result, fitted, known_gpu()), fitted, known_gpu(), "m.json", "p.json"};
  }
};

TEST(MeasureReport, says_what_was_found_and_what_to_distrust) {
  const ReportedCampaign campaign;
  std::ostringstream out, err;
  const std::string text = measure_report(campaign.report(), Console{out, err, false, true, 100});
  EXPECT_THAT(text, HasSubstr("1 throttled"));
  EXPECT_THAT(text, HasSubstr("12 works of an earlier campaign"));
  EXPECT_THAT(text, HasSubstr("hbm copy"));
  EXPECT_THAT(text, HasSubstr("softmax"));
  EXPECT_THAT(text, HasSubstr("of these nt"));
  EXPECT_THAT(text, HasSubstr("sustained over burst: 1.150 times as long"));
  EXPECT_THAT(text, HasSubstr("products beside copy: 1.190 times as long"));
  EXPECT_THAT(text, HasSubstr("drift: 0.3 % in the median of 1 work timed"));
  EXPECT_THAT(text, HasSubstr("a kernel into a stream 2.20 us"));
  EXPECT_THAT(text, HasSubstr("cublasLt has no algorithm"));
  EXPECT_THAT(text, HasSubstr("the profile h100-here is in p.json"));
  EXPECT_LE(widest_line(text), 100u) << text;
}

TEST(MeasureReport, fits_a_terminal_of_eighty_columns) {
  const ReportedCampaign campaign;
  Page80 page;
  const std::string text = measure_report(campaign.report(), page.console);
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_THAT(text, HasSubstr("hbm copy"));
  EXPECT_THAT(text, Not(HasSubstr("copy 524288x2048")));
}

TEST(MeasureReport, nothing_to_distrust_is_said_as_well) {
  const ReportedCampaign campaign;
  MeasureReport report = campaign.report();
  report.verdict.distrust.clear();
  Page80 page;
  EXPECT_THAT(measure_report(report, page.console), HasSubstr("nothing: no figure stands out"));
}

TEST(MeasureReport, json_holds_the_figures_in_base_units) {
  const ReportedCampaign campaign;
  const auto json = nlohmann::json::parse(measure_json(campaign.report()));
  EXPECT_EQ(json["gpu"], "h100-sxm");
  EXPECT_EQ(json["finished"], true);
  EXPECT_EQ(json["resumed"], 12);
  std::map<std::string, nlohmann::json> roofs, kernels;
  for (const auto& roof : json["measured_roofs"]) roofs[roof["of"]] = roof;
  for (const auto& kernel : json["kernels"]) kernels[kernel["kernel"]] = kernel;
  EXPECT_NEAR(roofs.at("bf16")["burst_flops_per_s"].get<double>(), 800e12, 16e12);
  EXPECT_NEAR(roofs.at("bf16")["sustained_flops_per_s"].get<double>(), 800e12 / 1.15, 16e12);
  EXPECT_NEAR(roofs.at("bf16")["datasheet_flops_per_s"].get<double>(), 989.4e12, 1e12);
  EXPECT_NEAR(roofs.at("l2 read")["burst_bytes_per_s"].get<double>(), 5.5e12, 1e6);
  EXPECT_FALSE(roofs.at("l2 read").contains("datasheet_bytes_per_s"));
  EXPECT_NEAR(kernels.at("softmax")["rate_bytes_per_s"].get<double>(), 2.7e12, 0.05e12);
  EXPECT_EQ(kernels.at("softmax")["roof"], "hbm copy");
  EXPECT_TRUE(kernels.at("attention forward bf16").contains("rate_flops_per_s"));
  EXPECT_NEAR(json["sustained_slowdown"].get<double>(), 1.15, 0.01);
  EXPECT_NEAR(json["host"]["graph_s"].get<double>(), 6e-6, 1e-12);
  EXPECT_EQ(json["throttled"].size(), 1u);
  EXPECT_EQ(json["not_measured"][0]["why"], "cublasLt has no algorithm");
  EXPECT_FALSE(json["distrust"].empty());
  for (const auto& law : json["laws"]) EXPECT_GT(law["held_out"]["samples"].get<int>(), 0);
}

}  // namespace
}  // namespace stepcast::calibration
