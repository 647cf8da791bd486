// Tables over features: sums by hand, fading outside the samples, files that read back the same.
#include <gtest/gtest.h>

#include <array>

#include "model/profile/correction.h"

namespace stepcast {
namespace {

constexpr std::array two_names{"size", "width"};

/// One table with two questions: size > 3? width > 10?
Correction one_table() {
  Correction c;
  c.depth = 2;
  c.feature = {0, 1};
  c.threshold = {3, 10};
  c.value = {0.1F, 0.2F, 0.3F, 0.4F};  // neither, size, width, both
  c.low = {0, 0};
  c.high = {8, 20};
  return c;
}

Expected<Correction> read_back(const std::string& text) {
  JsonObject file("{\"correction\": " + text + "}", "profile.json");
  const Correction c = read_correction(file.object("correction"), two_names);
  return file.finish(c);
}

TEST(Correction, a_question_per_bit) {
  const Correction c = one_table();
  EXPECT_FLOAT_EQ(sum_at(c, std::array{1.0F, 1.0F}), 0.1F);
  EXPECT_FLOAT_EQ(sum_at(c, std::array{4.0F, 1.0F}), 0.2F);
  EXPECT_FLOAT_EQ(sum_at(c, std::array{1.0F, 11.0F}), 0.3F);
  EXPECT_FLOAT_EQ(sum_at(c, std::array{4.0F, 11.0F}), 0.4F);
  EXPECT_EQ(sum_at(Correction{}, {}), 0);
}

TEST(Correction, fades_outside_what_it_has_seen) {
  const Correction c = one_table();
  EXPECT_EQ(distance_outside(c, std::array{4.0F, 11.0F}), 0);
  EXPECT_EQ(distance_outside(c, std::array{10.0F, 11.0F}), 2);
  EXPECT_EQ(distance_outside(c, std::array{-1.0F, 23.0F}), 3);
  EXPECT_EQ(faded(0.4, 0), 0.4);
  EXPECT_NEAR(faded(0.4, 2), 0.4 * 0.3679, 1e-4);
  EXPECT_LT(faded(0.4, 4), 0.01);
}

TEST(Correction, file_reads_back_the_same) {
  const Correction c = one_table();
  const auto back = read_back(write_correction(c, two_names));
  ASSERT_TRUE(back.has_value()) << to_text(back.error());
  EXPECT_EQ(back->depth, c.depth);
  EXPECT_EQ(back->feature, c.feature);
  EXPECT_EQ(back->threshold, c.threshold);
  EXPECT_EQ(back->value, c.value);
  EXPECT_EQ(back->low, c.low);
  EXPECT_EQ(back->high, c.high);
}

TEST(Correction, one_that_was_learned_with_fewer_features_goes_on_as_it_was) {
  constexpr std::array three_names{"size", "width", "colour"};
  const std::string before = write_correction(one_table(), two_names);
  JsonObject file("{\"correction\": " + before + "}", "profile.json");
  const Correction c = read_correction(file.object("correction"), three_names);
  ASSERT_TRUE(file.finish(c).has_value());
  EXPECT_FLOAT_EQ(sum_at(c, std::array{4.0F, 11.0F, 99.0F}), 0.4F);
  EXPECT_EQ(distance_outside(c, std::array{4.0F, 11.0F, 99.0F}), 0);
  EXPECT_EQ(write_correction(c, three_names), before);
}

TEST(Correction, names_in_another_order_are_not_those_it_was_learned_with) {
  constexpr std::array swapped{"width", "size", "colour"};
  JsonObject file("{\"correction\": " + write_correction(one_table(), two_names) + "}", "profile.json");
  const Correction c = read_correction(file.object("correction"), swapped);
  const auto back = file.finish(c);
  ASSERT_FALSE(back.has_value());
  EXPECT_NE(back.error().where.find("/correction/features"), std::string::npos);
  EXPECT_NE(back.error().hint.find("colour"), std::string::npos);
}

TEST(Correction, broken_files_are_refused_with_the_place) {
  const std::string good = write_correction(one_table(), two_names);
  const std::array<std::array<const char*, 3>, 6> breaks{
      {{"\"0 1\"", "\"0 2\"", "/correction/ask"}, {"\"0 1\"", "\"0\"", "/correction/ask"},
          {"\"3 10\"", "\"3\"", "/correction/above"}, {"\"3 10\"", "\"3 ten\"", "/correction/above"},
          {"1000 2000", "2000", "/correction/value_e4"}, {"\"width\"", "\"depth\"", "/correction/features"}}};
  for (const auto& [from, to, where] : breaks) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from << " in " << good;
    text.replace(text.find(from), std::string(from).size(), to);
    const auto back = read_back(text);
    ASSERT_FALSE(back.has_value()) << to;
    EXPECT_NE(back.error().where.find(where), std::string::npos) << back.error().where << " for " << to;
  }
}

}  // namespace
}  // namespace stepcast
