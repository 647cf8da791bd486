// Profiles as files, and the profiles of GPUs that nobody timed.
#include <gtest/gtest.h>

#include <cmath>

#include "model/profile/profile.h"
#include "model/profile/read_laws.h"
#include "model/profile/scan_law.h"
#include "tests/model/profile/round_profile.h"

namespace stepcast {
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Error error_of(const std::string& text) {
  const auto profile = read_profile(text, "p.json");
  EXPECT_FALSE(profile.has_value());
  return profile ? Error{} : profile.error();
}

/// One chunk of one state, whose law is its start alone: 10 us of anybody's kernels, 20 us of vLLM's.
TEST(ScanLaws, AnEngineHasItsOwnBeforeAnybodys) {
  Profile profile;
  profile.scans = {scan_that_takes(Seconds(10e-6), ""), scan_that_takes(Seconds(20e-6), "vllm")};
  ScanShape shape;
  shape.function = find_scan("gated_delta");
  shape.sequences = shape.heads = shape.groups = 1, shape.positions = shape.chunk = 64;
  shape.value_size = shape.key_size = 128;
  const auto microseconds = [&](const char* kernels) {
    return scan_time(profile, shape, false, kernels).time.value() * 1e6;
  };
  EXPECT_NEAR(microseconds("vllm"), 20, 1e-9);
  EXPECT_NEAR(microseconds("sglang"), 10, 1e-9) << "nobody timed its kernels here";
  EXPECT_NEAR(microseconds(""), 10, 1e-9) << "training";
  std::swap(profile.scans[0], profile.scans[1]);
  EXPECT_NEAR(microseconds("vllm"), 20, 1e-9);
  EXPECT_NEAR(microseconds(""), 10, 1e-9);
}

/// A correction of one question: eight sequences and more take a tenth longer, fewer a tenth less.
TEST(ScanLaws, CorrectionsGoToTheFileAndBack) {
  Profile profile = round_profile();
  ScanLaw law = scan_that_takes(Seconds(10e-6), "vllm");
  Correction& correction = law.refinement.correction;
  correction.depth = 1, correction.feature = {0}, correction.threshold = {2.5F};
  correction.value = {-0.1F, 0.1F};
  correction.low.assign(scan_feature_names.size(), -40), correction.high.assign(scan_feature_names.size(), 40);
  law.refinement.spread = {0.95, 1.05};
  profile.scans = {law};
  const auto again = read_profile(write_profile(profile), "profile");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_profile(*again), write_profile(profile));
  ScanShape shape;
  shape.function = find_scan("gated_delta");
  shape.sequences = 8, shape.heads = shape.groups = 1, shape.positions = shape.chunk = 64;
  shape.value_size = shape.key_size = 128;
  const KernelTime more = scan_time(*again, shape, false, "vllm"), alone = scan_time_alone(law, shape);
  EXPECT_NEAR(more.time / alone.time, std::exp(0.1), 1e-4);
  EXPECT_NEAR(more.spread.p90, 1.05, 1e-9);
  EXPECT_TRUE(more.corrected);
  shape.sequences = 4;
  EXPECT_NEAR(scan_time(*again, shape, false, "vllm").time / scan_time_alone(law, shape).time, std::exp(-0.1), 1e-4);
}

TEST(ScanLaws, KernelsAreThoseOfAnEngine) {
  const std::string row = R"({"function": "kda", "t0_s": 1e-5, "first_chunk_s": 0, "state_s": 0, "chunk_s": 0,
    "step_s": 0, "state_step_s": 0, "softness": 1.4, "positions": 64, "value_size": 128, "key_size": 128,
    "source": "fitted", "spread": [0.9, 1.1], "kernels": ")";
  JsonObject known(row + "vllm\"}", "scan"), unknown(row + "wllm\"}", "scan");
  EXPECT_EQ(read_scan(known).kernels, "vllm");
  EXPECT_FALSE(known.failed());
  read_scan(unknown);
  const std::string said = to_text(unknown.finish(0).error());
  EXPECT_NE(said.find("no engine's kernels are 'wllm'"), std::string::npos) << said;
  EXPECT_NE(said.find("vllm"), std::string::npos) << said;
}

