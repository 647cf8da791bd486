// Pieces that every part of a transformer is made of: tensors, products with their adapters, norms, biases, dropout.
#include <algorithm>
#include <optional>
#include <utility>

#include "model/base/contains.h"
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

int TransformerBuilder::tensor(std::string name, std::vector<int> dims, double bytes, TensorRole role) {
  net_.tensors.push_back({std::move(name), std::move(dims), bytes, role});
  return static_cast<int>(net_.tensors.size()) - 1;
}

int TransformerBuilder::weight(std::string name, std::vector<int> dims) {
  const int made = tensor(std::move(name), std::move(dims), batch_.weight_bytes, TensorRole::weight);
  net_.tensors[made].frozen = batch_.lora_rank > 0 || frozen_;
  return made;
}

int TransformerBuilder::activation(std::string name, std::vector<int> dims) {
  return tensor(std::move(name), std::move(dims), batch_.activation_bytes, made_role());
}

/// fp32 statistics, gates and losses.
int TransformerBuilder::statistic(std::string name, std::vector<int> dims, double bytes) {
  return tensor(std::move(name), std::move(dims), bytes, made_role());
}

Access TransformerBuilder::whole(int tensor) const { return {tensor, net_.tensors[tensor].dims, -1, {}}; }

Operator& TransformerBuilder::add(std::string name, Tags tags, OperatorKind kind, std::string function, int output,
    std::initializer_list<int> inputs, std::string kernel) {
  const auto read_here = [&](const Adapter& one) { return std::ranges::find(inputs, one.output) != inputs.end(); };
  if (!adapters_.empty() && (kernel.empty() || kernel != net_.blocks.back().operators.back().kernel ||
                                std::ranges::any_of(adapters_, read_here)))
    put_adapters();
  Operator op;
  op.name = std::move(name);
  op.tags = std::move(tags);
  op.kind = kind;
  op.function = std::move(function);
  op.output = whole(output);
  op.inputs.reserve(inputs.size());
  for (int input : inputs) op.inputs.push_back(whole(input));
  op.kernel = std::move(kernel);
  return net_.blocks.back().operators.emplace_back(std::move(op));
}

/// y += (x A) B beside y += x W (LoRA, Hu et al. 2021, arXiv 2106.09685): A takes x's contracted dims to the rank, B
/// the rank to the output's own. `contracted`: the weight's dim that stands for x's last, where the two differ.
void TransformerBuilder::adapter(const std::string& name, const Tags& tags, int output, int x, int w, int contracted) {
  std::vector<int> in = net_.tensors[x].dims;
  const std::vector<int> both = net_.tensors[w].dims;
  if (contracted >= 0) in.back() = contracted;
  std::vector<int> a_dims, b_dims{z_}, rows;
  for (int d : in)
    if (!contains(both, d)) rows.push_back(d);
  rows.push_back(z_);
  for (int d : both) (contains(in, d) ? a_dims : b_dims).push_back(d);
  a_dims.push_back(z_);
  const int a = weight(name + ".A", a_dims), b = weight(name + ".B", b_dims), low = activation(name + ".low", rows);
  net_.tensors[a].frozen = net_.tensors[b].frozen = false;
  for (const bool first : {true, false}) {
    Operator& op = add(name + (first ? ".lora_a" : ".lora_b"), tags, OperatorKind::einsum, "", first ? low : output,
        {first ? x : low, first ? a : b});
    if (first) op.inputs[0].loops = in;
    op.monoid = Monoid::sum;
    op.adapts = true;
  }
}

/// Behind the products of a kernel, which stay neighbours, and before whatever reads what they add to.
void TransformerBuilder::put_adapters() {
  for (const Adapter& one : std::exchange(adapters_, {})) adapter(one.name, one.tags, one.output, one.x, one.w);
}

