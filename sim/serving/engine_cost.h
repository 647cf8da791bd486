// Prices of single kernels and collectives as a serving engine runs them: the laws of single kernels, which were fitted
// on serving libraries, with their corrections, and the engine's own collectives.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dataflow/program.h"
#include "model/engine.h"
#include "model/profile/query.h"
#include "sim/cost.h"

namespace stepcast::sim {

/// Number types of an iteration. Weights may be narrower than what is multiplied (w4a16).
struct IterationTypes {
  Precision products = Precision::bf16;
  Precision attention = Precision::bf16;  ///< of the cache, too
  double weight_bytes = 2;                ///< with scales
  bool block_scaled = false;              ///< fp8 with a scale per block of 128
  bool experts_alone = false;             ///< `weight_bytes` are those of experts
  double beside_experts = 2;              ///< of the other weights then, with scales
  std::string_view narrow_experts;        ///< the name of their type then: kernels of its own multiply it
  double gathered_bytes = 2;              ///< of an element of tokens that are gathered for experts, with scales
};

/// The number type that rows of tunings name: of experts alone where a row has it, else what is multiplied.
std::string_view tuned_as(const IterationTypes& types, const Engine& engine, std::string_view architecture);

/// What a part of an iteration waits for.
enum class Binding : std::uint8_t { weights, cache, compute, activations, launch, links, host };
const char* to_text(Binding binding);

struct EnginePrice : Price {
  Binding binding = Binding::activations;
  Bytes bytes;   ///< of device memory
  Seconds roof;  ///< of products: their bytes and FLOPs at the datasheet's rates; at most `time`
  /// reads of the cache beyond the first that `time` holds: as often as query heads share a key head, less one, where
  /// the engine's kernel does not share them
  double rereads = 0;
};

/// A kernel's time by an engine's factor. One below 1 is of what the kernel takes beyond its roof.
inline Seconds by_factor(Seconds time, Seconds roof, double factor) {
  return factor >= 1 ? time * factor : roof + (time - roof) * factor;
}

/// Mean of the largest of so many draws of the standard normal law: for powers of two up to 4096 the integral of
/// x n Phi(x)^(n-1) phi(x) (David and Nagaraja 2003, Order Statistics, section 3.1) by quadrature, to four places;
/// straight between them over the logarithm, and straight on beyond them.
double largest_draw(double count);

/// Is it a convolution along positions: of pointwise works that mix no streams those that have taps?
inline bool convolves(const dataflow::KernelWork& work) {
  return work.kernel == dataflow::KernelClass::pointwise && work.streams == 0 && work.k > 0;
}

/// What routed rows of an iteration have in common: tokens on all ranks, the experts that each takes, and how wide the
/// rows of experts are.
struct Routing {
  double tokens = 0, choices = 0, width = 0;
};

/// References must outlive it.
class EngineCost {
 public:
  /// `profile` with the laws of single kernels; `moves` prices what the engine has no collective of its own for.
  EngineCost(const CostModel& moves, const Profile& profile, const Engine& engine, const IterationTypes& types);

  /// Of m rows.
  [[nodiscard]] EnginePrice product(const dataflow::KernelWork& work, double m, const Routing& routing) const;
  /// Of so many sequences, queries of each and keys that a query meets. `start`: decode_start(), where it is at hand.
  [[nodiscard]] EnginePrice attention(const dataflow::KernelWork& work, double sequences, double queries, double keys,
      std::optional<Seconds> start = {}) const;
  /// Over keys that are picked for each query, of which it sees so many; `all` of the sequence.
  [[nodiscard]] EnginePrice picked_attention(
      const dataflow::KernelWork& work, double sequences, double queries, double seen, double all) const;
  /// The scores of all keys that a query sees, and the best of them.
  [[nodiscard]] EnginePrice picking(
      const dataflow::KernelWork& work, double sequences, double queries, double seen, double all) const;
  /// Of so many sequences and new positions of each, whose states are read and written.
  [[nodiscard]] EnginePrice scan(const dataflow::KernelWork& work, double sequences, double positions) const;
  /// Of a convolution in front of a scan, of so many positions of all sequences together.
  [[nodiscard]] EnginePrice convolution(
      const dataflow::KernelWork& work, double sequences, double positions, Bytes bytes) const;
  /// Of residual streams of m positions.
  [[nodiscard]] EnginePrice mixing(const dataflow::KernelWork& work, double m) const;
  /// Of one word of each sequence, with next to no keys.
  [[nodiscard]] Seconds decode_start(const dataflow::KernelWork& work, double sequences) const;
  /// Of so many kernels together.
  [[nodiscard]] EnginePrice streamed(Bytes bytes, int kernels) const;
  [[nodiscard]] EnginePrice move(
      const dataflow::Move& move, const dataflow::Group& group, const Routing& routing, bool graph) const;
  [[nodiscard]] EnginePrice send(Bytes bytes, std::int64_t rank_distance) const;

  [[nodiscard]] const Engine& engine() const { return *engine_; }
  [[nodiscard]] const Engine::Tuning& tuning() const { return *tuning_; }
  [[nodiscard]] const IterationTypes& types() const { return types_; }

 private:
  [[nodiscard]] EnginePrice gathered(const AttentionQuery& query, double keys) const;
  [[nodiscard]] double gathered_share(
      const dataflow::Move& move, const dataflow::Group& group, const Routing& routing) const;
  [[nodiscard]] std::optional<Price> exchange(
      const dataflow::Move& move, const Span& span, std::int64_t ranks, const Routing& routing, bool graph) const;

  const CostModel* moves_;
  const Profile* profile_;
  const Engine* engine_;
  const Engine::Tuning* tuning_;
  IterationTypes types_;
  std::string_view forward_software_, decode_software_, latent_software_;
};

}  // namespace stepcast::sim
