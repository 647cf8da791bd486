// A launch as it is written, and what it comes to: for tests of what is read.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "studies/engines/launch_flags.h"
#include "tests/studies/run_program.h"

namespace stepcast::engines {

using Told = std::map<std::string, std::string, std::less<>>;

inline std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing_program::own_path(name);
  std::ofstream(path) << text;
  return path;
}

struct Read {
  AskedEngine asked;
  std::vector<std::string> warnings;
  std::string error;
};
inline Read read(const std::string& text, const Told& told = {}, const std::string& network = "", bool lenient = false,
    const std::map<std::string, std::string>& defined = {}) {
  Read out;
  auto launch =
      read_engine_launch({.file = written("launch.sh", text), .words = {}, .defined = defined, .folders = {}});
  if (!launch) return {{}, {}, to_text(launch.error())};
  auto warnings = understood(*launch, lenient);
  if (!warnings) return {{}, {}, to_text(warnings.error())};
  auto asked = asked_engine(*launch, told, network, {.lenient = lenient});
  if (!asked) return {{}, {}, to_text(asked.error())};
  return {std::move(*asked), std::move(*warnings), ""};
}

/// The value that the launch gives a flag; what was wrong with the launch where it was refused.
inline std::string flag_of(const Read& got, const std::string& flag) {
  if (!got.error.empty()) return got.error;
  const auto found = got.asked.flags.find(flag);
  return found == got.asked.flags.end() ? "" : found->second;
}

/// The text with every `from` changed.
inline std::string with_changed(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace stepcast::engines
