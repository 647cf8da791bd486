// Tables of collectives: aiconfigurator's nccl_perf (one nccl-tests call per size on one node) and vidur's network
// profiles.
#include <cmath>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/known_export.h"

namespace stepcast::calibrate {
namespace {

std::optional<CollectiveKind> kind_in(TableImport& rows, std::string_view column) {
  const auto kind = collective_kind_of(rows.text(column));
  if (!kind)
    rows.refuse(fmt::format("unknown collective '{:.40}'", rows.text(column)),
        "one of: all_gather, reduce_scatter, all_reduce, all_to_all, send_recv, broadcast, reduce");
  return kind;
}

/// Azure's servers behind the profiles (microsoft/vidur, docs/profiling.md): NC96ads_A100_v4 and its H100 sibling hold
/// PCIe cards in NVLink pairs.
struct VidurServer {
  std::string_view sku, gpu, pair_fabric, node_fabric;
};
constexpr VidurServer vidur_servers[] = {{"a100_dgx", "a100-80gb", "nvswitch", "nvswitch"},
    {"h100_dgx", "h100-sxm", "nvswitch", "nvswitch"}, {"a100_pairwise_nvlink", "a100-pcie-80gb", "nvlink_mesh", "pcie"},
    {"h100_pairwise_nvlink", "h100-nvl", "nvlink_mesh", "pcie"}, {"a40_pairwise_nvlink", "a40", "nvlink_mesh", "pcie"}};

MeasurementContext vidur_context(std::string_view sku, std::int64_t ranks, std::int64_t nodes) {
  MeasurementContext context;
  context.software = "vidur";
  context.machine = std::string(sku);
  for (const VidurServer& server : vidur_servers) {
    if (server.sku != sku) continue;
    context.gpu = std::string(server.gpu);
    if (nodes == 1) context.fabric = std::string(ranks <= 2 ? server.pair_fabric : server.node_fabric);
  }
  if (context.gpu.empty()) context.device = std::string(sku);
  return context;
}

/// `size` is the buffer of one rank: of an all-reduce or a send the whole buffer too, of a gather one part of it.
void add_vidur_row(
    TableImport& rows, std::string_view bytes_column, std::string_view time_column, std::string_view sku) {
  const auto kind = kind_in(rows, "collective");
  const auto time = rows.time(time_column, millisecond);
  if (!kind || !time) return;
  if (*kind == CollectiveKind::reduce_scatter || *kind == CollectiveKind::all_to_all)
    return rows.leave_out(fmt::format("rows of {}, whose size may be a part or the whole", to_text(*kind)));
  const auto ranks = static_cast<std::int64_t>(rows.count("num_workers", 2));
  const auto per_node = static_cast<std::int64_t>(rows.count("devices_per_node"));
  if (!rows.failed() && ranks % per_node != 0)
    rows.refuse(fmt::format("{} workers, {} per node", ranks, per_node), "nodes of equal size");
  const double parts = *kind == CollectiveKind::all_gather ? static_cast<double>(ranks) : 1;
  const CollectiveQuery query{*kind, ranks, ranks / per_node, Bytes(rows.count(bytes_column) * parts)};
  rows.add(query, *time, vidur_context(sku, ranks, query.nodes));
}

}  // namespace

void read_aic_nccl(TableImport& rows) {
  const auto kind = kind_in(rows, "op_name");
  const auto time = rows.time("latency", millisecond);
  if (!kind || !time) return;
  const double element = element_bytes_of(rows.text("nccl_dtype"));
  if (element == 0)
    return rows.refuse(fmt::format("unknown element type '{:.40}'", rows.text("nccl_dtype")), "half, int8, float, ...");
  MeasurementContext context = context_of_device(rows.text("device"));
  context.fabric = fabric_of_gpu(context.gpu);
  context.nccl = std::string(rows.text("version"));
  context.software = fmt::format("nccl-tests {}", rows.text("nccl_dtype"));
  const auto ranks = static_cast<std::int64_t>(rows.count("num_gpus", 2));
  rows.add(CollectiveQuery{*kind, ranks, 1, Bytes(rows.count("message_size") * element)}, *time, context);
}

void read_nccl_perf(TableImport& rows) {
  const auto kind = kind_in(rows, "op");
  const auto time = rows.time("latency_ms", millisecond);
  if (!kind || !time) return;
  MeasurementContext context = context_of_device(rows.text("device"));
  if (std::string gpu = split_collection(rows.text("system")).gpu; !gpu.empty()) context.gpu = std::move(gpu);
  if (context.gpu.empty() && context.device.empty()) context.device = std::string(rows.text("system"));
  context.fabric = fabric_of_gpu(context.gpu);
  context.nccl = std::string(rows.text("version_col"));
  // Element types and collections differ by some percent at equal bytes; what else is in a query cannot tell them
  // apart.
  context.software = fmt::format("nccl-tests {} {}", rows.text("dtype"), rows.text("data_dir"));
  const auto ranks = static_cast<std::int64_t>(rows.count("num_gpus", 2));
  rows.add(CollectiveQuery{*kind, ranks, 1, Bytes(rows.count("bytes"))}, *time, context);
}

void read_vidur_network(TableImport& rows) { add_vidur_row(rows, "bytes", "median_ms", rows.text("sku")); }

void read_vidur_collective(TableImport& rows) {
  add_vidur_row(rows, "size", fmt::format("time_stats.{}.median", rows.text("collective")), "");
}

}  // namespace stepcast::calibrate
