#include "model/base/comma_list.h"

#include <gmock/gmock.h>

namespace stepcast {
namespace {

using testing::ElementsAre;

TEST(CommaList, HasOneItemMoreThanCommas) {
  EXPECT_THAT(split_at_commas("a, b,,c,"), ElementsAre("a", " b", "", "c", ""));
  EXPECT_THAT(comma_list("a, b,\t,c ,"), ElementsAre("a", "b", "", "c", ""));
  EXPECT_THAT(split_at_commas(""), ElementsAre(""));
}

}  // namespace
}  // namespace stepcast
