// Files that -o names: which form each takes, and what is never written over.
#include "studies/cli/named_outputs.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::cli {
namespace {

using testing::HasSubstr;
using testing_program::own_path;

bool begins_with_plan(const std::string& name) { return file_holds(name, "plan:"); }
constexpr OutputForm test_forms[] = {{".plan", "a plan", begins_with_plan}, {".json", "figures", begins_with_plan}};

Arguments with_output(const std::vector<std::string>& names) {
  return {.words = {}, .rest = {}, .flags = {{"--output", ""}}, .repeated = {{"--output", names}}};
}

void put(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
std::string held(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Refused {
  std::vector<std::string> names;
  std::string what;
};

TEST(NamedOutputs, WithoutTheFlagThereAreNone) {
  EXPECT_TRUE(open_outputs(Arguments{}, "--output", test_forms)->empty());
}

TEST(NamedOutputs, TheEndingSaysTheFormWhateverItsCase) {
  const std::string a = own_path("a.PLAN"), b = own_path("b.json");
  auto outputs = open_outputs(with_output({a, b}), "--output", test_forms);
  ASSERT_TRUE(outputs.has_value()) << to_text(outputs.error());
  ASSERT_EQ(outputs->size(), 2U);
  EXPECT_EQ((*outputs)[0].form, 0U);
  EXPECT_EQ((*outputs)[1].form, 1U);
  EXPECT_TRUE((*outputs)[0].file.write("plan: one").has_value());
  EXPECT_EQ(held(a), "plan: one");
}

TEST(NamedOutputs, AnEarlierOneIsReplacedAndOthersAreLeftAlone) {
  const std::string ours = own_path("ours.plan"), theirs = own_path("theirs.plan"), empty = own_path("empty.plan");
  put(ours, "plan: before");
  put(theirs, "somebody's notes");
  put(empty, "");
  EXPECT_TRUE(open_outputs(with_output({ours}), "--output", test_forms).has_value());
  EXPECT_TRUE(open_outputs(with_output({empty}), "--output", test_forms).has_value());
  const auto refused = open_outputs(with_output({theirs}), "--output", test_forms);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(to_text(refused.error()), HasSubstr("is there and is no such file of stepcast"));
  EXPECT_EQ(held(theirs), "somebody's notes");
}

TEST(NamedOutputs, ANameMayHaveACommaInIt) {
  const std::string name = own_path("tp 8, pp 4.plan");
  const auto outputs = open_outputs(with_output({name}), "--output", test_forms);
  ASSERT_TRUE(outputs.has_value()) << to_text(outputs.error());
  EXPECT_EQ(outputs->size(), 1U);
}

TEST(NamedOutputs, WhatIsNotWrittenLeavesWhatWasThere) {
  const std::string name = own_path("kept.plan");
  put(name, "plan: before");
  { const auto opened = open_outputs(with_output({name}), "--output", test_forms); }
  EXPECT_EQ(held(name), "plan: before");
  EXPECT_FALSE(std::filesystem::exists(name + ".part"));
}

TEST(NamedOutputs, WrongNamesAreExplained) {
  const std::string one = own_path("one.plan");
  const Refused cases[] = {{{""}, "an empty name"}, {{one, ""}, "an empty name"}, {{one, one}, "is named twice"},
      {{own_path("one.pdf")}, "names no form"}, {{own_path("no/such/folder/x.plan")}, "cannot be written"}};
  for (const Refused& c : cases) {
    const auto outputs = open_outputs(with_output(c.names), "--output", test_forms);
    ASSERT_FALSE(outputs.has_value()) << c.what;
    EXPECT_THAT(to_text(outputs.error()), HasSubstr(c.what));
  }
  EXPECT_THAT(to_text(open_outputs(with_output({"x.pdf"}), "--output", test_forms).error()),
      HasSubstr(".plan (a plan), .json (figures)"));
}

}  // namespace
}  // namespace stepcast::cli
