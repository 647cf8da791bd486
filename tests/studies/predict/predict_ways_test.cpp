// Ways to run one split, by what they change in the report.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::run_line;

/// tp 4, pp 4, dp 4 on 8 nodes of 8; 16 micro-batches.
const std::string base = "predict llama3-70b --gpus 64 --tp 4 --pp 4";

json ways_report_of(const std::string& line) {
  const auto ran = run_line(line + " --json");
  EXPECT_EQ(ran.code, 0) << line << ": " << ran.err;
  return ran.code == 0 ? json::parse(ran.out) : json();
}

/// Sum of one column over the collectives of a kind and an axis; "" = any axis.
double sum_of(const json& report, const std::string& kind, const std::string& axis, const char* column) {
  double sum = 0;
  for (const json& one : report.at("collectives"))
    if (one.at("kind") == kind && (axis.empty() || one.at("axis") == axis)) sum += one.at(column).get<double>();
  return sum;
}

std::string span_of_sends(const json& report) {
  for (const json& one : report.at("collectives"))
    if (one.at("kind") == "send_recv") return one.at("span");
  return "none";
}

double peak(const json& report) { return report.at("memory").at("peak_bytes"); }
double step(const json& report) { return report.at("step_time_s"); }
double phase(const json& report, const char* name) { return report.at("phases_s").at(name); }

// 32 layers x 4 micro-batches = 128 attention cores, forward and backward.
TEST(PredictWays, AdaptersAreNamedWhereTheSplitIs) {
  EXPECT_THAT(run_line(base + " --lora 16").out, HasSubstr("zero 1, 1f1b, LoRA rank 16;"));
  EXPECT_THAT(run_line(base).out, Not(HasSubstr("LoRA")));
  EXPECT_THAT(run_line("roofline llama3-8b --gpus 8 --lora 8").out, HasSubstr("LoRA rank 8"));
}

TEST(PredictWays, KindsOfContextParallelismMoveWhatTheirNamesSay) {
  const std::string line = "predict llama3-8b --gpus 16 --tp 2 --cp 4 --seq 32768 --global-batch 8";
  const json ring = ways_report_of(line), gather = ways_report_of(line + " --cp-kind gather"),
             ulysses = ways_report_of(line + " --cp-kind ulysses");
  EXPECT_EQ(ways_report_of(line + " --cp-kind ring").at("step_time_s"), ring.at("step_time_s"));
  EXPECT_GT(sum_of(ring, "ring", "cp", "count"), 0);
  EXPECT_EQ(sum_of(ring, "all_to_all", "cp", "count"), 0);
  // K and V gathered forward and again backward, their gradients scattered: two of each per core.
  EXPECT_EQ(sum_of(gather, "all_gather", "cp", "count"), 4 * 128);
  EXPECT_EQ(sum_of(gather, "reduce_scatter", "cp", "count"), 2 * 128);
  EXPECT_EQ(sum_of(gather, "ring", "cp", "count"), 0);
  // Q, K, V and O, there and back.
  EXPECT_EQ(sum_of(ulysses, "all_to_all", "cp", "count"), 8 * 128);
  EXPECT_EQ(sum_of(ulysses, "ring", "cp", "count"), 0);
  // Rings run beside the core, the others stand before it.
  EXPECT_LT(phase(ring, "exposed_communication"), phase(gather, "exposed_communication"));
  EXPECT_LT(phase(ring, "exposed_communication"), phase(ulysses, "exposed_communication"));
  EXPECT_THAT(ulysses.at("run").at("split"), HasSubstr("cp by ulysses"));
}

TEST(PredictWays, UlyssesNeedsHeadsAndNoSecondPiece) {
  const std::string line = "predict llama3-8b --gpus 64 --cp 64 --seq 32768";  // 32 heads
  EXPECT_EQ(run_line(line).code, 0);
  const auto refused = run_line(line + " --cp-kind ulysses");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
      AllOf(HasSubstr("--cp: 32 heads (8 kv groups x 4) do not divide by tp 1 x cp 64"), HasSubstr("--cp-kind ring")));
  const std::string odd = "predict llama3-8b --gpus 8 --cp 2 --seq 8190";  // 2 x 4095
  EXPECT_EQ(run_line(odd).code, 2);
  EXPECT_EQ(run_line(odd + " --cp-kind ulysses").code, 0);
}

