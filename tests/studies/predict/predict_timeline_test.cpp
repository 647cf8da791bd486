// predict --timeline, --svg and --trace: the pipeline of a forecast, action by action.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using testing::HasSubstr;
using testing::Not;
using StepJson = nlohmann::json;

const std::string traced_run = "predict llama3-8b --gpus 8 --tp 2 --pp 4";

class StepFiles : public testing::Test {
 protected:
  StepFiles() { std::filesystem::create_directories(folder_); }
  ~StepFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(folder_ + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The trace's events, and the JSON document of the same run.
  struct Traced {
    StepJson events, report;
  };
  Traced traced(const std::string& words) {
    const auto ran = testing_program::run_line(traced_run + words + " --json --trace " + folder_ + "t.json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return {StepJson::parse(content("t.json")).at("traceEvents"), StepJson::parse(ran.out)};
  }

  std::string folder_ = testing_program::own_path("step_timeline/");
};

constexpr double slack_us = 1e-3;

/// Stretches by (process, thread), in order of time.
std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> stretches_of(const StepJson& events) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    const double start = event.at("ts"), length = event.at("dur");
    threads[{event.at("pid"), event.at("tid")}].emplace_back(start, start + length);
  }
  for (auto& [thread, stretches] : threads) std::sort(stretches.begin(), stretches.end());
  return threads;
}

void expect_no_overlap(const StepJson& events) {
  for (const auto& [thread, stretches] : stretches_of(events))
    for (std::size_t i = 1; i < stretches.size(); ++i)
      ASSERT_GE(stretches[i].first, stretches[i - 1].second - slack_us)
          << "rank " << thread.first << " thread " << thread.second;
}

void expect_paired_arrows(const StepJson& events, std::int64_t messages) {
  std::map<int, double> sent, taken;
  for (const auto& event : events) {
    if (event.at("ph") == "s") sent[event.at("id")] = event.at("ts");
    if (event.at("ph") == "f") taken[event.at("id")] = event.at("ts");
  }
  EXPECT_EQ(static_cast<std::int64_t>(sent.size()), messages);
  ASSERT_EQ(sent.size(), taken.size());
  for (const auto& [id, time] : sent) EXPECT_GE(taken.at(id), time - slack_us);
}

/// Per rank: begins and ends with what lasts, never below it.
void expect_counters_return(const StepJson& events) {
  std::map<int, std::vector<std::int64_t>> held;
  for (const auto& event : events)
    if (event.at("ph") == "C") held[event.at("pid")].push_back(event.at("args").at("bytes"));
  ASSERT_EQ(held.size(), 4U);
  for (const auto& [rank, bytes] : held) {
    EXPECT_GT(bytes.front(), std::int64_t{1} << 30) << "weights, gradients, optimizer of rank " << rank;
    EXPECT_EQ(bytes.back(), bytes.front());
    EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), bytes.front());
    EXPECT_GT(*std::max_element(bytes.begin(), bytes.end()), bytes.front() + (std::int64_t{1} << 30));
  }
}

double last_end(const StepJson& events) {
  double last = 0;
  for (const auto& [thread, stretches] : stretches_of(events)) last = std::max(last, stretches.back().second);
  return last;
}

TEST_F(StepFiles, TraceHoldsTheWholeStep) {
  for (const char* schedule :
      {"1f1b", "zb-h1", "dualpipe", "zb-v", "chimera", "interleaved-1f1b --chunks 2", "seq-1f1b --seq-splits 4"}) {
    const Traced step = traced(std::string(" --schedule ") + schedule);
    expect_no_overlap(step.events);
    expect_paired_arrows(step.events, step.report.at("pipeline").at("p2p_messages"));
    expect_counters_return(step.events);
    EXPECT_NEAR(last_end(step.events), 1e6 * step.report.at("step_time_s").get<double>(), 1e-3) << schedule;
  }
}

TEST_F(StepFiles, TraceHasPhasesAroundThePipeline) {  // 4 ranks x 16 micro-batches, forward and backward
  const Traced step = traced(" --stack nemo");
  std::map<std::string, int> count;
  std::map<std::string, double> length;
  double first_forward = 1e18;
  for (const auto& event : step.events) {
    if (event.at("ph") != "X") continue;
    const std::string category = event.at("cat"), name = event.at(category == "phase" ? "name" : "cat");
    ++count[name];
    length[name] = event.at("dur");
    if (category == "forward") first_forward = std::min(first_forward, event.at("ts").get<double>());
  }
  EXPECT_EQ(count["forward"], 64);
  EXPECT_EQ(count["backward"], 64);
  EXPECT_EQ(count["send"], 2 * 3 * 16);
  const auto phase = [&](const char* key) { return 1e6 * step.report.at("phases_s").at(key).get<double>(); };
  for (const auto& [name, key] : {std::pair{"optimizer", "optimizer"}, std::pair{"norm and clip", "clip"},
           std::pair{"host to device", "host_to_device"}}) {
    EXPECT_EQ(count[name], 4) << name;
    EXPECT_NEAR(length[name], phase(key), 1e-3) << name;
  }
  EXPECT_NEAR(first_forward, phase("data_wait") + phase("host_to_device"), 1e-3);
}

