// Chip programs written as loops, for tests of the counter.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dataflow/chip/count/count.h"

namespace stepcast::dataflow::counted {

using Loops = std::vector<std::pair<char, std::int64_t>>;  ///< dim, trips; outer to inner

enum : int { I, W, O };  ///< the tensors of gemm_of and row_of

/// Tensors are written "I[m,2p+r]", the output last; dims have one letter.
inline ChipTensor tensor_from(const std::string& text, const ChipProgram& chip, bool output) {
  ChipTensor tensor{text.substr(0, text.find('[')), TensorUse::input, {{}}, 2};
  if (tensor.name[0] == 'W') tensor.use = TensorUse::weight;
  if (output) tensor.use = TensorUse::output;
  std::int64_t step = 1;
  for (const char c : text.substr(text.find('[') + 1)) {
    if (c == ',') tensor.indices.emplace_back();
    if (c >= '1' && c <= '9') step = c - '0';
    for (std::size_t d = 0; d < chip.dims.size(); ++d)
      if (chip.dims[d].name[0] == c)
        tensor.indices.back().terms.push_back({static_cast<int>(d), std::exchange(step, 1)});
  }
  return tensor;
}

class ChipOf {
 public:
  ChipOf(const Loops& extents, const std::vector<std::string>& tensors) {
    for (const auto& [name, extent] : extents) chip_.dims.push_back({std::string(1, name), extent});
    for (std::size_t t = 0; t < tensors.size(); ++t)
      chip_.tensors.push_back(tensor_from(tensors[t], chip_, t + 1 == tensors.size()));
  }
  /// The next level inside; `keeps` holds the first letters of the tensors.
  ChipOf& level(const std::string& name, const std::string& keeps, const Loops& space, const Loops& time) {
    ChipLevel level;
    level.name = name;
    for (const ChipTensor& tensor : chip_.tensors)
      level.keeps.push_back(keeps.find(tensor.name[0]) != std::string::npos);
    level.space = loops(space);
    level.time = loops(time);
    chip_.levels.push_back(level);
    return *this;
  }
  [[nodiscard]] const ChipProgram& chip() const { return chip_; }

  [[nodiscard]] Counts counts(Windows windows = Windows::exact) const {
    Counts counts;
    count(nest_of(chip_, windows).value(), counts);
    return counts;
  }

 private:
  [[nodiscard]] std::vector<ChipLoop> loops(const Loops& written) const {
    std::vector<ChipLoop> loops;
    for (const auto& [name, trips] : written)
      for (std::size_t d = 0; d < chip_.dims.size(); ++d)
        if (chip_.dims[d].name[0] == name) loops.push_back({static_cast<int>(d), trips, -1, false, {}});
    return loops;
  }
  ChipProgram chip_;
};

inline ChipOf gemm_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{{'m', m}, {'n', n}, {'k', k}}, {"I[m,k]", "W[k,n]", "O[m,n]"}};
}

/// A convolution of p outputs by r taps, k output channels, in one direction.
inline ChipOf row_of(std::int64_t p, std::int64_t r, std::int64_t k) {
  return {{{'p', p}, {'r', r}, {'k', k}}, {"I[p+r]", "W[k,r]", "O[k,p]"}};
}

}  // namespace stepcast::dataflow::counted
