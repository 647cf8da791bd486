// Runs the threads of a GPU block on one thread of the CPU: each is a fiber that runs until it waits for others, at a
// barrier of the block or at something that its warp does together. Kernels do not see this header, but the CUDA names
// of gpu.h.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <string>

namespace stepcast::kernels::emulated {

constexpr unsigned warp_lanes = 32;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// As dim3: what is not said is 1.
struct Extent {
  unsigned x = 1, y = 1, z = 1;
  constexpr Extent(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  [[nodiscard]] constexpr unsigned count() const { return x * y * z; }
};

/// Of the thread that runs now.
struct Place {
  Index thread, block;
  Extent threads, blocks;
};
extern constinit Place here;

/// The block's dynamic shared memory: 128-byte aligned, all bits one at the block's start, which is not a number in
/// fp32, fp16, bf16 and fp8. Complains (see run) when the kernel was started without any.
void* shared_memory();

/// Waits until every thread of the block waits at the same place of the source.
void meet_block(std::source_location where);

/// What the 32 lanes of a warp brought to a meeting; null for lanes outside the mask.
using Brought = std::array<void*, warp_lanes>;
/// Waits until all lanes of the mask wait at the same place of the source with the same mask. Then `together` is called
/// once, with what each brought, and all go on.
void meet_warp(
    unsigned mask, void* brought, const std::function<void(const Brought&)>& together, std::source_location where);
unsigned lane();

/// Remembers the first thing that was wrong in this run, such as a shuffle from a lane that takes no part.
void complain(std::string what);

/// Runs the kernel for every thread of every block, blocks one after another, the threads of a block in an order drawn
/// anew after each wait. Returns "", or what was wrong: threads that wait for others that never come, and where.
std::string run(Extent blocks, Extent threads, std::size_t shared_bytes, const std::function<void()>& kernel);

/// The hook for whatever a warp does as one (shuffles, matrix products of tensor cores, ...): each lane brings its
/// argument and gets its result. `combine(lanes)` is called once, with pointers to each lane's {argument, result}:
///
///   struct Both { Argument argument; Result result; };
///   combine(const std::array<Both*, 32>& lanes)      // null where a lane is not in the mask
///
/// tensor_core.h's mma, for example, collects the fragments of all 32 lanes into three small matrices, multiplies them,
/// and deals the product out again.
template <typename Result, typename Argument, typename Combine>
Result with_warp(unsigned mask, const Argument& argument, Combine combine, std::source_location where) {
  struct Both {
    Argument argument;
    Result result;
  };
  Both mine{argument, Result{}};
  meet_warp(
      mask, &mine,
      [&](const Brought& brought) {
        std::array<Both*, warp_lanes> lanes{};
        for (unsigned l = 0; l < warp_lanes; ++l) lanes[l] = static_cast<Both*>(brought[l]);
        combine(lanes);
      },
      where);
  return mine.result;
}

}  // namespace stepcast::kernels::emulated
