// Chips from text, and what is wrong with them, as text.
#pragma once

#include <string>

#include <fmt/format.h>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

inline Expected<ChipProgram> chip_of(const std::string& text, const std::string& op = "") {
  auto program = parse(text, "chip.flow");
  if (!program) return tl::unexpected(program.error());
  return chip_program(*program, op);
}

/// "chip.flow:4:1: what (hint)", or "" where nothing is wrong.
inline std::string chip_error(const std::string& text, const std::string& op = "") {
  const auto chip = chip_of(text, op);
  return chip ? "" : to_text(chip.error());
}

/// The loops of a level: "par k:16 on x, for m:128".
inline std::string loops_of_level(const ChipProgram& chip, const std::string& name) {
  std::string text;
  for (const ChipLevel& level : chip.levels) {
    if (level.name != name) continue;
    for (const ChipLoop& loop : level.space)
      text += fmt::format("{}par {}:{}{} on {}", text.empty() ? "" : ", ", chip.dims[loop.dim].name, loop.trips,
          loop.ragged ? "?" : "", level.axes[loop.axis].name);
    for (const ChipLoop& loop : level.time)
      text += fmt::format(
          "{}for {}:{}{}", text.empty() ? "" : ", ", chip.dims[loop.dim].name, loop.trips, loop.ragged ? "?" : "");
  }
  return text;
}

/// Tensors that a level keeps: "I W O".
inline std::string kept_at(const ChipProgram& chip, const std::string& name) {
  std::string text;
  for (const ChipLevel& level : chip.levels)
    for (std::size_t t = 0; level.name == name && t < chip.tensors.size(); ++t)
      if (level.keeps[t]) text += (text.empty() ? "" : " ") + chip.tensors[t].name;
  return text;
}

}  // namespace stepcast::dataflow
