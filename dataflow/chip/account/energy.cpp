#include "dataflow/chip/account/energy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

// Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014, 45 nm: cache access of 64 bits.
struct SramRow {
  double bytes, pj_per_64_bits;
};
constexpr std::array sram_rows = {SramRow{8.0 * 1024, 10}, SramRow{32.0 * 1024, 20}, SramRow{1024.0 * 1024, 100}};
// The same table: DRAM 1.3 to 2.6 nJ per 64 bits; the middle of the range.
constexpr double dram_pj_per_64_bits = (1300 + 2600) / 2.0;
// The same table: 8-bit integer multiply 0.2 and add 0.03; floating point 16 bit 1.1 and 0.4, 32 bit 3.7 and 0.9.
struct MultiplyAddRow {
  double bytes, pj;
};
constexpr std::array multiply_add = {
    MultiplyAddRow{1, 0.2 + 0.03}, MultiplyAddRow{2, 1.1 + 0.4}, MultiplyAddRow{4, 3.7 + 0.9}};
// O'Connor et al., "Fine-grained DRAM", MICRO 2017: HBM2.
constexpr double hbm_pj_per_bit = 3.9;
// Chen et al., "Eyeriss", ISCA 2016: energy of an access over that of a multiply-add.
constexpr double register_file_ratio = 1, buffer_ratio = 6;
// A stated capacity beyond this is no SRAM: the largest caches of one die are a fifth of it.
constexpr double largest_sram = 1024.0 * 1024 * 1024;

std::string capacity_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:g} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.4g} KiB", bytes / 1024);
  return fmt::format("{:.4g} MiB", bytes / 1024 / 1024);
}

/// A straight line in the logarithms through the two rows around, or nearest to, the capacity.
double sram_pj_per_64_bits(double capacity) {
  std::size_t high = 1;
  while (high + 1 < sram_rows.size() && capacity > sram_rows[high].bytes) ++high;
  const SramRow &a = sram_rows[high - 1], &b = sram_rows[high];
  const double slope = std::log(b.pj_per_64_bits / a.pj_per_64_bits) / std::log(b.bytes / a.bytes);
  return a.pj_per_64_bits * std::pow(capacity / a.bytes, slope);
}

AccessEnergy sram(double capacity) {
  const bool outside = capacity < sram_rows.front().bytes || capacity > sram_rows.back().bytes;
  return {sram_pj_per_64_bits(capacity) / 64, 0,
      fmt::format(
          "Horowitz, ISSCC 2014 (45 nm): SRAM of {}{}", capacity_text(capacity), outside ? ", extrapolated" : "")};
}

bool says_hbm(const std::string& name) { return lower_case(name).find("hbm") != std::string::npos; }

bool is_outermost(const ChipProgram& chip, int level) {
  return std::none_of(
      chip.levels.begin(), chip.levels.begin() + level, [](const ChipLevel& outer) { return outer.store; });
}

bool is_shared(const ChipProgram& chip, int level) {
  for (std::size_t inside = level + 1; inside < chip.levels.size(); ++inside)
    for (const ChipAxis& axis : chip.levels[inside].axes)
      if (axis.units > 1) return true;
  return false;
}

}  // namespace

double multiply_add_pj(double bytes) {
  for (const MultiplyAddRow& row : multiply_add)
    if (bytes <= row.bytes) return row.pj;
  return multiply_add.back().pj * bytes / multiply_add.back().bytes;
}

AccessEnergy access_energy(const ChipProgram& chip, int level) {
  const ChipLevel& at = chip.levels[level];
  if (at.energy_pj > 0) return {0, at.energy_pj, "stated"};
  if (says_hbm(at.name)) return {hbm_pj_per_bit, 0, "O'Connor et al., MICRO 2017: HBM2, 3.9 pJ per bit"};
  const bool sram_sized = at.capacity_bytes > 0 && at.capacity_bytes <= largest_sram;
  if ((is_outermost(chip, level) && !sram_sized) || at.capacity_bytes > largest_sram)
    return {dram_pj_per_64_bits / 64, 0, "Horowitz, ISSCC 2014: DRAM, 1.3 to 2.6 nJ per 64 bits"};
  if (sram_sized) return sram(at.capacity_bytes);
  const bool shared = is_shared(chip, level);
  const double bytes = chip.tensors.empty() ? 2 : element_bytes(chip, level, 0);
  return {0, (shared ? buffer_ratio : register_file_ratio) * multiply_add_pj(bytes),
      fmt::format("Eyeriss, ISCA 2016: {} multiply-add{} (no capacity said: {})",
          shared ? buffer_ratio : register_file_ratio, shared ? "s" : "", shared ? "buffer" : "register file")};
}

}  // namespace stepcast::dataflow
