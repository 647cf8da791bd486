// The functions of kernels/cuda/tensor_core.cuh on the CPU, lane by lane after the PTX ISA (version 8.5): where each
// lane's registers lie in a matrix is written down here from its sections "Matrix Fragments for mma.m16n8k16 with
// floating point type" and "ldmatrix", whatever the kernels believe. Include it between gpu.h and a kernel.
//
// Copies that are under way are carried out when their thread waits for them, and until then their target is not a
// number. Matrix rows and words that meet the same shared-memory bank twice are counted.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "kernels/reference/number.h"
#include "tests/kernels/emulated/gpu.h"
#include "kernels/cuda/tensor_core.cuh"

namespace stepcast::kernels::gpu {

namespace emulated_core {

/// One lane's place in a matrix.
struct Cell {
  unsigned row, column;
};

// "groupID = %laneid >> 2, threadID_in_group = %laneid % 4"; i numbers the elements that a lane holds, two to a
// register. a: "row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise;
//     col = (threadID_in_group * 2) + (i & 0x1) for ai where i < 4, + 8 where i >= 4"
inline Cell cell_of_a(unsigned lane, unsigned i) {
  const bool upper = i < 2 || (4 <= i && i < 6);
  return {(lane >> 2) + (upper ? 0 : 8), (lane % 4) * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}
// b: "row = (threadID_in_group * 2) + (i & 0x1) for bi where i < 2, + 8 where i >= 2; col = groupID"
inline Cell cell_of_b(unsigned lane, unsigned i) { return {(lane % 4) * 2 + (i & 1) + (i < 2 ? 0 : 8), lane >> 2}; }
// c: "row = groupID for ci where i < 2, groupID + 8 where i >= 2; col = (threadID_in_group * 2) + (i & 0x1)"
inline Cell cell_of_c(unsigned lane, unsigned i) { return {(lane >> 2) + (i < 2 ? 0 : 8), (lane % 4) * 2 + (i & 1)}; }

template <HalfType type> double half_of(std::uint32_t packed, unsigned i) {
  const auto bits = static_cast<std::uint16_t>(i % 2 == 0 ? packed & 0xffff : packed >> 16);
  return static_cast<double>(type == HalfType::bf16 ? from_bf16(bits) : from_fp16(bits));
}

inline unsigned char* shared_bytes(SharedAddress address) {
  return static_cast<unsigned char*>(emulated::shared_memory()) + address;
}

/// How often an access had to be repeated because two of its addresses lay in one bank.
inline std::int64_t bank_conflicts = 0;

/// Rows of 16 bytes, eight at a time: 32 banks of 4 bytes are eight groups of 16 bytes.
inline void count_row_conflicts(const SharedAddress (&rows)[32]) {
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    int used[8] = {};
    for (unsigned row = 0; row < 8; ++row) ++used[rows[matrix * 8 + row] / 16 % 8];
    bank_conflicts += *std::max_element(used, used + 8) - 1;
  }
}

struct Matrices {
  std::uint32_t words[4];
};

/// "Threads 0-7 hold the addresses of the rows of the first matrix, 8-15 of the second", and so on. A row's elements go
/// two to a lane, four lanes to a row; transposed, the same of columns.
inline Matrices load_matrices(SharedAddress row, bool transposed) {
  return emulated::with_warp<Matrices>(
      ~0U, row,
      [&](const auto& lanes) {
        SharedAddress rows[32];
        for (unsigned l = 0; l < 32; ++l) {
          rows[l] = lanes[l]->argument;
          if (rows[l] % 16 != 0) emulated::complain("a row of ldmatrix is misaligned");
        }
        count_row_conflicts(rows);
        for (unsigned matrix = 0; matrix < 4; ++matrix) {
          std::uint16_t cells[8][8];
          for (unsigned r = 0; r < 8; ++r) std::memcpy(cells[r], shared_bytes(rows[matrix * 8 + r]), 16);
          for (unsigned l = 0; l < 32; ++l) {
            const unsigned line = l / 4, first = l % 4 * 2;
            const std::uint32_t low = transposed ? cells[first][line] : cells[line][first];
            const std::uint32_t high = transposed ? cells[first + 1][line] : cells[line][first + 1];
            lanes[l]->result.words[matrix] = low | high << 16;
          }
        }
      },
      Where::current());
}

/// Copies of one thread that it did not wait for yet.
struct Copy {
  SharedAddress to;
  const void* from;
  bool valid;
};
struct Copies {
  unsigned block = ~0U;
  std::vector<Copy> open, committed;
};
inline Copies& copies_of_thread() {
  static std::map<unsigned, Copies> of_threads;
  const auto& at = emulated::here;
  Copies& mine = of_threads[at.thread.x];
  const unsigned block = at.block.x + at.blocks.x * (at.block.y + at.blocks.y * at.block.z);
  if (mine.block != block) mine = {block, {}, {}};
  return mine;
}

}  // namespace emulated_core

inline SharedAddress shared_start() {
  (void)emulated::shared_memory();
  return 0;
}

template <HalfType type>
void mma_16x8x16(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  using namespace emulated_core;
  struct Fragments {
    float c[4];
    std::uint32_t a[4], b[2];
  };
  struct Sums {
    float c[4];
  };
  Fragments mine{{sum[0], sum[1], sum[2], sum[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}};
  const Sums made = emulated::with_warp<Sums>(
      ~0U, mine,
      [](const auto& lanes) {
        double left[16][16], right[16][8];
        for (unsigned l = 0; l < 32; ++l) {
          for (unsigned i = 0; i < 8; ++i) {
            const Cell at = cell_of_a(l, i);
            left[at.row][at.column] = half_of<type>(lanes[l]->argument.a[i / 2], i);
          }
          for (unsigned i = 0; i < 4; ++i) {
            const Cell at = cell_of_b(l, i);
            right[at.row][at.column] = half_of<type>(lanes[l]->argument.b[i / 2], i);
          }
        }
        for (unsigned l = 0; l < 32; ++l)
          for (unsigned i = 0; i < 4; ++i) {
            const Cell at = cell_of_c(l, i);
            double product = 0;
            for (unsigned k = 0; k < 16; ++k) product += left[at.row][k] * right[k][at.column];
            lanes[l]->result.c[i] = static_cast<float>(static_cast<double>(lanes[l]->argument.c[i]) + product);
          }
      },
      Where::current());
  std::copy(made.c, made.c + 4, sum);
}

inline void ldmatrix_x4(std::uint32_t (&matrices)[4], SharedAddress row) {
  const auto loaded = emulated_core::load_matrices(row, false);
  std::copy(loaded.words, loaded.words + 4, matrices);
}
inline void ldmatrix_x4_trans(std::uint32_t (&matrices)[4], SharedAddress row) {
  const auto loaded = emulated_core::load_matrices(row, true);
  std::copy(loaded.words, loaded.words + 4, matrices);
}

inline void cp_async_16(SharedAddress to, const void* from, bool valid) {
  if (to % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    emulated::complain("a copy of 16 bytes is misaligned");
  std::memset(emulated_core::shared_bytes(to), 0xFF, 16);
  emulated_core::copies_of_thread().open.push_back({to, from, valid});
}
inline void cp_async_commit() {
  auto& mine = emulated_core::copies_of_thread();
  mine.committed.insert(mine.committed.end(), mine.open.begin(), mine.open.end());
  mine.open.clear();
}
inline void cp_async_wait_all() {
  for (const auto& copy : std::exchange(emulated_core::copies_of_thread().committed, {})) {
    if (copy.valid) std::memcpy(emulated_core::shared_bytes(copy.to), copy.from, 16);
    else std::memset(emulated_core::shared_bytes(copy.to), 0, 16);
  }
}

inline void store_shared(SharedAddress to, std::uint32_t word) {
  if (to % 4 != 0) emulated::complain("a word of shared memory is misaligned");
  emulated::with_warp<int>(
      ~0U, to,
      [](const auto& lanes) {
        std::map<unsigned, std::map<SharedAddress, int>> words_of_bank;
        for (const auto* lane : lanes) words_of_bank[lane->argument / 4 % 32][lane->argument] = 1;
        std::size_t most = 1;
        for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
        emulated_core::bank_conflicts += static_cast<std::int64_t>(most) - 1;
      },
      Where::current());
  std::memcpy(emulated_core::shared_bytes(to), &word, 4);
}
inline float4 load_shared_4(SharedAddress from) {
  if (from % 16 != 0) emulated::complain("four words of shared memory are misaligned");
  float4 four;
  std::memcpy(&four, emulated_core::shared_bytes(from), 16);
  return four;
}

inline int thread_anew() { return static_cast<int>(threadIdx.x); }
inline void compute_anew(std::uint32_t&) {}
inline float exp2_fast(float x) { return x < -126 ? 0 : std::exp2(x); }

template <HalfType type> std::uint32_t pack_halves(float low, float high) {
  const auto bits = [](float x) -> std::uint32_t { return type == HalfType::bf16 ? to_bf16(x) : to_fp16(x); };
  return bits(low) | bits(high) << 16;
}
template <HalfType type> float2 unpack_halves(std::uint32_t packed) {
  return {static_cast<float>(emulated_core::half_of<type>(packed, 0)),
      static_cast<float>(emulated_core::half_of<type>(packed, 1))};
}

inline void add_fragment(float* into, int fragment, int threads, const float (&sum)[4]) {
  for (int i = 0; i < 4; ++i) atomicAdd(into + (fragment * threads + static_cast<int>(threadIdx.x)) * 4 + i, sum[i]);
}
inline float4 read_fragment(const float* from, int fragment, int threads) {
  return aligned(reinterpret_cast<const float4*>(from) + fragment * threads + threadIdx.x);
}

}  // namespace stepcast::kernels::gpu
