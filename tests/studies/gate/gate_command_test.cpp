// stepcast gate: findings, forms and exit codes.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/gate/gate_sample.h"
#include "tests/studies/gate/simulated_runs.h"

namespace stepcast::gate {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_program::Ran;
using testing_program::run_line;

Ran checked(const GateFolder& folder, const std::string& text, const std::string& flags = "") {
  return run_line("gate check " + folder.write("gate.json", text) + " " + flags);
}

TEST(GateCommand, SlowerIsExitCodeOneAndNothingElseIs) {
  const GateFolder folder;
  const Ran slower = checked(folder, one_case(ten_runs(1.05), held_to_a_second()));
  EXPECT_EQ(slower.code, 1);
  EXPECT_THAT(slower.err, HasSubstr("1 of 1 cases is slower"));
  EXPECT_THAT(slower.out, AllOf(HasSubstr("slower  at most 1 % slower than the baseline"), HasSubstr("+5.0 %")));
  const Ran equal = checked(folder, one_case(ten_runs(1.002), held_to_a_second()));
  EXPECT_EQ(equal.code, 0);
  EXPECT_THAT(equal.out, HasSubstr("equal  at most"));
  EXPECT_EQ(equal.err, "");
  const Ran faster = checked(folder, one_case(ten_runs(0.9), held_to_a_second()));
  EXPECT_EQ(faster.code, 0);
  EXPECT_THAT(faster.out, HasSubstr("faster"));
}

TEST(GateCommand, TooFewRunsAreUndecidedAndSayHowMany) {
  const GateFolder folder;
  const Ran few = checked(folder, one_case("1.2, 1.21, 1.19", held_to_a_second()));
  EXPECT_EQ(few.code, 0);
  EXPECT_THAT(few.out, AllOf(HasSubstr("undecided"), HasSubstr("needs 7 more runs, 10 in all")));
  // as many as were asked for, but six cannot show anything against a number
  const Ran six =
      checked(folder, one_case("5, 5, 5, 5, 5, 5", R"({ "forecast": { "within": "10 %" } })",
                          R"("repeats": 6, "forecast": "predict llama3-8b --gpus 8 --zero 3 --global-batch 32", )"));
  EXPECT_EQ(six.code, 0);
  EXPECT_THAT(six.out, HasSubstr("needs 1 more run, 7 in all"));
}

/// The forecast is some 3.2 s: twice as long is slower, and half of the MFU.
TEST(GateCommand, AgainstForecastAndMfu) {
  const GateFolder folder;
  const std::string forecast =
      R"("forecast": "predict llama3-8b --gpus 8 --zero 3 --global-batch 32 --stack megatron-core", )";
  const std::string must = R"({ "forecast": { "within": "20 %" }, "mfu": { "at_least": "40 %" } })";
  const Json fine = Json::parse(checked(folder, one_case(ten_runs(3.3), must, forecast), "--json").out);
  EXPECT_EQ(fine.at("cases_equal"), 1) << fine.dump(1);
  const double step = fine.at("cases")[0].at("forecast_s");
  const Ran slow = checked(folder, one_case(ten_runs(2 * step), must, forecast), "--json");
  EXPECT_EQ(slow.code, 1);
  const Json json = Json::parse(slow.out);
  EXPECT_EQ(json.at("cases")[0].at("musts")[0].at("finding"), "slower");
  EXPECT_NEAR(json.at("cases")[0].at("musts")[0].at("shift").get<double>(), 1.0, 0.02);
  EXPECT_EQ(json.at("cases")[0].at("musts")[1].at("must"), "mfu");
  EXPECT_NEAR(json.at("cases")[0].at("musts")[1].at("reached").get<double>(), 0.264, 0.01);
  const Ran fast = checked(folder, one_case(ten_runs(0.7 * step), must, forecast));
  EXPECT_EQ(fast.code, 0);
  EXPECT_THAT(fast.out, HasSubstr("faster  within 20 % of the forecast"));
}

/// The forecast's MFU is 53 %: a step of 0.6 s in place of 3.2 s would be at 280 %.
TEST(GateCommand, MoreThanAGpuCanDoIsDoubted) {
  const GateFolder folder;
  const std::string forecast = R"("forecast": "predict llama3-8b --gpus 8 --zero 3 --global-batch 32", )";
  const Ran ran = checked(folder, one_case(ten_runs(0.6), R"({ "mfu": { "at_least": "40 %" } })", forecast));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("undecided"), HasSubstr("% of what the GPU can do")));
}

