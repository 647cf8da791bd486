#include "kernels/bench/work.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"

namespace stepcast::kernels {
namespace {

constexpr const char* source_names[] = {"cublas", "cudnn", "stepcast", "cuda", "nccl"};
constexpr const char* layout_names[] = {"tn", "nn", "nt"};
constexpr const char* pass_names[] = {"forward", "backward", "forward_and_backward", "decode"};

struct QueryName {
  std::string operator()(const GemmQuery& g) const {
    std::string text = fmt::format("gemm {}{} {} {}x{}x{}", to_text(g.precision), g.block_scaled ? "-block" : "",
        layout_names[static_cast<int>(g.layout)], g.m, g.n, g.k);
    if (g.batch > 1) text += fmt::format(" x{}", g.batch);
    return g.casts_x ? text + " with cast" : text;
  }
  std::string operator()(const AttentionQuery& a) const {
    std::string text = fmt::format("attention {} {} {}x{}x{}x{}", pass_names[static_cast<int>(a.pass)],
        to_text(a.precision), a.batch, a.queries, a.heads, a.head_dim);
    if (a.keys != a.queries) text += fmt::format(" keys {}", a.keys);
    if (a.kv_heads != a.heads) text += fmt::format(" kv {}", a.kv_heads);
    return text + (a.causal ? " causal" : " full");
  }
  std::string operator()(const MoeQuery& m) const {
    return fmt::format("moe {} {} tokens {}x{} top {} of {} tp {} ep {} skew {}", to_text(m.precision), m.tokens,
        m.hidden, m.inter, m.topk, m.experts, m.tensor_ways, m.expert_ways, m.skew);
  }
  std::string operator()(const MemoryQuery& m) const {
    return fmt::format("{} {}x{} of {} B", m.op->id, m.rows, m.columns, m.element_bytes);
  }
  std::string operator()(const CollectiveQuery& c) const {
    return fmt::format("{} x{}{} {}", to_text(c.kind), c.ranks, c.nodes > 1 ? fmt::format(" on {} nodes", c.nodes) : "",
        exact_text(c.bytes));
  }
  std::string operator()(const TransferQuery& t) const {
    return fmt::format("{} {}", to_text(t.kind), exact_text(t.bytes));
  }
  std::string operator()(const LaunchQuery& l) const { return fmt::format("launch {}", to_text(l.kind)); }
};

struct UsualSource {
  KernelSource operator()(const GemmQuery&) const { return KernelSource::cublas; }
  KernelSource operator()(const AttentionQuery&) const { return KernelSource::stepcast; }
  KernelSource operator()(const MoeQuery&) const { return KernelSource::stepcast; }
  KernelSource operator()(const MemoryQuery&) const { return KernelSource::stepcast; }
  KernelSource operator()(const CollectiveQuery&) const { return KernelSource::nccl; }
  KernelSource operator()(const TransferQuery&) const { return KernelSource::cuda; }
  KernelSource operator()(const LaunchQuery&) const { return KernelSource::cuda; }
};

}  // namespace

const char* to_text(KernelSource source) { return source_names[static_cast<int>(source)]; }
KernelSource usual_source(const Query& query) { return std::visit(UsualSource{}, query); }
std::string work_name(const Query& query) { return std::visit(QueryName{}, query); }

std::string to_text(const Work& work) {
  std::string text = work_name(work.what);
  if (work.source != usual_source(work.what)) text += fmt::format(" by {}", to_text(work.source));
  if (work.warm) text += " warm";
  if (work.beside) text += " beside " + work_name(*work.beside);
  return text;
}

}  // namespace stepcast::kernels
