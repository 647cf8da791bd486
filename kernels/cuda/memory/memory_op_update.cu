// Adam's step, and numbers of 16 bits to fp8.
#include <cmath>

#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/memory/optimizer_kernels.cuh"
#include "kernels/cuda/memory/quantize_kernels.cuh"
#include "kernels/cuda/start_kernel.cuh"
#include "kernels/reference/number.h"

namespace stepcast::kernels::gpu {
namespace {

/// Always the step of one and the same time: the moments follow the gradient, and a weight moves by at most the rate
/// each time, so that thousands of replays stay finite. Copy: the 16-bit type of the chip.
template <typename Copy> class Adam : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    TRY(const auto blocks, blocks_per_sm(adam_kernel<Copy>, kStreamThreads));
    const std::int64_t vectors = shape_.elements() / kWidth<float>;
    const AdamArrays at{arrays_.template at<float>(kGradient, copy), arrays_.template at<float>(kWeight, copy),
        arrays_.template at<float>(kMean, copy), arrays_.template at<float>(kSquare, copy)};
    return start_kernel("adam", adam_kernel<Copy>, stream_shape(vectors, shape_.sm_count, blocks), stream, step(), at,
        arrays_.template at<Copy>(kCopy, copy), vectors);
  }

 protected:
  static constexpr int kGradient = 0, kWeight = 1, kMean = 2, kSquare = 3, kCopy = 4;
  static AdamStep step() {
    constexpr float kTime = 10;
    AdamStep step;
    step.correction1 = 1 / (1 - std::pow(step.beta1, kTime));
    step.correction2 = 1 / (1 - std::pow(step.beta2, kTime));
    return step;
  }
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {matrix(Element::fp32), matrix(Element::fp32), matrix(Element::fp32, Content::zero),
        matrix(Element::fp32, Content::zero), matrix(element_of<Copy>(), Content::zero)};
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    const AdamStep s = step();
    const reference::AdamRates rates{s.rate, s.beta1, s.beta2, s.epsilon, s.decay, s.correction1, s.correction2};
    const auto count = static_cast<std::size_t>(shape_.columns);
    reference::Values weight(count), mean(count), square(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto after = reference::adam(rates,
          {band.before(kWeight, row)[i], band.before(kMean, row)[i], band.before(kSquare, row)[i]},
          band.before(kGradient, row)[i]);
      weight[i] = after.weight, mean[i] = after.mean, square[i] = after.square;
    }
    double error = reference::largest_error(band.after(kWeight, row), weight);
    error = reference::worse(error, reference::largest_error(band.after(kMean, row), mean));
    error = reference::worse(error, reference::largest_error(band.after(kSquare, row), square));
    return reference::worse(error, copy_error(band, row));
  }

 private:
  /// The copy is the weight as it was written, rounded: over the largest weight, in units of what fp32 is allowed.
  [[nodiscard]] double copy_error(const Band& band, std::int64_t row) const {
    const double error = reference::largest_error(band.after(kCopy, row), band.after(kWeight, row));
    return error / reference::unit_roundoff(2) * allowed();
  }
};

template <typename T> class Quantize : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
  Expected<void> launch(int copy, cudaStream_t stream) override {
    TRY(const auto blocks, blocks_per_sm(quantize_kernel<T>, kStreamThreads));
    const std::int64_t vectors = shape_.elements() / kWidth<T>;
    return start_kernel("quantize", quantize_kernel<T>, stream_shape(vectors, shape_.sm_count, blocks), stream,
        arrays_.template at<T>(kX, copy), arrays_.template at<Fp8E4m3>(kY, copy), kScale,
        arrays_.template at<float>(kLargest, copy), vectors);
  }

 protected:
  static constexpr int kX = 0, kY = 1, kLargest = 2;
  static constexpr float kScale = 64;  // normal numbers of up to 5 use the range of e4m3, 448, well
  // sqrt(2 ln 2^24) = 5.77, the largest radius of normal_pair (fill_kernel.cuh), and its rounding to bf16.
  static constexpr double kLargestNormal = 5.8;
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    return {
        matrix(element_of<T>()), matrix(Element::fp8_e4m3, Content::zero), {.content = Content::zero, .by_row = false}};
  }
  /// Bit for bit. The largest value is at least that of the rows which are looked at, and no larger than any that the
  /// array is filled with.
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override {
    reference::Values want;
    double largest = 0;
    for (const double x : band.before(kX, row)) {
      want.push_back(static_cast<double>(from_e4m3(to_e4m3(x * static_cast<double>(kScale)))));
      largest = std::max(largest, std::abs(x));
    }
    const double got = band.after(kLargest, row)[0];
    const double missed = got >= largest && got <= kLargestNormal ? 0 : 1;
    return reference::worse(missed, reference::largest_error(band.after(kY, row), want));
  }
  [[nodiscard]] double allowed() const override { return 0; }
};

}  // namespace

MemoryOperators update_operators() {
  return {
      for_two_bytes<Quantize>("quantize", Columns::whole_array),  // half of 2 bytes is fp8
      // Counted in elements of 4 bytes; the 16-bit type is that of the copy which products read.
      {"adam", Columns::whole_array, {make_memory<Adam<Fp16>>, make_memory<Adam<Bf16>>}},
  };
}

}  // namespace stepcast::kernels::gpu
