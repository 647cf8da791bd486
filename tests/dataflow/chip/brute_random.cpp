#include "tests/dataflow/chip/brute_random.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace stepcast::dataflow::brute {
namespace {

int below(int most, std::mt19937_64& random) { return static_cast<int>(random() % static_cast<std::uint64_t>(most)); }

ChipTensor tensor_of(const std::string& name, TensorUse use, const std::vector<std::vector<ChipIndex::Term>>& indices) {
  ChipTensor tensor{name, use, {}, 2};
  for (const auto& terms : indices) tensor.indices.push_back({terms});
  return tensor;
}

/// Dims 0 m, 1 n, 2 k, 3 b for products; 0 p, 1 q, 2 r, 3 s, 4 c, 5 k for convolutions.
void write_operator(Problem problem, ChipProgram& chip, std::mt19937_64& random) {
  using enum TensorUse;
  const std::int64_t stride = 1 + below(3, random), dilation = 1 + below(2, random);
  switch (problem) {
    case Problem::gemm:
      chip.tensors = {tensor_of("I", input, {{{0, 1}}, {{2, 1}}}), tensor_of("W", weight, {{{2, 1}}, {{1, 1}}}),
          tensor_of("O", output, {{{0, 1}}, {{1, 1}}})};
      chip.dims = {{"m", 1}, {"n", 1}, {"k", 1}};
      break;
    case Problem::batched:
      chip.tensors = {tensor_of("I", input, {{{3, 1}}, {{0, 1}}, {{2, 1}}}),
          tensor_of("W", weight, {{{3, 1}}, {{2, 1}}, {{1, 1}}}),
          tensor_of("O", output, {{{3, 1}}, {{0, 1}}, {{1, 1}}})};
      chip.dims = {{"m", 1}, {"n", 1}, {"k", 1}, {"b", 1}};
      break;
    case Problem::conv:
      chip.tensors = {tensor_of("I", input, {{{4, 1}}, {{0, stride}, {2, dilation}}, {{1, stride}, {3, 1}}}),
          tensor_of("W", weight, {{{5, 1}}, {{4, 1}}, {{2, 1}}, {{3, 1}}}),
          tensor_of("O", output, {{{5, 1}}, {{0, 1}}, {{1, 1}}})};
      chip.dims = {{"p", 1}, {"q", 1}, {"r", 1}, {"s", 1}, {"c", 1}, {"k", 1}};
      break;
    case Problem::three_operands:
      chip.tensors = {tensor_of("A", input, {{{0, 1}}, {{2, 1}}}), tensor_of("B", input, {{{2, 1}}, {{3, 1}}}),
          tensor_of("C", input, {{{1, 1}}, {{2, 1}, {3, 1}}}), tensor_of("O", output, {{{0, 1}}, {{1, 1}}})};
      chip.dims = {{"m", 1}, {"n", 1}, {"k", 1}, {"b", 1}};
      break;
    case Problem::output_only:  // a broadcast: b stands in the output alone, n in no tensor but W
      chip.tensors = {tensor_of("I", input, {{{0, 1}}}), tensor_of("W", weight, {{{1, 1}, {0, 2}}, {{0, 1}}}),
          tensor_of("O", output, {{{0, 1}}, {{3, 1}}})};
      chip.dims = {{"m", 1}, {"n", 1}, {"k", 1}, {"b", 1}};
      break;
    default:  // a transposed convolution: the output is the window
      chip.tensors = {tensor_of("I", input, {{{0, 1}}, {{2, 1}}}), tensor_of("W", weight, {{{2, 1}}, {{1, 1}}}),
          tensor_of("O", output, {{{0, stride}, {1, 1}}})};
      chip.dims = {{"m", 1}, {"n", 1}, {"k", 1}};
  }
}

/// Loops of one dim: factors at random places, and the extent that they give.
void scatter_loops(
    int dim, const RandomOptions& options, std::int64_t& room, ChipProgram& chip, std::mt19937_64& random) {
  std::int64_t range = 1;
  const int loops = below(4, random);
  for (int i = 0; i < loops; ++i) {
    const std::int64_t trips = 1 + below(4, random);
    if (trips > room) break;
    range *= trips;
    room /= trips;
    ChipLevel& level = chip.levels[below(static_cast<int>(chip.levels.size()), random)];
    auto& list = below(3, random) == 0 ? level.space : level.time;
    const auto at = list.begin() + below(static_cast<int>(list.size()) + 1, random);
    list.insert(at, ChipLoop{dim, trips, -1, false, {}});
  }
  chip.dims[dim].extent = range;
  if (options.ragged && range > 1 && below(3, random) > 0)
    chip.dims[dim].extent = range - below(static_cast<int>(range), random);
}

}  // namespace

ChipProgram random_chip(Problem problem, const RandomOptions& options, std::mt19937_64& random) {
  ChipProgram chip;
  write_operator(problem, chip, random);
  const int levels = 1 + below(options.levels_most, random);
  for (int l = 0; l < levels; ++l) {
    ChipLevel level;
    level.name = fmt::format("l{}", l);
    for (std::size_t t = 0; t < chip.tensors.size(); ++t) level.keeps.push_back(l == 0 || below(3, random) > 0);
    chip.levels.push_back(level);
  }
  std::int64_t room = 300;
  std::vector<int> order(chip.dims.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
  std::shuffle(order.begin(), order.end(), random);
  for (const int d : order) scatter_loops(d, options, room, chip, random);
  return chip;
}

std::string described(const ChipProgram& chip) {
  std::string text;
  for (const ChipDim& dim : chip.dims) text += fmt::format("{}:{} ", dim.name, dim.extent);
  for (const ChipTensor& tensor : chip.tensors) {
    text += tensor.name + "[";
    for (const ChipIndex& index : tensor.indices) {
      for (const auto& term : index.terms) text += fmt::format("+{}{}", term.step, chip.dims[term.dim].name);
      text += ",";
    }
    text += "] ";
  }
  for (const ChipLevel& level : chip.levels) {
    text += "| " + level.name + ":";
    for (const ChipLoop& loop : level.space) text += fmt::format(" par {}:{}", chip.dims[loop.dim].name, loop.trips);
    for (const ChipLoop& loop : level.time) text += fmt::format(" for {}:{}", chip.dims[loop.dim].name, loop.trips);
    text += " [";
    for (std::size_t t = 0; t < chip.tensors.size(); ++t)
      if (level.keeps[t]) text += chip.tensors[t].name;
    text += "] ";
  }
  return text;
}

}  // namespace stepcast::dataflow::brute
