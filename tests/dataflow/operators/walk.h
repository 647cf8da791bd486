// The loops of one operator on one rank, walked index by index with the place of every access in its tensor.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "tests/dataflow/execute_operator.h"

namespace stepcast::dataflow::operators {

constexpr int most_accesses = 12;
using Offsets = std::array<int, most_accesses>;  ///< of the output, each input, and each loop asked for by index_of

/// Walks the loops; each access is followed by its offset into its tensor.
class Walk {
 public:
  explicit Walk(const RankOperator& on) : on_(on), loops_(loops_of(on.op)), strides_(loops_.size()) {
    for (auto& s : strides_) s.fill(0);
    add(on.op.output);
    for (const Access& input : on.op.inputs) add(input);
  }
  /// Where the offsets have the number of `loop` itself, from now on.
  int index_of(int loop) {
    const auto [at, is_new] = indices_.try_emplace(loop, count_);
    if (!is_new) return at->second;
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (loops_[l] == loop) strides_[l][count_] = 1;
    return count_++;
  }
  /// Over the loops for which `take` holds; the others stay at offset 0.
  template <typename Take, typename Visit> void each(const Take& take, const Visit& visit) const {
    std::vector<int> chosen;
    for (std::size_t l = 0; l < loops_.size(); ++l)
      if (take(loops_[l])) chosen.push_back(static_cast<int>(l));
    go(chosen, 0, Offsets{}, visit);
  }
  template <typename Visit> void all(const Visit& visit) const {
    each([](int) { return true; }, visit);
  }
  [[nodiscard]] const std::vector<int>& walked(int loop) const { return on_.walked[position(loop)]; }
  [[nodiscard]] int stride(int loop, int access) const { return strides_[position(loop)][access]; }

 private:
  [[nodiscard]] int position(int loop) const {
    return static_cast<int>(std::find(loops_.begin(), loops_.end(), loop) - loops_.begin());
  }
  void add(const Access& access) {
    int stride = 1;
    for (std::size_t i = access.loops.size(); i-- > 0;) {
      strides_[position(access.loops[i])][count_] += stride;
      stride *= static_cast<int>(on_.net.dims[access.loops[i]].extent);
    }
    ++count_;
  }
  template <typename Visit>
  void go(const std::vector<int>& chosen, std::size_t level, const Offsets& at, const Visit& visit) const {
    if (level == chosen.size()) return visit(at);
    const Offsets& stride = strides_[chosen[level]];
    for (int index : on_.walked[chosen[level]]) {
      Offsets next = at;
      for (int k = 0; k < count_; ++k) next[k] += index * stride[k];
      go(chosen, level + 1, next, visit);
    }
  }

  const RankOperator& on_;
  std::vector<int> loops_;
  std::vector<Offsets> strides_;
  std::map<int, int> indices_;
  int count_ = 0;
};

}  // namespace stepcast::dataflow::operators
