// A launch by its text, and what it asks for in words.
#pragma once

#include <string>

#include <fmt/format.h>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch::meant_launches {

inline Expected<Launch> read_in(const std::string& text, const std::string& where = "run.yaml") {
  LaunchSource source;
  source.flag = find_launch_flag("--megatron");
  source.file = where;
  return read_launch_text(text, where, source);
}

/// What a launch of a dialect asks for, where it is read; else the error. Samples that are not packed are taken for as
/// long as the launch lets them be, as if --seq told it.
inline std::string meaning_of(const std::string& text, const std::string& where = "run.yaml") {
  const auto launch = read_in(text, where);
  if (!launch) return to_text(launch.error());
  LaunchHints hints;
  hints.gpus = 8;
  hints.told.insert(FieldId::sequence);
  const auto reading = read_meaning(*launch, hints);
  if (!reading) return to_text(reading.error());
  std::string said = fmt::format("{} {} ", launch->framework->id, reading->request.network->id);
  for (const auto& [key, value] : reading->request.said()) said += fmt::format(" {}={}", key, value.text);
  return said;
}

}  // namespace stepcast::launch::meant_launches
