// One kernel or move of an iteration as a function of the rows that are packed into it. What a Program says of one
// sequence, of two and of one twice as long gives the share of each position, of each sequence, and what is fixed.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "dataflow/program.h"
#include "sim/serving/engine_cost.h"

namespace stepcast::sim {

/// New positions of each of so many sequences of one rank, behind those in the cache.
struct Rows {
  double sequences = 1, positions = 1, cached = 0;
};

/// Rows of few positions and rows of many may have kernels of their own; all others see them as one.
enum class RowKind : std::uint8_t { words, prompts };
constexpr std::size_t row_kinds = 2;

/// All rows of an iteration together. Keys: positions of all sequences, those in the cache with them.
struct PackedRows {
  std::array<double, row_kinds> positions{}, sequences{}, keys{};
  bool picks = true;  ///< some sequence is longer than those in which all keys are seen
  friend bool operator==(const PackedRows&, const PackedRows&) = default;
};

struct Affine {
  double fixed = 0, per_position = 0, per_sequence = 0, per_key = 0;
};
/// A value of four Programs: of some rows, of twice as many sequences, of sequences twice as long, and of some behind
/// twice as many positions in the cache.
struct AffineSamples {
  double one = 0, twice_as_many = 0, twice_as_long = 0, further = 0;
};
Affine affine_through(const AffineSamples& samples, const Rows& one);

struct LinePrice : EnginePrice {
  Flops flops;
  Flops useful;  ///< of attention, of the keys that queries see alone: a kernel multiplies whole blocks of them
};

struct PackedLine {
  std::string label;
  int block = 0;  ///< of the Program, in the order of first runs; then the moves between stages
  double calls = 0;
  [[nodiscard]] double kernels() const { return work ? work->launches : 1; }  ///< of one call
  std::optional<dataflow::KernelWork> work;
  dataflow::Move move;             ///< where there is no work
  dataflow::Group group;           ///< of the move
  std::int64_t rank_distance = 0;  ///< of a move between stages
  /// per kind of rows; nullopt: not of these rows
  struct Shares {
    Affine rows;   ///< m of a product; of a move the local bytes before it
    Affine bytes;  ///< that others than products stream, or that a move receives
    Affine flops;
  };
  std::array<std::optional<Shares>, row_kinds> shares;
  /// attention: what a rank has of a row's queries and keys
  double queries_share = 1, keys_share = 1, flops_per_pair = 0;

  [[nodiscard]] bool attends() const { return work && work->kernel == dataflow::KernelClass::attention; }
  [[nodiscard]] bool scans() const { return work && work->kernel == dataflow::KernelClass::scan; }
  [[nodiscard]] bool picking() const { return work && work->kept > 0; }
  [[nodiscard]] bool of_experts() const {
    return work && work->kernel == dataflow::KernelClass::gemm && work->experts > 0;
  }
  /// The time of one call by the engine's tuning.
  [[nodiscard]] Seconds tuned(const LinePrice& price, const Engine::Tuning& tuning) const;
  /// It looks at each row by itself.
  [[nodiscard]] bool by_row() const { return attends() || scans() || (work && convolves(*work)); }
  /// Keys are picked in longer sequences alone.
  [[nodiscard]] bool is_dense(const Rows& rows) const { return work && rows.cached + rows.positions <= work->dense; }
  /// Nothing is picked for these.
  [[nodiscard]] bool idles_for(const Rows& rows) const { return picking() && is_dense(rows); }
  /// Whether it runs at all for these.
  [[nodiscard]] bool runs_for(const PackedRows& rows) const;
  /// Of everything that does not go row by row.
  [[nodiscard]] LinePrice price(
      const PackedRows& rows, const Routing& routing, const EngineCost& cost, bool graph) const;
  /// Of what does; `start` as EngineCost::attention() has it.
  [[nodiscard]] LinePrice price(const Rows& rows, const EngineCost& cost, std::optional<Seconds> start = {}) const;
  [[nodiscard]] std::string shape(const PackedRows& rows) const;
  [[nodiscard]] std::string shape(const Rows& rows) const;

 private:
  [[nodiscard]] PackedRows packed(const Rows& rows) const;
  [[nodiscard]] double sum(const PackedRows& rows, Affine Shares::*what) const;
};

}  // namespace stepcast::sim
