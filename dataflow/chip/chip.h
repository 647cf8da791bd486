// One operator on an architecture, with every name resolved: the loops of each level in space and time, what it keeps.
// This is what the counter counts, the mapper searches and the translators write in other tools' words.
// The nest, outer to inner: space of level 0, time of level 0, space of level 1, time of level 1, ..., the
// multiply-add. `space` of a level are the parts that its units take; `time` steps through the tiles that it hands to
// the next level.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/notation/fabrics.h"
#include "dataflow/notation/mapping.h"
#include "model/base/error.h"

namespace stepcast::dataflow {

struct ChipDim {
  std::string name;
  std::int64_t extent = 1;
  friend bool operator==(const ChipDim&, const ChipDim&) = default;
};

/// One index of a tensor: the sum of step * loop. A plain index is one term of step 1.
struct ChipIndex {
  struct Term {
    int dim = -1;
    std::int64_t step = 1;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  friend bool operator==(const ChipIndex&, const ChipIndex&) = default;
};

enum class TensorUse : std::uint8_t { input, weight, output };

struct ChipTensor {
  std::string name;
  TensorUse use = TensorUse::input;  ///< weight: a name that starts with W, as in written programs
  std::vector<ChipIndex> indices;
  double bytes_per_element = 2;
  friend bool operator==(const ChipTensor&, const ChipTensor&) = default;
};

struct ChipLoop {
  int dim = -1;
  std::int64_t trips = 1;  ///< rounds in time, or units in space; loops of one round stay as written
  int axis = -1;           ///< space: index into the level's axes
  bool ragged = false;     ///< the product of trips may exceed the extent: rounds outside it do not run
  Position position;       ///< of the statement, for errors
  friend bool operator==(const ChipLoop&, const ChipLoop&) = default;
};

struct ChipAxis {
  std::string name;  ///< as mapped statements name it
  std::int64_t units = 1;
  friend bool operator==(const ChipAxis&, const ChipAxis&) = default;
};

struct ChipLevel {
  std::string name;
  std::vector<ChipAxis> axes;  ///< its units; empty: one
  FabricClass fabric = FabricClass::bus;
  bool multicast = true, reduce = true;  ///< in the fabric
  bool store = true;                     ///< false: nothing is kept (units only, or an empty list); loops may stand
  std::vector<bool> keeps;               ///< by tensor; all false where store is
  std::vector<ChipLoop> space, time;     ///< outer to inner
  double capacity_bytes = 0;             ///< per unit; 0 = not said
  double bytes_per_cycle = 0;            ///< read and write together, per unit; 0 = not said
  double latency_cycles = 0;
  double word_bytes = 0;  ///< per element while it is here; 0 = the tensor's own
  double energy_pj = 0;   ///< per element read or written here; 0 = from the table
  int buffers = 1;        ///< 2: the next tile is loaded while this one is used
  friend bool operator==(const ChipLevel&, const ChipLevel&) = default;
};

struct ChipProgram {
  std::string op;
  std::vector<ChipDim> dims;        ///< the operator's loops
  std::vector<ChipTensor> tensors;  ///< inputs in the operator's order, the output last
  std::vector<ChipLevel> levels;    ///< outermost first; the first that stores keeps everything
  double clock_hz = 0;              ///< 0 = not said
  double macs_per_cycle = 1;        ///< of one innermost unit
  friend bool operator==(const ChipProgram&, const ChipProgram&) = default;
};

/// The program's operator `op` ("" = its only one) on its arch, as the level lines in its map say. Every legality rule
/// of a chip is checked here: unknown level, dim, axis or tensor; a dim never mapped; factors that do not give the
/// extent; an axis with more parts than units; a tensor kept nowhere or outside the outermost level; a tile that does
/// not fit, with the tensors that make it up. Extents are those of one rank where a mesh splits the operator too.
Expected<ChipProgram> chip_program(const MappingProgram& program, const std::string& op);

/// The same as text of the notation: arch, dims, operator, level lines. chip_program(parse(it)) gives it back.
/// Weights are the tensors whose name starts with W, elements have 2 bytes: other uses and types have no words.
MappingProgram written_chip(const ChipProgram& chip);

/// Elements of `tensor` that one unit of `level` holds at once, one buffer: the largest tile. Each index counts the
/// values that it takes: exactly for one or two terms, the whole window for more.
double tile_elements(const ChipProgram& chip, int tensor, int level);
/// The same in bytes, in all buffers: a tile that changes is there `buffers` times.
double resident_bytes(const ChipProgram& chip, int tensor, int level);

/// Does the program say anything about a chip (an arch, level lines)?
bool has_chip(const MappingProgram& program);

}  // namespace stepcast::dataflow
