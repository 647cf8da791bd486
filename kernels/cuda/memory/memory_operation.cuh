// GPU side only. What the operators that device memory bounds share: rows and columns, sets of arrays, and a check of
// some bands of rows against float64. An operator is a class with its arrays, its launch and its reference for one row.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/number.cuh"
#include "kernels/cuda/operation.h"
#include "kernels/cuda/set_arrays.h"

namespace stepcast::gpu {

/// A question in whole numbers.
struct MemoryShape {
  std::int64_t rows = 1;
  int columns = 1, element_bytes = 2;
  int sm_count = 1;
  std::size_t shared_limit = 48 << 10;  ///< dynamic shared memory that a block may have
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// Some rows in succession, before and after one call. An array without rows of its own is here as a whole.
class Band {
 public:
  using Arrays = std::vector<reference::Values>;
  Band(const SetArrays& arrays, std::int64_t first, std::int64_t rows) : arrays_(&arrays), first_(first), rows_(rows) {}
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::span<const double> before(int array, std::int64_t row) const { return part(before_, array, row); }
  [[nodiscard]] std::span<const double> after(int array, std::int64_t row) const { return part(after_, array, row); }

 private:
  friend class MemoryOperation;
  [[nodiscard]] std::span<const double> part(const Arrays& values, int array, std::int64_t row) const;
  const SetArrays* arrays_;
  std::int64_t first_, rows_;
  Arrays before_, after_;
};

class MemoryOperation : public Operation {
 public:
  MemoryOperation(GpuContext& context, const MemoryShape& shape) : context_(context), shape_(shape) {}
  /// The arrays of a set, each once: where a result is written over an input, less than what is read and written.
  [[nodiscard]] Bytes touched() const override { return Bytes(SetArrays::set_bytes(plans())); }
  Expected<void> allocate(int copies) override { return arrays_.allocate(context_, plans(), copies); }
  Expected<Check> check() override;

 protected:
  [[nodiscard]] virtual std::vector<ArrayPlan> plans() const = 0;
  /// Largest error of the band's row of this number, over the row's own scale.
  [[nodiscard]] virtual double row_error(const Band& band, std::int64_t row) const = 0;
  [[nodiscard]] virtual double allowed() const {
    return reference::allowed_error(shape_.element_bytes, shape_.columns);
  }
  /// For an array whose rows are not those of the question: which one belongs to each. Else null.
  [[nodiscard]] virtual const reference::Values* rows_of([[maybe_unused]] int array) const { return nullptr; }
  /// Called before the bands are read; for what rows_of and row_error need.
  virtual Expected<void> prepare_check() { return {}; }

  [[nodiscard]] ArrayPlan matrix(Element element, Content content = Content::normal) const {
    return {.rows = shape_.rows, .columns = shape_.columns, .element = element, .content = content};
  }

  GpuContext& context_;
  MemoryShape shape_;
  SetArrays arrays_;

 private:
  Expected<void> read(Band& band, Band::Arrays& into) const;
  Expected<reference::Values> read_rows(int array, const Band& band) const;
};

/// One operator of the table in memory_op.cu. T: its element by the question and the GPU.
using MadeMemoryOperation = std::unique_ptr<Operation>;
template <typename T> MadeMemoryOperation make_read(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_write(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_copy(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_triad(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_add(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_add_scalar(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_gelu(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_gelu_backward(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_swiglu(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_swiglu_backward(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_softmax(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_softmax_backward(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_cross_entropy(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_norm(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_norm_backward(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_rope(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_embedding(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_embedding_backward(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_quantize(GpuContext& context, const MemoryShape& shape);
template <typename T> MadeMemoryOperation make_adam(GpuContext& context, const MemoryShape& shape);

/// Instances of a make function for the types that make_memory_op chooses from.
#define STEPCAST_FOR_ELEMENTS(make)                                          \
  template MadeMemoryOperation make<float>(GpuContext&, const MemoryShape&); \
  template MadeMemoryOperation make<Fp16>(GpuContext&, const MemoryShape&);  \
  template MadeMemoryOperation make<Bf16>(GpuContext&, const MemoryShape&);

/// Element of a kernel's type.
template <typename T> constexpr Element element_of();
template <> constexpr Element element_of<float>() { return Element::fp32; }
template <> constexpr Element element_of<Fp16>() { return Element::fp16; }
template <> constexpr Element element_of<Bf16>() { return Element::bf16; }

}  // namespace stepcast::gpu
