// Random programs of everything that the grammar can say, as trees.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  MappingProgram program();

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool coin() { return below(2) == 0; }
  std::int64_t size() { return coin() ? 1 + below(9) : std::int64_t{1} << below(41); }

  /// Names without dots, distinct; among them keywords, which the grammar does not reserve.
  std::vector<std::string> some(int n);
  std::string one() { return some(1)[0]; }
  std::string dotted() { return coin() ? one() : one() + "." + one(); }
  std::vector<std::string> dotted(int n);

  MeshLine mesh();
  Alias alias(const std::string& name);
  Statement statement();
  Layout layout();
  HomeStatement home();
  MoveStatement move();
  LevelStatement level_line();

  WrittenArch arch();
  ArchLevel arch_level(const std::string& name);
  void properties(ArchLevel& level);

  WrittenOperator written_operator(const std::string& name);
  WrittenAccess access();
  void constraints(WrittenOperator& op);

  std::mt19937 random_;
};

}  // namespace stepcast::dataflow
