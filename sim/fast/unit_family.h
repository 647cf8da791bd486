// Programs that differ in nothing but the size of a micro-batch. Every size in them is a constant plus a part in
// proportion to the micro-batch (weights stay, activations grow), so two of them say all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataflow/program.h"

namespace stepcast::sim {

class UnitFamily {
 public:
  /// Lowered with micro-batches of 1 and 2 sequences.
  UnitFamily(Program one, const Program& two);
  UnitFamily(const UnitFamily&) = delete;
  UnitFamily& operator=(const UnitFamily&) = delete;

  /// Do both have the same works, moves and buffers, so that sizes between and beyond them are known?
  [[nodiscard]] bool grows_evenly() const { return even_; }
  /// Blocks with a micro-batch of so many sequences; valid until the next call. Chunks, edges and what is once per step
  /// stay those of the first program.
  const Program& at(double micro_batch);
  /// Ranks that lie `from` apart in the programs as lowered, `size` of them, lie `to` apart.
  struct Axis {
    std::int64_t from = 1, size = 1, to = 1;
  };
  /// Lays the groups of what a micro-batch moves on other ranks; `axes` ascending by `from`. False, and nothing is
  /// changed, where a group has ranks of none of the axes, or of two at once.
  bool lay(std::span<const Axis> axes);
  /// The program that at() resizes: its blocks and items stay as they are.
  [[nodiscard]] std::shared_ptr<const Program> alike() const { return program_; }

 private:
  /// A size in program_ that depends on the micro-batch.
  template <typename Size> struct Line {
    Size* size;
    double at_one, per_more;
  };
  template <typename Size> void pair(std::vector<Line<Size>>& lines, Size& one, Size two);
  void pair_blocks(ProgramBlock& one, const ProgramBlock& two);

  std::shared_ptr<Program> program_;
  std::vector<Group> groups_;  ///< as lowered
  std::vector<int> moving_;    ///< groups that a micro-batch's moves name
  std::vector<Line<double>> numbers_;
  std::vector<Line<Bytes>> bytes_;
  std::vector<Line<Flops>> flops_;
  bool even_ = true;
};

}  // namespace stepcast::sim
