// Results in numbers, JSON, texts and logs; one file is one run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/gate/results.h"
#include "tests/calibrate/import/sample_logs.h"
#include "tests/studies/gate/gate_sample.h"

namespace stepcast::gate {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

ResultPlace place(ResultSource from, const std::string& files, const char* unit) {
  ResultPlace made;
  made.from = from, made.files = files, made.unit = find_unit(unit);
  return made;
}

ResultPlace text_place(const std::string& pattern, ResultTake take = ResultTake::only) {
  ResultPlace made = place(ResultSource::text, "*.txt", "ms");
  made.pattern = pattern, made.take = take;
  return made;
}

std::vector<double> seconds_in(const GateFolder& folder, const ResultPlace& place, const StepWork& work = {}) {
  const auto found = find_results(place, folder.in(""), "", work);
  EXPECT_TRUE(found) << to_text(found.error());
  return found ? found->seconds : std::vector<double>();
}
std::string refusal_in(const GateFolder& folder, const ResultPlace& place, const StepWork& work = {}) {
  const auto found = find_results(place, folder.in(""), "", work);
  EXPECT_FALSE(found);
  return found ? "" : to_text(found.error());
}

TEST(GateResults, NumbersAreTimesOrRates) {
  const GateFolder folder;
  ResultPlace numbers = place(ResultSource::numbers, "", "ms");
  numbers.values = {500, 250};
  EXPECT_THAT(seconds_in(folder, numbers), ElementsAre(0.5, 0.25));
  numbers.unit = find_unit("tokens/s/GPU");
  EXPECT_THAT(seconds_in(folder, numbers), ElementsAre(0.002, 0.004));
}

TEST(GateResults, FilesAreInOrderOfTheirNumbers) {
  const GateFolder folder;
  for (const char* name : {"run10", "run9", "run1"})
    folder.write(std::string(name) + ".txt", std::string("t=") + (name + 3) + " ms\n");
  EXPECT_THAT(seconds_in(folder, text_place("t=([0-9]+) ms")), ElementsAre(0.001, DoubleEq(0.009), 0.010));
  EXPECT_TRUE(matching_files(folder.in(""), "*.log").empty());
}

TEST(GateResults, SeveralNumbersInAFileAreChosenFrom) {
  const GateFolder folder;
  folder.write("a.txt", "t=4\nt=2 t=9\nother\n");
  const std::string pattern = "t=([0-9.]+)";
  EXPECT_THAT(refusal_in(folder, text_place(pattern)), AllOf(HasSubstr("found 3 times"), HasSubstr("take")));
  EXPECT_THAT(seconds_in(folder, text_place(pattern, ResultTake::first)), ElementsAre(0.004));
  EXPECT_THAT(seconds_in(folder, text_place(pattern, ResultTake::last)), ElementsAre(DoubleEq(0.009)));
  EXPECT_THAT(seconds_in(folder, text_place(pattern, ResultTake::least)), ElementsAre(0.002));
  EXPECT_THAT(seconds_in(folder, text_place(pattern, ResultTake::median)), ElementsAre(0.004));
  EXPECT_THAT(seconds_in(folder, text_place(pattern, ResultTake::each)), ElementsAre(0.004, 0.002, DoubleEq(0.009)));
}

TEST(GateResults, ThousandsOfThemAreTooMany) {
  const GateFolder folder;
  std::string text;
  for (int i = 0; i < 1001; ++i) text += "t=4\n";
  folder.write("a.txt", text);
  EXPECT_THAT(refusal_in(folder, text_place("t=([0-9]+)", ResultTake::each)), HasSubstr("more than 1000 results"));
  EXPECT_THAT(seconds_in(folder, text_place("t=([0-9]+)", ResultTake::median)), ElementsAre(0.004));
}

TEST(GateResults, PatternsThatDoNotServe) {
  const GateFolder folder;
  folder.write("a.txt", "t=none\n" + std::string(5000, 'x') + "\n");
  EXPECT_THAT(refusal_in(folder, text_place("t=[0-9]+")), HasSubstr("0 groups"));
  EXPECT_THAT(refusal_in(folder, text_place("(t)=([0-9]+)")), HasSubstr("2 groups"));
  EXPECT_THAT(refusal_in(folder, text_place("t=([0-9]+")), HasSubstr("no regular expression"));
  EXPECT_THAT(refusal_in(folder, text_place("t=([0-9]+)")), AllOf(HasSubstr("a.txt"), HasSubstr("none of 2 lines")));
  EXPECT_THAT(refusal_in(folder, text_place("t=([a-z]+)")), AllOf(HasSubstr("a.txt:1"), HasSubstr("'none'")));
}

TEST(GateResults, LinesThatAreTooLongAreNamed) {
  const GateFolder folder;
  folder.write("a.txt", std::string(5000, 'x') + "\nt=3\n");
  const auto found = find_results(text_place("t=([0-9]+)"), folder.in(""), "", {});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->notes, ElementsAre(HasSubstr("1 lines of more than 4096 letters")));
}

TEST(GateResults, AFieldOfJson) {
  const GateFolder folder;
  ResultPlace json = place(ResultSource::json, "*.json", "us");
  json.field = "/metrics/0/step";
  folder.write("1.json", R"({ "metrics": [ { "step": 2000 } ] })");
  folder.write("2.json", R"({ "metrics": [ { "step": "3000" } ] })");
  EXPECT_THAT(seconds_in(folder, json), ElementsAre(0.002, 0.003));
  json.field = "/metrics/1/step";
  EXPECT_THAT(refusal_in(folder, json), AllOf(HasSubstr("1.json:/metrics/1/step"), HasSubstr("no such field")));
  json.field = "metrics";
  EXPECT_THAT(refusal_in(folder, json), HasSubstr("no JSON pointer"));
  json.field = "/metrics";
  EXPECT_THAT(refusal_in(folder, json), HasSubstr("no number above zero"));
  folder.write("1.json", "{");
  EXPECT_THAT(refusal_in(folder, json), HasSubstr("no JSON"));
}

/// 9 s is the first step, which is left out: the median of the others is 5 s.
TEST(GateResults, ALogIsOneRunWithItsSettledStep) {
  const GateFolder folder;
  folder.write("a.log", calibrate::sample_log::megatron_steps(calibrate::sample_log::settled_ms));
  EXPECT_THAT(seconds_in(folder, place(ResultSource::log, "*.log", "s")), ElementsAre(5.0));
  folder.write("b.log", "nothing of a training\n");
  EXPECT_THAT(refusal_in(folder, place(ResultSource::log, "*.log", "s")), HasSubstr("b.log"));
}

/// torchtitan logs tokens per second and GPU: 8,000 of 64,000 tokens on 8 GPUs is a second.
TEST(GateResults, ALogOfRatesNeedsTheStepsSize) {
  const GateFolder folder;
  std::string text;
  for (int i = 1; i <= 4; ++i)
    text += fmt::format(
        "[rank0]:2025-06-12 - root - INFO - step: {:2}  loss:  8.1  memory: 40.10GiB(50.69%)  tps: 8,000  mfu: 40.0%\n",
        i);
  folder.write("a.log", text);
  EXPECT_THAT(seconds_in(folder, place(ResultSource::log, "*.log", "s"), {8, 64'000, 8}), ElementsAre(1.0));
  EXPECT_THAT(refusal_in(folder, place(ResultSource::log, "*.log", "s")), HasSubstr("step size is unknown"));
}

}  // namespace
}  // namespace stepcast::gate
