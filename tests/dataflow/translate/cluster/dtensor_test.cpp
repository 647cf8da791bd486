// Placements of operators in DTensor's words, and back: the text of one program gives a program with the same
// placements.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/translate/cluster/placements.h"
#include "tests/dataflow/translate/cluster/written_placements.h"

namespace stepcast::dataflow {
namespace {

using testing::HasSubstr;

MappingProgram parsed(const std::string& text) {
  auto program = parse(text, "test.flow");
  EXPECT_TRUE(program) << to_text(program.error());
  return program ? std::move(*program) : MappingProgram{};
}

const char* const weight_stationary_gemm =
    "mesh x:16 y:16\ndim m:128 n:128 k:64\nO: O[m,n] += I[m,k] * W[k,n]\npar k on x\npar n on y\n";

TEST(DTensor, WeightStationaryArrayIsATwoDimensionalLayout) {
  const auto text = placement_tests::write_dtensor(parsed(weight_stationary_gemm));
  ASSERT_TRUE(text) << to_text(text.error());
  EXPECT_THAT(*text, HasSubstr("mesh x:16 y:16\n"));
  EXPECT_THAT(*text, HasSubstr("I = [Shard(1), Replicate()]\n"));
  EXPECT_THAT(*text, HasSubstr("W = [Shard(0), Shard(1)]\n"));
  EXPECT_THAT(*text, HasSubstr("O = [Partial(), Shard(1)] -> [Replicate(), Shard(1)]\n"));
}

TEST(DTensor, PlacementsGiveTheLoops) {
  const auto program =
      read_dtensor("mesh x:16 y:16\ndim m:128 n:128 k:64\nO: O[m,n] += I[m,k] * W[k,n]\n"
                   "I = [Shard(1), Replicate()]\nW = [Shard(0), Shard(1)]\nO = [Partial(), Shard(1)]\n",
          "gemm.txt");
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_THAT(print(*program), HasSubstr("par k on x\npar n on y\n"));
}

TEST(DTensor, AHomeIsWhatStandsBeforeTheArrow) {
  // Column-parallel with the input kept in pieces of m: sequence parallelism.
  const auto program = read_dtensor("mesh tp:4\ndim m:8 n:16 k:32\nO = torch.einsum('mk,kn->mn', I, W)\n"
                                    "I = [Shard(0)] -> [Replicate()]\nW = [S(1)]\nO = [Shard(dim=1)]\n",
      "sp.txt");
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_THAT(print(*program), HasSubstr("par n on tp\nhome I: m on tp\n"));
}

TEST(DTensor, InconsistentPlacementsNameTheAxisAndWhatWouldDo) {
  const auto program = read_dtensor("mesh x:4\ndim m:8 n:8 k:8\nO: O[m,n] += I[m,k] * W[k,n]\n"
                                    "I = [Shard(1)]\nW = [Shard(1)]\nO = [Partial()]\n",
      "bad.txt");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().where, "bad.txt:4:1");
  EXPECT_THAT(
      program.error().what, HasSubstr("on axis x no loop of operator O gives I Shard(1), W Shard(1), O Partial"));
  EXPECT_THAT(program.error().hint, HasSubstr("k split: I Shard(1), W Shard(0), O Partial"));
}

TEST(DTensor, WrongLinesAreNamed) {
  const std::string head = "mesh x:4\ndim m:8 n:8 k:8\nO: O[m,n] += I[m,k] * W[k,n]\n";
  const auto wrong = [&](const std::string& lines) {
    const auto program = read_dtensor(head + lines, "f.txt");
    EXPECT_FALSE(program) << lines;
    return program ? std::string{} : to_text(program.error());
  };
  EXPECT_THAT(wrong("I = [Shard(2)]\n"), HasSubstr("names a dim that the tensor lacks"));
  EXPECT_THAT(wrong("I = [Split(0)]\n"), HasSubstr("is no placement"));
  EXPECT_THAT(wrong("I = [Shard(0), Replicate()]\n"), HasSubstr("2 placements and the mesh 1 axes"));
  EXPECT_THAT(wrong("I = Shard(0)\n"), HasSubstr("f.txt:4:1"));
  EXPECT_THAT(wrong("I = [Shard(0)]\n"), HasSubstr("no placement for its tensor W"));
  EXPECT_THAT(wrong("J = [Shard(0)]\n"), HasSubstr("has no tensor 'J'"));
  EXPECT_THAT(wrong("I = [Shard(0)]\nW = [Replicate()]\nO = [Partial(\"max\")]\n"), HasSubstr("not the reduction"));
  EXPECT_THAT(wrong("par m on x\nI = [Shard(0)]\nW = [Replicate()]\nO = [Shard(0)]\n"),
      HasSubstr("statements of the notation"));
}

TEST(DTensor, FlatShardsAndManners) {
  const auto text =
      placement_tests::write_dtensor(parsed("mesh dp:4\ndim m:8 n:8 k:8\nO: O[m,n] += I[m,k] * W[k,n]\npar m on dp\n"
                                            "home weights: * on dp\nmove W gather ahead 2\n"));
  ASSERT_TRUE(text) << to_text(text.error());
  EXPECT_THAT(*text, HasSubstr("no name: W on dp is kept in flat shards"));
  EXPECT_THAT(*text, HasSubstr("not said by placements: move W gather ahead 2"));
}

/// The text of a program, read back and written again.
std::string again(const std::string& text) {
  const auto first = placement_tests::write_dtensor(parsed(text));
  EXPECT_TRUE(first) << to_text(first.error());
  const auto program = read_dtensor(first.value_or(""), "again.txt");
  EXPECT_TRUE(program) << first.value_or("") << to_text(program.error());
  if (!program) return {};
  const auto second = placement_tests::write_dtensor(*program);
  EXPECT_EQ(first.value_or(""), second.value_or("")) << to_text(second.error());
  return second.value_or("");
}

TEST(DTensor, ADimWalkedByTwoLoopsKeepsItsOwnName) {
  // K is made by positions s and read by positions t: its home is in pieces of s.
  EXPECT_THAT(
      again("mesh cp:4\ndim s:16 t:16 d:8\nkv: K[s,d] = gelu A[s,d]\nscores: S[s,t] += Q[s,d] * K[t,d]\npar s on cp\n"),
      HasSubstr("K = [Shard(0)] -> [Replicate()]"));
}

TEST(DTensor, RoutedRowsLieWithTheirTokens) {
  EXPECT_THAT(again("mesh ep:4\ndim b:8 h:16 e:8 c:4 k:2\ndispatch: Xe[e,c,h] = route X[b,h]\npar b on ep\n"),
      HasSubstr("Xe = [Shard(1)]"));
}

TEST(DTensor, UnitsOfAChipAreAMesh) {
  ChipProgram chip;
  chip.op = "O";
  chip.dims = {{"m", 128}, {"n", 128}, {"k", 64}};
  const auto index = [](int dim) { return ChipIndex{{{dim, 1}}}; };
  chip.tensors = {{"I", TensorUse::input, {index(0), index(2)}, 2}, {"W", TensorUse::weight, {index(2), index(1)}, 2},
      {"O", TensorUse::output, {index(0), index(1)}, 2}};
  ChipLevel array;
  array.name = "pe";
  array.axes = {{"x", 16}, {"y", 16}};
  array.space = {{2, 16, 0, false, {}}, {1, 16, 1, false, {}}};
  chip.levels = {array};
  const auto view = placement_view(chip);
  ASSERT_TRUE(view) << to_text(view.error());
  EXPECT_THAT(dtensor_text(*view), HasSubstr("mesh pe_y:16 pe_x:16\n"));
  EXPECT_THAT(dtensor_text(*view), HasSubstr("W = [Shard(1), Shard(0)]\n"));
}

// Random einsums (plain and batched products of two or three operands), meshes of up to three axes, random splits and
// homes.

struct RandomProgram {
  std::mt19937 random;
  explicit RandomProgram(unsigned seed) : random(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); }

