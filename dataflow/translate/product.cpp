#include "dataflow/translate/product.h"

#include <vector>

#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// The two plain loops of a tensor; empty: it has others.
std::vector<int> plain_pair(const ChipTensor& tensor) {
  std::vector<int> loops;
  for (const ChipIndex& index : tensor.indices) {
    if (index.terms.size() != 1 || index.terms[0].step != 1) return {};
    loops.push_back(index.terms[0].dim);
  }
  if (loops.size() != 2 || loops[0] == loops[1]) return {};
  return loops;
}

bool has_loop(const std::vector<int>& loops, int dim) { return contains(loops, dim); }

/// The loop of `a` that `b` has too, or not; -1 unless there is exactly one.
int only_loop(const std::vector<int>& a, const std::vector<int>& b, bool shared) {
  int found = -1, times = 0;
  for (const int loop : a)
    if (has_loop(b, loop) == shared) found = loop, ++times;
  return times == 1 ? found : -1;
}

}  // namespace

std::optional<Product> product_of(const ChipProgram& chip) {
  if (chip.dims.size() != 3 || chip.tensors.size() != 3) return {};
  const std::vector<int> input = plain_pair(chip.tensors[0]), weight = plain_pair(chip.tensors[1]),
                         output = plain_pair(chip.tensors[2]);
  if (input.empty() || weight.empty() || output.empty()) return {};
  // A weight by name comes second whatever the order of writing; else the output's first loop tells the input.
  const bool swapped = chip.tensors[0].use == TensorUse::weight && chip.tensors[1].use != TensorUse::weight;
  const bool by_output = chip.tensors[0].use == chip.tensors[1].use && !has_loop(input, output[0]);
  const bool turned = swapped || by_output;
  const std::vector<int>&first = turned ? weight : input, &second = turned ? input : weight;
  Product product{{only_loop(first, output, true), only_loop(second, output, true), only_loop(first, second, true)},
      {turned ? 1 : 0, turned ? 0 : 1, 2}};
  const auto [m, n, k] = product.loop;
  if (m < 0 || n < 0 || k < 0 || m == n || m == k || n == k || has_loop(output, k)) return {};
  return product;
}

}  // namespace stepcast::dataflow
