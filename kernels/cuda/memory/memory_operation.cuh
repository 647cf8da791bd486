// GPU side only. What the operators that device memory bounds share: rows and columns, sets of arrays, and a check of
// some bands of rows against float64. An operator is a class with its arrays, its launch and its reference for one row.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/number.cuh"
#include "kernels/cuda/operation.h"
#include "kernels/cuda/set_arrays.h"

namespace stepcast::kernels::gpu {

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

/// Columns of which a kernel can make 16-byte vectors.
enum class Columns : std::uint8_t { any, whole_rows, whole_halves, whole_array };

/// One operator, and what makes it for elements of 4 and of 2 bytes, on chips without bf16 (before 8.0) and with; null:
/// there is no kernel.
struct MemoryOperator {
  using Make = std::unique_ptr<Operation> (*)(GpuContext&, const MemoryShape&);
  std::string_view op;  ///< its name in model/profile/query.cpp's table
  Columns columns = Columns::any;
  Make four[2] = {}, two[2] = {};
};

template <typename Made> std::unique_ptr<Operation> make_memory(GpuContext& context, const MemoryShape& shape) {
  return std::make_unique<Made>(context, shape);
}
/// Class: a template whose last parameter is the element by the question and the GPU.
template <template <typename...> typename Class, typename... Before>
MemoryOperator for_two_bytes(std::string_view op, Columns columns = Columns::any) {
  return {op, columns, {}, {make_memory<Class<Before..., Fp16>>, make_memory<Class<Before..., Bf16>>}};
}
template <template <typename...> typename Class, typename... Before>
MemoryOperator for_all_elements(std::string_view op, Columns columns = Columns::any) {
  MemoryOperator row = for_two_bytes<Class, Before...>(op, columns);
  row.four[0] = row.four[1] = make_memory<Class<Before..., float>>;
  return row;
}

/// The operators of each file memory_op_*.cu.
using MemoryOperators = std::vector<MemoryOperator>;
MemoryOperators stream_operators();
MemoryOperators elementwise_operators();
MemoryOperators norm_operators();
MemoryOperators softmax_operators();
MemoryOperators gather_operators();
MemoryOperators update_operators();

/// Element of a kernel's type.
template <typename T> constexpr Element element_of();
template <> constexpr Element element_of<float>() { return Element::fp32; }
template <> constexpr Element element_of<Fp16>() { return Element::fp16; }
template <> constexpr Element element_of<Bf16>() { return Element::bf16; }

}  // namespace stepcast::kernels::gpu
