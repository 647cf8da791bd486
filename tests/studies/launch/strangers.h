// Launches as strangers write them, each in a folder of its own, and what predict says of them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::launch::strangers_test {

using testing_program::Ran;
using testing_program::run_line;

inline const std::string sizes =
    " --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 512 --vocab-size 32000 --bf16";

class StrangersLaunch : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("strangers_") + test->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Ran predict(const std::string& flag, const std::string& text, const std::string& more = "") {
    const char* ending = flag == "--nemo" ? "run.yaml" : flag == "--torchtitan" ? "run.toml" : "run.sh";
    return run_line(fmt::format("predict {} {} {}", flag, write(ending, text), more));
  }

  std::filesystem::path folder_;
};

}  // namespace stepcast::launch::strangers_test