TEST(GateCommand, WhatForecastsNoTimeOrIsNotThereIsWrongInput) {
  const GateFolder folder;
  const std::string must = R"({ "forecast": { "within": "20 %" } })";
  for (const char* more : {"--what-if", "--roofline"}) {
    const std::string forecast = fmt::format(R"("forecast": "infer llama3-8b --context 1024 {}", )", more);
    const Ran ran = checked(folder, one_case(ten_runs(1), must, forecast));
    EXPECT_EQ(ran.code, 2) << more;
    EXPECT_THAT(ran.err, HasSubstr(std::string(more) + " writes something else")) << more;
  }
  const Ran missing =
      checked(folder, R"({ "cases": [ { "name": "c", "result": { "from": "log", "files": "none.log" }, "must": )" +
                          held_to_a_second() + " } ] }");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.log: is not there"));
}

/// 1 s on 8 GPUs and 1.25 s on 64 with the work of each kept: 80 %. Of a work that stays, an eighth would be 100 %.
TEST(GateCommand, ScalingBetweenCases) {
  const GateFolder folder;
  const auto file = [&](const std::string& kind, double seconds, const char* at_least) {
    return R"({ "cases": [ { "name": "n8", "gpus": 8, "result": { "from": "numbers", "unit": "s", "values": [)" +
           ten_runs(1) + R"(] }, "must": )" + held_to_a_second() +
           R"( }, { "name": "n64", "gpus": 64, "result": { "from": "numbers", "unit": "s", "values": [)" +
           ten_runs(seconds) + R"(] }, "must": { "scaling": { "over": "n8", "kind": ")" + kind + R"(", "at_least": ")" +
           at_least + R"(" } } } ] })";
  };
  const auto reached = [&](const std::string& text) {
    return Json::parse(checked(folder, text, "--json").out).at("cases")[1].at("musts")[0].at("reached").get<double>();
  };
  EXPECT_NEAR(reached(file("weak", 1.25, "70 %")), 0.8, 1e-9);
  EXPECT_NEAR(reached(file("strong", 0.15625, "70 %")), 0.8, 1e-9);
  EXPECT_EQ(checked(folder, file("weak", 1.25, "78 %")).code, 0);
  EXPECT_EQ(checked(folder, file("weak", 1.25, "85 %")).code, 1);
  EXPECT_EQ(checked(folder, file("strong", 0.15625, "85 %")).code, 1);
  EXPECT_THAT(checked(folder, file("weak", 1.25, "70 %")).out, HasSubstr("8 to 64 GPUs, weak scaling"));
  EXPECT_THAT(checked(folder, file("strong", 0.15625, "70 %")).out, HasSubstr("8 to 64 GPUs, strong scaling"));
  // An eighth of the time called weak would be 640 %: nothing scales so.
  const Ran beyond = checked(folder, file("weak", 0.15625, "70 %"));
  EXPECT_THAT(beyond.out, AllOf(HasSubstr("1 undecided"), HasSubstr("640 % of ideal scaling")));
  EXPECT_THAT(checked(folder, file("weak", 1 / 1.04, "70 %")).out, HasSubstr("0 undecided"));
}

