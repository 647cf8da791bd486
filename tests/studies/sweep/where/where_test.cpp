#include "studies/sweep/where/where.h"

#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::sweep::where_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using enum Where::Answer;

const std::vector<WordAxis> axes = {{"schedule", {"1f1b", "interleaved-1f1b", "zb-v"}}, {"layout", {}}};

double& at(Figures& figures, Figure figure) { return figures[static_cast<std::size_t>(figure)]; }

/// 2 s and 40 GiB; tp 8, pp 4; MFU 45 %; 1 MJ, $ 1.50; 1f1b.
Figures sample() {
  Figures figures{};
  at(figures, Figure::step_time) = 2;
  at(figures, Figure::optimizer) = 0.25;
  at(figures, Figure::tokens_per_s_per_gpu) = 1000;
  at(figures, Figure::mfu) = 0.45;
  at(figures, Figure::memory_peak) = 40 * 0x1p30;
  at(figures, Figure::memory_headroom) = -2 * 0x1p30;
  at(figures, Figure::weights) = 10 * 0x1p30;
  at(figures, Figure::energy) = 1e6;
  at(figures, Figure::cost) = 1.5;
  at(figures, Figure::gpus) = 64;
  at(figures, Figure::tp) = 8;
  at(figures, Figure::pp) = 4;
  return figures;
}
const std::vector<std::string_view> words = {"1f1b", "Ett|tt|tL"};

Where::Answer ask(const std::string& text, FigureNeeds known = FigureNeeds::forecast) {
  const auto where = Where::read(text, "--where", axes);
  EXPECT_TRUE(where) << text << ": " << to_text(where.error());
  return where ? where->ask(sample(), known, words) : open;
}
std::string error_of(const std::string& text) {
  const auto where = Where::read(text, "--where", axes);
  return where ? "none" : to_text(where.error());
}

TEST(Where, ComparesFigures) {
  for (const char* met : {"tp <= 8", "tp < 9", "tp >= 8", "tp > 7", "tp == 8", "tp != 4", "8 >= tp", "pp < tp",
           "memory.peak < 70 GiB", "memory.peak == 40 GiB", "step_time == 2000 ms", "time == 2", "mfu == 45 %",
           "mfu == 0.45", "mfu>=45%", "tp<=8", "memory.headroom < 0", "memory.headroom > -3 GiB", "energy == 1 MJ",
           "cost == $ 1.50", "cost < 1.6 USD", "cost < $2", "tokens > 999", "mfu < 100 %"})
    EXPECT_EQ(ask(met), yes) << met;
  for (const char* missed :
      {"tp < 8", "tp > 8", "tp != 8", "tp == 4", "memory.peak < 40 GB", "step_time < 1.9 s", "mfu > 45 %"})
    EXPECT_EQ(ask(missed), no) << missed;
}

TEST(Where, JoinsConditions) {
  EXPECT_EQ(ask("tp == 8 and pp == 4"), yes);
  EXPECT_EQ(ask("tp == 8 and pp == 8"), no);
  EXPECT_EQ(ask("tp == 4 or pp == 4"), yes);
  EXPECT_EQ(ask("tp == 8 or pp == 1 and pp == 2"), yes);  // `and` binds tighter
  EXPECT_EQ(ask("(tp == 8 or pp == 1) and pp == 2"), no);
  EXPECT_EQ(ask("not tp == 8"), no);
  EXPECT_EQ(ask("not tp == 4 and pp == 4"), yes);  // `not` binds tightest
  EXPECT_EQ(ask("not (tp == 4 and pp == 4)"), yes);
  EXPECT_EQ(ask("not not tp == 8"), yes);
  EXPECT_EQ(ask("tp == 1 or tp == 2 or tp == 8 or tp == 3"), yes);
  EXPECT_EQ(ask("\n tp == 8\tand\r\n(pp == 4) "), yes);
}

