#include "studies/launch/emit/emit.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(EmitTargets, EachHasANameOfItsOwnAndWritesAPlan) {
  Scenario scenario = emit_tests::emit_scenario("llama3-8b");
  SplitWishes wishes;
  wishes.gpus = wishes.global_batch = 8;
  wishes.sequence = 8192;
  wishes.zero = 3;
  ASSERT_TRUE(emit_tests::take_wishes(scenario, wishes));
  const auto plan = plan_to_emit(scenario);
  ASSERT_TRUE(plan) << to_text(plan.error());
  std::set<std::string_view> ids;
  for (const EmitTarget& row : emit_targets()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_THAT(row.emit(*plan).text, EndsWith("\n")) << row.id;
    const auto found = find_emit_target(std::string(row.id), "--emit");
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, &row);
  }
  EXPECT_GE(ids.size(), 2U);
}

TEST(EmitTargets, AnUnknownOneIsAnErrorWithTheNearest) {
  const auto found = find_emit_target("megatrn", "--emit");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, "--emit");
  EXPECT_THAT(found.error().what, HasSubstr("'megatrn'"));
  EXPECT_THAT(found.error().hint, HasSubstr("megatron"));
}

}  // namespace
}  // namespace stepcast::launch
