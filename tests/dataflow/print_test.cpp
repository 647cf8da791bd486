// The printer: canonical lines, and random trees that come back equal through text.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "dataflow/mapping.h"

namespace stepcast {
namespace {

std::string printed_again(const std::string& text) {
  const Expected<MappingProgram> program = parse(text, "p");
  return program ? print(*program) : to_text(program.error());
}

TEST(Print, StatementsHaveOneForm) {
  EXPECT_EQ(printed_again("at  a ,b :par g * r on tp*cp block ;par s on cp list [3 5]"),
            "at a, b: par g*r on tp*cp\npar s on cp list [3,5]\n");
  EXPECT_EQ(printed_again("move K,V dedupe ep exchange"), "move K, V exchange dedupe ep\n");
  EXPECT_EQ(printed_again("move K,V rotate life step bucket 25MB"), "move K, V rotate bucket 25 MB life step\n");
  EXPECT_EQ(printed_again("save A,B at use\nrecompute x,y layers 2"), "save A B at use\nrecompute x y layers 2\n");
  EXPECT_EQ(printed_again("par layer on pp sched gpipe for mb:*"), "par layer on pp sched gpipe for mb:*\n");
}

TEST(Print, AMoveThatStatesTheDefaultStillParses) {
  EXPECT_EQ(printed_again("move X in chunks 1"), "move X in chunks 1\n");
}

TEST(Print, ProgramsAreGroupedByKind) {
  EXPECT_EQ(printed_again("map m { use tp ; par b on dp }\nalias q = par b on dp ;\n at l: for k:2\ndim m:4 n:8\n"
                          "o.p: O[m,n]+=I[m,k]*W[k,n] ; mesh dp:2 tp:4"),
            "mesh dp:2 tp:4\ndim m:4\ndim n:8\no.p: O[m,n] += I[m,k] * W[k,n]\n"
            "alias q = par b on dp ; at l: for k:2\nmap m {\n  use tp\n  par b on dp\n}\n");
}

/// Random trees of everything that the grammar can say.
class RandomTree {
 public:
  explicit RandomTree(unsigned seed) : random_(seed) {}

