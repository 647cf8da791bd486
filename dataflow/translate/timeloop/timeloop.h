// What Timeloop's three files say, between YAML and the notation. Formats: Timeloop v3 (NVlabs/timeloop, tag v3.0.3),
// architectures of version 0.2/0.3 (subtree, local) and the older flat form (arithmetic, storage).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "dataflow/translate/import_log.h"
#include "model/yaml/yaml.h"

namespace stepcast::dataflow {

/// A storage level or the arithmetic. Instances are over the whole chip, laid out mesh_x * mesh_y.
struct TimeloopLevel {
  std::string name;  ///< as files name it
  std::int64_t instances = 1, mesh_x = 1, mesh_y = 1;
  double entries = 0;          ///< words it holds; 0 = not said
  double word_bits = 0;        ///< 0 = not said (Timeloop takes 16)
  double words_per_cycle = 0;  ///< read and written together; 0 = not said
  std::int64_t buffers = 1;
  Position position;
};

struct TimeloopArch {
  std::vector<TimeloopLevel> storage;  ///< outermost first
  TimeloopLevel arithmetic;
};

struct TimeloopProblem {
  struct Space {
    std::string name;
    std::vector<WrittenIndex> indices;
    bool read_write = false;
  };
  std::string name;
  std::vector<Dim> dims;  ///< in the shape's order
  std::vector<Space> spaces;
  Position position;
};

/// `end` rounds, the last of which (in the last round of all loops further out) stops after `residual`.
struct TimeloopFactor {
  int dim = -1;  ///< index into the problem's dims
  std::int64_t end = 1, residual = 1;
};

struct TimeloopLoops {
  std::vector<TimeloopFactor> inner_to_outer;  ///< in the permutation's order, every dim once
  std::int64_t split = 0;                      ///< so many of them, the innermost, lie on X; the others on Y
  bool written = false;
  Position position;
};

/// Directives of one storage level. `spatial` runs over the instances of the next level inside.
struct TimeloopDirectives {
  TimeloopLoops temporal, spatial;
  std::vector<bool> keep;  ///< by data space
};

TimeloopArch timeloop_arch(const YamlNode& node, ImportLog& log);
TimeloopProblem timeloop_problem(const YamlNode& node, ImportLog& log);

/// By storage level, outermost first; factors of 0 are replaced by what is left of the dim.
std::vector<TimeloopDirectives> timeloop_mapping(
    const YamlNode& node, const TimeloopArch& arch, const TimeloopProblem& problem, ImportLog& log);

/// Timeloop takes words joined by '-' and by '_' alike in many places: "data-spaces" -> "data_spaces".
std::string timeloop_key(const std::string& key);

/// A whole number or a number of at least `least`; anything else is refused and gives `least`.
std::int64_t timeloop_whole(const YamlNode& node, std::int64_t least, const std::string& what, ImportLog& log);
double timeloop_number(const YamlNode& node, double least, const std::string& what, ImportLog& log);

/// A list of plain words; a bare scalar is a list of one.
std::vector<std::string> timeloop_words(const YamlNode& node, const std::string& what, ImportLog& log);

}  // namespace stepcast::dataflow
