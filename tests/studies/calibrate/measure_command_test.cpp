// stepcast calibrate measure from its settings to its files, on a GPU of arithmetic.
#include "studies/calibrate/measure_settings.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "calibrate/rows/measurement_file.h"
#include "model/base/json_reader.h"
#include "model/profile/profile.h"
#include "tests/calibrate/measure/fake_gpu.h"
#include "tests/studies/run_program.h"

namespace stepcast::calibration {
namespace {

using testing::HasSubstr;

/// A machine with one fake H100 and no collectives.
struct FakeMachine {
  FakeGpuOptions options;
  int devices = 1;
  int stop_after = -1;  ///< questions whether to stop, then yes; -1 = never
  int asked = 0;

  MeasureDoors doors() {
    MeasureDoors doors;
    doors.devices = [this]() -> Expected<std::vector<DeviceInfo>> {
      return std::vector<DeviceInfo>(static_cast<std::size_t>(devices), options.device);
    };
    doors.libraries = [] { return std::vector<LibraryState>{{"cublasLt", "13.0", ""}, {"nccl", "", "not found"}}; };
    doors.open_gpu = [this](int) -> Expected<std::unique_ptr<GpuBench>> { return std::make_unique<FakeGpu>(options); };
    doors.place = [] { return launch_place([](const char*) -> const char* { return nullptr; }); };
    doors.open_collectives = [](const LaunchPlace&) -> Expected<std::unique_ptr<CollectiveBench>> {
      return fail("nccl", "libnccl.so.2 is not here", "install it");
    };
    doors.interrupted = [this] { return stop_after >= 0 && asked++ >= stop_after; };
    doors.date = "2026-11-21";
    return doors;
  }
};

struct CommandRun {
  std::string out, err, failed;  ///< failed: what an exception or an error said
  bool good = false;
};

CommandRun run_measure(FakeMachine& machine, const MeasureSettings& settings) {
  std::ostringstream out, err;
  Console console{out, err};
  CommandRun ran;
  try {
    const auto done = measure(settings, machine.doors(), console);
    ran.good = done.has_value();
    if (!done) ran.failed = to_text(done.error());
  } catch (const std::exception& problem) {
    ran.failed = problem.what();
  }
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

MeasureSettings to_file(const std::string& name) {
  MeasureSettings settings;
  settings.output = testing_program::own_path("measure_" + name + ".json");
  settings.budget = Seconds(40);
  std::filesystem::remove(settings.output);
  return settings;
}

Measurements rows_in(const std::string& file) {
  const auto text = read_text_file(file);
  EXPECT_TRUE(text) << file;
  const auto rows = read_measurements(*text, file);
  EXPECT_TRUE(rows) << (rows ? "" : to_text(rows.error()));
  return rows ? *rows : Measurements{};
}

TEST(MeasureCommand, MeasuresFitsAndSaysWhatToTrust) {
  FakeMachine machine;
  machine.options.noise = 0.01;
  MeasureSettings settings = to_file("whole");
  settings.profile = testing_program::own_path("measure_whole_profile.json");
  const CommandRun ran = run_measure(machine, settings);
  ASSERT_TRUE(ran.good) << ran.failed;
  const Measurements rows = rows_in(settings.output);
  EXPECT_GT(rows.rows.size(), 50u);
  EXPECT_EQ(rows.contexts.at(0).gpu, "h100-sxm");
  const auto text = read_text_file(settings.profile);
  ASSERT_TRUE(text);
  const auto profile = read_profile(*text, settings.profile);
  ASSERT_TRUE(profile) << to_text(profile.error());
  EXPECT_EQ(profile->id, "h100-sxm-measured");
  EXPECT_FALSE(profile->roofs.empty());
  // The fake's products run at 700 TFLOP/s.
  EXPECT_NEAR(find_gemm(*profile, Precision::bf16)->compute.value() / 700e12, 1, 0.05);
  EXPECT_THAT(ran.out, HasSubstr("bf16"));
}

TEST(MeasureCommand, JsonIsOneDocument) {
  FakeMachine machine;
  MeasureSettings settings = to_file("json");
  settings.json = true;
  const CommandRun ran = run_measure(machine, settings);
  ASSERT_TRUE(ran.good) << ran.failed;
  EXPECT_TRUE(nlohmann::json::accept(ran.out)) << ran.out;
}

TEST(MeasureCommand, DryRunPlansForACardThatIsNotHere) {
  FakeMachine machine;
  machine.devices = 0;
  MeasureSettings settings;
  settings.dry_run = true;
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("--gpu h100-sxm"));
  settings.gpu = "b200";
  const CommandRun ran = run_measure(machine, settings);
  ASSERT_TRUE(ran.good) << ran.failed;
  settings.json = true;
  const auto plan = nlohmann::json::parse(run_measure(machine, settings).out);
  EXPECT_LE(plan["estimate_s"].get<double>(), plan["budget_s"].get<double>());
  EXPECT_DOUBLE_EQ(plan["budget_s"].get<double>(), 180);
}

TEST(MeasureCommand, InterruptedKeepsItsRowsAndGoesOn) {
  FakeMachine machine;
  machine.stop_after = 400;
  MeasureSettings settings = to_file("interrupted");
  const CommandRun first = run_measure(machine, settings);
  EXPECT_FALSE(first.good);
  EXPECT_THAT(first.failed, HasSubstr("--resume"));
  const std::size_t kept = rows_in(settings.output).rows.size();
  EXPECT_GT(kept, 0u);
  machine.stop_after = -1;
  settings.resume = true;
  const CommandRun second = run_measure(machine, settings);
  ASSERT_TRUE(second.good) << second.failed;
  const std::size_t all = rows_in(settings.output).rows.size();
  EXPECT_GT(all, kept);
  FakeMachine untouched;
  MeasureSettings whole = to_file("uninterrupted");
  ASSERT_TRUE(run_measure(untouched, whole).good);
  EXPECT_LE(rows_in(whole.output).rows.size(), all) << "the second call had a budget of its own";
}

TEST(MeasureCommand, ASlowCardUsesItsBudgetAndIsDone) {
  FakeMachine machine;
  machine.options.slower = 6;
  MeasureSettings settings = to_file("slow");
  const CommandRun ran = run_measure(machine, settings);
  ASSERT_TRUE(ran.good) << ran.failed;
  EXPECT_THAT(ran.out, HasSubstr("budget"));
  EXPECT_GT(rows_in(settings.output).rows.size(), 10u);
}

TEST(MeasureCommand, ALostCardFailsTheRunAndKeepsItsRows) {
  FakeMachine machine;
  machine.options.faults = {{FakeCall::replay, 600, FakeFault::loses_gpu}};
  MeasureSettings settings = to_file("lost");
  const CommandRun ran = run_measure(machine, settings);
  EXPECT_FALSE(ran.good);
  EXPECT_THAT(ran.failed, HasSubstr(settings.output));
  EXPECT_GT(rows_in(settings.output).rows.size(), 0u);
}

TEST(MeasureCommand, ACardThatTheCatalogueLacksIsNamed) {
  FakeMachine machine;
  machine.options.device.name = "NVIDIA Imaginary 9000";
  MeasureSettings settings = to_file("unknown");
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("Imaginary 9000"));
  settings.gpu = "h200-sxm";
  EXPECT_TRUE(run_measure(machine, settings).good);
  EXPECT_EQ(rows_in(settings.output).contexts.at(0).gpu, "h200-sxm");
}

TEST(MeasureCommand, AnotherCardsFileIsNotGoneOnWith) {
  FakeMachine machine;
  machine.stop_after = 300;
  MeasureSettings settings = to_file("other_card");
  (void)run_measure(machine, settings);
  FakeMachine other;
  other.options.settings.driver = "999.1";
  settings.resume = true;
  const CommandRun ran = run_measure(other, settings);
  EXPECT_FALSE(ran.good);
  EXPECT_THAT(ran.failed, HasSubstr("999.1"));
}

TEST(MeasureCommand, WrongChoicesAreExplained) {
  FakeMachine machine;
  MeasureSettings settings;
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("-o M.json"));
  settings = to_file("wrong");
  settings.index = 3;
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("there are 1 GPUs"));
  settings.index = 0;
  settings.only = {"gem"};
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("gemm"));
  settings.only = {"collectives"};
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("two GPUs"));
  settings.only = {};
  settings.budget = Seconds(1);
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("--budget"));
  settings.budget = Seconds(40);
  settings.output = "/nonexistent/folder/m.json";
  EXPECT_THAT(run_measure(machine, settings).failed, HasSubstr("cannot be written"));
  settings = to_file("nothing_to_resume");
  settings.resume = true;
  EXPECT_FALSE(run_measure(machine, settings).good);
}

TEST(MeasureCommand, OnlyTheNamedPhasesRun) {
  FakeMachine machine;
  MeasureSettings settings = to_file("only");
  settings.only = {"bandwidth", "launch"};
  const CommandRun ran = run_measure(machine, settings);
  ASSERT_TRUE(ran.good) << ran.failed;
  for (const Measurement& row : rows_in(settings.output).rows)
    EXPECT_FALSE(std::holds_alternative<GemmQuery>(row.what) || std::holds_alternative<AttentionQuery>(row.what));
}

TEST(MeasureCommand, ProgramSaysWhatIsMissing) {
  const auto ran = testing_program::run_line("calibrate measure -o /tmp/never_written.json");
  if (devices()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(ran.code, 2);
  EXPECT_FALSE(ran.err.empty());
  EXPECT_FALSE(std::filesystem::exists("/tmp/never_written.json"));
}

}  // namespace
}  // namespace stepcast::calibration
