#include "studies/notation/dataflow_chip.h"

#include <cmath>

#include <fmt/format.h>

#include "dataflow/chip/account/stationary.h"

namespace stepcast::notation {
namespace {

std::string kept_text(const ChipProgram& chip, const ChipLevel& level) {
  std::string text;
  for (std::size_t t = 0; t < chip.tensors.size(); ++t)
    if (!level.keeps.empty() && level.keeps[t]) text += (text.empty() ? "" : " ") + chip.tensors[t].name;
  return text.empty() ? text : "[" + text + "]";
}

std::string loop_text(const ChipProgram& chip, const ChipLoop& loop) {
  return fmt::format(" {}:{}{}", chip.dims[loop.dim].name, loop.trips, loop.ragged ? "?" : "");
}

std::string boundary_name(const ChipProgram& chip, const Boundary& boundary) {
  return fmt::format("{} -> {}", chip.levels[boundary.outer].name,
      boundary.inner < 0 ? "multiply-adds" : chip.levels[boundary.inner].name);
}

std::string axis_name(const ChipProgram& chip, int level, int axis) { return chip.levels[level].axes[axis].name; }

std::int64_t units_through(const ChipProgram& chip, int level) {
  std::int64_t units = 1;
  for (int l = 0; l <= level; ++l)
    for (const ChipAxis& axis : chip.levels[l].axes) units *= axis.units;
  return units;
}

/// Nothing to say where neither a tensor is kept inside nor units stand side by side.
bool says_something(const Boundary& boundary) {
  return boundary.inner >= 0 || boundary.text.find(',') != std::string::npos;
}

void tensor_json(JsonWriter& json, const ChipReport& r, int l, int t) {
  const TensorCount& count = r.counts.at[l][t];
  json.open(r.chip.tensors[t].name);
  json.field("tile", count.tile);
  count_field(json, "reads", count.reads);
  count_field(json, "fills", count.fills);
  count_field(json, "updates", count.updates);
  count_field(json, "refills", count.refills);
  count_field(json, "temporal_reductions", count.reductions);
  count_field(json, "sent", count.sent);
  count_field(json, "sent_apart", count.sent_apart);
  count_field(json, "resident_bytes", r.account.levels[l].resident_bytes[t]);
  json.close();
}

void level_json(JsonWriter& json, const ChipReport& r, int l) {
  const ChipLevel& level = r.chip.levels[l];
  const LevelAccount& account = r.account.levels[l];
  json.open();
  json.fields("name", level.name, "instances", r.counts.instances[l], "units", units_through(r.chip, l));
  json.fields("rounds", account.rounds, "occupancy", account.occupancy);
  json.open("tensors");
  for (std::size_t t = 0; t < r.chip.tensors.size(); ++t)
    if (level.keeps[t]) tensor_json(json, r, l, static_cast<int>(t));
  json.close();
  count_field(json, "resident_bytes", account.used_bytes);
  if (level.capacity_bytes > 0) count_field(json, "capacity_bytes", level.capacity_bytes);
  else json.null_field("capacity_bytes");
  if (level.bytes_per_cycle > 0) count_field(json, "cycles", account.cycles);
  else json.null_field("cycles");
  json.fields("energy_pj", account.energy_pj, "energy_per_element_pj", account.energy_per_element_pj);
  json.field("energy_source", account.energy_source);
  json.close();
}

void boundary_json(JsonWriter& json, const ChipReport& r, const Boundary& b) {
  json.open();
  json.field("outer", r.chip.levels[b.outer].name);
  if (b.inner < 0) json.null_field("inner");
  else json.field("inner", r.chip.levels[b.inner].name);
  count_field(json, "bytes", b.bytes);
  json.field("flops_per_byte", b.flops_per_byte);
  if (b.ridge_flops_per_byte > 0) {
    json.fields("ridge_flops_per_byte", b.ridge_flops_per_byte, "roof_flops_per_cycle", b.roof_flops_per_cycle);
    json.field("limited_by", b.flops_per_byte < b.ridge_flops_per_byte ? "bandwidth" : "compute");
    count_field(json, "cycles", b.cycles);
  }
  json.field("text", b.text);
  json.close();
}

}  // namespace

Expected<ChipReport> chip_report(ChipProgram chip, Windows windows) {
  TRY(auto nest, nest_of(chip, windows));
  ChipReport report;
  count(nest, report.counts);
  report.account = account(chip, report.counts);
  report.chip = std::move(chip);
  return report;
}

std::string nest_line(const ChipProgram& chip) {
  std::string text;
  for (const ChipLevel& level : chip.levels) {
    text += (text.empty() ? "" : " - ") + level.name + kept_text(chip, level);
    for (const ChipLoop& loop : level.space) text += loop_text(chip, loop) + "@" + level.axes[loop.axis].name;
    for (const ChipLoop& loop : level.time) text += loop_text(chip, loop);
  }
  return text;
}

void count_field(JsonWriter& json, std::string_view key, double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53: from here on doubles skip integers
  if (std::floor(value) == value && std::abs(value) < exact) json.field(key, static_cast<std::int64_t>(value));
  else json.field(key, value);
}

void chip_head_json(JsonWriter& json, const ChipReport& r) {
  json.fields("operator", r.chip.op, "nest", nest_line(r.chip));
  json.open("dims");
  for (const ChipDim& dim : r.chip.dims) json.field(dim.name, dim.extent);
  json.close();
  json.open_list("levels");
  for (std::size_t l = 0; l < r.chip.levels.size(); ++l) level_json(json, r, static_cast<int>(l));
  json.close();
  count_field(json, "cycles", r.account.cycles);
  count_field(json, "compute_cycles", r.account.compute_cycles);
  count_field(json, "skew_cycles", r.account.skew_cycles);
  json.fields("macs", r.counts.macs, "units", r.counts.units, "all_units", r.account.all_units);
  json.fields("utilisation", r.account.utilisation, "bound", r.account.bound, "energy_pj", r.account.energy_pj);
  json.field("mac_energy_pj", r.account.mac_energy_pj);
  if (r.chip.clock_hz > 0) json.field("time_s", r.account.cycles / r.chip.clock_hz);
  json.open_list("boundaries");
  for (const Boundary& boundary : r.account.boundaries) boundary_json(json, r, boundary);
  json.close();
  json.field("warnings", r.account.warnings);
}

void chip_stationary_json(JsonWriter& json, const ChipReport& r) {
  for (const Boundary& b : r.account.boundaries) {
    if (!says_something(b)) continue;
    std::vector<std::string> names;
    for (int tensor : b.stationary) names.push_back(r.chip.tensors[tensor].name);
    json.open();
    json.field("boundary", boundary_name(r.chip, b));
    if (b.inner < 0) json.null_field("at");
    else json.field("at", r.chip.levels[b.inner].name);
    json.fields("tensors", names, "text", b.text);
    json.close();
  }
}

void chip_collectives_json(JsonWriter& json, const ChipReport& r) {
  for (const AxisCollective& c : r.account.collectives) {
    json.open();
    json.fields("kind", c.kind, "tensor", r.chip.tensors[c.tensor].name, "level", r.chip.levels[c.level].name);
    json.fields("axis", axis_name(r.chip, c.level, c.axis), "group_size", c.ranks);
    count_field(json, "in_network_bytes", c.in_network_bytes);
    if (!c.ring.empty()) {
      json.field("ring", c.ring);
      count_field(json, "ring_bytes", c.ring_bytes);
    }
    if (c.all_reduce_bytes > 0) count_field(json, "all_reduce_bytes", c.all_reduce_bytes);
    json.close();
  }
}

void chip_placements_json(JsonWriter& json, const ChipReport& r) {
  for (const AxisPlacement& placement : r.account.placements) {
    json.row("tensor", r.chip.tensors[placement.tensor].name, "level", r.chip.levels[placement.level].name, "axis",
        axis_name(r.chip, placement.level, placement.axis), "placement", to_text(placement, r.chip), "parts",
        placement.parts);
  }
}

}  // namespace stepcast::notation
