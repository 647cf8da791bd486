// Launch and configuration files of public repositories other than NVIDIA's, restated (launches/public_sources.json
// says where each is from and what a reader gets of it by hand): each is read right, or refused with the reason.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "tests/studies/launch/restated_launch.h"

namespace stepcast::launch {
namespace {

using testing_launch::RestatedLaunch;

std::vector<RestatedLaunch> public_launches() { return testing_launch::restated_launches("public_sources.json"); }

class PublicLaunches : public testing::TestWithParam<RestatedLaunch> {};

/// The whole way of a launch: it is read, understood and completed; the first error counts.
Expected<LaunchReading> whole_reading(const RestatedLaunch& row) {
  TRY(const auto launch, testing_launch::read_restated(row));
  EXPECT_EQ(launch.framework->id, row.framework);
  return testing_launch::restated_meaning(row, launch);
}

std::string understood(const LaunchReading& reading, const std::string& key) {
  if (key == "network") return reading.request.network->id;
  if (key == "parameters") return std::to_string(parameter_count(reading.request.network->row));
  if (key == "gradient_bytes") return fmt::format("{}", reading.request.stack->row.gradient_bytes);
  const auto found = reading.request.said().find(key);
  return found == reading.request.said().end() ? "(nothing)" : found->second.text;
}

/// --launch says nothing of the framework.
TEST_P(PublicLaunches, AreRecognisedWithoutAFlagOfTheirOwn) {
  RestatedLaunch row = GetParam();
  const auto named = testing_launch::read_restated(row);
  row.flag = "--launch";
  const auto recognised = testing_launch::read_restated(row);
  ASSERT_EQ(named.has_value(), recognised.has_value()) << to_text((named ? recognised : named).error());
  if (!named) {
    EXPECT_EQ(to_text(recognised.error()), to_text(named.error()));
    return;
  }
  EXPECT_EQ(recognised->framework->id, named->framework->id);
  EXPECT_EQ(recognised->arguments.size(), named->arguments.size());
}

TEST(RecognisedLaunch, WhatShowsNoFrameworkIsRefused) {
  LaunchSource source;
  source.flag = find_launch_flag("--launch");
  const auto launch = read_launch_text("torchrun train.py --epochs 3 --seed 1\n", "run.sh", source);
  ASSERT_FALSE(launch);
  EXPECT_THAT(to_text(launch.error()), testing::HasSubstr("which framework it is of"));
  EXPECT_THAT(launch.error().hint, testing::HasSubstr("--megatron, --nemo"));
}

TEST_P(PublicLaunches, AreReadRightOrRefusedWithTheReason) {
  const RestatedLaunch& from = GetParam();
  const auto reading = whole_reading(from);
  if (!from.refused.empty()) {
    ASSERT_FALSE(reading);
    EXPECT_THAT(to_text(reading.error()), testing::HasSubstr(from.refused));
    EXPECT_FALSE(reading.error().hint.empty());
    return;
  }
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_GT(from.expected.size(), 1U);
  for (const auto& [key, value] : from.expected) EXPECT_EQ(understood(*reading, key), value) << key;
  if (!from.notes.empty()) {
    EXPECT_THAT(reading->notes, testing::Contains(testing::HasSubstr(from.notes)));
  }
}

/// No argument of theirs is passed over because nobody knows it.
TEST_P(PublicLaunches, HaveNoUnknownArgument) {
  if (!GetParam().refused.empty()) return;
  const auto launch = testing_launch::read_restated(GetParam());
  ASSERT_TRUE(launch) << to_text(launch.error());
  for (const GivenArgument& given : launch->arguments)
    EXPECT_NE(launch->framework->table().find(given.name), nullptr) << given.name << ", line " << given.line;
}

INSTANTIATE_TEST_SUITE_P(Restated, PublicLaunches, testing::ValuesIn(public_launches()),
    [](const auto& row) { return testing_launch::case_name(row.param); });

TEST(PublicLaunchTable, HasSixtyFilesWithTheirSources) {
  std::set<std::string> sources;
  for (const RestatedLaunch& row : public_launches()) {
    EXPECT_TRUE(sources.insert(row.repository + "/" + row.path).second) << row.path << " is there twice";
    EXPECT_FALSE(row.at.empty()) << row.file;
    EXPECT_NE(row.refused.empty(), row.expected.empty()) << row.file;
    EXPECT_FALSE(row.repository.starts_with("NVIDIA/")) << row.file;
  }
  EXPECT_GE(sources.size(), 60U);
}

TEST(PublicLaunchTable, AFileInTheWrongFlagIsReadAsWhatItIs) {
  for (RestatedLaunch row : public_launches()) {
    if (!row.refused.empty() || row.framework.empty() || row.framework == "megatron-lm" || row.flag == "--nemo")
      continue;  // --nemo takes both
    const std::string own = row.flag;
    row.flag = "--nemo";
    const auto launch = testing_launch::read_restated(row);
    ASSERT_TRUE(launch) << row.file << ": " << to_text(launch.error());
    EXPECT_EQ(launch->framework->id, row.framework) << row.file;
    EXPECT_THAT(launch->notes, testing::Contains(testing::HasSubstr("its own flag is " + own))) << row.file;
  }
}

}  // namespace
}  // namespace stepcast::launch