Operator& TransformerBuilder::product(std::string name, Tags tags, int output, int x, int w, std::string kernel) {
  const std::string& tag = tags.back();
  // A weight between equal widths (what a prediction layer joins) is no projection that programs adapt.
  const auto& in = net_.tensors[x].dims;
  const auto& out = net_.tensors[output].dims;
  const bool joins =
      std::ranges::any_of(net_.tensors[w].dims, [&](int dim) { return contains(in, dim) && contains(out, dim); });
  const bool adapted = batch_.lora_rank > 0 && !frozen_ && !joins && batch_.adapted.has(name, tag);
  if (adapted && kernel.empty()) adapter(name, tags, output, x, w);
  std::optional<Adapter> behind;
  if (adapted && !kernel.empty()) behind = Adapter{name, tags, output, x, w};
  Operator& op = add(std::move(name), std::move(tags), OperatorKind::einsum, "", output, {x, w}, std::move(kernel));
  op.monoid = Monoid::sum;
  if (behind) adapters_.push_back(std::move(*behind));
  return op;
}

/// y = norm(x) over x's last dims, `over` of them: q[...] += moments(x); y = x, q, gamma (, beta). LayerNorm's q holds
/// mean and variance (8 bytes).
int TransformerBuilder::norm(
    const std::string& name, int x, Tags tags, std::size_t over, bool scaled, Norm kind, std::size_t weighted) {
  const std::vector<int> dims = net_.tensors[x].dims,
                         rows(dims.begin(), dims.end() - static_cast<std::ptrdiff_t>(over)),
                         last(dims.end() - static_cast<std::ptrdiff_t>(weighted > 0 ? weighted : over), dims.end());
  const char* function = kind == Norm::rmsnorm ? "rmsnorm" : "layernorm";
  const int q = statistic(name + ".q", rows, kind == Norm::rmsnorm ? 4 : 8);
  const int y = activation(name + ".y", dims);
  add(name + ".q", tags, OperatorKind::nonlinear, "square", q, {x}, "norm").monoid = Monoid::sum;
  if (!scaled) {
    add(name + ".y", tags, OperatorKind::nonlinear, function, y, {x, q}, "norm");
    return y;
  }
  const int gamma = weight(name + ".gamma", last);
  if (kind == Norm::layernorm)
    add(name + ".y", tags, OperatorKind::nonlinear, function, y, {x, q, gamma, weight(name + ".beta", last)}, "norm");
  else add(name + ".y", tags, OperatorKind::nonlinear, function, y, {x, q, gamma}, "norm");
  return y;
}

/// An RMS norm of each row by weights that stand elsewhere.
int TransformerBuilder::norm_by(const std::string& name, int x, const Tags& tags, int gamma) {
  std::vector<int> rows = net_.tensors[x].dims;
  rows.pop_back();
  const int q = statistic(name + ".q", rows), y = activation(name + ".y", net_.tensors[x].dims);
  add(name + ".q", tags, OperatorKind::nonlinear, "square", q, {x}, "norm").monoid = Monoid::sum;
  add(name + ".y", tags, OperatorKind::nonlinear, "rmsnorm", y, {x, q, gamma}, "norm");
  return y;
}

int TransformerBuilder::biased(
    const std::string& name, int x, std::vector<int> dims, Tags tags, const std::string& kernel) {
  const int bias = weight(name + ".b", std::move(dims));
  const int y = activation(name + ".biased", net_.tensors[x].dims);
  add(name + ".bias", std::move(tags), OperatorKind::linear, "bias", y, {x, bias}, kernel);
  return y;
}

/// By a weight of these dims.
int TransformerBuilder::scaled(
    const std::string& name, int x, std::vector<int> dims, Tags tags, const std::string& kernel) {
  const int y = activation(name + ".scaled", net_.tensors[x].dims);
  add(name, std::move(tags), OperatorKind::nonlinear, "multiply", y, {x, weight(name, std::move(dims))}, kernel);
  return y;
}

int TransformerBuilder::dropped(const std::string& name, int x, Tags tags, const std::string& kernel) {
  if (!spec_->dropout || batch_.serves) return x;
  const int y = activation(name + ".dropped", net_.tensors[x].dims);
  add(name + ".dropout", std::move(tags), OperatorKind::linear, "dropout", y, {x}, kernel);
  return y;
}

}  // namespace stepcast
