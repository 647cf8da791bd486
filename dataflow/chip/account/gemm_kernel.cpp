#include "dataflow/chip/account/gemm_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

std::int64_t parts(double extent, std::int64_t size) {
  return static_cast<std::int64_t>(std::ceil(extent / static_cast<double>(size)));
}
std::int64_t parts(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

/// Tiles of one product of the batch.
struct Grid {
  std::int64_t down = 1, across = 1;
};
Grid grid_of(const GemmShape& shape, const CtaTile& tile) { return {parts(shape.m, tile.m), parts(shape.n, tile.n)}; }

/// Where the rounds over waves and over k stand: inside L2, or outside so that operands come again from memory.
struct WaveRounds {
  bool m_inside = false, n_inside = false, k_inside = false;
  bool n_outer = true;  ///< order of m and n where both stand on one side
};
/// k outside L2 stands inside the waves, or C would leave the registers unfinished; that one streams and always fits.
constexpr std::array choices{WaveRounds{false, false, false, true}, WaveRounds{false, false, true, true},
    WaveRounds{false, false, true, false}, WaveRounds{true, false, true, true}, WaveRounds{false, true, true, false},
    WaveRounds{true, true, true, true}};

struct Waves : WaveRounds {
  std::int64_t a = 1, b = 1;          ///< tiles of one wave
  std::int64_t down = 1, across = 1;  ///< waves
  double reads = 0;                   ///< elements of A and B from memory
};

/// Elements of A and B that L2 holds under these rounds.
double held(const GemmShape& shape, const CtaTile& tile, const Waves& w) {
  const double rows = w.m_inside ? shape.m : std::min<double>(shape.m, static_cast<double>(w.a) * tile.m);
  const double columns = w.n_inside ? shape.n : std::min<double>(shape.n, static_cast<double>(w.b) * tile.n);
  const double depth = w.k_inside ? shape.k : std::min<double>(shape.k, tile.k);
  return (rows + columns) * depth;
}

/// The counting rule on these rounds: an operand is read once for every round outside L2 that it does not depend on,
/// except the innermost ones.
double reads_of(const GemmShape& shape, const CtaTile& tile, const Waves& w) {
  const std::int64_t rounds_m = w.m_inside ? 1 : w.down, rounds_n = w.n_inside ? 1 : w.across;
  const bool rounds_k = !w.k_inside && shape.k > tile.k;  // innermost outside L2, and both operands depend on it
  const bool a_again = rounds_n > 1 && (rounds_k || (w.n_outer && rounds_m > 1));
  const bool b_again = rounds_m > 1 && (rounds_k || (!w.n_outer && rounds_n > 1));
  return shape.m * shape.k * static_cast<double>(a_again ? rounds_n : 1) +
         shape.k * shape.n * static_cast<double>(b_again ? rounds_m : 1);
}

/// The least memory traffic whose operands fit in L2 (streaming slabs always do), then the fewest waves. Looks at each
/// height of a wave that cuts the grid evenly, of which there are no more than multiprocessors however large the grid.
Waves best_waves(const GemmShape& shape, const GpuUnits& gpu, const CtaTile& tile) {
  const Grid grid = grid_of(shape, tile);
  const double room = gpu.l2.value() / shape.operand_bytes;
  Waves best;
  bool found = false;
  for (std::int64_t a = std::min<std::int64_t>(gpu.multiprocessors, grid.down); a > 0; --a) {
    Waves w;
    w.down = parts(grid.down, a);
    w.a = parts(grid.down, w.down);
    if (w.a != a) continue;  // as many waves of less height do
    w.b = std::clamp<std::int64_t>(gpu.multiprocessors / w.a, 1, grid.across);
    w.across = parts(grid.across, w.b);
    for (const WaveRounds& rounds : choices) {
      static_cast<WaveRounds&>(w) = rounds;
      if (w.k_inside && held(shape, tile, w) > room) continue;
      w.reads = reads_of(shape, tile, w);
      const bool fewer = w.reads == best.reads && w.down * w.across < best.down * best.across;
      if (!found || fewer || w.reads < best.reads) best = w;
      found = true;
    }
  }
  return best;
}

ChipLevel level(const char* name, std::vector<bool> keeps) {
  ChipLevel out;
  out.name = name;
  out.store = contains(keeps, true);
  out.keeps = std::move(keeps);
  return out;
}

ChipLoop rounds(int dim, std::int64_t trips, int axis = -1) { return {dim, trips, axis, true, {}}; }

}  // namespace