TEST(PredictWays, OrderSaysWhoSharesANode) {
  const json usual = ways_report_of(base), near = ways_report_of(base + " --order tp-cp-pp-dp"),
             first = ways_report_of(base + " --order pp-tp-cp-dp");
  EXPECT_EQ(span_of_sends(usual), "cluster");
  EXPECT_EQ(span_of_sends(near), "node");  // stage 0 and 1 of 4 ranks each
  EXPECT_EQ(span_of_sends(first), "node");
  EXPECT_LT(sum_of(near, "send_recv", "", "time_s"), sum_of(usual, "send_recv", "", "time_s"));
  // What stages gain data ranks lose: two of them shared a node.
  EXPECT_GT(sum_of(near, "reduce_scatter", "dp", "time_s"), 1.5 * sum_of(usual, "reduce_scatter", "dp", "time_s"));
  EXPECT_EQ(sum_of(near, "all_gather", "tp", "time_s"), sum_of(usual, "all_gather", "tp", "time_s"));
  // With stages fastest, tensor ranks are on four nodes.
  EXPECT_GT(sum_of(first, "all_gather", "tp", "time_s"), 2 * sum_of(usual, "all_gather", "tp", "time_s"));
  EXPECT_EQ(peak(near), peak(usual));
  EXPECT_THAT(near.at("run").at("split"), HasSubstr("order tp-cp-pp-dp"));
  EXPECT_EQ(ways_report_of("predict llama3-8b --gpus 8 --tp 2 --order tp-cp-pp-dp").at("step_time_s"),
      ways_report_of("predict llama3-8b --gpus 8 --tp 2").at("step_time_s"));  // one stage stands nowhere between
}

TEST(PredictWays, OrdersOfExpertsThatLineUpRunAndOthersSayWhy) {
  const std::string line = "predict mixtral-8x7b --gpus 64 --tp 4 --pp 4 --order ";
  EXPECT_EQ(span_of_sends(ways_report_of(line + "pp-tp-cp-dp --ep 8")), "node");
  EXPECT_EQ(span_of_sends(ways_report_of(line + "tp-cp-pp-dp --ep 4")), "node");
  EXPECT_EQ(span_of_sends(ways_report_of(line + "tp-cp-dp-pp --ep 8")), "cluster");
  const auto refused = run_line(line + "tp-cp-pp-dp --ep 8");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
      AllOf(HasSubstr("--order: order tp-cp-pp-dp puts stages 4 ranks apart"), HasSubstr("pp first or last")));
}

TEST(PredictWays, AScatteredBoundarySendsOncePerTensorGroup) {
  const std::string line = base + " --sp off";
  const json whole = ways_report_of(line), pieces = ways_report_of(line + " --scatter-boundary on");
  EXPECT_DOUBLE_EQ(sum_of(whole, "send_recv", "", "bytes"), 4 * sum_of(pieces, "send_recv", "", "bytes"));
  EXPECT_EQ(sum_of(whole, "all_gather", "tp", "count"), 0);
  EXPECT_EQ(sum_of(pieces, "all_gather", "tp", "count"), 16);  // stage 0 gets a gradient per micro-batch
  EXPECT_LT(step(pieces), step(whole));
  EXPECT_EQ(ways_report_of(line + " --scatter-boundary off").at("step_time_s"), whole.at("step_time_s"));
}

TEST(PredictWays, AStackThatScattersDoesSoOnceAndCanBeTold) {
  const std::string line = base + " --sp off --stack megatron-2022";
  const json implied = ways_report_of(line), off = ways_report_of(line + " --scatter-boundary off");
  EXPECT_EQ(ways_report_of(line + " --scatter-boundary on").at("collectives"), implied.at("collectives"));
  EXPECT_DOUBLE_EQ(sum_of(off, "send_recv", "", "bytes"), 4 * sum_of(implied, "send_recv", "", "bytes"));
  EXPECT_EQ(sum_of(off, "all_gather", "tp", "count"), 0);
  EXPECT_EQ(off.at("run").at("stack"), "megatron-2022");
}

// 20 layers of two gathers and the embedding's or head's one, 16 micro-batches.
TEST(PredictWays, KeptGathersTakeMemoryForTime) {
  const json again = ways_report_of(base), kept = ways_report_of(base + " --save-gathered on");
  const double fewer = sum_of(again, "all_gather", "tp", "count") - sum_of(kept, "all_gather", "tp", "count");
  EXPECT_GE(fewer, 2 * 20 * 16);
  EXPECT_LE(fewer, (2 * 20 + 1) * 16);
  EXPECT_LT(step(kept), step(again));
  // Rank 0 holds 4 micro-batches of 20 layers: of two tensors of 8192 x 8192 bf16 each it had a quarter. The allocator
  // adds 4 %.
  const double more = 4.0 * 20 * 2 * 0.75 * 8192 * 8192 * 2;
  EXPECT_NEAR((peak(kept) - peak(again)) / more, 1.04, 0.02);
}

