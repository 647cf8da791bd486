// stepcast timeline: what it writes and prints, and what it refuses.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/arguments.h"
#include "studies/timeline/scene.h"
#include "studies/timeline/timeline_flags.h"
#include "tests/studies/run_program.h"

namespace stepcast::timeline_command_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using TimelineDocument = nlohmann::json;

struct Told { bool good = false; std::string out, where, what, hint; };

Told timeline(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream typed(line);
  for (std::string word; typed >> word;) words.push_back(word);
  std::ostringstream out, err;
  Console console{out, err, false, true};
  const auto arguments = parse_arguments(timeline_flags(), 1, 1, "timeline", words);
  if (!arguments) return {false, "", arguments.error().where, arguments.error().what, arguments.error().hint};
  const auto ran = timeline_command(*arguments, console);
  if (!ran) return {false, out.str(), ran.error().where, ran.error().what, ran.error().hint};
  return {true, out.str(), "", "", ""};
}

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
  const Told told = timeline(timed_run + to("t.json") + to("t.html") + to("t.SVG"));
  ASSERT_TRUE(told.good) << told.what;
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
  const Told told = timeline(timed_run);
  ASSERT_TRUE(told.good) << told.what;
  EXPECT_THAT(told.out, HasSubstr("Timeline  1F1B"));
  EXPECT_THAT(told.out, HasSubstr("lower bound"));
}

TEST_F(TimelineFiles, DetailAndRanksDecideHowMuch) {
  ASSERT_TRUE(timeline(timed_run + to("k.json")).good);
  ASSERT_TRUE(timeline(timed_run + to("a.json") + "--detail actions").good);
  ASSERT_TRUE(timeline(timed_run + to("ka.json") + "--detail kernels --ranks all").good);
  ASSERT_TRUE(timeline(timed_run + to("s.json") + "--ranks stages").good);
  EXPECT_LT(events("a.json"), events("k.json") / 5);
  EXPECT_EQ(events("ka.json"), 4 * events("k.json")) << "16 GPUs in 4 stages";
  EXPECT_EQ(content("s.json"), content("k.json"));
}

TEST_F(TimelineFiles, JsonCountsTheEvents) {
  const Told told = timeline(timed_run + to("t.json") + "--json");
  ASSERT_TRUE(told.good) << told.what;
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
    ASSERT_TRUE(timeline(timed_run + to(name)).good);
    const std::string first = content(name);
    std::ofstream(folder_ + name, std::ios::app) << "\n";
    ASSERT_TRUE(timeline(timed_run + to(name)).good) << "an earlier one of ours";
    EXPECT_EQ(content(name), first);
    std::ofstream(folder_ + name) << R"({"traceEvents": [], "note": "<svg stepcast"})";
    const std::string other = content(name);
    const Told told = timeline(timed_run + to(name));
    EXPECT_FALSE(told.good);
    EXPECT_EQ(told.where, "--output");
    EXPECT_THAT(told.what, HasSubstr("no ." + std::string(name).substr(2) + " file of this command"));
    EXPECT_EQ(content(name), other);
  }
}

TEST_F(TimelineFiles, NamesThatCannotBeWrittenAreRefusedBeforeTheWork) {
  const Told nowhere = timeline(timed_run + to("none/t.json"));
  EXPECT_FALSE(nowhere.good);
  EXPECT_THAT(nowhere.what, HasSubstr("cannot be written"));
  const Told ending = timeline(timed_run + to("t.pdf"));
  EXPECT_FALSE(ending.good);
  for (const char* known : {".json", ".html", ".svg"}) EXPECT_THAT(ending.hint, HasSubstr(known));
  const Told twice = timeline(timed_run + to("t.json") + to("./t.json"));
  EXPECT_FALSE(twice.good);
  EXPECT_THAT(twice.what, HasSubstr("named twice"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TimelineFiles, WordsThatAreNoneAreRefusedWithThoseThatAre) {
  const Told detail = timeline(timed_run + to("t.json") + "--detail all");
  EXPECT_FALSE(detail.good);
  EXPECT_EQ(detail.where, "--detail");
  EXPECT_EQ(detail.hint, "actions or kernels");
  const Told ranks = timeline(timed_run + to("t.json") + "--ranks 4");
  EXPECT_FALSE(ranks.good);
  EXPECT_EQ(ranks.where, "--ranks");
  EXPECT_EQ(ranks.hint, "stages or all");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TimelineFiles, WhatATraceHoldsIsNotSaidOfOtherFiles) {
  for (const char* words : {"--detail actions", "--ranks all"}) {
    const Told told = timeline(timed_run + to("p.svg") + words);
    EXPECT_FALSE(told.good);
    EXPECT_THAT(told.what, HasSubstr("none is written"));
    EXPECT_FALSE(timeline(timed_run + words).good);
    EXPECT_TRUE(timeline(timed_run + "--json " + words).good) << "the events are counted";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TimelineFiles, TracesThatNoViewerShowsAreRefused) {
  const std::string large = "llama3-70b --gpus 8192 --tp 8 --pp 8 --global-batch 8192 --micro-batch 1 ";
  const Told told = timeline(large + "--ranks all " + to("t.json") + to("p.svg"));
  EXPECT_FALSE(told.good);
  EXPECT_EQ(told.where, "--output");
  EXPECT_THAT(told.what, HasSubstr("more than the 4,000,000"));
  EXPECT_EQ(told.hint, "--detail actions or --ranks stages");
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing is half there";
  EXPECT_TRUE(timeline(large + to("p.svg")).good) << "a picture has no events";
}

}  // namespace
}  // namespace stepcast::timeline_command_test
