// Operators that take elements of some arrays to elements of others at the same place.
#include "kernels/cuda/memory/elementwise_kernel.cuh"
#include "kernels/cuda/memory/elementwise_ops.cuh"
#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/start_kernel.cuh"

namespace stepcast::gpu {
namespace {

using reference::Values;
/// The results for one place of the inputs, in float64.
using Reference = Values (*)(std::span<const double> in);

template <typename Op, typename T> class Elementwise : public MemoryOperation {
 public:
  Elementwise(GpuContext& context, const MemoryShape& shape, Op op, Reference reference)
      : MemoryOperation(context, shape), op_(op), reference_(reference) {}
  Expected<void> launch(int copy, cudaStream_t stream) override;

 protected:
  static constexpr int kArrays = Op::reads + Op::writes;
  [[nodiscard]] std::vector<ArrayPlan> plans() const override {
    std::vector<ArrayPlan> plans(Op::reads, matrix(element_of<T>()));
    plans.resize(kArrays, matrix(element_of<T>(), Content::zero));
    return plans;
  }
  [[nodiscard]] double row_error(const Band& band, std::int64_t row) const override;
  /// Fast exponentials lose some units in the last place, and 1 - tanh^2 more of them where tanh is near 1.
  [[nodiscard]] double allowed() const override { return reference::allowed_error(shape_.element_bytes, 1) + 0x1p-18; }

 private:
  Op op_;
  Reference reference_;
};

template <typename Op, typename T> Expected<void> Elementwise<Op, T>::launch(int copy, cudaStream_t stream) {
  Arrays<T, Op::reads, Op::writes> at;
  for (int r = 0; r < Op::reads; ++r) at.in[r] = arrays_.template at<T>(r, copy);
  for (int w = 0; w < Op::writes; ++w) at.out[w] = arrays_.template at<T>(Op::reads + w, copy);
  TRY(const auto blocks, blocks_per_sm(elementwise_kernel<Op, T>, kStreamThreads));
  const LaunchShape shape = stream_shape(shape_.elements() / kWidth<T>, shape_.sm_count, blocks);
  return start_kernel("elementwise", elementwise_kernel<Op, T>, shape, stream, op_, at, shape_.elements());
}

template <typename Op, typename T> double Elementwise<Op, T>::row_error(const Band& band, std::int64_t row) const {
  std::vector<Values> want(Op::writes);
  Values in(Op::reads);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape_.columns); ++c) {
    for (int r = 0; r < Op::reads; ++r) in[static_cast<std::size_t>(r)] = band.before(r, row)[c];
    const Values out = reference_(in);
    for (std::size_t w = 0; w < want.size(); ++w) want[w].push_back(out[w]);
  }
  double error = 0;
  for (int w = 0; w < Op::writes; ++w)
    error = reference::worse(
        error, reference::largest_error(band.after(Op::reads + w, row), want[static_cast<std::size_t>(w)]));
  return error;
}

template <typename T, typename Op>
MadeMemoryOperation elementwise(GpuContext& context, const MemoryShape& shape, Op op, Reference reference) {
  return std::make_unique<Elementwise<Op, T>>(context, shape, op, reference);
}

constexpr float kScalar = 0.75f;  // exact in every format

}  // namespace

template <typename T> MadeMemoryOperation make_triad(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(context, shape, Triad{kScalar},
      [](std::span<const double> in) { return Values{in[0] + static_cast<double>(kScalar) * in[1]}; });
}
template <typename T> MadeMemoryOperation make_add(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(
      context, shape, AddResidual{}, [](std::span<const double> in) { return Values{in[0] + in[1]}; });
}
template <typename T> MadeMemoryOperation make_add_scalar(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(context, shape, AddScalar{kScalar},
      [](std::span<const double> in) { return Values{in[0] + static_cast<double>(kScalar)}; });
}
template <typename T> MadeMemoryOperation make_gelu(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(
      context, shape, Gelu{}, [](std::span<const double> in) { return Values{reference::gelu(in[0])}; });
}
template <typename T> MadeMemoryOperation make_gelu_backward(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(context, shape, GeluBackward{},
      [](std::span<const double> in) { return Values{reference::gelu_gradient(in[0], in[1])}; });
}
template <typename T> MadeMemoryOperation make_swiglu(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(
      context, shape, SwiGlu{}, [](std::span<const double> in) { return Values{reference::silu(in[0]) * in[1]}; });
}
template <typename T> MadeMemoryOperation make_swiglu_backward(GpuContext& context, const MemoryShape& shape) {
  return elementwise<T>(context, shape, SwiGluBackward{}, [](std::span<const double> in) {
    const auto gradient = reference::swiglu_gradient(in[0], in[1], in[2]);
    return Values{gradient.gate, gradient.up};
  });
}
STEPCAST_FOR_ELEMENTS(make_triad)
STEPCAST_FOR_ELEMENTS(make_add)
STEPCAST_FOR_ELEMENTS(make_add_scalar)
STEPCAST_FOR_ELEMENTS(make_gelu)
STEPCAST_FOR_ELEMENTS(make_gelu_backward)
STEPCAST_FOR_ELEMENTS(make_swiglu)
STEPCAST_FOR_ELEMENTS(make_swiglu_backward)

}  // namespace stepcast::gpu