TEST(Profile, terms_of_products_and_attention_go_to_the_file_and_back) {
  Profile profile = round_profile();
  EXPECT_EQ(write_profile(profile).find("accumulate"), std::string::npos) << "what is not known is left out";
  EXPECT_EQ(write_profile(profile).find("softmax_elements"), std::string::npos);
  profile.gemm[0].accumulate = 1.3, profile.gemm[0].part_aligned = 3, profile.gemm[0].unaligned = 7.5;
  profile.attention.memory = BytesPerSecond(900e9);
  profile.attention.forward = {.causal_ramp = 140, .softmax = 85, .full_rate = 1.1, .traffic = 0.4};
  profile.attention.backward = {.causal_ramp = 150, .softmax = 50, .full_rate = 1.05, .traffic = 4};
  const std::string text = write_profile(profile);
  const auto read = read_profile(text, "p.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(write_profile(*read), text);
  EXPECT_EQ(read->gemm[0].accumulate, 1.3);
  EXPECT_EQ(read->gemm[0].unaligned, 7.5);
  EXPECT_EQ(read->attention.forward, profile.attention.forward);
  EXPECT_EQ(read->attention.backward, profile.attention.backward);
  EXPECT_EQ(error_of(with(text, "\"accumulate\":1.3", "\"accumulate\":0.3")).where, "p.json:/gemm/0/accumulate");
  EXPECT_EQ(error_of(with(text, "\"full_rate\":1.1", "\"full_rate\":0")).where, "p.json:/attention/forward/full_rate");
  EXPECT_EQ(error_of(with(text, "\"traffic\":4.0", "\"trafic\":4.0")).where, "p.json:/attention/backward/trafic");
}

TEST(Profile, written_and_read_back_is_the_same_text) {
  const std::string text = write_profile(round_profile());
  const auto back = read_profile(text, "p.json");
  ASSERT_TRUE(back.has_value()) << to_text(back.error());
  EXPECT_EQ(write_profile(*back), text);
  EXPECT_EQ(back->collectives[0].points.size(), 2u);
  EXPECT_DOUBLE_EQ(back->gemm[0].compute.value(), 80e12);
  EXPECT_DOUBLE_EQ(back->scale_out[0].per_doubling.value(), 12e-6);
}

TEST(Profile, kernels_of_engines_go_to_the_file_and_back) {
  Profile profile = round_profile();
  profile.engine_all_reduces = {
      {"vllm 1", true, 8, {{Bytes(1024), Seconds(5e-6)}, {Bytes(1e6), Seconds(2e-5)}}, Source::measured, {0.9, 1.1}}};
  EngineExchange exchange{.software = "deepep",
      .kernel = ExchangeKernel::normal,
      .ranks = 16,
      .most_ranks = 64,
      .node_ranks = 8,
      .once_per_rank = true,
      .start = Seconds(1e-5),
      .per_expert = Seconds(1e-8),
      .per_row_byte = Seconds(1e-9),
      .per_token = Seconds(1e-7),
      .most_blocks = 132,
      .rate = BytesPerSecond(4e10),
      .softness = 2,
      .most_tokens = 128,
      .spread = {0.9, 1.1},
      .held_out = {}};
  exchange.held_out = {0.05, 0.04, 0.1, 0.8, 5};
  profile.engine_exchanges = {exchange};
  AttentionLaw latent = profile.attention;
  latent.decode = latent.latent = true;
  profile.attention_kernels = {latent};
  const std::string text = write_profile(profile);
  const auto read = read_profile(text, "p.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(write_profile(*read), text);
  ASSERT_EQ(read->engine_exchanges.size(), 1u);
  EXPECT_EQ(read->engine_exchanges[0].most_ranks, 64);
  EXPECT_TRUE(read->engine_exchanges[0].once_per_rank);
  EXPECT_EQ(read->engine_all_reduces.size(), 1u);
  EXPECT_TRUE(read->attention_kernels.at(0).latent);
  EXPECT_EQ(
      error_of(with(text, "\"node_ranks\":8", "\"node_ranks\":16")).where, "p.json:/engine_exchanges/0/node_ranks");
  EXPECT_EQ(
      error_of(with(text, "\"most_ranks\":64", "\"most_ranks\":8")).where, "p.json:/engine_exchanges/0/most_ranks");
  EXPECT_EQ(error_of(with(text, "\"decode\":true,", "")).where, "p.json:/attention_kernels/0/latent");
}

TEST(Profile, wrong_files_say_where) {
  const std::string text = write_profile(round_profile());
  EXPECT_EQ(error_of(with(text, "\"softness\":2.0", "\"softnes\":2.0")).where.rfind("p.json:/gemm/0", 0), 0u);
  EXPECT_NE(
      error_of(with(text, "\"precision\":\"bf16\"", "\"precision\":\"bf61\"")).hint.find("bf16"), std::string::npos);
  EXPECT_EQ(error_of(with(text, "\"spread\":[0.8,1.2]", "\"spread\":[1.2,0.8]")).where, "p.json:/attention/spread");
  EXPECT_EQ(error_of(with(text, "\"ranks\":8", "\"ranks\":1")).where, "p.json:/collectives/0/ranks");
  EXPECT_EQ(error_of(with(text, "\"efficiency\":0.9", "\"efficiency\":1.9")).where, "p.json:/scale_out/0/efficiency");
  EXPECT_EQ(error_of(with(text, "\"sustained_slowdown\": 1.1", "\"sustained_slowdown\": 0.1")).where,
      "p.json:/sustained_slowdown");
  EXPECT_EQ(error_of(with(text, "\"regime\": \"burst\"", "\"regime\": \"bursty\"")).where, "p.json:/regime");
  EXPECT_EQ(error_of(with(text, "[1000.0,1e-05]", "[1e+10,1e-05]")).where, "p.json:/collectives/0/points");
}

TEST(Profile, two_laws_of_one_precision_are_refused) {
  Profile profile = round_profile();
  profile.gemm.push_back(profile.gemm[0]);
  EXPECT_EQ(error_of(write_profile(profile)).where, "p.json:/gemm/1/precision");
}

TEST(Profile, measured_roofs_and_host_costs_go_to_the_file_and_back) {
  const std::string text = write_profile(profile_with_roofs());
  EXPECT_NE(text.find(R"({"of":"hbm copy","rate_bytes_per_s":900000000000.0,"regime":"burst"})"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"of":"bf16","rate_flops_per_s":85000000000000.0,"regime":"sustained"})"), std::string::npos);
  EXPECT_NE(text.find(R"("host": {"stream_kernel_s":2e-06,"event_s":5e-07})"), std::string::npos);
  const auto back = read_profile(text, "p.json");
  ASSERT_TRUE(back.has_value()) << to_text(back.error());
  EXPECT_EQ(write_profile(*back), text);
  ASSERT_EQ(back->roofs.size(), 3u);
  EXPECT_EQ(back->roofs[1].of, "fp8 block-scaled");
  EXPECT_DOUBLE_EQ(back->roofs[1].rate, 150e12);
  EXPECT_EQ(back->roofs[2].regime, "sustained");
  EXPECT_DOUBLE_EQ(back->host.stream_kernel.value(), 2e-6);
  EXPECT_DOUBLE_EQ(back->host.graph.value(), 0);
}

TEST(Profile, nobody_measured_roofs_means_no_rows) {
  const std::string text = write_profile(round_profile());
  EXPECT_EQ(text.find("roofs"), std::string::npos);
  EXPECT_EQ(text.find("host"), std::string::npos);
}

TEST(Profile, wrong_roofs_say_where) {
  const std::string text = write_profile(profile_with_roofs());
  EXPECT_EQ(error_of(with(text, "hbm copy", "hbm kopy")).where, "p.json:/roofs/0/of");
  EXPECT_NE(error_of(with(text, "hbm copy", "hbm kopy")).hint.find("hbm copy"), std::string::npos);
  EXPECT_EQ(error_of(with(text, "rate_bytes_per_s", "rate_flops_per_s")).where, "p.json:/roofs/0/rate_flops_per_s");
  EXPECT_EQ(
      error_of(with(text, "s\":900000000000.0,\"regime", "s\":0,\"regime")).where, "p.json:/roofs/0/rate_bytes_per_s");
  EXPECT_EQ(error_of(with(text, "\"regime\":\"sustained\"", "\"regime\":\"steady\"")).where, "p.json:/roofs/2/regime");
  EXPECT_EQ(error_of(with(text, "\"event_s\":5e-07", "\"event_s\":-1")).where, "p.json:/host/event_s");
  EXPECT_EQ(error_of(with(text, "\"event_s\"", "\"events_s\"")).where, "p.json:/host/events_s");
  Profile twice = profile_with_roofs();
  twice.roofs.push_back(twice.roofs[0]);
  EXPECT_EQ(error_of(write_profile(twice)).where, "p.json:/roofs/3/of");
}

TEST(Profile, two_parts_make_the_whole) {
  const Profile profile = corrected_profile();
  const std::string whole = write_profile(profile), steps = write_step_part(profile),
                    kernels = write_kernel_part(profile);
  EXPECT_EQ(steps.find("value_e4"), std::string::npos);
  EXPECT_NE(steps.find(R"("correction_use":"kernels only")"), std::string::npos) << steps;
  EXPECT_NE(steps.find(R"("held_out_alone":{"samples":250,"mape":0.06,"training_size":true})"), std::string::npos)
      << steps;
  const auto read = read_profile(steps, "p.json");
  ASSERT_TRUE(read) << to_text(read.error());
  const auto both = with_kernel_part(*read, kernels, "k.json");
  ASSERT_TRUE(both) << to_text(both.error());
  EXPECT_EQ(write_profile(*both), whole);
  Profile in_steps = profile;
  in_steps.gemm[0].refinement.use = CorrectionUse::kernels_and_steps;
  EXPECT_EQ(write_step_part(in_steps), write_profile(in_steps)) << "steps read a correction that they use";
  EXPECT_EQ(write_kernel_part(in_steps).find("value_e4"), std::string::npos);
}

TEST(Profile, a_file_from_before_corrections_had_a_use_keeps_them_to_kernels) {
  const std::string old = with(write_profile(corrected_profile()), R"("correction_use":"kernels only",)", "");
  const auto read = read_profile(old, "p.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->gemm[0].refinement.use, CorrectionUse::kernels);
}

TEST(Profile, what_does_not_fit_its_other_part_is_named) {
  const Profile profile = corrected_profile();
  const auto problem = [](const Profile& first, const std::string& text) {
    const auto both = with_kernel_part(first, text, "k.json");
    EXPECT_FALSE(both.has_value());
    return both ? "" : to_text(both.error());
  };
  const Profile steps = *read_profile(write_step_part(profile), "p.json");
  const std::string kernels = write_kernel_part(profile);
  EXPECT_NE(problem(steps, with(kernels, R"("id": "round")", R"("id": "flat")")).find("k.json:/id"), std::string::npos);
  EXPECT_NE(
      problem(steps, with(kernels, R"("precision":"bf16")", R"("precision":"fp8")")).find("no law of this precision"),
      std::string::npos);
  EXPECT_NE(problem(profile, kernels).find("in the profile's own file"), std::string::npos) << "a correction twice";
  EXPECT_NE(problem(steps, with(kernels, R"("software")", R"("sofware")")).find("sofware"), std::string::npos);
  Profile attention = profile;
  attention.attention.refinement.use = CorrectionUse::kernels_and_steps;
  EXPECT_EQ(error_of(write_profile(attention)).where, "p.json:/attention/correction_use");
}

}  // namespace
}  // namespace stepcast
