// stepcast timeline: what it writes and prints, and what it refuses.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/timeline/scene.h"
#include "tests/studies/run_program.h"

namespace stepcast::timeline::timeline_command_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using TimelineDocument = nlohmann::json;

testing_program::Ran timeline(const std::string& line) { return testing_program::run_line("timeline " + line); }

const std::string timed_run = "llama3-8b --gpus 16 --tp 2 --pp 4 --global-batch 16 ";

class TimelineFiles : public testing::Test {
 protected:
  TimelineFiles() { std::filesystem::create_directories(folder_); }
  ~TimelineFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(folder_ + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t events(const std::string& name) const {
    return TimelineDocument::parse(content(name)).at("traceEvents").size();
  }
  [[nodiscard]] std::string to(const std::string& name) const { return "-o " + folder_ + name + " "; }

  std::string folder_ = testing_program::own_path("timeline/");
};

TEST_F(TimelineFiles, TheEndingDecidesAndSeveralAreWritten) {
  const auto told = timeline(timed_run + to("t.json") + to("t.html") + to("t.SVG"));
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_TRUE(content("t.json").starts_with(trace_mark));
  EXPECT_GT(events("t.json"), 1000U);
  EXPECT_TRUE(content("t.html").starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(content("t.SVG").starts_with("<svg"));
  EXPECT_THAT(told.out, HasSubstr("t.json: a trace of events, "));
  EXPECT_THAT(told.out, HasSubstr("https://ui.perfetto.dev"));
  EXPECT_THAT(told.out, HasSubstr("t.html: a page"));
  EXPECT_THAT(told.out, HasSubstr("t.SVG: a picture"));
  EXPECT_THAT(told.out, Not(HasSubstr("lower bound"))) << "the drawing is for terminals";
}

TEST(TimelineCommand, DrawsInTheTerminalWithoutAFile) {
  const auto told = timeline(timed_run);
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("Timeline  1F1B"));
  EXPECT_THAT(told.out, HasSubstr("lower bound"));
}

TEST_F(TimelineFiles, DetailAndRanksDecideHowMuch) {
  ASSERT_EQ(timeline(timed_run + to("k.json")).code, 0);
  ASSERT_EQ(timeline(timed_run + to("a.json") + "--detail actions").code, 0);
  ASSERT_EQ(timeline(timed_run + to("ka.json") + "--detail kernels --ranks all").code, 0);
  ASSERT_EQ(timeline(timed_run + to("s.json") + "--ranks stages").code, 0);
  EXPECT_LT(events("a.json"), events("k.json") / 5);
  EXPECT_EQ(events("ka.json"), 4 * events("k.json")) << "16 GPUs in 4 stages";
  EXPECT_EQ(content("s.json"), content("k.json"));
}

TEST_F(TimelineFiles, JsonCountsTheEvents) {
  const auto told = timeline(timed_run + to("t.json") + "--json");
  ASSERT_EQ(told.code, 0) << told.err;
  const TimelineDocument document = TimelineDocument::parse(told.out);
  EXPECT_EQ(document.at("trace_events").at("kernels"), events("t.json"));
  EXPECT_LT(document.at("trace_events").at("actions"), document.at("trace_events").at("kernels"));
  EXPECT_EQ(document.at("pipeline").at("schedule"), "1f1b");
  EXPECT_GT(document.at("step_time_s").get<double>(), document.at("pipeline").at("makespan_s").get<double>());
  EXPECT_GE(document.at("streams").size(), 8U);
}

TEST_F(TimelineFiles, EarlierOnesAreReplacedOthersAreLeftAlone) {
  for (const char* name : {"t.json", "t.html", "t.svg"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(timeline(timed_run + to(name)).code, 0);
    const std::string first = content(name);
    std::ofstream(folder_ + name, std::ios::app) << "\n";
    ASSERT_EQ(timeline(timed_run + to(name)).code, 0) << "an earlier one of ours";
    EXPECT_EQ(content(name), first);
    std::ofstream(folder_ + name) << R"({"traceEvents": [], "note": "<svg stepcast"})";
    const std::string other = content(name);
    const auto told = timeline(timed_run + to(name));
    EXPECT_EQ(told.code, 2);
    EXPECT_THAT(told.err, HasSubstr("--output: "));
    EXPECT_THAT(told.err, HasSubstr("is no such file of stepcast"));
    EXPECT_EQ(content(name), other);
  }
}

TEST_F(TimelineFiles, NamesThatCannotBeWrittenAreRefusedBeforeTheWork) {
  const auto nowhere = timeline(timed_run + to("none/t.json"));
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be written"));
  const auto ending = timeline(timed_run + to("t.pdf"));
  EXPECT_EQ(ending.code, 2);
  for (const char* known : {".json", ".html", ".svg"}) EXPECT_THAT(ending.err, HasSubstr(known));
  const auto twice = timeline(timed_run + to("t.json") + to("./t.json"));
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("named twice"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TimelineFiles, WordsThatAreNoneAreRefusedWithThoseThatAre) {
  const auto detail = timeline(timed_run + to("t.json") + "--detail all");
  EXPECT_EQ(detail.code, 2);
  EXPECT_THAT(detail.err, HasSubstr("--detail: "));
  EXPECT_THAT(detail.err, HasSubstr("actions or kernels"));
  const auto ranks = timeline(timed_run + to("t.json") + "--ranks 4");
  EXPECT_EQ(ranks.code, 2);
  EXPECT_THAT(ranks.err, HasSubstr("--ranks: "));
  EXPECT_THAT(ranks.err, HasSubstr("stages or all"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TimelineFiles, WhatATraceHoldsIsNotSaidOfOtherFiles) {
  for (const char* words : {"--detail actions", "--ranks all"}) {
    const auto told = timeline(timed_run + to("p.svg") + words);
    EXPECT_EQ(told.code, 2);
    EXPECT_THAT(told.err, HasSubstr("none is written"));
    EXPECT_EQ(timeline(timed_run + words).code, 2);
    EXPECT_EQ(timeline(timed_run + "--json " + words).code, 0) << "the events are counted";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TimelineFiles, TracesThatNoViewerShowsAreRefused) {
  const std::string large = "llama3-70b --gpus 8192 --tp 8 --pp 8 --global-batch 8192 --micro-batch 1 ";
  const auto told = timeline(large + "--ranks all " + to("t.json") + to("p.svg"));
  EXPECT_EQ(told.code, 2);
  EXPECT_THAT(told.err, HasSubstr("--output: "));
  EXPECT_THAT(told.err, HasSubstr("more than the 4,000,000"));
  EXPECT_THAT(told.err, HasSubstr("--detail actions or --ranks stages"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing is half there";
  EXPECT_EQ(timeline(large + to("p.svg")).code, 0) << "a picture has no events";
}

}  // namespace
}  // namespace stepcast::timeline::timeline_command_test