/// 80,000 tokens/s on 8 GPUs and 512,000 on 64 are 10,000 and 8,000 of each: 80 %.
TEST(GateCommand, ScalingOfRates) {
  const GateFolder folder;
  const auto named = [](const char* name, int gpus, const char* unit, double rate, const std::string& must) {
    return fmt::format(
               R"({{ "name": "{}", "gpus": {}, "result": {{ "from": "numbers", "unit": "{}", "values": [{}] }},)", name,
               gpus, unit, ten_runs(rate)) +
           R"("must": )" + must + " }";
  };
  const auto reached = [&](const char* unit, double few, double many) {
    const std::string baseline = fmt::format(
        R"({{ "baseline": {{ "slower_by": "1 %", "result": {{ "from": "numbers", "unit": "{}", "values": [{}] }} }} }})",
        unit, ten_runs(few));
    const Ran ran = checked(folder,
        R"({ "cases": [ )" + named("n8", 8, unit, few, baseline) + ", " +
            named("n64", 64, unit, many, R"({ "scaling": { "over": "n8", "at_least": "70 %" } })") + " ] }",
        "--json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Json::parse(ran.out).at("cases")[1].at("musts")[0].at("reached").get<double>();
  };
  EXPECT_NEAR(reached("tokens/s", 80'000, 512'000), 0.8, 1e-9);
  EXPECT_NEAR(reached("tokens/s/GPU", 10'000, 8'000), 0.8, 1e-9);
}

/// 41 s against 7 s is 5.86 times as fast.
TEST(GateCommand, SpeedupOverAnotherCase) {
  const GateFolder folder;
  const auto file = [&](const char* at_least) {
    return R"({ "cases": [ { "name": "cpu", "result": { "from": "numbers", "unit": "s", "values": [)" + ten_runs(41) +
           R"(] }, "must": { "baseline": { "slower_by": "1 %", "result": { "from": "numbers", "unit": "s", "values": [)" +
           ten_runs(41) + R"(] } } } }, { "name": "gpu", "result": { "from": "numbers", "unit": "ms", "values": [)" +
           ten_runs(7000) + R"(] }, "must": { "speedup": { "over": "cpu", "at_least": )" + at_least + " } } } ] }";
  };
  EXPECT_THAT(checked(folder, file("4")).out, HasSubstr("5.86 times"));
  EXPECT_EQ(checked(folder, file("4")).code, 0);
  EXPECT_EQ(checked(folder, file("6")).code, 1);
}

TEST(GateCommand, TheLastGoodCheckIsTheMeasure) {
  const GateFolder folder;
  const std::string must = R"({ "last_good": { "slower_by": "1 %" } })";
  const Ran first = checked(folder, one_case(ten_runs(1), must), "--record --commit one");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out,
      AllOf(HasSubstr("undecided"), HasSubstr("no good check is recorded yet"), HasSubstr("1 check recorded")));
  EXPECT_THAT(checked(folder, one_case(ten_runs(1), must)).out,
      AllOf(HasSubstr("equal"), HasSubstr("these very runs, nothing newer was measured")));
  const Ran bad = checked(folder, one_case(ten_runs(1.1), must), "--record --commit two");
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("commit one"));
  const Ran again = checked(folder, one_case(ten_runs(1.101), must));
  EXPECT_EQ(again.code, 1) << "a slow check does not become the measure";
  EXPECT_THAT(again.out, HasSubstr("commit one"));
  EXPECT_EQ(checked(folder, one_case(ten_runs(1.001), must), "--record --commit three").code, 0);
}

TEST(GateCommand, AChangeInTheHistoryIsShown) {
  const GateFolder folder;
  const std::string must = R"({ "last_good": { "slower_by": "20 %" } })";
  SimulatedRuns noise(1, 0.004, 0);
  for (int i = 0; i < 20; ++i) {
    const double level = std::exp(noise.run(i < 17 ? 0 : std::log(1.05)));
    const Ran ran = checked(folder, one_case(ten_runs(level), must), "--record --commit c" + std::to_string(i));
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  const Ran now = checked(folder, one_case(ten_runs(1.053), must));
  EXPECT_THAT(now.out, AllOf(HasSubstr("level: "), HasSubstr("slower since 3 checks ago"), HasSubstr("commit c17")));
  const Json json = Json::parse(checked(folder, one_case(ten_runs(1.053), must), "--json").out);
  EXPECT_EQ(json.at("cases")[0].at("history_checks"), 21);
  EXPECT_NEAR(json.at("cases")[0].at("changes")[0].at("change").get<double>(), 0.05, 0.01);
}

TEST(GateCommand, FormsForCi) {
  const GateFolder folder;
  const std::string text = one_case(ten_runs(1.05), held_to_a_second());
  const std::string junit = folder.in("junit.xml");
  const Ran plain = checked(folder, text, "--junit " + junit);
  EXPECT_EQ(plain.code, 1);
  EXPECT_THAT(folder.read("junit.xml"),
      AllOf(HasSubstr(R"(tests="1" failures="1" skipped="0")"), HasSubstr(R"(<testcase classname="stepcast.gate.c")"),
          HasSubstr("<failure message=\"slower\">")));
  EXPECT_EQ(checked(folder, text, "--junit " + junit).code, 1) << "its own file is written over";
  EXPECT_THAT(
      checked(folder, text, "--markdown").out, AllOf(HasSubstr("| c | 10 | 1.05 s |"), HasSubstr("**slower**")));
  EXPECT_THAT(checked(folder, text, "--annotations github").out,
      AllOf(HasSubstr("::error file="), HasSubstr("title=c slower::at most 1 %25 slower than the baseline")));
  const Json list = Json::parse(checked(folder, text, "--annotations gitlab").out);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].at("severity"), "major");
  EXPECT_EQ(list[0].at("fingerprint").get<std::string>().size(), 16U);
  EXPECT_EQ(list[0].at("location").at("lines").at("begin"), 1);
  const std::string fine = one_case(ten_runs(1), held_to_a_second());
  EXPECT_EQ(Json::parse(checked(folder, fine, "--annotations gitlab").out).size(), 0U);
  EXPECT_THAT(checked(folder, fine, "--annotations github").out, Not(HasSubstr("::")));
}

