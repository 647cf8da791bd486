#include "studies/launch/facts/framework.h"

#include <gtest/gtest.h>

#include "calibrate/import/logs/training_log.h"
#include "model/catalog.h"
#include "studies/records/stack_rule.h"

namespace stepcast::launch {
namespace {

TEST(Framework, EveryLoggedProgramIsKnown) {
  for (const LogFormat& format : log_formats())
    EXPECT_NE(find_framework(format.framework), nullptr) << format.framework;
  EXPECT_EQ(find_framework("jax"), nullptr);
}

TEST(Framework, ItsStackIsThatOfTodaysRecords) {
  for (const Framework& framework : frameworks()) {
    records::Run run;
    run.software = std::string(framework.software);
    EXPECT_EQ(stack_of(run).id, framework.stack) << framework.id;
    EXPECT_FALSE(stack_of(run).guessed);
    EXPECT_TRUE(find_row(built_in().stacks, std::string(framework.stack), "stack")) << framework.stack;
  }
}

TEST(Framework, EveryOneHasItsArguments) {
  for (const Framework& framework : frameworks()) {
    EXPECT_FALSE(framework.table().facts().empty()) << framework.id;
    EXPECT_FALSE(framework.table().releases().empty()) << framework.id;
  }
}

TEST(Framework, EveryFlagHasAnUsualOne) {
  for (const LaunchFlag& flag : launch_flags())
    EXPECT_TRUE(flag.usual.empty() || find_framework(flag.usual) != nullptr) << flag.flag;
}

}  // namespace
}  // namespace stepcast::launch
