// Cases that are started: templates, outputs, manifests, runs that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/gate/run_cases.h"
#include "tests/studies/gate/gate_sample.h"

namespace stepcast::gate {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_program::run_line;

std::string commanded(const std::string& command, const std::string& more = "") {
  return R"({ "environment": ["GATE_TEST"], "cases": [ { "name": "c", "repeats": 3, )" + more + R"("command": ")" +
         command + R"json(", "result": { "from": "text", "pattern": "t=([0-9.]+)", "unit": "s" }, "must": )json" +
         held_to_a_second() + " } ] }";
}

TEST(GateRun, TemplatesAreFilled) {
  const std::vector<std::pair<std::string, std::string>> values{{"case", "a"}, {"repeat", "3"}};
  EXPECT_EQ(*filled_template("run {case}-{repeat} ${{X}} {{}}", values, "w"), "run a-3 ${X} {}");
  const auto bad = filled_template("run {reapet}", values, "w");
  ASSERT_FALSE(bad);
  EXPECT_THAT(to_text(bad.error()), AllOf(HasSubstr("{reapet}"), HasSubstr("'repeat'")));
}

TEST(GateRun, WhatIsMissingIsRunWithAManifestBesideIt) {
  const GateFolder folder;
  const std::string file =
      folder.write("gate.json", commanded("echo t={repeat} {case} seed {seed}", R"("seed": 40, )"));
  auto ran = run_line("gate run " + file);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "3 made, 0 there from before, 0 failed\n");
  EXPECT_EQ(folder.read("gate-runs/c/002.out"), "t=2 c seed 41\n");
  const auto manifest = nlohmann::json::parse(folder.read("gate-runs/c/002.manifest.json"));
  EXPECT_EQ(manifest.at("seed"), "41");
  EXPECT_EQ(manifest.at("repeat"), "2");
  EXPECT_TRUE(manifest.at("environment").contains("GATE_TEST"));
  EXPECT_EQ(run_line("gate run " + file).out, "0 made, 3 there from before, 0 failed\n");
  EXPECT_EQ(run_line("gate run " + file + " --more 2").out, "2 made, 0 there from before, 0 failed\n");
  EXPECT_EQ(folder.read("gate-runs/c/005.out"), "t=5 c seed 44\n");
}

TEST(GateRun, AJobMayWriteItsOutputAndManifestItself) {
  const GateFolder folder;
  const std::string file = folder.write("gate.json", commanded("echo t=1 > {output}; echo mine > {manifest}"));
  EXPECT_EQ(run_line("gate run " + file).code, 0);
  EXPECT_EQ(folder.read("gate-runs/c/001.out"), "t=1\n");
  EXPECT_EQ(folder.read("gate-runs/c/001.manifest.json"), "mine\n");
  const auto none = run_line("gate run " + folder.write("none.json", commanded("true {output}")) + " --more 1");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.out, HasSubstr("it wrote no output"));
}

TEST(GateRun, AFailedRunLeavesNoResult) {
  const GateFolder folder;
  const std::string file = folder.write("gate.json", commanded("echo t=1; test {repeat} != 2"));
  const auto ran = run_line("gate run " + file);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2 made, 0 there from before, 1 failed"), HasSubstr("c, run 2: exit code 1")));
  EXPECT_FALSE(std::filesystem::exists(folder.in("gate-runs/c/002.out")));
  EXPECT_EQ(folder.read("gate-runs/c/002.failed"), "t=1\n");
  EXPECT_THAT(run_line("gate run " + file + " --json").out, HasSubstr("\"runs_failed\": 1"));
}

TEST(GateRun, WhatCannotBeStarted) {
  const GateFolder folder;
  const std::string none = folder.write("none.json", one_case("1", held_to_a_second()));
  EXPECT_THAT(run_line("gate run " + none).err, HasSubstr("no case has a command"));
  EXPECT_THAT(run_line("gate run " + none + " --case d").err, HasSubstr("no case is named 'd'"));
  EXPECT_THAT(run_line("gate run " + none + " --case c").err, HasSubstr("c has no command"));
  const std::string file = folder.write("gate.json", commanded("echo {seed}"));
  EXPECT_EQ(run_line("gate run " + file).code, 2);
  EXPECT_THAT(run_line("gate run " + file).err, HasSubstr("/cases/0/command: {seed} is not known"));
  EXPECT_FALSE(std::filesystem::exists(folder.in("gate-runs"))) << "checked before anything runs";
}

}  // namespace
}  // namespace stepcast::gate
