#include "calibrate/import/config/config_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* two_functions = R"(# a comment (that opens a bracket
def small() -> Trainer.Config:
    """Words with ( in them."""
    spec = model_registry("8B", kernels=[Fast.Config(a=1), "x"])
    return Trainer.Config(
        model_spec=spec,
        training=Training(tokens=2 * 4_096 + 1, steps=-5, rate=3e-4, on=True, other=None),
    )

def helper(config: Trainer.Config) -> None:
    config.training.steps = 7

def large() -> Trainer.Config:
    config = small()
    config.training.steps = 9
    config.split = Split(ways=8 if big else 4)
    return config
)";

/// "name=value" of one function.
std::vector<std::string> read_function(const std::string& text, const std::string& function) {
  const auto read = read_python_config(text, "c.py", function);
  EXPECT_TRUE(read) << to_text(read.error());
  std::vector<std::string> out;
  for (const GivenArgument& given : read ? *read : std::vector<GivenArgument>{})
    out.push_back(given.name + "=" + given.value + (given.unset.empty() ? "" : " (computed)"));
  return out;
}

TEST(ConfigPython, FunctionsThatGiveAConfigurationAreFound) {
  EXPECT_THAT(python_config_functions(two_functions), ElementsAre("small", "large"));
  EXPECT_TRUE(is_python_config(two_functions));
  EXPECT_FALSE(is_python_config("def main() -> None:\n    return Trainer.Config()\n"));
}

TEST(ConfigPython, KeywordsOfCallsAreNamesWithDots) {
  EXPECT_THAT(read_function(two_functions, "small"),
      ElementsAre("model_spec.class=model_registry", "model_spec.0=8B", "model_spec.kernels=[Fast.Config(a=1), \"x\"]",
          "training.class=Training", "training.tokens=8193", "training.steps=-5", "training.rate=3e-4",
          "training.on=true", "training.other=none"));
}

TEST(ConfigPython, OneFunctionChangesWhatAnotherGives) {
  const std::vector<std::string> large = read_function(two_functions, "large");
  EXPECT_THAT(large, testing::Contains("training.steps=9"));
  EXPECT_THAT(large, testing::Not(testing::Contains("training.steps=-5")));
  EXPECT_THAT(large, testing::Contains("split.ways=ways=8 if big else 4 (computed)"));
}

constexpr const char* recipes = R"(import torch
_NAME = "Qwen/Qwen3-8B"

def small() -> ConfigContainer:
    cfg = _base()
    cfg.model = Bridge.from_hf(_NAME, revision="1").get(load=False)
    cfg.model.length = 4096
    cfg.data.length = cfg.model.length
    one, two = maker(a=1)
    cfg.optimizer = one
    cfg.model.parts.append(7)
    cfg.model.kind = torch.bfloat16
    helper(cfg.model, 3)
    warn("small")
    return cfg

def large() -> "ConfigContainer":
    cfg = small()
    cfg.model.length = 8192
    return cfg
)";

/// A recipe starts from a function of another file, is asked of a call, reads its own values and is handed to helpers.
TEST(ConfigPython, RecipesThatStartElsewhereAreRead) {
  const std::vector<std::string> small = read_function(recipes, "small");
  for (const char* said :
      {"config_base=_base", "model.of.class=Bridge.from_hf", "model.of.0=Qwen/Qwen3-8B", "model.length=4096",
          "data.length=4096", "model.kind=torch.bfloat16", "model.load=false", "optimizer=one (computed)",
          "helper=helper(cfg.model, 3) (computed)", "cfg.model.parts.append=cfg.model.parts.append(7) (computed)"})
    EXPECT_THAT(small, testing::Contains(said));
  EXPECT_THAT(small, testing::Not(testing::Contains(HasSubstr("warn")))) << "it is handed nothing";
  EXPECT_THAT(read_function(recipes, "large"), testing::Contains("model.length=8192"));
  EXPECT_THAT(python_config_functions(recipes), ElementsAre("small", "large"));
}

TEST(ConfigPython, WhatIsMoreThanLiteralIsAnErrorWithItsLine) {
  const auto loop = read_python_config(
      "def f() -> Trainer.Config:\n    for x in y:\n        pass\n    return Trainer.Config()\n", "c.py", "f");
  ASSERT_FALSE(loop);
  EXPECT_THAT(to_text(loop.error()), HasSubstr("c.py:2"));
  EXPECT_FALSE(read_python_config("def f() -> Trainer.Config:\n    return other\n", "c.py", "f"));
  EXPECT_FALSE(read_python_config("def f() -> Trainer.Config:\n    return f()\n", "c.py", "f")) << "it calls itself";
  EXPECT_FALSE(read_python_config(two_functions, "c.py", "absent"));
}

/// Texts that are cut off or nested without an end are read or refused.
TEST(ConfigPython, AnyPieceOfATextIsReadOrRefused) {
  const std::string whole = two_functions;
  for (std::size_t end = 0; end < whole.size(); ++end)
    for (const std::string& function : python_config_functions(whole.substr(0, end)))
      (void)read_python_config(whole.substr(0, end), "c.py", function);
  const std::string deep = "def f() -> Trainer.Config:\n    return Trainer.Config(a=" + std::string(10000, '(');
  (void)read_python_config(deep, "c.py", "f");
  const std::string calls = [] {
    std::string text = "def f() -> Trainer.Config:\n    return Trainer.Config(";
    for (int i = 0; i < 10000; ++i) text += "a=b(";
    return text;
  }();
  (void)read_python_config(calls, "c.py", "f");
}

}  // namespace
}  // namespace stepcast::calibrate
