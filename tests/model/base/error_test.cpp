#include "model/base/error.h"

#include <vector>

#include <gtest/gtest.h>

namespace stepcast {
namespace {

const std::vector<std::string> machines = {"dgx-a100", "dgx-h100", "hgx-h200", "two-2080ti-pc"};

TEST(Error, TextPutsWhereWhatAndHintOnOneLine) {
  EXPECT_EQ(to_text(Error{"a.json:/x", "found 3", "1 or 2"}), "a.json:/x: found 3 (1 or 2)");
  EXPECT_EQ(to_text(Error{"--tp", "found 3", ""}), "--tp: found 3");
  EXPECT_EQ(to_text(Error{"", "out of luck", ""}), "out of luck");
}

TEST(NearestName, FindsOneWrongMissingOrSwappedLetter) {
  EXPECT_EQ(nearest_name("dgx-h10", machines), "dgx-h100");
  EXPECT_EQ(nearest_name("dxg-h100", machines), "dgx-h100");
  EXPECT_EQ(nearest_name("DGX-A100", machines), "dgx-a100") << "case costs nothing";
}

TEST(NearestName, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest_name("tpu-v5p", machines), "");
  EXPECT_EQ(nearest_name("", machines), "");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'x'), machines), "");
  const std::vector<std::string> axes = {"dp", "pp"};
  EXPECT_EQ(nearest_name("tx", axes), "") << "both letters differ: nothing of the name is left";
}

TEST(NameHint, ListsAllWhereNothingIsNear) {
  EXPECT_EQ(name_hint("dgx-h10", machines), "did you mean 'dgx-h100'?");
  EXPECT_EQ(name_hint("tpu", machines), "one of: dgx-a100, dgx-h100, hgx-h200, two-2080ti-pc");
}

}  // namespace
}  // namespace stepcast
