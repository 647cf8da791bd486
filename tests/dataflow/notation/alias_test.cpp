// Aliases: the shipped files word for word, and what `use` turns into.
#include <fstream>
#include <iterator>
#include <map>

#include <gtest/gtest.h>

#include "dataflow/notation/embedded_aliases.h"
#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {
namespace {

Expected<std::vector<Statement>> expand_text(const std::string& text) {
  const Expected<MappingProgram> program = parse(text, "plan.flow");
  if (!program) return tl::unexpected(program.error());
  return expand(*program);
}

/// The expansion as printed statements, or the error.
std::vector<std::string> expanded_lines(const std::string& text) {
  const auto statements = expand_text(text);
  if (!statements) return {to_text(statements.error())};
  std::vector<std::string> lines;
  for (const Statement& statement : *statements) lines.push_back(print(statement));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Alias, ShippedAliasesAreTheseStatements) {
  const Lines gemm{"par m on x", "par n on y"};
  const Lines steady{"par h on x", "par g*r on yz", "par f on yz", "par v on yz", "par f on x", "par h on yz"};
  const auto joined = [](std::initializer_list<Lines> parts) {
    Lines all;
    for (const Lines& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const Lines panels{"home I: k on y", "home W: k on x", "for k:*", "move I, W multicast"};
  const std::map<std::string, Lines> expected{
      {"ep_gather", {"at dispatch, combine: par e on ep"}},
      {"tp", {"par g*r on tp", "par f on tp", "par fs on tp", "par u on tp"}},
      {"vocab", {"par v on tp"}},
      {"sp", {"at loss: par none on tp", "par s on tp"}},
      {"ulysses", {"at attn.core: par g*r on cp", "par s on cp"}},
      {"cp", {"par s on cp zigzag", "at attn.core: move K, V rotate"}},
      {"cp_gather", {"par s on cp zigzag"}},
      {"dcp", {"at attn.core, attn.cache: par t on dcp"}},
      {"pcp", {"at sample: par none on cp", "at attn.cache: par t on cp", "par s on cp zigzag"}},
      {"pcp_ring", {"at sample: par none on cp", "at attn.cache: par t on cp", "par s on cp zigzag",
                       "at attn.cache: move K, V rotate", "at attn.core: move K.cache, V.cache rotate"}},
      {"pcp_exchange", {"at sample: par none on cp", "at attn.core, attn.cache: par g*r on cp", "par s on cp zigzag"}},
      {"dp", {"par b on dp"}},
      {"ep", {"at expert: par e on ep", "at expert: par c on edp"}},
      {"etp", {"at expert: par j on etp"}},
      {"pp", {"par layer on pp sched 1f1b for mb:*"}},
      {"zero1", {"home optimizer: * on dp*cp"}},
      {"zero2", {"home optimizer: * on dp*cp", "home grads: * on dp*cp"}},
      {"fsdp", {"home weights: * on dp*cp"}},
      {"hsdp", {"home weights: * on shard"}},
      {"fsdp_nosync", {"home weights: * on dp*cp", "home grads: partial on dp*cp"}},
      {"ws2d", steady},
      {"ws2d_b", joined({{"at attn.core: par b on x"}, steady})},
      {"wg_x", {"par b on x", "par g*r on yz", "par f on yz", "par h on yz", "home weights: h on x"}},
      {"wg_xyz",
          {"par b on x*yz", "at mlp: home weights: h on x, f on yz", "at attn: home weights: h on x, g*r on yz"}},
      {"summa", joined({gemm, panels})},
      {"cannon", joined({gemm,
                     {"home I: k on y skew x", "home W: k on x skew y", "for k:*", "move I rotate", "move W rotate"}})},
      {"summa25d", joined({gemm, panels, {"par k on c"}})},
  };
  std::map<std::string, Lines> shipped;
  for (const Alias& alias : builtin_aliases())
    for (const Statement& statement : alias.statements) shipped[alias.name].push_back(print(statement));
  EXPECT_EQ(shipped, expected);
}

TEST(Alias, EveryShippedFileOpensWithTwoLinesOfComment) {
  for (const EmbeddedFile& file : embedded_aliases()) {
    EXPECT_EQ(file.text.rfind("# ", 0), 0u) << file.name;
    EXPECT_EQ(file.text.substr(file.text.find('\n') + 1, 2), "# ") << file.name;
  }
}

TEST(Alias, UseKeepsTextOrderWithStatementsBetween) {
  EXPECT_EQ(expanded_lines("mesh tp:2 dp:4\nuse vocab, dp\npar t on tp\nuse sp"),
      (Lines{"par v on tp", "par b on dp", "par t on tp", "at loss: par none on tp", "par s on tp"}));
}

TEST(Alias, StatementsRememberTheirAliasAndTheirPlace) {
  const auto statements = expand_text("mesh dp:4\nuse dp\npar s on dp");
  ASSERT_TRUE(statements);
  EXPECT_EQ(statements->at(0).alias, "dp");
  EXPECT_EQ(statements->at(0).position.file, "aliases/dp.flow");
  EXPECT_EQ(statements->at(0).position.line, 3);
  EXPECT_EQ(statements->at(0).position.column, 12);
  EXPECT_EQ(statements->at(1).alias, "");
  EXPECT_EQ(statements->at(1).position.line, 3);
}

TEST(Alias, TheProgramsOwnAliasWins) {
  EXPECT_EQ(expanded_lines("mesh dp:4\nalias dp = par s on dp\nuse dp"), (Lines{"par s on dp"}));
}

TEST(Alias, AbsentAxesLeaveProductsInsideAnAlias) {
  EXPECT_EQ(expanded_lines("mesh dp:4\nuse zero1"), (Lines{"home optimizer: * on dp"}));
  EXPECT_EQ(expanded_lines("mesh cp:2 tp:8\nuse fsdp"), (Lines{"home weights: * on cp"}));
  EXPECT_EQ(expanded_lines("mesh dp:4 cp:2\nuse zero1"), (Lines{"home optimizer: * on dp*cp"}));
}

TEST(Alias, AxesOfEveryMeshLineCount) {
  EXPECT_EQ(expanded_lines("mesh tp:2 dp:4\nmesh ep:4 edp:2\nuse ep"),
      (Lines{"at expert: par e on ep", "at expert: par c on edp"}));
}

TEST(Alias, AStatementWithoutAnyAxisLeftIsAnErrorAtTheUse) {
  EXPECT_EQ(expanded_lines("mesh dp:4 pp:2\n  use dp, tp"),
      (Lines{"plan.flow:2:3: alias 'tp' needs axis 'tp', which no mesh line has, for 'par g*r on tp' "
             "(did you mean 'dp'? axes: dp, pp; an axis of one rank is written tp:1)"}));
  const auto begins = [](const std::string& text, const std::string& start) {
    EXPECT_EQ(expanded_lines(text).at(0).substr(0, start.size()), start);
  };
  begins("mesh width:4\nuse zero2", "plan.flow:2:1: alias 'zero2' needs axis 'dp'");
  begins("mesh dp:4\nuse pp", "plan.flow:2:1: alias 'pp' needs axis 'pp'");
  begins("mesh y:4\nuse summa", "plan.flow:2:1: alias 'summa' needs axis 'x'");
}

TEST(Alias, TheProgramsOwnStatementsMustNameKnownAxes) {
  EXPECT_EQ(expanded_lines("mesh dp:4\nhome weights: * on dp*cp"),
      (Lines{"plan.flow:2:1: found axis 'cp', which no mesh line has "
             "(did you mean 'dp'? axes: dp; an axis of one rank is written cp:1)"}));
  for (const char* statement : {"home I: k on a skew wide", "move X exchange dedupe wide", "par b on a*wide",
           "par layer on wide sched gpipe for mb:2"})
    EXPECT_NE(expanded_lines(std::string("mesh a:2\n") + statement).at(0).find("found axis 'wide'"), std::string::npos);
}

TEST(Alias, WithoutMeshLineTheHintShowsOne) {
  EXPECT_EQ(expanded_lines("use dp"), (Lines{"plan.flow:1:1: alias 'dp' needs axis 'dp', which no mesh line has, for "
                                             "'par b on dp' (the program has no mesh line; write one, "
                                             "such as 'mesh dp:8')"}));
}

TEST(Alias, UnknownAliasSuggestsTheNearest) {
  EXPECT_EQ(expanded_lines("mesh dp:4\nuse fsdpp"),
      (Lines{"plan.flow:2:1: found unknown alias 'fsdpp' (did you mean 'fsdp'?)"}));
}

TEST(Alias, TheExampleOfTheGrammarPageExpands) {
  std::ifstream file(STEPCAST_SOURCE_DIR "/docs/notation.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find("```\nmesh ");
  ASSERT_NE(begin, std::string::npos);
  const std::string example = page.substr(begin + 4, page.find("\n```", begin + 4) - begin - 4);
  const Lines lines = expanded_lines(example);
  ASSERT_GT(lines.size(), 8u) << lines.at(0);
  EXPECT_EQ(lines.back(), "at loss: move grads reduce as bf16");
}

TEST(Alias, ExpansionIsBounded) {
  std::string text = "mesh dp:2\nalias long = par b on dp";
  for (int i = 1; i < 1000; ++i) text += ";par b on dp";
  text += "\nuse ";
  for (int i = 0; i < 11; ++i) text += i == 0 ? "long" : ",long";
  EXPECT_NE(expanded_lines(text).at(0).find("more than 10000 statements"), std::string::npos);
}

TEST(Alias, AnAliasAndItsExpansionAreTheSameStatements) {
  for (const Alias& alias : builtin_aliases()) {
    const std::string mesh = "mesh tp:2 cp:2 dp:2 pp:2 etp:1 ep:2 edp:2 shard:2 rep:2 x:2 y:2 yz:2 c:2 dcp:2\n";
    const auto used = expand_text(mesh + "use " + alias.name);
    ASSERT_TRUE(used) << alias.name << to_text(used.error());
    std::string written = mesh;
    for (const Statement& statement : alias.statements) written += print(statement) + "\n";
    const auto direct = expand_text(written);
    ASSERT_TRUE(direct) << written;
    EXPECT_EQ(*used, *direct) << alias.name;
  }
}

}  // namespace
}  // namespace stepcast::dataflow
