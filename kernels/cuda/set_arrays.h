// GPU side only. The arrays of an operator, in as many sets as are gone round.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/gpu_context.h"
#include "kernels/reference/memory_reference.h"

namespace stepcast::kernels::gpu {

enum class Element : std::uint8_t { fp32, fp16, bf16, fp8_e4m3, int32 };
std::size_t bytes_per(Element element);

/// What an array is filled with. Of int32: each number below `rows` once, or any below `below`.
enum class Content : std::uint8_t { normal, zero, permutation, below };

struct ArrayPlan {
  std::int64_t rows = 1, columns = 1;
  Element element = Element::fp32;
  Content content = Content::normal;
  int below = 1;
  bool by_row = true;         ///< a row belongs to a row of the question; else all of it to all of them
  bool same_for_all = false;  ///< scratch: one for all sets
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

class SetArrays {
 public:
  /// Bytes of one set, without what is the same for all.
  static double set_bytes(const std::vector<ArrayPlan>& plans);
  Expected<void> allocate(GpuContext& context, std::vector<ArrayPlan> plans, int copies);
  template <typename T> [[nodiscard]] T* at(int array, int copy) const {
    const auto a = static_cast<std::size_t>(array);
    return buffers_[a].as<T>(static_cast<std::size_t>(copy) * strides_[a]);
  }
  /// Elements of the first set, as numbers.
  [[nodiscard]] Expected<reference::Values> values(int array, std::int64_t first, std::int64_t count) const;
  [[nodiscard]] const ArrayPlan& plan(int array) const { return plans_[static_cast<std::size_t>(array)]; }
  [[nodiscard]] int count() const { return static_cast<int>(plans_.size()); }

 private:
  std::vector<ArrayPlan> plans_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::size_t> strides_;  ///< bytes from one set to the next; 0 where all share one
};

}  // namespace stepcast::kernels::gpu
