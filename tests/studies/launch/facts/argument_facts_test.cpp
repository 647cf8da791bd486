#include "studies/launch/facts/argument_facts.h"

#include <cctype>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/facts/embedded_arguments.h"

namespace stepcast::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* small_releases = R"({"program": "small", "releases": [
  {"id": "1.0", "date": "2020-01-01"}, {"id": "1.5", "date": "2020-06-01"}, {"id": "2.0", "date": "2021-01-01"}]})";

/// Wide ways to split, its old name, a nested name, and one that came late with a default that changed.
constexpr const char* small_rows = R"({"program": "small", "topic": "Splits", "source": "a/small@2.0: splits.py",
  "arguments": [
  {"name": "tensor_ways", "takes": "count", "since": "1.5", "default": "1", "asks": "tp", "what": "Ways of a split."},
  {"name": "ways", "takes": "count", "until": "1.5", "instead": "tensor_ways", "asks": "tp", "what": "Once its name."},
  {"name": "zero.stage", "takes": "count", "known": ["0", "1"], "asks": "zero", "what": "Which homes are divided."},
  {"name": "late", "takes": "flag", "since": "1.5", "defaults": {"": "0", "2.0": "8"}, "trap": "Never set.",
   "reach": "uncovered", "what": "Came late."},
  {"name": "seed", "source": "b/large@3.0: seeds.py", "takes": "number", "what": "Where random numbers start."}]})";

Expected<ArgumentTables> read_small(const std::string& rows, const std::string& releases = small_releases) {
  const EmbeddedFile files[] = {{"10_small.json", releases}, {"11_small_splits.json", rows}};
  return read_argument_tables(files);
}

ArgumentTable small_table() {
  const auto tables = read_small(small_rows);
  EXPECT_TRUE(tables) << (tables ? "" : to_text(tables.error()));
  return tables ? tables->find("small")->second : ArgumentTable{};
}

/// The error of one row of program small.
std::string row_error(const std::string& row) {
  const auto tables = read_small(
      R"({"program": "small", "topic": "Splits", "source": "a/small@2.0: splits.py", "arguments": [)" + row + "]}");
  return tables ? "none" : to_text(tables.error());
}

TEST(ArgumentFacts, ARowIsReadWhole) {
  const ArgumentTable table = small_table();
  const ArgumentFact* late = table.find("late");
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->topic, "Splits");
  EXPECT_EQ(late->takes, "flag");
  EXPECT_EQ(late->what, "Came late.");
  EXPECT_EQ(late->trap, "Never set.");
  EXPECT_EQ(late->reach, Reach::uncovered);
  EXPECT_EQ(late->asks, std::nullopt);
  EXPECT_EQ(table.find("ways")->instead, "tensor_ways");
  EXPECT_THAT(table.find("zero.stage")->known, ElementsAre("0", "1"));
  EXPECT_EQ(table.find("zero.stage")->reach, Reach::step) << "it answers a question";
  EXPECT_EQ(table.find("seed")->reach, Reach::nothing) << "where nothing is said";
  EXPECT_EQ(late->source, "a/small@2.0: splits.py") << "that of its file";
  EXPECT_EQ(table.find("seed")->source, "b/large@3.0: seeds.py") << "its own";
}

TEST(ArgumentFacts, ASourceThatNamesNoFileIsRefused) {
  for (const char* source : {R"("source": "small", )", R"("source": "a/small: splits.py", )",
           R"("source": "a/small@2.0", )", R"("source": "a/small@2.0: x.py; b/large", )"}) {
    const auto tables = read_small(fmt::format(R"({{"program": "small", "topic": "Splits", {}"arguments": [
      {{"name": "a", "takes": "flag", "what": "A."}}]}})",
        source));
    ASSERT_FALSE(tables) << source;
    EXPECT_THAT(to_text(tables.error()), HasSubstr("/arguments/0/source: found '")) << source;
    EXPECT_THAT(tables.error().hint, HasSubstr("OWNER/REPOSITORY@TAG: file"));
  }
}

