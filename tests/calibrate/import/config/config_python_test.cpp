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
          "of.c=${C} (computed)", "of.d=${D} (computed)", "of.e=2", "of.f=6", "config_parameter.E=2"))
      << "E is what the function has for it, and not what the file has";
}

/// Recipes of one body, by the lines behind "cfg = _base()".
std::vector<std::string> read_body(const std::string& body) {
  return read_function(
      "def f(kind='lora', size=4) -> ConfigContainer:\n    cfg = _base()\n" + body + "    return cfg\n", "f");
}

/// A condition over values that the file has set is followed: 2 > 1 holds, 1 > 1 does not.
TEST(ConfigPython, ConditionsOverKnownValuesAreFollowed) {
  const std::pair<const char*, bool> rows[] = {{"cfg.a > 1", true}, {"cfg.a >= 3", false}, {"cfg.a == 2", true},
      {"cfg.a != 2", false}, {"not cfg.a == 2", false}, {"cfg.on", true}, {"not cfg.on", false}, {"cfg.off", false},
      {"cfg.none is None", true}, {"cfg.a is not None", true}, {"cfg.word is None", false},
      {"isinstance(kind, str) and kind.lower() in ['lora', \"dora\"]", true}, {"kind in {'dora'}", false},
      {"kind not in ('a', 'b')", true}, {"isinstance(kind, PEFT)", false}, {"size * 2 == 8 or other", true},
      {"size == 3 and other", false}, {"(cfg.a > 1) and (size < 5)", true}, {"cfg.word == 'none'", true},
      {"cfg.a < 10", true}, {"cfg.a <= 2 and not (size > 4)", true}};
  const std::string values = "    cfg.a = 2\n    cfg.on = True\n    cfg.off = False\n    cfg.none = None\n"
                             "    cfg.word = 'none'\n";
  for (const auto& [condition, holds] : rows) {
    const auto read =
        read_body(values + "    if " + condition + ":\n        cfg.b = 1\n    else:\n        cfg.b = 7\n");
    EXPECT_THAT(read, testing::Contains(holds ? "b=1" : "b=7")) << condition;
    EXPECT_THAT(read, testing::Not(testing::Contains(holds ? "b=7" : "b=1"))) << condition;
  }
}

/// What hangs on a value that is not known is not known either, and what else stands there is.
TEST(ConfigPython, WhatAnUnknownConditionSetsIsNotKnown) {
  for (const char* condition : {"cfg.c > 1", "big", "cfg.a == big", "1 < cfg.a < 3", "cfg.a == 2 and big",
           "hasattr(cfg, 'x')", "cfg.a == '2'", "1 if big else 0"}) {
    const auto read = read_body(std::string("    cfg.a = 2\n    cfg.b = 7\n    if ") + condition +
                                ":\n        cfg.b = 1\n        cfg.d.e = 3\n    elif cfg.a == 2:\n        cfg.f = 4\n"
                                "    else:\n        cfg.g = 5\n    cfg.h = 6\n");
    EXPECT_THAT(read, testing::Contains("h=6")) << condition;
    for (const char* name : {"b=", "d.e=", "f="})
      EXPECT_THAT(read, testing::Contains(testing::AllOf(testing::StartsWith(name), testing::EndsWith("(computed)"))))
          << condition << ": " << name;
    EXPECT_THAT(read, testing::Not(testing::Contains(testing::StartsWith("g=")))) << "a branch that holds is before it";
    EXPECT_THAT(read, testing::Not(testing::Contains("b=7"))) << condition;
  }
  EXPECT_THAT(refusal_of_python("    cfg = _base()\n    if big:\n        return cfg\n    return cfg\n"),
      HasSubstr("c.py:3: 'if big:' is more"));
  EXPECT_THAT(refusal_of_python("    cfg = _base()\n    if change(cfg):\n        pass\n    return cfg\n"),
      HasSubstr("'if change(cfg):' is more"));
  EXPECT_THAT(refusal_of_python("    cfg = _base()\n    if big: cfg.a = 1; cfg.b = 2\n    return cfg\n"),
      HasSubstr("'if big: cfg.a = 1; cfg.b = 2' is more"));
  EXPECT_THAT(
      refusal_of_python("    cfg = _base()\n    if big:\n        for x in y:\n            cfg.a = 1\n    return cfg\n"),
      HasSubstr("'if big:' is more"));
}

TEST(ConfigPython, SeveralStatementsOfALineAreRead) {
  EXPECT_THAT(read_body("    cfg.a = 1; cfg.b = ';';cfg.c = 3;\n"), testing::IsSupersetOf({"a=1", "b=;", "c=3"}));
}

