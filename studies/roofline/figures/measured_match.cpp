#include "studies/roofline/figures/measured_match.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

namespace stepcast::roofline {
namespace {

bool near_match(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

bool runs_forward(Pass pass) { return pass == Pass::forward || pass == Pass::recompute; }

/// As studies/calibrate/step_queries.cpp asks for the products of a step.
GemmLayout matched_layout(const KernelWork& work, Precision precision) {
  if (work.head_dim > 0) return work.k == work.head_dim && runs_forward(work.pass) ? GemmLayout::tn : GemmLayout::nn;
  if (operand_bytes(precision) < 2 || runs_forward(work.pass)) return GemmLayout::tn;
  return work.pass == Pass::weight_grad ? GemmLayout::nt : GemmLayout::nn;
}

/// What a work's name stands for among memory_ops(); backward "" = none. A loss is not among them: what files time as
/// cross-entropy reads logits and writes their gradients, which here are several works.
struct MatchedOp {
  std::string_view label, forward, backward;
};
constexpr MatchedOp matched_ops[] = {{"norm", "norm", "norm-backward"}, {"swiglu", "swiglu", "swiglu-backward"},
    {"bias_gelu", "gelu", "gelu-backward"}, {"bias_dropout_add", "add", ""}, {"rope", "rope", "rope"},
    {"softmax", "softmax", "softmax-backward"}, {"embedding", "embedding", "embedding-backward"},
    {"optimizer", "adam", ""}};

std::string_view matched_op(const KernelWork& work) {
  std::string_view label = work.label;
  if (label.ends_with(" sum")) return "add";
  for (const std::string_view suffix : {" dX", " dW", " again"})
    if (label.ends_with(suffix)) label.remove_suffix(suffix.size());
  const auto row = std::find_if(
      std::begin(matched_ops), std::end(matched_ops), [&](const MatchedOp& op) { return op.label == label; });
  if (row == std::end(matched_ops)) return {};
  return runs_forward(work.pass) || work.pass == Pass::step ? row->forward : row->backward;
}

class KernelMatch {
 public:
  explicit KernelMatch(const OperatorPoint& point) : point_(point), work_(point.work) {}

  bool operator()(const GemmQuery& gemm) const {
    if (work_.kernel != KernelClass::gemm || gemm.block_scaled || !same_type(gemm.precision)) return false;
    if (gemm.casts_x && !casts()) return false;
    if (gemm.layout != matched_layout(work_, gemm.precision) || gemm.batch != work_.batch) return false;
    double m = work_.m, n = work_.n;
    if (work_.pass == Pass::weight_grad && work_.head_dim == 0) std::swap(m, n);
    // Rows per expert are a mean; products that are timed have whole ones.
    const auto whole = [](double size) { return std::max(1.0, std::round(size)); };
    return gemm.m == whole(m) && gemm.n == whole(n) && gemm.k == whole(work_.k);
  }

  bool operator()(const AttentionQuery& attention) const {
    const AttentionPass pass = work_.backward ? AttentionPass::backward : AttentionPass::forward;
    if (work_.kernel != KernelClass::attention || attention.pass != pass || !same_type(attention.precision))
      return false;
    if (attention.keys != work_.sequence || attention.head_dim != work_.head_dim) return false;
    // Backward: five products of the forward's two, on queries, keys, values, results and the gradients of all four.
    const double products = work_.backward ? 2.5 : 1, tensors = work_.backward ? 2 : 1;
    return near_match(forward_flops_of(attention).value() * products, point_.flops.value(), 1e-3) &&
           near_match(bytes_of(attention).value() * tensors, work_.bytes.value(), 0.05);
  }

  bool operator()(const MemoryQuery& memory) const {
    const bool moves = work_.kernel == KernelClass::pointwise || work_.kernel == KernelClass::lookup;
    const std::string_view op = matched_op(work_);
    // What else is called embedding adds positions.
    if (!moves || (op.starts_with("embedding") && work_.kernel != KernelClass::lookup)) return false;
    return !op.empty() && memory.op->id == op && near_match(bytes_of(memory).value(), point_.hbm.value(), 0.1);
  }

  template <typename Other> bool operator()(const Other&) const { return false; }

 private:
  /// An odd head size multiplies on CUDA cores, whose peak limits it, whatever its operands are.
  [[nodiscard]] bool same_type(Precision precision) const {
    if (precision == point_.precision) return true;
    return point_.precision == Precision::fp32 && point_.operand_bytes < 4 &&
           operand_bytes(precision) == point_.operand_bytes;
  }
  [[nodiscard]] bool casts() const {
    return point_.operand_bytes < work_.element_bytes && work_.pass != Pass::weight_grad;
  }

  const OperatorPoint& point_;
  const KernelWork& work_;
};

}  // namespace

bool is_same_kernel(const Query& query, const OperatorPoint& point) { return std::visit(KernelMatch(point), query); }

}  // namespace stepcast::roofline