TEST(ArgumentFacts, ANameIsFoundWholeOrByItsLastParts) {
  const ArgumentTable table = small_table();
  EXPECT_EQ(table.find("model.config.tensor_ways"), table.find("tensor_ways"));
  EXPECT_EQ(table.find("engine.zero.stage"), table.find("zero.stage"));
  EXPECT_EQ(table.find("stage"), nullptr) << "a row's own dots stay";
  EXPECT_EQ(table.find("tensor_ways.count"), nullptr);
  EXPECT_EQ(table.find("other"), nullptr);
  EXPECT_EQ(table.find(""), nullptr);
}

TEST(ArgumentFacts, NamesThatUsersMakeUpAreFoundBelowAKnownOne) {
  const auto tables =
      read_small(R"({"program": "small", "topic": "Groups", "source": "a/small@2.0: groups.py", "arguments": [
    {"name": "groups.*", "takes": "text", "what": "What holds for a group."},
    {"name": "groups.size", "takes": "count", "what": "Members of a group."}]})");
  ASSERT_TRUE(tables) << to_text(tables.error());
  const ArgumentTable& table = tables->find("small")->second;
  EXPECT_EQ(table.find("groups.mine.bits")->name, "groups.*");
  EXPECT_EQ(table.find("engine.groups.mine")->name, "groups.*");
  EXPECT_EQ(table.find("groups.size")->name, "groups.size") << "a row of its own goes first";
  EXPECT_EQ(table.find("groups"), nullptr);
  EXPECT_EQ(table.find("other.mine"), nullptr);
}

TEST(ArgumentFacts, RowsThatAnswerStandInTheOrderOfTheFiles) {
  const ArgumentTable table = small_table();
  EXPECT_THAT(table.answering(Asked::tp), ElementsAre(table.find("tensor_ways"), table.find("ways")));
  EXPECT_TRUE(table.answering(Asked::pp).empty());
  EXPECT_THAT(table.names(), ElementsAre("tensor_ways", "ways", "zero.stage", "late", "seed"));
}

TEST(ArgumentFacts, ReleasesStandInTime) {
  const ArgumentTable table = small_table();
  EXPECT_TRUE(table.before("1.0", "1.5"));
  EXPECT_FALSE(table.before("1.5", "1.5"));
  EXPECT_FALSE(table.before("2.0", "1.5"));
  EXPECT_TRUE(table.before("1.5", "")) << "nothing said is the newest";
  EXPECT_FALSE(table.before("", "2.0"));
  EXPECT_TRUE(table.has_release("1.5"));
  EXPECT_FALSE(table.has_release("1.6"));
}

TEST(ArgumentFacts, AnArgumentIsKnownFromSinceUntilBeforeUntil) {
  const ArgumentTable table = small_table();
  const ArgumentFact& now = *table.find("tensor_ways");
  const ArgumentFact& once = *table.find("ways");
  EXPECT_FALSE(table.knows(now, "1.0"));
  EXPECT_TRUE(table.knows(now, "1.5"));
  EXPECT_TRUE(table.knows(now, ""));
  EXPECT_TRUE(table.knows(once, "1.0"));
  EXPECT_FALSE(table.knows(once, "1.5"));
  EXPECT_FALSE(table.knows(once, ""));
}

TEST(ArgumentFacts, ADefaultHoldsFromItsRelease) {
  const ArgumentTable table = small_table();
  EXPECT_EQ(table.default_of(*table.find("late"), "1.5"), "0");
  EXPECT_EQ(table.default_of(*table.find("late"), "2.0"), "8");
  EXPECT_EQ(table.default_of(*table.find("late"), ""), "8");
  EXPECT_EQ(table.default_of(*table.find("tensor_ways"), "1.0"), "1");
  EXPECT_EQ(table.default_of(*table.find("seed"), ""), "") << "nothing is said";
}