  MappingProgram program() {
    MappingProgram tree;
    for (int i = below(3); i > 0; --i) tree.meshes.push_back(mesh());
    for (const std::string& dim : some(below(4))) tree.dims.push_back({dim, size()});
    for (int i = below(3); i > 0; --i) tree.operators.push_back(written_operator("op" + std::to_string(i)));
    for (int i = below(3); i > 0; --i) tree.aliases.push_back(alias("alias" + std::to_string(i)));
    if (coin()) tree.map_name = "m";
    for (int i = below(6); i > 0; --i) {
      if (coin()) tree.body.emplace_back(Use{some(1 + below(3)), {}});
      else tree.body.emplace_back(statement());
    }
    return tree;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool coin() { return below(2) == 0; }
  std::int64_t size() { return coin() ? 1 + below(9) : std::int64_t{1} << below(41); }

  /// n distinct names; among them keywords, which the grammar does not reserve.
  std::vector<std::string> some(int n) {
    std::vector<std::string> pool{"b", "s", "tp", "cp", "dp", "par", "gather", "step", "x1", "_y"};
    std::shuffle(pool.begin(), pool.end(), random_);
    pool.resize(n);
    return pool;
  }
  std::string one() { return some(1)[0]; }
  std::string dotted() { return coin() ? one() : one() + "." + one(); }
  std::vector<std::string> dotted(int n) {
    std::vector<std::string> names(n);
    for (std::string& name : names) name = dotted();
    return names;
  }

  MeshLine mesh() {
    MeshLine line;
    for (const std::string& axis : some(1 + below(4))) line.axes.push_back({axis, 1 + below(64)});
    return line;
  }

  Layout layout() {
    Layout layout;
    layout.kind = static_cast<Layout::Kind>(below(4));
    if (layout.kind == Layout::Kind::cyclic) layout.cyclic = size();
    if (layout.kind == Layout::Kind::list)
      for (int i = 1 + below(4); i > 0; --i) layout.list.push_back(size());
    return layout;
  }

  HomeStatement home() {
    HomeStatement home{dotted(), {}};
    const std::vector<std::string> whats{"*", "full", "partial", "h", "g*r"};
    for (int i = 1 + below(3); i > 0; --i)
      home.places.push_back({whats[below(5)], some(1 + below(3)), coin() ? one() : ""});
    return home;
  }

  MoveStatement move() {
    MoveStatement move;
    move.what = dotted(1 + below(3));
    move.manner = static_cast<Manner>(below(8));
    if (coin()) move.as = "bf16";
    if (coin()) move.chunks = size();
    const std::vector<std::string> buckets{"", "unit", "none", "25 MB"};
    move.bucket = buckets[below(4)];
    move.staged = coin();
    move.ahead = below(4) - 1;
    move.life = static_cast<Life>(below(4));
    if (coin()) move.dedupe = one();
    return move;
  }

  Statement statement() {
    Statement statement;
    if (coin()) statement.scope = dotted(1 + below(3));
    const std::vector<std::string> schedules{"1f1b", "gpipe", "interleaved-1f1b"};
    switch (below(7)) {
      case 0: statement.body = ParStatement{some(below(4)), some(1 + below(3)), layout()}; break;
      case 1: statement.body = StageStatement{one(), schedules[below(3)], layout(), coin() ? 0 : size()}; break;
      case 2: statement.body = ForStatement{one(), coin() ? 0 : size(), false}; break;
      case 3: statement.body = home(); break;
      case 4: statement.body = move(); break;
      case 5: statement.body = SaveStatement{dotted(1 + below(3)), coin()}; break;
      default: statement.body = RecomputeStatement{dotted(1 + below(3)), coin(), coin() ? 0 : size()};
    }
    return statement;
  }

  Alias alias(const std::string& name) {
    Alias alias{name, {}, {}};
    for (int i = 1 + below(4); i > 0; --i) alias.statements.push_back(statement());
    return alias;
  }

  WrittenAccess access() {
    WrittenAccess access{dotted(), {}};
    for (const std::string& loop : some(below(4))) access.indices.push_back({{{loop, 1}}});
    return access;
  }

  WrittenOperator written_operator(const std::string& name) {
    WrittenOperator op;
    op.name = "net." + name;
    op.tags = {"net", op.name};
    op.monoid = static_cast<Monoid>(below(5));
    if (coin()) op.function = "gelu";
    op.output = access();
    for (int i = 1 + below(3); i > 0; --i) op.inputs.push_back(access());
    if (op.inputs.size() > 1) op.joint = "*+,"[below(3)];
    return op;
  }

  std::mt19937 random_;
};

TEST(Print, RandomTreesComeBackEqual) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const MappingProgram tree = RandomTree(seed).program();
    const std::string text = print(tree);
    const Expected<MappingProgram> back = parse(text, "p");
    ASSERT_TRUE(back) << text << to_text(back.error());
    EXPECT_EQ(back->meshes, tree.meshes) << text;
    EXPECT_EQ(back->operators, tree.operators) << text;
    EXPECT_EQ(back->aliases, tree.aliases) << text;
    EXPECT_EQ(back->body, tree.body) << text;
    EXPECT_EQ(back->map_name, tree.map_name) << text;
    ASSERT_EQ(back->dims.size(), tree.dims.size()) << text;
    for (std::size_t i = 0; i < tree.dims.size(); ++i) {
      EXPECT_EQ(back->dims[i].name, tree.dims[i].name) << text;
      EXPECT_EQ(back->dims[i].extent, tree.dims[i].extent) << text;
    }
    EXPECT_EQ(print(*back), text);
  }
}

}  // namespace
}  // namespace stepcast
