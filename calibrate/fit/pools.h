// Sorts the measurements of one GPU by the law that they inform.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/fit/fit_law.h"
#include "calibrate/fit/pairs.h"
#include "calibrate/rows/measurement.h"

namespace stepcast::calibrate {

/// Samples of one law with the software behind them.
template <typename Query> struct Pool {
  std::vector<Sample<Query>> samples;
  std::set<std::string> software;
  void add(const Query& query, const Measurement& row, const MeasurementContext& context) {
    samples.push_back({query, row.time});
    if (!context.software.empty()) software.insert(context.software);
  }
  [[nodiscard]] std::string names() const { return fmt::format("{}", fmt::join(software, ", ")); }
};

struct AttentionKey {
  bool decode = false, latent = false;
  std::string software;
  auto operator<=>(const AttentionKey&) const = default;
};

/// Whose links: within a node the fabric alone; across nodes also the machine, where the catalogue has it.
struct NetworkKey {
  FabricKind fabric = FabricKind::nvswitch;
  std::string machine;
  auto operator<=>(const NetworkKey&) const = default;
};

/// All measurements of the GPU, sorted by the law that they speak of. Laws are of bursts whose data come from device
/// memory, with nothing beside them: whatever was timed otherwise is counted here and is no sample of a law.
struct Pools {
  std::map<std::pair<Precision, bool>, Pool<GemmQuery>> gemm, sustained;
  std::map<AttentionKey, Pool<AttentionQuery>> attention;
  std::map<Precision, Pool<MoeQuery>> moe;
  std::map<std::string, Pool<MemoryQuery>> memory;
  std::map<NetworkKey, std::vector<Sample<CollectiveQuery>>> collectives;
  std::set<std::string> other_gpus;
  RowPairs pairs;  ///< rows beside others and sustained ones, against the same alone
  int throttled = 0, of_others = 0, warm = 0, beside = 0;
  int sustained_others = 0;  ///< sustained, but no products
};
Pools pools_of(const Measurements& measurements, const Gpu& gpu);

}  // namespace stepcast::calibrate
