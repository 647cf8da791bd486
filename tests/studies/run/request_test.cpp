#include "studies/run/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::run {
namespace {

using testing::HasSubstr;

TEST(Request, WhatIsSaidIsTypedAndKnowsItsPlace) {
  Request request;
  ASSERT_TRUE(request.say("tp", "8", "run.json:/tp"));
  EXPECT_EQ(request.wishes().tp, 8);
  EXPECT_TRUE(request.says(FieldId::tp));
  EXPECT_EQ(request.find(FieldId::tp)->text, "8");
  EXPECT_EQ(request.where(FieldId::tp), "run.json:/tp");
  EXPECT_FALSE(request.says(FieldId::pp));
  EXPECT_EQ(request.where(FieldId::pp), "--pp (default)");
}

TEST(Request, WhatIsWrongChangesNothing) {
  Request request;
  ASSERT_TRUE(request.say("recompute", "full:2", "--recompute"));
  const auto wrong = request.say("recompute", "full:none", "--recompute");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, "--recompute");
  EXPECT_EQ(request.wishes().recompute.layers, 2);
  EXPECT_EQ(request.find(FieldId::recompute)->text, "full:2");
  EXPECT_THAT(request.say("tensor", "8", "run.json:/tensor").error().what, HasSubstr("a run is told no 'tensor'"));
  EXPECT_FALSE(request.say("machine", "dgx-h100", "--machine"));
}

TEST(Request, WhatIsTakenBackHasItsDefaultAgain) {
  Request request;
  ASSERT_TRUE(request.say("zero", "3", "--zero"));
  ASSERT_TRUE(request.say("sp", "off", "--sp"));
  request.unsay(FieldId::zero);
  request.unsay(FieldId::sp);
  EXPECT_EQ(request.wishes().zero, 1);
  EXPECT_FALSE(request.wishes().sp.has_value());
  EXPECT_TRUE(request.said().empty());
}

TEST(Request, AValueTakesThePlaceOfALineOfTheNotation) {
  Request request;
  request.statements = {
      {"recompute norm", FieldId::recompute, "run.sh"}, {"save norm1.y at use", FieldId::save_gathered, "run.sh"}};
  ASSERT_TRUE(request.say("recompute", "none", "--recompute"));
  ASSERT_EQ(request.statements.size(), 1U);
  EXPECT_EQ(request.statements.front().instead_of, FieldId::save_gathered);
}

}  // namespace
}  // namespace stepcast::run
