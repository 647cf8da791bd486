// How blocks lie on virtual stages and those on ranks, with equal ones told apart once: the part of a program that no
// price depends on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataflow/program.h"

namespace stepcast::sim {

struct StageShape {
  int ranks = 1;
  std::vector<std::vector<BlockRun>> kinds;  ///< distinct lists of blocks
  std::vector<int> kind_of, rank_of;         ///< by virtual stage
  std::vector<int> stages_of;                ///< virtual stages of each kind
  int crossings = 0;                         ///< neighbouring stages on different ranks
  struct RankKind {
    std::vector<int> count;      ///< virtual stages of each kind on such a rank
    std::vector<BlockRun> runs;  ///< of all of them
    std::vector<int> stages;     ///< of the first such rank, ascending; kinds are alike on all of them
  };
  std::vector<RankKind> rank_kinds;  ///< ranks with equal lists in equal order
  std::vector<int> rank_kind_of;     ///< by rank

  /// A rank whose first virtual stage is `first`, with the kinds of the stages before it: what a micro-batch passes on
  /// its way there and back. Of each kind of rank those with the smallest and largest `first`; rank 0 comes first.
  struct Way {
    int rank = 0, kind = 0, first = 0;
    std::vector<int> before;  ///< stages of each kind in front of `first`
    int crossings_before = 0;
    /// for each stage of this very rank, ascending: stages of each kind from it on
    std::vector<std::vector<int>> behind;
    std::vector<int> crossings_behind;
  };
  std::vector<Way> ways;

  [[nodiscard]] int stages() const { return static_cast<int>(kind_of.size()); }
};

StageShape stage_shape(const Program& program);
/// The same blocks in the same order with so many layers on each virtual stage, on other ranks and stages: the shape of
/// the program that is lowered with these. `is_layer`: by block; `rank_of`: by virtual stage.
StageShape relaid(const StageShape& shape, const std::vector<char>& is_layer, int ranks, std::vector<int> rank_of,
    std::span<const std::int64_t> layers);

bool equal_runs(const std::vector<BlockRun>& a, const std::vector<BlockRun>& b);

}  // namespace stepcast::sim
