// Files of Timeloop and MAESTRO that were made to break their readers: each is read or refused, and soon.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "dataflow/translate/foreign.h"
#include "tests/fuzz/yaml_texts.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

bool refused_foreign(const std::string& format, const std::vector<SourceFile>& files) {
  const auto read = import_foreign(format, files);
  if (read) return false;
  const Error& error = read.error();
  EXPECT_FALSE(error.where.empty() || error.what.empty() || error.hint.empty()) << format << ": " << to_text(error);
  EXPECT_LT(to_text(error).size(), 4'000u);
  return true;
}

std::string fuzzed_example(const std::string& name) {
  std::ifstream file(std::string(STEPCAST_SOURCE_DIR) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A piece of YAML in place of some bytes of a file that is read.
std::string spoilt(std::string text, std::mt19937& random) {
  const std::size_t at = random() % text.size();
  return text.replace(at, random() % 20, testing_fuzz::random_yaml(random).substr(0, 1 + random() % 12));
}

TEST(YamlFuzz, ForeignFilesAreReadOrRefused) {
  std::mt19937 random(5);
  const std::string timeloop = fuzzed_example("examples/timeloop_ws.yaml");
  int bad = 0;
  const int all = trials(500);
  for (int i = 0; i < all; ++i) {
    bad += refused_foreign("timeloop", {{"f.yaml", spoilt(timeloop, random)}});
    bad += refused_foreign("timeloop", {{"f.yaml", testing_fuzz::random_yaml(random)}});
    bad += refused_foreign(
        "maestro", {{"hw.m", testing_fuzz::random_yaml(random)}, {"map.m", testing_fuzz::random_yaml(random)}});
  }
  EXPECT_GT(bad, 2 * all);
}

TEST(YamlFuzz, ForeignTextsThatStandForVeryMuchAreRefused) {
  for (std::size_t i = 0; i < testing_fuzz::hostile_yamls; ++i) {
    const std::string text = testing_fuzz::hostile_yaml(i);
    EXPECT_TRUE(refused_foreign("timeloop", {{"f.yaml", text}})) << i;
    EXPECT_TRUE(refused_foreign("maestro", {{"hw.m", text}, {"map.m", text}})) << i;
  }
}

}  // namespace
}  // namespace stepcast::dataflow
