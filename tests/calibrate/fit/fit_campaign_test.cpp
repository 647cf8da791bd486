// A campaign's rows give back the card that made them; rows under other circumstances change no law.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/calibrate/measure/known_rows.h"

namespace stepcast::calibrate {
namespace {

KnownRows whole_campaign() {
  KnownRows known;
  known.add_campaign();
  return known;
}

const LawFit* find_fit(const FittedProfile& fitted, const std::string& law) {
  for (const LawFit& fit : fitted.laws)
    if (fit.law == law) return &fit;
  return nullptr;
}

bool notes_say(const FittedProfile& fitted, const std::string& text) {
  return std::any_of(fitted.notes.begin(), fitted.notes.end(),
      [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(FitCampaign, gives_back_the_card_that_made_the_rows) {
  const FittedProfile fitted = whole_campaign().fitted();
  const Profile& profile = fitted.profile;
  const RooflineLaw* bf16 = find_gemm(profile, Precision::bf16);
  ASSERT_NE(bf16, nullptr);
  EXPECT_NEAR(bf16->compute.value() / 800e12, 1, 0.02);
  EXPECT_NEAR(bf16->memory.value() / 3.0e12, 1, 0.04);  // products of training size hardly see it: the prior pulls
  EXPECT_NEAR(bf16->t0.value(), 3e-6, 0.3e-6);
  EXPECT_NEAR(profile.memory.memory.value() / 2.7e12, 1, 0.02);
  EXPECT_NEAR(profile.sustained_slowdown, 1.15, 1e-9);
  EXPECT_NEAR(profile.overlap.compute_slowdown, 0.19, 1e-9);
  EXPECT_NEAR(profile.overlap.move_slowdown, 0.08, 1e-9);
  EXPECT_EQ(profile.overlap.source, Source::fitted);
  EXPECT_EQ(profile.roofs.size(), 9u);
  EXPECT_DOUBLE_EQ(profile.host.graph_kernel.value(), 1.1e-6);
  EXPECT_EQ(profile.conditions.device, "NVIDIA H100 80GB HBM3");
}

TEST(FitCampaign, rows_under_other_circumstances_change_no_law) {
  KnownRows known = whole_campaign();
  const std::string before = write_profile(known.fitted().profile);
  const double fast = 0.8;  // still below the roofs
  const GemmQuery product{.m = 2048, .n = 2048, .k = 2048};
  known.context.cache = "warm";
  known.add_product(product, fast);
  known.context.cache = "";
  known.context.beside = "copy";
  known.add_product(product, 3);  // alone it was timed nowhere
  known.context.beside = "";
  known.add_product(product, 2).throttled = true;
  known.context.regime = "sustained";
  known.add_operator("norm", 512, BytesPerSecond(1e12), Seconds(0));
  known.context.regime = "burst";
  FittedProfile after = known.fitted();
  EXPECT_TRUE(notes_say(after, "5 rows with their data in the level-2 cache"));
  EXPECT_TRUE(notes_say(after, "3 rows beside something else are no samples"));
  EXPECT_TRUE(notes_say(after, "1 rows beside something else were not timed alone"));
  EXPECT_TRUE(notes_say(after, "1 throttled bursts"));
  EXPECT_TRUE(notes_say(after, "1 sustained rows that are no products"));
  after.profile.conditions = known.fitted().profile.conditions;
  // But for the counts of rows per source.
  const auto laws_of = [](const std::string& text) { return text.substr(text.find("\"gemm\"")); };
  EXPECT_EQ(laws_of(write_profile(after.profile)), laws_of(before));
}

TEST(FitCampaign, layouts_are_held_out_one_by_one) {
  KnownRows known = whole_campaign();
  for (Measurement& row : known.rows.rows)
    if (const auto* gemm = std::get_if<GemmQuery>(&row.what); gemm != nullptr && gemm->layout == GemmLayout::nn)
      row.time = row.time * 1.2;
  const FittedProfile fitted = known.fitted();
  const LawFit* fit = find_fit(fitted, "gemm bf16");
  ASSERT_NE(fit, nullptr);
  ASSERT_EQ(fit->layouts.size(), 3u);
  EXPECT_EQ(fit->layouts[1].part, "nn");
  EXPECT_EQ(fit->layouts[1].held_out.samples, 8);
  EXPECT_NEAR(fit->layouts[1].bias / fit->layouts[0].bias, 1.2, 0.04);

  KnownRows forward;
  for (double m = 512; m <= 8192; m *= 2) forward.add_product({.m = m, .n = 4096, .k = 4096});
  EXPECT_TRUE(find_fit(forward.fitted(), "gemm bf16")->layouts.empty());
}

TEST(FitCampaign, three_minutes_of_products_are_enough_to_tell_layouts_apart) {
  KnownRows known;  // 405 products, more than corrections ask for
  for (const GemmLayout layout : {GemmLayout::tn, GemmLayout::nn, GemmLayout::nt})
    for (double m = 512; m <= 8192; m *= 2)
      for (double n = 1024; n <= 16384; n *= 1.6)
        for (double k = 1024; k <= 8192; k *= 2)
          known.add_product({.m = m, .n = std::round(n), .k = k, .layout = layout}, layout == GemmLayout::nt ? 1.2 : 1);
  const FittedProfile fitted = known.fitted();
  const LawFit* fit = find_fit(fitted, "gemm bf16");
  ASSERT_NE(fit, nullptr);
  EXPECT_GT(fit->base_mape, 0.03);
  ASSERT_EQ(fit->layouts.size(), 3u);
  for (const PartFit& part : fit->layouts) {
    EXPECT_NEAR(part.bias, 1, 0.02) << part.part;
    EXPECT_LT(part.held_out.mape, 0.02) << part.part;
  }
}

TEST(FitCampaign, sustained_products_are_held_against_their_own_burst) {
  KnownRows known;
  // A law cannot hold these two together; each is 10 % slower when it goes on.
  for (double m = 512; m <= 8192; m *= 2)
    for (const double k : {1024.0, 8192.0}) known.add_product({.m = m, .n = 8192, .k = k}, k > 2000 ? 1.3 : 1);
  known.context.regime = "sustained";
  for (const double k : {1024.0, 8192.0}) known.add_product({.m = 8192, .n = 8192, .k = k}, 1.1 * (k > 2000 ? 1.3 : 1));
  EXPECT_NEAR(known.fitted().profile.sustained_slowdown, 1.1, 1e-9);
  // Another library's bursts are none of theirs: then the law is what there is.
  known.rows.contexts.back().software = "cublas 12.8";
  EXPECT_GT(known.fitted().profile.sustained_slowdown, 1);
  EXPECT_NE(known.fitted().profile.sustained_slowdown, 1.1);
}

TEST(FitCampaign, a_collective_beside_a_product_counts_before_a_copy) {
  KnownRows known = whole_campaign();
  known.context.beside = "all_reduce x8 1 GiB";
  known.add_product({.m = 8192, .n = 8192, .k = 8192}, 1.12);
  known.context.beside = "host_to_device 256 MiB";
  known.add_product({.m = 8192, .n = 8192, .k = 8192}, 1.01);
  const FittedProfile fitted = known.fitted();
  EXPECT_NEAR(fitted.profile.overlap.compute_slowdown, 0.12, 1e-9);
  EXPECT_NEAR(fitted.profile.overlap.move_slowdown, 0.08, 1e-9);
  EXPECT_NE(find_fit(fitted, "products beside all_reduce"), nullptr);
  EXPECT_NE(find_fit(fitted, "moves beside gemm"), nullptr);
}

TEST(FitCampaign, a_copy_from_the_host_counts_as_a_move_before_one_on_the_card) {
  KnownRows known = whole_campaign();
  known.context.beside = "gemm bf16 tn 8192x8192x8192";
  const TransferQuery transfer{TransferKind::host_to_device, Bytes(64e6)};
  known.add(transfer, 1.03 * (Seconds(1e-5) + transfer.bytes / BytesPerSecond(55e9)), "cuda 13.0");
  known.context.beside = "";
  EXPECT_NEAR(known.fitted().profile.overlap.move_slowdown, 0.03, 1e-9);
  EXPECT_NEAR(known.fitted().profile.overlap.compute_slowdown, 0.19, 1e-9);
}

TEST(FitCampaign, where_nothing_ran_beside_another_the_start_stays) {
  KnownRows known;
  for (double m = 512; m <= 8192; m *= 2) known.add_product({.m = m, .n = 4096, .k = 4096});
  const OverlapLaw before = known.request().start.overlap;
  const OverlapLaw after = known.fitted().profile.overlap;
  EXPECT_EQ(after.compute_slowdown, before.compute_slowdown);
  EXPECT_EQ(after.source, before.source);
  EXPECT_TRUE(known.fitted().profile.roofs.size() == 1);
}

TEST(FitCampaign, roofs_and_launches_alone_are_a_profile) {
  KnownRows known;
  known.add_transfers_and_launches();
  const auto fitted = fit_profile(known.rows, known.request());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_TRUE(fitted->laws.empty());
  EXPECT_EQ(fitted->profile.roofs.size(), 2u);
  EXPECT_DOUBLE_EQ(fitted->profile.host.stream_kernel.value(), 2.2e-6);
  EXPECT_FALSE(fit_profile({}, known.request()).has_value());
}

TEST(FitCampaign, plain_copies_do_not_speak_for_other_operators) {
  KnownRows known;
  for (double mib = 32; mib <= 512; mib *= 2) known.add_operator("norm", mib, BytesPerSecond(2e12), Seconds(4e-6));
  for (double mib = 32; mib <= 2048; mib *= 2) known.add_operator("copy", mib, BytesPerSecond(3e12), Seconds(4e-6));
  EXPECT_NEAR(known.fitted().profile.memory.memory.value() / 2e12, 1, 0.05);  // five rows and a prior
}

}  // namespace
}  // namespace stepcast::calibrate
