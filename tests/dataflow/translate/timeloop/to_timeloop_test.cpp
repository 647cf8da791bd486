// Timeloop out and in: what a chip's files say, read again, is the same chip.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/dataflow/translate/foreign_chips.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

int drawn(int from, int to, std::mt19937_64& random) {
  return from + static_cast<int>(random() % static_cast<std::uint64_t>(to - from + 1));
}

struct DrawnShape {
  const char* text;
  std::vector<std::string> dims;
};
const std::vector<DrawnShape> drawn_shapes{{"op: O[m,n] += I[m,k] * W[k,n]", {"m", "n", "k"}},
    {"op: O[b,m,n] += I[b,m,k] * W[b,k,n]", {"m", "n", "k", "b"}},
    {"op: O[k,p,q] += I[c,2*p+r,q+3*s] * W[k,c,r,s]", {"p", "q", "r", "s", "c", "k"}},
    {"op: O[m,n] += A[m,k] * B[k,l] * C[l,n]", {"m", "n", "k", "l"}}};

/// A random program: two to four levels, meshes of up to two axes, factors of every dim at random levels, each in time
/// and space at most once per level; `ragged`: the extent falls short of the product by less than the outermost round.
std::string drawn_program(bool ragged, std::mt19937_64& random) {
  const DrawnShape& shape = drawn_shapes[random() % drawn_shapes.size()];
  const int levels = drawn(2, 4, random);
  struct Place {
    std::string text;
  };
  std::vector<std::vector<std::string>> on_y(levels), on_x(levels), time(levels);
  std::vector<std::int64_t> x(levels, 1), y(levels, 1);
  std::string dims;
  for (const std::string& dim : shape.dims) {
    struct Factor {
      int level;
      char where;
      std::int64_t trips;
    };
    std::vector<Factor> factors;
    std::int64_t product = 1;
    for (int l = 0; l < levels; ++l)
      for (const char where : {'y', 'x', 't'}) {
        if (drawn(0, 3, random) > 0 || (where != 't' && l == 0)) continue;
        if (where == 'x' && !factors.empty() && factors.back().level == l) continue;  // one factor of a dim in space
        factors.push_back({l, where, drawn(2, 4, random)});
        product *= factors.back().trips;
      }
    std::int64_t extent = product;
    if (ragged && !factors.empty()) extent -= drawn(0, static_cast<int>(product / factors.front().trips) - 1, random);
    dims += fmt::format("dim {}:{}\n", dim, extent);
    std::int64_t inside = product;
    for (const Factor& factor : factors) {
      inside /= factor.trips;
      const bool is_short = (extent - 1) / inside % factor.trips != factor.trips - 1;
      const std::string loop = fmt::format("{}:{}{}", dim, factor.trips, is_short ? "?" : "");
      if (factor.where == 't') time[factor.level].push_back("for " + loop);
      else (factor.where == 'x' ? on_x : on_y)[factor.level].push_back(fmt::format("par {} on {}", loop, factor.where));
      if (factor.where == 'x') x[factor.level] *= factor.trips;
      if (factor.where == 'y') y[factor.level] *= factor.trips;
    }
  }
  std::string arch = "arch", lines;
  for (int l = 0; l < levels; ++l) {
    std::string axes;
    if (x[l] > 1) axes += fmt::format("x:{}", x[l] + drawn(0, 1, random));
    if (y[l] > 1) axes += fmt::format("{}y:{}", axes.empty() ? "" : " ", y[l]);
    arch += fmt::format(" l{}{}", l, axes.empty() ? "" : "[" + axes + "]");
    if (drawn(0, 1, random) == 1) arch += fmt::format(" cap:{} MiB", 4 * drawn(1, 3, random));
    if (drawn(0, 1, random) == 1) arch += fmt::format(" bw:{} B/cycle", 4 * drawn(1, 8, random));
    if (drawn(0, 1, random) == 1) arch += fmt::format(" word:{} bit", 8 * drawn(1, 2, random));
    if (drawn(0, 2, random) == 0) arch += " buffers:2";
    if (l + 1 < levels) arch += " {";
    std::shuffle(time[l].begin(), time[l].end(), random);
    lines += fmt::format("l{}:", l);
    for (const auto* list : {&on_y[l], &on_x[l], &time[l]})
      for (const std::string& loop : *list) lines += " " + loop;
    lines += " [";
    const std::string operators = shape.text;
    for (const char tensor : {'I', 'W', 'A', 'B', 'C', 'O'})
      if (operators.find(fmt::format(" {}[", tensor)) != std::string::npos && (l == 0 || drawn(0, 3, random) > 0))
        lines += fmt::format(" {}", tensor);
    lines += " ]\n";
  }
  for (int l = 1; l < levels; ++l) arch += " }";
  return arch + "\n" + dims + shape.text + "\n" + lines;
}

