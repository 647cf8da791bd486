#include "calibrate/import/config/config_python.h"

#include <utility>

#include <fmt/format.h>
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
          "data.length=4096", "model.kind=torch.bfloat16", "model.load=false", "optimizer=${one} (computed)",
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

std::string refusal_of_python(const std::string& body) {
  const auto read = read_python_config("def f() -> ConfigContainer:\n" + body, "c.py", "f");
  return read ? "" : to_text(read.error());
}

/// A call is named at every configuration that it may change: by a name that is a part of its own, too, and by another
/// name of the configuration.
TEST(ConfigPython, CallsThatChangeAConfigurationAreNamed) {
  const std::string start = "def f() -> ConfigContainer:\n    base = _other()\n    cfg = _base()\n";
  const std::pair<const char*, const char*> rows[] = {
      {"    set_cfg_parallel(cfg)\n", "set_cfg_parallel=set_cfg_parallel(cfg) (computed)"},
      {"    modify(base, cfg)\n", "modify=modify(base, cfg) (computed)"},
      {"    old = modify(cfg)\n", "modify=modify(cfg) (computed)"},
      {"    cfg.model = Model(a=1)\n    m = cfg.model\n    modify(m)\n", "modify=modify(m) (computed)"}};
  for (const auto& [body, said] : rows)
    EXPECT_THAT(read_function(start + body + "    return cfg\n", "f"), testing::Contains(said)) << body;
  EXPECT_THAT(read_function(start + "    modify(base)\n    return cfg\n", "f"), ElementsAre("config_base=_base"));
}

/// What one name sets of a value, another that holds it would have to see.
TEST(ConfigPython, ASecondNameOfAValueChangesNothing) {
  const std::string start = "    cfg = _base()\n    cfg.model = Model(a=1)\n", end = "    return cfg\n";
  EXPECT_THAT(
      refusal_of_python(start + "    m = cfg.model\n    m.a = 4\n" + end), HasSubstr("c.py:5: 'm.a = 4' is more"));
  EXPECT_THAT(refusal_of_python(start + "    o = Opt(a=1)\n    cfg.o = o\n    o.a = 4\n" + end),
      HasSubstr("'o.a = 4' is more"));
  EXPECT_THAT(
      refusal_of_python(start + "    o = Opt(a=1)\n    cfg.o = Outer(o)\n    o.a = 4\n" + end), HasSubstr("'o.a = 4'"));
  EXPECT_THAT(refusal_of_python(start + "    cfg.second = cfg.model\n" + end), HasSubstr("'cfg.second = cfg.model'"));
  EXPECT_THAT(read_function("def f() -> ConfigContainer:\n" + start +
                                "    m = cfg.model\n    cfg.b = m.a\n    cfg.model.a = 2\n    cfg.c = m.a\n" + end,
                  "f"),
      ElementsAre("config_base=_base", "model.class=Model", "model.a=2", "b=1", "c=m.a (computed)"));
}

/// A name that may have got another value is not known any more.
TEST(ConfigPython, AConstantThatIsSetAgainIsNotKnown) {
  const std::string text = "A = 1\nB = 1\nC = 1\nD = 1\nE = 1\nif big:\n    A = 2\nB = width()\nC += 1\nC2, D = 1, 2\n"
                           "def f(E=2) -> ConfigContainer:\n    cfg = _base()\n"
                           "    cfg.of = Of(a=A, b=B, c=C, d=D, e=E, f=F)\n    return cfg\nF = 6\n";
  EXPECT_THAT(read_function(text, "f"),
      ElementsAre("config_base=_base", "of.class=Of", "of.a=${A} (computed)", "of.b=${B} (computed)",
          "of.c=${C} (computed)", "of.d=${D} (computed)", "of.e=${E} (computed)", "of.f=6"));
}

/// 8 functions that each call the next one 12 times, 430 million calls in all, are read once each; values are bounded
/// in depth, and in how often one is used: 20 lines that double one.
TEST(ConfigPython, TheWorkIsBounded) {
  std::string calls;
  for (int i = 0; i < 8; ++i) {
    calls += fmt::format("def f{}() -> ConfigContainer:\n", i);
    for (int k = 0; k < 12; ++k) calls += fmt::format("    x{} = f{}()\n", k, i + 1);
    calls += "    return x0\n";
  }
  calls += "def f8() -> ConfigContainer:\n    cfg = _base()\n    return cfg\n";
  EXPECT_THAT(read_function(calls, "f0"), ElementsAre("config_base=_base"));
  std::string deep = "    cfg = _base()\n    cfg";
  for (int i = 0; i < 50000; ++i) deep += ".a";
  EXPECT_THAT(refusal_of_python(deep + " = 1\n    return cfg\n"), HasSubstr("c.py:3: 'cfg.a.a"));
  std::string doubled = "    x = C(a=1)\n";
  for (int i = 0; i < 20; ++i) doubled += "    x = C(a=x, b=x)\n";
  EXPECT_THAT(refusal_of_python(doubled + "    return x\n"), HasSubstr("more than 100000 parts"));
  std::string chain = "    cfg = a";
  for (int i = 0; i < 50000; ++i) chain += ".b()";
  EXPECT_THAT(refusal_of_python(chain + "\n    return cfg\n"), HasSubstr("more than literal values"));
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
