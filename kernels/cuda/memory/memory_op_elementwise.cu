// Operators that take elements of some arrays to elements of others at the same place.
#include "kernels/cuda/memory/elementwise_kernel.cuh"
#include "kernels/cuda/memory/elementwise_ops.cuh"
#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/cuda/start_kernel.cuh"

namespace stepcast::kernels::gpu {
namespace {

using reference::Values;

template <typename Op, typename T> class Elementwise : public MemoryOperation {
 public:
  using MemoryOperation::MemoryOperation;
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
};

template <typename Op, typename T> Expected<void> Elementwise<Op, T>::launch(int copy, cudaStream_t stream) {
  Arrays<T, Op::reads, Op::writes> at;
  for (int r = 0; r < Op::reads; ++r) at.in[r] = arrays_.template at<T>(r, copy);
  for (int w = 0; w < Op::writes; ++w) at.out[w] = arrays_.template at<T>(Op::reads + w, copy);
  TRY(const auto blocks, blocks_per_sm(elementwise_kernel<Op, T>, kStreamThreads));
  const LaunchShape shape = stream_shape(shape_.elements() / kWidth<T>, shape_.sm_count, blocks);
  return start_kernel("elementwise", elementwise_kernel<Op, T>, shape, stream, Op(), at, shape_.elements());
}

template <typename Op, typename T> double Elementwise<Op, T>::row_error(const Band& band, std::int64_t row) const {
  std::vector<Values> want(Op::writes);
  Values in(Op::reads);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape_.columns); ++c) {
    for (int r = 0; r < Op::reads; ++r) in[static_cast<std::size_t>(r)] = band.before(r, row)[c];
    const Values out = Op().reference(in);
    for (std::size_t w = 0; w < want.size(); ++w) want[w].push_back(out[w]);
  }
  double error = 0;
  for (int w = 0; w < Op::writes; ++w)
    error = reference::worse(
        error, reference::largest_error(band.after(Op::reads + w, row), want[static_cast<std::size_t>(w)]));
  return error;
}

}  // namespace

MemoryOperators elementwise_operators() {
  return {
      for_all_elements<Elementwise, Triad>("triad"),
      for_all_elements<Elementwise, AddResidual>("add"),
      for_all_elements<Elementwise, AddScalar>("add-scalar"),
      for_all_elements<Elementwise, Gelu>("gelu"),
      for_all_elements<Elementwise, GeluBackward>("gelu-backward"),
      for_all_elements<Elementwise, SwiGlu>("swiglu"),
      for_all_elements<Elementwise, SwiGluBackward>("swiglu-backward"),
  };
}

}  // namespace stepcast::kernels::gpu