  std::string text() {
    constexpr const char* kOperators[] = {"O: O[m,n] += I[m,k] * W[k,n]", "O: O[b,m,n] += I[b,m,k] * W[b,k,n]",
        "O: O[b,m,n] += I[b,m,k] * W[k,n]", "O: O[n,m] += W[k,n] * I[b,k,m]", "O: O[m,n] += I[m,k] * J[k,b] * W[b,n]",
        "O: O[m,n] max= I[m,k]\nP: P[m] += O[m,n] * W[n,k]",
        "up: H[b,m] += I[b,k] * W[k,m]\nact: A[b,m] = gelu H[b,m]\ndown: O[b,n] += A[b,m] * Wd[m,n]"};
    std::string out = "mesh";
    const std::size_t axes = 1 + below(3);
    constexpr const char* kAxes[] = {"x", "y", "z"};
    constexpr int kSizes[] = {1, 2, 4};
    for (std::size_t a = 0; a < axes; ++a) out += fmt::format(" {}:{}", kAxes[a], kSizes[below(3)]);
    out += "\ndim b:64 m:64 n:64 k:64\n";
    out += kOperators[below(std::size(kOperators))];
    out += "\n";
    constexpr const char* kDims[] = {"b", "m", "n", "k"};
    for (std::size_t a = 0; a < axes; ++a)
      if (below(5) > 0) out += fmt::format("par {} on {}\n", kDims[below(4)], kAxes[a]);
    if (below(2) == 0) out += fmt::format("home I: {} on {}\n", below(2) == 0 ? "k" : "full", kAxes[below(axes)]);
    if (below(3) == 0) out += fmt::format("home W: {} on {}\n", below(2) == 0 ? "n" : "full", kAxes[below(axes)]);
    return out;
  }
};

