// What the counts of a mapped operator mean: cycles and what bounds them, fill and drain, energy, the tensor that stays put
// at each boundary, arithmetic intensity there, and the collectives that the same split would be on a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/chip.h"
#include "dataflow/chip/count.h"

namespace stepcast {

/// Traffic of one storage boundary: level `outer` and the next one inside that keeps the tensor.
struct Boundary {
  int outer = -1, inner = -1;              ///< levels; inner -1 = the multiply-adds
  std::vector<int> stationary;             ///< kept tensors that the innermost rounds outside do not touch
  double bytes = 0;                        ///< over all instances of `outer`, both ways
  double flops_per_byte = 0;
  double cycles = 0;                       ///< bytes over bandwidth; 0 = no bandwidth said
  std::string text;                        ///< "weight-stationary at pe, input multicast over y, output summed over x"
};

struct LevelAccount {
  double cycles = 0;                       ///< time its traffic takes; 0 = no bandwidth said
  double energy_pj = 0;                    ///< all instances
  double energy_per_element_pj = 0;
  std::string energy_source;               ///< where the figure per element comes from
  std::vector<double> resident_bytes;      ///< by tensor: tile, twice where double-buffered and it changes
  double used_bytes = 0;                   ///< their sum, per unit
};

/// How a tensor lies on one axis of units: Shard, Replicate or Partial, and what a cluster would call the traffic.
struct AxisPlacement {
  int level = -1, axis = -1, tensor = -1;
  enum class Kind : std::uint8_t { replicate, shard, partial } kind = Kind::replicate;
  int dim = -1;                            ///< shard: the loop split there
  std::int64_t parts = 1;
};

struct AxisCollective {
  int level = -1, axis = -1, tensor = -1;
  std::string kind;                        ///< "multicast", "scatter", "reduce": what the fabric does with the tensor
  std::int64_t ranks = 1;
  double in_network_bytes = 0;             ///< all units together, a multicast or sum counted once
  double ring_bytes = 0;                   ///< per unit, as a ring collective receives them
};

struct ChipAccount {
  double steps = 0;                        ///< rounds of the busiest unit
  double skew_cycles = 0;                  ///< fill, drain and preload of forwarding fabrics
  double cycles = 0;                       ///< max(steps over rate, every level's) + skew
  std::string bound;                       ///< "compute", or the level that limits
  double utilisation = 0;                  ///< macs / (cycles x all units x rate)
  std::int64_t all_units = 1;              ///< innermost units there are
  double energy_pj = 0;
  double mac_energy_pj = 0;
  std::vector<LevelAccount> levels;
  std::vector<Boundary> boundaries;
  std::vector<AxisPlacement> placements;
  std::vector<AxisCollective> collectives;
  std::vector<std::string> warnings;       ///< multicast on a fabric without it, spatial sums that are not bit-identical
};

ChipAccount account(const ChipProgram& chip, const Counts& counts);

/// Only what the mapper ranks by; no allocation beyond `nest`'s size.
struct ChipScore {
  double cycles = 0, energy_pj = 0, traffic_bytes = 0;  ///< traffic: bytes over the outermost boundary
};
/// Constants of one architecture that score() needs, made once.
struct ScoreTable {
  std::vector<double> bytes_per_cycle, word_bytes, energy_pj;  ///< by level; word_bytes by level x tensor
  double mac_energy_pj = 0, macs_per_cycle = 1;
};
ScoreTable score_table(const ChipProgram& chip);
ChipScore score(const Nest& nest, const Counts& counts, const ScoreTable& table);

}  // namespace stepcast
