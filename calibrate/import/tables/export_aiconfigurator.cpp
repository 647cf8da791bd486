// Kernel tables of github.com/ai-dynamo/aiconfigurator (systems/data/GPU/OP/FRAMEWORK/VERSION/*_perf): `latency` in
// milliseconds, or `time_us`; the GPU in `device` or, where several tables were joined, first in `collection`. Its
// collector replays CUDA graphs (collector/helper.py), for bursts of some milliseconds.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/known_export.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

MeasurementContext aic_context(const TableImport& rows) {
  MeasurementContext context;
  context.launch_mode = "graph";
  if (rows.has("collection")) {
    CollectionName name = split_collection(rows.text("collection"));
    context.gpu = std::move(name.gpu);
    context.software = std::move(name.software);
    if (context.gpu.empty()) context.device = std::string(rows.text("collection"));
    return context;
  }
  context.device = std::string(rows.text("device"));
  context.gpu = gpu_of_device(context.device);
  const std::string framework = lower_case(rows.text("framework"));
  context.software = framework.empty() ? "" : fmt::format("{} {}", framework, rows.text("version"));
  if (rows.has("kernel_source") && rows.text("kernel_source") != "default")
    context.software += fmt::format(" {}", rows.text("kernel_source"));
  return context;
}

std::optional<Seconds> aic_time(TableImport& rows) {
  return rows.has_column("time_us") ? rows.time("time_us", microsecond) : rows.time("latency", millisecond);
}

/// TensorRT-LLM's fp8 and fp4 linear layers take activations of two bytes and cast them first (collect_gemm.py);
/// DeepGEMM's tables hold the product alone.
bool times_the_cast(const ElementType& type, std::string_view software) {
  return operand_bytes(type.precision) < 2 && !type.block_scaled && software.find("trt") != std::string_view::npos &&
         software.find("deepgemm") == std::string_view::npos;
}

/// "gb200_vllm0220_sustained": a run that was long enough for the power limit.
MeasurementContext wide_context(std::string_view collection) {
  CollectionName name = split_collection(collection);
  MeasurementContext context;
  context.gpu = std::move(name.gpu);
  context.launch_mode = "graph";
  constexpr std::string_view sustained = " sustained";
  if (name.software.ends_with(sustained)) {
    context.regime = "sustained";
    name.software.resize(name.software.size() - sustained.size());
  }
  context.software = std::move(name.software);
  if (context.gpu.empty()) context.device = std::string(collection);
  return context;
}

struct WideColumn {
  std::string time, power, collection;
  MeasurementContext context;
};

std::vector<WideColumn> wide_columns(const DelimitedTable& table) {
  std::vector<WideColumn> columns;
  for (const std::string& name : table.columns()) {
    if (!name.ends_with("_us") || time_unit_of(name)) continue;
    const std::string collection = name.substr(0, name.size() - 3);
    const std::string power = table.find(collection + "_W") ? collection + "_W" : "";
    columns.push_back({name, power, collection, wide_context(collection)});
  }
  return columns;
}

}  // namespace

void read_aic_gemm(TableImport& rows) {
  const auto type = rows.element("gemm_dtype");
  const auto time = aic_time(rows);
  if (!type || !time) return;
  const MeasurementContext context = aic_context(rows);
  GemmQuery gemm{rows.count("m"), rows.count("n"), rows.count("k"), 1, type->precision, type->block_scaled};
  gemm.casts_x = times_the_cast(*type, context.software);
  rows.add(gemm, *time, context);
}