TEST_F(StepFiles, TraceThreadsHaveNames) {
  const Traced step = traced(" --schedule dualpipe");
  std::set<std::pair<int, int>> used, named;
  std::set<std::string> names;
  for (const auto& event : step.events) {
    const std::pair<int, int> thread{event.at("pid"), event.value("tid", 0)};
    if (event.at("ph") == "X") used.insert(thread);
    if (event.at("name") != "thread_name") continue;
    EXPECT_TRUE(named.insert(thread).second) << "named twice";
    names.insert(event.at("args").at("name"));
  }
  EXPECT_EQ(used, named);
  for (const char* name : {"step", "pipeline", "send ahead", "send back", "host"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("compute")) << "stepcast timeline has kernels";
  EXPECT_EQ(names.size(), 6U) << "and the fabric of the gradients of both copies";
}

TEST_F(StepFiles, PictureAndPageComeTogether) {
  const auto ran = testing_program::run_line(traced_run + " --timeline --svg " + folder_ + "p.svg");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(content("p.svg").starts_with("<svg"));
  EXPECT_THAT(content("p.svg"), HasSubstr("0F15"));
  EXPECT_THAT(ran.out, HasSubstr("Step time"));
  EXPECT_THAT(ran.out, HasSubstr("\nTimeline  1F1B (PipeDream-flush): 4 ranks, 16 micro-batches\n"));
}

TEST_F(StepFiles, NothingIsWrittenOfAStepThatIsRefused) {
  const auto ran = testing_program::run_line(traced_run + " --memory-cap 1 --trace " + folder_ + "t.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  const auto nowhere = testing_program::run_line(traced_run + " --svg " + folder_ + "none/p.svg");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("--svg: "));
}

TEST_F(StepFiles, ATraceThatNoViewerShowsIsRefused) {
  const std::string large = "predict gpt3-175b --gpus 768 --tp 8 --pp 96 --global-batch 4096 --micro-batch 1 --trace ";
  const auto ran = testing_program::run_line(large + folder_ + "t.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--trace: the trace would have "));
  EXPECT_THAT(ran.err, HasSubstr("fewer micro-batches"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

/// The rows of the drawing: behind "  0  ".
std::vector<std::string> drawn_rows(const std::string& page) {
  std::istringstream lines(page.substr(page.find("\nTimeline")));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);)
    if (line.size() > 5 && line.starts_with("  ") && std::isdigit(line[2]) != 0 && line.substr(3, 2) == "  ")
      rows.push_back(line.substr(5));
  return rows;
}

TEST(PredictTimeline, DrawsARowPerRank) {
  const auto ran = testing_program::run_line(traced_run + " --timeline --stack nemo --global-batch 4");
  const auto rows = drawn_rows(ran.out);
  ASSERT_EQ(rows.size(), 4U);
  for (const std::string& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_TRUE(rows[0].starts_with("F0"));
  EXPECT_EQ(rows[0].find('B'), rows[0].find("B0"));
  EXPECT_TRUE(rows[3].starts_with("...")) << "waits for three forwards";
  EXPECT_THAT(rows[3], HasSubstr("B3"));
  EXPECT_THAT(ran.out, HasSubstr("lower bound"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b[")));
}

TEST(PredictTimeline, ColourChangesNoLetter) {
  std::vector<std::string> words;
  std::istringstream typed(traced_run + " --timeline");
  for (std::string word; typed >> word;) words.push_back(word);
  const auto plain = testing_program::run_line(words), colored = testing_program::run_line(words, true);
  std::string bare;
  for (std::size_t i = 0; i < colored.out.size(); ++i) {
    if (colored.out[i] == '\x1b') i = colored.out.find('m', i);
    else bare += colored.out[i];
  }
  EXPECT_EQ(drawn_rows(bare), drawn_rows(plain.out));
  EXPECT_NE(colored.out, plain.out);
}

TEST(PredictTimeline, OneStageHasATimelineToo) {
  const auto ran = testing_program::run_line("predict llama3-8b --gpus 8 --timeline");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(drawn_rows(ran.out).size(), 1U);
}

}  // namespace
}  // namespace stepcast::predict
