// Collectives as they are: each rank's part after a move follows from what the ranks of its group hold before it.
#pragma once

#include <string>
#include <vector>

#include "tests/dataflow/execute_layout.h"
#include "tests/dataflow/execute_operator.h"

namespace stepcast::dataflow {

using RankParts = std::vector<Part>;  ///< by rank; empty = the copy does not exist now

struct RunFailed {
  std::string what;
};
[[noreturn]] void refuse(std::string what);

bool nearly_equal(double a, double b);

class Collectives {
 public:
  Collectives(
      const Network& net, const Block& block, const PlacedBlock& placed, const Mesh& mesh, const ShardLayout& layout)
      : net_(net), block_(block), placed_(placed), mesh_(mesh), layout_(layout) {}

  enum class Join { sum, max, together, softmax };
  /// What a group holds: put together, or reduced over elements that all must hold.
  [[nodiscard]] Part joined(int copy, const RankParts& parts, const std::vector<int>& group, Join how) const;
  [[nodiscard]] RankParts moved(const PlacedItem& item, const RankParts& source) const;
  /// True when the received bytes were compared: shards of one size, no ring (whose hops are a matter of its order).
  [[nodiscard]] bool check_received(const PlacedItem& item, const RankParts& source, const RankParts& made) const;
  /// "dX (s on tp)".
  [[nodiscard]] std::string name_of(int copy) const;

 private:
  [[nodiscard]] Join reduction_of(const Copy& copy, const RankParts& parts) const;
  /// Elements of a cache that were put there before this iteration, where all of `atoms` made the others.
  [[nodiscard]] bool travels(const PlacedItem& item, std::size_t element) const;
  [[nodiscard]] Part on_rank(const PlacedItem& item, const RankParts& source, int rank) const;
  [[nodiscard]] Part masked(const PlacedItem& item, const RankParts& source, int rank) const;

  const Network& net_;
  const Block& block_;
  const PlacedBlock& placed_;
  const Mesh& mesh_;
  const ShardLayout& layout_;
};

}  // namespace stepcast::dataflow
