// The parser: what each line of the notation becomes, what wrong text answers, and that no text breaks it.
#include <random>

#include <gtest/gtest.h>

#include "dataflow/notation/embedded_aliases.h"
#include "tests/dataflow/notation/parse_expect.h"

namespace stepcast::dataflow {
namespace {

TEST(Parse, MeshLinesKeepTheirOrder) {
  const MappingProgram program = read_program("mesh tp:8 cp:1 dp:16\nmesh etp:1 ep:128  # experts\n");
  ASSERT_EQ(program.meshes.size(), 2u);
  EXPECT_EQ(program.meshes[0].axes, (std::vector<MeshLine::Axis>{{"tp", 8}, {"cp", 1}, {"dp", 16}}));
  EXPECT_EQ(program.meshes[1].axes, (std::vector<MeshLine::Axis>{{"etp", 1}, {"ep", 128}}));
  EXPECT_EQ(program.meshes[1].position.line, 2);
}

TEST(Parse, ParWithScopeProductAndLayout) {
  const MappingProgram program = read_program("at attn.core, loss: par g*r on tp*cp zigzag");
  const auto& statement = std::get<Statement>(program.body.at(0));
  EXPECT_EQ(statement.scope, (NameList{"attn.core", "loss"}));
  const auto& par = std::get<ParStatement>(statement.body);
  EXPECT_EQ(par.dims, (NameList{"g", "r"}));
  EXPECT_EQ(par.axes, (NameList{"tp", "cp"}));
  EXPECT_EQ(par.layout.kind, Layout::Kind::zigzag);
}

TEST(Parse, ScopeHoldsForOneStatement) {
  const MappingProgram program = read_program("at loss: par none on tp ; par s on tp");
  ASSERT_EQ(program.body.size(), 2u);
  EXPECT_TRUE(std::get<ParStatement>(std::get<Statement>(program.body[0]).body).dims.empty());
  EXPECT_TRUE(std::get<Statement>(program.body[1]).scope.empty());
}

TEST(Parse, Layouts) {
  EXPECT_EQ(only_statement<ParStatement>("par s on cp").layout, Layout{});
  EXPECT_EQ(only_statement<ParStatement>("par s on cp block").layout, Layout{});
  EXPECT_EQ(only_statement<ParStatement>("par s on cp cyclic(2)").layout, (Layout{Layout::Kind::cyclic, 2, {}}));
  EXPECT_EQ(
      only_statement<ParStatement>("par s on cp list [7,8,8,7]").layout, (Layout{Layout::Kind::list, 1, {7, 8, 8, 7}}));
  EXPECT_EQ(only_statement<ParStatement>("par s on cp list [7 8]").layout, (Layout{Layout::Kind::list, 1, {7, 8}}));
}

TEST(Parse, ParOverLayersIsAStage) {
  EXPECT_EQ(
      only_statement<StageStatement>("par layer on pp sched 1f1b for mb:16"), (StageStatement{"pp", "1f1b", {}, 16}));
  EXPECT_EQ(only_statement<StageStatement>("par layer on pp zigzag list [9,8,8,7] sched zb-v for mb:8"),
      (StageStatement{"pp", "zb-v", {Layout::Kind::zigzag, 1, {9, 8, 8, 7}}, 8}));
  EXPECT_EQ(only_statement<StageStatement>("par layer on pp cyclic(2) sched interleaved-1f1b for mb:*"),
      (StageStatement{"pp", "interleaved-1f1b", {Layout::Kind::cyclic, 2, {}}, 0}));
}

TEST(Parse, ForWithCountOrStar) {
  EXPECT_EQ(only_statement<ForStatement>("for k:4"), (ForStatement{"k", 4}));
  EXPECT_EQ(only_statement<ForStatement>("for k:*"), (ForStatement{"k", 0}));
}

TEST(Parse, HomePlaces) {
  EXPECT_EQ(only_statement<HomeStatement>("home optimizer: * on dp*cp"),
      (HomeStatement{"optimizer", {{"*", {"dp", "cp"}, ""}}}));
  EXPECT_EQ(only_statement<HomeStatement>("home weights: h on x, g*r on yz"),
      (HomeStatement{"weights", {{"h", {"x"}, ""}, {"g*r", {"yz"}, ""}}}));
  EXPECT_EQ(only_statement<HomeStatement>("home I: k on y skew x"), (HomeStatement{"I", {{"k", {"y"}, "x"}}}));
  EXPECT_EQ(only_statement<HomeStatement>("home grads: full on rep").places[0].what, "full");
}

TEST(Parse, MoveOptionsInAnyOrder) {
  MoveStatement expected;
  expected.what = {"K", "V"};
  expected.manner = Manner::rotate;
  expected.as = "fp8";
  expected.chunks = 4;
  expected.bucket = "25 MB";
  expected.staged = true;
  expected.ahead = 2;
  expected.life = Life::microbatch;
  expected.dedupe = "ep";
  EXPECT_EQ(only_statement<MoveStatement>("move K, V rotate as fp8 in chunks 4 bucket 25 MB staged ahead 2 "
                                          "life microbatch dedupe ep"),
      expected);
  EXPECT_EQ(only_statement<MoveStatement>("move K, V dedupe ep life microbatch ahead 2 staged bucket 25MB "
                                          "in chunks 4 as fp8 rotate"),
      expected);
}

TEST(Parse, MoveMayStateOptionsAlone) {
  const auto move = only_statement<MoveStatement>("move weights life step");
  EXPECT_EQ(move.manner, Manner::unset);
  EXPECT_EQ(move.life, Life::step);
}

TEST(Parse, SaveAndRecompute) {
  EXPECT_EQ(only_statement<SaveStatement>("save X1 attn.Q at use"), (SaveStatement{{"X1", "attn.Q"}, true}));
  EXPECT_EQ(only_statement<SaveStatement>("save X1, X2 at home"), (SaveStatement{{"X1", "X2"}, false}));
  EXPECT_EQ(only_statement<RecomputeStatement>("recompute attn.core"), (RecomputeStatement{{"attn.core"}, false, 0}));
  EXPECT_EQ(only_statement<RecomputeStatement>("recompute attn mlp whole layers 5"),
      (RecomputeStatement{{"attn", "mlp"}, true, 5}));
}

TEST(Parse, WrittenOperators) {
  const MappingProgram program = read_program("dim m:4096 k:64\n"
                                              "mlp.up: O[m,n] += I[m,k] * W[k,n]\n"
                                              "act: Y[m] = gelu O[m]\nt: L[] max= Y[m]");
  EXPECT_EQ(program.dims.at(0).extent, 4096);
  EXPECT_EQ(program.dims.at(1).name, "k");
  ASSERT_EQ(program.operators.size(), 3u);
  const WrittenOperator& up = program.operators[0];
  EXPECT_EQ(up.name, "mlp.up");
  EXPECT_EQ(up.tags, (NameList{"mlp", "mlp.up"}));
  EXPECT_EQ(up.monoid, Monoid::sum);
  EXPECT_EQ(up.output, plain_access("O", {"m", "n"}));
  EXPECT_EQ(up.inputs, (std::vector<WrittenAccess>{plain_access("I", {"m", "k"}), plain_access("W", {"k", "n"})}));
  EXPECT_EQ(program.operators[1].function, "gelu");
  EXPECT_EQ(program.operators[1].monoid, Monoid::none);
  EXPECT_EQ(program.operators[2].monoid, Monoid::max);
  EXPECT_TRUE(program.operators[2].output.indices.empty());
}

TEST(Parse, KeywordsMayNameOperators) { EXPECT_EQ(read_program("move: O[m] = I[m]").operators.at(0).name, "move"); }

TEST(Parse, AliasGoesOnBelowASemicolon) {
  const MappingProgram program = read_program("alias mine = par b on dp ;  # and\n"
                                              "  at loss: par none on tp\npar s on tp");
  ASSERT_EQ(program.aliases.size(), 1u);
  EXPECT_EQ(program.aliases[0].statements.size(), 2u);
  EXPECT_EQ(program.body.size(), 1u);
}

TEST(Parse, SemicolonSeparatesAnAliasFromItsUse) {
  const MappingProgram program = read_program("alias mine = par b on dp ; use mine, tp");
  EXPECT_EQ(program.aliases.at(0).statements.size(), 1u);
  EXPECT_EQ(std::get<Use>(program.body.at(0)).names, (NameList{"mine", "tp"}));
}

TEST(Parse, MapBlockHoldsUsesAndStatementsInOrder) {
  const MappingProgram program = read_program("map big {\n  use tp ; par b on dp\n  use pp\n}\n");
  EXPECT_EQ(program.map_name, "big");
  ASSERT_EQ(program.body.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Statement>(program.body[1]));
}

TEST(Parse, EveryStatementKnowsItsPlace) {
  const MappingProgram program = read_program("mesh dp:2\n\n  par b on dp ; at loss: par v on dp");
  const Position first = std::get<Statement>(program.body.at(0)).position;
  const Position second = std::get<Statement>(program.body.at(1)).position;
  EXPECT_EQ(first.file, "plan.flow");
  EXPECT_EQ((std::pair{first.line, first.column}), (std::pair{3, 3}));
  EXPECT_EQ((std::pair{second.line, second.column}), (std::pair{3, 17}));
}

TEST(Parse, ErrorsNamePlaceFindingAndExpectation) {
  expect_refusals({
      {"pra b on dp", "plan.flow:1:1", "found 'pra', expected a statement"},
      {"pra b on dp", "plan.flow:1:1", "did you mean 'par'?"},
      {"mesh tp:8\nmeshh dp:2", "plan.flow:2:1", "did you mean 'mesh'?"},
      {"par b an dp", "plan.flow:1:7", "found 'an', expected 'on' (par DIM[*DIM] on AXIS"},
      {"par b on dp zigzig", "plan.flow:1:13", "found 'zigzig', expected ';' or a new line"},
      {"par on dp", "plan.flow:1:8", "found 'dp', expected 'on'"},
      {"par b on\npar s on tp", "plan.flow:1:9", "found the end of the line, expected an axis"},
      {"par b on dp*dp", "plan.flow:1:13", "found 'dp' twice in one product"},
      {"par a.b on dp", "plan.flow:1:5", "expected a dim"},
      {"par layer on pp", "plan.flow:1:16", "found the end of the text, expected 'sched'"},
      {"par layer*b on pp sched gpipe for mb:4", "plan.flow:1:13", "layers are laid on one axis alone"},
      {"par layer on pp sched for mb:4", "plan.flow:1:27", "found 'mb', expected 'for'"},
      {"par s on cp cyclic 2", "plan.flow:1:20", "expected '('"},
      {"par s on cp list [3,]", "plan.flow:1:21", "found ']', expected an integer"},
      {"at : par b on dp", "plan.flow:1:4", "expected a tag"},
      {"at loss: use tp", "plan.flow:1:10", "found 'use', expected a statement"},
      {"move K rotat", "plan.flow:1:8", "did you mean 'rotate'?"},
      {"move K", "plan.flow:1:7", "expected how it moves"},
      {"move K rotate staged staged", "plan.flow:1:22", "each option of move once"},
      {"move K rotate gather", "plan.flow:1:15", "found 'gather', expected an option of move"},
      {"move K rotate life steps", "plan.flow:1:20", "did you mean 'step'?"},
      {"move grads reduce bucket 25", "plan.flow:1:26", "unit"},
      {"move grads reduce bucket 25 parsecs", "plan.flow:1:26", "parsecs"},
      {"home weights * on dp", "plan.flow:1:14", "found '*', expected ':'"},
      {"save X at", "plan.flow:1:10", "expected 'home' or 'use'"},
      {"recompute", "plan.flow:1:10", "expected a tag"},
      {"alias x par b on dp", "plan.flow:1:9", "found 'par', expected '='"},
      {"use tp cp", "plan.flow:1:8", "found 'cp', expected ';' or a new line"},
      {"map m {\n par b on dp", "plan.flow:2:13", "expected '}'"},
      {"par b on dp }", "plan.flow:1:13", "found '}', expected a statement"},
      {"o: O[m] ++ I[m]", "plan.flow:1:9", "found '+', expected '+=', 'max='"},
      {"o: O[m] = I[m] * J[m] + K[m]", "plan.flow:1:23", "one operator joins all inputs alike"},
      {"par b on dp \x01", "plan.flow:1:13", "found byte 0x01"},
      {"par \xc3\xa9 on dp", "plan.flow:1:5", "found byte 0xC3"},
  });
}

TEST(Parse, DoubledNamesAreRefused) {
  expect_refusals({
      {"mesh tp:2 tp:4", "plan.flow:1:11", "axis 'tp' twice"},
      {"dim m:2\ndim m:4", "plan.flow:2:5", "dim 'm' a second time"},
      {"dim layer:2", "plan.flow:1:5", "'layer' as the name of a dim"},
      {"alias a = par b on dp\nalias a = par s on dp", "plan.flow:2:1", "alias 'a' a second time"},
      {"o: O[m] = I[m]\no: P[m] = I[m]", "plan.flow:2:1", "operator 'o' a second time"},
      {"map a { }\nmap b { }", "plan.flow:2:1", "map 'b' beside another map"},
      {"par b on dp\nmap b { }", "plan.flow:2:1", "map 'b' beside another map or bare statements"},
      {"map a { }\npar b on dp", "plan.flow:2:1", "behind the map's '}'"},
  });
}

TEST(Parse, SizesRunFromOneToTwoToTheForty) {
  EXPECT_EQ(read_program("dim m:1099511627776").dims.at(0).extent, std::int64_t{1} << 40);
  expect_refusals({
      {"mesh tp:0", "plan.flow:1:9", "found '0', expected an integer from 1 to 2^40"},
      {"mesh tp:-8", "plan.flow:1:9", "found '-', expected an integer"},
      {"dim m:1099511627777", "plan.flow:1:7", "expected an integer from 1 to 2^40"},
      {"dim m:99999999999999999999999999999999", "plan.flow:1:7", "expected an integer from 1 to 2^40"},
      {"mesh a:1048576 b:1048577", "plan.flow:1:18", "more than 2^40 ranks"},
      {"mesh tp:8x", "plan.flow:1:9", "found '8x', expected an integer"},
  });
}

TEST(Parse, SeveralErrorsAreReportedTogether) {
  const Error error = refusal_of("par b an dp\npar s on tp\nhome X * on dp ; for\nmove K rotat");
  EXPECT_EQ(error.where, "plan.flow:1:7");
  EXPECT_NE(error.what.find("\nplan.flow:3:8: found '*', expected ':'"), std::string::npos) << error.what;
  EXPECT_NE(error.what.find("\nplan.flow:3:21: found the end of the line, expected a dim"), std::string::npos)
      << error.what;
  EXPECT_NE(error.what.find("\nplan.flow:4:8: found 'rotat'"), std::string::npos) << error.what;
}

TEST(Parse, ManyErrorsAreCountedBehindTheEighth) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "par b an dp\n";
  const Error error = refusal_of(text);
  EXPECT_NE(error.what.find("plan.flow:8:7"), std::string::npos);
  EXPECT_EQ(error.what.find("plan.flow:9:7"), std::string::npos);
  EXPECT_NE(error.what.find("\nand 12 more"), std::string::npos) << error.what;
}

TEST(Parse, HostileSizesOfTextAreRefusedQuickly) {
  expect_refusals({{std::string((1 << 20) + 1, ' '), "plan.flow", "1 MiB"},
      {"par " + std::string(200, 'b') + " on dp", "plan.flow:1:5", "a name of at most 128 characters"}});
  std::string product = "par a0", mesh = "mesh";
  for (int i = 1; i < 100'000; ++i) product += "*a" + std::to_string(i);
  for (int i = 0; i < 100'000; ++i) mesh += " a" + std::to_string(i) + ":1";
  EXPECT_NE(refusal_of(product + " on dp").what.find("more than 1000 entries"), std::string::npos);
  EXPECT_NE(refusal_of(mesh).what.find("more than 64 entries"), std::string::npos);
  EXPECT_FALSE(refusal_of(std::string(1 << 20, '{')).what.empty());
}

/// Cuts, doubles, swaps and overwrites pieces of `text`.
std::string mutate(std::string text, const std::vector<std::string>& pieces, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  const std::size_t times = 1 + below(4);
  for (std::size_t i = 0; i < times; ++i) {
    const std::size_t at = below(text.size() + 1), length = below(12);
    switch (below(5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, pieces[below(pieces.size())]); break;
      case 2: text.insert(below(text.size() + 1), text.substr(at, length)); break;
      case 3: text.resize(at); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
    }
  }
  return text;
}

TEST(Parse, MutatedTextParsesOrFailsCleanly) {
  std::vector<std::string> samples{
      "mesh tp:8 cp:2 dp:4 pp:2\nmesh etp:1 ep:64 pp:2\nuse tp, sp ; use dp\nhome boundary: s on tp\n"
      "par layer on pp cyclic(2) sched interleaved-1f1b for mb:16\nrecompute attn.core whole layers 3\n",
      "dim m:64 n:32\nmm: O[m,n] += I[m,k] * W[k,n]\nmap m {\n at loss: par m on x list [3,4]\n for k:*\n"
      " move I, W multicast as bf16 bucket 25 MB life pass\n save Q K at use\n}\n"};
  for (const EmbeddedFile& file : embedded_aliases()) samples.emplace_back(file.text);
  const std::vector<std::string> pieces{"*", ":", ";", ",", "{", "}", "[", "]", "(", "\n", "#", "+=", " par ", " at ",
      " map m {", " alias a = ", " move ", "layer", "none", "99999999999999999999", std::string(1, '\0'), "a.b.",
      "1f1b-"};
  std::mt19937 random(20240601);
  int parsed = 0, failed = 0;
  for (int round = 0; round < 800; ++round) {
    for (const std::string& sample : samples) {
      const std::string text = mutate(sample, pieces, random);
      const Expected<MappingProgram> program = parse(text, "m");
      (program ? parsed : failed)++;
      if (!program) {
        EXPECT_FALSE(program.error().what.empty()) << text;
        EXPECT_EQ(program.error().where.rfind("m:", 0), 0u) << text;
      } else {
        const Expected<MappingProgram> again = parse(print(*program), "m");
        EXPECT_TRUE(again && again->body == program->body && again->aliases == program->aliases) << text;
      }
    }
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(failed, 1000);
}

}  // namespace
}  // namespace stepcast::dataflow
