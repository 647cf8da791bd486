#include "tests/kernels/emulated/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <numeric>
#include <vector>

namespace stepcast::kernels::gpu {
namespace {

using ::testing::HasSubstr;

void sum_of_block(const int* in, int* out, int* shared) {
  const unsigned t = threadIdx.x;
  shared[t] = in[blockIdx.x * blockDim.x + t];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) shared[t] += shared[t + half];
  }
  if (t == 0) out[blockIdx.x] = shared[0];
}

TEST(EmulatedGpu, ABlockSumsThroughSharedMemory) {
  std::vector<int> in(3 * 64), out(3);
  std::iota(in.begin(), in.end(), 0);
  emulate(3, 64, 64 * sizeof(int),
      [&] { sum_of_block(in.data(), out.data(), static_cast<int*>(emulated::shared_memory())); });
  EXPECT_EQ(out, (std::vector{2016, 2016 + 64 * 64, 2016 + 2 * 64 * 64}));
}

TEST(EmulatedGpu, ThreadsKnowTheirPlaceInThreeDimensions) {
  std::vector<int> seen(2 * 3 * 2 * 2);
  emulate(dim3(2, 1, 3), dim3(2, 2), 0, [&] {
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.z;
    ++seen[(block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  });
  EXPECT_EQ(seen, std::vector(24, 1));
}

TEST(EmulatedGpu, ShufflesExchangeInAWarpAndInPartsOfIt) {
  std::vector<int> across(64), down(64), up(64), from(64), parts(64);
  emulate(1, 64, 0, [&] {
    const int t = static_cast<int>(threadIdx.x);
    across[t] = __shfl_xor_sync(~0u, t, 1);
    down[t] = __shfl_down_sync(~0u, t, 16);
    up[t] = __shfl_up_sync(~0u, t, 1);
    from[t] = __shfl_sync(~0u, t, 31 - t % 32);
    parts[t] = __shfl_down_sync(~0u, t, 1, 4);
  });
  EXPECT_EQ(across[0], 1);
  EXPECT_EQ(across[33], 32);
  EXPECT_EQ(down[15], 31);
  EXPECT_EQ(down[16], 16);  // 32 is in another warp
  EXPECT_EQ(up[32], 32);
  EXPECT_EQ(up[40], 39);
  EXPECT_EQ(from[0], 31);
  EXPECT_EQ(from[63], 32);
  EXPECT_EQ(parts[2], 3);
  EXPECT_EQ(parts[3], 3);
}

TEST(EmulatedGpu, VotesAndAtomicsOfAllThreads) {
  unsigned votes = 0;
  float sum = 0;
  int largest = 0, all = -1;
  emulate(2, 32, 0, [&] {
    votes = __ballot_sync(~0u, threadIdx.x % 2);
    all = __all_sync(~0u, threadIdx.x < 31);
    atomicAdd(&sum, 0.5f);
    atomicMax(&largest, static_cast<int>(threadIdx.x));
  });
  EXPECT_EQ(votes, 0xAAAAAAAAu);
  EXPECT_EQ(all, 0);
  EXPECT_EQ(sum, 32);
  EXPECT_EQ(largest, 31);
}

TEST(EmulatedGpu, AWarpCanDoAnythingAsOne) {
  // Every lane learns what all lanes brought: what a product of tensor cores is built on.
  std::vector<float> got(32);
  emulate(1, 32, 0, [&] {
    got[threadIdx.x] = emulated::with_warp<float>(
        ~0u, float(threadIdx.x),
        [](const auto& lanes) {
          float all = 0;
          for (auto* lane : lanes) all += lane->argument;
          for (auto* lane : lanes) lane->result = all + lane->argument;
        },
        Where::current());
  });
  EXPECT_EQ(got[0], 496);
  EXPECT_EQ(got[31], 527);
}

TEST(EmulatedGpu, SharedMemoryOfEachBlockStartsAsNoNumber) {
  int numbers = 0;
  emulate(2, 32, 32 * sizeof(float), [&] {
    float* shared = static_cast<float*>(emulated::shared_memory());
    if (!std::isnan(shared[threadIdx.x])) ++numbers;
    __syncthreads();
    shared[threadIdx.x] = 1;
  });
  EXPECT_EQ(numbers, 0);
}

TEST(EmulatedGpu, AMissingBarrierShows) {
  // Without one, some thread reads its neighbour's element before it is written: threads run in no order.
  std::vector<float> got(64);
  emulate(1, 64, 64 * sizeof(float), [&] {
    float* shared = static_cast<float*>(emulated::shared_memory());
    shared[threadIdx.x] = 1;
    got[threadIdx.x] = shared[(threadIdx.x + 63) % 64];
  });
  EXPECT_FALSE(std::isfinite(std::accumulate(got.begin(), got.end(), 0.0f)));
}

TEST(EmulatedGpu, ABarrierInABranchIsReported) {
  const auto left = emulated::run(1, 64, 0, [] {
    if (threadIdx.x < 60) __syncthreads();
  });
  EXPECT_THAT(left, HasSubstr("60 threads from number 0 wait for the block"));
  EXPECT_THAT(left, HasSubstr("4 threads from number 60 have ended"));
  const auto two = emulated::run(1, 64, 0, [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  });
  EXPECT_THAT(two, HasSubstr("32 threads from number 32 wait for the block"));
}

TEST(EmulatedGpu, AShuffleInABranchIsReported) {
  const auto some = emulated::run(1, 32, 0, [] {
    if (threadIdx.x < 16) __shfl_xor_sync(~0u, 1, 1);
  });
  EXPECT_THAT(some, HasSubstr("16 threads from number 0 wait for lanes ffffffff"));
  const auto half_a_warp = emulated::run(1, 16, 0, [] { __syncwarp(); });
  EXPECT_THAT(half_a_warp, HasSubstr("16 threads from number 0 wait for lanes ffffffff"));
  const auto outside = emulated::run(1, 32, 0, [] {
    if (threadIdx.x < 16) __shfl_xor_sync(0xFFFFu, 1, 16);
  });
  EXPECT_THAT(outside, HasSubstr("a shuffle reads a lane that is not in its mask"));
  const auto not_mine = emulated::run(1, 32, 0, [] { __syncwarp(1); });
  EXPECT_THAT(not_mine, HasSubstr("which is without it"));
}

TEST(EmulatedGpu, MisalignedVectorsAndMissingSharedMemoryAreReported) {
  alignas(16) float numbers[8] = {};
  const auto crooked = emulated::run(1, 1, 0, [&] { __ldg(reinterpret_cast<const float4*>(numbers + 1)); });
  EXPECT_EQ(crooked, "a vector access is misaligned");
  const auto none = emulated::run(1, 1, 0, [] { emulated::shared_memory(); });
  EXPECT_THAT(none, HasSubstr("started with none"));
  EXPECT_THAT(emulated::run(1, 2048, 0, [] {}), HasSubstr("1 blocks of 2048 threads cannot be launched"));
}

TEST(EmulatedGpu, WhatGoesWrongFailsTheTest) {
  EXPECT_NONFATAL_FAILURE(emulate(1, 2, 0,
                              [] {
                                if (threadIdx.x == 0) __syncthreads();
                              }),
      "hangs");
}

}  // namespace
}  // namespace stepcast::kernels::gpu