TEST(ArgumentFacts, AnotherProgramsArgumentsOfAReleaseHoldToo) {
  const EmbeddedFile files[] = {
      {"10_large.json",
          R"({"program": "large", "extends": "small@1.0", "releases": [{"id": "main", "date": "2022-01-01"}],
        "topic": "Own", "source": "a/large@1: own.py", "arguments": [{"name": "seed", "takes": "count", "what": "Another meaning here."}]})"},
      {"20_small.json", small_releases}, {"21_small.json", small_rows}};
  const auto tables = read_argument_tables(files);
  ASSERT_TRUE(tables) << to_text(tables.error());
  const ArgumentTable& large = tables->find("large")->second;
  EXPECT_THAT(large.names(), ElementsAre("seed", "ways", "zero.stage")) << "its own first; 1.0 has no other rows";
  EXPECT_EQ(large.find("seed")->what, "Another meaning here.");
  EXPECT_TRUE(large.knows(*large.find("ways"), "main")) << "the other's later history says nothing here";
  EXPECT_EQ(large.find("ways")->instead, "");
  EXPECT_EQ(large.releases().size(), 1U);
}

TEST(ArgumentFacts, WrongRowsAreNamed) {
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A.", "asks": "tpp"})"),
      HasSubstr("arguments/11_small_splits.json:/arguments/0/asks: 'tpp' is no question"));
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A.", "asks": "tp", "reach": "step"})"),
      HasSubstr("reach: stands beside \"asks\""));
  EXPECT_THAT(
      row_error(R"({"name": "a", "takes": "flags", "what": "A."})"), HasSubstr("found 'flags' (did you mean 'flag'?)"));
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A"})"), HasSubstr("what: is no sentence"));
  EXPECT_THAT(
      row_error(R"({"name": "a", "takes": "flag", "what": "A.", "reach": "far"})"), HasSubstr("/arguments/0/reach"));
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A.", "sinse": "1.0"})"), HasSubstr("sinse"));
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A.", "since": "1.6"})"),
      HasSubstr("/arguments/0/since: '1.6' is no release"));
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A.", "since": "2.0", "until": "1.0"})"),
      HasSubstr("/arguments/0/until: '1.0' is not after '2.0'"));
  EXPECT_THAT(row_error(R"({"name": "a", "takes": "flag", "what": "A.", "instead": "b"})"),
      HasSubstr("/arguments/0/instead: 'b' is no row"));
  EXPECT_THAT(
      row_error(R"({"name": "a", "takes": "flag", "what": "A."}, {"name": "a", "takes": "flag", "what": "B."})"),
      HasSubstr("/arguments/1/name: 'a' stands in arguments/11_small_splits.json:/arguments/0 already"));
}

TEST(ArgumentFacts, WrongDefaultsAreNamed) {
  const std::string row = R"({"name": "a", "takes": "count", "what": "A.", )";
  EXPECT_THAT(row_error(row + R"("default": "1", "defaults": {"": "1"}})"), HasSubstr("stands beside \"default\""));
  EXPECT_THAT(row_error(row + R"("defaults": {"": "1", "3.0": "2"}})"), HasSubstr("/defaults: '3.0' is no release"));
  EXPECT_THAT(
      row_error(row + R"("defaults": {"2.0": "1", "1.0": "2"}})"), HasSubstr("/defaults: '1.0' is out of order"));
  EXPECT_THAT(row_error(row + R"("default": 1})"), HasSubstr("/arguments/0/default"));
}

std::string program_error(const std::string& releases) {
  const auto tables = read_small(small_rows, releases);
  return tables ? "none" : to_text(tables.error());
}

