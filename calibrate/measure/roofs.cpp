#include "calibrate/measure/roofs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "calibrate/measure/method.h"

namespace stepcast::calibrate {
namespace {

/// Above it, a warm buffer shares the level-2 cache with too much else: of a cache that is hashed over two halves,
/// reads beyond 0.8 of its size begin to miss.
constexpr double warm_share = 0.8;

/// What a row says of a roof; "" where it says nothing.
struct RowRate {
  std::string of;
  double rate = 0;
};

class RateOf {
 public:
  RateOf(const Measurement& row, const MeasurementContext& context, const Gpu& gpu)
      : row_(row), context_(context), gpu_(gpu) {}

  RowRate operator()(const GemmQuery& gemm) const {
    if (warm()) return {};
    return {fmt::format("{}{}", to_text(gemm.precision), gemm.block_scaled ? " block-scaled" : ""),
        (flops_of(gemm) / row_.time).value()};
  }
  RowRate operator()(const MemoryQuery& memory) const {
    const Bytes bytes = bytes_of(memory);
    const double rate = (bytes / row_.time).value();
    if (memory.op->group != "copy") return {};
    if (!warm())
      return bytes > gpu_.l2 * MethodRules{}.caches_between ? RowRate{fmt::format("hbm {}", memory.op->id), rate}
                                                            : RowRate{};
    const bool fits = memory.op->id == "read" && bytes <= gpu_.l2 * warm_share;
    return fits ? RowRate{"l2 read", rate} : RowRate{};
  }
  RowRate operator()(const TransferQuery& transfer) const {
    return {to_text(transfer.kind), (transfer.bytes / row_.time).value()};
  }
  template <typename Other> RowRate operator()(const Other&) const { return {}; }

 private:
  [[nodiscard]] bool warm() const { return !context_.cache.empty(); }
  const Measurement& row_;
  const MeasurementContext& context_;
  const Gpu& gpu_;
};

/// The order in which they are printed: memory outwards from the chip, then products.
int place_of(const Roof& roof) {
  constexpr std::string_view first[] = {
      "l2 read", "hbm read", "hbm write", "hbm copy", "hbm triad", "host_to_device", "device_to_host"};
  const auto found = std::find(std::begin(first), std::end(first), roof.of);
  return static_cast<int>(found - std::begin(first));
}

}  // namespace

std::vector<SeenRoof> seen_roofs(const Measurements& measurements, const Gpu& gpu) {
  std::vector<SeenRoof> roofs;
  for (std::size_t i = 0; i < measurements.rows.size(); ++i) {
    const Measurement& row = measurements.rows[i];
    const MeasurementContext& context = measurements.context_of(row);
    const bool sustained = context.regime == "sustained";
    if (context.gpu != gpu.id || !context.beside.empty() || (row.throttled && !sustained)) continue;
    RowRate seen = std::visit(RateOf(row, context, gpu), row.what);
    if (seen.of.empty()) continue;
    const auto known = std::find_if(roofs.begin(), roofs.end(),
        [&](const SeenRoof& other) { return other.roof.of == seen.of && other.roof.regime == context.regime; });
    if (known == roofs.end()) {
      roofs.push_back({{std::move(seen.of), seen.rate, context.regime}, i});
    } else if (seen.rate > known->roof.rate) {
      known->roof.rate = seen.rate;
      known->row = i;
    }
  }
  std::stable_sort(roofs.begin(), roofs.end(), [](const SeenRoof& a, const SeenRoof& b) {
    return std::tuple(place_of(a.roof), a.roof.of, a.roof.regime) <
           std::tuple(place_of(b.roof), b.roof.of, b.roof.regime);
  });
  return roofs;
}

std::vector<Roof> roofs_of(const Measurements& measurements, const Gpu& gpu) {
  std::vector<Roof> roofs;
  for (SeenRoof& seen : seen_roofs(measurements, gpu)) roofs.push_back(std::move(seen.roof));
  return roofs;
}

HostCosts host_costs_of(const Measurements& measurements, const Gpu& gpu) {
  HostCosts host;
  for (const Measurement& row : measurements.rows) {
    const auto* launch = std::get_if<LaunchQuery>(&row.what);
    if (launch == nullptr || measurements.context_of(row).gpu != gpu.id) continue;
    Seconds* const costs[] = {&host.stream_kernel, &host.graph_kernel, &host.graph, &host.event};
    Seconds& cost = *costs[static_cast<int>(launch->kind)];
    cost = cost.value() > 0 ? std::min(cost, row.time) : row.time;
  }
  return host;
}

double datasheet_rate(const Roof& roof, const Gpu& gpu) {
  if (roof.of.starts_with("hbm ")) return gpu.memory_bandwidth.value();
  for (int i = 0; i < 7; ++i)
    if (const char* name = to_text(static_cast<Precision>(i));
        roof.of == name || roof.of.starts_with(fmt::format("{} ", name)))
      return gpu.peak[i].value();
  return 0;
}

void replace_roofs(std::vector<Roof>& known, const std::vector<Roof>& measured) {
  for (const Roof& roof : measured) {
    std::erase_if(known, [&](const Roof& old) { return old.of == roof.of && old.regime == roof.regime; });
    known.push_back(roof);
  }
}

}  // namespace stepcast::calibrate
