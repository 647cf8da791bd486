#include <cmath>

#include <fmt/format.h>

#include "dataflow/notation/arch_properties.h"
#include "dataflow/chip/resolve/resolve.h"
#include "dataflow/notation/fabrics.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {

namespace {

constexpr double picojoules = 1e12;    // per joule
constexpr double flops_per_mac = 2;    // a multiply and an add
constexpr double most_buffers = 1024;  // far above any real store

using ArchProperty = ArchLevel::Property;

/// A value over time as written, per cycle: "16 B/cycle" as it is, "2 TB/s" over the clock.
struct ArchReader {
  const WrittenArch& arch;
  ChipProgram& chip;
  double flops_per_cycle = 0;  // of one innermost unit
  std::string flops_level = {};

  Expected<void> run() {
    TRY(read_clock());
    for (const ArchLevel& level : arch.levels) TRY(add(level));
    return read_rates();
  }

  /// The clock may stand on any level; what is per second is meant in its cycles.
  Expected<void> read_clock() {
    for (const ArchLevel& level : arch.levels)
      for (const ArchProperty& property : level.properties) {
        if (property.name != "clock") continue;
        TRY(positive(level, property));
        if (chip.clock_hz != 0 && chip.clock_hz != property.value)
          return fail(to_text(level.position),
              fmt::format("clock {} Hz at {}, but {} Hz further out", property.value, level.name, chip.clock_hz),
              "cycles are counted on one clock: write it once");
        chip.clock_hz = property.value;
      }
    return {};
  }

  Expected<void> add(const ArchLevel& written) {
    for (const ChipLevel& other : chip.levels)
      if (other.name == written.name)
        return fail(to_text(written.position), fmt::format("level {} stands twice in the arch", written.name),
            "each level needs a name of its own: level lines go by it");
    ChipLevel level;
    level.name = written.name;
    TRY(add_axes(written, level));
    TRY(set_fabric(written, level));
    for (std::size_t p = 0; p < written.properties.size(); ++p) {
      for (std::size_t q = 0; q < p; ++q)
        if (written.properties[q].name == written.properties[p].name)
          return fail(to_text(written.position),
              fmt::format("level {} says '{}' twice", written.name, written.properties[p].name), "once");
      TRY(set_property(written, written.properties[p], level));
    }
    chip.levels.push_back(std::move(level));
    return {};
  }

  static Expected<void> add_axes(const ArchLevel& written, ChipLevel& level) {
    for (const ArchLevel::Axis& axis : written.axes) {
      if (axis.units < 1)
        return fail(to_text(written.position),
            fmt::format("axis {} of level {} has {} units", axis.name, written.name, axis.units), "at least 1");
      for (const ChipAxis& other : level.axes)
        if (other.name == axis.name)
          return fail(to_text(written.position), fmt::format("level {} has two axes '{}'", written.name, axis.name),
              "name each axis once");
      level.axes.push_back({axis.name, axis.units});
    }
    return {};
  }

  /// A chain hands on and adds up on the way, hop by hop: one copy leaves the level outside, one sum comes back.
  static Expected<void> set_fabric(const ArchLevel& written, ChipLevel& level) {
    if (const FabricRow* row = fabric_row(written.fabric.name)) {
      level.fabric = row->kind;
      level.multicast = row->kind == FabricClass::chain || multicasts(written.fabric);
      level.reduce = row->kind == FabricClass::chain || reduces(written.fabric);
      return {};
    }
    return fail(to_text(written.position),
        fmt::format("level {} has an unknown fabric '{}'", written.name, written.fabric.name),
        name_hint(written.fabric.name, names_of(fabric_rows, &FabricRow::name)));
  }

  Expected<void> set_property(const ArchLevel& written, const ArchProperty& property, ChipLevel& level) {
    TRY(positive(written, property));
    const auto per_cycle = [&] { return property.per_cycle ? property.value : property.value / chip.clock_hz; };
    if ((property.name == "bw" || property.name == "flops" || property.name == "lat") && !property.per_cycle &&
        chip.clock_hz == 0)
      return fail(to_text(written.position),
          fmt::format("{} of level {} is in seconds, but no level has a clock", property.name, written.name),
          "add 'clock:1 GHz' to a level, or write it in cycles");
    if (property.name == "cap") level.capacity_bytes = property.value;
    else if (property.name == "bw") level.bytes_per_cycle = per_cycle();
    else if (property.name == "lat")
      level.latency_cycles = property.per_cycle ? property.value : property.value * chip.clock_hz;
    else if (property.name == "word") level.word_bytes = property.value / 8;
    else if (property.name == "energy") level.energy_pj = property.value * picojoules;
    else if (property.name == "buffers") return set_buffers(written, property, level);
    else if (property.name != "clock" && property.name != "flops") return unknown_property(written, property);
    return {};
  }

  static Expected<void> set_buffers(const ArchLevel& written, const ArchProperty& property, ChipLevel& level) {
    if (property.value != std::floor(property.value) || property.value > most_buffers)
      return fail(to_text(written.position), fmt::format("level {} has {} buffers", written.name, property.value),
          fmt::format("a whole number from 1 to {}", most_buffers));
    level.buffers = static_cast<int>(property.value);
    return {};
  }

  static Expected<void> unknown_property(const ArchLevel& written, const ArchProperty& property) {
    return fail(to_text(written.position),
        fmt::format("level {} has an unknown property '{}'", written.name, property.name),
        name_hint(property.name, property_names()));
  }

  static Expected<void> positive(const ArchLevel& written, const ArchProperty& property) {
    const bool zero_allowed = property.name == "lat";
    if (std::isfinite(property.value) && (property.value > 0 || (zero_allowed && property.value == 0))) return {};
    return fail(to_text(written.position),
        fmt::format("{} of level {} is {}", property.name, written.name, property.value),
        "a number above 0; leave the property out where it is not known");
  }

  /// flops of a level is shared by the units inside it.
  Expected<void> read_rates() {
    std::int64_t units_inside = 1;
    for (std::size_t l = arch.levels.size(); l-- > 0;) {
      for (const ArchProperty& property : arch.levels[l].properties) {
        if (property.name != "flops") continue;
        const double per_cycle =
            (property.per_cycle ? property.value : property.value / chip.clock_hz) / static_cast<double>(units_inside);
        if (flops_per_cycle != 0 && std::abs(per_cycle - flops_per_cycle) > 1e-9 * flops_per_cycle)
          return fail(to_text(arch.levels[l].position),
              fmt::format("flops at {} makes {:g} per cycle and innermost unit, flops at {} {:g}", arch.levels[l].name,
                  per_cycle, flops_level, flops_per_cycle),
              "write flops on one level");
        flops_per_cycle = per_cycle;
        flops_level = arch.levels[l].name;
      }
      for (const ArchLevel::Axis& axis : arch.levels[l].axes) units_inside = safe_product(units_inside, axis.units);
    }
    if (flops_per_cycle != 0) chip.macs_per_cycle = flops_per_cycle / flops_per_mac;
    return {};
  }
};

}  // namespace

Expected<void> resolve_arch(const MappingProgram& program, ChipProgram& chip) {
  if (program.archs.empty() || program.archs.front().levels.empty())
    return fail("program", "no arch is written, so there are no levels to map on",
        "write one, such as 'arch dram { glb cap:64 KiB { pe[16x16] } }'");
  if (program.archs.size() > 1)
    return fail(to_text(program.archs[1].position), "a second arch", "a program has one architecture");
  return ArchReader{program.archs.front(), chip}.run();
}

}  // namespace stepcast::dataflow
