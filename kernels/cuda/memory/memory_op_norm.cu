// RMSNorm and its gradient.
#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/memory/norm_backward_kernels.cuh"
#include "kernels/cuda/memory/row_plan.cuh"
#include "kernels/cuda/start_kernel.cuh"

namespace stepcast::kernels::gpu {
namespace {

template <typename T> ArrayPlan weight_plan(const MemoryShape& shape) {
  return {.columns = shape.columns, .element = element_of<T>(), .by_row = false};
}

template <typename T> class Norm : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    const RowPlan plan = row_plan<T>(shape_.rows, shape_.columns, shape_.shared_limit);
    return with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
      return start_kernel("norm", norm_kernel<T, Storage, OneWarp>, plan.shape, stream,
          arrays_.template at<T>(kX, copy), arrays_.template at<T>(kWeight, copy), arrays_.template at<T>(kY, copy),
          shape_.rows, shape_.columns, plan.shared_vectors);
    });
  }

 protected:
  static constexpr int kX = 0, kWeight = 1, kY = 2;
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), weight_plan<T>(shape_), matrix(element_of<T>(), Content::zero)};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    return reference::largest_error(
        band.after(kY, row), reference::rms_norm(band.before(kX, row), band.before(kWeight, row)));
  }
};

template <typename T> class NormBackward : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override { return start(shape_.rows, copy, stream); }
  Expected<Check> check() override;

 protected:
  static constexpr int kX = 0, kDy = 1, kWeight = 2, kDx = 3, kDweight = 4, kPartial = 5;
  [[nodiscard]] NormBackwardPlan plan(std::int64_t rows) const {
    return norm_backward_plan<T>(rows, shape_.columns, shape_.sm_count);
  }
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), matrix(element_of<T>()), weight_plan<T>(shape_),
        matrix(element_of<T>(), Content::zero), {.columns = shape_.columns, .content = Content::zero, .by_row = false},
        {.rows = plan(shape_.rows).rows.blocks,
            .columns = shape_.columns,
            .content = Content::zero,
            .by_row = false,
            .same_for_all = true}};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    const auto want =
        reference::rms_norm_gradient(band.before(kX, row), band.before(kDy, row), band.before(kWeight, row));
    return reference::largest_error(band.after(kDx, row), want.x);
  }

 private:
  Expected<void> start(std::int64_t rows, int copy, cudaStream_t stream);
  Expected<double> weight_error(std::int64_t rows) const;
};

template <typename T> Expected<void> NormBackward<T>::start(std::int64_t rows, int copy, cudaStream_t stream) {
  const NormBackwardPlan plan = this->plan(rows);
  const auto kernel = plan.held == 2   ? norm_backward_kernel<T, 2>
                      : plan.held == 4 ? norm_backward_kernel<T, 4>
                                       : norm_backward_long_kernel<T>;
  float *partial = arrays_.template at<float>(kPartial, copy), *dweight = arrays_.template at<float>(kDweight, copy);
  TRY(start_kernel("norm-backward", kernel, plan.rows, stream, arrays_.template at<T>(kX, copy),
      arrays_.template at<T>(kDy, copy), arrays_.template at<T>(kWeight, copy), arrays_.template at<T>(kDx, copy),
      partial, dweight, rows, shape_.columns));
  return start_kernel(
      "weight gradient", weight_gradient_kernel, plan.sums, stream, partial, dweight, plan.rows.blocks, shape_.columns);
}

/// The gradient of the weight is a sum over all rows: it is checked on a second call, over the first of them only.
template <typename T> Expected<Check> NormBackward<T>::check() {
  constexpr std::int64_t kMostElements = 1 << 22;
  TRY(auto check, MemoryOperation::check());
  const std::int64_t few = std::max<std::int64_t>(1, kMostElements / shape_.columns);
  const std::int64_t rows = std::min(shape_.rows, few);
  TRY(start(rows, 0, context_.stream));
  TRY(context_.wait("check"));
  TRY(const double error, weight_error(rows));
  // In fp32: its error counts as many times as the rounding of dx allows more than fp32 does.
  const double own = reference::allowed_error(4, static_cast<double>(rows)) + 0x1p-22 * std::log2(shape_.columns);
  check.error = reference::worse(check.error, error / own * check.allowed);
  check.compared += shape_.columns;
  return check;
}

template <typename T> Expected<double> NormBackward<T>::weight_error(std::int64_t rows) const {
  const std::int64_t columns = shape_.columns;
  TRY(const auto x, arrays_.values(kX, 0, rows * columns));
  TRY(const auto dy, arrays_.values(kDy, 0, rows * columns));
  TRY(const auto weight, arrays_.values(kWeight, 0, columns));
  TRY(const auto got, arrays_.values(kDweight, 0, columns));
  reference::Values want(static_cast<std::size_t>(columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto first = static_cast<std::size_t>(r * columns), count = static_cast<std::size_t>(columns);
    const auto gradient =
        reference::rms_norm_gradient(std::span(x).subspan(first, count), std::span(dy).subspan(first, count), weight);
    for (std::size_t c = 0; c < count; ++c) want[c] += gradient.weight[c];
  }
  return reference::largest_error(got, want);
}

}  // namespace

MemoryOperators norm_operators() {
  return {
      for_all_elements<Norm>("norm", Columns::whole_rows),
      for_all_elements<NormBackward>("norm-backward", Columns::whole_rows),
  };
}

}  // namespace stepcast::kernels::gpu
