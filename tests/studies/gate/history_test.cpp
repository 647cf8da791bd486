// The history in SQLite: what was recorded comes back, other files are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/gate/history.h"
#include "tests/studies/gate/gate_sample.h"

namespace stepcast::gate {
namespace {

using testing::HasSubstr;

RecordedCheck check(const std::string& name, double seconds, const std::string& commit = "abc") {
  return {name, "2026-03-01T12:00:00Z", commit, true, "s", {{seconds, "a.out", "{}"}, {seconds * 2, "b.out", ""}}};
}

TEST(GateHistory, WhatWasRecordedComesBackInOrder) {
  const GateFolder folder;
  {
    auto history = GateHistory::open(folder.in("h.sqlite"), true);
    ASSERT_TRUE(history) << to_text(history.error());
    EXPECT_EQ(*history->record({check("a", 1), check("b", 5)}), 2U);
    EXPECT_EQ(*history->record({check("a", 0.1 + 0.2)}), 1U);
  }
  const auto history = GateHistory::open(folder.in("h.sqlite"), false);
  ASSERT_TRUE(history) << to_text(history.error());
  const auto all = history->checks("a", 100);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].runs[1].seconds, 2);
  EXPECT_EQ((*all)[1].runs[0].seconds, 0.1 + 0.2) << "to the last bit";
  EXPECT_EQ((*all)[0].commit, "abc");
  EXPECT_EQ((*all)[0].runs[0].manifest, "{}");
  EXPECT_TRUE((*all)[0].good);
  EXPECT_EQ(history->checks("a", 1)->front().runs[0].seconds, 0.1 + 0.2) << "the last";
  EXPECT_TRUE(history->checks("c", 100)->empty());
}

TEST(GateHistory, TheSameCheckIsRecordedOnce) {
  const GateFolder folder;
  auto history = GateHistory::open(folder.in("h.sqlite"), true);
  ASSERT_TRUE(history);
  EXPECT_EQ(*history->record({check("a", 1)}), 1U);
  EXPECT_EQ(*history->record({check("a", 1)}), 0U);
  EXPECT_EQ(*history->record({check("a", 1, "def")}), 1U) << "another commit";
  RecordedCheck elsewhere = check("a", 1, "def");
  elsewhere.runs[0].file = "c.out";
  EXPECT_EQ(*history->record({elsewhere}), 1U) << "other results that say the same";
}

TEST(GateHistory, AFileThatIsNotThereIsEmpty) {
  const GateFolder folder;
  const auto history = GateHistory::open(folder.in("h.sqlite"), false);
  ASSERT_TRUE(history);
  EXPECT_TRUE(history->checks("a", 10)->empty());
  EXPECT_FALSE(std::filesystem::exists(folder.in("h.sqlite")));
}

TEST(GateHistory, OtherFilesAreRefused) {
  const GateFolder folder;
  const auto text = GateHistory::open(folder.write("text.sqlite", std::string(4096, 'x')), true);
  ASSERT_FALSE(text);
  EXPECT_THAT(to_text(text.error()), HasSubstr("SQLite"));
  const auto ran = testing_program::run_line(
      "sweep llama3-8b --machine dgx-h100 --gpus 8 --global-batch 64 -o " + folder.in("sweep.sqlite"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto foreign = GateHistory::open(folder.in("sweep.sqlite"), true);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(to_text(foreign.error()), HasSubstr("another program"));
}

}  // namespace
}  // namespace stepcast::gate
