#include "studies/run/split/switches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string order_error(const std::string& text) {
  const auto order = parse_order(text, "--order");
  return order ? "accepted" : to_text(order.error());
}

Stack stack_called(const std::string& id) {
  for (const auto& row : built_in().stacks)
    if (row.id == id) return row;
  ADD_FAILURE() << id;
  return {};
}

TEST(Ways, OrdersAreEachAxisOnce) {
  for (const char* text : {"tp-cp-dp-pp", "pp-dp-cp-tp", "tp-cp-pp-dp"})
    EXPECT_EQ(to_text(*parse_order(text, "")), text);
  EXPECT_EQ(*parse_order("tp-cp-dp-pp", ""), usual_order);
  EXPECT_THAT(order_error("tp-cp-dp"),
      AllOf(HasSubstr("--order: 'tp-cp-dp'"), HasSubstr("pp is missing"), HasSubstr("tp-cp-pp-dp")));
  EXPECT_THAT(order_error("tp-tp-cp-dp"), HasSubstr("tp stands there twice"));
  EXPECT_THAT(order_error("tp-cp-dp-pp-tp"), HasSubstr("tp stands there twice"));
  EXPECT_THAT(order_error("tp-cp-ep-dp-pp"), HasSubstr("no axis 'ep'"));
  EXPECT_THAT(order_error(""), HasSubstr("no axis ''"));
  EXPECT_THAT(order_error("tp,cp,dp,pp"), HasSubstr("no axis 'tp,cp,dp,pp'"));
}

TEST(Ways, ContextKindsByName) {
  for (const char* text : {"ring", "gather", "ulysses"}) EXPECT_STREQ(to_text(*parse_context_kind(text, "")), text);
  EXPECT_THAT(to_text(parse_context_kind("Ring", "--cp-kind").error()), HasSubstr("one of: ring gather ulysses"));
}

TEST(Ways, UnsetSwitchesLeaveTheStackAlone) {
  const Stack plain = stack_called("megatron-2022");
  EXPECT_EQ(write_stack(with_ways(plain, {})), write_stack(plain));
  EXPECT_EQ(in_words(StackWays{}), "");
}

TEST(Ways, SwitchesTurnTheirOwnManners) {
  const Stack plain = stack_called("megatron-core");
  ASSERT_EQ(plain.gradient_reduces, Manners::overlapped);
  ASSERT_EQ(plain.activation_moves, Manners::blocking);
  const Stack stands = with_ways(plain, {.dp_overlap = false, .tp_overlap = {}, .scatter_boundary = {}});
  EXPECT_EQ(stands.gradient_reduces, Manners::blocking);
  EXPECT_EQ(stands.weight_gathers, Manners::blocking);
  EXPECT_EQ(stands.activation_moves, Manners::blocking);
  const Stack runs = with_ways(plain, {.dp_overlap = {}, .tp_overlap = true, .scatter_boundary = {}});
  EXPECT_EQ(runs.activation_moves, Manners::overlapped);
  EXPECT_EQ(runs.gradient_reduces, Manners::overlapped);
  EXPECT_EQ(runs.id, "megatron-core");
  EXPECT_EQ(in_words(StackWays{.dp_overlap = false, .tp_overlap = true, .scatter_boundary = false}),
      ", dp overlap off, tp overlap on, boundary whole");
}

TEST(Ways, AWholeBoundaryTakesBackWhatTheStackImplies) {
  const Stack cuts = stack_called("megatron-2022");
  ASSERT_TRUE(implies_scatter(cuts));
  EXPECT_EQ(cuts.statements, std::vector<std::string>{scatter_statement});
  EXPECT_FALSE(implies_scatter(with_ways(cuts, {.dp_overlap = {}, .tp_overlap = {}, .scatter_boundary = false})));
  EXPECT_TRUE(implies_scatter(with_ways(cuts, {.dp_overlap = {}, .tp_overlap = {}, .scatter_boundary = true})));
  EXPECT_FALSE(implies_scatter(stack_called("megatron-core")));
}

}  // namespace
}  // namespace stepcast::run
