// What a gate's file may say, and what is refused with its place in the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/gate/gate_file.h"
#include "tests/studies/gate/gate_sample.h"

namespace stepcast::gate {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const GateFolder folder;
  const auto read = read_gate_file(folder.write("gate.json", text));
  EXPECT_FALSE(read) << text;
  return read ? "" : to_text(read.error());
}

TEST(GateFile, ReadsWhatItSays) {
  const GateFolder folder;
  const auto file = read_gate_file(folder.write("gate.json", R"json({
    "history": "h.sqlite", "environment": ["NCCL_ALGO"], "find": "5 %", "cases": [
    { "name": "a", "forecast": "predict llama3-8b --gpus 8", "command": "run {output}", "repeats": 5, "seed": 3,
      "false_alarms": "0.5 %", "looks": 2, "result": { "from": "log" },
      "must": { "mfu": { "at_least": "40 %" }, "forecast": { "within": "10 %" }, "last_good": { "slower_by": "0 %" } } },
    { "name": "b", "forecast": ["kernel", "gemm"], "gpus": 16,
      "result": { "from": "text", "files": "*.txt", "pattern": "(x)", "unit": "s", "take": "least" },
      "must": { "scaling": { "over": "a", "kind": "strong", "at_least": "90 %" } } } ] })json"));
  ASSERT_TRUE(file) << to_text(file.error());
  ASSERT_EQ(file->cases.size(), 2U);
  const GateCase &a = file->cases[0], &b = file->cases[1];
  EXPECT_EQ(a.forecast, (std::vector<std::string>{"predict", "llama3-8b", "--gpus", "8"}));
  EXPECT_EQ(a.rates.find, 0.05);
  EXPECT_EQ(a.rates.alarm(), 0.0025);
  EXPECT_EQ(b.rates.alarm(), 0.01);
  EXPECT_EQ(a.musts.size(), 3U);
  EXPECT_EQ(a.musts[0].kind, MustKind::forecast);
  EXPECT_EQ(a.musts[0].limit, 0.1);
  EXPECT_EQ(a.musts[1].kind, MustKind::last_good);
  EXPECT_EQ(a.result.files, "");
  EXPECT_EQ(b.result.take, ResultTake::least);
  EXPECT_TRUE(b.musts[0].strong);
  EXPECT_EQ(file->history, folder.in("h.sqlite"));
  EXPECT_EQ(file->runs, folder.in("gate-runs"));
}

TEST(GateFile, NamesWhatIsWrongAndWhere) {
  EXPECT_THAT(refusal("{"), HasSubstr("gate.json"));
  EXPECT_THAT(refusal(R"({ "cases": [] })"), HasSubstr("no case"));
  EXPECT_THAT(refusal(R"({ "case": [] })"), HasSubstr("cases"));
  EXPECT_THAT(refusal(one_case("1", "{}")), HasSubstr("nothing must hold"));
  EXPECT_THAT(refusal(one_case("1", R"({ "mfu": { "at_least": "40 %" } })")),
      AllOf(HasSubstr("/cases/0/must/mfu"), HasSubstr("no forecast")));
  EXPECT_THAT(refusal(one_case("1", R"({ "last_god": { "slower_by": "1 %" } })")), HasSubstr("last_good"));
  EXPECT_THAT(refusal(one_case("1", R"({ "last_good": { "slower_by": "1" } })")), HasSubstr("slower_by"));
  EXPECT_THAT(refusal(one_case("1", R"({ "last_good": { "slower_by": "-1 %" } })")),
      AllOf(HasSubstr("slower_by"), HasSubstr("\"2.5 %\""), testing::Not(HasSubstr("0.19"))));
  EXPECT_THAT(refusal(one_case("1", R"({ "last_good": { "slower_by": "0.01" } })")), HasSubstr("\"2.5 %\""));
  EXPECT_THAT(refusal(one_case("0", held_to_a_second())), HasSubstr("/cases/0/result/values"));
  EXPECT_THAT(refusal(one_case("-1", held_to_a_second())), HasSubstr("/cases/0/result/values"));
  EXPECT_THAT(refusal(one_case("1", held_to_a_second(), R"("repeats": 0, )")), HasSubstr("/cases/0/repeats"));
  EXPECT_THAT(refusal(one_case("1", held_to_a_second(), R"("find": "0 %", )")), HasSubstr("/cases/0/find"));
  EXPECT_THAT(
      refusal(one_case("1", held_to_a_second(), R"("forecast": "predict 'a b'", )")), HasSubstr("a list of words"));
}

TEST(GateFile, CasesMustFitTogether) {
  const auto two = [](const std::string& first, const std::string& second, const std::string& unit,
                       const std::string& must) {
    const std::string baseline = held_to_a_second();
    return R"({ "cases": [ { "name": ")" + first +
           R"(", "result": { "from": "numbers", "unit": "s", "values": [1] }, "must": )" + baseline +
           R"( }, { "name": ")" + second + R"(", "result": { "from": "numbers", "unit": ")" + unit +
           R"(", "values": [1] }, "must": )" + must + " } ] }";
  };
  const auto over = [](const std::string& name) {
    return R"({ "speedup": { "over": ")" + name + R"(", "at_least": 2 } })";
  };
  EXPECT_THAT(refusal(two("a", "a", "s", over("a"))), HasSubstr("two cases are named a"));
  EXPECT_THAT(refusal(two("abc", "b", "s", over("abd"))), HasSubstr("did you mean 'abc'?"));
  EXPECT_THAT(refusal(two("a", "b", "s", over("b"))), HasSubstr("against itself"));
  EXPECT_THAT(refusal(two("a", "b", "tokens/s", over("a"))), HasSubstr("b is in tokens/s and a in s"));
  EXPECT_THAT(refusal(two("a", "b", "samples/s", over("a"))), HasSubstr("b is in samples/s and a in s"));
  EXPECT_THAT(refusal(two("a", "../b", "s", over("a"))), HasSubstr("cannot name files"));
  EXPECT_THAT(refusal(two("a", "b", "sec", over("a"))), HasSubstr("no unit of results"));
  EXPECT_THAT(refusal(two("a", "b", "s", R"({ "last_good": { "slower_by": "1 %" } })")), HasSubstr("no history"));
  EXPECT_THAT(refusal(two("a", "b", "s", R"({ "scaling": { "over": "a", "at_least": "90 %" } })")), HasSubstr("kind"));
}

/// Tokens and samples have one size, so that rates of a job grow with its GPUs; of steps somebody has to say it.
TEST(GateFile, RatesOfDifferentThingsAreNotCompared) {
  EXPECT_TRUE(comparable(*find_unit("s"), *find_unit("us")));
  EXPECT_TRUE(comparable(*find_unit("tokens/s"), *find_unit("tokens/s")));
  EXPECT_FALSE(comparable(*find_unit("tokens/s"), *find_unit("samples/s")));
  EXPECT_FALSE(comparable(*find_unit("tokens/s"), *find_unit("tokens/s/GPU")));
  EXPECT_FALSE(comparable(*find_unit("steps/s"), *find_unit("s")));
  EXPECT_FALSE(find_unit("steps/s")->fixed_work);
  EXPECT_TRUE(find_unit("tokens/s")->fixed_work);
}

}  // namespace
}  // namespace stepcast::gate
