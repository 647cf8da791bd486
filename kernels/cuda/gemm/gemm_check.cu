#include "kernels/cuda/gemm/gemm_check.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace stepcast::kernels::gpu {
namespace {

constexpr std::int64_t kEntries = 256;

/// One block of threads per line.
template <typename Element>
__global__ void gather_lines(const Element* from, const OperandLine* lines, std::int64_t length, Element* into) {
  const OperandLine line = lines[blockIdx.x];
  Element* const gathered = into + blockIdx.x * length;
  for (std::int64_t at = threadIdx.x; at < length; at += blockDim.x) gathered[at] = from[line.first + at * line.step];
}

/// Lines of `length` numbers, one behind another, on the host.
struct Gathered {
  NumberFormat format = NumberFormat::fp32;
  std::int64_t length = 0;
  std::vector<unsigned char> bytes;
  [[nodiscard]] StoredLine line(std::size_t number) const {
    return {bytes.data(), format, {static_cast<std::int64_t>(number) * length, 1}};
  }
};

template <typename Element>
Expected<void> start_gather(const GpuContext& context, const void* from, const DeviceBuffer& lines, std::size_t count,
    std::int64_t length, const DeviceBuffer& into) {
  constexpr unsigned int kThreads = 256;
  gather_lines<<<static_cast<unsigned int>(count), kThreads, 0, context.stream>>>(
      static_cast<const Element*>(from), lines.as<OperandLine>(), length, into.as<Element>());
  return checked(cudaGetLastError(), "gather_lines");
}

/// Elements of the size that the format takes; of fp4, whose lines are whole numbers of bytes, pairs.
Expected<void> start_gather_of(const GpuContext& context, NumberFormat format, const void* from,
    const DeviceBuffer& lines, std::size_t count, std::int64_t length, const DeviceBuffer& into) {
  switch (bits_of(format)) {
    case 32: return start_gather<std::uint32_t>(context, from, lines, count, length, into);
    case 16: return start_gather<std::uint16_t>(context, from, lines, count, length, into);
    case 8: return start_gather<std::uint8_t>(context, from, lines, count, length, into);
    default: return start_gather<std::uint8_t>(context, from, lines, count, length / 2, into);
  }
}

Expected<Gathered> gather(const GpuContext& context, NumberFormat format, const void* from,
    std::vector<OperandLine> lines, std::int64_t length) {
  if (format == NumberFormat::e2m1) {
    for (OperandLine& line : lines) line.first /= 2;
  }
  Gathered gathered{format, length, {}};
  gathered.bytes.resize(bytes_for(format, length * static_cast<std::int64_t>(lines.size())));
  const std::size_t line_bytes = lines.size() * sizeof(OperandLine);
  TRY(const auto where, DeviceBuffer::make(line_bytes));
  TRY(auto into, DeviceBuffer::make(gathered.bytes.size()));
  // All on one stream: it may be one that does not wait for the default stream, where plain copies run.
  TRY(checked(cudaMemcpyAsync(where.as<>(), lines.data(), line_bytes, cudaMemcpyHostToDevice, context.stream),
      "cudaMemcpyAsync"));
  TRY(start_gather_of(context, format, from, where, lines.size(), length, into));
  TRY(checked(cudaMemcpyAsync(
                  gathered.bytes.data(), into.as<>(), gathered.bytes.size(), cudaMemcpyDeviceToHost, context.stream),
      "cudaMemcpyAsync"));
  TRY(context.wait("gather_lines"));
  return gathered;
}

using LineOf = OperandLine (*)(const ProductShape&, const EntryPlace&);

OperandLine y_line(const ProductShape& shape, const EntryPlace& place) { return {y_index(shape, place), 1}; }

std::vector<OperandLine> lines_of(const ProductShape& shape, const std::vector<EntryPlace>& places, LineOf line_of) {
  std::vector<OperandLine> lines;
  lines.reserve(places.size());
  for (const EntryPlace& place : places) lines.push_back(line_of(shape, place));
  return lines;
}

/// The largest error; an entry that is not a number makes it infinite, so that no comparison lets it pass.
void take_error(Check& check, double error) {
  check.error = error >= 0 ? std::max(check.error, error) : std::numeric_limits<double>::infinity();
  ++check.compared;
}

}  // namespace

Expected<Check> check_gemm(
    GpuContext& context, const GemmProblem& problem, const GemmSet& set, const std::function<Expected<void>()>& run) {
  const ProductShape& shape = problem.shape;
  const NumberFormat operand = problem.precision->operand_format, result = problem.result_format();
  const std::vector<EntryPlace> places = sample_entries(shape, kEntries, context.seed);
  const std::vector<OperandLine> results = lines_of(shape, places, y_line);

  TRY(const auto before, gather(context, result, set.y, results, 1));
  TRY(run());
  TRY(context.wait("cublasLtMatmul"));
  TRY(const auto after, gather(context, result, set.y, results, 1));
  TRY(const auto x, gather(context, operand, set.x, lines_of(shape, places, x_line), shape.k));
  TRY(const auto w, gather(context, operand, set.w, lines_of(shape, places, w_line), shape.k));

  Check check;
  check.allowed = gemm_allowed_error(problem.query.precision, shape.layout, shape.k);
  const double factor = factor_of(problem);
  for (std::size_t at = 0; at < places.size(); ++at) {
    const auto entry = static_cast<std::int64_t>(at);
    const double was = problem.accumulates() ? number_at(result, before.bytes.data(), entry) : 0;
    const GemmEntry reference = gemm_entry(x.line(at), w.line(at), shape.k, factor, was);
    take_error(check, gemm_error(number_at(result, after.bytes.data(), entry), reference));
  }
  return check;
}

}  // namespace stepcast::kernels::gpu
