// stepcast job: figures that can be redone, published jobs, and what is refused.
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/job/whole_step.h"
#include "tests/studies/run_program.h"

namespace stepcast::job {
namespace {

using testing::HasSubstr;
using testing::Not;
using JobJson = nlohmann::json;

constexpr const char* small_run = "job llama3-8b --machine dgx-h100 --gpus 64 --zero 3 --global-batch 256 ";

JobJson shown(const std::string& words) {
  const auto ran = testing_program::run_line(words + " --json");
  EXPECT_EQ(ran.code, 0) << words << "\n" << ran.err;
  return ran.code == 0 ? JobJson::parse(ran.out) : JobJson{};
}
std::string refusal(const std::string& words) {
  const auto ran = testing_program::run_line(small_run + words);
  EXPECT_EQ(ran.code, 2) << words << "\n" << ran.out;
  return ran.err;
}

TEST(JobCommand, FiguresFollowFromEachOther) {
  // 8 nodes x 0.005 + 0.16 failures a day: every 5 days; 100 GB at 10 GB/s: 10 s.
  const auto json = shown(std::string(small_run) +
                          "--steps 100000 --failure-rate 0.005 --fixed-failures 0.16 --checkpoint-bytes 100GB "
                          "--storage-write 10GB/s --storage-read 20GB/s --detect 60s --restart 115s");
  const double between = json.at("failure_model").at("mean_between_s"), save = json.at("checkpoint").at("blocking_s");
  EXPECT_NEAR(between, 5 * 86400.0, 1e-3);
  EXPECT_NEAR(save, 10, 1e-9);
  EXPECT_EQ(json.at("checkpoint").at("all_bytes"), 100e9);
  EXPECT_FALSE(json.at("checkpoint").contains("bytes_per_parameter")) << "the format is nobody's";
  EXPECT_NEAR(json.at("failure_model").at("restart_s"), 120, 1e-9);  // 115 s and 5 s to read
  EXPECT_NEAR(json.at("checkpoint").at("laws")[0].at("interval_s"), std::sqrt(2 * 10 * 432'000.0), 1e-6);
  const double step = json.at("step_time_s"), t = json.at("checkpoint").at("interval_s");
  // A checkpoint behind each interval but the last, with a restart of 180 s in each piece that fails.
  const auto piece = [&](double time) { return between * std::exp(180 / between) * std::expm1(time / between); };
  const double work = 100'000 * step, stored = std::ceil(work / t) - 1;
  const double whole = stored * piece(t + save) + piece(work - stored * t), goodput = work / whole;
  EXPECT_NEAR(json.at("goodput"), goodput, 1e-9);
  EXPECT_NEAR(json.at("time_to_train_s"), whole, 1);
  double sum = 0;
  for (const auto& [part, time] : json.at("time").items()) sum += time.get<double>();
  EXPECT_NEAR(sum, json.at("time_to_train_s"), 1e-3);
  EXPECT_NEAR(json.at("goodput_of_lives"), goodput, 0.005 * goodput);
  EXPECT_EQ(json.at("health").size(), 3U);
  EXPECT_NEAR(json.at("energy_j"), 64 * 700 * json.at("time_to_train_s").get<double>(), 1e3);
}

TEST(JobCommand, NoFigureIsANumberThatIsNone) {
  // A checkpoint of 3,000 years: no interval is right, and the best is the time between failures, a month or so. The
  // job has several of them.
  const auto ran = testing_program::run_line(std::string(small_run) + "--tokens 15T --storage-write 1B/s");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::AllOf(HasSubstr("Goodput 0"), testing::Not(HasSubstr("nan")),
                           testing::Not(HasSubstr("checkpoints every forever"))));
}

TEST(JobCommand, WithoutLivesThereAreNoIntervals) {
  // 100 failures a day of each node leave a goodput between 0.1 and 1 %.
  const std::string hardly = "--global-batch 256 --pp 4 --tokens 1T --elastic --failure-rate 100";
  const std::string words = "job llama3-8b --machine dgx-h100 --gpus 64 " + hardly;
  const auto ran = testing_program::run_line(words);
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("0 ns to 0 ns")));
  EXPECT_THAT(ran.out, HasSubstr("no lives are drawn"));
  const auto json = shown(words);
  EXPECT_EQ(json.at("lives"), 0);
  EXPECT_TRUE(json.at("percentiles_10_50_90").at("goodput").is_null());
  EXPECT_TRUE(json.at("goodput_of_lives").is_null());
}

TEST(JobCommand, AJobOfLessThanAnIntervalWritesNoCheckpoint) {
  // An hour or so of work, and 3,600 GB at 1 GB/s: a checkpoint would take another one. A failure comes each month.
  const auto json = shown(std::string(small_run) +
                          "--steps 1000 --interval 6h --checkpoint-bytes 3600GB --storage-write 1GB/s --lives 100");
  EXPECT_NEAR(json.at("checkpoint").at("blocking_s"), 3600, 1e-6);
  const double work = 1000 * json.at("step_time_s").get<double>();
  EXPECT_GE(json.at("time_to_train_s"), work);
  EXPECT_LT(json.at("time_to_train_s"), 1.01 * work);
  EXPECT_NEAR(json.at("goodput_of_lives"), json.at("goodput"), 0.01);
}

TEST(JobCommand, LengthsAreOneThing) {
  const auto steps = shown(std::string(small_run) + "--steps 1000");
  const double tokens = steps.at("tokens");
  EXPECT_EQ(tokens, 1000.0 * 256 * 8192);
  EXPECT_EQ(shown(std::string(small_run) + "--tokens " + std::to_string(tokens)).at("steps"), 1000);
  const auto days = shown(std::string(small_run) + "--days 10");
  EXPECT_NEAR(days.at("time_to_train_s"), 10 * 86400.0, days.at("step_time_s").get<double>() * 1.1);
}

TEST(JobCommand, Llama3sInterruptionsAreInTheDefaultsRange) {
  const auto json = shown(
      "job llama3-405b --machine grand-teton-h100 --gpus 16384 --tp 8 --pp 16 --chunks 2 --zero 2 --layout balanced "
      "--global-batch 2048 --days 54 --lives 200");
  const double failures = json.at("failures");
  EXPECT_NEAR(failures, 442.4, 1);
  EXPECT_NEAR(failures, 419, 2 * std::sqrt(failures));
  EXPECT_GT(json.at("goodput"), 0.9);
  EXPECT_LT(json.at("checkpoint").at("blocking_s"), 30);
}

TEST(JobCommand, CostAndPower) {
  const auto json =
      shown(std::string(small_run) + "--days 1 --watts 1000 --pue 1.25 --gpu-hour-price 2 --kwh-price 0.1");
  const double time = json.at("time_to_train_s");
  EXPECT_NEAR(json.at("energy_j"), 64 * 1250 * time, 1);
  EXPECT_NEAR(json.at("cost"), 64 * time / 3600 * 2 + 64 * 1.25 * time / 3600 * 0.1, 1e-3);
}

TEST(JobCommand, SmallJobsHaveKilowattHours) {
  // 20 steps of 64 GPUs at 1 kW: kWh = steps' seconds x 64 / 3600, below a MWh.
  const std::string run = std::string(small_run) + "--steps 20 --watts 1000 --gpu-hour-price 0.01 --lives 100";
  const double kwh = shown(run).at("energy_j").get<double>() / 3.6e6;
  ASSERT_LT(kwh, 1000);
  const std::string text = testing_program::run_line(run).out;
  EXPECT_THAT(text, HasSubstr(kwh < 10 ? fmt::format("{:.3g} kWh", kwh) : fmt::format("{:.0f} kWh", kwh)));
  EXPECT_THAT(text, testing::Not(HasSubstr("Energy  0")));
}

TEST(JobCommand, SparesArePaid) {
  // 64 GPUs and a node of 8 beside them, at 2 an hour each; energy is that of the 64.
  const std::string run = std::string(small_run) + "--days 1 --watts 1000 --spares 1 --gpu-hour-price 2 --lives 100";
  const auto json = shown(run);
  const double hours = json.at("time_to_train_s").get<double>() / 3600;
  EXPECT_NEAR(json.at("gpu_hours"), 72 * hours, 1e-6);
  EXPECT_NEAR(json.at("cost"), 72 * hours * 2, 1e-6);
  EXPECT_NEAR(json.at("energy_j"), 64 * 1000 * hours * 3600, 1);
  EXPECT_THAT(json.at("assumptions").dump(), HasSubstr("those of 72 GPUs, 8 of them of spares"));
}

TEST(JobCommand, SparesAndReplicas) {
  const std::string run = "job llama3-8b --gpus 512 --tp 8 --global-batch 512 --days 30 --failure-rate 0.02 ";
  const auto waiting = shown(run + "--spares 2"), elastic = shown(run + "--spares 2 --elastic");
  const auto enough = shown(run + "--spares 20");
  EXPECT_LT(waiting.at("goodput"), elastic.at("goodput"));
  EXPECT_LT(elastic.at("goodput"), enough.at("goodput"));
  EXPECT_LE(enough.at("failure_model").at("missing_nodes_share"), 0.001);
}

TEST(JobCommand, MemoryAndAsync) {
  const std::string run = "job llama3-70b --gpus 2048 --tp 8 --pp 4 --global-batch 2048 --tokens 1T --lives 100 ";
  const auto plain = shown(run), async = shown(run + "--async"), memory = shown(run + "--memory-interval 60s");
  EXPECT_LT(plain.at("goodput"), async.at("goodput"));
  EXPECT_LT(plain.at("goodput"), memory.at("goodput"));
  EXPECT_EQ(memory.at("checkpoint").at("memory_interval_s"), 60);
  EXPECT_GE(
      async.at("checkpoint").at("interval_s").get<double>() + async.at("checkpoint").at("blocking_s").get<double>(),
      async.at("checkpoint").at("settle_s").get<double>());
}

TEST(JobCommand, UnevenWorkAndLoadersMakeStepsLonger) {
  const std::string run = std::string(small_run) + "--steps 1000 --lives 100 ";
  const double even = shown(run).at("step_time_s");
  const auto uneven = shown(run + "--imbalance \"micro-batches=0.3\"");
  EXPECT_NEAR(uneven.at("step_time_s").get<double>() / even, uneven.at("uneven_factor"), 1e-9);
  EXPECT_GT(uneven.at("uneven_factor"), 1.05);
  // Two workers of equal times, 8 s a batch: one in 4 s, and a step of less waits for the rest.
  ASSERT_LT(even, 4);
  const auto loaded = shown(run + "--loader-time 8s --loader-workers 2 --loader-even");
  EXPECT_NEAR(loaded.at("step_time_s"), 4, 1e-9);
  EXPECT_NEAR(loaded.at("around_steps").at(0).at("per_step_s"), 4 - even, 1e-9);
  EXPECT_THAT(refusal("--steps 10 --loader-workers 2"), HasSubstr("--loader-workers: how long a batch takes"));
  const std::string cached = "--loader-time 8s --loader-cache 0.5 --loader-cached-time 1s --loader-epochs ";
  EXPECT_THAT(refusal("--steps 1000 " + cached + "1001"), HasSubstr("1001 epochs, and the job has 1,000 steps"));
  EXPECT_THAT(testing_program::run_line(run + cached + "1").out, HasSubstr("only filled in the one epoch"));
  EXPECT_THAT(refusal("--steps 10 --imbalance lumpy=1"), HasSubstr("'lumpy' is no kind of unevenness"));
}

TEST(JobCommand, PartsOfAStepAreListed) {
  const std::string run = std::string(small_run) + "--steps 100000 --lives 100 ";
  const auto json = shown(run + "--gc-time 1s --gc-every 50 --gc-planned --eval-batches 10 --eval-every 100");
  const double even = json.at("even_step_time_s"), evaluation = json.at("around_steps").at(1).at("per_step_s");
  EXPECT_EQ(json.at("around_steps").at(0).at("id"), "garbage_collection");
  EXPECT_NEAR(json.at("around_steps").at(0).at("per_step_s"), 0.02, 1e-12);
  EXPECT_NEAR(json.at("step_time_s"), even + 0.02 + evaluation, 1e-9);
  const auto text = testing_program::run_line(run + "--gc-time 1s --gc-every 50 --async --async-slowdown 0.2").out;
  EXPECT_THAT(text, HasSubstr("- garbage collection"));
  EXPECT_THAT(text, HasSubstr("- host to device"));
  EXPECT_THAT(text, HasSubstr("slow beside checkpoints"));
}

TEST(JobCommand, PaddedStepsHaveFewerTokens) {
  // Documents of a quarter of a sequence, padded to their own length: a quarter of the tokens, less than half the time.
  const std::string run = "job llama3-8b --gpus 64 --tp 2 --zero 1 --global-batch 256 --steps 1000 --lives 100 ";
  const auto even = shown(run), padded = shown(run + "--imbalance \"lengths=2048,2048,2048,2048,2048 fill=padded\"");
  EXPECT_NEAR(padded.at("tokens").get<double>() / even.at("tokens").get<double>(), 0.25, 1e-12);
  EXPECT_LT(padded.at("step_time_s"), 0.5 * even.at("step_time_s").get<double>());
}

TEST(JobCommand, LargeJobsAreAsUnevenAsPublicFleets) {
  const std::string run = "job llama3-8b --gpus 128 --zero 3 --global-batch 512 --steps 1000 --lives 100 ";
  const auto fleets = shown(run), none = shown(run + "--imbalance none");
  EXPECT_NEAR(fleets.at("uneven_factor"), 1 / 0.896, 1e-12);
  EXPECT_EQ(none.at("uneven_factor"), 1);
  EXPECT_NEAR(fleets.at("step_time_s").get<double>() * 0.896, none.at("step_time_s").get<double>(), 1e-9);
  EXPECT_EQ(shown(std::string(small_run) + "--steps 10 --lives 100").at("uneven_factor"), 1);
  // What a job loses, in the mean over the published law: 10.4 %.
  double lost = 0;
  for (int i = 0; i < 1000; ++i) lost += (1 - 1 / FleetUnevenness::at((i + 0.5) / 1000)) / 1000;
  EXPECT_NEAR(lost, 0.104, 0.01);
  EXPECT_NEAR(FleetUnevenness::at(0.9), 1 / 0.787, 1e-12);
}

TEST(JobCommand, TenTimesIsForecastAnew) {
  const std::string run = "job llama3-8b --gpus 64 --zero 3 --global-batch 640 --steps 1000 --lives 100 ";
  const auto ten = shown(run).at("ten_times");
  const auto larger = shown("job llama3-8b --gpus 640 --zero 3 --global-batch 6400 --steps 1000 --lives 100 ");
  EXPECT_EQ(ten.at("gpus"), 640);
  EXPECT_NEAR(ten.at("step_time_s"), larger.at("step_time_s"), 1e-9);
  EXPECT_NEAR(ten.at("goodput"), larger.at("goodput"), 1e-9);
  EXPECT_NEAR(ten.at("same_batch_step_time_s"),
      shown("job llama3-8b --gpus 640 --zero 3 --global-batch 640 --steps 9 --lives 100").at("even_step_time_s"), 1e-9);
  EXPECT_EQ(ten.at("health").size(), 3U);
  // A machine that ends before goes on at its rate, and that is said.
  const std::string large =
      "job llama3-70b --machine dgx-h100 --gpus 2048 --tp 8 --pp 4 --global-batch 2048 --lives 100 --days 9";
  EXPECT_THAT(testing_program::run_line(large).out, HasSubstr("DGX H100 has 16,384 GPUs"));
  // 256 sequences do not lie on 640 GPUs, and that is said.
  const auto small = shown(std::string(small_run) + "--steps 9 --lives 100").at("ten_times");
  EXPECT_THAT(small.at("breaks").dump(), HasSubstr("as it is it does not go on so many GPUs"));
  EXPECT_TRUE(small.at("same_batch_step_time_s").is_null());
  EXPECT_THAT(small.at("breaks").dump(), HasSubstr(small.at("no_same_batch_step_time").get<std::string>()));
  EXPECT_FALSE(small.contains("no_step_time"));
}

TEST(JobCommand, APageStandsAlone) {
  const std::string name = testing_program::own_path("page.html");
  const auto ran = testing_program::run_line(std::string(small_run) + "--days 30 --lives 100 --force --html " + name);
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(name);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const char* id : {"id=\"time\"", "id=\"life\"", "id=\"gpus\"", "id=\"interval\"", "id=\"remarks\""})
    EXPECT_THAT(page, HasSubstr(id));
  EXPECT_THAT(page, HasSubstr("content=\"stepcast job"));
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org"));
  std::ofstream(testing_program::own_path("other")) << "mine";
  EXPECT_EQ(
      testing_program::run_line(small_run + std::string("--days 1 --html ") + testing_program::own_path("other")).code,
      2);
}

