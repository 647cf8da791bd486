// Which elements of a tensor a rank holds under a placement. Every dim that some atom ever splits is cut into digits of
// all those atoms at once (slow atom = major digit), so that each subset of atoms gives one consistent, possibly
// strided shard; flat shards cut, in the same way, what lies between the finest cuts of the named dims.
#pragma once

#include <vector>

#include "dataflow/place/block.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

class ShardLayout {
 public:
  ShardLayout(const Network& network, const PlacedNetwork& placed);

  [[nodiscard]] int ranks() const { return static_cast<int>(placed_.mesh.ranks); }
  [[nodiscard]] int coordinate(int rank, std::size_t atom) const;
  /// Ranks that differ from `rank` in these atoms only, itself included.
  [[nodiscard]] std::vector<int> group(int rank, AtomMask atoms) const;
  /// Indices of `loop` that the rank walks.
  [[nodiscard]] std::vector<int> walked(int loop, const OperatorSplit& split, int rank) const;
  /// Elements that belong to the rank as far as these atoms say.
  [[nodiscard]] std::vector<char> holds(int tensor, const Placement& place, int rank, AtomMask atoms) const;
  /// True when all shards of the tensor are of one size.
  [[nodiscard]] bool even(int tensor) const { return tables_[tensor].even; }

 private:
  struct Table {
    std::vector<std::vector<int>> piece;  ///< by dim (the last: flat), element: number of the finest piece
    bool even = true;
    AtomMask flat = 0;
  };
  [[nodiscard]] int root(int dim) const;
  void join_dims();
  void collect_atoms();
  void join_rows();
  void fill_table(int tensor);
  [[nodiscard]] int piece_of(std::int64_t index, std::int64_t extent, AtomMask atoms) const;
  [[nodiscard]] int digit(int piece, AtomMask atoms, std::size_t atom) const;

  const Network& net_;
  const PlacedNetwork& placed_;
  std::vector<int> joined_;         ///< union-find: dims that walk one index range (s and t)
  std::vector<AtomMask> split_by_;  ///< by root dim
  std::vector<Table> tables_;       ///< by tensor
};

}  // namespace stepcast::dataflow