/// An entry of a dictionary is one of many, and a call may give several parts.
TEST(ConfigPython, EntriesAndPartsThatACallGivesAreNotKnown) {
  EXPECT_THAT(read_body("    cfg.env = {'A': 1}\n    cfg.env['B'] = 2\n    cfg.x, cfg.y.z = make(1)\n"),
      testing::IsSupersetOf(
          {"env=cfg.env with cfg.env['B'] = 2 (computed)", "x=cfg.x (computed)", "y.z=cfg.y.z (computed)"}));
}

/// Functions of the file are read with what a call hands them: 2 and 2 x 4 = 8.
TEST(ConfigPython, FunctionsAreReadWithWhatTheyAreHanded) {
  const std::string inner =
      "def g(a, b=3, *, c=5) -> ConfigContainer:\n    cfg = _base()\n    cfg.of = Of(a=a, b=b, c=c)\n"
      "    return cfg\n";
  const auto called = [&](const std::string& call) {
    return inner + "def f(n=4) -> ConfigContainer:\n    cfg = " + call + "\n    return cfg\n";
  };
  EXPECT_THAT(read_function(called("g(2, c=2 * n)"), "f"),
      ElementsAre("config_base=_base", "of.class=Of", "of.a=2", "of.b=3", "of.c=8", "config_parameter.n=4"));
  const auto defined = read_python_config(called("g(n)"), "c.py", "f", {{"n", "6"}});
  ASSERT_TRUE(defined) << to_text(defined.error());
  EXPECT_EQ((*defined)[2].value, "6") << "a user's own";
  EXPECT_EQ(defined->back().name, "of.c") << "no parameter is as the function has it";
  for (const char* call : {"g(1, 2, 3)", "g(1, d=2)", "g(Other(a=1))", "g(**given)", "g(*[1, 4])"}) {
    const auto read = read_python_config(called(call), "c.py", "f");
    ASSERT_FALSE(read) << call;
    EXPECT_THAT(to_text(read.error()), HasSubstr("g is called with arguments")) << call;
  }
}

/// More than one thing on a line, and what else a name holds, are refused rather than half read.
TEST(ConfigPython, LinesThatDoMoreThanOneThingAreRefused) {
  for (const char* lines : {
           "    if cfg.a > 4:\n        cfg.a = 1\n    else: cfg.a = 4\n",
           "    try: cfg.a = 1\n",
           "    x = cfg.a = 4\n",
           "    if big:\n        x = cfg.a = 4\n",
           "    if big:\n        if change(cfg):\n            pass\n",
           "    m = cfg.model\n    m[\"a\"] = 4\n",
           "    m = other()\n    if big:\n        m = cfg.model\n    m.a = 4\n",
       })
    EXPECT_THAT(refusal_of_python(fmt::format(
                    "    cfg = _base()\n    cfg.model = Model(a=2)\n    cfg.a = 2\n{}    return cfg\n", lines)),
        HasSubstr("is more"))
        << lines;
}

TEST(ConfigPython, PythonsOwnWordsAreDefined) {
  const std::string text = "def f(fast: bool = True) -> ConfigContainer:\n    cfg = _base()\n    if fast:\n"
                           "        cfg.a = 4\n    else:\n        cfg.a = 2\n    return cfg\n";
  for (const auto& [said, value] : {std::pair{"False", "2"}, {"false", "2"}, {"None", "2"}, {"True", "4"}}) {
    const auto read = read_python_config(text, "c.py", "f", {{"fast", said}});
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->back().value, value) << said;
  }
  const std::string nots = [] {
    std::string all;
    for (int i = 0; i < 200'000; ++i) all += "not ";
    return all;
  }();
  EXPECT_FALSE(read_python_config(
      "def f() -> ConfigContainer:\n    cfg = _base()\n    if " + nots + "a:\n        return cfg\n", "c.py", "f"));
}

/// A list changes in place: what is known of it ends there, and one with two names would change under both.
TEST(ConfigPython, ListsThatChangeAreNotKept) {
  const auto end = [](const std::string& lines) {
    return "def f() -> ConfigContainer:\n    cfg = _base()\n    mods = [\"a\"]\n" + lines + "    return cfg\n";
  };
  const auto last = [&](const std::string& lines) { return read_function(end(lines), "f").back(); };
  EXPECT_EQ(last("    cfg.m = mods\n"), "m=[\"a\"]");
  EXPECT_EQ(last("    print(mods)\n    n = len(mods)\n    k = mods.index(\"a\")\n    cfg.m = mods\n"), "m=[\"a\"]");
  for (const char* changes : {"mods.append(\"b\")", "extend(mods)", "x = mods.pop()", "mods[0] = \"b\""})
    EXPECT_THAT(last(std::string("    ") + changes + "\n    cfg.m = mods\n"), testing::EndsWith("(computed)"))
        << changes;
  for (const char* shares : {"other = mods\n    other.append(\"b\")", "cfg.m = mods\n    mods.append(\"b\")",
           "cfg.m = mods\n    mods[0] = \"b\"", "cfg.m = mods\n    x = mods.pop()", "cfg.m = mods\n    extend(mods)",
           "cfg.m = mods\n    other = cfg.m\n    other.append(\"b\")", "cfg.m = M(x=mods)\n    mods.append(\"b\")"})
    EXPECT_THAT(refusal_of_python("    cfg = _base()\n    mods = [\"a\"]\n    " + std::string(shares) +
                                  "\n    cfg.m = mods\n    return cfg\n"),
        HasSubstr("more than literal values"))
        << shares;
  EXPECT_EQ(last("    cfg.m = mods\n    mods = [\"b\"]\n    mods.append(\"c\")\n"), "m=[\"a\"]") << "another list";
}

