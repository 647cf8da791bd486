// GEMMs on small chips, built by hand and counted, for tests of what the counts mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/chip/account/account.h"
#include "dataflow/chip/count/count.h"

namespace stepcast::dataflow::accounted {

enum : int { m, n, k };

inline ChipProgram gemm(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  ChipProgram chip;
  chip.op = "gemm";
  chip.dims = {{"m", rows}, {"n", columns}, {"k", depth}};
  const auto index = [](int dim) { return ChipIndex{{{dim, 1}}}; };
  chip.tensors = {{"I", TensorUse::input, {index(m), index(k)}, 2}, {"W", TensorUse::weight, {index(k), index(n)}, 2},
      {"O", TensorUse::output, {index(m), index(n)}, 2}};
  return chip;
}

inline ChipLoop loop(int dim, std::int64_t trips) { return {dim, trips, -1, true, {}}; }
inline ChipLoop on_axis(int dim, std::int64_t trips, int axis) { return {dim, trips, axis, true, {}}; }

/// A store: no units, the loops outer to inner.
inline ChipLevel store(const std::string& name, const std::vector<bool>& keeps, const std::vector<ChipLoop>& time) {
  ChipLevel level;
  level.name = name;
  level.keeps = keeps;
  level.time = time;
  return level;
}

/// Rows x columns of units that keep `keeps` each, handing on from neighbour to neighbour.
inline ChipLevel systolic(
    std::int64_t rows, std::int64_t columns, const std::vector<bool>& keeps, const std::vector<ChipLoop>& space) {
  ChipLevel level;
  level.name = "pe";
  level.axes = {{"x", rows}, {"y", columns}};
  level.fabric = FabricClass::chain;
  level.keeps = keeps;
  level.store = keeps != std::vector<bool>{false, false, false};
  level.space = space;
  return level;
}

inline std::int64_t parts(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// "ws", "is" or "os" on a systolic array, the operand streams from one store; edges cut short.
inline ChipProgram array(const std::string& dataflow, std::int64_t rows, std::int64_t columns, std::int64_t M,
    std::int64_t N, std::int64_t K) {
  ChipProgram chip = gemm(M, N, K);
  const std::vector<bool> all = {true, true, true};
  if (dataflow == "ws")
    chip.levels = {store("sram", all, {loop(n, parts(N, columns)), loop(k, parts(K, rows)), loop(m, M)}),
        systolic(rows, columns, {false, true, false}, {on_axis(k, rows, 0), on_axis(n, columns, 1)})};
  else if (dataflow == "is")
    chip.levels = {store("sram", all, {loop(m, parts(M, columns)), loop(k, parts(K, rows)), loop(n, N)}),
        systolic(rows, columns, {true, false, false}, {on_axis(k, rows, 0), on_axis(m, columns, 1)})};
  else
    chip.levels = {store("sram", all, {loop(m, parts(M, rows)), loop(n, parts(N, columns)), loop(k, K)}),
        systolic(rows, columns, {false, false, true}, {on_axis(m, rows, 0), on_axis(n, columns, 1)})};
  return chip;
}

inline Counts counted(const ChipProgram& chip) {
  Counts counts;
  count(nest_of(chip).value(), counts);
  return counts;
}

inline ChipAccount account_of(const ChipProgram& chip) { return account(chip, counted(chip)); }

}  // namespace stepcast::dataflow::accounted
