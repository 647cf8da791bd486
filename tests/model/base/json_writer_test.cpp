#include "model/base/json_writer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/base/json_reader.h"
#include "model/base/utf8.h"

namespace stepcast {
namespace {

TEST(JsonWriter, WritesUtf8WhateverItIsGiven) {
  EXPECT_EQ(json_quoted("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  // Latin-1, a surrogate, a slash longer than needed, a character that is cut off.
  for (const char* wrong : {"\xe9", "\xc0", "\xff", "\xf5", "\xc3"})
    EXPECT_EQ(json_quoted(std::string("a") + wrong + "b"), "\"a\xef\xbf\xbd"
                                                           "b\"")
        << wrong;
  EXPECT_EQ(json_quoted("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(json_quoted("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(json_quoted("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Utf8, IsCutBetweenCharacters) {
  EXPECT_EQ(utf8_head("a\xc3\xa9z", 2), "a");
  EXPECT_EQ(utf8_head("a\xc3\xa9z", 3), "a\xc3\xa9");
  EXPECT_EQ(utf8_tail("a\xc3\xa9z", 2), "z");
  EXPECT_EQ(utf8_tail("a\xc3\xa9z", 3), "\xc3\xa9z");
  EXPECT_EQ(utf8_head("ab", 9), "ab");
  EXPECT_EQ(utf8_tail("ab", 9), "ab");
  EXPECT_EQ(utf8_tail("", 0), "");
}

TEST(JsonWriter, WritesWhatAPersonWouldEdit) {
  JsonWriter json;
  json.open();
  json.field("id", "two-gpus");
  json.field("gpus", 2);
  json.field("memory", Bytes(11.0 * (1 << 30)));
  json.base_field("wait_s", Seconds(0.25));
  json.field("fast", true);
  json.field("names", std::vector<std::string>{"a", "b"});
  json.open_list("levels");
  json.open();
  json.field("name", "node");
  json.close();
  json.close();
  json.open("empty");
  json.close();
  json.close();
  EXPECT_EQ(json.text(), R"({
  "id": "two-gpus",
  "gpus": 2,
  "memory": "11 GiB",
  "wait_s": 0.25,
  "fast": true,
  "names": ["a", "b"],
  "levels": [
    {
      "name": "node"
    }
  ],
  "empty": {}
}
)");
}

TEST(JsonWriter, EscapesTextAndLeavesNoNan) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(json_number(std::nan("")), "null");
  EXPECT_EQ(json_number(0.1), "0.1");
}

TEST(JsonWriter, ReadsBackTheSameDoubles) {
  const std::vector<double> values = {1.0 / 3, 1e300, 5e-324, 123456789.125};
  JsonWriter json;
  json.open();
  json.field("values", values);
  json.close();
  JsonObject file(json.text(), "f");
  std::vector<double> back;
  file.read("values", back, NumberRange{});
  EXPECT_FALSE(file.first_error());
  EXPECT_EQ(back, values);
}

}  // namespace
}  // namespace stepcast
