// Sizes of a serving engine that follow the GPU it runs on, unless somebody says them.
#pragma once

#include <cstdint>

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

}  // namespace stepcast::engines