TEST(GateCommand, RatesAreBetterWhenTheyAreHigher) {
  const GateFolder folder;
  const auto file = [&](double now) {
    return R"({ "cases": [ { "name": "c", "result": { "from": "numbers", "unit": "tokens/s", "values": [)" +
           ten_runs(now) +
           R"(] }, "must": { "baseline": { "slower_by": "1 %", "result": { "from": "numbers", "unit": )" +
           R"("tokens/s", "values": [)" + ten_runs(10'000) + "] } } } } ] }";
  };
  EXPECT_EQ(checked(folder, file(9000)).code, 1);
  EXPECT_THAT(checked(folder, file(11'000)).out, AllOf(HasSubstr("faster"), HasSubstr("tokens/s")));
}

TEST(GateCommand, TheMachinesManifest) {
  const Ran ran = run_line("gate manifest");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Json::parse(ran.out).contains("gpu"));
  EXPECT_EQ(run_line("gate manifest --json").code, 0);
}

TEST(GateCommand, WrongUse) {
  const GateFolder folder;
  const std::string file = folder.write("gate.json",
      R"({ "cases": [ { "name": "c", "result": { "from": "numbers", "unit": "s", "values": [1] }, "must": )" +
          held_to_a_second() + " } ] }");
  const auto refused = [&](const std::string& line) {
    const Ran ran = run_line(line);
    EXPECT_EQ(ran.code, 2) << line << ran.err;
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(refused("gate chekc " + file), HasSubstr("nothing that a gate does"));
  EXPECT_THAT(refused("gate check"), HasSubstr("no file is named"));
  EXPECT_THAT(refused("gate check /no/such.json"), HasSubstr("/no/such.json"));
  EXPECT_THAT(refused("gate check " + file + " --more 2"), HasSubstr("gate check does not take it"));
  EXPECT_THAT(refused("gate check " + file + " --json --markdown"), HasSubstr("does not go with"));
  EXPECT_THAT(refused("gate check " + file + " --annotations jenkins"), HasSubstr("github or gitlab"));
  EXPECT_THAT(refused("gate check " + file + " --record"), HasSubstr("names no history"));
  EXPECT_THAT(refused("gate check " + file + " --commit x"), HasSubstr("nothing is recorded"));
  EXPECT_THAT(refused("gate check " + file + " --junit " + file), HasSubstr("is a file that this command reads"));
  EXPECT_THAT(refused("gate manifest " + file + " --more 1"), HasSubstr("gate manifest does not take it"));
}

TEST(GateCommand, RequirementsThatTheForecastCannotMeet) {
  const GateFolder folder;
  const Ran mfu = checked(folder,
      one_case("1", R"({ "mfu": { "at_least": "40 %" } })", R"("forecast": "kernel gemm --m 64 --n 64 --k 64", )"));
  EXPECT_EQ(mfu.code, 2);
  EXPECT_THAT(mfu.err, HasSubstr("mfu goes with predict"));
  const Ran gpus =
      checked(folder, one_case("1", held_to_a_second(),
                          R"("gpus": 16, "forecast": "predict llama3-8b --gpus 8 --zero 3 --global-batch 32", )"));
  EXPECT_EQ(gpus.code, 2);
  EXPECT_THAT(gpus.err, HasSubstr("16 GPUs, and the forecast is of 8"));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Pages may only quote commands that end well; this one does not.
TEST(GateCommand, ThePageShowsASlowerCase) {
  const std::string root = std::string(STEPCAST_SOURCE_DIR) + "/";
  const Ran ran = run_line("gate check " + root + "examples/gate/slower.json");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(text_of(root + "docs/gates.md"), HasSubstr("```\n" + ran.out.substr(root.size()) + "```"));
}

}  // namespace
}  // namespace stepcast::gate
