// What a serving engine does unless somebody says otherwise: sizes that follow the GPU it runs on, and which row of the
// catalogue its releases run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/engine.h"
#include "model/machine/machine.h"

namespace stepcast::engines {

struct HabitRanks {
  std::int64_t tensor = 1, groups = 1;  ///< of a replica: tensor ranks of each group, and groups
  bool offline = false;                 ///< vLLM's LLM(), not its server
};
/// The row with the engine's own sizes on such a GPU; what differs from the catalogue's row stays as it is.
Engine as_usual(Engine row, const Gpu& gpu, const HabitRanks& ranks);

/// Engine::host_pace of the row, or of the host beside such a GPU; 0: it is as fast as those the row was measured on.
double host_pace_of(const Engine& row, const Gpu& gpu);

/// Which row of the catalogue the releases of an engine before some number are.
struct EngineRelease {
  std::string_view engine, before;  ///< "": all that are left
  std::string_view row;
};
/// By engine, the oldest first.
std::span<const EngineRelease> engine_releases();

/// {0, 9, 1} of "0.9.1.dev3"; empty where it does not begin with a number.
std::vector<int> numbers_of_release(std::string_view release);

/// The row of an engine's release; the engine's own where the release is not told.
std::string_view row_of_release(std::string_view engine, std::string_view release);

}  // namespace stepcast::engines
