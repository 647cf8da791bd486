// Arrays of a GPU's number formats for tests of kernels on the CPU. Include after gpu.h and a .cuh.
#pragma once

#include <random>
#include <vector>

#include "kernels/cuda/lane.cuh"
#include "kernels/reference/memory_reference.h"

namespace stepcast::kernels::gpu {

/// Normal numbers, then no numbers up to a whole 16-byte vector: a kernel may read those, but not use them.
template <typename T> std::vector<T> normal_numbers(std::size_t count, unsigned seed, float deviation = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<T> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(from_float<T>(normal(engine)));
  while (numbers.size() % kWidth<T> != 0) numbers.push_back(from_float<T>(NAN));
  return numbers;
}
template <typename T> std::vector<T> unwritten(std::size_t count) {
  const std::size_t whole = (count + kWidth<T> - 1) / kWidth<T> * kWidth<T>;
  return std::vector<T>(whole, from_float<T>(NAN));
}

template <typename T> reference::Values values(const std::vector<T>& numbers, std::size_t first, std::size_t count) {
  reference::Values result;
  for (std::size_t i = first; i < first + count; ++i) result.push_back(static_cast<double>(to_float(numbers[i])));
  return result;
}

}  // namespace stepcast::kernels::gpu
