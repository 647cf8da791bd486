// A ChipProgram as the flat loops that the counter walks. Loops of one round and terms of loops of one round say
// nothing.
#include "dataflow/chip/count/nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace stepcast::dataflow {
namespace {

constexpr std::int64_t most_nest_work = std::int64_t{1} << 62;

std::string where_of(const ChipProgram& chip) { return chip.op.empty() ? "operator" : "operator " + chip.op; }

/// a * b, or most_nest_work + 1 where it would be more.
std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  return a > most_nest_work / b ? most_nest_work + 1 : a * b;
}

Expected<void> check_room(const ChipProgram& chip, std::size_t loops) {
  const auto over = [&](const char* what, std::size_t there, int most) {
    return fail(where_of(chip), fmt::format("{} {}", there, what), fmt::format("at most {} are counted", most));
  };
  if (chip.dims.size() > most_chip_dims) return over("dims", chip.dims.size(), most_chip_dims);
  if (chip.tensors.size() > most_chip_tensors) return over("tensors", chip.tensors.size(), most_chip_tensors);
  if (chip.levels.size() > most_chip_levels) return over("levels", chip.levels.size(), most_chip_levels);
  if (loops > most_chip_loops) return over("loops of more than one round", loops, most_chip_loops);
  return {};
}

Expected<void> check_work(const ChipProgram& chip) {
  std::int64_t macs = 1;
  for (const ChipDim& dim : chip.dims) macs = bounded_product(macs, std::max<std::int64_t>(dim.extent, 1));
  if (macs > most_nest_work) return fail(where_of(chip), "more than 2^62 multiply-adds", "split the operator first");
  std::vector<std::int64_t> rounds(chip.dims.size(), 1);
  for (const ChipLevel& level : chip.levels)
    for (const auto* loops : {&level.space, &level.time})
      for (const ChipLoop& loop : *loops) {
        rounds[loop.dim] = bounded_product(rounds[loop.dim], std::max<std::int64_t>(loop.trips, 1));
        if (rounds[loop.dim] > most_nest_work)
          return fail(where_of(chip), fmt::format("{}: more than 2^62 rounds", chip.dims[loop.dim].name),
              fmt::format("the extent is {}", chip.dims[loop.dim].extent));
      }
  return {};
}

/// Terms of one loop joined, loops of extent 1 left out.
Expected<Nest::Index> flat_index(const ChipProgram& chip, const ChipTensor& tensor, const ChipIndex& written) {
  Nest::Index index;
  for (const ChipIndex::Term& term : written.terms) {
    if (term.step < 1 || term.step > INT32_MAX)
      return fail(where_of(chip),
          fmt::format("{}: step {} of {} in an index", tensor.name, term.step, chip.dims[term.dim].name),
          "steps are 1 or more");
    if (chip.dims[term.dim].extent <= 1) continue;
    int at = 0;
    while (at < index.terms && index.dim[at] != term.dim) ++at;
    if (at == most_terms)
      return fail(where_of(chip), fmt::format("{}: an index of more than {} loops", tensor.name, most_terms),
          "an index of fewer loops, or the product of some of them as one loop");
    if (at == index.terms) ++index.terms;
    index.dim[at] = static_cast<std::int8_t>(term.dim);
    index.step[at] += static_cast<std::int32_t>(term.step);
  }
  return index;
}

void drop_term(Nest::Index& index, int dim) {
  for (int i = 0; i < index.terms; ++i)
    if (index.dim[i] == dim) {
      std::copy(index.dim.begin() + i + 1, index.dim.end(), index.dim.begin() + i);
      std::copy(index.step.begin() + i + 1, index.step.end(), index.step.begin() + i);
      --index.terms;
      return;
    }
}

