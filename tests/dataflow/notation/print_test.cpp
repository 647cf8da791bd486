// The printer: canonical lines, and random trees that come back equal through text.
#include <random>

#include <gtest/gtest.h>

#include "dataflow/notation/mapping.h"
#include "tests/dataflow/random_program.h"
#include "tests/fuzz/check_text.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
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

TEST(Print, ArchsAndLevelLinesHaveOneForm) {
  EXPECT_EQ(printed_again("dram cap:80GiB\n{ pe[16 x 16] @ mesh\n energy:2.5pJ { rf[row:4, col:8]\n }\n}"),
      "arch dram cap:80 GiB { pe[16x16]@mesh energy:2.5 pJ { rf[row:4 col:8] } }\n");
  EXPECT_EQ(printed_again("arch gpu [8] @nvl(reduce, multicast) bw:450 GB/s lat:20cycles"),
      "arch gpu[8]@nvl(multicast,reduce) bw:450 GB/s lat:20 cycles\n");
  EXPECT_EQ(printed_again("arch pe[x:2 y:3 z:4] { rf[pe:5] }"), "arch pe[2x3x4] { rf[pe:5] }\n");
  EXPECT_EQ(printed_again("glb:[I,W O] for k, for n:4?, par m:2, n on x"),
      "glb: [I W O] for k:* for n:4? par m:2 on x par n on x\n");
  EXPECT_EQ(printed_again("at conv : glb: for k? []"), "at conv: glb: for k:*? []\n");
}

TEST(Print, OperatorsHaveOneForm) {
  EXPECT_EQ(printed_again("c:O[k,p]+=I[c,2*p + 1 *r]*W[k,c,r]"), "c: O[k,p] += I[c,2*p+r] * W[k,c,r]\n");
  EXPECT_EQ(printed_again("r: Y[s,d] = rope( d ) X[s,d]"), "r: Y[s,d] = rope(d) X[s,d]\n");
  EXPECT_EQ(printed_again("e: Y[s,d] = opaque() X[s,d]"), "e: Y[s,d] = opaque() X[s,d]\n");
  EXPECT_EQ(printed_again("a: O[s] softmax= Q[s], K[t], V[t] where s - 128<t<=s pad s, t:1.250"),
      "a: O[s] softmax= Q[s], K[t], V[t] where s-128 < t <= s pad s, t:1.25\n");
}

TEST(Print, ValuesThatAProgramMadeHaveText) {
  WrittenArch arch;
  arch.levels.push_back({"dram", {}, {}, {}, {}});
  arch.levels[0].properties = {{"cap", 80.0 * 1024 * 1024 * 1024, false, ""}, {"bw", 64, true, ""},
      {"energy", 2.5e-12, false, ""}, {"word", 16, false, ""}, {"lat", 20, true, ""}, {"buffers", 2, false, ""}};
  EXPECT_EQ(print(arch), "arch dram cap:80 GiB bw:64 B/cycle energy:2.5 pJ word:16 bit lat:20 cycles buffers:2");
  const Expected<MappingProgram> back = parse(print(arch), "p");
  ASSERT_TRUE(back) << to_text(back.error());
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(back->archs.at(0).levels.at(0).properties.at(i).value, arch.levels[0].properties[i].value) << i;
}

TEST(Print, RandomProgramsComeBackEqual) {
  for (unsigned seed = 0; seed < trials(5000U); ++seed) {
    const MappingProgram tree = RandomProgram(seed).program();
    const std::string text = print(tree);
    const Expected<MappingProgram> back = parse(text, "p");
    ASSERT_TRUE(back) << text << to_text(back.error());
    EXPECT_TRUE(same_program(*back, tree)) << text << "came back as\n" << print(*back);
    EXPECT_EQ(print(*back), text);
  }
}

/// Bytes of random programs cut, doubled and overwritten: whatever comes out is answered, and what parses prints.
TEST(Print, MutatedRandomProgramsAreAnswered) {
  std::mt19937 random(7);
  int parsed = 0;
  for (unsigned seed = 0; seed < trials(5000U); ++seed) {
    std::string text = print(RandomProgram(seed).program());
    if (text.empty()) continue;
    for (int times = 1 + static_cast<int>(random() % 3); times > 0; --times) {
      const std::size_t at = random() % (text.size() + 1), length = random() % 6;
      switch (random() % 3) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, text.substr(random() % (text.size() + 1), length)); break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random() % 256);
      }
    }
    EXPECT_EQ(complaint_about(text), "") << text;
    parsed += parse(text, "p").has_value();
  }
  EXPECT_GT(parsed, trials(500));
}

}  // namespace
}  // namespace stepcast::dataflow
