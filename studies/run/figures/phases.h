// The phases of a step and the lifetimes of memory as rows, in the order and under the names that reports use.
#pragma once

#include <array>
#include <string_view>

#include "sim/memory.h"
#include "sim/step.h"

namespace stepcast::run {

struct PhaseRow {
  std::string_view name, key;
  Seconds time;
};

/// In the order in which they happen; `key` is the JSON key.
inline std::array<PhaseRow, 11> phase_rows(const Phases& phases) {
  return {{{"data wait", "data_wait", phases.data_wait}, {"host to device", "host_to_device", phases.host_to_device},
      {"forward", "forward", phases.forward}, {"backward", "backward", phases.backward},
      {"bubble", "bubble", phases.bubble},
      {"exposed communication", "exposed_communication", phases.exposed_communication},
      {"gradient sync", "gradient_sync", phases.gradient_sync}, {"norm and clip", "clip", phases.clip},
      {"optimizer", "optimizer", phases.optimizer}, {"parameter gather", "parameter_gather", phases.parameter_gather},
      {"host", "host", phases.host}}};
}

struct LifetimeRow {
  std::string_view name, key;
  Bytes bytes;
};

inline std::array<LifetimeRow, 8> lifetime_rows(const MemoryReport& memory) {
  return {{{"weights", "weights", memory.weights}, {"gradients", "gradients", memory.gradients},
      {"optimizer", "optimizer", memory.optimizer}, {"activations", "activations", memory.activations},
      {"gathered weights", "gathered_weights", memory.gathered_weights}, {"temporary", "temporary", memory.temporary},
      {"communication", "communication", memory.communication},
      {"framework, CUDA context, fragmentation", "framework", memory.framework}}};
}

}  // namespace stepcast::run