TEST(PredictWays, OverlapOfDataRanksHidesGradientsAndWeights) {
  const json beside = ways_report_of(base), stands = ways_report_of(base + " --dp-overlap off");
  // as the stack has it
  EXPECT_EQ(ways_report_of(base + " --dp-overlap on").at("step_time_s"), beside.at("step_time_s"));
  EXPECT_GT(phase(stands, "gradient_sync"), 2 * phase(beside, "gradient_sync"));
  EXPECT_GT(phase(stands, "parameter_gather"), 2 * phase(beside, "parameter_gather"));
  EXPECT_DOUBLE_EQ(
      sum_of(stands, "reduce_scatter", "dp", "exposed_s"), sum_of(stands, "reduce_scatter", "dp", "time_s"));
  EXPECT_GT(step(stands), step(beside));
  EXPECT_THAT(stands.at("run").at("split"), HasSubstr("dp overlap off"));
}

TEST(PredictWays, OverlapOfTensorRanksHidesActivations) {
  const json stands = ways_report_of(base), beside = ways_report_of(base + " --tp-overlap on");
  EXPECT_LT(phase(beside, "exposed_communication"), 0.5 * phase(stands, "exposed_communication"));
  EXPECT_LT(step(beside), step(stands));
  EXPECT_EQ(ways_report_of(base + " --tp-overlap off").at("step_time_s"), stands.at("step_time_s"));
}

TEST(PredictWays, CopiesOfShardsAreTheMappingThatSaysThem) {
  const std::string path = own_path("hsdp.flow"), fully = "predict llama3-8b --gpus 16 --zero 3 --global-batch 64";
  std::ofstream(path) << "mesh shard:4 rep:4 pp:1\npar b on shard*rep\nuse hsdp\npar layer on pp sched 1f1b for mb:4\n";
  const json by_flag = ways_report_of(fully + " --dp-replicate 4"),
             by_mapping = ways_report_of("predict llama3-8b --gpus 16 --mapping " + path);
  EXPECT_DOUBLE_EQ(step(by_flag), step(by_mapping));
  EXPECT_EQ(peak(by_flag), peak(by_mapping));
  const json whole = ways_report_of(fully);
  const auto kept = [](const json& report, const char* what) {
    return report.at("memory").at("by_lifetime_bytes").at(what).get<double>();
  };
  EXPECT_NEAR(kept(by_flag, "weights") / kept(whole, "weights"), 4, 1e-3);  // shards are padded to equal size
  EXPECT_NEAR(kept(by_flag, "optimizer") / kept(whole, "optimizer"), 4, 1e-3);
  json one_copy = ways_report_of(fully + " --dp-replicate 1"), untold = whole;
  one_copy.erase("told"), untold.erase("told");
  EXPECT_EQ(one_copy, untold);
}

/// What stands between the name of the run and its figures.
std::string above_figures(const std::string& line) {
  const std::string out = run_line(line).out;
  return out.substr(0, out.find("Step time"));
}

struct IdleFlag {
  const char *line, *told;
};
const IdleFlag idle_flags[] = {{"--gpus 1 --dp-overlap off", "--dp-overlap: without dp or cp"},
    {"--gpus 1 --param-overlap off", "--param-overlap: without shards over dp or cp"},
    {"--gpus 1 --tp-overlap on", "--tp-overlap: without tp, cp or ep"},
    {"--gpus 1 --pp-overlap off", "--pp-overlap: without pp"},
    {"--gpus 8 --tp 8 --schedule zb-h1", "--schedule: on one stage"},
    {"--gpus 8 --tp 8 --zero 2", "--zero: without dp or cp"},
    {"--gpus 8 --pp 8 --memory-cap 8", "--memory-cap: the schedule keeps an order of its own"},
    {"--gpus 8 --sp on", "--sp: without tp"}, {"--gpus 8 --chunks 2", "--chunks: without pp"},
    {"--gpus 8 --layout balanced", "--layout: there is one stage"},
    {"--gpus 8 --order dp-tp-cp-pp", "--order: with one axis"},
    {"--gpus 16 --zero 0 --dp-replicate 2", "--dp-replicate: with zero 0 it does nothing"},
    {"--gpus 8 --cp-kind ulysses", "--cp-kind: without cp it does nothing"},
    {"--gpus 8 --tp 2 --sp off --save-gathered on", "--save-gathered: without sp"},
    {"--gpus 8 --tp 2 --recompute full --save-gathered on", "--save-gathered: without sp, or with full recomputation"},
    {"--gpus 8 --tp 2 --scatter-boundary on", "--scatter-boundary: without tp and pp, or with sp"}};

