// predict --schedule with every kind: two copies, slices and caps, against the schedule command on the same times.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/schedule/schedule_table.h"
#include "studies/run/scenario.h"
#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using testing::HasSubstr;
using testing::Not;
using KindJson = nlohmann::json;

/// One node, so that all hops are alike; NeMo overlaps its sends, as the schedule command does.
const std::string four_stages = "predict llama3-8b --gpus 8 --tp 2 --pp 4 --stack nemo";

std::string kind_flags(const ScheduleKind& kind) {
  return " --schedule " + kind.id + (kind.takes_chunks ? " --chunks 2" : "");
}

KindJson predicted_json(const std::string& words) {
  const auto ran = testing_program::run_line(words + " --json");
  EXPECT_EQ(ran.code, 0) << words << ": " << ran.err;
  return ran.code == 0 ? KindJson::parse(ran.out) : KindJson();
}

double phase_sum(const KindJson& report, const std::vector<const char*>& keys) {
  double sum = 0;
  for (const char* key : keys) sum += report.at("phases_s").at(key).get<double>();
  return sum;
}

void expect_whole_step(const std::string& id, const KindJson& report) {
  double all = 0;
  for (const auto& [name, seconds] : report.at("phases_s").items()) {
    EXPECT_GE(seconds.get<double>(), 0) << id << " " << name;
    all += seconds.get<double>();
  }
  const double step = report.at("step_time_s"), makespan = report.at("pipeline").at("makespan_s");
  EXPECT_NEAR(all, step, 1e-9) << id;
  EXPECT_NEAR(phase_sum(report, {"forward", "backward", "bubble", "exposed_communication"}), makespan, 1e-9) << id;
  EXPECT_LE(report.at("pipeline").at("lower_bound_s").get<double>(), makespan * (1 + 1e-9)) << id;
  const double memory = report.at("memory").at("peak_bytes");
  EXPECT_TRUE(std::isfinite(memory) && memory > 1e9) << id;
  EXPECT_LT(report.at("mfu").get<double>(), 0.7) << id;
}

/// The makespan of the schedule command for the times that predict has run.
double scheduled_makespan(const ScheduleKind& kind, const KindJson& pipeline) {
  const std::string name = testing_program::own_path("predicted_times.json");
  std::ofstream(name) << KindJson{{"forward", pipeline.at("forward_s")}, {"input_grad", pipeline.at("input_grad_s")},
      {"weight_grad", pipeline.at("weight_grad_s")}};
  double hop = 0;
  for (const double one : pipeline.at("hop_s")) hop = std::max(hop, one);
  const std::string chunks = kind.takes_chunks ? " --chunks 2" : "";
  const auto ran = testing_program::run_line("schedule " + kind.id + " --stages 4 --micro-batches 16 --times " + name +
                                             chunks + " --p2p " + KindJson(hop).dump() + " --json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran.code == 0 ? KindJson::parse(ran.out).at("makespan").get<double>() : 0;
}

TEST(PredictKinds, EveryKindTakesWhatTheScheduleCommandSays) {
  int seen = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    const KindJson report = predicted_json(four_stages + kind_flags(kind));
    ASSERT_TRUE(report.is_object()) << kind.id;
    expect_whole_step(kind.id, report);
    const KindJson& pipeline = report.at("pipeline");
    EXPECT_EQ(pipeline.at("weight_copies"), kind.directions) << kind.id;
    EXPECT_FALSE(pipeline.at("blocking_hops").get<bool>());
    const double makespan = pipeline.at("makespan_s");
    EXPECT_NEAR(scheduled_makespan(kind, pipeline), makespan, 1e-9 * makespan) << kind.id;
    ++seen;
  }
  EXPECT_GE(seen, 23);
}

TEST(PredictKinds, EveryKindRunsWhereHopsHoldTheirRank) {
  for (const ScheduleKind& kind : schedule_kinds()) {
    const KindJson report = predicted_json("predict llama3-8b --gpus 8 --tp 2 --pp 4" + kind_flags(kind));
    ASSERT_TRUE(report.is_object()) << kind.id;
    expect_whole_step(kind.id, report);
    EXPECT_TRUE(report.at("pipeline").at("blocking_hops").get<bool>());
  }
}