ChipProgram chip_from(const std::string& text) {
  const auto program = parse(text, "drawn.flow");
  EXPECT_TRUE(program) << to_text(program.error()) << "\n" << text;
  if (!program) return {};
  const auto chip = chip_program(*program, "");
  EXPECT_TRUE(chip) << to_text(chip.error()) << "\n" << text;
  return chip ? *chip : ChipProgram{};
}

/// Names of levels, loops, order, meshes, sizes, words and bandwidths, keeps, steps of indices: all of ChipProgram.
TEST(ToTimeloop, OutAndInIsTheSameChip) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < trials(1000) && !testing::Test::HasFailure(); ++i) {
    const std::string text = drawn_program(i % 2 == 1, random);
    const ChipProgram chip = chip_from(text);
    const ChipProgram again = there_and_back("timeloop", to_timeloop, chip);
    EXPECT_TRUE(again == chip) << text << "\nreads back as\n" << print(written_chip(again));
  }
}

TEST(ToTimeloop, WhatHasNoNameThereIsRefused) {
  const auto refused = [](const std::string& arch, const std::string& lines) {
    const auto out = to_timeloop(chip_from(arch + "\ndim m:8 n:8 k:8\nop: O[m,n] += I[m,k] * W[k,n]\n" + lines));
    return out ? "" : to_text(out.error());
  };
  EXPECT_EQ(refused("arch dram { pe[2x2x2] }", "dram: for m:8 for n:8 for k:8 [I W O]\npe: []"),
      "pe: 3 axes of units: a mesh has X and Y (Timeloop has no name for it)");
  EXPECT_EQ(refused("arch dram { glb }", "dram: for k:2 for m:8 for n:8 for k:4 [I W O]\nglb: [I W O]"),
      "dram: two loops over k at one level: a directive has one factor per dimension (Timeloop has no name for it)");
  EXPECT_EQ(refused("arch dram { glb cap:7 B }", "dram: for k:8 for m:8 for n:8 [I W O]\nglb: [I W O]"),
      "glb: 7 bytes are no whole number of 2-byte words (make cap a multiple of the word)");
}

TEST(ToTimeloop, WhatItHasNoWordForIsNoted) {
  const auto out =
      to_timeloop(chip_from("arch dram { pe[2x2]@systolic energy:1 pJ }\ndim mm:4\nop: O[mm] += I[mm] * W[mm]\ndram: "
                            "for mm:4 [I W O]\npe: [I W O]"));
  ASSERT_TRUE(out);
  ASSERT_EQ(out->notes.size(), 3u);
  EXPECT_EQ(out->notes[0],
      "dimension mm: Timeloop v3 reads permutations letter by letter, rename it to one letter to run it there");
  EXPECT_EQ(
      out->notes[1], "pe: units of a chain or network are a mesh with multicast and reduction there, without skew");
  EXPECT_EQ(out->notes[2], "pe: energy per access comes from tables there");
}

}  // namespace
}  // namespace stepcast::dataflow