/// The forecast is that without the flag, and says so before its figures.
TEST(PredictWays, AFlagThatDoesNothingIsNamedAboveTheFigures) {
  const std::string run = "predict llama3-8b --machine dgx-h100 --stack megatron-core ";
  for (const IdleFlag& idle : idle_flags) {
    EXPECT_THAT(above_figures(run + idle.line), HasSubstr(idle.told)) << idle.line;
    std::string without = idle.line;
    without.erase(without.rfind(" --"));
    EXPECT_DOUBLE_EQ(ways_report_of(run + idle.line).at("step_time_s").get<double>(),
        ways_report_of(run + without).at("step_time_s").get<double>())
        << idle.line;
  }
}

/// Shards and lengths that are no power of two show what one case hides.
TEST(PredictWays, WhatIsNamedIdleIsIdleInEveryRun) {
  const std::string runs[] = {"predict llama3-8b --gpus 64 --zero 2 --seq 12k --global-batch 128",
      "predict llama3-8b --gpus 64 --zero 3 --global-batch 256 --recompute full", "predict llama3-8b --gpus 8 --tp 8",
      "predict mixtral-8x7b --gpus 16 --ep 8 --zero 1"};
  const std::string flags[] = {"--chunks 2", "--chunks 8", "--cp-kind gather", "--sp on", "--save-gathered on",
      "--layout balanced", "--scatter-boundary on", "--pp-overlap off"};
  for (const std::string& run : runs) {
    const json without = ways_report_of(run);
    int named = 0;
    for (const std::string& flag : flags) {
      const std::string name = flag.substr(0, flag.find(' '));
      if (above_figures(run + " " + flag).find(name + ": ") == std::string::npos) continue;
      const json with = ways_report_of(run + " " + flag);
      EXPECT_EQ(with.at("step_time_s"), without.at("step_time_s")) << run << " " << flag;
      EXPECT_EQ(with.at("memory"), without.at("memory")) << run << " " << flag;
      ++named;
    }
    EXPECT_GE(named, 4) << run;
  }
}

TEST(PredictWays, AFlagThatDoesSomethingIsNotNamed) {
  for (const char* line : {"--tp 4 --sp off --scatter-boundary on --save-gathered off", "--dp-overlap off", "--zero 0",
           "--order tp-cp-pp-dp", "--schedule zb-auto --memory-cap 8", "--pp-overlap off --tp-overlap on"})
    EXPECT_THAT(above_figures(base + " " + line), Not(HasSubstr("--"))) << line;
  EXPECT_THAT(above_figures("predict llama3-8b --gpus 8 --tp 8 --schedule gpipe"), Not(HasSubstr("--schedule")))
      << "it holds all micro-batches, on one stage, too";
  EXPECT_THAT(run_line("predict llama3-8b --cp 2").out, HasSubstr("--cp-kind ring"));
  EXPECT_THAT(run_line("predict llama3-8b").out, Not(HasSubstr("--cp-kind")));
}

TEST(PredictWays, HowALaunchWasReadStandsAboveTheFigures) {
  const std::string launch =
      "predict --machine dgx-h100 --launch " STEPCAST_SOURCE_DIR "/examples/launches/llama3_70b.sh";
  EXPECT_THAT(above_figures(launch), HasSubstr("launch: by its program or names a launch of Megatron-LM"));
  const std::string out = run_line(launch).out;
  EXPECT_THAT(out.substr(out.find("Step time")), Not(HasSubstr("launch: ")));
}

TEST(PredictWays, ScenarioFilesGiveTheSameRun) {
  for (const char* ways : {"--cp 2 --cp-kind ulysses", "--zero 2 --dp-replicate 2", "--order tp-cp-pp-dp",
           "--sp off --scatter-boundary on", "--save-gathered on", "--dp-overlap off", "--tp-overlap on --stack nemo",
           "--stack megatron-2022 --sp off --scatter-boundary off --dp-overlap on"}) {
    const std::string line = base + " " + ways, path = own_path("run.json");
    const auto printed = run_line(line + " --print-scenario");
    ASSERT_EQ(printed.code, 0) << printed.err;
    std::ofstream(path) << printed.out;
    const json first = ways_report_of(line), second = ways_report_of("predict " + path);
    EXPECT_EQ(first.at("step_time_s"), second.at("step_time_s")) << ways;
    EXPECT_EQ(first.at("collectives"), second.at("collectives")) << ways;
    EXPECT_EQ(peak(first), peak(second)) << ways;
    EXPECT_EQ(second.at("defaults"), json::array()) << ways;
    EXPECT_EQ(run_line("predict " + path + " --print-scenario").out, printed.out) << ways;
  }
}

