#include "tests/dataflow/execute_operator.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tests/dataflow/operators/meanings.h"
#include "tests/dataflow/operators/pointwise.h"

namespace stepcast::dataflow {
namespace {

using operators::Offsets;
using operators::OperatorRun;

void einsum(OperatorRun& run, Part& out) {
  run.walk.all([&](const Offsets& at) { out.value[at[0]] += run.product(at, -1); });
}
void einsum_gradient(OperatorRun& run, int i, Part& grad) {
  run.walk.all([&](const Offsets& at) { grad.value[at[1 + i]] += run.up(at) * run.product(at, i); });
}

/// Kept or dropped by the element's number, whoever computes it.
double dropout_mask(int element) {
  return (static_cast<unsigned>(element) * 2654435761U >> 16 & 3U) == 0 ? 0 : 4.0 / 3;
}
void dropout(OperatorRun& run, Part& out) {
  run.walk.all([&](const Offsets& at) { out.value[at[0]] = run.in(0, at) * dropout_mask(at[0]); });
}
void dropout_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  run.walk.all([&](const Offsets& at) { grad.value[at[1]] += run.up(at) * dropout_mask(at[0]); });
}

void pointwise(OperatorRun& run, Part& out) {
  const auto* function = operators::find_pointwise(run.op.function);
  const bool largest = run.op.monoid == Monoid::max;
  run.walk.all([&](const Offsets& at) {
    const double value = function ? function->value(run.operands(at)) : operators::not_read;
    out.value[at[0]] = largest ? std::max(out.value[at[0]], value) : out.value[at[0]] + value;
  });
}
void pointwise_gradient(OperatorRun& run, int i, Part& grad) {
  const auto* function = operators::find_pointwise(run.op.function);
  run.walk.all([&](const Offsets& at) {
    grad.value[at[1 + i]] +=
        function && function->derivative ? run.up(at) * function->derivative(run.operands(at), i) : operators::not_read;
  });
}
/// Of 3 tanh(x / 3), from the output.
void softcap_gradient(OperatorRun& run, int /*i*/, Part& grad) {
  run.walk.all(
      [&](const Offsets& at) { grad.value[at[1]] += run.up(at) * (1 - run.made(at[0]) * run.made(at[0]) / 9); });
}

void no_gradient(OperatorRun&, int, Part&) {}  // what is picked does not change by little

struct Meaning {
  std::string_view function;
  void (*forward)(OperatorRun&, Part& out);
  void (*gradient)(OperatorRun&, int i, Part& grad);
};

constexpr std::array functions = {
    Meaning{"rope", operators::rotate, operators::rotate_gradient},
    Meaning{"softmax", operators::softmax, operators::softmax_gradient},
    Meaning{"softcap", pointwise, softcap_gradient},
    Meaning{"conv", operators::convolve, operators::convolve_gradient},
    Meaning{"dropout", dropout, dropout_gradient},
    Meaning{"index", operators::pick_keys, no_gradient},
    Meaning{"append", operators::append, pointwise_gradient},
    Meaning{"compress", operators::compress, operators::compress_gradient},
    Meaning{"join", operators::join, operators::join_gradient},
    Meaning{"part", operators::part, operators::part_gradient},
    Meaning{"mean", operators::mean, operators::mean_gradient},
    Meaning{"fill", operators::fill, operators::fill_gradient},
    Meaning{"top_k", operators::choose, operators::choose_gradient},
    Meaning{"dispatch", operators::dispatch, operators::dispatch_gradient},
    Meaning{"combine", operators::combine, operators::combine_gradient},
    Meaning{"parts", operators::join, operators::join_gradient},
};

Meaning meaning_of(const Operator& op) {
  if (op.kind == OperatorKind::attention) return {"", operators::attention, operators::attention_gradient};
  if (op.kind == OperatorKind::select) return {"", operators::select, operators::select_gradient};
  if (op.kind == OperatorKind::einsum) return {"", einsum, einsum_gradient};
  if (find_scan(op.function) != nullptr) return {"", operators::scan, operators::scan_gradient};
  const auto row =
      std::find_if(functions.begin(), functions.end(), [&](const Meaning& m) { return m.function == op.function; });
  return row == functions.end() ? Meaning{"", pointwise, pointwise_gradient} : *row;
}

}  // namespace

Part run_operator(const RankOperator& on, const std::vector<const Part*>& inputs, std::string& error) {
  OperatorRun run(on, inputs, nullptr, nullptr, error);
  Part out = run.blank(0, on.op.monoid == Monoid::max ? -std::numeric_limits<double>::infinity() : 0);
  meaning_of(on.op).forward(run, out);
  return out;
}

std::vector<Part> run_gradient(const RankOperator& on, const Part* upstream, const std::vector<const Part*>& inputs,
    const Part* output, const std::vector<int>& targets, std::string& error) {
  OperatorRun run(on, inputs, upstream, output, error);
  std::vector<Part> grads;
  for (int i : targets) {
    grads.push_back(run.blank(1 + i, 0));
    meaning_of(on.op).gradient(run, i, grads.back());
  }
  return grads;
}

}  // namespace stepcast::dataflow
