// What the counts of a mapped operator mean: cycles and what bounds them, fill and drain, energy, the tensor that stays
// put at each boundary, arithmetic intensity there, and the collectives that the same split would be on a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/account/stationary.h"
#include "dataflow/chip/chip.h"
#include "dataflow/chip/count/nest.h"

namespace stepcast::dataflow {

/// Traffic between level `outer`, which keeps something, and the next one inside that does.
struct Boundary {
  int outer = -1, inner = -1;   ///< levels; inner -1 = the multiply-adds
  std::vector<int> stationary;  ///< kept tensors that the innermost rounds outside do not touch
  double bytes = 0;             ///< that `outer` gives to the inside and takes from it, all its instances
  double flops_per_byte = 0;    ///< two per multiply-add; infinite where nothing crosses
  double cycles = 0;            ///< bytes over bandwidth; 0 = no bandwidth said
  // Roofline (Williams et al., CACM 2009), all instances that there are; 0 = no bandwidth said.
  double ridge_flops_per_byte = 0;  ///< from here on the multiply-adds limit
  double roof_flops_per_cycle = 0;  ///< min(peak, intensity x bandwidth)
  std::string text;                 ///< "weight-stationary at pe, input multicast over y, output summed over x"
};

struct LevelAccount {
  double cycles = 0;                   ///< time its traffic takes; 0 = no bandwidth said
  double energy_pj = 0;                ///< all instances
  double energy_per_element_pj = 0;    ///< of its widest tensor
  std::string energy_source;           ///< where the figure per element comes from
  std::vector<double> resident_bytes;  ///< by tensor: tile, twice where double-buffered and it changes
  double used_bytes = 0;               ///< their sum, per unit
  std::int64_t rounds = 1;             ///< in which its units get new work: the waves of a GPU's thread blocks
  double occupancy = 1;                ///< of its units in these rounds: the share that has work
};

/// What the fabric does with a tensor on one axis, and what a cluster without in-network help would pay.
/// Ring volumes per unit, V = what one unit needs or makes: all-gather and reduce-scatter (p-1)/p V, all-reduce twice
/// that.
struct AxisCollective {
  int level = -1, axis = -1, tensor = -1;
  std::string kind;  ///< "multicast", "scatter" (inputs), "reduce", "gather" (outputs)
  std::string ring;  ///< "all_gather", "reduce_scatter", or "" where every unit has its own part
  std::int64_t ranks = 1;
  double in_network_bytes = 0;  ///< all units together, a multicast or sum counted once
  double ring_bytes = 0;        ///< received per unit
  double all_reduce_bytes = 0;  ///< received per unit if every unit wants the sum; 0 for inputs
};

struct ChipAccount {
  double steps = 0;            ///< rounds of the busiest unit
  double compute_cycles = 0;   ///< steps over the multiply-adds of a unit per cycle
  double skew_cycles = 0;      ///< fill, drain and preload of forwarding fabrics
  double cycles = 0;           ///< max(steps over rate, every level's) + skew
  std::string bound;           ///< "compute", or the level that limits
  double utilisation = 0;      ///< macs / (cycles x all units x rate)
  std::int64_t all_units = 1;  ///< innermost units there are
  double energy_pj = 0;
  double mac_energy_pj = 0;
  std::vector<LevelAccount> levels;
  std::vector<Boundary> boundaries;
  std::vector<AxisPlacement> placements;
  std::vector<AxisCollective> collectives;
  std::vector<std::string> warnings;  ///< multicast on a fabric without it, spatial sums that are not bit-identical
};

ChipAccount account(const ChipProgram& chip, const Counts& counts);

/// Only what the mapper ranks by; no allocation.
struct ChipScore {
  double cycles = 0, energy_pj = 0, traffic_bytes = 0;  ///< traffic: bytes over the outermost boundary
};

/// Constants of one architecture that score() needs, made once.
struct ScoreTable {
  /// A fabric from neighbour to neighbour: a wave takes `depth` hops to cross it.
  struct Chain {
    int level = -1;
    double depth = 0, preload = 0;
  };
  std::vector<double> bytes_per_cycle;        ///< by level, per unit
  std::vector<double> word_bytes, energy_pj;  ///< by level x tensor
  std::vector<char> double_buffered;          ///< by level
  std::vector<Chain> chains;
  double mac_energy_pj = 0, macs_per_cycle = 1;
};
ScoreTable score_table(const ChipProgram& chip);

/// The same figures as account(): cycles with skew, energy, bytes over the outermost boundary.
ChipScore score(const Nest& nest, const Counts& counts, const ScoreTable& table);

// The terms of both.

/// Bytes that one instance of the level reads and writes.
double level_bytes(const Nest& nest, const Counts& counts, const ScoreTable& table, int level);
double level_energy_pj(const Nest& nest, const Counts& counts, const ScoreTable& table, int level);
/// Bytes that all instances of the level give to the inside and take from it.
double inner_bytes(const Nest& nest, const Counts& counts, const ScoreTable& table, int level);
/// How often the busiest unit's tile of the tensor at `level` is another one than before, the first included.
double tile_changes(const Nest& nest, int tensor, int level);
/// Fill and drain. A wave crosses the array once per fold, and a fold lasts as long as the tensor that stays longest at
/// the first level from the array inwards that keeps anything: sum over the axes of (units - 1), and for an input that
/// stays, the units of the first axis to load it (SCALE-Sim: weight- and input-stationary F(2R+C+M-2),
/// output-stationary F(R+C+K-2), F folds). Double buffering there hides all but the first fold's.
double skew_cycles(const Nest& nest, const ScoreTable& table);

}  // namespace stepcast::dataflow