CtaTile choose_tile(const GemmShape& shape, const GpuUnits& gpu) {
  for (const CtaTile& tile : cta_tiles()) {
    const Grid grid = grid_of(shape, tile);
    if (static_cast<double>(grid.down * grid.across) * shape.batch >= gpu.multiprocessors) return tile;
  }
  return cta_tiles().back();
}

GemmTraffic gemm_traffic(const GemmShape& shape, const GpuUnits& gpu, const CtaTile& tile) {
  const Grid grid = grid_of(shape, tile);
  const Waves waves = best_waves(shape, gpu, tile);
  GemmTraffic out;
  out.tile = tile;
  out.tiles = static_cast<std::int64_t>(static_cast<double>(grid.down * grid.across) * shape.batch);
  out.wave_m = waves.a;
  out.wave_n = waves.b;
  // Blocks start in a row along the rectangles: a wave that ends inside one goes on in the next, and in the next
  // product.
  out.waves = parts(out.tiles, gpu.multiprocessors);
  out.occupancy = static_cast<double>(out.tiles) / static_cast<double>(out.waves * gpu.multiprocessors);
  const double result = shape.m * shape.n * shape.result_bytes;
  const double once = (shape.m * shape.k + shape.k * shape.n) * shape.operand_bytes;
  const double shared =
      shape.m * shape.k * static_cast<double>(grid.across) + shape.k * shape.n * static_cast<double>(grid.down);
  out.l2_bytes = shape.batch * (shared * shape.operand_bytes + result);
  out.hbm_bytes = shape.batch * (waves.reads * shape.operand_bytes + result);
  out.footprint_bytes = shape.batch * (once + result);
  return out;
}

GemmTraffic gemm_traffic(const GemmShape& shape, const GpuUnits& gpu) {
  return gemm_traffic(shape, gpu, choose_tile(shape, gpu));
}

ChipProgram gemm_program(const GemmShape& shape, const GpuUnits& gpu, const CtaTile& tile) {
  enum { m, n, k };
  const Waves waves = best_waves(shape, gpu, tile);
  const auto whole = [](double extent) { return static_cast<std::int64_t>(extent); };
  const std::int64_t slabs = parts(whole(shape.k), tile.k);
  ChipProgram chip;
  chip.op = "gemm";
  chip.dims = {{"m", whole(shape.m)}, {"n", whole(shape.n)}, {"k", whole(shape.k)}};
  const auto at = [](int dim) { return ChipIndex{{{dim, 1}}}; };
  chip.tensors = {{"A", TensorUse::input, {at(m), at(k)}, shape.operand_bytes},
      {"B", TensorUse::weight, {at(k), at(n)}, shape.operand_bytes},
      {"C", TensorUse::output, {at(m), at(n)}, shape.result_bytes}};
  ChipLevel hbm = level("hbm", {true, true, true}), l2 = level("l2", {true, true, false});
  ChipLevel sm = level("sm", {false, false, false}), smem = level("smem", {true, true, false});
  ChipLevel rf = level("rf", {false, false, true});
  const ChipLoop down = rounds(m, waves.down), across = rounds(n, waves.across);
  ChipLevel &m_level = waves.m_inside ? l2 : hbm, &n_level = waves.n_inside ? l2 : hbm;
  if (waves.n_outer) n_level.time.push_back(across), m_level.time.push_back(down);
  else m_level.time.push_back(down), n_level.time.push_back(across);
  (waves.k_inside ? l2 : hbm).time.push_back(rounds(k, slabs));
  l2.capacity_bytes = gpu.l2.value();
  sm.axes = {{"sm", gpu.multiprocessors}};
  sm.fabric = FabricClass::network;
  sm.multicast = sm.reduce = false;
  sm.space = {rounds(m, waves.a, 0), rounds(n, waves.b, 0)};
  smem.time = {rounds(k, tile.k)};
  rf.time = {rounds(m, tile.m), rounds(n, tile.n)};
  chip.levels = {std::move(hbm), std::move(l2), std::move(sm), std::move(smem), std::move(rf)};
  return chip;
}

}  // namespace stepcast::dataflow