TEST(ArgumentFacts, WrongProgramsAreNamed) {
  EXPECT_THAT(program_error(R"({"program": "small"})"), HasSubstr("10_small.json:/releases: none"));
  EXPECT_THAT(
      program_error(R"({"program": "small", "releases": [{"id": "2", "date": "2021"}, {"id": "1", "date": "2020"}]})"),
      HasSubstr("/releases/1/date: is before that of the release above it"));
  EXPECT_THAT(
      program_error(R"({"program": "small", "releases": [{"id": "1", "date": "2020"}, {"id": "1", "date": "2020"}]})"),
      HasSubstr("/releases/1/id: '1' is there already"));
  const std::string extends = R"({"program": "small",
    "releases": [{"id": "1.5", "date": "2020"}, {"id": "2.0", "date": "2020"}], "extends": )";
  EXPECT_THAT(program_error(extends + "\"large\"}"), HasSubstr("/extends: found 'large' (PROGRAM@RELEASE)"));
  EXPECT_THAT(program_error(extends + "\"large@1\"}"), HasSubstr("/extends: no program 'large'"));
  EXPECT_THAT(program_error(extends + "\"small@1.5\"}"), HasSubstr("/extends: 'small' extends this one"));
  const auto twice = read_small(small_releases);
  ASSERT_FALSE(twice);
  EXPECT_THAT(to_text(twice.error()), HasSubstr("11_small_splits.json:/releases: given twice"));
}

TEST(ArgumentFacts, AReleaseOfTheOtherProgramThatIsNotThereIsNamed) {
  const EmbeddedFile files[] = {
      {"10_large.json",
          R"({"program": "large", "extends": "small@1.4", "releases": [{"id": "main", "date": "2022"}]})"},
      {"20_small.json", small_releases}};
  const auto tables = read_argument_tables(files);
  ASSERT_FALSE(tables);
  EXPECT_THAT(to_text(tables.error()), HasSubstr("'1.4' is no release of small"));
}

// The files that are compiled in.

TEST(ArgumentFacts, EveryFileIsRight) {
  const auto tables = read_argument_tables(embedded_arguments());
  ASSERT_TRUE(tables) << to_text(tables.error());
  EXPECT_FALSE(tables->empty());
  for (const auto& [program, table] : *tables) {
    EXPECT_FALSE(table.facts().empty()) << program;
    EXPECT_EQ(argument_table(program).facts().size(), table.facts().size());
  }
  EXPECT_TRUE(argument_table("no such program").facts().empty());
}

bool ends_as_sentence(const std::string& text) {
  constexpr std::size_t longest = 200;  // what a row of a table can show
  return text.size() > 10 && text.size() <= longest && text.back() == '.' && text.find("  ") == std::string::npos &&
         text.front() != ' ';
}
bool is_sentence(const std::string& text) {
  return ends_as_sentence(text) && std::islower(static_cast<unsigned char>(text.front())) == 0;
}

TEST(ArgumentFacts, EveryRowSaysSomethingOfItsOwn) {
  const auto tables = read_argument_tables(embedded_arguments());
  ASSERT_TRUE(tables);
  for (const auto& [program, table] : *tables) {
    std::map<std::string, std::string> said;
    for (const ArgumentFact& fact : table.facts()) {
      EXPECT_TRUE(is_sentence(fact.what)) << program << " " << fact.name << ": " << fact.what;
      // A trap may begin with the value that it is about: "local does not overlap."
      EXPECT_TRUE(fact.trap.empty() || ends_as_sentence(fact.trap)) << program << " " << fact.name << ": " << fact.trap;
      const auto [first, own] = said.emplace(fact.what, fact.name);
      EXPECT_TRUE(own) << program << ": " << fact.name << " says what " << first->second << " says";
    }
  }
}

/// Which arguments are known to be harmless is data with a source; one whose source nobody finds is not known.
TEST(ArgumentFacts, EveryRowHasItsSource) {
  const auto tables = read_argument_tables(embedded_arguments());
  ASSERT_TRUE(tables) << to_text(tables.error());
  for (const auto& [program, table] : *tables)
    for (const ArgumentFact& fact : table.facts())
      EXPECT_NE(fact.source.find('@'), std::string::npos) << program << " " << fact.name << ": '" << fact.source << "'";
}

TEST(ArgumentFacts, NamesAreSpelledAsTheyAreRead) {
  const auto tables = read_argument_tables(embedded_arguments());
  ASSERT_TRUE(tables);
  for (const auto& [program, table] : *tables)
    for (const ArgumentFact& fact : table.facts())
      EXPECT_EQ(fact.name.find_first_of("- ="), std::string::npos) << program << " " << fact.name;
}

}  // namespace
}  // namespace stepcast::launch
