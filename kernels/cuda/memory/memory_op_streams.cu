// Read, write and copy: words, whatever the elements are.
#include <algorithm>

#include "kernels/cuda/memory/copy_kernels.cuh"
#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/start_kernel.cuh"

namespace stepcast::kernels::gpu {
namespace {

std::int64_t vectors_of(const MemoryShape& shape) { return shape.elements() * shape.element_bytes / 16; }

template <typename... Parameters>
Expected<LaunchShape> filling(const MemoryShape& shape, void (*kernel)(Parameters...)) {
  TRY(const auto blocks, blocks_per_sm(kernel, kStreamThreads));
  return stream_shape(vectors_of(shape), shape.sm_count, blocks);
}

template <typename T> class CopyOperation : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    TRY(const auto shape, filling(shape_, copy_kernel));
    return start_kernel(
        "copy", copy_kernel, shape, stream, arrays_.at<uint4>(0, copy), arrays_.at<uint4>(1, copy), vectors_of(shape_));
  }

 protected:
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), matrix(element_of<T>(), Content::zero)};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    return reference::largest_error(band.after(1, row), band.before(0, row));
  }
  [[nodiscard]] double allowed() const override { return 0; }
};

/// Ones, as 4-byte or 2-byte numbers.
template <typename T> class WriteOperation : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    TRY(const auto shape, filling(shape_, write_kernel));
    return start_kernel("write", write_kernel, shape, stream, arrays_.at<uint4>(0, copy), vectors_of(shape_), ones());
  }

 protected:
  static uint4 ones() {
    constexpr unsigned kFp32One = 0x3F800000u, kBf16Ones = 0x3F803F80u, kFp16Ones = 0x3C003C00u;
    constexpr Element element = element_of<T>();
    const unsigned word = element == Element::fp32 ? kFp32One : element == Element::bf16 ? kBf16Ones : kFp16Ones;
    return make_uint4(word, word, word, word);
  }
  [[nodiscard]] std::vector<ArrayPlan> plans() const override { return {matrix(element_of<T>())}; }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    const reference::Values want(static_cast<std::size_t>(shape_.columns), 1.0);
    return reference::largest_error(band.after(0, row), want);
  }
  [[nodiscard]] double allowed() const override { return 0; }
};

/// Checked by what it read: on the beginning of the array, which the host reads too.
template <typename T> class ReadOperation : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override { return start(copy, vectors_of(shape_), stream); }
  Expected<Check> check() override;

 protected:
  Expected<void> start(int copy, std::int64_t vectors, cudaStream_t stream) {
    TRY(const auto shape, filling(shape_, read_kernel));
    return start_kernel(
        "read", read_kernel, shape, stream, arrays_.at<uint4>(0, copy), vectors, arrays_.at<unsigned>(1, copy));
  }
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), {.columns = kReadWords * kReadStride,
                                         .element = Element::int32,
                                         .content = Content::below,
                                         .by_row = false,
                                         .same_for_all = true}};
  }
  [[nodiscard]] double row_error(const Band&, std::int64_t) const override { return 0; }
};

template <typename T> Expected<Check> ReadOperation<T>::check() {
  constexpr std::int64_t kMostVectors = 1 << 20;  // 16 MiB
  const std::int64_t vectors = std::min(vectors_of(shape_), kMostVectors);
  unsigned* result = arrays_.template at<unsigned>(1, 0);
  std::vector<unsigned> results(kReadWords * kReadStride);
  const std::size_t result_bytes = results.size() * sizeof(unsigned);
  TRY(checked(cudaMemsetAsync(result, 0, result_bytes, context_.stream), "cudaMemsetAsync"));
  TRY(start(0, vectors, context_.stream));
  TRY(context_.wait("check"));
  std::vector<unsigned> words(static_cast<std::size_t>(vectors) * 4);
  unsigned got = 0, want = 0;
  struct Download {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  const Download downloads[] = {{words.data(), this->arrays_.template at<void>(0, 0), words.size() * sizeof got},
      {results.data(), result, result_bytes}};
  for (const auto& [to, from, bytes] : downloads) {
    TRY(checked(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy"));
  }
  for (const unsigned word : words) want ^= word;
  for (const unsigned word : results) got ^= word;
  return Check{.error = got == want ? 0.0 : 1.0, .allowed = 0, .compared = vectors * 16 / shape_.element_bytes};
}

}  // namespace

MemoryOperators stream_operators() {
  return {
      for_all_elements<ReadOperation>("read", Columns::whole_array),
      for_all_elements<WriteOperation>("write", Columns::whole_array),
      for_all_elements<CopyOperation>("copy", Columns::whole_array),
  };
}

}  // namespace stepcast::kernels::gpu
