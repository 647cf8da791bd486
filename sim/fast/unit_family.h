// Programs that differ in nothing but the size of a micro-batch and the number of data ranks. Every size in them is a
// constant, plus a part in proportion to the micro-batch (weights stay, activations grow), plus a part in proportion to
// the share of one data rank (a shard is 1/p of the whole, a collective receives (p-1)/p), so three of them say all.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "dataflow/program.h"

namespace stepcast::sim {

class UnitFamily {
 public:
  /// Lowered with micro-batches of 1 and 2 sequences.
  UnitFamily(Program one, const Program& two) : UnitFamily(std::move(one), two, nullptr, 1, 1) {}
  /// The first two on 1 / `share` data ranks, `spread` with a micro-batch of 1 on 1 / `spread_share` of them.
  UnitFamily(Program one, const Program& two, double share, const Program& spread, double spread_share)
      : UnitFamily(std::move(one), two, &spread, share, spread_share) {}
  UnitFamily(const UnitFamily&) = delete;
  UnitFamily& operator=(const UnitFamily&) = delete;

  /// Do both have the same works, moves and buffers, so that sizes between and beyond them are known?
  [[nodiscard]] bool grows_evenly() const { return even_; }
  /// Blocks with a micro-batch of so many sequences; valid until the next call. Chunks, edges and what is once per step
  /// stay those of the first program.
  const Program& at(double micro_batch) { return at(micro_batch, share_); }
  /// The same on 1 / `share` data ranks.
  const Program& at(double micro_batch, double share);
  /// Ranks that lie `from` apart in the programs as lowered, `size` of them, lie `to` apart, and are `to_size`.
  struct Axis {
    std::int64_t from = 1, size = 1, to = 1, to_size = size;
  };
  /// Lays the groups of what a micro-batch moves on other ranks; `axes` ascending by `from`. False, and nothing is
  /// changed, where a group has ranks of none of the axes, or some ranks of an axis that has more or fewer then.
  bool lay(std::span<const Axis> axes);

 private:
  UnitFamily(Program one, const Program& two, const Program* spread, double share, double spread_share);
  /// A size in program_ that depends on the micro-batch or on the data ranks.
  template <typename Size> struct Line {
    Size* size;
    double at_one, per_more, per_share;
  };
  template <typename Size> void pair(std::vector<Line<Size>>& lines, Size& one, Size two, Size spread);
  void pair_blocks(ProgramBlock& one, const ProgramBlock& two, const ProgramBlock& spread);

  double share_, more_share_;  ///< of the first program, and what the one that is spread has more
  Program program_;            ///< at() resizes its blocks
  std::vector<Group> groups_;  ///< as lowered
  std::vector<int> moving_;    ///< groups that a micro-batch's moves name
  std::vector<Line<double>> numbers_;
  std::vector<Line<Bytes>> bytes_;
  std::vector<Line<Flops>> flops_;
  bool even_ = true;
};

}  // namespace stepcast::sim
