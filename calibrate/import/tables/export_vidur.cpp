// microsoft/vidur data/profiling/compute: a row holds the median times of a transformer layer's operators except
// attention, in fp16, with the weights of one rank of a tensor-parallel group. A row here makes up to ten measurements.
#include <array>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/known_export.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Sizes of the row, per rank where the rank holds a part.
struct LayerSizes {
  double tokens, hidden, inter, query_columns, kv_columns;
  bool gated;
};

/// What an operator of the row is. Projections of queries, keys and values, and of gate and up, are one product each.
struct LayerOp {
  std::string_view name;
  Query (*query)(const LayerSizes&);
};

Query layer_gemm(const LayerSizes& s, double n, double k) { return GemmQuery{s.tokens, n, k, 1, Precision::fp16}; }

Query layer_memory(std::string_view op, double rows, double columns) {
  return MemoryQuery{find_memory_op(op), rows, columns, 2};
}

constexpr std::array layer_ops{
    LayerOp{"emb", [](const LayerSizes& s) { return layer_memory("embedding", s.tokens, s.hidden); }},
    LayerOp{"input_layernorm", [](const LayerSizes& s) { return layer_memory("norm", s.tokens, s.hidden); }},
    LayerOp{"attn_pre_proj",
        [](const LayerSizes& s) { return layer_gemm(s, s.query_columns + 2 * s.kv_columns, s.hidden); }},
    LayerOp{"attn_rope",
        [](const LayerSizes& s) { return layer_memory("rope", s.tokens, s.query_columns + s.kv_columns); }},
    LayerOp{"attn_post_proj", [](const LayerSizes& s) { return layer_gemm(s, s.hidden, s.query_columns); }},
    LayerOp{"post_attention_layernorm", [](const LayerSizes& s) { return layer_memory("norm", s.tokens, s.hidden); }},
    LayerOp{"mlp_up_proj", [](const LayerSizes& s) { return layer_gemm(s, (s.gated ? 2 : 1) * s.inter, s.hidden); }},
    LayerOp{
        "mlp_act", [](const LayerSizes& s) { return layer_memory(s.gated ? "swiglu" : "gelu", s.tokens, s.inter); }},
    LayerOp{"mlp_down_proj", [](const LayerSizes& s) { return layer_gemm(s, s.hidden, s.inter); }},
    LayerOp{"add", [](const LayerSizes& s) { return layer_memory("add", s.tokens, s.hidden); }},
};

std::optional<LayerSizes> layer_sizes(TableImport& rows) {
  const double ways = rows.count("num_tensor_parallel_workers"), heads = rows.count("n_head"),
               kv_heads = rows.count("n_kv_head");
  const double hidden = rows.count("n_embd"), inter = rows.count("n_expanded_embd"), tokens = rows.count("num_tokens");
  const std::string gated = lower_case(rows.text("use_gated_mlp"));
  if (rows.failed()) return std::nullopt;
  const auto divides = [](double by, double what) {
    return static_cast<std::int64_t>(what) % static_cast<std::int64_t>(by) == 0;
  };
  if (gated != "true" && gated != "false")
    rows.refuse(fmt::format("use_gated_mlp is '{:.20}'", gated), "True or False");
  else if (!divides(heads, hidden)) rows.refuse(fmt::format("{} heads in {}", heads, hidden), "heads of equal size");
  if (rows.failed()) return std::nullopt;
  // vLLM splits what divides and refuses the rest; fewer heads of keys than ranks are repeated on each.
  if (!divides(ways, heads) || !divides(ways, inter)) {
    rows.leave_out("rows whose heads or columns do not divide over their ranks");
    return std::nullopt;
  }
  const double head_dim = hidden / heads;
  return LayerSizes{tokens, hidden, inter / ways, head_dim * heads / ways, head_dim * std::max(1.0, kv_heads / ways),
      gated == "true"};
}

}  // namespace

void read_vidur_layer(TableImport& rows) {
  MeasurementContext context;
  context.software = "vidur";
  const std::string gpu(rows.text("gpu"));
  context.gpu = gpu_of_device(gpu);
  if (context.gpu.empty()) context.device = gpu;
  const auto sizes = layer_sizes(rows);
  if (!sizes) return;
  for (const LayerOp& op : layer_ops) {
    const std::string joined = fmt::format("{}_us", op.name), original = fmt::format("time_stats.{}.median", op.name);
    const bool in_microseconds = rows.has_column(joined);
    if (!in_microseconds && !rows.has_column(original)) continue;
    const auto time = in_microseconds ? rows.time(joined, 1e-6) : rows.time(original, 1e-3);
    if (time) rows.add(op.query(*sizes), *time, context);
  }
  rows.note("times are whole or half microseconds: those of a few microseconds are coarse");
}

}  // namespace stepcast::calibrate
