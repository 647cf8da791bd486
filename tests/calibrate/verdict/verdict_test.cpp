// A verdict says what the card can do, and which figures not to trust: what is planted in a campaign shows there, and
// in no law.

#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/verdict/distrust.h"
#include "calibrate/verdict/verdict.h"
#include "tests/calibrate/measure/known_rows.h"

namespace stepcast::calibrate {
namespace {

/// A whole campaign on the known card, two things timed twice, and attention that reaches 60 % of the products' roof.
struct KnownCampaign {
  KnownRows known;
  MeasureResult result;
  GpuSettings settings{"580.65.06", "13.0", "13.0.2", "9.19", "2.28.3", 700, 700, 1980, true, false, true, {}};

  KnownCampaign() {
    known.add_campaign();
    known.context.cache = "warm";
    known.add_product({.m = 512, .n = 1024, .k = 1024}, 0.9);
    known.context.cache = "";
    add_attention(AttentionPass::forward, 1);
    add_attention(AttentionPass::backward, 2.5);
    known.add_product({.m = 8192, .n = 8192, .k = 8192, .precision = Precision::fp16});
    result.repeats = {{"gemm bf16 tn 8192x8192x8192", Seconds(1e-3), Seconds(1.004e-3)},
        {"norm 65536x2048 of 2 B", Seconds(1e-4), Seconds(1.002e-4)}};
    Sustained run;
    run.burst = Seconds(1e-3);
    run.settled = Seconds(1.15e-3);
    run.time_constant = Seconds(0.04);
    result.sustained = {{"gemm bf16 tn 8192x8192x8192", run}};
    result.finished = true;
  }
  void add_attention(AttentionPass pass, double products) {
    for (double s = 512; s <= 8192; s *= 2)
      for (const double batch : {4.0, 8.0, 16.0}) {
        const AttentionQuery query{.batch = batch, .queries = s, .keys = s, .heads = 32, .kv_heads = 32, .pass = pass};
        known.add(query, products * forward_flops_of(query) / FlopsPerSecond(480e12), "stepcast 1.0");
      }
  }
  Verdict verdict() {
    result.measurements = known.rows;
    return verdict_of(result, known.fitted(), known_gpu(), settings);
  }
};

std::string line_with(const Verdict& verdict, const std::string& text) {
  for (const std::string& line : verdict.distrust)
    if (line.find(text) != std::string::npos) return line;
  return "";
}

const RoofVerdict& roof_named(const Verdict& verdict, const std::string& of, const std::string& regime = "burst") {
  static const RoofVerdict none;
  for (const RoofVerdict& roof : verdict.roofs)
    if (roof.roof.of == of && roof.roof.regime == regime) return roof;
  return none;
}

const KernelShare& kernel_named(const Verdict& verdict, const std::string& name) {
  static const KernelShare none;
  for (const KernelShare& kernel : verdict.kernels)
    if (kernel.kernel == name) return kernel;
  return none;
}

TEST(Verdict, roofs_stand_beside_the_datasheet) {
  KnownCampaign campaign;
  const Verdict verdict = campaign.verdict();
  EXPECT_NEAR(roof_named(verdict, "bf16").roof.rate, 800e12, 16e12);
  EXPECT_DOUBLE_EQ(roof_named(verdict, "bf16").datasheet, known_gpu().peak[static_cast<int>(Precision::bf16)].value());
  EXPECT_EQ(roof_named(verdict, "bf16").seen_at, "gemm bf16 tn 8192x8192x8192");
  EXPECT_DOUBLE_EQ(roof_named(verdict, "hbm triad").datasheet, known_gpu().memory_bandwidth.value());
  EXPECT_DOUBLE_EQ(roof_named(verdict, "l2 read").datasheet, 0);
  EXPECT_DOUBLE_EQ(roof_named(verdict, "host_to_device").datasheet, 0);
  EXPECT_NEAR(roof_named(verdict, "bf16", "sustained").roof.rate, 800e12 / 1.15, 16e12);
  EXPECT_DOUBLE_EQ(verdict.host.event.value(), 0.7e-6);
}

TEST(Verdict, kernels_have_their_share_of_the_roof_that_bounds_them) {
  KnownCampaign campaign;
  const Verdict verdict = campaign.verdict();
  EXPECT_NEAR(kernel_named(verdict, "softmax").share, 2.7 / 3.0, 0.02);
  EXPECT_EQ(kernel_named(verdict, "softmax").roof, "hbm copy");
  EXPECT_NEAR(kernel_named(verdict, "attention forward bf16").share, 0.6, 0.01);
  EXPECT_NEAR(kernel_named(verdict, "attention backward bf16").share, 0.6, 0.01);
  EXPECT_NEAR(kernel_named(verdict, "attention backward bf16").rate, 480e12, 1e9);
  EXPECT_EQ(kernel_named(verdict, "attention backward bf16").roof, "bf16");
  EXPECT_TRUE(kernel_named(verdict, "copy").kernel.empty());  // a roof itself
}

TEST(Verdict, kernels_of_a_library_are_told_from_ours) {
  KnownCampaign campaign;
  campaign.known.add(AttentionQuery{.batch = 16, .queries = 8192, .keys = 8192, .heads = 32, .kv_heads = 32},
      Seconds(0.05), "cudnn 9.19");
  const Verdict verdict = campaign.verdict();
  EXPECT_FALSE(kernel_named(verdict, "attention forward bf16 by cudnn").kernel.empty());
  EXPECT_NEAR(kernel_named(verdict, "attention forward bf16").share, 0.6, 0.01);
}

TEST(Verdict, slowdowns_and_drift_are_what_was_put_in) {
  KnownCampaign campaign;
  const Verdict verdict = campaign.verdict();
  EXPECT_NEAR(verdict.sustained_slowdown, 1.15, 0.01);
  EXPECT_DOUBLE_EQ(verdict.time_constant.value(), 0.04);
  EXPECT_NEAR(verdict.drift, 0.003, 1e-9);
  EXPECT_EQ(verdict.repeats, 2);
  ASSERT_EQ(verdict.slowdowns.size(), 3u);
  EXPECT_EQ(verdict.slowdowns[1].what, "products beside copy");
  EXPECT_NEAR(verdict.slowdowns[1].factor, 1.19, 1e-9);
  for (const LawFit& fit : verdict.laws) EXPECT_GT(fit.held_out.samples, 0) << fit.law;
}

TEST(Verdict, a_sound_campaign_leaves_little_to_distrust) {
  KnownCampaign campaign;
  const Verdict verdict = campaign.verdict();
  for (const std::string& line : verdict.distrust)
    EXPECT_TRUE(line.starts_with("products beside copy") || line.starts_with("few samples")) << line;
}

TEST(Verdict, a_campaign_that_ended_early_says_why) {
  KnownCampaign campaign;
  campaign.result.finished = false;
  campaign.result.ended_by = "the GPU was lost";
  EXPECT_NE(line_with(campaign.verdict(), "not whole").find("the GPU was lost"), std::string::npos);
}

TEST(Verdict, drift_beyond_two_per_cent_names_the_worst) {
  KnownCampaign campaign;
  campaign.result.repeats = {
      {"a", Seconds(1), Seconds(1.03)}, {"b", Seconds(1), Seconds(0.9)}, {"c", Seconds(1), Seconds(1.01)}};
  const Verdict verdict = campaign.verdict();
  EXPECT_NEAR(verdict.drift, 0.03, 1e-9);
  EXPECT_NE(line_with(verdict, "drifted by 3").find("most of all b"), std::string::npos);
  campaign.result.repeats.clear();
  EXPECT_NE(line_with(campaign.verdict(), "nothing was timed twice"), "");
}

TEST(Verdict, throttled_works_are_named_and_change_no_law) {
  KnownCampaign campaign;
  const std::string before = write_profile(campaign.known.fitted().profile);
  campaign.known.add_product({.m = 4096, .n = 4096, .k = 4096}, 1.8).throttled = true;
  const Verdict verdict = campaign.verdict();
  ASSERT_EQ(verdict.throttled.size(), 1u);
  EXPECT_EQ(verdict.throttled[0], "gemm bf16 tn 4096x4096x4096");
  EXPECT_NE(
      line_with(verdict, "clocks were down even after pauses, and what ran is in no law of bursts: gemm bf16 tn 4096"),
      "");
  const std::string after = write_profile(campaign.known.fitted().profile);
  EXPECT_EQ(before.substr(before.find("\"gemm\"")), after.substr(after.find("\"gemm\"")));
}

TEST(Verdict, more_than_the_datasheet_is_a_wrong_unit_or_clock) {
  KnownCampaign campaign;
  campaign.known.add_product({.m = 8192, .n = 8192, .k = 4096}, 0.7);
  const std::string line = line_with(campaign.verdict(), "units, clock or datasheet");
  EXPECT_TRUE(line.starts_with("bf16 burst")) << line;
  EXPECT_EQ(line_with(KnownCampaign().verdict(), "units, clock or datasheet"), "");
}

TEST(Verdict, far_below_the_datasheet_has_a_reason_too) {
  KnownCampaign campaign;
  for (Measurement& row : campaign.known.rows.rows)
    if (std::holds_alternative<GemmQuery>(row.what)) row.time = row.time * 2;
  EXPECT_TRUE(line_with(campaign.verdict(), "usual is far more").starts_with("bf16 burst"));
}

TEST(Verdict, a_kernel_above_its_roof_is_doubted) {
  KnownCampaign campaign;
  campaign.known.add_operator("rope", 512, BytesPerSecond(4e12), Seconds(0));
  const std::string line = line_with(campaign.verdict(), "rope ran at");
  EXPECT_NE(line.find("hbm copy"), std::string::npos);
}

TEST(Verdict, the_card_s_settings_are_held_against_it) {
  KnownCampaign campaign;
  campaign.settings.mig = true;
  campaign.settings.power_limit_w = 500;
  campaign.settings.other_processes = {"1234 python"};
  const Verdict verdict = campaign.verdict();
  EXPECT_NE(line_with(verdict, "MIG"), "");
  EXPECT_NE(line_with(verdict, "500 W, below the default of 700 W"), "");
  EXPECT_NE(line_with(verdict, "1234 python"), "");
  campaign.settings.driver = "";  // then none of it is known
  EXPECT_EQ(line_with(campaign.verdict(), "MIG"), "");
}

TEST(Verdict, works_that_could_not_be_measured_stand_with_their_reason) {
  KnownCampaign campaign;
  campaign.result.skipped = {{"gemm fp8 tn 1024x1024x1024", "cublasLt has no algorithm"},
      {"gemm fp8 tn 512x512x512", "cublasLt has no algorithm"},
      {"softmax 4096x4096 of 2 B", "off by 0.1, allowed 0.01"}};
  const Verdict verdict = campaign.verdict();
  EXPECT_EQ(verdict.skipped.size(), 3u);
  EXPECT_NE(line_with(verdict, "no algorithm").find("gemm fp8 tn 512x512x512"), std::string::npos);
  EXPECT_NE(line_with(verdict, "allowed 0.01").find("softmax"), std::string::npos);
}

TEST(Verdict, medians_that_never_settled_count_from_a_tenth_on) {
  KnownCampaign campaign;
  for (std::size_t row = 0; row < 20; ++row)
    campaign.result.timed.push_back({row, "kernel", 1980, 60, 0.001, row >= 2});
  EXPECT_EQ(line_with(campaign.verdict(), "still moving"), "");
  campaign.result.timed[2].settled = false;
  EXPECT_TRUE(line_with(campaign.verdict(), "still moving").starts_with("3 of 20"));
}

TEST(Verdict, a_layout_that_the_law_does_not_fit_is_named) {
  KnownCampaign campaign;
  for (Measurement& row : campaign.known.rows.rows)
    if (const auto* gemm = std::get_if<GemmQuery>(&row.what); gemm != nullptr && gemm->layout == GemmLayout::nn)
      row.time = row.time * 1.2;
  EXPECT_NE(line_with(campaign.verdict(), "gemm bf16 nn take 1."), "");
}

TEST(Verdict, what_was_not_measured_is_said) {
  KnownCampaign campaign;
  campaign.known = KnownRows();
  for (double m = 512; m <= 8192; m *= 2)
    for (const double n : {2048.0, 4096.0, 8192.0}) campaign.known.add_product({.m = m, .n = n, .k = 4096});
  campaign.result.sustained.clear();
  const Verdict verdict = campaign.verdict();
  EXPECT_DOUBLE_EQ(verdict.sustained_slowdown, 0);
  EXPECT_NE(line_with(verdict, "only bf16 products were timed"), "");
  EXPECT_NE(line_with(verdict, "all times are cold"), "");
  EXPECT_NE(line_with(verdict, "nobody ran for seconds"), "");
  EXPECT_NE(line_with(verdict, "few samples behind gemm bf16 (15)"), "");
}

TEST(Verdict, held_out_errors_above_the_usual_are_named) {
  KnownCampaign campaign;
  int i = 0;
  for (Measurement& row : campaign.known.rows.rows)
    if (std::holds_alternative<GemmQuery>(row.what)) row.time = row.time * (++i % 2 == 0 ? 1.5 : 1);
  const std::string line = line_with(campaign.verdict(), "held-out errors above the usual");
  EXPECT_NE(line.find("gemm bf16"), std::string::npos);
  EXPECT_NE(line.find("usual 8"), std::string::npos);
}

TEST(UsualFitOf, laws_of_every_kind) {
  const auto mape = [](const char* law, int training = 10) {
    LawFit fit;
    fit.law = law;
    fit.training.samples = training;
    return usual_fit(fit).mape;
  };
  EXPECT_DOUBLE_EQ(mape("gemm bf16"), 0.08);
  EXPECT_DOUBLE_EQ(mape("gemm bf16", 0), 0.2);
  EXPECT_DOUBLE_EQ(mape("gemm fp8 block-scaled"), 0.17);
  EXPECT_DOUBLE_EQ(mape("attention"), 0.15);
  EXPECT_DOUBLE_EQ(mape("norm-backward"), 0.17);
  EXPECT_DOUBLE_EQ(mape("add"), 0.05);
  EXPECT_DOUBLE_EQ(mape("rope"), 0.15);
  EXPECT_DOUBLE_EQ(mape("all_reduce nvswitch x8"), 0);  // nothing usual is known
}

}  // namespace
}  // namespace stepcast::calibrate
