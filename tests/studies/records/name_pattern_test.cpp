// Names with `*`.
#include "studies/records/name_pattern.h"

#include <gtest/gtest.h>

namespace stepcast::records {
namespace {

TEST(NamePattern, StarsTakeAnyLetters) {
  EXPECT_TRUE(fits_pattern("vtrain-multi-3.6B-tp8", "vtrain-*-tp8"));
  EXPECT_TRUE(fits_pattern("vtrain--tp8", "vtrain-*-tp8"));
  EXPECT_FALSE(fits_pattern("vtrain-tp8", "vtrain-*-tp8"));
  EXPECT_TRUE(fits_pattern("anything", "*"));
  EXPECT_TRUE(fits_pattern("", "*"));
  EXPECT_TRUE(fits_pattern("", ""));
  EXPECT_FALSE(fits_pattern("a", ""));
}

TEST(NamePattern, WholeNameMustFit) {
  EXPECT_TRUE(fits_pattern("tp1-mbs2", "tp1-mbs2"));
  EXPECT_FALSE(fits_pattern("tp1-mbs20", "tp1-mbs2"));
  EXPECT_FALSE(fits_pattern("x-tp1-mbs2", "tp1-*"));
}

TEST(NamePattern, LaterPlacesAreTriedToo) {
  EXPECT_TRUE(fits_pattern("aab-r2-r3", "*-r3"));  // the first "-r" is not the one
  EXPECT_TRUE(fits_pattern("abcabd", "*ab*abd"));
  EXPECT_FALSE(fits_pattern("abcabd", "*abd*abd"));
}

TEST(NamePattern, OnlyTheStarIsSpecial) {
  EXPECT_FALSE(fits_pattern("3x6B", "3.6B"));
  EXPECT_FALSE(fits_pattern("A", "a"));
  EXPECT_FALSE(fits_pattern("a", "?"));
}

}  // namespace
}  // namespace stepcast::records