TEST(Where, Computes) {
  for (const char* met :
      {"tp * pp == 32", "gpus / tp / pp == 2", "tp + pp * 2 == 16", "(tp + pp) * 2 == 24", "tp - pp - 1 == 3",
          "memory.peak + 2 GiB == 42 GiB", "memory.weights / memory.peak == 25 %", "optimizer < 20 % * step_time",
          "energy / step_time == 500000", "tokens_per_s_per_gpu * gpus * step_time == 128000", "(tp) == (8)",
          "-tp == -8", "- -tp == 8", "tp == 2 * (3 + 1)", "memory.peak < 80 GiB * 0.9", "optimizer == step_time / tp",
          "5 s - step_time == 3 s", "-memory.headroom == 2 GiB", "1 / step_time == 0.5"})
    EXPECT_EQ(ask(met), yes) << met;
}

TEST(Where, ComparesWords) {
  EXPECT_EQ(ask("schedule == 1f1b"), yes);
  EXPECT_EQ(ask("schedule == zb-v"), no);
  EXPECT_EQ(ask("schedule != interleaved-1f1b and tp == 8"), yes);
  EXPECT_EQ(ask("(schedule == '1f1b')"), yes);
  EXPECT_EQ(ask("(schedule==1f1b)and(tp==8)"), yes);
  EXPECT_EQ(ask("layout == \"Ett|tt|tL\" or tp == 1"), yes);
  EXPECT_EQ(ask("layout == Ett|tt|tL"), yes);
  EXPECT_EQ(ask("layout == 9,8,8,7"), no);
  EXPECT_EQ(ask("schedule == zb-v", FigureNeeds::plan), no);
}

/// Kleene (1938): what is open stays open unless the other side decides.
TEST(Where, IsOpenUntilTheRestIsKnown) {
  constexpr FigureNeeds plan = FigureNeeds::plan, memory = FigureNeeds::memory;
  EXPECT_EQ(ask("memory.peak < 70 GiB", plan), open);
  EXPECT_EQ(ask("memory.peak < 70 GiB", memory), yes);
  EXPECT_EQ(ask("step_time < 3 s", memory), open);
  EXPECT_EQ(ask("memory.weights < 3 GiB", memory), open);
  EXPECT_EQ(ask("tp == 8 and step_time < 3 s", plan), open);
  EXPECT_EQ(ask("tp == 4 and step_time < 3 s", plan), no);
  EXPECT_EQ(ask("step_time < 3 s and tp == 4", plan), no);
  EXPECT_EQ(ask("step_time < 3 s or tp == 8", plan), yes);
  EXPECT_EQ(ask("step_time < 3 s or tp == 4", plan), open);
  EXPECT_EQ(ask("not step_time < 3 s", plan), open);
  EXPECT_EQ(ask("not (step_time < 3 s and tp == 4)", plan), yes);
  EXPECT_EQ(ask("step_time / tp < 3 s", memory), open);  // one figure of a comparison is enough
}

TEST(Where, SaysWhatItWaitsFor) {
  const auto needs = [](const char* text) { return Where::read(text, "--where", axes)->needs(); };
  EXPECT_EQ(needs("tp <= 8 and schedule == 1f1b"), FigureNeeds::plan);
  EXPECT_EQ(needs("tp <= 8 and memory.peak < 70 GiB"), FigureNeeds::memory);
  EXPECT_EQ(needs("mfu > 40 % or memory.peak < 70 GiB"), FigureNeeds::forecast);
  EXPECT_THAT(Where::read("tp * pp <= 8 and cost < 2 and tp > 1", "--where")->figures(),
      ElementsAre(Figure::cost, Figure::tp, Figure::pp));
}

TEST(Where, BlankTextIsMetByAll) {
  for (const auto& where : {Where(), *Where::read("", "--where"), *Where::read(" \n", "--where")}) {
    EXPECT_TRUE(where.empty());
    EXPECT_EQ(where.ask(Figures{}, FigureNeeds::plan), yes);
    EXPECT_EQ(where.text(), "");
    EXPECT_EQ(where.needs(), FigureNeeds::plan);
  }
  const auto some = Where::read(" tp < 8 ", "--where");
  EXPECT_FALSE(some->empty());
  EXPECT_EQ(some->text(), " tp < 8 ");
}

TEST(Where, WhatIsNotANumberMeetsNothing) {
  Figures figures = sample();
  at(figures, Figure::cost) = std::numeric_limits<double>::quiet_NaN();
  for (const char* text : {"cost < 5", "cost > 5", "cost == 5", "cost != 5", "cost * 0 <= 1", "tp * 0 / 0 != 1"})
    EXPECT_EQ(Where::read(text, "--where")->ask(figures, FigureNeeds::forecast), no) << text;
}

