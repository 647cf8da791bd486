// What may be asked of a run, typed: each value is read once (run/fields.h), from a flag, a file, a launch or an axis
// of a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/machine/machine.h"
#include "model/network/adapters.h"
#include "studies/run/split/layers.h"
#include "studies/run/split/split.h"
#include "studies/run/split/switches.h"

namespace stepcast::run {

/// What may be asked of a split. Counts are at least 1; what is unset gets the default that predict gives it.
struct SplitWishes {
  std::int64_t gpus = 1, tp = 1, cp = 1, pp = 1, chunks = 1, ep = 1, etp = 1, zero = 1, replicas = 1;
  std::int64_t micro_batch = 1, global_batch = 1, sequence = 1;  ///< in sequences, sequences, positions
  std::int64_t encoder_sequence = 0;                             ///< positions of the encoder's; 0: none, or not said
  std::optional<bool> sp;                                        ///< unset: beside tp where the sequence divides
  std::string schedule;                                          ///< "": 1f1b, with chunks interleaved-1f1b
  Recompute recompute;
  ContextKind context = ContextKind::ring;
  MeshOrder order = usual_order;
  std::optional<bool> scatter_boundary;  ///< unset: what the stack implies
  bool save_gathered = false;
  bool copies_groups = false;  ///< ranks of tp may have copies of a mixer's one group of heads, each with its own heads

  [[nodiscard]] std::int64_t ways() const { return tp * cp * pp; }
  [[nodiscard]] std::int64_t dp() const { return gpus / ways() > 0 ? gpus / ways() : 1; }
  [[nodiscard]] SplitSize size() const { return {gpus, micro_batch, global_batch, sequence}; }
};

/// Parts of a network that are not trained.
struct Frozen {
  bool encoder = false, projector = false, language = false;
};

/// The same of a whole run but its network, machine, software and profile.
struct RunWishes : SplitWishes {
  LayoutChoice layout;
  std::int64_t nodes = 0, data_ways = 0;        ///< other ways to say gpus: settle_gpus(); 0: not said
  std::int64_t seq_splits = 1, memory_cap = 0;  ///< memory_cap 0: none
  Frozen frozen;                                ///< which parts are not trained
  std::int64_t images = 0, clips = 0;           ///< in each sequence; 0: text alone
  double masked_share = 0;                      ///< of positions whose word is guessed; 0: not said
  std::int64_t lora_rank = 0;                   ///< 0: all weights are trained
  AdaptedProjections adapted;                   ///< which have adapters
  std::optional<Precision> precision;           ///< unset: bf16, or the first of the usual types that the GPU has
  bool causal_attention = true;                 ///< how model FLOPs count attention
  std::optional<bool> dp_overlap, param_overlap, tp_overlap, pp_overlap;  ///< unset: the stack's way
};

}  // namespace stepcast::run
