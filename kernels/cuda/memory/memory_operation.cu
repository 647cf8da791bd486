#include "kernels/cuda/memory/memory_operation.cuh"

#include <algorithm>
#include <random>

namespace stepcast::kernels::gpu {
namespace {

constexpr std::int64_t kAllElements = 1 << 20;  // up to here all rows are compared
constexpr int kBands = 16;
constexpr std::int64_t kBandElements = 1 << 15;

/// All rows of a small question; else the first, the last, and some between, the same ones every time.
std::vector<Band> bands_of(const MemoryShape& shape, const SetArrays& arrays) {
  if (shape.elements() <= kAllElements || shape.rows <= kBands) return {Band(arrays, 0, shape.rows)};
  const std::int64_t rows = std::min(std::max<std::int64_t>(1, kBandElements / shape.columns), shape.rows / kBands);
  std::mt19937_64 engine(1);
  std::uniform_int_distribution<std::int64_t> anywhere(0, shape.rows - rows);
  std::vector<Band> bands{Band(arrays, 0, rows), Band(arrays, shape.rows - rows, rows)};
  while (bands.size() < kBands) bands.emplace_back(arrays, anywhere(engine), rows);
  return bands;
}

}  // namespace

std::span<const double> Band::part(const Arrays& values, int array, std::int64_t row) const {
  const std::span<const double> all = values[static_cast<std::size_t>(array)];
  const ArrayPlan& plan = arrays_->plan(array);
  if (!plan.by_row) return all;
  const auto columns = static_cast<std::size_t>(plan.columns);
  return all.subspan(static_cast<std::size_t>(row) * columns, columns);
}

Expected<reference::Values> MemoryOperation::read_rows(int array, const Band& band) const {
  const ArrayPlan& plan = arrays_.plan(array);
  if (!plan.by_row) return arrays_.values(array, 0, plan.elements());
  const reference::Values* rows = rows_of(array);
  if (rows == nullptr)  // they follow one another, and are copied at once
    return arrays_.values(array, band.first() * plan.columns, band.rows() * plan.columns);
  reference::Values values;
  for (std::int64_t r = band.first(); r < band.first() + band.rows(); ++r) {
    const auto which = static_cast<std::int64_t>((*rows)[static_cast<std::size_t>(r)]);
    TRY(const auto row, arrays_.values(array, which * plan.columns, plan.columns));
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

Expected<void> MemoryOperation::read(Band& band, Band::Arrays& into) const {
  for (int array = 0; array < arrays_.count(); ++array) {
    if (arrays_.plan(array).same_for_all) {
      into.emplace_back();
      continue;
    }
    TRY(auto values, read_rows(array, band));
    into.push_back(std::move(values));
  }
  return {};
}

Expected<Check> MemoryOperation::check() {
  TRY(prepare_check());
  std::vector<Band> bands = bands_of(shape_, arrays_);
  for (Band& band : bands) TRY(read(band, band.before_));
  TRY(launch(0, context_.stream));
  TRY(context_.wait("check"));
  Check check;
  check.allowed = allowed();
  for (Band& band : bands) {
    TRY(read(band, band.after_));
    for (std::int64_t r = 0; r < band.rows(); ++r) check.error = reference::worse(check.error, row_error(band, r));
    check.compared += band.rows() * shape_.columns;
    band.after_.clear();  // doubles: of all bands they may be a gigabyte
    band.before_.clear();
  }
  return check;
}

}  // namespace stepcast::kernels::gpu
