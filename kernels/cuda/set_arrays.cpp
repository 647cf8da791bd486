#include "kernels/cuda/set_arrays.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/reference/number.h"

namespace stepcast::kernels::gpu {
namespace {

/// Sets begin where cudaMalloc's buffers may begin. It also is what kernels may read beyond the end of a row.
constexpr std::size_t kSetAlignment = 256;

std::size_t stride_of(const ArrayPlan& plan) {
  const std::size_t bytes = static_cast<std::size_t>(plan.elements()) * bytes_per(plan.element);
  return (bytes + kSetAlignment - 1) / kSetAlignment * kSetAlignment;
}

Fill fill_of(const ArrayPlan& plan) {
  if (plan.content == Content::zero) return Fill::zero;
  switch (plan.element) {
    case Element::fp16: return Fill::fp16;
    case Element::bf16: return Fill::bf16;
    case Element::fp8_e4m3: return Fill::fp8_e4m3;
    default: return Fill::fp32;
  }
}

std::vector<int> numbers_of(const ArrayPlan& plan, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<int> numbers(static_cast<std::size_t>(plan.elements()));
  if (plan.content == Content::permutation) {
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), engine);
  } else {
    std::uniform_int_distribution<int> any(0, plan.below - 1);
    for (int& number : numbers) number = any(engine);
  }
  return numbers;
}

Expected<DeviceBuffer> integers(GpuContext& context, const ArrayPlan& plan, std::size_t stride, int copies) {
  auto buffer = DeviceBuffer::make(stride * static_cast<std::size_t>(copies));
  for (int copy = 0; buffer && copy < copies; ++copy) {
    const auto numbers = numbers_of(plan, context.seed++);
    void* to = buffer->as<>(stride * static_cast<std::size_t>(copy));
    // On the stream that reads them: it does not wait for copies of the default stream.
    const auto status =
        cudaMemcpyAsync(to, numbers.data(), numbers.size() * sizeof(int), cudaMemcpyHostToDevice, context.stream);
    TRY(checked(status, "cudaMemcpyAsync"));
    TRY(context.wait("copying integers"));
  }
  return buffer;
}

Expected<DeviceBuffer> made(GpuContext& context, const ArrayPlan& plan, std::size_t stride, int copies) {
  if (plan.element == Element::int32) return integers(context, plan, stride, copies);
  const Fill fill = fill_of(plan);
  const std::size_t bytes = stride * static_cast<std::size_t>(copies);
  return context.filled(fill == Fill::zero ? bytes : bytes / bytes_per(plan.element), fill);
}

double value_at(Element element, const std::vector<unsigned char>& bytes, std::int64_t i) {
  int integer = 0;
  switch (element) {
    case Element::fp32: return number_at(NumberFormat::fp32, bytes.data(), i);
    case Element::fp16: return number_at(NumberFormat::fp16, bytes.data(), i);
    case Element::bf16: return number_at(NumberFormat::bf16, bytes.data(), i);
    case Element::fp8_e4m3: return number_at(NumberFormat::e4m3, bytes.data(), i);
    case Element::int32: std::memcpy(&integer, bytes.data() + 4 * i, 4); return integer;
  }
  return 0;
}

}  // namespace

std::size_t bytes_per(Element element) {
  constexpr std::size_t bytes[] = {4, 2, 2, 1, 4};
  return bytes[static_cast<int>(element)];
}

double SetArrays::set_bytes(const std::vector<ArrayPlan>& plans) {
  double bytes = 0;
  for (const ArrayPlan& plan : plans)
    if (!plan.same_for_all)
      bytes += static_cast<double>(plan.elements()) * static_cast<double>(bytes_per(plan.element));
  return bytes;
}

Expected<void> SetArrays::allocate(GpuContext& context, std::vector<ArrayPlan> plans, int copies) {
  buffers_.clear();  // what was there before goes first: there may be no room for both
  strides_.clear();
  plans_ = std::move(plans);
  for (const ArrayPlan& plan : plans_) {
    const std::size_t stride = stride_of(plan);
    TRY(auto buffer, made(context, plan, stride, plan.same_for_all ? 1 : copies));
    buffers_.push_back(std::move(buffer));
    strides_.push_back(plan.same_for_all ? 0 : stride);
  }
  return {};
}

Expected<reference::Values> SetArrays::values(int array, std::int64_t first, std::int64_t count) const {
  const std::size_t each = bytes_per(plan(array).element);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * each);
  const void* from = at<unsigned char>(array, 0) + static_cast<std::size_t>(first) * each;
  TRY(checked(cudaMemcpy(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy"));
  reference::Values values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = value_at(plan(array).element, bytes, i);
  return values;
}

}  // namespace stepcast::kernels::gpu
