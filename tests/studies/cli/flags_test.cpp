#include "studies/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast {
namespace {

using testing::HasSubstr;

std::string flag_refusal(std::string_view name, const std::string& text) {
  const auto good = check_flag(*find_flag(run_flags(), name), text, std::string(name));
  return good ? "accepted" : to_text(good.error());
}

TEST(Flags, CountsAreWholeNumbersInRange) {
  EXPECT_EQ(flag_refusal("--tp", "8"), "accepted");
  EXPECT_THAT(flag_refusal("--tp", "0"), HasSubstr("from 1 to"));
  EXPECT_THAT(flag_refusal("--tp", "-8"), HasSubstr("out of range"));
  EXPECT_THAT(flag_refusal("--tp", "8.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(flag_refusal("--tp", "8 GPUs"), HasSubstr("not a whole number"));
  EXPECT_THAT(flag_refusal("--tp", ""), HasSubstr("not a whole number"));
  EXPECT_THAT(flag_refusal("--tp", "1e3"), HasSubstr("not a whole number"));
  EXPECT_THAT(flag_refusal("--gpus", "99999999999999999999999"), HasSubstr("absurdly large"));
  EXPECT_THAT(flag_refusal("--gpus", "10000001"), HasSubstr("10000000"));
}

TEST(Flags, ZeroGoesFromNothingToThree) {
  EXPECT_EQ(flag_refusal("--zero", "0"), "accepted");
  EXPECT_EQ(flag_refusal("--zero", "3"), "accepted");
  EXPECT_THAT(flag_refusal("--zero", "4"), HasSubstr("from 0 to 3"));
}

TEST(Flags, NamesSuggestTheNearest) {
  EXPECT_THAT(flag_refusal("--schedule", "1f1p"), HasSubstr("did you mean '1f1b'?"));
  EXPECT_THAT(flag_refusal("--sp", "yes"), HasSubstr("one of: on off"));
  EXPECT_THAT(flag_refusal("--precision", "bf17"), HasSubstr("bf16"));
  EXPECT_THAT(flag_refusal("--attention-flops", "half"), HasSubstr("causal"));
}

TEST(Flags, WaysToRunASplit) {
  EXPECT_EQ(flag_refusal("--cp-kind", "ulysses"), "accepted");
  EXPECT_THAT(flag_refusal("--cp-kind", "a2a"), HasSubstr("one of: ring gather ulysses"));
  EXPECT_EQ(flag_refusal("--order", "tp-cp-pp-dp"), "accepted");
  EXPECT_THAT(flag_refusal("--order", "tp-pp-dp"), HasSubstr("cp is missing"));
  for (const char* name : {"--scatter-boundary", "--save-gathered", "--dp-overlap", "--tp-overlap"}) {
    EXPECT_EQ(flag_refusal(name, "on"), "accepted");
    EXPECT_THAT(flag_refusal(name, "yes"), HasSubstr("one of: on off")) << name;
  }
}

TEST(Flags, RecomputeForms) {
  EXPECT_EQ(parse_recompute("none", "")->kind, Recompute::Kind::none);
  EXPECT_EQ(parse_recompute("selective", "")->kind, Recompute::Kind::selective);
  EXPECT_EQ(parse_recompute("full", "")->layers, 0);
  EXPECT_EQ(parse_recompute("full:12", "")->layers, 12);
  for (const char* wrong : {"full:", "full:0", "full:-1", "full:x", "some", ""})
    EXPECT_FALSE(parse_recompute(wrong, "--recompute")) << wrong;
}

}  // namespace
}  // namespace stepcast
