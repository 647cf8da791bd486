#include "studies/roofline/figures/boundary_nest.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/account/gemm_kernel.h"
#include "studies/notation/dataflow_chip.h"

namespace stepcast::roofline {
namespace {

/// Of C that one instruction works on with operands in shared memory; where operands go through registers, of one warp.
/// Clipped to the thread block's tile.
struct FragmentTile {
  std::string_view architecture;
  int m, n;
};
constexpr FragmentTile fragment_tiles[] = {
    {"blackwell", 128, 256},  // tcgen05.mma, one thread block's share (PTX ISA 8.7, tcgen05 matrix shapes)
    {"hopper", 64, 256},      // wgmma.mma_async m64n256k16 (PTX ISA 8.0)
    // warp tile of CUTLASS's default 16-bit kernels for Ampere (cutlass, default_gemm_configuration.h)
    {"", 64, 64},
};

const FragmentTile& fragment_of(const Gpu& gpu) {
  return *std::find_if(std::begin(fragment_tiles), std::end(fragment_tiles),
      [&](const FragmentTile& row) { return row.architecture.empty() || row.architecture == gpu.architecture; });
}

const char* memory_name(const std::string& level) {
  constexpr std::pair<std::string_view, const char*> names[] = {
      {"hbm", "HBM"}, {"l2", "L2"}, {"smem", "shared memory"}, {"rf", "registers"}};
  for (const auto& [id, name] : names)
    if (id == level) return name;
  return "units";
}

/// Letters of the notation; `use` says "input" or "weight" in words only where that is what they are.
void name_tensors(ChipProgram& chip, const KernelWork& work) {
  const bool forward = work.pass == Pass::forward || work.pass == Pass::recompute;
  const bool of_weight = work.pass == Pass::weight_grad;
  const std::array<const char*, 3> names = work.head_dim > 0 ? std::array{"A", "B", "C"}
                                           : forward         ? std::array{"X", "W", "Y"}
                                           : of_weight       ? std::array{"X", "dY", "dW"}
                                                             : std::array{"dY", "W", "dX"};
  for (std::size_t t = 0; t < names.size(); ++t) chip.tensors[t].name = names[t];
  if (!forward || work.head_dim > 0) chip.tensors[1].use = TensorUse::input;  // two inputs: the words take their names
}

/// gemm_program leaves open how a thread block's multiply-adds share operands; its registers would read one per
/// multiply-add.
void add_fragments(ChipProgram& chip, const CtaTile& tile, const Gpu& gpu) {
  enum { m, n };
  const FragmentTile& most = fragment_of(gpu);
  const std::int64_t rows = std::min(most.m, tile.m), columns = std::min(most.n, tile.n);
  ChipLevel unit;
  unit.name = "mma";
  unit.keeps = {false, false, false};
  unit.store = false;
  unit.fabric = FabricClass::network;
  unit.multicast = unit.reduce = false;
  unit.axes = {{"mma", (tile.m / rows) * (tile.n / columns)}};
  unit.space = {{m, tile.m / rows, 0, true, {}}, {n, tile.n / columns, 0, true, {}}};
  ChipLevel& registers = chip.levels.back();
  registers.keeps = {true, true, true};
  registers.time = {{m, rows, -1, true, {}}, {n, columns, -1, true, {}}};
  chip.levels.insert(chip.levels.end() - 1, std::move(unit));
}

std::string roles_text(const std::vector<int>& tensors, const std::array<const char*, 3>& roles) {
  std::vector<const char*> names;
  for (const int tensor : tensors) names.push_back(roles[tensor]);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " and "));
}

/// Units side by side each get a copy of their own: no GPU multicasts from L2 or shared memory without being told. What
/// is written goes through L2 whether or not the nest keeps it there, and from registers past shared memory.
double bytes_across(const ChipReport& report, const Boundary& boundary) {
  const ChipLevel& outer = report.chip.levels[boundary.outer];
  const std::size_t inside = static_cast<std::size_t>(boundary.outer) + 1;
  if (inside >= report.chip.levels.size() || report.chip.levels[inside].axes.empty()) return boundary.bytes;
  double bytes = 0;
  for (std::size_t t = 0; t < report.chip.tensors.size(); ++t)
    if (outer.keeps[t] || outer.name == "l2")
      bytes += report.counts.at[boundary.outer][t].sent_apart * report.chip.tensors[t].bytes_per_element;
  return bytes;
}

NestCrossing crossing_of(const ChipReport& report, const Boundary& boundary, const KernelWork& work) {
  const auto& levels = report.chip.levels;
  NestCrossing crossing;
  crossing.outer = memory_name(levels[boundary.outer].name);
  crossing.inner = boundary.inner < 0 ? "multiply-adds" : memory_name(levels[boundary.inner].name);
  crossing.bytes = bytes_across(report, boundary) * work.batch;
  crossing.stationary = roles_text(boundary.stationary, product_roles(work));
  crossing.text = boundary.text;
  return crossing;
}

}  // namespace

std::array<const char*, 3> product_roles(const KernelWork& work) {
  if (work.head_dim > 0) return {"left operand", "right operand", "product"};  // both are activations
  if (work.pass == Pass::weight_grad) return {"inputs", "output gradients", "weight gradients"};
  if (work.pass == Pass::input_grad) return {"output gradients", "weights", "input gradients"};
  return {"inputs", "weights", "outputs"};
}

std::optional<ProductNest> product_nest(const KernelWork& work, double operand_bytes, const Gpu& gpu) {
  if (gpu.multiprocessors <= 0 || gpu.l2.value() <= 0 || std::min({work.m, work.n, work.k}) < 1) return std::nullopt;
  const GemmShape shape{work.m, work.n, work.k, work.batch, operand_bytes, work.element_bytes};
  const GpuUnits units{gpu.multiprocessors, gpu.l2};
  const CtaTile tile = choose_tile(shape, units);
  ChipProgram chip = gemm_program(shape, units, tile);
  name_tensors(chip, work);
  add_fragments(chip, tile, gpu);
  const auto report = chip_report(std::move(chip));
  if (!report) return std::nullopt;  // more multiply-adds than can be counted
  ProductNest nest;
  nest.line = nest_line(report->chip);
  for (auto boundary = report->account.boundaries.rbegin(); boundary != report->account.boundaries.rend(); ++boundary)
    nest.crossings.push_back(crossing_of(*report, *boundary, work));
  return nest;
}

}  // namespace stepcast::roofline
