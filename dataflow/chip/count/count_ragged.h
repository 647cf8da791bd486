// Nests with short last rounds. Rounds, units and elements are all tuples of digits below extents, dim by dim, so every
// figure is a sum of products over dims:
//   moved = sum over all rounds of the tile - sum over the loops X that can step without changing the tile, of what
//   then
//           stays in place.
// X keeps the tile where every dim of the tensor has just one round inside X, be it because a short round leaves no
// more. Units that share a plain tile (they differ in dims that the tensor does not have) never need more than the
// first of them, which runs whenever one of them does.
#pragma once

#include "dataflow/chip/count/count_digits.h"
#include "dataflow/chip/count/count_parts.h"

namespace stepcast::dataflow::counting {

struct RaggedNest {
  explicit RaggedNest(const Nest& nest);
  void count_work(Counts& counts) const;

  const Nest& nest;
  std::array<Digits, most_chip_dims> dim;
};

/// A window seen over all rounds before a loop: elements that the units under one instance need together, and those of
/// them that stay in place when that loop steps on.
struct WindowSums {
  std::int64_t needed = 0, kept = 0;
};

/// Loop `place` steps; every loop outside `inner` in time before it, and every unit up to level `from`, is summed over.
/// place == loops: the sum over all rounds, nothing steps.
WindowSums window_sums(const RaggedNest& nest, const Nest::Index& window, int inner, int from, int place);

/// Different values of the window that an instance of the level ever has, summed over its instances.
std::int64_t window_held(const RaggedNest& nest, const Nest::Index& window, int level);

class RaggedTensor {
 public:
  RaggedTensor(const RaggedNest& nest, int tensor);
  [[nodiscard]] const TensorView& view() const { return view_; }
  void moved(const Step& step, Moved& moved) const;

 private:
  [[nodiscard]] std::int64_t changes(const Step& step, int from) const;
  [[nodiscard]] std::int64_t kept(const Step& step, int from, int place) const;
  [[nodiscard]] std::int64_t unchanged(int dim, int inner, int place) const;
  [[nodiscard]] bool window(int index) const;

  const RaggedNest& ragged_;
  const Nest& nest_;
  const Nest::Shape& shape_;
  TensorView view_;
};

}  // namespace stepcast::dataflow::counting
