// A layer's mixer: the operators of its form, over the network's dims and its own.
#include <algorithm>

#include "model/base/contains.h"
#include "model/network/transformer_builder.h"

namespace stepcast {

namespace {

constexpr const char* linear_functions[] = {"add", "bias", "scale", "cast", "dropout"};

OperatorKind kind_of(const std::string& function) {
  if (function == "product") return OperatorKind::einsum;
  if (function == "conv" || function == "rope" || function == "softmax" || find_scan(function) != nullptr)
    return OperatorKind::opaque;
  return std::ranges::find(linear_functions, function) != std::end(linear_functions) ? OperatorKind::linear
                                                                                     : OperatorKind::nonlinear;
}

}  // namespace

/// The shape's own, or the network's.
int TransformerBuilder::mixer_dim(const std::string& name) const {
  const int own = net_.find_dim(name + mixer_suffix_);
  return own >= 0 ? own : net_.find_dim(name);
}

int TransformerBuilder::mixer(int x, int y) {
  std::vector<std::pair<std::string, int>> made{{"x", x}, {"y", y}};
  const auto dims_of = [&](const std::vector<std::string>& names) {
    std::vector<int> dims;
    for (const std::string& name : names) dims.push_back(mixer_dim(name));
    return dims;
  };
  /// One that was made before, or else a new one.
  const auto tensor_of = [&](const MixerTensor& named, const auto& make) {
    const auto before = std::ranges::find(made, named.name, &std::pair<std::string, int>::first);
    if (before != made.end()) return before->second;
    return made.emplace_back(named.name, make("mixer." + named.name, dims_of(named.dims))).second;
  };
  const auto new_weight = [&](const std::string& name, const std::vector<int>& dims) { return weight(name, dims); };
  for (const MixerOperator& row : spec_->mixer.form->operators) {
    const OperatorKind kind = kind_of(row.function);
    std::vector<int> inputs;
    for (const MixerTensor& input : row.inputs) inputs.push_back(tensor_of(input, new_weight));
    const int output = tensor_of(row.output, [&](const std::string& name, const std::vector<int>& dims) {
      return row.function == "square" ? statistic(name, dims) : activation(name, dims);
    });
    const std::string part = "mixer." + row.part;
    const std::string function = kind == OperatorKind::einsum ? "" : row.function;
    Operator& op = add(part + "." + row.output.name, {"mixer", part}, kind, function, output, {}, part);
    for (int input : inputs) op.inputs.push_back(whole(input));
    op.always_joined = true;  // kernels of libraries that all software calls
    if (find_scan(row.function) != nullptr) op.chunk = spec_->mixer.chunk();
    op.whole_loops = dims_of(row.whole);
    const bool reduces = std::ranges::any_of(loops_of(op), [&](int loop) { return !contains(op.output.loops, loop); });
    if (kind != OperatorKind::opaque && reduces) op.monoid = Monoid::sum;
  }
  return y;
}

}  // namespace stepcast
