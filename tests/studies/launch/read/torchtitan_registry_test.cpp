// torchtitan's commands since March 2026, `--module MODULE --config NAME`: what is trained stands in a function of the
// module's config_registry.py, and nothing is made up where that is not there.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// launch/run.sh, and the registry of Llama 3 in other/torchtitan/models/llama3.
class TorchtitanRegistry : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::path(testing::TempDir()) / ("torchtitan_registry_" + test);
    fs::remove_all(root_);
    fs::create_directories(root_ / "launch");
    fs::create_directories(root_ / "other/torchtitan/models/llama3");
    fs::copy_file(fs::path(STEPCAST_SOURCE_DIR) / "tests/studies/launch/launches/public/torchtitan_llama3.py",
        root_ / "other/torchtitan/models/llama3/config_registry.py");
  }
  void TearDown() override { fs::remove_all(root_); }

  /// What a command on 8 GPUs asks for, else the error.
  [[nodiscard]] std::string asked(const std::string& arguments, const std::vector<std::string>& from,
      bool lenient = false, const std::set<FieldId>& told = {}) const {
    std::ofstream(root_ / "launch/run.sh") << "torchrun --nproc_per_node=8 -m torchtitan.train " << arguments << "\n";
    LaunchSource source;
    source.flag = find_launch_flag("--launch");
    source.file = (root_ / "launch/run.sh").string();
    for (const std::string& folder : from) source.folders.push_back((root_ / folder).string());
    const auto launch = read_launch(source);
    if (!launch) return to_text(launch.error());
    LaunchHints hints;
    hints.lenient = lenient, hints.told.insert(told.begin(), told.end());
    const auto reading = read_meaning(*launch, hints);
    if (!reading) return to_text(reading.error());
    std::string said = reading->request.network->id;
    for (const auto& [key, value] : reading->request.said()) said += fmt::format(" {}={}", key, value.text);
    return said;
  }

  fs::path root_;
};

/// The functions have 1 and 8 sequences of 8192 a rank, the second with 8 ways of tensor parallelism: 8 ranks x 1, and
/// one copy of 8.
TEST_F(TorchtitanRegistry, TheNamedFunctionTellsTheRun) {
  for (const char* folder : {"other", "other/torchtitan", "other/torchtitan/models/llama3"})
    EXPECT_THAT(asked("--module llama3 --config llama3_8b", {folder}),
        AllOf(HasSubstr("llama3-8b "), HasSubstr("micro_batch=1"), HasSubstr("global_batch=8"),
            HasSubstr("sequence=8192"), HasSubstr(" tp=1")))
        << folder;
  EXPECT_THAT(asked("--module=llama3 --config=llama3_70b", {"other"}),
      AllOf(HasSubstr("llama3-70b "), HasSubstr(" tp=8"), HasSubstr("micro_batch=8"), HasSubstr("sequence=8192"),
          HasSubstr("recompute=full")));
  EXPECT_THAT(asked("--module torchtitan.models.llama3 --config llama3_8b", {"other"}), Not(HasSubstr("is not there")));
}

/// The function has 8192 tokens a micro-batch: 2 sequences of 4096.
TEST_F(TorchtitanRegistry, TheCommandLineGoesOverTheFunction) {
  EXPECT_THAT(asked("--module llama3 --config llama3_8b --training.seq_len 4096", {"other"}),
      AllOf(HasSubstr("llama3-8b "), HasSubstr("sequence=4096"), HasSubstr("micro_batch=2")));
}

TEST_F(TorchtitanRegistry, WithoutItNothingIsMadeUp) {
  for (const char* config : {"llama3 --config llama3_8b", "deepseek_v3 --config deepseek_v3_16b"})
    EXPECT_THAT(asked(fmt::format("--module {}", config), {}),
        AllOf(HasSubstr("config_registry.py"), HasSubstr("is not there"), HasSubstr("--files-from FOLDER")))
        << config;
  EXPECT_THAT(asked("--module llama3", {"other"}), HasSubstr("--module MODULE and --config NAME together"));
  EXPECT_THAT(asked("--module llama3 --config llama3_9b", {"other"}), HasSubstr("llama3_9b"));
  // nor are sizes of older releases, where the rest may be left open; and a family is no network
  const std::string of_16b = "--module deepseek_v3 --config deepseek_v3_16b";
  EXPECT_THAT(asked(of_16b, {}, true), HasSubstr("it alone tells sequences and batch"));
  EXPECT_THAT(asked(of_16b, {}, true, {FieldId::sequence, FieldId::micro_batch}),
      HasSubstr("'deepseek_v3' is no network of the catalogue"));
}

}  // namespace
}  // namespace stepcast::launch
