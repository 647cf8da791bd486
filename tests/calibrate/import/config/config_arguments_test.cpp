#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/config/config_text.h"
#include "tests/trials.h"

namespace stepcast::calibrate {
namespace {

std::vector<GivenArgument> config_arguments(const std::string& text) {
  auto read = read_config_arguments(text, "file");
  EXPECT_TRUE(read) << text << (read ? "" : to_text(read.error()));
  return read ? *read : std::vector<GivenArgument>{};
}

/// "line:spelled=value" each.
std::vector<std::string> config_rows(const std::string& text) {
  std::vector<std::string> rows;
  for (const GivenArgument& argument : config_arguments(text))
    rows.push_back(std::to_string(argument.line) + ":" + argument.spelled + "=" + argument.value);
  return rows;
}

std::string config_mistake(const std::string& text) {
  const auto read = read_config_arguments(text, "file");
  return read ? "read" : to_text(read.error());
}

using Rows = std::vector<std::string>;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ConfigArguments, JsonWithLines) {
  EXPECT_EQ(config_rows("{\n  \"_note\": {\"a\": 1},\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \"bucket\": "
                        "5e8, \"on\": true\n  },\n"
                        "  \"none\": null, \"text\": \"a\\\"b\",\n  \"list\": [1, \"x\"],\n  \"maps\": [{\"a\": 1}, "
                        "{\"a\": 2}], \"small\": 1e-8\n}\n"),
      (Rows{"4:zero_optimization.stage=3", "5:zero_optimization.bucket=500000000", "5:zero_optimization.on=true",
          "7:none=null", "7:text=a\"b", "8:list=[1, x]", "9:maps.0.a=1", "9:maps.1.a=2", "9:small=1e-8"}));
}

TEST(ConfigArguments, JsonThatYamlReadsInAnotherWay) {
  EXPECT_EQ(
      config_rows(
          "{\"t\": \"\\ud83d\\ude00 a\\/b\\\\u\", \"x\": -1.5E-3, \"s\": \"5e8\", \"e\": [], \"n\": [[1, 2], [3]],\n"
          "\t\"b\":{\"c\":true, \"d\": \"a: b # c\"}}"),
      (Rows{"1:t=\\ud83d\\ude00 a/b\\u", "1:x=-1.5E-3", "1:s=5e8", "1:e=[]", "1:n=[[1, 2], [3]]", "2:b.c=true",
          "2:b.d=a: b # c"}));
}

TEST(ConfigArguments, TomlWithLines) {
  EXPECT_EQ(
      config_rows(
          "# top\n[parallelism]\ntensor_parallel_degree = 2  # two\n_old = 1\n\n[a.b-c]\nlist = [1,\n 2]\nx-y=\"z\"\n"),
      (Rows{"3:parallelism.tensor_parallel_degree=2", "7:a.b-c.list=[1, 2]", "9:a.b-c.x-y=z"}));
  EXPECT_EQ(config_arguments("[a]\nx-y = 1\n").front().name, "a.x_y");
}

TEST(ConfigArguments, CommentsInsideTomlLists) {
  EXPECT_EQ(config_rows("a = [\n  1,  # one\n# all of the line\n  \"x # y\", # two\n]\nb = 3\n"),
      (Rows{"1:a=[1, \"x # y\"]", "6:b=3"}));
  EXPECT_THAT(config_mistake("a = [\n 1, # one ]\n"), StartsWith("file:2:13: not TOML: Error while parsing array"));
}

TEST(ConfigArguments, TomlAsItsStandardHasIt) {
  EXPECT_EQ(
      config_rows("[model]\nargs = {dim = 4096, rope = {theta = 5e5}}\ntext = \"\"\"\none\ntwo\"\"\"\nraw = 'a\\b'\n"
                  "many = 1_000_000\nlr = 8e-4\nflag = true\nparts = [['a', 'b'], [\"it's\"]]\n\"a b\".c = 1\n"),
      (Rows{"2:model.args.dim=4096", "2:model.args.rope.theta=5e5", "3:model.text=one\ntwo", "6:model.raw=a\\b",
          "7:model.many=1000000", "8:model.lr=8e-4", "9:model.flag=true", "10:model.parts=[[\"a\", \"b\"], [\"it's\"]]",
          "11:model.a b.c=1"}));
}

TEST(ConfigArguments, TablesOfAListAreKeptApart) {
  EXPECT_EQ(config_rows("[[run]]\nsteps = 1\n[[run]]\nsteps = 2\n[[run.part]]\nname = \"x\"\n"),
      (Rows{"2:run.0.steps=1", "4:run.1.steps=2", "6:run.1.part.0.name=x"}));
}

// Each took a minute or more when every line was held against all the others.
TEST(ConfigArguments, LongFilesAreReadInOneGo) {
  constexpr int lines = trials(40'000);
  std::string list = "a = [\n", references = "k0: 1\n", grown = "a: " + std::string(60'000, 'x') + "\n";
  for (int i = 1; i <= lines; ++i) {
    list += "1,\n";
    references += "k" + std::to_string(i) + ": ${k" + std::to_string(i - 1) + "}\n";
    grown += "k" + std::to_string(i) + ": ${a}\n";
  }
  EXPECT_EQ(config_arguments(list + "]\n").front().value.size(), 3u * lines);
  EXPECT_EQ(config_arguments(references).back().value, "1");
  std::size_t bytes = 0;
  for (const GivenArgument& argument : config_arguments(grown)) bytes += argument.value.size();
  EXPECT_LT(bytes, 32u * 1024 * 1024);
}

TEST(ConfigArguments, YamlAsRealFilesHaveIt) {
  EXPECT_EQ(
      config_rows(
          "# c\nbase: &base\n  a: 1\n  b: 'two words'  # c\nmodel:\n  <<: *base\n  b: 3\n  flow: {x: 1, y: [1, 2]}\n  "
          "_target_: C\n"
          "  betas:\n  - 0.9\n  - 0.95\n  items:\n  - name: n\n    size: 2\n  text: |\n    one\n    two\n  empty:\n"),
      (Rows{"3:base.a=1", "4:base.b=two words", "3:model.a=1", "7:model.b=3", "8:model.flow.x=1",
          "8:model.flow.y=[1, 2]", "10:model.betas=0.9 0.95", "14:model.items.0.name=n", "15:model.items.0.size=2",
          "16:model.text=one\ntwo\n", "19:model.empty=null"}));
}

TEST(ConfigArguments, ReferencesBetweenValues) {
  const auto read =
      config_arguments("seq: 2048\nmodel:\n  a: ${seq}\n  b: ${.a}\n  c: ${oc.env:HOME}/x\n  d: ${lost}\n  e: "
                       "p-${seq}-${model.a}\ndata:\n  f: ${..seq}\n");
  ASSERT_EQ(read.size(), 7u);
  EXPECT_EQ(read[1].value, "2048");
  EXPECT_EQ(read[2].value, "2048");
  EXPECT_EQ(read[3].unset, std::vector<std::string>{"oc.env:HOME"});
  EXPECT_EQ(read[4].unset, std::vector<std::string>{"lost"});
  EXPECT_EQ(read[5].value, "p-2048-2048");
  EXPECT_EQ(read[6].value, "2048");
  for (const auto& argument : config_arguments("a: ${b}\nb: ${a}\nc: ${c}${c}\n"))
    EXPECT_LT(argument.value.size(), 70'000u);
}

TEST(ConfigArguments, MistakesNameTheLine) {
  EXPECT_EQ(config_mistake("a: 1\nb: 2\na: 3\n"), "file:3:1: key 'a' stands twice (keep one)");
  EXPECT_NE(config_mistake("a: 1\n  b: [2\n").find("file:"), std::string::npos);
  EXPECT_NE(config_mistake("- a\n- b\n").find("no names with values"), std::string::npos);
  EXPECT_NE(config_mistake("{\"a\": 1,,}").find("file:1"), std::string::npos);
  EXPECT_THAT(config_mistake("[&a]\nx = 1\n"), StartsWith("file:1:2: not TOML"));
  EXPECT_THAT(config_mistake("[a]\nx = 1\nx = 2\n"), StartsWith("file:3:"));
  EXPECT_THAT(config_mistake("[a]\nx = 1\nx = 2\n"), HasSubstr("cannot redefine"));
  EXPECT_NE(config_mistake("").find("the file is empty"), std::string::npos);
  EXPECT_NE(config_mistake("plain words\n").find("no configuration"), std::string::npos);
}

TEST(ConfigArguments, AnchorsMultiplyOnlySoFar) {
  std::string text = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 40; ++i)
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {p: *a" + std::to_string(i - 1) + ", q: *a" +
            std::to_string(i - 1) + "}\n";
  EXPECT_NE(config_mistake(text).find("anchors may have multiplied them"), std::string::npos);
  std::string deep = "a: ";
  for (int i = 0; i < 200; ++i) deep += "{a: ";
  EXPECT_NE(config_mistake(deep + "1" + std::string(200, '}')).find("more than 64 levels"), std::string::npos);
  std::string items = "a:\n  ";
  for (int i = 0; i < 20'000; ++i) items += "- ";
  EXPECT_NE(config_mistake(items + "1\n").find("file"), std::string::npos);
  EXPECT_EQ(config_mistake("a: &a [*a, *a]\nb: *a\n"),
      "file:1:4: more than 64 levels (an alias may stand inside its own value)");
  EXPECT_NE(config_mistake(std::string(100'000, '[')).find("file"), std::string::npos);
  std::string ends, parts = "[a]\nb", lists = "a = ";
  for (int i = 0; i < 200'000; ++i) parts += ".b";
  for (int i = 0; i < 100; ++i) lists += "[{a=", ends += "}]";
  EXPECT_EQ(config_mistake(parts + " = 1\n"), "file:2: a name of more than 32 parts (a configuration has a few)");
  EXPECT_THAT(config_mistake(lists + "1" + ends + "\n"), HasSubstr("more than 32 levels"));
  EXPECT_EQ(config_rows("a = \"" + std::string(200, '.') + "\" # " + std::string(100, '.') + "\n").size(), 1u);
  EXPECT_NE(config_mistake("a: " + std::string(100'000, '[')).find("file"), std::string::npos);
}

TEST(ConfigArguments, DamageIsAnswered) {
  const std::string texts[] = {"{\n \"a\": {\"b\": [1, {\"c\": 2}], \"d\": \"x\"},\n \"e\": 5e8\n}\n",
      "[a]\nx = 1 # c\ny = [1,\n2]\n[b.c]\nz = \"t\"\n",
      "b: &b\n  a: 1\nm:\n  <<: *b\n  f: {x: 1, y: [1, 2]}\n  l:\n  - 1\n  - k: v\n  r: ${b.a}\n  t: |\n    o\n"};
  std::mt19937 random(5);
  using std::string_view_literals::operator""sv;
  constexpr std::string_view signs = "\"'{}[]:,&*#-|=\n\t $.\0"sv;
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = texts[random() % std::size(texts)];
    for (std::size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, 1 + random() % 5);
      else text.insert(at, 1, signs[random() % signs.size()]);
      if (text.empty()) text = "x";
    }
    const auto read = read_config_arguments(text, "file");
    if (!read) {
      EXPECT_TRUE(read.error().where.starts_with("file")) << text;
      EXPECT_FALSE(read.error().what.empty()) << text;
      continue;
    }
    ++accepted;
    for (const GivenArgument& argument : *read) {
      EXPECT_GE(argument.line, 1u) << text;
      EXPECT_LE(argument.line, 20u) << text;
    }
  }
  EXPECT_GT(accepted, 300);
}

}  // namespace
}  // namespace stepcast::calibrate