TEST(PredictWays, KeysOfAScenarioFileMeanTheSame) {
  const std::string path = own_path("keys.json");
  std::ofstream(path)
      << R"({"network": "llama3-70b", "gpus": 64, "tp": 4, "pp": 4, "order": "tp-cp-pp-dp", "cp_kind": "gather",
    "sp": "off", "scatter_boundary": "on", "save_gathered": "off", "dp_overlap": "off", "tp_overlap": "on"})";
  const json by_keys = ways_report_of("predict " + path);
  const json by_flags =
      ways_report_of(base + " --order tp-cp-pp-dp --sp off --scatter-boundary on --dp-overlap off --tp-overlap on");
  EXPECT_EQ(by_keys.at("collectives"), by_flags.at("collectives"));
  EXPECT_NE(by_keys.at("collectives"), ways_report_of(base).at("collectives"));
  std::ofstream(path) << R"({"network": "llama3-70b", "order": "tp-pp"})";
  EXPECT_THAT(
      run_line("predict " + path).err, HasSubstr("keys.json:/order: 'tp-pp' is no order of the mesh: cp is missing"));
}

TEST(PredictWays, BesideAMappingOnlyTheStacksOwnWaysMayBeTold) {
  const std::string path = own_path("plan.flow"), line = "predict llama3-70b --stack megatron-2022 --mapping " + path;
  std::ofstream(path) << "mesh tp:4 cp:1 dp:4 pp:4\nuse tp, vocab, dp, zero1\npar layer on pp sched 1f1b for mb:16\n";
  const json plain = ways_report_of(line), whole = ways_report_of(line + " --scatter-boundary off");
  EXPECT_DOUBLE_EQ(sum_of(whole, "send_recv", "", "bytes"), 4 * sum_of(plain, "send_recv", "", "bytes"));
  EXPECT_LT(phase(ways_report_of(line + " --dp-overlap on"), "gradient_sync"), phase(plain, "gradient_sync"));
  for (const char* flag : {"--cp-kind ring", "--order tp-cp-dp-pp", "--save-gathered on"})
    EXPECT_THAT(run_line(line + " " + flag).err, HasSubstr("already says how the work is split")) << flag;
  EXPECT_THAT(run_line(line + " --scatter-boundary on").err,
      AllOf(HasSubstr("--scatter-boundary: the mapping"), HasSubstr("add the line 'home boundary: s on tp'")));
  std::ofstream(path, std::ios::app) << "home boundary: s on tp\n";
  EXPECT_EQ(run_line(line + " --scatter-boundary off").code, 2);
  EXPECT_EQ(run_line(line).code, 0);
}

/// Where nobody names the software, a usual one stands for it by the GPU and by where weights lie, and says so.
TEST(UntoldSoftware, IsAUsualOneAndSaysSo) {
  for (const auto& [line, row] : {std::pair{"predict llama3-8b --gpus 64", "like:megatron-core"},
           {"predict llama3-8b --gpus 64 --zero 2", "like:megatron-core"},
           {"predict llama3-8b --gpus 64 --zero 3", "like:pytorch-fsdp"},
           {"predict gpt2-1.5b --machine dgx-2 --precision fp16", "like:megatron-core"}}) {
    const json report = ways_report_of(line);
    EXPECT_EQ(report.at("run").at("stack"), row);
    EXPECT_THAT(report.at("defaults").dump(),
        HasSubstr(std::string("\"value\":\"") + row + "\",\"why\":\"nobody named the software\""));
  }
  const auto refused = run_line("predict llama3-8b --stack like:megatron-cor");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("megatron-core"));
}

/// Nemo's fit speaks for Megatron-Core on H100, whether that is known or assumed: one time, two intervals.
TEST(UntoldSoftware, HasTheWiderInterval) {
  const json told = ways_report_of(base + " --stack megatron-core"), untold = ways_report_of(base),
             said = ways_report_of(base + " --stack like:megatron-core");
  EXPECT_GT(told.at("step_time_interval_s")[0], untold.at("step_time_interval_s")[0]);
  EXPECT_LT(told.at("step_time_interval_s")[1], untold.at("step_time_interval_s")[1]);
  for (const char* figure : {"step_time_s", "step_time_interval_s"}) EXPECT_EQ(said.at(figure), untold.at(figure));
  EXPECT_THAT(said.at("defaults").dump(), Not(HasSubstr("--stack")));
  EXPECT_THAT(run_line(base).out, HasSubstr("the interval is that of"));
}

}  // namespace
}  // namespace stepcast::predict