/// T[p + r, p] has as many elements as T[r, p]: an index that is one loop makes the others free of that loop.
void free_of_single_loops(Nest::Shape& shape) {
  for (bool again = true; again;) {
    again = false;
    for (int one = 0; one < shape.rank; ++one)
      for (int other = 0; other < shape.rank; ++other) {
        if (shape.index[one].terms != 1 || one == other) continue;
        const int before = shape.index[other].terms;
        drop_term(shape.index[other], shape.index[one].dim[0]);
        again |= shape.index[other].terms != before;
      }
  }
}

/// A common factor of all steps only renames the elements.
void divide_by_common_step(Nest::Index& index) {
  std::int32_t common = 0;
  for (int i = 0; i < index.terms; ++i) common = std::gcd(common, index.step[i]);
  for (int i = 0; i < index.terms; ++i) index.step[i] /= common;
}

Expected<Nest::Shape> flat_shape(const ChipProgram& chip, const ChipTensor& tensor, Windows windows) {
  Nest::Shape shape;
  shape.output = tensor.use == TensorUse::output;
  if (tensor.indices.size() > most_rank)
    return fail(where_of(chip), fmt::format("{}: {} indices", tensor.name, tensor.indices.size()),
        fmt::format("at most {} are counted", most_rank));
  for (const ChipIndex& written : tensor.indices) {
    TRY(const Nest::Index index, flat_index(chip, tensor, written));
    shape.index[shape.rank++] = index;
  }
  free_of_single_loops(shape);
  std::uint32_t in_other_window = 0;
  for (int r = 0; r < shape.rank; ++r) {
    Nest::Index& index = shape.index[r];
    if (windows == Windows::exact) divide_by_common_step(index);
    const bool window = index.terms > 1 || (index.terms == 1 && index.step[0] != 1);
    for (int i = 0; i < index.terms; ++i) {
      const std::uint32_t bit = 1U << index.dim[i];
      if (in_other_window & bit)
        return fail(where_of(chip),
            fmt::format("{}: loop {} stands in two windows", tensor.name, chip.dims[index.dim[i]].name),
            "one window per loop is counted");
      shape.uses |= bit;
      if (window) in_other_window |= bit;
    }
  }
  shape.window = in_other_window;
  return shape;
}

}  // namespace

Expected<Nest> nest_of(const ChipProgram& chip, Windows windows) {
  std::size_t loops = 0;
  for (const ChipLevel& level : chip.levels)
    for (const auto* list : {&level.space, &level.time})
      loops += std::count_if(list->begin(), list->end(), [](const ChipLoop& loop) { return loop.trips > 1; });
  TRY(check_room(chip, loops));
  TRY(check_work(chip));

  Nest nest;
  nest.windows = windows;
  for (const ChipDim& dim : chip.dims) nest.extent[nest.dims++] = dim.extent;
  for (const ChipTensor& tensor : chip.tensors) {
    TRY(const Nest::Shape shape, flat_shape(chip, tensor, windows));
    nest.shape[nest.tensors++] = shape;
  }
  for (const ChipLevel& level : chip.levels) {
    const auto at = static_cast<std::int8_t>(nest.levels++);
    for (std::size_t t = 0; t < level.keeps.size() && t < chip.tensors.size(); ++t)
      if (level.keeps[t]) nest.keeps[at] |= static_cast<std::uint8_t>(1U << t);
    const auto is_down = [&](int axis) { return axis > 0 || (axis == 0 && level.axes[0].name == "y"); };
    nest.mesh[at] = {1, 1};
    for (std::size_t axis = 0; axis < level.axes.size(); ++axis)
      nest.mesh[at][is_down(static_cast<int>(axis)) ? 1 : 0] *= level.axes[axis].units;
    for (const ChipLoop& loop : level.space)
      if (loop.trips > 1)
        nest.loop[nest.loops++] = {static_cast<std::int8_t>(loop.dim), at, true, loop.trips, is_down(loop.axis)};
    for (const ChipLoop& loop : level.time)
      if (loop.trips > 1) nest.loop[nest.loops++] = {static_cast<std::int8_t>(loop.dim), at, false, loop.trips};
  }
  return nest;
}

}  // namespace stepcast::dataflow
