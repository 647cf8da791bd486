// A plan holds what matters most within its budget, whatever the GPU.
#include "tests/calibrate/measure/plan/plan_requests.h"
#include "tests/trials.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

double sum_of_estimates(const MeasurePlan& plan) {
  return std::accumulate(plan.works.begin(), plan.works.end(), 0.0,
      [](double sum, const PlannedWork& work) { return sum + work.estimate.value(); });
}

bool whole_from_one(double number) { return number >= 1 && std::floor(number) == number; }

struct Legal {
  const Gpu& gpu;
  bool has(Precision precision) const { return gpu.peak[static_cast<int>(precision)].value() > 0; }
  bool operator()(const GemmQuery& g) const {
    return whole_from_one(g.m) && whole_from_one(g.n) && whole_from_one(g.k) && whole_from_one(g.batch) &&
           has(g.precision) &&
           (operand_bytes(g.precision) > 1 ||
               (std::fmod(g.n, 16) == 0 && std::fmod(g.k, 16) == 0 && g.layout == GemmLayout::tn));
  }
  bool operator()(const AttentionQuery& a) const {
    return whole_from_one(a.batch) && whole_from_one(a.queries) && a.queries == a.keys && whole_from_one(a.heads) &&
           whole_from_one(a.heads / a.kv_heads) && (a.head_dim == 64 || a.head_dim == 128) && has(a.precision);
  }
  bool operator()(const MemoryQuery& m) const {
    return m.op != nullptr && whole_from_one(m.rows) && whole_from_one(m.columns) &&
           (m.element_bytes == 2 || m.element_bytes == 4);
  }
  bool operator()(const TransferQuery& t) const { return whole_from_one(t.bytes.value()); }
  bool operator()(const LaunchQuery&) const { return true; }
  bool operator()(const MoeQuery&) const { return false; }
  bool operator()(const CollectiveQuery&) const { return false; }
};

TEST(Plan, never_exceeds_the_budget_on_any_gpu) {
  std::size_t number = 0;
  for (const Gpu& gpu : built_in().gpus)
    for (const double seconds : {20.0, 47.0, 180.0, 3600.0})
      for (const bool own : {false, true}) {
        if (sanitized && number++ % 8 != 0) continue;
        PlanRequest request = plan_request(gpu.id, seconds);
        request.cudnn = own;
        if (own) request.own = own_queries(request.capability_major >= 8 ? Precision::bf16 : Precision::fp16);
        const MeasurePlan plan = made(request);
        EXPECT_LE(plan.estimate, plan.budget) << gpu.id << " " << seconds;
        EXPECT_NEAR(plan.estimate.value(), sum_of_estimates(plan), 1e-9) << gpu.id << " " << seconds;
        EXPECT_EQ(plan.budget.value(), seconds);
      }
}

TEST(Plan, every_work_is_legal_and_fits_on_any_gpu) {
  for (const Gpu& gpu : built_in().gpus)
    for (const PlannedWork& work : made(plan_request(gpu.id, 3600)).works) {
      Bytes taken;
      for (const Work& one : work.works) {
        EXPECT_TRUE(std::visit(Legal{gpu}, one.what)) << gpu.id << " " << to_text(one);
        taken += bytes_taken(one.what) + (one.beside ? bytes_taken(*one.beside) : Bytes());
      }
      EXPECT_LT(taken, gpu.memory * 0.8) << gpu.id << " " << to_text(work.works.front());
      EXPECT_GT(work.estimate.value(), 0.02);
    }
}

TEST(Plan, three_minutes_of_an_h100) {
  const MeasurePlan plan = made(plan_request());
  EXPECT_GT(plan.estimate.value(), 179);
  const std::map<std::string, int> counts = counts_of(plan);
  const std::map<std::string, int> least{{"launch", 4}, {"bandwidth", 25}, {"gemm", 64}, {"gemm-backward", 32},
      {"precisions", 72}, {"skinny", 24}, {"edges", 12}, {"batched", 16}, {"warm", 4}, {"attention", 48},
      {"membound", 128}, {"sustained", 4}, {"beside", 6}, {"repeat", 8}};
  for (const auto& [phase, count] : least) EXPECT_GE(counts.at(phase), count) << phase;
  EXPECT_EQ(counts.count("collectives"), 0u);
  EXPECT_TRUE(plan.notes.empty()) << plan.notes.front();
}

TEST(Plan, every_memory_op_has_eight_samples) {
  std::map<std::string_view, int> samples;
  for (const PlannedWork& work : made(plan_request()).works)
    if (const auto* query = std::get_if<MemoryQuery>(&work.works.front().what);
        query != nullptr && work.mode == WorkMode::sampled && !work.works.front().warm && !work.works.front().beside)
      ++samples[query->op->id];
  for (const MemoryOp& op : memory_ops()) EXPECT_GE(samples[op.id], op.group == "copy" ? 6 : 8) << op.id;
}

TEST(Plan, a_small_budget_has_the_most_telling_of_every_phase) {
  const MeasurePlan plan = made(plan_request("h100-sxm", 20));
  const std::map<std::string, int> counts = counts_of(plan);
  // Collectives are planned elsewhere, and attention of one query needs cuDNN.
  for (const MeasurePhase& phase : measure_phases())
    EXPECT_EQ(counts.count(std::string(phase.id)), phase.id == "collectives" || phase.id == "decode" ? 0u : 1u)
        << phase.id;
  EXPECT_THAT(names_of(plan),
      testing::IsSupersetOf({std::string("sustained: gemm bf16 tn 8192x8192x8192"),
          std::string("launch: launch stream_kernel"), std::string("bandwidth: copy 65536x4096 of 4 B")}));
  EXPECT_GT(plan.left_out.size(), 100u);
}

/// Slow-downs are told from pairs: a product that runs for seconds or beside a copy is timed for a moment and alone,
/// too.
TEST(Plan, what_runs_long_or_beside_is_timed_alone_as_well) {
  for (const double seconds : {30.0, 180.0}) {
    std::set<std::string> alone, compared;
    for (const PlannedWork& work : made(plan_request("h100-sxm", seconds)).works) {
      const Work& first = work.works.front();
      if (!std::holds_alternative<GemmQuery>(first.what) || first.warm) continue;
      const bool plain = work.mode == WorkMode::sampled && !first.beside;
      (plain ? alone : compared).insert(work_name(first.what));
    }
    EXPECT_FALSE(compared.empty());
    for (const std::string& name : compared) EXPECT_EQ(alone.count(name), 1u) << name << " within " << seconds << " s";
  }
}

TEST(Plan, a_budget_too_small_says_how_long_it_takes) {
  const auto plan = make_plan(plan_request("h100-sxm", 5));
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().where, "--budget");
  EXPECT_EQ(plan.error().what, "5 s do not hold one thing of each phase");
  EXPECT_THAT(plan.error().hint, testing::MatchesRegex("at least [0-9]+ s, or fewer phases: --only gemm"));
  const double least = std::stod(plan.error().hint.substr(9));
  EXPECT_TRUE(make_plan(plan_request("h100-sxm", least)).has_value());
  EXPECT_FALSE(make_plan(plan_request("h100-sxm", least - 1)).has_value());
  for (const double nothing : {0.0, -1.0, std::nan("")})
    EXPECT_FALSE(make_plan(plan_request("h100-sxm", nothing)).has_value());
}

TEST(Plan, only_the_phases_that_were_asked_for) {
  PlanRequest request = plan_request("h100-sxm", 10);
  request.only = {"launch", "gemm"};
  const MeasurePlan plan = made(request);
  std::set<std::string> ids;
  for (const PlannedWork& work : plan.works) ids.insert(id_of(work));
  EXPECT_EQ(ids, (std::set<std::string>{"launch", "gemm"}));
  EXPECT_GT(counts_of(plan).at("gemm"), 40);

  request.only = {"gem"};
  const auto wrong = make_plan(request);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(to_text(wrong.error()), "--only: unknown phase 'gem' (did you mean 'gemm'?)");
}

