// What is remembered is what was asked: the same parameters with the same values.
#include "studies/records/step_memo.h"

#include <gtest/gtest.h>

namespace stepcast::records {
namespace {

TEST(StepMemo, TellsOneSetOfValuesFromAnother) {
  const StepValue products{StepParameter::products, 1.25}, memory{StepParameter::memory, 1.25};
  StepMemo memo;
  EXPECT_FALSE(memo.seconds({}));
  memo.keep({}, 3);
  memo.keep({&products, 1}, 4);
  EXPECT_EQ(memo.seconds({}), 3);
  EXPECT_EQ(memo.seconds({&products, 1}), 4);
  EXPECT_FALSE(memo.seconds({&memory, 1})) << "another parameter of that value";
  const StepValue both[] = {products, memory};
  EXPECT_FALSE(memo.seconds(both));
}

}  // namespace
}  // namespace stepcast::records
