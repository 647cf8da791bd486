// Tables that papers and READMEs publish: NeuSight's operators, flash-attention's and DeepGEMM's rates.
#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/known_export.h"

namespace stepcast::calibrate {
namespace {

constexpr double tera = 1e12;

/// The rate of a row, above zero.
double published_rate(TableImport& rows) {
  const double rate = rows.number("tflops");
  if (!(rate > 0)) rows.refuse(fmt::format("{} TFLOP/s", rate), "rates of real calls, above 0");
  return rows.failed() ? tera : rate * tera;
}

MeasurementContext device_context(std::string_view device, std::string_view software) {
  MeasurementContext context = context_of_device(device);
  context.software = std::string(software);
  return context;
}

}  // namespace

/// sitar-lab/NeuSight: linear is x[B M, K] times W[N, K] transposed, bmm is B products a[M, K] b[K, N], the others run
/// on B x H elements; a name that ends in u has a scalar for its second operand, pow has two.
void read_neusight(TableImport& rows) {
  const auto type = rows.element("dtype");
  const auto time = rows.time("time_us", 1e-6);
  if (!type || !time) return;
  const MeasurementContext context = device_context(rows.text("device"), "PyTorch (NeuSight)");
  const std::string op(rows.text("op"));
  const double batch = rows.count("B");
  if (op == "linear" || op == "bmm") {
    const bool linear = op == "linear";
    GemmQuery gemm{
        rows.count("M") * (linear ? batch : 1), rows.count("N"), rows.count("K"), linear ? 1 : batch, type->precision};
    gemm.layout = linear ? GemmLayout::tn : GemmLayout::nn;
    return rows.add(gemm, *time, context);
  }
  const MemoryOp* known = find_memory_op(op);
  if (known == nullptr) return rows.leave_out(fmt::format("rows of op '{:.40}'", op));
  rows.add(MemoryQuery{known, batch, rows.count("H"), operand_bytes(type->precision)}, *time, context);
}

/// Dao-AILab/flash-attention's figures: 16,384 tokens, heads x head size = 2048, causal FLOPs counted as half, backward
/// as 2.5 forward passes (arXiv 2307.08691 section 4.1, arXiv 2407.08608 section 4.1), fp16.
void read_flash_attention(TableImport& rows) {
  constexpr double tokens = 16384, width = 2048, with_backward = 3.5;
  const std::string software(rows.text("impl"));
  if (software.find("unfused") != std::string::npos) return rows.leave_out("rows of unfused attention");
  const auto pass = attention_pass_of(rows.text("pass"));
  if (!pass) return rows.refuse(fmt::format("pass '{:.40}'", rows.text("pass")), "fwd, bwd or fwd+bwd");
  const double rate = published_rate(rows), positions = rows.count("seqlen"), head_dim = rows.count("head_dim");
  const bool causal = rows.number("causal") != 0;
  if (rows.failed()) return;
  AttentionQuery a{tokens / positions, positions, positions, width / head_dim, width / head_dim, head_dim, *pass,
      causal, Precision::fp16};
  const double passes = *pass == AttentionPass::forward    ? 1
                        : *pass == AttentionPass::backward ? with_backward - 1
                                                           : with_backward;
  const double square = 4 * a.batch * a.heads * head_dim * positions * positions;
  rows.add(a, Seconds(passes * square * (causal ? 0.5 : 1) / rate), device_context(rows.text("gpu"), software));
}

/// The README of deepseek-ai/DeepGEMM at 55ab91f (2025-03): fp8 with block scales on H800; grouped products have one
/// weight per group.
void read_deepgemm(TableImport& rows) {
  const double rate = published_rate(rows);
  GemmQuery gemm{
      rows.count("m_per_group"), rows.count("n"), rows.count("k"), rows.count("groups"), Precision::fp8, true};
  MeasurementContext context;
  context.gpu = "h800-sxm";
  context.software = "DeepGEMM";
  rows.add(gemm, flops_of(gemm) / FlopsPerSecond(rate), context);
}

}  // namespace stepcast::calibrate
