// What touches a step and no forecast follows: each such row of the tables is named by predict, and explain lists no
// others under that heading.
#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/base/text.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/read/answers.h"
#include "studies/launch/rules/explain.h"
#include "tests/studies/launch/typed_launch.h"

namespace stepcast::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A value that is neither off nor the default nor what the stacks have; "" of a switch that has none: off by default,
/// and on in the stacks.
std::string telling_value(const ArgumentTable& table, const ArgumentFact& fact) {
  const std::string usual = lower_case(table.default_of(fact, ""));
  const auto tells = [&](const std::string& value) {
    return lower_case(value) != usual && !says_none(value) && !is_usual_value(fact.name, value);
  };
  if (fact.takes == "flag" && tells("true")) return "true";
  if (fact.takes == "flag") return usual == "true" ? "false" : "";
  for (const std::string& value : fact.known)
    if (tells(value) && !is_off(value)) return value;
  return fact.takes == "text" || fact.takes == "list" ? "wibble" : "0.37";
}

Launch launch_with(const Framework& framework, const std::string& name, const std::string& value) {
  Launch launch;
  launch.framework = &framework;
  launch.where = "run.sh";
  launch.arguments.push_back({name, "--" + name, value, 1, {}});
  return launch;
}

bool is_row_of_them(const ArgumentFact& fact) {
  return fact.reach == Reach::uncovered && !fact.asks && fact.refused.empty();
}

TEST(LeftOutRows, EachIsNamedWhereItsValueSaysAnything) {
  std::size_t rows = 0;
  for (const Framework& framework : frameworks()) {
    const ArgumentTable& table = framework.table();
    for (const ArgumentFact& fact : table.facts()) {
      const std::string name = fact.name.ends_with(".*") ? fact.name.substr(0, fact.name.size() - 1) + "x" : fact.name;
      if (!is_row_of_them(fact) || table.find(name) != &fact) continue;
      const std::string value = telling_value(table, fact);
      if (value.empty()) continue;
      const Launch launch = launch_with(framework, name, value);
      EXPECT_THAT(LaunchAnswers(launch).left_over(true),
          Contains(testing::AllOf(HasSubstr("not taken into account"), HasSubstr(name + "="))))
          << framework.id << " " << name << " " << value;
      ++rows;
    }
  }
  EXPECT_GT(rows, 1000U);
}

TEST(LeftOutRows, NoneIsNamedAtItsDefaultOrWithoutAValue) {
  for (const Framework& framework : frameworks()) {
    const ArgumentTable& table = framework.table();
    for (const ArgumentFact& fact : table.facts()) {
      if (!is_row_of_them(fact) || table.find(fact.name) != &fact) continue;
      for (const std::string& value : {table.default_of(fact, ""), std::string("none")}) {
        const Launch launch = launch_with(framework, fact.name, value);
        EXPECT_THAT(LaunchAnswers(launch).left_over(true), Not(Contains(HasSubstr("not taken into account"))))
            << framework.id << " " << fact.name << " " << value;
      }
    }
  }
}

/// One launch with all of Megatron-LM's at once: what explain lists is what predict names.
TEST(LeftOutRows, ExplainListsWhatPredictNames) {
  Launch launch = testing_launch::quiet_megatron();
  const ArgumentTable& table = launch.framework->table();
  std::size_t line = 100;
  for (const ArgumentFact& fact : table.facts())
    if (is_row_of_them(fact) && launch.find(fact.name) == nullptr && fact.name.find('*') == std::string::npos &&
        fact.name.find("checkpoint_args") == std::string::npos && !telling_value(table, fact).empty())
      launch.arguments.push_back({fact.name, "--" + fact.name, telling_value(table, fact), line++, {}});
  LaunchHints hints;
  hints.lenient = true;
  const ExplainedLaunch explained = explain_launch(launch, hints, {});
  ASSERT_TRUE(explained.scenario) << (explained.refusal ? to_text(*explained.refusal) : "");
  std::string named;
  for (const std::string& note : explained.notes)
    if (note.find("not taken into account") != note.npos) named = ", " + note.substr(note.find(':') + 2);
  std::size_t listed = 0;
  for (const ExplainedArgument& argument : explained.arguments) {
    if (argument.fact == nullptr || !is_row_of_them(*argument.fact)) continue;
    const bool is_named = named.find(", " + argument.given.name + "=") != named.npos;
    EXPECT_EQ(argument.reach == Reach::uncovered, is_named) << argument.given.name << " " << argument.given.value;
    listed += argument.reach == Reach::uncovered ? 1 : 0;
  }
  EXPECT_GT(listed, 200U);
}

}  // namespace
}  // namespace stepcast::launch