TEST(Where, UnitsMustAgree) {
  EXPECT_EQ(error_of("memory.peak < 70 s"),
      "--where, column 1: 'memory.peak' is in bytes, '70 s' is in seconds (both sides of a comparison have one unit)");
  EXPECT_EQ(error_of("memory.peak < 60"),
      "--where, column 15: 'memory.peak' is in bytes, and 60 is 60 of them (write it like 60 GiB)");
  EXPECT_EQ(error_of("tp <= 8 and step_time < memory.peak"),
      "--where, column 13: 'step_time' is in seconds, 'memory.peak' "
      "is in bytes (both sides of a comparison have one unit)");
  EXPECT_THAT(
      error_of("step_time + 3 GiB < 4 s"), HasSubstr("'step_time' is in seconds, '3 GiB' is in bytes (what is added"));
  EXPECT_THAT(error_of("tp < 45 %"), HasSubstr("'tp' is a count, '45 %' is a share"));
  EXPECT_THAT(error_of("mfu > tp"), HasSubstr("'mfu' is a share, 'tp' is a count"));
  EXPECT_THAT(error_of("cost < 3 MJ"), HasSubstr("'cost' is in dollars, '3 MJ' is in joules"));
  EXPECT_THAT(error_of("tp < $ 3"), HasSubstr("'tp' is a count, '$ 3' is in dollars"));
  EXPECT_THAT(error_of("energy / step_time < 3 MJ"),
      HasSubstr("'energy / step_time' is in joules / seconds, '3 MJ' is in joules"));
  EXPECT_THAT(error_of("step_time * step_time < 3 s"), HasSubstr("is in seconds^2"));
  EXPECT_THAT(error_of("tokens < 3 s"), HasSubstr("'tokens' is in 1 / seconds"));
}

TEST(Where, UnitsAreKnown) {
  EXPECT_EQ(error_of("memory.peak < 70 GiBs"), "--where, column 15: unknown unit 'GiBs' (did you mean 'GiB'?)");
  EXPECT_THAT(error_of("memory.peak < 70 parsecs"), HasSubstr("unknown unit 'parsecs' (one of: s, ms, us"));
  EXPECT_THAT(error_of("memory.peak < 70 gib"), HasSubstr("did you mean 'GiB'?"));
  EXPECT_THAT(error_of("memory.peak < 1e30 GiB"), HasSubstr("beyond any real memory size"));
  EXPECT_THAT(error_of("tp < 1e999"), HasSubstr("'1e999' is beyond any real value"));
  EXPECT_THAT(error_of("cost < $ 3 s"), HasSubstr("'cost' is in dollars, '$ 3 s' is in seconds"));
}

TEST(Where, SharesEndAtOne) {
  EXPECT_EQ(error_of("mfu > 45"), "--where, column 7: 'mfu' is a share, and 45 is 4500 % (write it like 45 %)");
  EXPECT_EQ(error_of("120 % < mfu"), "--where, column 1: 'mfu' is a share, and 120 % is 120 % (shares go up to 100 %)");
}

TEST(Where, UnknownNamesSuggestTheNearest) {
  EXPECT_EQ(error_of("memory.peek < 70 GiB"),
      "--where, column 1: unknown figure 'memory.peek' (did you mean 'memory.peak'?)");
  EXPECT_EQ(error_of("tp <= 8 and TP > 2"), "--where, column 13: unknown figure 'TP' (did you mean 'tp'?)");
  EXPECT_EQ(error_of("shedule == 1f1b"), "--where, column 1: unknown figure 'shedule' (did you mean 'schedule'?)");
  EXPECT_THAT(error_of("bandwidth_of_the_nic < 3"), HasSubstr("one of: step_time, "));
  EXPECT_EQ(error_of("schedule == zbv"), "--where, column 13: 'zbv' is no value of 'schedule' (did you mean 'zb-v'?)");
  EXPECT_EQ(error_of("schedule == fast"),
      "--where, column 13: 'fast' is no value of 'schedule' (one of: 1f1b, interleaved-1f1b, zb-v)");
}

