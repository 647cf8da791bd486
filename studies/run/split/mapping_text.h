// The parallelism flags as text of the notation: what the flags mean is what this text means.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/base/large_value.h"
#include "studies/run/split/switches.h"

namespace stepcast::run {

/// Who says that the stream crosses between stages in tp pieces.
enum class Scatter : std::uint8_t { none, stated, implied };  ///< stated: a line of the mapping; implied: the stack

/// A split as the flags state it, checked.
struct Split {
  LARGE_VALUE(Split);
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1, chunks = 1;
  bool experts = false;  ///< the network has experts: a second mesh line factors the same ranks for them
  bool attention = true, mixer = false, plain_mlp = true;  ///< what the network's layers have
  bool pooled = false;                                     ///< its first position is sorted into classes
  std::vector<std::string> mixer_recompute;                ///< parts of its mixer that backward makes again in any case
  std::vector<std::string> mixer_along;                    ///< parts that go along positions, which stay whole there
  std::string mixer_heads = "u";                           ///< its dims of heads, which are split instead: "u*m"
  bool copies_groups = false;  ///< tp divides its heads, and each rank has a copy of their one group
  std::int64_t ep = 1, etp = 1;
  std::int64_t replicas = 1;  ///< of what `zero` keeps in shards: each lies on dp / replicas ranks (hybrid sharding)
  [[nodiscard]] std::int64_t edp() const { return tp * cp * dp / (ep * etp); }
  bool vocabulary = false;  ///< embedding and LM head split over tp
  bool sequence = false;    ///< sequence parallelism beside tp
  std::int64_t zero = 1;
  Recompute recompute;
  bool recompute_whole = false;  ///< the stack runs a recomputed region to its end
  std::string schedule = "1f1b";
  std::int64_t micro_batches = 1;
  ContextKind context = ContextKind::ring;
  MeshOrder order = usual_order;
  Scatter scatter = Scatter::none;
  std::vector<std::string> kept_gathers;  ///< tensors that backward finds gathered, as forward used them
  std::vector<std::int64_t> layers;       ///< per virtual stage, in forward order; empty: the same number on all
};

/// Three to eight lines:
///   mesh tp:8 cp:1 dp:16 pp:4
///   use tp, vocab, sp, dp, zero1
///   par layer on pp sched 1f1b for mb:64
///   recompute attn.core
///   save O at use
///   save norm1.y, norm2.y, norm3.y at use
///   home boundary: s on tp
/// Axes of size 1 stay in the mesh, since the aliases name them. With replicas the data ranks are two axes, "dp:4
/// rep:4", and so are the experts', "edp:2 erep:4": batches and rows are split over both, shards lie on the first
/// alone.
std::string mapping_text(const Split& split);

/// Ranks between neighbouring stages.
std::int64_t stage_stride(const Split& split);
/// Can a second mesh line lay etp, ep and edp on the same ranks, with the stages where the first line has them? Only
/// where etp, etp x ep or all of a stage's ranks end at stage_stride(), which they always do with pp first or last.
bool experts_meet_stages(const Split& split);

/// Ranks at which the axes of both mesh lines end, ascending; each must divide the next (dataflow/place/mesh.h). At
/// most ten.
struct MeshCuts {
  std::array<std::int64_t, 10> at{};
  std::size_t count = 0;
  /// The first one that does not divide its successor; `count` when all do.
  [[nodiscard]] std::size_t first_crossing() const;
};
MeshCuts mesh_cuts(const Split& split);

}  // namespace stepcast::run
