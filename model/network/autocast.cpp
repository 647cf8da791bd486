#include "model/network/autocast.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace stepcast {
namespace {

class Autocast {
 public:
  Autocast(Network& network, double narrow) : net_(network), narrow_(narrow) {}

  void run() {
    int before = -1;
    for (Block& block : net_.blocks) {
      if (before >= 0 && block.input >= 0) widen(block.input, width(before));
      pass(block);
      // What a repeated block gives is what its next repeat takes.
      if (block.repeat > 1 && block.input >= 0 && width(block.output) > width(block.input)) {
        widen(block.input, width(block.output));
        pass(block);
      }
      before = block.output;
    }
  }

 private:
  [[nodiscard]] double width(int tensor) const { return net_.tensors[tensor].bytes_per_element; }
  void widen(int tensor, double bytes) {
    double& own = net_.tensors[tensor].bytes_per_element;
    own = std::max(own, bytes);
  }
  [[nodiscard]] bool carries(int tensor) const {
    const TensorRole role = net_.tensors[tensor].role;
    return role == TensorRole::activation || role == TensorRole::weight;
  }

  /// A bias behind a product is added by its kernel; behind anything wide it is a sum.
  [[nodiscard]] bool multiplies(const Operator& op) const {
    if (op.function == "bias") return width(op.inputs.front().tensor) <= narrow_;
    return op.kind == OperatorKind::einsum || op.kind == OperatorKind::attention || op.function == "conv" ||
           (op.kind == OperatorKind::opaque && find_scan(op.function) != nullptr);
  }

  void pass(Block& block) {
    std::vector<Operator> all, kernel;
    for (auto op = block.operators.begin(); op != block.operators.end();) {
      // Operators of one kernel stay neighbours, unless one makes what another reads cast.
      auto end = std::next(op);
      while (!op->kernel.empty() && end != block.operators.end() && end->kernel == op->kernel) ++end;
      std::vector<Operator> values, weights;
      for (; op != end; ++op) {
        if (multiplies(*op)) cast_inputs(*op, kernel, values, weights);
        else promote(*op);
        kernel.push_back(std::move(*op));
      }
      for (std::vector<Operator>* part : {&values, &weights, &kernel}) {
        std::ranges::move(*part, std::back_inserter(all));
        part->clear();
      }
    }
    block.operators = std::move(all);
  }

  /// Of what is made `inside` the operator's kernel a cast stands there, of other `values` and `weights` before it. A
  /// kernel of several products (Q, K and V) has one cast of each kind.
  void cast_inputs(
      Operator& op, std::vector<Operator>& inside, std::vector<Operator>& values, std::vector<Operator>& weights) {
    for (Access& input : op.inputs) {
      if (!carries(input.tensor) || width(input.tensor) <= narrow_) continue;
      const Tensor wide = net_.tensors[input.tensor];
      const bool weight = wide.role == TensorRole::weight;
      const auto made = static_cast<int>(net_.tensors.size());
      const std::string name = fmt::format("{}.{}", op.name, wide.name);
      net_.tensors.push_back({name, wide.dims, narrow_, wide.frozen ? TensorRole::data : TensorRole::activation});
      Operator cast;
      cast.name = name + ".cast";
      cast.tags = op.tags;
      cast.kind = OperatorKind::linear;
      cast.function = "cast";
      cast.output = {made, wide.dims, -1, {}};
      cast.inputs = {{input.tensor, wide.dims, -1, {}}};
      const bool made_inside =
          std::ranges::any_of(inside, [&](const Operator& other) { return other.output.tensor == input.tensor; });
      if (!made_inside && !op.kernel.empty()) {
        cast.kernel = op.kernel + (weight ? " weight casts" : " casts");
        cast.always_joined = true;
      }
      (made_inside ? inside : weight ? weights : values).push_back(std::move(cast));
      input.tensor = made;
    }
  }

  /// Numbers per row (a norm's moments, gates) have a type of their own, which says nothing of the rows'.
  void promote(const Operator& op) {
    if (op.function == "cast" || op.inputs.empty() || width(op.output.tensor) != narrow_) return;
    const std::vector<int>& dims = net_.tensors[op.output.tensor].dims;
    for (const Access& input : op.inputs) {
      const Tensor& tensor = net_.tensors[input.tensor];
      const bool first_of_others = &input == &op.inputs.front() && moves_rows(op);
      if (tensor.role == TensorRole::weight || (carries(input.tensor) && (first_of_others || tensor.dims == dims)))
        widen(op.output.tensor, tensor.bytes_per_element);
    }
  }
  static bool moves_rows(const Operator& op) {
    return op.kind == OperatorKind::route || op.kind == OperatorKind::opaque || op.kind == OperatorKind::select;
  }

  Network& net_;
  double narrow_;
};

}  // namespace

void autocast(Network& network, double narrow) { Autocast(network, narrow).run(); }

}  // namespace stepcast