TEST(Where, WordsAreOnlyEqualOrNot) {
  EXPECT_EQ(
      error_of("schedule < zb-v"), "--where, column 1: 'schedule' has words for values (compare it with == or !=)");
  EXPECT_THAT(error_of("schedule + 1 == 2"), HasSubstr("'schedule' has words for values"));
  EXPECT_THAT(error_of("8 == schedule"), HasSubstr("'schedule' has words for values and stands on the right"));
  EXPECT_THAT(error_of("- schedule == 1f1b"), HasSubstr("'schedule' has words for values"));
  EXPECT_THAT(error_of("schedule"), HasSubstr("'schedule' is no condition (compare it, like schedule == 1f1b)"));
  EXPECT_THAT(error_of("schedule =="), HasSubstr("a value of 'schedule' is missing (one of: 1f1b"));
  EXPECT_THAT(error_of("schedule == 'zb-v"), HasSubstr("column 13: the quotation has no end (close it with ')"));
  EXPECT_THAT(error_of("tp == 1f1b"), HasSubstr("unknown unit 'f1b'"));
}

TEST(Where, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_EQ(error_of("tp <="),
      "--where, column 6: a figure or a number is missing at the end (a comparison looks like tp <= 8)");
  EXPECT_THAT(error_of("tp <= -"), HasSubstr("a figure or a number is missing at the end"));
  EXPECT_THAT(error_of("tp <= 8 and"), HasSubstr("column 12: a figure or a number is missing"));
  EXPECT_THAT(error_of("not"), HasSubstr("missing"));
  EXPECT_EQ(error_of("tp <= 8 and and pp > 1"),
      "--where, column 13: expected a figure or a number, found 'and' (a comparison looks like tp <= 8)");
  EXPECT_THAT(error_of("< 8"), HasSubstr("column 1: expected a figure or a number, found '<'"));
  EXPECT_THAT(error_of("tp < > 8"), HasSubstr("column 6: expected a figure or a number, found '>'"));
  EXPECT_THAT(
      error_of("tp <= 8 pp > 1"), HasSubstr("column 9: expected an operator, 'and', 'or' or the end, found 'pp'"));
  EXPECT_THAT(error_of("tp <= 8 AND pp > 1"), HasSubstr("did you mean 'and'?"));
  EXPECT_THAT(error_of("tp <= 8 && pp > 1"), HasSubstr("found '&' (write 'and')"));
  EXPECT_THAT(error_of("tp <= 8 || pp > 1"), HasSubstr("found '|' (write 'or')"));
  EXPECT_EQ(error_of("tp = 8"), "--where, column 4: '=' is no comparison (== for equal, <= for at most)");
  EXPECT_EQ(error_of("schedule = zb-v"), "--where, column 10: '=' is no comparison (== for equal, <= for at most)");
  EXPECT_THAT(error_of("tokens > 12,000"), HasSubstr("a number has no separators"));
  EXPECT_THAT(error_of("8 tp < 3"), HasSubstr("found 'tp'"));
  EXPECT_THAT(error_of("tp <= 8)"), HasSubstr("column 8: expected an operator, 'and', 'or' or the end, found ')'"));
  EXPECT_THAT(error_of("(tp <= 8"), HasSubstr("column 9: expected ')', found the end (of the '(' in column 1)"));
  EXPECT_THAT(error_of("tp < (8"), HasSubstr("of the '(' in column 6"));
  EXPECT_THAT(error_of("()"), HasSubstr("column 2: expected a figure or a number, found ')'"));
  EXPECT_THAT(error_of("cost < $"), HasSubstr("expected a number, found the end (write it like $ 1.20)"));
  EXPECT_THAT(error_of("tp < ."), HasSubstr("'.' is not a number"));
  EXPECT_THAT(error_of(std::string("tp < \x01", 6)), HasSubstr("the byte 0x01"));
  EXPECT_THAT(error_of(std::string("tp < 8\0", 7)), HasSubstr("the byte 0x00"));
}

