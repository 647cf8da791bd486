// Rows of nccl-tests against themselves: algbw = size / time and busbw = algbw x factor, within what printing rounds
// off.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/nccl/nccl_run.h"

namespace stepcast::calibrate::nccl {
namespace {

struct NamedType {
  std::string_view name;
  double bytes;
};
/// test_typenames in src/common.cu of nccl-tests, 2.0.0 to 2.19.6; the last rows are RCCL's.
constexpr NamedType element_types[] = {{"int8", 1}, {"uint8", 1}, {"char", 1}, {"int32", 4}, {"uint32", 4}, {"int", 4},
    {"int64", 8}, {"uint64", 8}, {"half", 2}, {"float", 4}, {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1},
    {"f8e5m2", 1}, {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"float16", 2}, {"float32", 4}};

/// Printing rounds to half a unit; the last bit of a double may turn such a half.
constexpr double slack = 1e-6;

bool ratio_known(const Half& half) { return half.algbw.value > 4 * half.algbw.half_unit; }

RatioRange ratio_of(const Half& half) {
  const auto [algbw, a] = half.algbw;
  const auto [busbw, b] = half.busbw;
  return {std::max(0.0, (busbw - b) / (algbw + a)) - slack, (busbw + b) / (algbw - a) + slack};
}

/// 1e9 bytes per second are 1e3 bytes per microsecond.
Expected<void> check_bandwidth(const Row& row, const Half& half) {
  const double least_us = std::max(half.time_us.value - half.time_us.half_unit, 0.0);
  const double most_us = half.time_us.value + half.time_us.half_unit;
  const double low = row.size / most_us / 1e3 - half.algbw.half_unit;
  const double high = least_us > 0 ? row.size / least_us / 1e3 + half.algbw.half_unit : HUGE_VAL;
  if (half.algbw.value >= low * (1 - slack) - slack && half.algbw.value <= high * (1 + slack) + slack) return {};
  return fail(row.where,
      fmt::format("{} bytes in {} us are {:.2f} GB/s, and the row says {}", row.size, half.time_us.value,
          row.size / half.time_us.value / 1e3, half.algbw.value),
      "a row of nccl-tests has algbw = size / time: a column is missing, moved or damaged");
}

std::vector<std::pair<const Row*, const Half*>> halves_of(const Run& run) {
  std::vector<std::pair<const Row*, const Half*>> all;
  for (const Row& row : run.rows)
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (*half && row.size > 0) all.emplace_back(&row, &**half);
  return all;
}

/// The range that most of the halves agree on.
RatioRange common_ratio(const std::vector<std::pair<const Row*, const Half*>>& halves) {
  std::vector<std::pair<double, int>> ends;
  for (const auto& [row, half] : halves) {
    if (!ratio_known(*half)) continue;
    const RatioRange range = ratio_of(*half);
    ends.emplace_back(range.low, -1);  // at equal places the opening comes first
    ends.emplace_back(range.high, 1);
  }
  std::sort(ends.begin(), ends.end());
  RatioRange best;
  bool closing = false;
  for (std::size_t i = 0, most = 0, open = 0; i < ends.size(); ++i) {
    const auto [at, side] = ends[i];
    if (side < 0 && ++open > most) {
      most = open;
      best.low = at;
      closing = true;
    }
    if (side < 0) continue;
    --open;
    if (closing) best.high = at;
    closing = false;
  }
  return best;
}

}  // namespace

double element_bytes(std::string_view type) {
  for (const NamedType& row : element_types)
    if (row.name == type) return row.bytes;
  return 0;
}

Expected<RatioRange> check_rows(const Run& run) {
  const auto halves = halves_of(run);
  for (const auto& [row, half] : halves) TRY(check_bandwidth(*row, *half));
  const RatioRange common = common_ratio(halves);
  for (const auto& [row, half] : halves) {
    // Against the corner of the common range, so that rows with few digits are held to what they print.
    const auto [algbw, a] = half->algbw;
    const auto [busbw, b] = half->busbw;
    const bool fits = busbw + b >= common.low * (algbw - a) - slack && busbw - b <= common.high * (algbw + a) + slack;
    if (!fits)
      return fail(row->where, fmt::format("busbw {} over algbw {} is {:.4f}", busbw, algbw, busbw / algbw),
          fmt::format(
              "the other rows have {:.4f}: a column is missing, moved or damaged", (common.low + common.high) / 2));
  }
  return common;
}

Expected<std::int64_t> parts_of(const Run& run) {
  std::int64_t parts = 0;
  for (const Row& row : run.rows) {
    if (row.size == 0) continue;
    const double held = row.count * element_bytes(row.type);
    const double share = held > 0 ? row.size / held : 0;
    if (share < 1 || share != std::floor(share) || share > 1e9)
      return fail(row.where,
          fmt::format("{} bytes are not a multiple of {} elements of {}", row.size, row.count, row.type),
          "size = count x type, times the ranks where each holds a part");
    if (parts == 0) parts = static_cast<std::int64_t>(share);
    if (static_cast<double>(parts) != share)
      return fail(row.where, fmt::format("the buffer is {} times what a rank holds", share),
          fmt::format("{} times in the rows before", parts));
  }
  return parts;
}

}  // namespace stepcast::calibrate::nccl