TEST(Plan, collectives_are_planned_elsewhere) {
  PlanRequest request = plan_request();
  request.only = {"collectives"};
  const MeasurePlan plan = made(request);
  EXPECT_TRUE(plan.works.empty());
  EXPECT_EQ(plan.estimate.value(), 0);
}

TEST(Plan, a_repeat_needs_something_to_repeat) {
  PlanRequest request = plan_request();
  for (const std::vector<std::string>& only : {std::vector<std::string>{"repeat"}, {"repeat", "sustained"}}) {
    request.only = only;
    const auto plan = make_plan(request);
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().where, "--only");
    EXPECT_THAT(plan.error().hint, testing::HasSubstr("gemm,repeat"));
  }
}

TEST(Plan, repeats_are_of_what_was_sampled_before) {
  const MeasurePlan plan = made(plan_request());
  std::set<std::string> sampled;
  int repeats = 0;
  for (const PlannedWork& work : plan.works) {
    const std::string name = to_text(work.works.front());
    const bool twice = work.mode == WorkMode::sampled && !sampled.insert(name).second;
    EXPECT_FALSE(twice) << name;
    if (work.mode != WorkMode::repeat) continue;
    ++repeats;
    EXPECT_EQ(id_of(work), "repeat");
    EXPECT_EQ(sampled.count(name), 1u) << name;
  }
  EXPECT_EQ(repeats, 8);
}

/// 0 launch and bandwidth, 1 own, 2 the rest, 3 long runs, 4 repeats.
int stage_of(const PlannedWork& work) {
  if (work.mode == WorkMode::repeat) return 4;
  if (work.mode != WorkMode::sampled) return 3;
  if (work.own) return 1;
  return id_of(work) == "launch" || id_of(work) == "bandwidth" ? 0 : 2;
}

TEST(Plan, order_of_the_stages) {
  PlanRequest request = plan_request();
  request.own = own_queries();
  const MeasurePlan plan = made(request);
  std::vector<PlannedWork> short_ones;
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < plan.works.size(); ++i) {
    if (stage_of(plan.works[i]) == 3) runs.push_back(i);
    else short_ones.push_back(plan.works[i]);
  }
  for (std::size_t i = 1; i < short_ones.size(); ++i)
    EXPECT_LE(stage_of(short_ones[i - 1]), stage_of(short_ones[i])) << to_text(short_ones[i].works.front());
  // What runs for seconds comes in one piece behind the first round, early enough to be reached by a slow card.
  ASSERT_FALSE(runs.empty());
  EXPECT_EQ(runs.back() - runs.front() + 1, runs.size());
  EXPECT_EQ(stage_of(plan.works.at(runs.front() - 1)), 2);
  EXPECT_LT(runs.back(), plan.works.size() / 2);
}

TEST(Plan, half_a_campaign_has_half_of_every_phase) {
  const MeasurePlan plan = made(plan_request());
  std::vector<PlannedWork> rest;
  std::copy_if(plan.works.begin(), plan.works.end(), std::back_inserter(rest),
      [](const PlannedWork& w) { return stage_of(w) == 2; });
  std::map<std::string, double> all, early;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    all[id_of(rest[i])] += 1;
    if (i < rest.size() / 2) early[id_of(rest[i])] += 1;
  }
  for (const auto& [phase, count] : all) EXPECT_NEAR(early[phase] / count, 0.5, 0.15) << phase;
}

TEST(Plan, left_out_starts_with_the_least_telling) {
  const MeasurePlan plan = made(plan_request("h100-sxm", 60));
  // The design's shapes stand in the list of gemm in their order: what is left out ends where the plan began.
  std::vector<std::string> left;
  for (const PlannedWork& work : plan.left_out)
    if (id_of(work) == "gemm") left.push_back(to_text(work.works.front()));
  const MeasurePlan more = made(plan_request("h100-sxm", 70));
  std::set<std::string> in_more;
  for (const PlannedWork& work : more.works) in_more.insert(to_text(work.works.front()));
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(in_more.count(left.back()), 1u);
  EXPECT_EQ(in_more.count(left.front()), 0u);
}

