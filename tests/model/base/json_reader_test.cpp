#include "model/base/json_reader.h"

#include <fstream>
#include <random>

#include <gtest/gtest.h>

namespace stepcast {
namespace {

enum class Fruit { apple, pear };
constexpr Choice<Fruit> fruits[] = {{"apple", Fruit::apple}, {"pear", Fruit::pear}};

struct Basket {
  std::int64_t count = 0;
  Fruit fruit = Fruit::apple;
  BytesPerSecond rate;
  Seconds wait;
  std::vector<std::string> labels;
};

/// What a reader of ours looks like.
Expected<Basket> read_basket(const std::string& text) {
  JsonObject file(text, "basket.json");
  Basket basket;
  file.read("count", basket.count, IntegerRange{1, 100});
  file.choice("fruit", basket.fruit, fruits);
  file.optional("rate", basket.rate);
  file.optional("wait_s", basket.wait, Zero::allowed);
  for (JsonObject& label : file.optional_objects("labels")) label.read("text", basket.labels.emplace_back());
  return file.finish(basket);
}

std::string basket_error(const std::string& text) {
  const auto basket = read_basket(text);
  return basket ? "accepted" : to_text(basket.error());
}

TEST(JsonObject, ReadsAStraightListOfValues) {
  const auto basket = read_basket(
      R"({"count": 3, "fruit": "pear", "rate": "400 GB/s", "wait_s": 0.5, "labels": [{"text": "a"}, {"text": "b"}]})");
  ASSERT_TRUE(basket) << to_text(basket.error());
  EXPECT_EQ(basket->count, 3);
  EXPECT_EQ(basket->fruit, Fruit::pear);
  EXPECT_EQ(basket->rate.value(), 400e9);
  EXPECT_EQ(basket->wait.value(), 0.5);
  EXPECT_EQ(basket->labels, (std::vector<std::string>{"a", "b"}));
}

TEST(JsonObject, NamesFilePointerFoundAndAllowed) {
  EXPECT_EQ(
      basket_error(R"({"count": 300, "fruit": "pear"})"), "basket.json:/count: found 300 (an integer from 1 to 100)");
  EXPECT_EQ(
      basket_error(R"({"count": "3", "fruit": "pear"})"), "basket.json:/count: found '3' (an integer from 1 to 100)");
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "pear", "labels": [{"text": "a"}, {"text": 4}]})"),
      "basket.json:/labels/1/text: found 4 (a text in quotes)");
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "pear", "labels": ["a"]})"),
      "basket.json:/labels/0: found 'a' (an object)");
}

TEST(JsonObject, SuggestsTheNearestKeyAndName) {
  EXPECT_EQ(
      basket_error(R"({"cuont": 3, "fruit": "pear"})"), "basket.json:/cuont: unknown key (did you mean 'count'?)");
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "pear", "colour": 1})"),
      "basket.json:/colour: unknown key (one of: count, fruit, rate, wait_s, labels)");
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "pear", "colour": 1, "weight": 2})"),
      "basket.json:/colour: unknown keys: colour, weight (one of: count, fruit, rate, wait_s, labels)");
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "paer"})"),
      "basket.json:/fruit: unknown name 'paer' (did you mean 'pear'?)");
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "pear", "labels": [{"text": "a", "txt": "b"}]})"),
      "basket.json:/labels/0/txt: unknown key (did you mean 'text'?)");
}

TEST(JsonObject, ReportsAMissingKey) {
  EXPECT_EQ(basket_error(R"({"fruit": "pear"})"), "basket.json:/count: this key is missing (it is required)");
  EXPECT_EQ(basket_error(R"({"count": null, "fruit": "pear"})"), "basket.json:/count: found null (a value)");
}

TEST(JsonObject, WantsAUnitOnQuantities) {
  EXPECT_NE(basket_error(R"({"count": 3, "fruit": "pear", "rate": 400})").find("the bare number 400 has no unit"),
      std::string::npos);
  EXPECT_NE(basket_error(R"({"count": 3, "fruit": "pear", "rate": "0 GB/s"})").find("is zero"), std::string::npos);
  EXPECT_EQ(basket_error(R"({"count": 3, "fruit": "pear", "wait_s": "0 s"})"), "accepted");
  EXPECT_NE(basket_error(R"({"count": 3, "fruit": "pear", "wait_s": -1})").find("not positive"), std::string::npos);
}

TEST(JsonObject, ARateKeyIsNoTime) {
  JsonObject file(R"({"x_bytes_per_s": 3})", "f");
  Seconds time;
  file.read("x_bytes_per_s", time);
  EXPECT_TRUE(file.failed()) << "the key ends in _s but means a rate";
}

TEST(JsonObject, ReadsListsAndRows) {
  JsonObject file(R"({"names": ["a"], "counts": [1, 2], "curve": [[1024, 3e-5], [2048, 4e-5]]})", "f");
  std::vector<std::string> names;
  std::vector<std::int64_t> counts;
  std::vector<std::vector<double>> curve;
  file.read("names", names);
  file.read("counts", counts, IntegerRange{0, 9});
  file.read_rows("curve", curve, 2, NumberRange{0, 1e6});
  EXPECT_FALSE(file.first_error());
  EXPECT_EQ(names, std::vector<std::string>{"a"});
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(curve[1][1], 4e-5);

  JsonObject bad(R"({"curve": [[1024, 3e-5], [2048]]})", "f");
  bad.read_rows("curve", curve, 2, NumberRange{0, 1e6});
  EXPECT_EQ(to_text(*bad.first_error()), "f:/curve/1: found a list of 1 (rows of 2 numbers from 0 to 1000000)");
}

