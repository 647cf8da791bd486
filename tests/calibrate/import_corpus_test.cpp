// The texts that fuzzing the importers found worth keeping, asked what the fuzz target asks; and small damage to them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/fuzz/check_import.h"

namespace stepcast::calibrate {
namespace {

std::vector<std::string> import_corpus() {
  std::vector<std::string> texts;
  for (const auto& entry :
      std::filesystem::directory_iterator(std::string(STEPCAST_SOURCE_DIR) + "/tests/fuzz/import_corpus")) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(ImportCorpus, TextsOfTheFuzzerAreAnswered) {
  const auto texts = import_corpus();
  EXPECT_GE(texts.size(), 8u);
  for (const std::string& text : texts) EXPECT_EQ(complaint_about_import(text), "") << text.substr(0, 200);
}

TEST(ImportCorpus, DamagedTextsAreAnswered) {
  std::mt19937 random(11);
  for (const std::string& text : import_corpus())
    for (int round = 0; round < 40 && !text.empty(); ++round) {
      std::string damaged = text;
      const std::size_t at = random() % damaged.size();
      if (round % 3 == 0) damaged[at] = static_cast<char>(random() % 256);
      else if (round % 3 == 1) damaged.erase(at, 1 + random() % 9);
      else damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 30));
      EXPECT_EQ(complaint_about_import(damaged), "") << damaged.substr(0, 300);
    }
}

}  // namespace
}  // namespace stepcast::calibrate
