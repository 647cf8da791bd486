// A product on a systolic array as SCALE-Sim's config and topology: the mapping must be one of its three dataflows.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "dataflow/translate/foreign.h"
#include "dataflow/translate/product.h"
#include "dataflow/translate/scalesim/scalesim.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

tl::unexpected<Error> not_scalesim(const std::string& where, std::string what) {
  return fail(
      where, std::move(what), "SCALE-Sim has no name for it: it knows ws, os and is on one array with two axes");
}

class ScalesimWriter {
 public:
  explicit ScalesimWriter(const ChipProgram& chip) : chip_(chip) {}

  Expected<Exported> run() {
    const auto product = product_of(chip_);
    if (!product) return not_scalesim(chip_.op, "an operator that is no matrix product");
    product_ = *product;
    TRY(find_array());
    TRY(const auto dataflow, find_dataflow());
    return written(*dataflow);
  }

 private:
  /// The innermost level, and the only one with units.
  Expected<void> find_array() {
    for (std::size_t l = 0; l + 1 < chip_.levels.size(); ++l)
      if (!chip_.levels[l].axes.empty()) return not_scalesim(chip_.levels[l].name, "units outside the innermost level");
    const ChipLevel& array = chip_.levels.back();
    if (array.axes.size() != 2) return not_scalesim(array.name, fmt::format("{} axes of units", array.axes.size()));
    if (!steps(array.time).empty()) return not_scalesim(array.name, "rounds in time inside a unit");
    held_ = {-1, -1};
    for (const ChipLoop& loop : array.space) {
      if (loop.trips == 1) continue;
      if (held_[loop.axis] >= 0) return not_scalesim(array.name, "two loops on one axis");
      held_[loop.axis] = loop.dim;
      if (loop.trips != std::min(array.axes[loop.axis].units, chip_.dims[loop.dim].extent))
        return not_scalesim(array.name, fmt::format("{} of {} units in use", loop.trips, array.axes[loop.axis].units));
    }
    return {};
  }

  /// Dims that step in time over all levels, outer to inner.
  std::vector<int> steps(const std::vector<ChipLoop>& loops) const {
    std::vector<int> dims;
    for (const ChipLoop& loop : loops)
      if (loop.trips > 1) dims.push_back(loop.dim);
    return dims;
  }

  Expected<const ScalesimDataflow*> find_dataflow() const {
    std::vector<int> order;
    for (const ChipLevel& level : chip_.levels)
      for (const int dim : steps(level.time)) {
        if (contains(order, dim))
          return not_scalesim(level.name, fmt::format("{} steps in time twice", chip_.dims[dim].name));
        order.push_back(dim);
      }
    for (const ScalesimDataflow& row : scalesim_dataflows)
      if (fits(row, order)) return &row;
    return not_scalesim(chip_.levels.back().name,
        "what stays in the units, what the axes hold and the order of folds are no dataflow of it");
  }

  [[nodiscard]] bool fits(const ScalesimDataflow& row, const std::vector<int>& order) const {
    const auto holds = [&](int axis, int role) {
      return held_[axis] < 0 ? extent(role) == 1 || chip_.levels.back().axes[axis].units == 1
                             : held_[axis] == product_.loop[role];
    };
    if (!holds(0, row.rows) || !holds(1, row.cols)) return false;
    const std::size_t stays = row.stays == std::string("ifmap") ? 0 : row.stays == std::string("filter") ? 1 : 2;
    for (std::size_t role = 0; role < product_.tensor.size(); ++role)
      if (chip_.levels.back().keeps[product_.tensor[role]] != (role == stays)) return false;
    auto at = order.begin();
    for (const int role : row.order)
      if (at != order.end() && *at == product_.loop[role]) ++at;
    return at == order.end();
  }

  [[nodiscard]] std::int64_t extent(int role) const { return chip_.dims[product_.loop[role]].extent; }

  Exported written(const ScalesimDataflow& dataflow) const {
    const ChipLevel& array = chip_.levels.back();
    Exported out;
    // SRAM sizes and bandwidth bear on DRAM traffic and stalls only, which the notation counts by loops instead.
    const std::string config = fmt::format(
        "[general]\nrun_name = {}\n\n[architecture_presets]\nArrayHeight: {}\nArrayWidth: {}\nIfmapSramSzkB: 64\n"
        "FilterSramSzkB: 64\nOfmapSramSzkB: 64\nIfmapOffset: 0\nFilterOffset: 10000000\nOfmapOffset: 20000000\n"
        "Bandwidth: 10\nDataflow: {}\nMemoryBanks: 1\n\n[run_presets]\nInterfaceBandwidth: CALC\n",
        chip_.op, array.axes[0].units, array.axes[1].units, dataflow.name);
    const std::string topology =
        fmt::format("Layer, M, N, K,\n{}, {}, {}, {},\n", chip_.op, extent(0), extent(1), extent(2));
    out.files = {{chip_.op + ".cfg", config}, {chip_.op + ".csv", topology}};
    out.text = config + "\n" + topology;
    out.notes = {
        "SRAM sizes, offsets and bandwidth are SCALE-Sim's examples: they bear on its DRAM traffic and stalls, not on "
        "SRAM counts and cycles of compute",
        "run it with -i gemm: the topology has products"};
    if (array.fabric != FabricClass::chain)
      out.notes.push_back(
          "SCALE-Sim's cycles are of an array that hands on from neighbour to neighbour; here the units are reached at "
          "once");
    return out;
  }

  const ChipProgram& chip_;
  Product product_;
  std::array<int, 2> held_{};
};

}  // namespace

Expected<Exported> to_scalesim(const ChipProgram& chip) { return ScalesimWriter(chip).run(); }

}  // namespace stepcast::dataflow
