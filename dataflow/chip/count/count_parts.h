// The ways of counting one tensor, behind one shape.
#pragma once

#include <array>
#include <cstdint>

#include "dataflow/chip/count/nest.h"

namespace stepcast::dataflow::counting {

/// One tensor between a level and the units inside. Levels count from the outermost; `inner` == levels: the
/// multiply-add.
struct Step {
  int tensor = 0;
  int outer = 0;  ///< keeps the tensor
  int inner = 0;  ///< the next one that does
  int last = 0;   ///< the innermost level passed: inner, or the last one before the multiply-add
};

/// [j], outer <= j <= last: elements that change hands, summed over all instances of level j, where the units under one
/// instance of j get an element together. [inner] (of a level that keeps): all fills; [outer]: all reads.
using Moved = std::array<std::int64_t, most_chip_levels>;

/// Everything about one tensor that does not depend on the step.
struct TensorView {
  std::array<std::int64_t, most_chip_levels> tile{};
  /// Summed over the instances of the level, different elements that each holds at any time. Only of outputs.
  std::array<std::int64_t, most_chip_levels> held{};
};

inline bool uses(const Nest::Shape& shape, int dim) { return (shape.uses >> dim & 1U) != 0; }
inline bool in_window(const Nest::Shape& shape, int dim) { return (shape.window >> dim & 1U) != 0; }
/// The tensor depends on the dim by an index of its own: other rounds, other elements.
inline bool plain(const Nest::Shape& shape, int dim) { return ((shape.uses & ~shape.window) >> dim & 1U) != 0; }

/// Tiles all whole, no window.
class PlainWhole {
 public:
  PlainWhole(const Nest& nest, int tensor);
  [[nodiscard]] const TensorView& view() const { return view_; }
  void moved(const Step& step, Moved& moved) const;

 private:
  TensorView view_;
  std::int64_t footprint_ = 1;
  std::array<std::int64_t, most_chip_levels> space_{};     ///< units of levels up to this one that share the tensor
  std::array<std::int64_t, most_chip_levels + 1> time_{};  ///< how often the footprint passes to this level
};

/// Tiles all whole, with windows.
class WindowWhole {
 public:
  WindowWhole(const Nest& nest, int tensor);
  [[nodiscard]] const TensorView& view() const { return view_; }
  void moved(const Step& step, Moved& moved) const;

 private:
  struct Ranks;
  [[nodiscard]] Ranks tile_below(int inner) const;
  [[nodiscard]] std::int64_t changes(const Step& step, int from) const;

  const Nest& nest_;
  const Nest::Shape& shape_;
  TensorView view_;
  int ranks_ = 0;
  std::array<std::int8_t, most_chip_dims> rank_{};         ///< by dim of a window: which one
  std::array<std::int32_t, most_chip_dims> step_{};        ///< by dim of a window: its step there
  std::int64_t footprint_ = 1;                             ///< of the plain indices
  std::array<std::int64_t, most_chip_loops> weight_{};     ///< by loop: how far one round moves along its window
  std::array<std::int64_t, most_chip_loops> rounds_{};     ///< by loop: rounds of loops outside, plain dims left out
  std::array<std::int64_t, most_chip_levels> space_{};     ///< units up to this level, plain dims left out
  std::array<std::int64_t, most_chip_levels + 1> time_{};  ///< rounds outside this level, plain dims left out
};

/// The place of a loop among levels: space before time. A level's tile is what stands at slots above 2 * level.
inline int slot(const Nest::Loop& loop) { return 2 * loop.level + (loop.space ? 0 : 1); }

}  // namespace stepcast::dataflow::counting
