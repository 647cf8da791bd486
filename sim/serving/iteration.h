// One iteration of an engine: rows of prompts and rows of running sequences packed together, as its kernels see them.
// One form, made of a plan's Programs for a few rows, prices any number of iterations.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/serving/own_widths.h"
#include "sim/serving/packed_line.h"

namespace stepcast::sim {

/// Kernels or collectives of one label in one iteration.
struct IterationPart {
  std::string label, shape;
  bool is_move = false, attends = false;
  std::optional<dataflow::KernelClass> kernel;  ///< none of a move
  double calls = 0;
  Seconds time;  ///< of all calls
  Bytes bytes;   ///< of all calls, device memory; of moves what a rank receives
  Flops flops;   ///< of the kernels, which take keys in whole blocks where a window bounds them
  Flops useful;  ///< of them, of the keys that queries see
  Source source = Source::assumed;
  bool extrapolated = false;
  Binding binding = Binding::activations;
};

/// What an iteration comes to before the engine's tuning.
struct IterationSums {
  Seconds kernels, moves;
  Seconds experts;          ///< of the kernels, products of experts
  Seconds expert_roofs;     ///< of these, what the datasheet's rates allow
  Seconds rereads;          ///< of the cache, were all of them to come from memory
  double expert_calls = 0;  ///< of products of experts
  double sequences = 0, positions = 0;
  double launched = 0;  ///< kernels and moves that no graph holds
  /// stages that have iterations under way beside each other: each has a host, which prepares all of every iteration
  double hosts = 1;
  double host_pace = 1;  ///< as Engine has it

  /// A share of what another's kernels and rows come to; hosts and positions are no sums.
  void add(const IterationSums& other, double share);
};
/// On the GPU, by the engine's tuning.
struct GpuTime {
  Seconds kernels, moves;
};
GpuTime gpu_time(const IterationSums& sums, const Engine& engine, const Engine::Tuning& tuning);
/// Kernels and moves run one after the other. Launches run ahead of the GPU: the longer of the two counts, or, where
/// the engine's and the GPU's take turns, both. What prepares an iteration comes before it, or beside the one that
/// runs; so does the loop over its sequences.
Seconds elapsed(const IterationSums& sums, const Engine& engine, const Engine::Tuning& tuning);

struct IterationTime {
  Seconds time;
  Seconds kernels, moves;  ///< on the GPU
  Seconds host;            ///< of `time`, what the GPU waits for
  IterationSums sums;
  double launches = 0;
  Spread spread;
  std::vector<IterationPart> parts;  ///< in the order of their first call
};

/// One kernel or collective at its place in the iteration, which begins at 0; several stages one after the other.
struct IterationSlice {
  std::string label, shape;
  bool is_move = false;
  int layer = 0;  ///< counted through blocks and their repeats
  int block = 0;
  Seconds start, time;
  int stage = 0;  ///< of what goes from one to the next, the one that sends
};
/// Of moves, over the laws': above what the engine tried before its cache got its memory.
double beyond_profiled(const IterationSums& sums, const Engine& engine, const Engine::Tuning& tuning);

/// Forward Programs of one plan: for some rows, for twice as many sequences, for sequences twice as long, and for some
/// behind twice as many positions.
struct RowPrograms {
  Rows rows;
  dataflow::Program one, twice_as_many, twice_as_long;
  std::optional<dataflow::Program> further;  ///< without, nothing but attention grows with what is cached
};

class IterationForm {
 public:
  /// Of rows with at most `most_words` positions, and of longer ones where they have kernels of their own. Errors:
  /// Programs that differ in their kernels.
  static Expected<IterationForm> of(const RowPrograms& words);
  static Expected<IterationForm> of(const RowPrograms& words, double most_words, const RowPrograms& prompts);

  /// Of the Programs that it was made of, RowPrograms::one; `prompts`: nullptr where rows are of one kind.
  void keep_widths(const OwnWidths& widths, const dataflow::Program& words, const dataflow::Program* prompts);

  [[nodiscard]] IterationTime time(std::span<const Rows> rows, const EngineCost& cost, bool graph) const;
  /// The same kernel by kernel, layer by layer; `whole` is time() of the same rows.
  [[nodiscard]] std::vector<IterationSlice> in_order(
      std::span<const Rows> rows, const EngineCost& cost, bool graph, const IterationTime& whole) const;
  [[nodiscard]] PackedRows pack(std::span<const Rows> rows) const;
  /// Everything but what looks at each row by itself: attention and scans.
  [[nodiscard]] IterationSums packed_sums(const PackedRows& rows, const EngineCost& cost, bool graph) const;
  /// What words of a line take to start, by the number of sequences: asked again and again, and the same each time.
  using Starts = std::unordered_map<double, Seconds>;
  void add_rows(IterationSums& sums, std::span<const Rows> rows, const EngineCost& cost,
      std::vector<Starts>* starts = nullptr) const;

  /// Of one rank of each stage: its weights, elements, and what it keeps of each sequence.
  struct Held {
    double all = 0, experts = 0, wide = 0;  ///< as ProgramBlock has them, with what OwnWidths says
    double wide_experts = 0;                ///< of `experts`
    std::vector<dataflow::CacheLine> caches;
  };
  [[nodiscard]] const std::vector<Held>& held() const { return held_; }
  [[nodiscard]] double stages() const { return static_cast<double>(held_.size()); }
  /// Whether something but attention grows with what stands in the cache.
  [[nodiscard]] bool counts_keys() const { return counts_keys_; }

 private:
  Expected<void> add(const RowPrograms& programs, RowKind kind);
  [[nodiscard]] RowKind kind_of(const Rows& rows) const;
  [[nodiscard]] bool serves(const PackedLine& line, RowKind kind) const;
  [[nodiscard]] Routing routing(const PackedRows& rows) const;

  std::vector<PackedLine> lines_;
  struct Run {
    int block = 0, stage = 0;  ///< of PackedLine::block
    std::int64_t count = 0;
  };
  std::vector<Run> runs_;  ///< in forward order
  std::vector<Held> held_;
  double choices_ = 0, tokens_per_position_ = 1, expert_width_ = 0;
  double most_words_ = 0;     ///< 0: all rows are of one kind
  bool counts_keys_ = false;  ///< something but attention grows with them
  double dense_ = 0;          ///< sequences up to so long see all keys, where longer ones have picked ones
};

/// Prices of many iterations of one form: what depends on the packed rows alone is remembered. For one thread.
class IterationPrices {
 public:
  IterationPrices(const IterationForm& form, const EngineCost& cost) : form_(&form), cost_(&cost) {}
  [[nodiscard]] IterationSums sums(std::span<const Rows> rows, bool graph);
  [[nodiscard]] Seconds time(std::span<const Rows> rows, bool graph) {
    return elapsed(sums(rows, graph), cost_->engine(), cost_->tuning());
  }

 private:
  struct Key {
    PackedRows rows;
    bool graph = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  const IterationForm* form_;
  const EngineCost* cost_;
  std::unordered_map<Key, IterationSums, Hash> packed_;
  std::vector<IterationForm::Starts> starts_;
};

}  // namespace stepcast::sim
