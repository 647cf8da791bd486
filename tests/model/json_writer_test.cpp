#include "model/json_writer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/json_reader.h"

namespace stepcast {
namespace {

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
