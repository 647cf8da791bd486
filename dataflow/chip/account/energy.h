// What an access and a multiply-add cost in energy: figures per level from published tables, with the row that was
// used.
#pragma once

#include <string>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

/// Energy to read or write at one level. One of the two figures is set.
struct AccessEnergy {
  double pj_per_bit = 0;
  double pj_per_element = 0;  ///< stated by the program, or a ratio to the multiply-add
  std::string source;         ///< "Horowitz, ISSCC 2014 (45 nm): SRAM of 128 KiB"
};

/// The level's own `energy`; else HBM by name; else DRAM for the outermost level; else SRAM by capacity; else a ratio
/// to the multiply-add: register file where nothing outside its unit shares it, buffer otherwise.
AccessEnergy access_energy(const ChipProgram& chip, int level);

/// pJ per element of `bytes` bytes.
inline double element_pj(const AccessEnergy& energy, double bytes) {
  return energy.pj_per_element > 0 ? energy.pj_per_element : energy.pj_per_bit * 8 * bytes;
}

/// One multiply-add on elements of `bytes` bytes, pJ.
double multiply_add_pj(double bytes);

/// Bytes of one element of `tensor` while it is at `level`.
inline double element_bytes(const ChipProgram& chip, int level, int tensor) {
  const double word = chip.levels[level].word_bytes;
  return word > 0 ? word : chip.tensors[tensor].bytes_per_element;
}

}  // namespace stepcast::dataflow
