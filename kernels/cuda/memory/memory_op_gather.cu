// Embedding, its gradient, and rotary position embedding.
#include <algorithm>

#include "kernels/cuda/memory/embedding_kernels.cuh"
#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/memory/rope_kernels.cuh"
#include "kernels/cuda/start_kernel.cuh"

namespace stepcast::kernels::gpu {
namespace {

/// For a grid-stride loop over rows: as many blocks as all multiprocessors hold at once. More would wait for the first
/// to end, and leave the GPU half empty after that.
template <typename... Parameters>
Expected<LaunchShape> row_shape(
    void (*kernel)(Parameters...), std::int64_t rows, int sm_count, unsigned threads, std::size_t shared_bytes = 0) {
  TRY(const auto each, blocks_per_sm(kernel, threads, shared_bytes));
  const std::int64_t blocks = std::min(rows, static_cast<std::int64_t>(each) * sm_count);
  return LaunchShape{.blocks = static_cast<unsigned>(blocks), .threads = threads, .shared_bytes = shared_bytes};
}

/// A table of as many rows as are taken from it, each once, in random order: what is read is what is counted. Ids that
/// come often, as in text, would be found in the cache.
template <typename T> class Embedding : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    TRY(const auto shape, row_shape(embedding_kernel<T>, shape_.rows, shape_.sm_count, kRowCopyThreads));
    return start_kernel("embedding", embedding_kernel<T>, shape, stream, arrays_.template at<T>(kTable, copy),
        arrays_.template at<int>(kIds, copy), arrays_.template at<T>(kOut, copy), shape_.rows, shape_.columns);
  }

 protected:
  static constexpr int kTable = 0, kIds = 1, kOut = 2;
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), {.rows = shape_.rows, .element = Element::int32, .content = Content::permutation},
        matrix(element_of<T>(), Content::zero)};
  }
  [[nodiscard]] const reference::Values* rows_of(int array) const override { return array == kTable ? &ids_ : nullptr; }
  Expected<void> prepare_check() override {
    TRY(ids_, arrays_.values(kIds, 0, shape_.rows));
    return {};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    return reference::largest_error(band.after(kOut, row), band.before(kTable, row));
  }
  [[nodiscard]] double allowed() const override { return 0; }

  reference::Values ids_;
};

/// Into a table in fp32 that starts at zero; also each row once.
template <typename T> class EmbeddingBackward : public Embedding<T> {
 public:
  using Embedding<T>::Embedding;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    TRY(const auto shape,
        row_shape(embedding_backward_kernel<T>, this->shape_.rows, this->shape_.sm_count, kRowCopyThreads));
    return start_kernel("embedding-backward", embedding_backward_kernel<T>, shape, stream,
        this->arrays_.template at<T>(kDy, copy), this->arrays_.template at<int>(this->kIds, copy),
        this->arrays_.template at<float>(this->kTable, copy), this->shape_.rows, this->shape_.columns);
  }

 protected:
  static constexpr int kDy = 2;  // where the forward pass has its result
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {this->matrix(Element::fp32, Content::zero),
        {.rows = this->shape_.rows, .element = Element::int32, .content = Content::permutation},
        this->matrix(element_of<T>())};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    const auto before = band.before(this->kTable, row), dy = band.before(kDy, row);
    reference::Values want(before.begin(), before.end());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += dy[i];
    return reference::largest_error(band.after(this->kTable, row), want);
  }
  [[nodiscard]] double allowed() const override { return reference::unit_roundoff(4); }
};

/// A row of up to 256 columns is one head, 32 of them to a position; longer rows are a position each, of heads of 128
/// or 64.
template <typename T> class Rope : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    const int head_dim = this->head_dim(), heads = this->heads();
    const std::int64_t total = shape_.elements() / head_dim;
    TRY(const auto shape, row_shape(rope_kernel<T>, (total + heads - 1) / heads, shape_.sm_count, kRopeThreads,
                              RopeTurns::bytes(head_dim / 2)));
    return start_kernel("rope", rope_kernel<T>, shape, stream, arrays_.template at<T>(0, copy),
        arrays_.template at<T>(1, copy), total, head_dim, heads, kPeriod);
  }

 protected:
  static constexpr int kPeriod = 4096, kLongestHead = 256, kHeads = 32;
  [[nodiscard]] int head_dim() const {
    return shape_.columns <= kLongestHead ? shape_.columns : shape_.columns % 128 == 0 ? 128 : 64;
  }
  [[nodiscard]] int heads() const { return shape_.columns <= kLongestHead ? kHeads : shape_.columns / head_dim(); }
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), matrix(element_of<T>(), Content::zero)};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    const std::int64_t per_position = heads() * head_dim() / shape_.columns;  // rows
    const auto position = static_cast<double>((band.first() + row) / per_position % kPeriod);
    return reference::largest_error(band.after(1, row), reference::rope(band.before(0, row), head_dim(), position));
  }
  /// The angle itself is rounded to fp32: of up to kPeriod, some units in its last place.
  [[nodiscard]] double allowed() const override { return MemoryOperation::allowed() + kPeriod * 0x1p-22; }
};

}  // namespace

MemoryOperators gather_operators() {
  return {
      for_all_elements<Rope>("rope", Columns::whole_halves),
      for_all_elements<Embedding>("embedding", Columns::whole_rows),
      // Counted for gradients of 2 bytes: of 4, the table in fp32 would weigh less beside them.
      for_two_bytes<EmbeddingBackward>("embedding-backward", Columns::whole_rows),
  };
}

}  // namespace stepcast::kernels::gpu
