// Whatever bytes come from files, what reaches a terminal or a page is UTF-8 that steers nothing.
#include "studies/cli/shown_text.h"

#include <ostream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "model/base/utf8.h"

namespace stepcast::cli {
namespace {

TEST(ShownText, WhatSteersIsSpeltOut) {
  EXPECT_EQ(shown_text("name\x1b]0;title\a"), "name\\x1b]0;title\\x07");
  EXPECT_EQ(shown_text("over\rwritten\x7f"), "over\\x0dwritten\\x7f");
  EXPECT_EQ(shown_text("\xc2\x9b"
                       "2J"),
      "\\u009b2J")
      << "the control sequence introducer of Latin-1's upper half";
  EXPECT_EQ(shown_text("\xe2\x80\xae"), "\\u202e") << "turns the direction of writing";
  EXPECT_EQ(shown_text("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(shown_text(std::string_view("\0", 1)), "\\x00");
}

TEST(ShownText, TextStaysAsItIs) {
  const std::string text = "Ünïcode \xe2\x94\x80 \xf0\x9f\x9a\x80\n\ttab and\r\nlines";
  EXPECT_EQ(shown_text(text), text);
}

TEST(ShownText, OnlyOurOwnColoursPass) {
  const std::string own = "\x1b[1;31mbad\x1b[0m";
  EXPECT_EQ(shown_text(own, true), own);
  EXPECT_EQ(shown_text(own, false), "\\x1b[1;31mbad\\x1b[0m");
  EXPECT_EQ(shown_text("\x1b[8mhidden\x1b[2J", true), "\\x1b[8mhidden\\x1b[2J");
}

bool is_clean(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const bool line_end = text.starts_with("\n") || text.starts_with("\t") || text.starts_with("\r\n");
    if (size == 0 || (!line_end && steers(utf8_number(text.substr(0, size))))) return false;
    text.remove_prefix(text.starts_with("\r\n") ? 2 : size);
  }
  return true;
}

/// Bytes that meet each other often: control characters, parts of characters, letters.
std::string hostile_text(std::mt19937& random) {
  using std::string_literals::operator""s;
  const std::string parts = "\0\x1b[2J\r\n\t\x7f\xc2\x9b\xe2\x80\xae\xf0\x9f\x9a\xff\xed\xa0 az"s;
  std::string text;
  for (int i = static_cast<int>(random() % 40); i > 0; --i) text += parts[random() % parts.size()];
  return text;
}

TEST(ShownText, NoBytesGetThroughAndAStreamCutsThemAnywhere) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = hostile_text(random);
    const std::string shown = shown_text(text);
    ASSERT_TRUE(is_clean(shown)) << shown;
    EXPECT_EQ(shown_text(shown), shown) << "what is shown can be shown again";
    std::ostringstream to;
    {
      ShownBuffer buffer(*to.rdbuf(), false);
      std::ostream stream(&buffer);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t piece = 1 + random() % 3;
        stream << text.substr(at, piece);
        if (random() % 4 == 0) stream.flush();
        at += piece;
      }
    }
    ASSERT_EQ(to.str(), shown);
  }
}

}  // namespace
}  // namespace stepcast::cli