/// Without the program's version.
std::string kept_text(const std::string& name) {
  std::ifstream file(name);
  std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::size_t mark = page.find("content=\"stepcast job");
  return mark == std::string::npos ? page : page.erase(mark, page.find('>', mark) - mark);
}

TEST(JobCommand, TheKeptPageIsWhatTheProgramWrites) {
  const std::string reports = std::string(STEPCAST_SOURCE_DIR) + "/docs/reports/";
  const std::string row = "| `job-llama3-70b.html` | `stepcast ", list = kept_text(reports + "README.md");
  const std::size_t begin = list.find(row);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t from = begin + row.size();
  const std::string name = testing_program::own_path("kept.html");
  const auto ran =
      testing_program::run_line(list.substr(from, list.find('`', from) - from) + " --force --html " + name);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(kept_text(name) == kept_text(reports + "job-llama3-70b.html")) << "run docs/reports/update.sh";
}

TEST(JobCommand, WhatNeverEndsIsSaid) {
  const auto ran = testing_program::run_line(std::string(small_run) + "--days 10 --fixed-failures 200 --restart 2h");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Goodput 0: a restart takes 2."));
  const auto json = shown(std::string(small_run) + "--days 10 --fixed-failures 200 --restart 2h");
  EXPECT_EQ(json.at("goodput"), 0);
  EXPECT_TRUE(json.at("time_to_train_s").is_null());
}