void read_aic_attention(TableImport& rows) {
  if ((rows.has("window_size") && rows.number("window_size") > 0) ||
      (rows.has("beam_width") && rows.number("beam_width") > 1))
    return rows.leave_out("rows with a sliding window or beams");
  const auto type = rows.element(rows.has("attn_dtype") ? "attn_dtype" : "dtype");
  const auto time = aic_time(rows);
  if (!type || !time) return;
  const double tokens = rows.count("isl"), cached = rows.count("step", 0);
  AttentionQuery a{rows.count("batch_size"), tokens, tokens + cached, rows.count("num_heads"),
      rows.count("num_key_value_heads"), rows.count("head_dim")};
  a.precision = type->precision;
  const std::string op = lower_case(rows.text("op_name"));
  const bool decode = op.empty() ? tokens == 1 && cached > 0 : op.find("generation") != std::string::npos;
  a.pass = decode ? AttentionPass::decode : AttentionPass::forward;
  rows.add(a, *time, aic_context(rows));
}

/// Decode over DeepSeek's latent cache: 512 elements that are values and keys, and 64 of the rotated key (arXiv
/// 2405.04434 section 2.1). num_heads are those of the rank already; the type is the cache's, which its bytes follow.
void read_aic_latent(TableImport& rows) {
  if (lower_case(rows.text("op_name")).find("generation") == std::string::npos)
    return rows.leave_out("rows of latent attention over whole prompts");
  const auto type = rows.element("kv_cache_dtype");
  const auto time = aic_time(rows);
  if (!type || !time) return;
  const double tokens = rows.count("isl"), cached = rows.count("step", 0);
  AttentionQuery a{rows.count("batch_size"), tokens, tokens + cached, rows.count("num_heads"), 1, 576};
  a.latent_values = 512;
  a.pass = AttentionPass::decode;
  a.precision = type->precision;
  rows.add(a, *time, aic_context(rows));
}

void read_aic_moe(TableImport& rows) {
  if (rows.text("moe_dtype") == "fp8_block") return rows.leave_out("rows of element type 'fp8_block'");
  const auto type = rows.element("moe_dtype");
  const auto time = aic_time(rows);
  if (!type || !time) return;
  constexpr std::string_view power_law = "power_law_";
  const std::string_view distribution = rows.text("distribution");
  double skew = 0;
  if (distribution.starts_with(power_law)) {
    const auto exponent = finite_number(distribution.substr(power_law.size()), rows.where(), "column 'distribution'");
    if (!exponent) return rows.refuse(exponent.error());
    skew = *exponent;
  } else if (distribution != "balanced") {
    return rows.leave_out(fmt::format("rows of distribution '{:.40}'", distribution));
  }
  rows.add(MoeQuery{rows.count("num_tokens"), rows.count("hidden_size"), rows.count("inter_size"), rows.count("topk"),
               rows.count("num_experts"), rows.count("moe_tp_size"), rows.count("moe_ep_size"), skew, type->precision},
      *time, aic_context(rows));
}

bool is_wide_gemm(const DelimitedTable& table) {
  return table.find("m") && table.find("n") && table.find("k") && !wide_columns(table).empty();
}

void read_wide_gemm_rows(TableImport& rows) {
  std::vector<WideColumn> columns = wide_columns(rows.table());
  for (const WideColumn& column : columns) rows.header_names.push_back(column.collection);
  std::erase_if(columns, [&](const WideColumn& column) { return !rows.wants("collection", column.collection); });
  if (columns.empty())
    return rows.refuse(Error{rows.table().where(), "no such collection in the header",
        name_hint(rows.options().only.at("collection"), rows.header_names)});
  while (rows.next()) {
    const auto type = rows.element("dtype");
    if (!type) continue;
    GemmQuery gemm{rows.count("m"), rows.count("n"), rows.count("k"), 1, type->precision, type->block_scaled};
    for (const WideColumn& column : columns) {
      const auto time = rows.time(column.time, microsecond);
      if (!time) continue;
      gemm.block_scaled = type->block_scaled || (type->precision == Precision::fp8 &&
                                                    column.collection.find("deepgemm") != std::string::npos);
      gemm.casts_x = times_the_cast({type->precision, gemm.block_scaled}, column.context.software);
      rows.add(
          gemm, *time, column.context, column.power.empty() || !rows.has(column.power) ? 0 : rows.number(column.power));
    }
  }
}

}  // namespace stepcast::calibrate
