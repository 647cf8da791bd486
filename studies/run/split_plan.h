// From typed choices to a completed split: what predict does with its flags and a sweep with each point of its space.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/base/error.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"
#include "studies/run/balance.h"
#include "studies/run/split.h"

namespace stepcast {

/// What may be asked of a split. Counts are at least 1; what is unset gets the default that predict gives it.
struct SplitWishes {
  std::int64_t gpus = 1, tp = 1, cp = 1, pp = 1, chunks = 1, ep = 1, etp = 1, zero = 1, dp_replicate = 1;
  std::int64_t micro_batch = 1, global_batch = 1, sequence = 1;   ///< in sequences, sequences, positions
  std::optional<bool> sp;               ///< unset: beside tp where the sequence divides
  std::string schedule;                 ///< "": 1f1b, with chunks interleaved-1f1b
  Recompute recompute;
  ContextKind context = ContextKind::ring;
  MeshOrder order = usual_order;
  std::optional<bool> scatter_boundary;  ///< unset: what the stack implies
  bool save_gathered = false;

  [[nodiscard]] std::int64_t ways() const { return tp * cp * pp; }
  [[nodiscard]] std::int64_t dp() const { return gpus / ways() > 0 ? gpus / ways() : 1; }
  [[nodiscard]] SplitSize size() const { return {gpus, micro_batch, global_batch, sequence}; }
};

/// Completed, but neither checked (check_split) nor with layers laid on stages (lay_layers): the schedule with its own
/// chunks, sequence parallelism, vocabulary, dp, micro-batches. Takes any positive wishes.
Split split_of(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack);

/// Does the sequence divide over the ranks that sequence parallelism would split it on?
bool sequence_divides(const SplitWishes& wishes);
/// Do gathered inputs kept for backward change anything in this split? Not without sequence parallelism, nor where
/// backward makes them again.
bool keeps_gathers(const Split& split);
/// Does the stream have pieces that another split of it between stages would save?
bool crosses_repeated(const Split& split);

/// What --layout says of layers on stages, except `balanced`, for which they are laid out nearly evenly: it is weighed when
/// all else is known (balanced_layers). Errors as of given_layers and nearly_even_layers.
Expected<void> lay_layers(Split& split, const LayoutChoice& choice, const NetworkSpec& network, const std::string& layout_where,
                          const std::string& stages_where);
/// Layers that are the same number everywhere need no list.
void drop_even_layers(Split& split);

/// "tp 8, cp 1, pp 4, dp 16, sp, zero 1, 1f1b".
std::string in_words(const Split& split);

/// The checked split as a plan in the notation; `base` brings what a split says nothing about: precision and adapters.
Plan plan_of(const Split& split, const SplitSize& size, Plan base);

}  // namespace stepcast
