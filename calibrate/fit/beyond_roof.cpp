#include "calibrate/fit/beyond_roof.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "kernels/bench/work.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Boards may clock up to 8 % above what their datasheet counts with (H100 SXM: 1980 MHz to 1830 MHz).
constexpr double leeway = 1.1;
/// With sums made in the switch all_reduce needs half the traffic that its bus factor counts.
constexpr double most_saved_by_switches = 2;
/// A buffer that the level-2 cache may hold from the run before is no matter of memory.
constexpr double cached = 4;

struct LeastTime {
  const Gpu& gpu;

  [[nodiscard]] double of(double amount, double rate) const { return rate > 0 ? amount / rate / leeway : 0; }
  [[nodiscard]] double of_flops(Flops flops, Precision precision) const {
    return of(flops.value(), gpu.peak[static_cast<int>(precision)].value());
  }
  double operator()(const GemmQuery& gemm) const { return of_flops(flops_of(gemm), gemm.precision); }
  double operator()(const MoeQuery& moe) const { return of_flops(flops_of(moe), moe.precision); }
  /// Keys and values may be stored narrower than products are made: the fastest unit bounds them.
  double operator()(const AttentionQuery& attention) const {
    const auto fastest = *std::max_element(std::begin(gpu.peak), std::end(gpu.peak));
    return attention.pass == AttentionPass::decode ? 0 : of(forward_flops_of(attention).value(), fastest.value());
  }
  double operator()(const MemoryQuery& memory) const {
    const Bytes bytes = bytes_of(memory);
    return bytes.value() > cached * gpu.l2.value() ? of(bytes.value(), gpu.memory_bandwidth.value()) : 0;
  }
  double operator()(const CollectiveQuery& collective) const {
    if (collective.nodes > 1) return 0;
    return of(received_of(collective).value(), most_saved_by_switches * gpu.scale_up_bandwidth.value());
  }
  double operator()(const TransferQuery&) const { return 0; }
  double operator()(const LaunchQuery&) const { return 0; }
};

Expected<void> check_rate(const char* law, FlopsPerSecond rate, FlopsPerSecond peak) {
  if (peak.value() <= 0 || rate.value() <= leeway * peak.value()) return {};
  return fail("measurements",
      fmt::format(
          "the law of {} ends at {}, beyond the {} of the datasheet", law, format_flops(rate), format_flops(peak)),
      "look for rows that are too fast: a wrong unit, a shape that was not the one that ran, sparsity");
}

}  // namespace

bool is_beyond_roof(const Measurement& row, const Gpu& gpu) {
  return row.time.value() < std::visit(LeastTime{gpu}, row.what);
}

RowsBelowRoofs rows_below_roofs(Measurements all, const Gpu& gpu) {
  RowsBelowRoofs out;
  std::vector<std::string> names;
  std::erase_if(all.rows, [&](const Measurement& row) {
    if (all.context_of(row).gpu != gpu.id || !is_beyond_roof(row, gpu)) return false;
    names.push_back(fmt::format("{} in {}", work_name(row.what), format_seconds(row.time)));
    return true;
  });
  constexpr std::size_t most_named = 3;
  if (!names.empty())
    out.notes.push_back(fmt::format("{} rows are faster than the datasheet allows and were left out: {}", names.size(),
        some_of(names, most_named)));
  out.rows = std::move(all);
  return out;
}

Expected<void> check_below_roofs(const Profile& profile, const Gpu& gpu) {
  const auto peak_at = [&](Precision precision) { return gpu.peak[static_cast<int>(precision)]; };
  for (const RooflineLaw& law : profile.gemm) TRY(check_rate("products", law.compute, peak_at(law.precision)));
  for (const RooflineLaw& law : profile.moe) TRY(check_rate("experts", law.compute, peak_at(law.precision)));
  const auto fastest = *std::max_element(std::begin(gpu.peak), std::end(gpu.peak));
  return check_rate("attention", profile.attention.compute, fastest);
}

}  // namespace stepcast::calibrate
