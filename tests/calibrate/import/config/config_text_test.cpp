#include "calibrate/import/config/config_text.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

ArgumentMap config(const std::string& text) {
  const auto read = read_config(text, "file");
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
  return read ? *read : ArgumentMap{};
}

std::string config_error(const std::string& text) {
  const auto read = read_config(text, "file");
  return read ? "read" : to_text(read.error());
}

TEST(ConfigText, Toml) {
  const ArgumentMap read =
      config("# top\n[a]\nx = 1  # one\ntext = \"a # b\"\n\n[a.b-c]\nlist = [1,\n 2]\nflag=true\n");
  EXPECT_EQ(read, (ArgumentMap{{"a.x", "1"}, {"a.text", "a # b"}, {"a.b_c.list", "[1, 2]"}, {"a.b_c.flag", "true"}}));
}

TEST(ConfigText, Yaml) {
  const ArgumentMap read = config(
      "model:\n  layers: 32\n  optim:\n    name: adam  # of them\n    betas:\n    - 0.9\n    - 0.95\n  data: [1, 2]\n"
      "  items:\n  - name: a\n    size: 3\n  - name: b\ntrainer:\n  precision: 'bf16'\n  empty:\n");
  EXPECT_EQ(read, (ArgumentMap{{"model.layers", "32"}, {"model.optim.name", "adam"}, {"model.optim.betas", "0.9 0.95"},
                      {"model.data", "[1, 2]"}, {"model.items.0.name", "a"}, {"model.items.0.size", "3"},
                      {"model.items.1.name", "b"}, {"trainer.precision", "bf16"}}));
}

TEST(ConfigText, SumsOfReferences) {
  const ArgumentMap read =
      config("model:\n  hidden_size: 1024\n  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n  half: "
             "${divide_ceil:${model.hidden_size},3}\n  deep: {a: '${add:${..hidden_size}, 1}', b: '${.a}'}\n"
             "  other: ${multiply:4, ${.nothing}}\n  unknown: ${root:4,2}\n  text: ${multiply:4, x}\n");
  EXPECT_EQ(read.at("model.ffn_hidden_size"), "4096");
  EXPECT_EQ(read.at("model.half"), "342");
  EXPECT_EQ(read.at("model.deep.a"), "1025");
  EXPECT_EQ(read.at("model.deep.b"), "1025");
  EXPECT_EQ(read.at("model.other"), "${multiply:4, ${.nothing}}");
  EXPECT_EQ(read.at("model.unknown"), "${root:4,2}");
  EXPECT_EQ(read.at("model.text"), "${multiply:4, x}");
}

TEST(ConfigText, Json) {
  const ArgumentMap read = config(R"({"a": {"b": 5e8, "on": true, "none": null}, "text": "x"})");
  EXPECT_EQ(read, (ArgumentMap{{"a.b", "500000000"}, {"a.on", "true"}, {"text", "x"}}));
}

TEST(ConfigText, MistakesNameTheLine) {
  EXPECT_NE(config_error("[a]\nx = 1\nnothing\n").find("file:3"), std::string::npos);
  EXPECT_NE(config_error("[a]\nx = [1,\n2\n").find("file:3:3: not TOML: Error while parsing array"), std::string::npos);
  EXPECT_NE(config_error("[a]\nx = 1\nx = 2\n").find("file:3:"), std::string::npos);
  EXPECT_EQ(config_error("a:\n  b: 1\n  what is this\n"),
      "file:3:3: not YAML: 'what is this' is a name without a value (name: value)");
  EXPECT_EQ(config_error("\n# c\nplain words\n"),
      "file:3: 'plain words' is no configuration (JSON, TOML, YAML, or a script with the launch command)");
  EXPECT_NE(config_error("{\"a\": 1, \"a\": 2}").find("a"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::calibrate