TEST(JobCommand, ALogIsAJobsOwnRate) {
  const std::string name = testing_program::own_path("log.csv");
  std::ofstream(name) << "failed_at,back_at\n2025-03-01T00:00,2025-03-01T00:10\n2025-03-05T00:00,2025-03-05T00:30\n";
  const auto json = shown(std::string(small_run) + "--days 10 --failure-log " + name + " --log-days 8 --log-gpus 128");
  EXPECT_NEAR(json.at("failure_model").at("mean_between_s"), 8 * 86400.0, 1e-3);  // half the GPUs: 2 in 16 days
  EXPECT_NEAR(json.at("failure_model").at("restart_s"), 1200, 1e-6);
  EXPECT_THAT(refusal("--days 1 --failure-log " + name), HasSubstr("--log-days: a log does not say it"));
  EXPECT_THAT(refusal("--days 1 --failures rsc-1 --log-days 8 --log-gpus 128 --failure-log " + name),
      HasSubstr("--failures: a rate beside a log"));
  EXPECT_THAT(refusal("--days 1 --failure-log " + name + " --log-days 2 --log-gpus 8"), HasSubstr("days apart"));
}

TEST(JobCommand, RatesAreListedAndShown) {
  const auto rows = shown("list failures").at("failures");
  EXPECT_GE(rows.size(), 6U);
  const auto row = shown("show failures rsc-1");
  EXPECT_EQ(row.at("fixed_per_day").at("value"), 2.2);
  EXPECT_EQ(testing_program::run_line("show failures rsc-9").code, 2);
}

