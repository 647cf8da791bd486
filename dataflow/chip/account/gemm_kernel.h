// A matrix product on a GPU, as its library runs it: tiles of C over the multiprocessors, wave after wave, operands
// streamed through L2. What it costs in L2 and device-memory traffic, waves and idle units follows from the same
// counting rule as everything else: gemm_program() is the kernel in the notation, gemm_traffic() its counts in closed
// form.
//   hbm { l2 { sm[a x b] { smem { rf }}}}
//   hbm: for n, for m (waves; the operand of the inner one is read again unless L2 holds it), for k where L2 is small
//   sm:  par m:a, n:b      one wave is a rectangle of a x b tiles
//   smem: for k            a slab of k at a time; C stays in registers and goes straight to memory
#pragma once

#include <cstdint>
#include <span>

#include "dataflow/chip/chip.h"
#include "model/machine/gpu_units.h"

namespace stepcast::dataflow {

/// C[m,n] += A[m,k] * B[k,n], `batch` times over.
struct GemmShape {
  double m = 1, n = 1, k = 1, batch = 1;
  double operand_bytes = 2, result_bytes = 2;  ///< per element
};

/// The largest tile that still gives every multiprocessor work, or the smallest one: larger tiles read less, idle
/// multiprocessors cost more.
CtaTile choose_tile(const GemmShape& shape, const GpuUnits& gpu);

struct GemmTraffic {
  CtaTile tile;
  std::int64_t tiles = 1;               ///< of C, over the batch
  std::int64_t wave_m = 1, wave_n = 1;  ///< rectangle of tiles that runs at once; wave_m * wave_n <= multiprocessors
  std::int64_t waves = 1;               ///< tiles / multiprocessors, rounded up
  double occupancy = 1;        ///< tiles / (waves x multiprocessors): the share of multiprocessor time with work
  double l2_bytes = 0;         ///< L2 to shared memory, plus C
  double hbm_bytes = 0;        ///< reads of A and B and the write of C
  double footprint_bytes = 0;  ///< every element once
};

/// Rectangle and loop order with the least device-memory traffic among those whose reused operand fits in L2, as if the
/// library chose its rasterisation well; the whole L2 serves the product.
GemmTraffic gemm_traffic(const GemmShape& shape, const GpuUnits& gpu, const CtaTile& tile);
GemmTraffic gemm_traffic(const GemmShape& shape, const GpuUnits& gpu);

/// The same kernel in the notation, with the wave shape and order that gemm_traffic() chose. One product of the batch.
ChipProgram gemm_program(const GemmShape& shape, const GpuUnits& gpu, const CtaTile& tile);

}  // namespace stepcast::dataflow
