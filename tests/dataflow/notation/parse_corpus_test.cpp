// The texts that fuzzing found worth keeping, and every shipped program, asked what the fuzz target asks.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/fuzz/check_text.h"

namespace stepcast::dataflow {
namespace {

int replay(const std::string& folder) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(STEPCAST_SOURCE_DIR) + "/" + folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(complaint_about(text.str()), "") << entry.path();
    ++files;
  }
  return files;
}

TEST(ParseCorpus, TextsOfTheFuzzerAreAnswered) { EXPECT_GE(replay("tests/fuzz/corpus"), 24); }

TEST(ParseCorpus, ShippedProgramsPrintAndReadBack) {
  EXPECT_GE(replay("examples"), 6);
  EXPECT_GE(replay("dataflow/aliases"), 20);
}

}  // namespace
}  // namespace stepcast::dataflow
