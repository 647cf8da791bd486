#include "studies/sweep/sweep_flags.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/sweep/space/axes.h"

namespace stepcast::sweep {
namespace {

using testing::Not;

TEST(SweepFlags, AxesTakeListsAndEveryFlagStandsOnce) {
  std::vector<std::string_view> names, groups;
  for (const Flag& flag : sweep_flags()) {
    EXPECT_THAT(names, Not(testing::Contains(flag.name)));
    names.push_back(flag.name);
    if (groups.empty() || groups.back() != flag.group) groups.push_back(flag.group);
    if (find_axis(flag.name) == nullptr) continue;
    EXPECT_EQ(flag.kind, FlagKind::text) << flag.name;
    EXPECT_EQ(flag.check, nullptr) << flag.name;
    EXPECT_EQ(flag.doc, find_axis(flag.name)->axis.doc);
  }
  for (const AxisRow& row : axis_rows())
    EXPECT_TRUE(row.flag.empty() || std::find(names.begin(), names.end(), row.flag) != names.end()) << row.key;
  for (const char* output : {"--explain", "--timeline", "--svg", "--trace", "--print-scenario", "--mapping"})
    EXPECT_THAT(names, Not(testing::Contains(output)));
  std::sort(groups.begin(), groups.end());
  EXPECT_EQ(std::adjacent_find(groups.begin(), groups.end()), groups.end()) << "the help would print a heading twice";
}

TEST(SweepFlags, SnapshotsAreSecondsToADay) {
  EXPECT_EQ(snapshot_seconds("0.05", "--snapshot").value(), 0.05);
  EXPECT_EQ(snapshot_seconds("86400", "--snapshot").value(), 86'400);
  for (const char* text : {"", "0", "-1", "0.009", "86401", "2s", "often", "nan", "inf"}) {
    const auto wrong = snapshot_seconds(text, "--snapshot");
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().where, "--snapshot");
    EXPECT_EQ(wrong.error().hint, "from 0.01 to 86400");
  }
}

}  // namespace
}  // namespace stepcast::sweep