using Reader = Expected<MappingProgram> (*)(const std::string&, const std::string&);
using Writer = Expected<std::string> (*)(const MappingProgram&);

/// Programs that place() accepts, written and read back: how many there were.
int round_trips(Writer write, Reader read) {
  int done = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const std::string text = RandomProgram(seed).text();
    const auto program = parse(text, "random.flow");
    EXPECT_TRUE(program) << text << to_text(program.error());
    if (!program) return 0;
    const auto before = placement_view(*program);
    if (!before) continue;  // a home whose dim the tensor lacks, a Partial into a function
    const auto written = write(*program);
    EXPECT_TRUE(written) << text;
    if (!written) return 0;
    const auto again = read(*written, "written.txt");
    EXPECT_TRUE(again) << text << *written << to_text(again.error());
    if (!again) return 0;
    const auto after = placement_view(*again);
    EXPECT_TRUE(after) << text << *written << print(*again) << to_text(after.error());
    if (!after) return 0;
    for (std::size_t o = 0; o < before->operators.size(); ++o)
      for (std::size_t t = 0; t < before->operators[o].operands.size(); ++t) {
        const OperandPlacement &a = before->operators[o].operands[t], &b = after->operators[o].operands[t];
        EXPECT_EQ(a.used, b.used) << text << *written << print(*again) << a.name;
        EXPECT_EQ(a.home, b.home) << text << *written << print(*again) << a.name;
      }
    ++done;
  }
  return done;
}

TEST(DTensor, OutAndInKeepPlacements) { EXPECT_GT(round_trips(placement_tests::write_dtensor, read_dtensor), 300); }
TEST(Jax, OutAndInKeepPlacements) { EXPECT_GT(round_trips(placement_tests::write_jax, read_jax), 300); }
TEST(Shardy, OutAndInKeepPlacements) { EXPECT_GT(round_trips(placement_tests::write_shardy, read_shardy), 300); }

}  // namespace
}  // namespace stepcast::dataflow