TEST(JobCommand, SmallJobsHaveTheirPartOfAFleetsFailures) {
  const auto between = [](int gpus, const std::string& flags) {
    const auto json = shown(fmt::format("job llama3-8b --machine dgx-h100 --gpus {} --zero 3 --recompute full --days 3 "
                                        "--lives 100 {}",
        gpus, flags));
    return json.at("failure_model").at("mean_between_s").get<double>() / 86400;
  };
  EXPECT_NEAR(between(8, "--failures rsc-1"), 47.7, 6);           // days, as RSC-1's jobs of 8 GPUs (arXiv 2410.21680)
  EXPECT_NEAR(between(1024, "--failures rsc-1") * 24, 7.9, 0.1);  // hours
  EXPECT_NEAR(between(8, ""), 250, 1);
  EXPECT_NEAR(between(8, "--failures rsc-1 --fixed-failures 2.2") * 24, 24 / 2.2065, 0.1) << "said: of any size";
}

TEST(JobCommand, DaysAreANumberOrADuration) {
  const std::string run = std::string(small_run) + "--lives 100 --days ";
  const double days = shown(run + "30").at("steps");
  EXPECT_GT(days, 0);
  for (const char* same : {"30d", "720h", "43200min"}) EXPECT_NEAR(shown(run + same).at("steps"), days, 1) << same;
  EXPECT_THAT(refusal("--days 30x"), HasSubstr("--days"));
  EXPECT_THAT(refusal("--days 1s"), HasSubstr("out of range"));
}

TEST(JobCommand, ASaidRateIsTheUsers) {
  const std::string run = std::string(small_run) + "--steps 1000 --lives 100 ";
  const auto said = shown(run + "--failure-rate 0.1"), fixed = shown(run + "--failures rsc-1 --fixed-failures 3");
  EXPECT_EQ(said.at("failure_model").at("rates"), "--failure-rate");
  EXPECT_THAT(said.at("assumptions").dump(), HasSubstr("failures: 0.1 a day and node of 8 GPUs"));
  EXPECT_EQ(fixed.at("failure_model").at("rates"), "rsc-1");
  EXPECT_THAT(fixed.at("assumptions").dump(), HasSubstr("but 3 a day of a job of any size (rsc-1)"));
}

TEST(JobCommand, WhyTheMeanLiesOutsideAndNodesThatAreNotThere) {
  // 8 nodes x 0.004 failures a day: one in a month, so that hardly a life of minutes has one.
  const auto few = shown(std::string(small_run) + "--steps 1000 --lives 100");
  EXPECT_THAT(few.at("assumptions").dump(), HasSubstr("to 80 % of lives: few fail at all\""));
  // 8 nodes x 10 a day x 0.78 that need repair x 133 h / 24 h = 346 nodes.
  const auto many = shown(std::string(small_run) + "--steps 1000 --lives 100 --failure-rate 10");
  EXPECT_NEAR(many.at("failure_model").at("nodes_in_repair"), 345.8, 1e-9);
  EXPECT_THAT(many.at("warnings").dump(), HasSubstr("346 nodes are in repair in the mean"));
}