TEST(Where, ConditionsAreNoNumbers) {
  EXPECT_EQ(error_of("tp"), "--where, column 1: 'tp' is no condition (compare it, like tp <= 8)");
  EXPECT_THAT(error_of("tp and pp < 3"), HasSubstr("'tp' is no condition"));
  EXPECT_THAT(error_of("not tp"), HasSubstr("'tp' is no condition"));
  EXPECT_THAT(error_of("(tp < 8) < 3"), HasSubstr("'(tp < 8)' is a condition, not a number"));
  EXPECT_THAT(error_of("3 + (tp < 8) > 1"), HasSubstr("'(tp < 8)' is a condition"));
  EXPECT_THAT(error_of("-(tp < 8)"), HasSubstr("'(tp < 8)' is a condition"));
  EXPECT_EQ(error_of("1 < tp < 8"), "--where, column 8: comparisons do not chain (write '1 < tp and ...')");
  EXPECT_THAT(error_of("8 <= 8"), HasSubstr("'8' and '8' are both numbers"));
}

TEST(Where, HostileTextsEnd) {
  const std::string deep = std::string(5000, '(') + "tp < 8" + std::string(3000, ')');
  EXPECT_EQ(error_of(deep), "--where, column 31: too many open parentheses (at most 30)");
  EXPECT_THAT(error_of("tp < " + std::string(5000, '(')), HasSubstr("too many open parentheses"));
  EXPECT_EQ(error_of(std::string(1'000'000, 'x')),
      "--where, column 10001: the constraint has 1000000 characters (at most 10000)");
  EXPECT_LT(error_of(std::string(9'000, 'x') + " < 3").size(), 1000u);
  EXPECT_LT(error_of("tp < " + std::string(9'000, '9')).size(), 1000u);
  std::string many = "tp == 1";
  while (many.size() < 9'900) many += " or tp == 1";
  EXPECT_EQ(ask(many), no);
  EXPECT_EQ(ask(many + " or tp == 8"), yes);
  EXPECT_EQ(ask("tp == " + std::string(9'000, '-') + "8"), yes);
  std::string negated;
  while (negated.size() < 9'000) negated += "not not ";
  EXPECT_EQ(ask(negated + "tp == 8"), yes);
}

/// Each parenthesis leaves the left of an `or` and of an `and`, or of a sum and of a product, behind.
TEST(Where, TheDeepestIsAnswered) {
  std::string truths = "tp == 8", numbers = "pp";
  for (int i = 0; i < Where::deepest; ++i) {
    truths = "tp == 1 or tp == 8 and (" + truths + ")";
    numbers = "tp + 1 * (" + numbers + ")";
  }
  EXPECT_EQ(ask(truths), yes);
  EXPECT_EQ(ask(fmt::format("{} == {}", 8 * Where::deepest + 4, numbers)), yes);
  EXPECT_THAT(error_of("(" + truths + ")"), HasSubstr("too many open parentheses"));
}

/// Random constraints with their values worked out beside them.
class RandomWhere {
 public:
  RandomWhere(unsigned seed, const Figures& figures) : random_(seed), figures_(figures) {}

  struct Truth {
    std::string text;
    bool met;
  };
  Truth truth(int depth) {
    if (depth == 0 || pick(4) == 0) return comparison();
    const Truth a = truth(depth - 1), b = truth(depth - 1);
    if (pick(3) == 0) return {fmt::format("not ({})", a.text), !a.met};
    if (pick(2) == 0) return {fmt::format("({}) and ({})", a.text, b.text), a.met && b.met};
    return {fmt::format("{} or {}", a.text, b.text), a.met || b.met};
  }

 private:
  struct Number {
    std::string text;
    double value;
  };

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  double value_of(Figure figure) const { return figures_[static_cast<std::size_t>(figure)]; }

  Number leaf() {
    switch (pick(5)) {
      case 0: return {"tp", value_of(Figure::tp)};
      case 1: return {"pp", value_of(Figure::pp)};
      case 2: return {"step_time / 1 s", value_of(Figure::step_time)};
      case 3: return {"memory.peak / 1 GiB", value_of(Figure::memory_peak) / 0x1p30};
      default: break;
    }
    const int number = pick(9);
    return {fmt::format("{}", number), static_cast<double>(number)};
  }
  Number sum() {
    const Number a = leaf(), b = leaf(), c = leaf();
    switch (pick(4)) {
      case 0: return {fmt::format("{} + {} - {}", a.text, b.text, c.text), a.value + b.value - c.value};
      case 1: return {fmt::format("{} - ({} + {})", a.text, b.text, c.text), a.value - (b.value + c.value)};
      case 2: return {fmt::format("{} - {} * -({})", a.text, b.text, c.text), a.value - b.value * -c.value};
      default: return a;
    }
  }

  /// "0 * tp" because two numbers are not compared.
  Truth comparison() {
    const Number a = sum();
    const int number = pick(12);
    switch (pick(3)) {
      case 0: return {fmt::format("0 * tp + {} < {}", a.text, number), a.value < number};
      case 1: return {fmt::format("0 * tp + {} == {}", a.text, number), a.value == number};
      default: return {fmt::format("{} >= 0 * tp + {}", number, a.text), number >= a.value};
    }
  }

  std::mt19937 random_;
  const Figures& figures_;
};

Figures random_figures(std::mt19937& random) {
  Figures figures{};
  for (const Figure figure : {Figure::tp, Figure::pp, Figure::step_time})
    at(figures, figure) = static_cast<double>(random() % 9);
  at(figures, Figure::memory_peak) = static_cast<double>(random() % 9) * 0x1p30;
  return figures;
}

TEST(Where, AgreesWithValuesWorkedOutBeside) {
  std::mt19937 random(5);
  int met = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Figures figures = random_figures(random);
    const auto [text, expected] = RandomWhere(seed, figures).truth(5);
    const auto where = Where::read(text, "--where");
    ASSERT_TRUE(where) << text << to_text(where.error());
    EXPECT_EQ(where->ask(figures, FigureNeeds::forecast), expected ? yes : no) << text;
    met += expected ? 1 : 0;
  }
  EXPECT_GT(met, 500);
  EXPECT_LT(met, 1500);
}

/// What is decided early must be what all the rest comes to, or a sweep would lose configurations.
TEST(Where, NeverDecidesTooEarly) {
  std::mt19937 random(6);
  int decided = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Figures figures = random_figures(random);
    const auto where = Where::read(RandomWhere(seed, figures).truth(4).text, "--where");
    ASSERT_TRUE(where);
    const Where::Answer early = where->ask(figures, FigureNeeds::plan);
    const Where::Answer later = where->ask(figures, FigureNeeds::memory);
    if (early == open) continue;
    EXPECT_EQ(later, early) << where->text();
    ++decided;
    for (int other = 0; other < 20; ++other) {
      const Figures again = random_figures(random);
      at(figures, Figure::step_time) = again[static_cast<std::size_t>(Figure::step_time)];
      at(figures, Figure::memory_peak) = again[static_cast<std::size_t>(Figure::memory_peak)];
      EXPECT_EQ(where->ask(figures, FigureNeeds::forecast), early) << where->text();
    }
  }
  EXPECT_GT(decided, 300);
}

/// Whatever words are changed, what comes out is a constraint that decides or an error with a column.
TEST(Where, AnyWordsAreReadOrRefused) {
  static const char* const sound[] = {
      "not", "(", "tp", "<", "8", "or", "mfu", ">", "45 %", ")", "and", "schedule", "==", "1f1b"};
  static const char* const pieces[] = {"tp", "mfu", "schedule", "8", "3 GiB", "45 %", "$ 1", "1f1b", "(", ")", "<",
      "==", "+", "-", "*", "/", "and", "or", "not", "'", "step_time", ".", "%", "\xc2\xb5s", "=", "e9"};
  std::mt19937 random(7);
  int read = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string text;
    for (const char* piece : sound)
      text += fmt::format("{} ", random() % 8 == 0 ? pieces[random() % std::size(pieces)] : piece);
    const auto where = Where::read(text, "--where", axes);
    if (!where) {
      EXPECT_THAT(where.error().where, testing::StartsWith("--where, column ")) << text;
      continue;
    }
    EXPECT_NE(where->ask(sample(), FigureNeeds::forecast, words), open) << text;
    ++read;
  }
  EXPECT_GT(read, 1000);
  EXPECT_LT(read, 19'000);
}

}  // namespace
}  // namespace stepcast::sweep::where_test