/// A list that gets its second name in a roundabout way changes under both all the same.
TEST(ConfigPython, SecondNamesOfListsAreFoundWhereverTheyAreGiven) {
  const std::string base = "def base(m) -> ConfigContainer:\n    cfg = _base()\n    cfg.m = m\n    return cfg\n"
                           "def f() -> ConfigContainer:\n    mods = [\"a\"]\n    cfg = base(mods)\n";
  EXPECT_THAT(read_function(base + "    return cfg\n", "f"), testing::Contains("m=[\"a\"]"));
  const auto changed = read_python_config(base + "    mods.append(\"b\")\n    return cfg\n", "c.py", "f");
  ASSERT_FALSE(changed);
  EXPECT_THAT(to_text(changed.error()), HasSubstr("c.py:8: 'mods.append"));
  for (const char* lines :
      {"a, b = mods, 2\n    a.append(\"b\")", "other = x if x else mods\n    other.append(\"b\")",
          "other = [mods][0]\n    other.append(\"b\")", "other = [mods][0]\n    third = other\n    third.append(\"b\")",
          "other = mods\n    mods = [\"c\"]\n    other.append(\"b\")", "x = mods.append\n    x(\"b\")",
          "other = [mods][0]\n    extend(other)", "cfg.n = N(a=mods.pop(), b=[mods])",
          "if big:\n        mods = [\"c\"]\n    mods.append(\"b\")",
          "if big:\n        other = [mods][0]\n    other.append(\"b\")", "x = extend(mods)[0]", "x = extend (mods)",
          "x = pick()([mods])", "x = M(a=extend(mods))"})
    EXPECT_THAT(refusal_of_python("    cfg = _base()\n    mods = [\"a\"]\n    cfg.m = mods\n    " + std::string(lines) +
                                  "\n    return cfg\n"),
        HasSubstr("more than literal values"))
        << lines;
  EXPECT_THAT(read_body("    mods = [\"a\"]\n    cfg.m = mods\n    n = len(mods)\n    x = M(a=str(mods))\n"
                        "    on = big and \"a\" in mods\n    cfg.spec = spec(on=on)\n    k = mods[0]\n"),
      testing::Contains("m=[\"a\"]"));
  EXPECT_THAT(refusal_of_python("    mods = [\"a\"]\n    return Config(n=mods.pop(), m=mods)\n"), HasSubstr("'return"));
}

/// A list of the file that any of its functions may change, or that has a second name there, is not known.
TEST(ConfigPython, ListsOfAFileThatChangeElsewhereAreNotKnown) {
  const std::string start = "MODS = [\"a\"]\n",
                    base = "def base() -> ConfigContainer:\n    cfg = _base()\n    cfg.m = MODS\n"
                           "    return cfg\n";
  for (const char* reads :
      {"", "print(MODS)\n", "N = len(MODS)\n", "def g(x):\n    return x in MODS\n", "def g(x):\n    x.m = MODS\n",
          "def g():\n    return M(mods=MODS)\n", "K = MODS[0]\n", "S = 'MODS.append'\n"})
    EXPECT_THAT(read_function(start + reads + base, "base"), testing::Contains("m=[\"a\"]")) << reads;
  for (const char* changes : {"OTHER = MODS\nOTHER.append(\"b\")\n", "def g():\n    MODS.append(\"b\")\n",
           "def g():\n    MODS[0] = \"b\"\n", "def g():\n    x = [MODS]\n", "extend(MODS)\n", "A, B = MODS, 2\n",
           "def g():\n    x = y.m = MODS\n", "def g():\n    return MODS\n", "def g():\n    add = MODS.append\n",
           "def g():\n    del MODS[0]\n", "MODS[0].append(1)\n", "MODS.append(\"b\")\n"})
    EXPECT_THAT(read_function(start + changes + base, "base"), testing::Contains("m=${MODS} (computed)")) << changes;
  EXPECT_THAT(read_function("A = [\"a\"]\nMODS = A\nA.append(\"b\")\n" + base, "base"),
      testing::Contains("m=${MODS} (computed)"));
  const std::string caller = "def f() -> ConfigContainer:\n    cfg = base()\n    MODS.append(\"b\")\n    return cfg\n";
  EXPECT_THAT(read_function(start + base + caller, "f"), testing::Contains("m=${MODS} (computed)"));
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
