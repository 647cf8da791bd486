// The time of one iteration of an engine: what its kernels, its collectives and its host take. Kernels have the laws of
// single kernels with their corrections, which were fitted on serving libraries.
#pragma once

#include <string>
#include <vector>

#include "dataflow/program.h"
#include "model/engine.h"
#include "sim/cost.h"

namespace stepcast::sim {

/// Number types of an iteration. Weights may be narrower than what is multiplied (w4a16).
struct IterationTypes {
  Precision products = Precision::bf16;
  Precision attention = Precision::bf16;  ///< of the cache, too
  double weight_bytes = 2;                ///< with scales
  bool block_scaled = false;              ///< fp8 with a scale per block of 128
};

/// Kernels or collectives of one label in one iteration.
struct IterationPart {
  std::string label, shape;
  bool is_move = false;
  double calls = 0;
  Seconds time;  ///< of all calls
  Bytes bytes;   ///< of all calls, device memory; of moves what a rank receives
  Flops flops;
  Source source = Source::assumed;
  bool extrapolated = false;
};

struct IterationTime {
  Seconds time;
  Seconds kernels, moves;  ///< on the GPU, one after the other
  Seconds host;            ///< of `time`, what the GPU waits for
  double launches = 0;
  double launched = 0;  ///< of them by the host: those that no graph holds
  Spread spread;
  std::vector<IterationPart> parts;  ///< in the order of their first call
};

/// Everything but the program and its rows: one serves many iterations. References must outlive it.
class IterationCost {
 public:
  /// `profile` with the laws of single kernels; `moves` prices what the engine has no all-reduce of its own for.
  IterationCost(const CostModel& moves, const Profile& profile, const Engine& engine, const IterationTypes& types);

  /// `sequences` of one replica; `graph`: the iteration is one that the engine captured.
  [[nodiscard]] IterationTime time(const dataflow::Program& program, double sequences, bool graph) const;
  [[nodiscard]] Price kernel(const dataflow::KernelWork& work, const dataflow::Program& program) const;
  [[nodiscard]] Price move(const dataflow::Move& move, const dataflow::Program& program, bool graph) const;

 private:
  [[nodiscard]] Price product(const dataflow::KernelWork& work, const dataflow::Program& program) const;
  [[nodiscard]] Price attention(const dataflow::KernelWork& work) const;
  [[nodiscard]] std::string_view software_of(AttentionPass pass) const;

  const CostModel* moves_;
  const Profile* profile_;
  const Engine* engine_;
  const Engine::Tuning* tuning_;
  IterationTypes types_;
};

}  // namespace stepcast::sim
