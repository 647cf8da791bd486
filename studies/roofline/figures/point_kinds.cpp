// What an operator is, by the name that the network's builder gave it (model/network/blocks): rows of a table, first
// match.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "studies/roofline/figures/operator_points.h"

namespace stepcast::roofline {
namespace {

struct PointKindRow {
  std::string_view begins, ends;  ///< of the label without the pass that it ends with; "" = any
  PointKind kind;
};

constexpr PointKindRow point_kind_rows[] = {
    {"", " sum", PointKind::other},  // gradients of one tensor added up
    {"attn.core", "", PointKind::attention},
    {"softmax", "", PointKind::attention},
    {"rope", "", PointKind::attention},
    {"attn.rope", "", PointKind::attention},
    {"attn.norm", "", PointKind::norm},
    {"attn.", "", PointKind::projection},
    {"cross.core", "", PointKind::attention},
    {"cross.", "", PointKind::projection},
    {"memory", "", PointKind::projection},
    {"join.", "", PointKind::attention},
    {"condition", "", PointKind::projection},
    {"modulation", "", PointKind::projection},
    {"table.", "", PointKind::projection},
    {"compress.sum", "", PointKind::attention},
    {"compress", "", PointKind::projection},
    {"mtp.proj", "", PointKind::projection},
    {"expert", "", PointKind::experts},
    {"shared", "", PointKind::experts},
    {"router", "", PointKind::experts},
    {"dispatch", "", PointKind::experts},
    {"combine", "", PointKind::experts},
    {"mixer.norm", "", PointKind::norm},
    {"mixer.select_norm", "", PointKind::norm},
    {"mixer.in", "", PointKind::projection},
    {"mixer.out", "", PointKind::projection},
    {"mixer.conv", "", PointKind::attention},
    {"mixer.gate", "", PointKind::attention},
    {"input.", "", PointKind::projection},  // of the layer's own words
    {"mlp", "", PointKind::mlp},
    {"cutoff", "", PointKind::mlp},
    {"swiglu", "", PointKind::mlp},
    {"bias_gelu", "", PointKind::mlp},
    {"gelu", "", PointKind::mlp},
    {"norm", "", PointKind::norm},
    {"embed", "", PointKind::embedding},
    {"head", "", PointKind::loss},
    {"mtp.head", "", PointKind::loss},
    {"masked", "", PointKind::loss},
    {"pooled", "", PointKind::loss},
    {"loss", "", PointKind::loss},
    {"softcap", "", PointKind::loss},
    {"optimizer", "", PointKind::optimizer},
    {"gradient norm", "", PointKind::optimizer},
};

PointKind class_point_kind(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::gemm: return PointKind::projection;
    case KernelClass::attention:
    case KernelClass::scan: return PointKind::attention;
    case KernelClass::lookup: return PointKind::embedding;
    case KernelClass::pointwise: break;
  }
  return PointKind::other;
}

struct PointWord {
  const char* id;
  const char* name;
};
constexpr PointWord point_kind_words[] = {{"attention", "Attention"}, {"projection", "Projections"}, {"mlp", "MLP"},
    {"experts", "Experts"}, {"norm", "Norms"}, {"embedding", "Embedding"}, {"loss", "Head and loss"},
    {"optimizer", "Optimizer"}, {"other", "Other"}};

constexpr PointKind all_point_kinds[] = {PointKind::attention, PointKind::projection, PointKind::mlp,
    PointKind::experts, PointKind::norm, PointKind::embedding, PointKind::loss, PointKind::optimizer, PointKind::other};
static_assert(std::size(point_kind_words) == std::size(all_point_kinds));

}  // namespace

std::string_view name_without_pass(std::string_view label) {
  for (const std::string_view suffix : {" added", " dX", " dW", " again"})
    if (label.ends_with(suffix)) label.remove_suffix(suffix.size());
  return label;
}

const char* to_text(PointKind kind) { return point_kind_words[static_cast<std::size_t>(kind)].id; }
const char* point_kind_name(PointKind kind) { return point_kind_words[static_cast<std::size_t>(kind)].name; }
std::span<const PointKind> point_kinds() { return all_point_kinds; }

/// The activations and norms of experts are named as everybody's; that their shapes follow the routing tells them
/// apart.
PointKind point_kind(const KernelWork& work) {
  if (work.routed) return PointKind::experts;
  const std::string_view label = name_without_pass(work.label);
  const auto row = std::find_if(std::begin(point_kind_rows), std::end(point_kind_rows),
      [&](const PointKindRow& one) { return label.starts_with(one.begins) && label.ends_with(one.ends); });
  return row != std::end(point_kind_rows) ? row->kind : class_point_kind(work.kernel);
}

const char* to_text(PointPass pass) {
  static constexpr const char* words[] = {"forward", "backward", "recompute", "step"};
  return words[static_cast<std::size_t>(pass)];
}

PointPass point_pass(Pass pass) {
  switch (pass) {
    case Pass::forward: return PointPass::forward;
    case Pass::recompute: return PointPass::recompute;
    case Pass::input_grad:
    case Pass::weight_grad: return PointPass::backward;
    case Pass::step: break;
  }
  return PointPass::step;
}

}  // namespace stepcast::roofline
