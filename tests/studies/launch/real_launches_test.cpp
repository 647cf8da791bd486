// Launches from public documentation, restated (launches/sources.json says where each is from): every one is read, no
// argument of it is unknown, it means what its authors say, and it can be forecast.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "tests/studies/launch/restated_launch.h"

namespace stepcast::launch {
namespace {

using testing_launch::RestatedLaunch;

class RealLaunches : public testing::TestWithParam<RestatedLaunch> {
 protected:
  void SetUp() override {
    auto read = testing_launch::read_restated(GetParam());
    ASSERT_TRUE(read) << to_text(read.error());
    launch_ = std::move(*read);
  }

  [[nodiscard]] Expected<LaunchReading> meaning() const {
    return testing_launch::restated_meaning(GetParam(), launch_);
  }

  Launch launch_;
};

TEST_P(RealLaunches, IsOfItsFramework) {
  EXPECT_EQ(launch_.framework->id, GetParam().framework);
  EXPECT_GT(launch_.arguments.size(), 1U);
}

TEST_P(RealLaunches, NoArgumentIsUnknown) {
  const ArgumentTable& table = launch_.framework->table();
  for (const GivenArgument& given : launch_.arguments) {
    const ArgumentFact* fact = table.find(given.name);
    ASSERT_NE(fact, nullptr) << given.spelled << " " << given.value << ", line " << given.line;
    EXPECT_TRUE(table.knows(*fact, GetParam().release)) << given.spelled << " is not known to " << GetParam().release;
    EXPECT_FALSE(fact->what.empty());
  }
}

/// Not quite a network of the catalogue: dropout, say, is another.
void expect_sizes_of(const NetworkSpec& there, const NetworkSpec& here) {
  EXPECT_EQ(here.layers, there.layers);
  EXPECT_EQ(here.hidden, there.hidden);
  EXPECT_EQ(here.heads, there.heads);
  EXPECT_EQ(here.ffn_hidden, there.ffn_hidden);
  EXPECT_EQ(here.vocab, there.vocab);
  EXPECT_EQ(here.positions, there.positions);
  EXPECT_EQ(here.norm, there.norm);
}

TEST_P(RealLaunches, MeansWhatItsAuthorsSay) {
  const RestatedLaunch& from = GetParam();
  const auto reading = meaning();
  if (!from.not_covered.empty()) {
    EXPECT_FALSE(reading) << from.not_covered;
    return;
  }
  ASSERT_TRUE(reading) << to_text(reading.error());
  for (const auto& [key, value] : from.expected) {
    const auto found = reading->request.said().find(key);
    const std::string of_key = found == reading->request.said().end() ? "(nothing)" : found->second.text;
    const std::string said = key == "network" ? reading->request.network->id : of_key;
    EXPECT_EQ(said, value) << key;
  }
  if (from.like.empty()) return;
  const auto like = choose_network(from.like, "");
  ASSERT_TRUE(like);
  expect_sizes_of(like->row, reading->request.network->row);
}

TEST_P(RealLaunches, CanBeForecast) {
  const RestatedLaunch& from = GetParam();
  if (!from.not_covered.empty()) return;
  const auto reading = meaning();
  ASSERT_TRUE(reading) << to_text(reading.error());
  const auto scenario = complete(reading->request);
  if (!from.refused.empty()) {
    ASSERT_FALSE(scenario);
    EXPECT_THAT(to_text(scenario.error()), testing::HasSubstr(from.refused));
    return;
  }
  ASSERT_TRUE(scenario) << to_text(scenario.error());
  const auto prediction = run::predict(*scenario);
  ASSERT_TRUE(prediction) << to_text(prediction.error());
  EXPECT_GT(prediction->step.step_time.value(), 0);
}

INSTANTIATE_TEST_SUITE_P(Documented, RealLaunches, testing::ValuesIn(testing_launch::restated_launches()),
    [](const auto& row) { return testing_launch::case_name(row.param); });

TEST(RealLaunchTable, HasAtLeast25FilesOfAllFrameworks) {
  std::set<std::string> files, programs;
  for (const RestatedLaunch& row : testing_launch::restated_launches()) {
    files.insert(row.file), programs.insert(row.framework);
    EXPECT_FALSE(row.repository.empty() || row.path.empty() || row.at.empty()) << row.file;
  }
  for (const RestatedLaunch& row : testing_launch::restated_launches("public_sources.json"))
    if (!row.framework.empty()) programs.insert(row.framework);
  EXPECT_GE(files.size(), 25U);
  EXPECT_EQ(programs.size(), frameworks().size());
}

}  // namespace
}  // namespace stepcast::launch
