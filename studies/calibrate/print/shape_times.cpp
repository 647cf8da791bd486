#include "studies/calibrate/print/shape_times.h"

#include <fmt/format.h>

#include "model/profile/kernel_law.h"
#include "model/base/quantity_text.h"

namespace stepcast::calibration {
namespace {

using Times = std::vector<ShapeTime>;

/// From one token per call to a long micro-batch, by weights of small and large networks.
Times times_of_products(const RooflineLaw& law, const GpuUnits& units) {
  constexpr double widths[][2] = {{1024, 1024}, {4096, 4096}, {4096, 14336}, {8192, 8192}, {28672, 8192}};
  Times times;
  for (const double m : {16.0, 128.0, 512.0, 2048.0, 8192.0, 32768.0})
    for (const auto& [n, k] : widths) {
      const GemmQuery query{.m = m, .n = n, .k = k, .precision = law.precision, .block_scaled = law.block_scaled};
      times.push_back({fmt::format("m {}, n {}, k {}", m, n, k), gemm_time(law, units, query).time});
    }
  return times;
}

Times times_of(const AttentionLaw& law, const GpuUnits& units) {
  Times times;
  const auto add = [&](const AttentionQuery& q, const std::string& shape) {
    times.push_back({shape, attention_time(law, units, q).time});
  };
  for (const double batch : {1.0, 16.0})
    for (const double keys : {512.0, 2048.0, 8192.0, 32768.0}) {
      AttentionQuery query{.batch = batch, .queries = keys, .keys = keys, .heads = 32, .kv_heads = 8};
      const std::string size = fmt::format("batch {}, {} positions", batch, keys);
      if (law.decode) {
        query.queries = 1;
        query.pass = AttentionPass::decode;
        if (law.latent) query.kv_heads = 1, query.head_dim = 576, query.latent_values = 512;  // DeepSeek's
        add(query, size);
        continue;
      }
      add(query, size + ", forward");
      query.pass = AttentionPass::backward;
      add(query, size + ", backward");
    }
  return times;
}

/// A few wide experts, and many narrow ones spread over 8 ranks.
Times times_of_experts(const RooflineLaw& law, const GpuUnits& units) {
  Times times;
  for (const double tokens : {64.0, 1024.0, 8192.0, 32768.0})
    for (const bool many : {false, true}) {
      MoeQuery query{
          .tokens = tokens, .hidden = 4096, .inter = 14336, .topk = 2, .experts = 8, .precision = law.precision};
      if (many) query.hidden = 7168, query.inter = 2048, query.topk = 8, query.experts = 256, query.expert_ways = 8;
      times.push_back({fmt::format("{} tokens, {} experts", tokens, query.experts), moe_time(law, units, query).time});
    }
  return times;
}

/// A law of any operator is asked for the first of the table.
Times times_of(const MemoryLaw& law, const GpuUnits& units) {
  Times times;
  const MemoryOp* op = law.op.empty() ? &memory_ops().front() : find_memory_op(law.op);
  for (const double rows : {128.0, 2048.0, 32768.0})
    for (const double columns : {1024.0, 4096.0, 16384.0})
      if (op != nullptr)
        times.push_back(
            {fmt::format("{} x {}", rows, columns), memory_time(law, units, MemoryQuery{op, rows, columns, 2}).time});
  return times;
}

Times times_of(const CollectiveCurve& curve) {
  Times times;
  for (double size = 1024; size <= 4.0 * 1073741824; size *= 8) {
    const Bytes received = Bytes(size) * received_share(curve.kind, curve.ranks);
    times.push_back({format_bytes(Bytes(size)), curve_time(curve, received)});
  }
  return times;
}

/// Eight ranks per node with a port of 50 GB/s each.
Times times_of(const ScaleOutLaw& law) {
  Times times;
  for (const std::int64_t nodes : {2, 8, 64})
    for (const double size : {1048576.0, 67108864.0, 1073741824.0})
      times.push_back({fmt::format("{} on {} nodes", format_bytes(Bytes(size)), nodes),
          scale_out_time(law, Bytes(size), nodes, 8, BytesPerSecond(50e9))});
  return times;
}

}  // namespace

std::vector<Times> shape_times(const Profile& profile) {
  std::vector<Times> all;
  for (const RooflineLaw& law : profile.gemm) all.push_back(times_of_products(law, profile.units));
  all.push_back(times_of(profile.attention, profile.units));
  for (const AttentionLaw& law : profile.attention_kernels) all.push_back(times_of(law, profile.units));
  for (const RooflineLaw& law : profile.moe) all.push_back(times_of_experts(law, profile.units));
  for (const MemoryLaw& law : profile.memory_ops) all.push_back(times_of(law, profile.units));
  all.push_back(times_of(profile.memory, profile.units));
  for (const CollectiveCurve& curve : profile.collectives) all.push_back(times_of(curve));
  for (const ScaleOutLaw& law : profile.scale_out) all.push_back(times_of(law));
  return all;
}

}  // namespace stepcast::calibration
