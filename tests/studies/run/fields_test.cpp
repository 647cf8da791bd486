#include "studies/run/fields.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::run {
namespace {

using testing::HasSubstr;

std::string flag_refusal(std::string_view name, const std::string& text) {
  const auto good = check_field(*find_flag_field(name), text, std::string(name));
  return good ? "accepted" : to_text(good.error());
}

TEST(Fields, CountsAreWholeNumbersInRange) {
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

TEST(Fields, ZeroGoesFromNothingToThree) {
  EXPECT_EQ(flag_refusal("--zero", "0"), "accepted");
  EXPECT_EQ(flag_refusal("--zero", "3"), "accepted");
  EXPECT_THAT(flag_refusal("--zero", "4"), HasSubstr("from 0 to 3"));
}

TEST(Fields, NamesSuggestTheNearest) {
  EXPECT_THAT(flag_refusal("--schedule", "1f1p"), HasSubstr("did you mean '1f1b'?"));
  EXPECT_THAT(flag_refusal("--sp", "yes"), HasSubstr("one of: on off"));
  EXPECT_THAT(flag_refusal("--precision", "bf17"), HasSubstr("bf16"));
  EXPECT_THAT(flag_refusal("--attention-flops", "half"), HasSubstr("causal"));
}

TEST(Fields, WaysToRunASplit) {
  EXPECT_EQ(flag_refusal("--cp-kind", "ulysses"), "accepted");
  EXPECT_THAT(flag_refusal("--cp-kind", "a2a"), HasSubstr("one of: ring gather ulysses"));
  EXPECT_EQ(flag_refusal("--order", "tp-cp-pp-dp"), "accepted");
  EXPECT_THAT(flag_refusal("--order", "tp-pp-dp"), HasSubstr("cp is missing"));
  for (const char* name : {"--scatter-boundary", "--save-gathered", "--dp-overlap", "--tp-overlap"}) {
    EXPECT_EQ(flag_refusal(name, "on"), "accepted");
    EXPECT_THAT(flag_refusal(name, "yes"), HasSubstr("one of: on off")) << name;
  }
}

TEST(Fields, RecomputeForms) {
  EXPECT_EQ(parse_recompute("none", "")->kind, Recompute::Kind::none);
  EXPECT_EQ(parse_recompute("selective", "")->kind, Recompute::Kind::selective);
  EXPECT_EQ(parse_recompute("full", "")->layers, 0);
  EXPECT_EQ(parse_recompute("full:12", "")->layers, 12);
  for (const char* wrong : {"full:", "full:0", "full:-1", "full:x", "some", ""})
    EXPECT_FALSE(parse_recompute(wrong, "--recompute")) << wrong;
}

TEST(Fields, EachIsFoundByItsNumberItsKeyAndItsFlag) {
  for (const RunField& row : run_fields()) {
    EXPECT_EQ(&field(row.id), &row) << row.key;
    EXPECT_EQ(find_field(row.key), &row);
    EXPECT_EQ(find_flag_field(row.flag), &row);
    EXPECT_EQ(flag_of(row.id), row.flag);
    EXPECT_FALSE(row.doc.empty()) << row.key;
  }
  EXPECT_EQ(find_field("tensor_ways"), nullptr);
  EXPECT_EQ(find_flag_field("--json"), nullptr);
}

TEST(Fields, ValuesAreReadOnceIntoTheirMemberAndCopiedAlone) {
  RunWishes told;
  for (const auto& [flag, text] :
      std::initializer_list<std::pair<const char*, const char*>>{{"--tp", "8"}, {"--dp-replicate", "4"},
          {"--recompute", "full:3"}, {"--sp", "off"}, {"--layout", "9,8,8,7"}, {"--precision", "fp8"}})
    ASSERT_TRUE(find_flag_field(flag)->type.read(text, flag, told)) << flag;
  EXPECT_EQ(told.tp, 8);
  EXPECT_EQ(told.replicas, 4);
  EXPECT_EQ(told.recompute.layers, 3);
  EXPECT_EQ(told.sp, false);
  EXPECT_EQ(told.layout.kind, LayoutChoice::Kind::given);
  EXPECT_EQ(told.precision, Precision::fp8);
  RunWishes other;
  field(FieldId::tp).type.copy(other, told);
  EXPECT_EQ(other.tp, 8);
  EXPECT_EQ(other.replicas, 1);
}

TEST(Fields, EveryLeverHasAPlaceOfItsOwnAndAValueToStartFrom) {
  std::set<int> places;
  for (const RunField& row : run_fields()) {
    if (row.lever.walk == FieldLever::Walk::none) continue;
    EXPECT_TRUE(places.insert(row.lever.place).second) << row.key;
    EXPECT_FALSE(row.lever.name.empty()) << row.key;
  }
  EXPECT_EQ(*places.rbegin(), static_cast<int>(places.size()));
}

}  // namespace
}  // namespace stepcast::run
