#include "model/base/try.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/base/error.h"

namespace stepcast {
namespace {

Expected<int> half(int number) {
  if (number % 2 != 0) return fail("number", "found an odd one", "even ones");
  return number / 2;
}

Expected<void> positive(int number) {
  if (number <= 0) return fail("number", "found one below 1", "1 or more");
  return {};
}

Expected<std::unique_ptr<int>> boxed(int number) {
  if (number == 0) return fail("box", "found nothing to put in", "something");
  return std::make_unique<int>(number);
}

template <typename First, typename Second> Expected<std::pair<First, Second>> pair_of(First first, Second second) {
  return std::pair(first, second);
}

Expected<std::string> quarter(int number) {
  TRY(positive(number));
  TRY(const auto first, half(number));
  TRY(const auto second, half(first));
  return std::to_string(second);
}

TEST(Try, DeclaresTheValueOrReturnsTheErrorAsAnotherType) {
  EXPECT_EQ(quarter(12), "3");
  EXPECT_EQ(quarter(0).error().what, "found one below 1");
  EXPECT_EQ(quarter(5).error().where, "number");
  EXPECT_EQ(quarter(6).error().hint, "even ones");
}

TEST(Try, MovesTheValueOutOfATemporary) {
  const auto content = [](int number) -> Expected<int> {
    TRY(const auto box, boxed(number));
    return *box;
  };
  EXPECT_EQ(content(7), 7);
  EXPECT_EQ(content(0).error().where, "box");
}

TEST(Try, LeavesANamedExpectedAsItIs) {
  const auto twice = [](const Expected<std::string>& text) -> Expected<std::string> {
    TRY(auto first, text);
    TRY(const auto& second, text);
    EXPECT_EQ(&second, &*text) << "a reference copies nothing";
    first += second;
    return first;
  };
  const Expected<std::string> word("ab");
  EXPECT_EQ(twice(word), "abab");
  EXPECT_EQ(word, "ab");
  Expected<std::string> own("cd");
  const auto shared = [&]() -> Expected<void> {
    TRY(auto& text, own);
    text += "e";
    return {};
  };
  EXPECT_TRUE(shared());
  EXPECT_EQ(own, "cde");
}

TEST(Try, AssignsToWhatExistsOnlyWhereThereIsAValue) {
  struct Place {
    int value = 1;
  } place;
  const auto assign = [&](int number) -> Expected<void> {
    TRY(place.value, half(number));
    return {};
  };
  EXPECT_FALSE(assign(3));
  EXPECT_EQ(place.value, 1);
  EXPECT_TRUE(assign(8));
  EXPECT_EQ(place.value, 4);
}

TEST(Try, EvaluatesTheExpressionOnce) {
  int calls = 0;
  const auto counted = [&](int number) {
    ++calls;
    return half(number);
  };
  const auto run = [&](int number) -> Expected<int> {
    TRY(counted(number));
    TRY(const auto value, counted(number));
    return value;
  };
  EXPECT_EQ(run(4), 2);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(run(3));
  EXPECT_EQ(calls, 3);
}

TEST(Try, WithoutADeclarationIsOneStatement) {
  const auto check = [](bool odd_too, int number) -> Expected<int> {
    if (odd_too) TRY(positive(number));
    else TRY(half(number));
    for (int i = 1; i < number; ++i) TRY(positive(3 - i));
    return number;
  };
  EXPECT_EQ(check(true, 3), 3);
  EXPECT_FALSE(check(true, -1));
  EXPECT_EQ(check(false, -2), -2);
  EXPECT_FALSE(check(false, 1));
  EXPECT_FALSE(check(false, 4)) << "the loop reached 3 - 3";
}

TEST(Try, TakesCommasOfTheExpression) {
  const auto sum = []() -> Expected<long> {
    TRY(const auto both, pair_of<int, long>(1, 2));
    TRY((pair_of<int, long>(1, 2)));
    TRY(const std::vector<int> list, Expected<std::vector<int>>(std::vector<int>{3, 4}));
    return both.first + both.second + list[1];
  };
  EXPECT_EQ(sum(), 7);
}

}  // namespace
}  // namespace stepcast