TEST(PredictKinds, TwoCopiesDoubleWhatLastsAndSumGradients) {
  const KindJson one = predicted_json(four_stages + " --zero 0");
  const KindJson two = predicted_json(four_stages + " --zero 0 --schedule dualpipe");
  const auto lasting = [](const KindJson& report, const char* what) {
    return report.at("memory").at("by_lifetime_bytes").at(what).get<double>();
  };
  // Rank 0 holds 8 layers with the embedding, in two copies 8 more with the LM head, which is as large.
  for (const char* what : {"weights", "gradients", "optimizer"})
    EXPECT_NEAR(lasting(two, what) / lasting(one, what), 2, 1e-4) << what;
  const double elements = lasting(two, "gradients") / 4;  // fp32
  bool found = false;
  for (const auto& row : two.at("collectives")) {
    if (row.at("axis") != "copies") continue;
    found = true;
    EXPECT_NEAR(row.at("bytes").get<double>(), 4 * elements, 1);
    EXPECT_EQ(row.at("count"), 1);
  }
  EXPECT_TRUE(found);
  EXPECT_GT(phase_sum(two, {"gradient_sync"}), phase_sum(one, {"gradient_sync"}));
  EXPECT_NEAR(phase_sum(two, {"forward"}), phase_sum(one, {"forward"}), 0.2 * phase_sum(one, {"forward"}));
  EXPECT_THAT(two.at("assumptions").dump(), HasSubstr("two copies of the model"));
  EXPECT_THAT(one.at("assumptions").dump(), Not(HasSubstr("two copies")));
}

TEST(PredictKinds, SlicesShortenThePipelineAndHoldLess) {
  const KindJson whole = predicted_json(four_stages);
  const KindJson cut = predicted_json(four_stages + " --schedule seq-1f1b --seq-splits 4");
  expect_whole_step("seq-1f1b", cut);
  EXPECT_EQ(cut.at("pipeline").at("slices"), 4);
  EXPECT_EQ(cut.at("pipeline").at("peak_activations"), KindJson({7, 6, 5, 4}));  // p-1-r+n slices
  EXPECT_LT(cut.at("bubble_fraction").get<double>(), whole.at("bubble_fraction").get<double>());
  EXPECT_LT(cut.at("memory").at("peak_bytes").get<double>(), whole.at("memory").at("peak_bytes").get<double>());
  // Smaller kernels: the same work in more pieces takes longer. The model's FLOPs are those of whole sequences.
  const double busy = phase_sum(cut, {"forward", "backward"}), whole_busy = phase_sum(whole, {"forward", "backward"});
  EXPECT_GT(busy, whole_busy);
  EXPECT_LT(busy, 1.3 * whole_busy);  // each of four times as many kernels has its gap too
  EXPECT_NEAR(cut.at("hfu").get<double>() * cut.at("step_time_s").get<double>(),
      whole.at("hfu").get<double>() * whole.at("step_time_s").get<double>(), 1e-6);
  EXPECT_THAT(cut.at("assumptions").dump(), HasSubstr("slices of a sequence"));
}

TEST(PredictKinds, OneSliceIsTheSameAs1F1B) {
  const KindJson plain = predicted_json(four_stages), one = predicted_json(four_stages + " --schedule seq-1f1b");
  EXPECT_EQ(one.at("step_time_s"), plain.at("step_time_s"));
  bool said = false;
  for (const auto& row : one.at("defaults")) said = said || row.at("flag") == "--seq-splits";
  EXPECT_TRUE(said);
}