TEST(Plan, same_request_same_plan_and_the_seed_only_orders) {
  PlanRequest request = plan_request();
  request.own = own_queries();
  const MeasurePlan one = made(request), again = made(request);
  EXPECT_EQ(names_of(one), names_of(again));
  request.seed = 2;
  const MeasurePlan other = made(request);
  EXPECT_NE(names_of(one), names_of(other));
  const auto sampled = [](const MeasurePlan& plan) {
    std::set<std::string> out;
    for (const PlannedWork& work : plan.works)
      if (work.mode == WorkMode::sampled) out.insert(to_text(work.works.front()));
    return out;
  };
  // Other things are repeated, which leaves a little more or less time.
  EXPECT_NEAR(static_cast<double>(sampled(one).size()), static_cast<double>(sampled(other).size()), 3);
}

TEST(Plan, decoding_is_timed_where_cudnn_is) {
  PlanRequest request = plan_request();
  request.cudnn = true;
  request.only = {"decode"};
  const MeasurePlan plan = made(request);
  EXPECT_GT(plan.works.size(), 40u);
  for (const PlannedWork& work : plan.works) {
    const auto* query = std::get_if<AttentionQuery>(&work.works.front().what);
    ASSERT_NE(query, nullptr);
    EXPECT_EQ(query->pass, AttentionPass::decode);
    EXPECT_EQ(query->queries, 1);
    EXPECT_EQ(work.works.front().source, KernelSource::cudnn);
  }
}

TEST(Plan, cudnn_stands_beside_ours) {
  PlanRequest request = plan_request();
  request.cudnn = true;
  request.own = {own_queries()[3]};
  const std::vector<std::string> names = names_of(made(request));
  for (const char* name : {"attention: attention backward bf16 4x4096x8x128 causal",
           "attention: attention forward bf16 1x2048x12x128 causal"}) {
    EXPECT_THAT(names, testing::Contains(std::string(name)));
    EXPECT_THAT(names, testing::Contains(std::string(name) + " by cudnn"));
  }
}

TEST(Plan, precisions_are_the_chips_own) {
  const auto precisions_on = [](const char* gpu, int capability) {
    PlanRequest request = plan_request(gpu, 300);
    request.capability_major = capability;
    std::map<std::string, int> out;
    for (const PlannedWork& work : made(request).works)
      if (const auto* g = std::get_if<GemmQuery>(&work.works.front().what); g != nullptr && id_of(work) == "precisions")
        ++out[std::string(to_text(g->precision)) + (g->block_scaled ? " block" : "")];
    return out;
  };
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(
      precisions_on("h100-sxm", 9), (Counts{{"fp8", 24}, {"fp8 block", 12}, {"tf32", 24}, {"fp16", 24}, {"fp32", 6}}));
  EXPECT_EQ(precisions_on("a100-80gb", 8), (Counts{{"tf32", 24}, {"fp16", 24}, {"fp32", 6}}));
  EXPECT_EQ(precisions_on("b200-sxm", 10),
      (Counts{{"fp8", 24}, {"mxfp8", 24}, {"nvfp4", 24}, {"tf32", 24}, {"fp16", 24}, {"fp32", 6}}));
  EXPECT_EQ(precisions_on("t4", 7), (Counts{{"fp32", 6}}));
}

TEST(Plan, shares_make_a_whole_and_phases_have_a_line) {
  double sum = 0;
  std::set<std::string_view> ids;
  for (const MeasurePhase& phase : measure_phases()) {
    sum += phase.share;
    EXPECT_TRUE(ids.insert(phase.id).second);
    EXPECT_FALSE(phase.about.empty());
    EXPECT_LE(phase.about.size(), 90u) << phase.id;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

}  // namespace
}  // namespace stepcast::calibrate