/// A step has 256 x 8,192 tokens. Less is no job, and what rounding to whole steps adds is said.
TEST(JobCommand, ALengthIsNotRaisedToAStepInSilence) {
  EXPECT_THAT(refusal("--tokens 15"), HasSubstr("--tokens: 15 tokens, and a step has 2,097,152"));
  EXPECT_THAT(refusal("--tokens 2097151"), HasSubstr("and a step has 2,097,152"));
  const auto of_steps = [](double steps) {
    return shown(std::string(small_run) + fmt::format("--lives 100 --tokens {:.0f}", steps * 256 * 8192));
  };
  EXPECT_THAT(of_steps(1).at("assumptions").dump(), Not(HasSubstr("tokens are asked for")));
  const auto raised = of_steps(1.5);
  EXPECT_EQ(raised.at("steps"), 2);
  EXPECT_THAT(raised.at("assumptions").dump(), HasSubstr("3.146e+06 tokens are asked for; whole steps have 4.194e+06"));
}

TEST(JobCommand, WrongInputIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("--tokens: how long the job is is not said"));
  EXPECT_THAT(refusal("--days 1 --steps 5"), HasSubstr("a length twice"));
  EXPECT_THAT(refusal("--tokens many"), HasSubstr("'many' is no number of tokens"));
  for (const char* out : {"0", "-3", "1e30"})
    EXPECT_THAT(refusal(std::string("--tokens ") + out), HasSubstr("are out of range")) << out;
  EXPECT_THAT(refusal("--days 1 --watts 700W"), HasSubstr("from 1 to 100000, without a unit"));
  EXPECT_THAT(refusal("--days 1 --failures nobody"), HasSubstr("unknown failure rates 'nobody'"));
  EXPECT_THAT(refusal("--days 1 --failures rsc-1 --failure-rate 0.1"),
      HasSubstr(
          "one of them; rsc-1 has 2.2 a day beside on 128 nodes and more, fewer on fewer, which --fixed-failures"));
  EXPECT_THAT(refusal("--days 1 --failure-rate 0"), HasSubstr("nothing ever fails"));
  EXPECT_THAT(refusal("--days 1 --interval 1ms"), HasSubstr("--interval: 1.00 ms, and a step takes"));
  EXPECT_THAT(refusal("--days 1 --memory-interval 1ms"), HasSubstr("--memory-interval: 1.00 ms, and a step takes"));
  EXPECT_THAT(refusal("--days 1 --interval 400d"), HasSubstr("between checkpoints, and the job fails every"));
  EXPECT_THAT(refusal("--days 1 --async --storage-write 10MB/s --interval 60s"), HasSubstr("storage takes"));
  EXPECT_THAT(refusal("--days 1 --planned-every 7d"), HasSubstr("--planned-stop: is missing"));
  EXPECT_THAT(refusal("--days 1 --planned-every 1h --planned-stop 2h"), HasSubstr("stops all the time"));
  EXPECT_THAT(refusal("--days 1 --memory-survives 0.5"), HasSubstr("no checkpoint is kept in memory"));
  EXPECT_THAT(refusal("--days 1 --memory-interval 60s --elastic"), HasSubstr("--elastic"));
  EXPECT_THAT(refusal("--days 1 --async-slowdown 0.1"), HasSubstr("written while steps wait"));
  EXPECT_THAT(refusal("--days 1 --pue 0.5"), HasSubstr("from 1 to 10"));
  const auto ran = testing_program::run_line("job llama3-70b --gpus 8 --global-batch 8 --days 1");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("there is no job"));
  const auto experts = testing_program::run_line("job mixtral-8x7b --gpus 64 --ep 8 --pp 2 --days 1 --elastic");
  EXPECT_EQ(experts.code, 2);
  EXPECT_THAT(experts.err, HasSubstr("--elastic: experts lie on 8 ranks"));
}

}  // namespace
}  // namespace stepcast::job