TEST(PredictKinds, CapsHold) {
  const KindJson roomy = predicted_json(four_stages + " --schedule zb-auto --memory-cap 8");
  const KindJson tight = predicted_json(four_stages + " --schedule zb-auto --memory-cap 3");
  for (const int held : tight.at("pipeline").at("peak_activations")) EXPECT_LE(held, 3);
  EXPECT_LT(tight.at("memory").at("peak_bytes").get<double>(), roomy.at("memory").at("peak_bytes").get<double>());
  EXPECT_GE(tight.at("step_time_s").get<double>(), roomy.at("step_time_s").get<double>());
}

struct KindRefusal {
  const char *words, *flag, *what, *hint;
};
constexpr KindRefusal kind_refusals[] = {
    {"--schedule 1f1b --memory-cap 3", "--memory-cap: ", "4 micro-batches on rank 0, above 3",
        "--memory-cap 4 or more"},
    {"--schedule zb-v-auto --memory-cap 1", "--memory-cap: ", "cannot pass", "2 or more"},
    {"--schedule 1f1b --seq-splits 4", "--seq-splits: ", "1f1b does not cut the sequence", "seq-1f1b or terapipe"},
    {"--schedule seq-1f1b --seq-splits 3", "--seq-splits: ", "8192 positions do not divide into 3", "nearest: 1, 2, 4"},
    {"--schedule seq-1f1b --seq-splits 4 --cp 2 --tp 1", "--seq-splits: ", "axis cp splits the positions", "not both"},
    {"--schedule seq-1f1b --seq-splits 4 --stack megatron-2020", "--seq-splits: ", "writes attention scores out",
        "megatron-core"},
    {"--schedule seq-1f1b --seq-splits 4 --explain", "--explain: ", "cut into slices", "--seq-splits"},
    {"--schedule dualpipe --global-batch 9", "--schedule: ", "half of the micro-batches each way, not 9",
        "--global-batch 8 or 10, which are 8 or 10 micro-batches"},
    {"--schedule chimera --pp 2 --chunks 2", "--schedule: ", "one chunk per rank, not 2", "chunks 1"},
    {"--schedule dualpipe --seq-splits 2", "--seq-splits: ", "dualpipe does not cut the sequence",
        "seq-1f1b or terapipe"},
    {"--timeline --json", "--timeline: ", "does not go with --json", "--trace FILE"},
    {"--timeline --print-scenario", "--timeline: ", "does not go with --print-scenario", "leave one of them out"},
    {"--memory-cap 0", "--memory-cap: ", "0 is out of range", "from 1"},
};

TEST(PredictKinds, RefusalsNameTheFlagAndWhatWorks) {
  for (const KindRefusal& row : kind_refusals) {
    const std::string words = row.words;
    const std::string tp = words.find("--tp") == std::string::npos ? " --tp 2" : "";
    const std::string pp = words.find("--pp") == std::string::npos ? " --pp 4" : "";
    const auto ran = testing_program::run_line("predict llama3-8b --gpus 8" + tp + pp + " " + words);
    EXPECT_EQ(ran.code, 2) << words;
    EXPECT_THAT(ran.err, HasSubstr(row.flag)) << words;
    EXPECT_THAT(ran.err, HasSubstr(row.what)) << words;
    EXPECT_THAT(ran.err, HasSubstr(row.hint)) << words;
    EXPECT_EQ(ran.out, "") << words;
  }
}

TEST(PredictKinds, ScenarioFilesKeepSlicesAndCap) {
  const std::string words = four_stages + " --schedule seq-1f1b --seq-splits 4 --memory-cap 9";
  const auto scenario = testing_program::run_line(words + " --print-scenario");
  ASSERT_EQ(scenario.code, 0) << scenario.err;
  const std::string name = testing_program::own_path("sliced_scenario.json");
  std::ofstream(name) << scenario.out;
  EXPECT_EQ(predicted_json("predict " + name).at("step_time_s"), predicted_json(words).at("step_time_s"));
  const auto tighter = testing_program::run_line("predict " + name + " --memory-cap 5");
  EXPECT_THAT(tighter.err, HasSubstr("7 slices on rank 0, above 5"));
}

}  // namespace
}  // namespace stepcast::predict
