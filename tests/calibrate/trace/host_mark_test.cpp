#include "calibrate/trace/host_mark.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate::host_mark_test {
namespace {

TEST(HostMarks, NamesOfRangesSayWhatTheyAre) {
  EXPECT_EQ(host_mark_of("ProfilerStep#17", 1, 2)->number, 17);
  EXPECT_EQ(host_mark_of("Optimizer.step#AdamW.step", 1, 2)->kind, MarkKind::optimizer);
  EXPECT_EQ(host_mark_of("step[DECODE bs=3]", 1, 2)->kind, MarkKind::pass);
  for (const char* name : {"iteration 12", "iteration12", "step_12", "train_step #12"}) {
    ASSERT_TRUE(host_mark_of(name, 1, 2)) << name;
    EXPECT_EQ(host_mark_of(name, 1, 2)->kind, MarkKind::numbered);
    EXPECT_EQ(host_mark_of(name, 1, 2)->number, 12);
  }
  for (const char* name : {"iteration", "step 3 of 4", "stepwise", "aten::mm", "iterator"})
    EXPECT_FALSE(host_mark_of(name, 1, 2)) << name;
}

}  // namespace
}  // namespace stepcast::calibrate::host_mark_test
