// written_chip() and chip_program() undo each other, as trees and as text.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/dataflow/chip/chip_text.h"
#include "tests/dataflow/chip/legal_chip.h"

namespace stepcast::dataflow {
namespace {

/// Latencies and energies pass through seconds and joules: equal to 12 digits.
void take_if_near(double& value, double other) {
  if (std::abs(value - other) <= 1e-12 * std::abs(other)) value = other;
}

bool same_chip(ChipProgram a, const ChipProgram& b) {
  for (std::size_t l = 0; l < a.levels.size() && l < b.levels.size(); ++l) {
    take_if_near(a.levels[l].latency_cycles, b.levels[l].latency_cycles);
    take_if_near(a.levels[l].energy_pj, b.levels[l].energy_pj);
  }
  return a == b;
}

TEST(WrittenChip, RandomChipsComeBack) {
  int ragged = 0, windows = 0, passing = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const ChipProgram chip = legal_chip(seed);
    const auto back = chip_program(written_chip(chip), "");
    ASSERT_TRUE(back) << seed << ": " << to_text(back.error()) << "\n" << print(written_chip(chip));
    ASSERT_TRUE(same_chip(*back, chip)) << seed << "\n"
                                        << print(written_chip(chip)) << "\n"
                                        << print(written_chip(*back));
    for (const ChipLevel& level : chip.levels) {
      passing += !level.store;
      for (const ChipLoop& loop : level.time) ragged += loop.ragged;
    }
    windows += chip.tensors[0].indices.back().terms.size() > 1;
  }
  EXPECT_GT(ragged, 100);
  EXPECT_GT(windows, 100);
  EXPECT_GT(passing, 100);
}

TEST(WrittenChip, AndAsText) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const ChipProgram chip = legal_chip(seed);
    const MappingProgram written = written_chip(chip);
    const std::string text = print(written);
    const auto back = chip_of(text);
    ASSERT_TRUE(back) << seed << ": " << to_text(back.error()) << "\n" << text;
    ASSERT_TRUE(same_chip(*back, chip)) << seed << "\n" << text;
    EXPECT_EQ(print(*parse(text, "again")), text) << seed;
  }
}

TEST(WrittenChip, ReadsAsPeopleWriteIt) {
  const auto chip = chip_of(
      "arch glb cap:64 KiB { pe[16x16]@mesh }\ndim m:128 n:128 k:64\nG: O[m,n] += I[m,k] * W[k,n]\nglb: for n:* for "
      "k:* for m [I W O]\n"
      "pe: par k on x par n on y [W]\n");
  ASSERT_TRUE(chip) << to_text(chip.error());
  const std::string text = print(written_chip(*chip));
  EXPECT_NE(text.find("glb: for n:8 for k:4 for m:128 [I W O]"), std::string::npos) << text;
  EXPECT_NE(text.find("pe: par k:16 on x par n:16 on y [W]"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepcast::dataflow
