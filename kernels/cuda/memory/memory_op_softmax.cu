// Softmax over rows, its gradient, and cross-entropy over rows of logits.
#include <cmath>

#include "kernels/cuda/memory/loss_kernels.cuh"
#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/memory/row_plan.cuh"
#include "kernels/cuda/start_kernel.cuh"

namespace stepcast::kernels::gpu {
namespace {

template <typename T> class Softmax : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    const RowPlan plan = row_plan<T>(shape_.rows, shape_.columns, shape_.shared_limit);
    return with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
      return start_kernel("softmax", softmax_kernel<T, Storage, OneWarp>, plan.shape, stream,
          arrays_.template at<T>(0, copy), arrays_.template at<T>(1, copy), shape_.rows, shape_.columns,
          plan.shared_vectors);
    });
  }

 protected:
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), matrix(element_of<T>(), Content::zero)};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    return reference::largest_error(band.after(1, row), reference::softmax(band.before(0, row)));
  }
};

/// The gradient of a softmax whose result is taken to be normal numbers: the kernel does the same with them.
template <typename T> class SoftmaxBackward : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    constexpr unsigned kMostThreads = 512;  // the kernel's launch bound: it holds two rows
    const RowPlan plan = row_plan<T>(shape_.rows, shape_.columns, shape_.shared_limit, 2, kMostThreads);
    return with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
      return start_kernel("softmax-backward", softmax_backward_kernel<T, Storage, OneWarp>, plan.shape, stream,
          arrays_.template at<T>(0, copy), arrays_.template at<T>(1, copy), arrays_.template at<T>(2, copy),
          shape_.rows, shape_.columns, plan.shared_vectors);
    });
  }

 protected:
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()), matrix(element_of<T>()), matrix(element_of<T>(), Content::zero)};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    return reference::largest_error(
        band.after(2, row), reference::softmax_gradient(band.before(0, row), band.before(1, row)));
  }
  /// The sum of products may cancel: its error is that of its largest terms.
  [[nodiscard]] double allowed() const override {
    return MemoryOperation::allowed() + 0x1p-22 * std::sqrt(static_cast<double>(shape_.columns));
  }
};

/// Over the logits themselves: every replay but the first has the gradient of the one before for logits, in [-1, 1].
template <typename T> class CrossEntropy : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    const RowPlan plan = row_plan<T>(shape_.rows, shape_.columns, shape_.shared_limit);
    return with_storage<T>(plan, [&]<typename Storage, bool OneWarp>() {
      return start_kernel("cross-entropy", cross_entropy_kernel<T, Storage, OneWarp>, plan.shape, stream,
          arrays_.template at<T>(kLogits, copy), arrays_.template at<int>(kTargets, copy),
          arrays_.template at<float>(kLoss, copy), shape_.rows, shape_.columns, plan.shared_vectors);
    });
  }

 protected:
  static constexpr int kLogits = 0, kTargets = 1, kLoss = 2;
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(element_of<T>()),
        {.rows = shape_.rows, .element = Element::int32, .content = Content::below, .below = shape_.columns},
        {.rows = shape_.rows, .element = Element::fp32, .content = Content::zero}};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    const int target = static_cast<int>(band.before(kTargets, row)[0]);
    const auto want = reference::cross_entropy(band.before(kLogits, row), target);
    const double gradient = reference::cross_entropy_error(band.after(kLogits, row), want.gradient, target);
    const double loss = reference::largest_error(band.after(kLoss, row), std::span(&want.loss, 1));
    return reference::worse(gradient, loss);
  }
};

}  // namespace

MemoryOperators softmax_operators() {
  return {
      for_all_elements<Softmax>("softmax"),
      for_all_elements<SoftmaxBackward>("softmax-backward"),
      for_all_elements<CrossEntropy>("cross-entropy"),
  };
}

}  // namespace stepcast::kernels::gpu
