#include "model/stack.h"

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

std::string stack_error(const std::string& from, const std::string& to) {
  std::string text = write_stack(**find_row(catalog().stacks, "megatron-core", "stack"));
  const auto at = text.find(from);
  if (at == std::string::npos) return "nothing to replace";
  const auto stack = read_stack(text.replace(at, from.size(), to), "s.json");
  return stack ? "accepted" : to_text(stack.error());
}

TEST(ReadStack, RefusesUnknownKernelGroupsAndManners) {
  EXPECT_NE(stack_error("\"swiglu\"", "\"swigul\"").find("did you mean 'swiglu'?"), std::string::npos);
  EXPECT_NE(stack_error("\"overlapped\"", "\"overlaped\"").find("did you mean 'overlapped'?"), std::string::npos);
  EXPECT_NE(stack_error("\"2023-12\"", "\"2023-13\"").find("is no month"), std::string::npos);
}

TEST(ReadStack, WantsEveryTermStated) {
  EXPECT_NE(stack_error("\"host_per_launch\"", "\"host_per_lunch\"").find("did you mean 'host_per_launch'?"), std::string::npos);
  EXPECT_NE(stack_error("\"host_per_step\": \"10 ms\",", "").find("/host_per_step: this key is missing"), std::string::npos);
  EXPECT_NE(stack_error("\"160 MB\"", "160").find("has no unit"), std::string::npos);
  EXPECT_NE(stack_error("\"allocator_slack\": 0.04", "\"allocator_slack\": 4"), "accepted");
}

TEST(CatalogStacks, DifferWhereTheSoftwareDid) {
  const Stack& old = **find_row(catalog().stacks, "megatron-2022", "stack");
  EXPECT_EQ(old.attention, AttentionForm::unfused);
  EXPECT_EQ(old.gradient_reduces, Manners::blocking);
  const Stack& now = **find_row(catalog().stacks, "megatron-core", "stack");
  EXPECT_EQ(now.attention, AttentionForm::fused);
  EXPECT_EQ(now.gradient_reduces, Manners::overlapped);
}

}  // namespace
}  // namespace stepcast