TEST(JsonObject, KeepsRulesBetweenValuesAndForeignKeys) {
  JsonObject file(R"({"heads": 8, "other": 1})", "f");
  std::int64_t heads = 0;
  file.read("heads", heads, IntegerRange{1, 99});
  file.allow_unknown_keys();
  EXPECT_FALSE(file.first_error());
  file.require(heads % 3 == 0, "heads", "8 is no multiple of 3", "6, 9");
  EXPECT_EQ(to_text(*file.first_error()), "f:/heads: 8 is no multiple of 3 (6, 9)");
}

TEST(JsonSyntax, GivesLineAndColumn) {
  EXPECT_EQ(basket_error("{\"count\": 3,\n \"fruit\": pear}").find("basket.json:2:11: syntax error"), 0u);
  EXPECT_NE(basket_error("{\"count\": 3,").find("the file ends too early"), std::string::npos);
  EXPECT_NE(basket_error("").find("the file is empty"), std::string::npos);
  EXPECT_NE(basket_error("[1]").find("a list of 1 stands at the top"), std::string::npos);
  EXPECT_NE(basket_error("{} {}"), "accepted");
}

TEST(JsonSyntax, EveryFaultIsSaidInOurWordsWithAHint) {
  const std::string sound = R"({"count": 3, "list": [1, -2.5e3, true, null, "te\\xt \\u00e9"], "in": {"a": {}}})";
  std::mt19937 random(3);
  int faults = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = sound;
    const std::size_t at = random() % text.size();
    switch (random() % 3) {
      case 0: text[at] = static_cast<char>(random() % 256); break;
      case 1: text.erase(at, 1 + random() % 3); break;
      default: text.insert(at, 1, "{}[],:\"\\x0-"[random() % 11]);
    }
    const auto error = JsonObject(text, "f").first_error();
    if (!error || error->what.find("syntax error") == std::string::npos) continue;
    ++faults;
    EXPECT_FALSE(error->hint.empty()) << text;
    for (const char* foreign : {"while parsing", "last read", "literal", "unexpected", "json.exception"})
      EXPECT_EQ(error->what.find(foreign), std::string::npos) << error->what;
  }
  EXPECT_GT(faults, 2000);
}

TEST(JsonSyntax, RefusesDuplicateKeysDeepNestingAndHugeNumbers) {
  EXPECT_EQ(
      basket_error(R"({"count": 3, "count": 4})"), "basket.json:/count: this key stands here twice (keep one of them)");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  EXPECT_NE(basket_error("{\"a\": " + deep).find("nest too deeply"), std::string::npos);
  EXPECT_NE(basket_error(R"({"count": 1e999})").find("a number beyond any real one"), std::string::npos);
  EXPECT_EQ(
      basket_error(R"({"count": 99999999999999999999})"), "basket.json:/count: found 1e+20 (an integer from 1 to 100)");
  EXPECT_NE(basket_error("{\"count\": \"\xff\xfe\"}"), "accepted") << "invalid UTF-8";
  EXPECT_NE(basket_error(std::string("{\"count\": 3\0}", 13)), "accepted") << "a NUL inside";
}

TEST(JsonSyntax, StaysBriefOnHostileText) {
  const std::string long_name(1 << 20, 'x');
  EXPECT_LT(basket_error("{\"" + long_name + "\": 1}").size(), 1000u);
  EXPECT_LT(basket_error("{\"fruit\": \"" + long_name + "\", \"count\": 1}").size(), 1000u);
  EXPECT_LT(basket_error("{" + long_name + "}").size(), 1000u);
  EXPECT_EQ(basket_error("{\"\x1b[31m\": 1}").find('\x1b'), std::string::npos) << "no terminal codes pass through";
}

TEST(JsonSyntax, RefusesHalfOfAnyGoodFile) {
  const std::string good = R"({"count": 3, "fruit": "pear", "rate": "400 GB/s", "labels": [{"text": "a"}]})";
  ASSERT_EQ(basket_error(good), "accepted");
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(basket_error(good.substr(0, length)), "accepted") << length;
}

TEST(ReadTextFile, SaysWhatIsWrongWithThePath) {
  EXPECT_NE(to_text(read_text_file("/no/such/file").error()).find("No such file"), std::string::npos);
  EXPECT_NE(to_text(read_text_file("/").error()).find("is a folder"), std::string::npos);
  for (const char* mark : {"\xFF\xFE", "\xFE\xFF"}) {
    const std::string name = testing::TempDir() + "stepcast_utf16.json";
    std::ofstream(name, std::ios::binary) << mark << std::string("{\0}\0", 4);
    EXPECT_NE(to_text(read_text_file(name).error()).find("UTF-16"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepcast
