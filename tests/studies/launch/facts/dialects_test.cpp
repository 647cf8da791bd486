#include "studies/launch/facts/dialects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch {
namespace {

using testing::HasSubstr;

Expected<Launch> read_in(const std::string& text, const std::string& where = "run.yaml") {
  LaunchSource source;
  source.flag = &launch_flags().front();
  source.file = where;
  return read_launch_text(text, where, source);
}

TEST(Dialects, EveryOneIsReadOrSaysWhatWouldBeNeeded) {
  for (const Dialect& row : dialects()) {
    EXPECT_NE(row.framework.empty(), row.needed.empty()) << row.name;
    if (!row.framework.empty()) {
      EXPECT_NE(find_framework(row.framework), nullptr) << row.name;
    }
  }
  for (const Dialect& row : text_dialects()) EXPECT_FALSE(row.needed.empty()) << row.name;
}

/// A file with the marks of a dialect, all of one alternative together, is told to be of that dialect.
TEST(Dialects, MarksTellTheDialect) {
  for (const Dialect& row : dialects())
    for (std::string_view rest = row.marks; !rest.empty();) {
      std::string_view together = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), together.size() + 1));
      Launch launch;
      for (; !together.empty(); together.remove_prefix(std::min(together.size(), together.find(' ') + 1))) {
        std::string name(together.substr(0, together.find(' ')));
        if (name.ends_with('.')) name += "any";
        launch.arguments.push_back({name, name, "1", 1, {}});
        if (together.find(' ') == together.npos) break;
      }
      const Dialect* found = dialect_of(launch);
      ASSERT_NE(found, nullptr) << row.name;
      EXPECT_EQ(found->name, row.name) << launch.arguments.front().name;
    }
}

TEST(Dialects, WhatIsNotReadIsNamed) {
  const auto maxtext = read_in("base_emb_dim: 4096\nbase_num_decoder_layers: 32\nper_device_batch_size: 4\n");
  ASSERT_FALSE(maxtext);
  EXPECT_THAT(to_text(maxtext.error()), HasSubstr("a configuration of MaxText, which is recognised and not read"));
  EXPECT_THAT(maxtext.error().hint, HasSubstr("--stack jax"));
  const auto colossal = read_in("from colossalai import x\nplugin = dict(tp_size=2)\n", "config.py");
  ASSERT_FALSE(colossal);
  EXPECT_THAT(colossal.error().what, HasSubstr("ColossalAI"));
}

TEST(Dialects, WhatNoForecastFollowsIsAnErrorWithItsLine) {
  const std::string axolotl = "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nload_in_4bit: ";
  const auto meaning = [&](const std::string& value) {
    const auto launch = read_in(axolotl + value + "\n");
    EXPECT_TRUE(launch) << value;
    const auto reading = read_meaning(*launch, {});
    return reading ? "" : to_text(reading.error());
  };
  EXPECT_THAT(meaning("true"), HasSubstr("run.yaml:3 load_in_4bit true (frozen weights of few bits are not forecast)"));
  EXPECT_THAT(meaning("false"), testing::Not(HasSubstr("load_in_4bit")));
}

TEST(Dialects, ADeepSpeedFileThatIsNotThereIsAskedFor) {
  const std::string axolotl =
      "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\ndeepspeed: configs/zero3.json\n";
  const auto refused = read_in(axolotl);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, HasSubstr("--zero_optimization.stage N"));
}

}  // namespace
}  // namespace stepcast::launch
