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

}  // namespace stepcast::engines
