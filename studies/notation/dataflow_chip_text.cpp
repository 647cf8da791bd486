// The page of one operator on an architecture: one screen.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/account/stationary.h"
#include "model/base/quantity_text.h"
#include "studies/notation/dataflow_chip.h"
#include "studies/print/digits.h"
#include "studies/print/table.h"

namespace stepcast::notation {
namespace {

std::string shown_bytes(double bytes) { return format_bytes(Bytes(bytes)); }

std::string shown_energy(double pj) {
  for (const auto& [scale, unit] : {std::pair{1e12, "J"}, {1e9, "mJ"}, {1e6, "uJ"}, {1e3, "nJ"}})
    if (pj >= scale) return fmt::format("{:.3g} {}", pj / scale, unit);
  return fmt::format("{:.3g} pJ", pj);
}

std::string share(double part, double whole) { return format_percent(whole > 0 ? part / whole : 0); }

std::string heading(const ChipReport& r) {
  std::vector<std::string> dims;
  for (const ChipDim& dim : r.chip.dims) dims.push_back(fmt::format("{}:{}", dim.name, dim.extent));
  return fmt::format("{}  {}\n{}\n", r.chip.op, fmt::join(dims, " "), nest_line(r.chip));
}

std::string units_text(const ChipReport& r, std::size_t l) {
  std::int64_t there = 1;
  for (std::size_t i = 0; i <= l; ++i)
    for (const ChipAxis& axis : r.chip.levels[i].axes) there *= axis.units;
  const std::int64_t working = r.counts.instances[l];
  return working == there ? fmt::format("{}", there) : fmt::format("{} of {}", working, there);
}

std::string counts_table(const ChipReport& r) {
  Table table({{"level"}, {"units", Align::right}, {"tensor"}, {"tile", Align::right}, {"reads", Align::right},
      {"fills", Align::right}, {"updates", Align::right}, {"refills", Align::right}, {"resident", Align::right}});
  for (std::size_t l = 0; l < r.chip.levels.size(); ++l) {
    const ChipLevel& level = r.chip.levels[l];
    bool first = true;
    for (std::size_t t = 0; t < r.chip.tensors.size(); ++t) {
      if (!level.keeps[t]) continue;
      const TensorCount& c = r.counts.at[l][t];
      table.add({first ? level.name : "", first ? units_text(r, l) : "", r.chip.tensors[t].name,
          grouped_digits(static_cast<double>(c.tile)), grouped_digits(c.reads), grouped_digits(c.fills),
          grouped_digits(c.updates), grouped_digits(c.refills), shown_bytes(r.account.levels[l].resident_bytes[t])});
      first = false;
    }
    if (first) table.add({level.name, units_text(r, l), "keeps nothing", "", "", "", "", "", ""});
  }
  return "\nCounts per unit, in elements\n" + table.text("  ");
}

std::string time_lines(const ChipReport& r) {
  const ChipAccount& a = r.account;
  std::string text = fmt::format("\n{} cycles", grouped_digits(a.cycles));
  if (r.chip.clock_hz > 0)
    text += fmt::format(
        " ({} at {})", format_seconds(Seconds(a.cycles / r.chip.clock_hz)), exact_text(Hertz(r.chip.clock_hz)));
  text += fmt::format(", bound by {}: {} of multiply-adds", a.bound, grouped_digits(a.compute_cycles));
  for (std::size_t l = 0; l < a.levels.size(); ++l)
    if (a.levels[l].cycles > 0)
      text += fmt::format(", {} of {}", grouped_digits(a.levels[l].cycles), r.chip.levels[l].name);
  if (a.skew_cycles > 0) text += fmt::format("; {} of fill, drain and preload on top", grouped_digits(a.skew_cycles));
  text += fmt::format("\n{} multiply-adds on {} of {} units, utilisation {}\n",
      grouped_digits(static_cast<double>(r.counts.macs)), r.counts.units, a.all_units, format_percent(a.utilisation));
  for (std::size_t l = 0; l < a.levels.size(); ++l)
    if (!r.chip.levels[l].axes.empty())
      text += fmt::format("{}: {} rounds (waves), {} of the units at work\n", r.chip.levels[l].name,
          grouped_digits(static_cast<double>(a.levels[l].rounds)), format_percent(a.levels[l].occupancy));
  return text;
}

std::string energy_lines(const ChipReport& r) {
  const ChipAccount& a = r.account;
  Table table({{""}, {"", Align::right}, {"", Align::right}, {""}});
  for (std::size_t l = 0; l < a.levels.size(); ++l)
    if (a.levels[l].energy_pj > 0)
      table.add({r.chip.levels[l].name, shown_energy(a.levels[l].energy_pj), share(a.levels[l].energy_pj, a.energy_pj),
          fmt::format("{:.3g} pJ per element: {}", a.levels[l].energy_per_element_pj, a.levels[l].energy_source)});
  table.add(
      {"multiply-adds", shown_energy(a.mac_energy_pj), share(a.mac_energy_pj, a.energy_pj), "Horowitz, ISSCC 2014"});
  return fmt::format("\nEnergy {}\n", shown_energy(a.energy_pj)) + table.text("  ");
}

std::string crossing(const ChipReport& r, const Boundary& b) {
  return fmt::format(
      "{} -> {}", r.chip.levels[b.outer].name, b.inner < 0 ? "multiply-adds" : r.chip.levels[b.inner].name);
}

std::string intensity_text(const Boundary& b) {
  if (std::isinf(b.flops_per_byte)) return "nothing crosses";
  std::string text = fmt::format("{:.4g} FLOP/B", b.flops_per_byte);
  if (b.ridge_flops_per_byte > 0)
    text += fmt::format(", {} the ridge at {:.4g}: at most {:.4g} FLOP/cycle",
        b.flops_per_byte < b.ridge_flops_per_byte ? "below" : "above", b.ridge_flops_per_byte, b.roof_flops_per_cycle);
  return text;
}

std::string boundary_lines(const ChipReport& r) {
  std::string text = "\nBoundaries\n";
  for (const Boundary& b : r.account.boundaries) {
    text += fmt::format("  {}: {} cross, {}\n", crossing(r, b), shown_bytes(b.bytes), intensity_text(b));
    if (b.inner >= 0 || b.text.find(',') != std::string::npos) text += fmt::format("    {}\n", b.text);
  }
  return text;
}

std::string placement_text(const ChipReport& r, const AxisCollective& c) {
  for (const AxisPlacement& p : r.account.placements)
    if (p.level == c.level && p.axis == c.axis && p.tensor == c.tensor) return to_text(p, r.chip);
  return {};
}

std::string unit_lines(const ChipReport& r) {
  if (r.account.collectives.empty()) return {};
  Table table({{"axis"}, {"tensor"}, {"placement"}, {"fabric"}, {"bytes", Align::right}, {"as a ring, per unit"}});
  for (const AxisCollective& c : r.account.collectives)
    table.add({fmt::format("{}.{} x{}", r.chip.levels[c.level].name, r.chip.levels[c.level].axes[c.axis].name, c.ranks),
        r.chip.tensors[c.tensor].name, placement_text(r, c), c.kind, shown_bytes(c.in_network_bytes),
        c.ring.empty() ? "" : fmt::format("{} {}", c.ring, shown_bytes(c.ring_bytes))});
  return "\nUnits side by side\n" + table.text("  ");
}

std::string warning_lines(const ChipReport& r) {
  std::string text;
  for (const std::string& warning : r.account.warnings)
    text += paragraph(warning, "  note: ", "        ", page_columns);
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string chip_text(const ChipReport& report) {
  return heading(report) + counts_table(report) + time_lines(report) + boundary_lines(report) + unit_lines(report) +
         energy_lines(report) + warning_lines(report);
}

}  // namespace stepcast::notation
