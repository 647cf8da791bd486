// Files of AMD's Primus whose engine is torchtitan: a preset of the network, a preset of the training, and what the
// file puts over them, each by torchtitan's own names.
#pragma once

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

bool is_primus_torchtitan(const Launch& launch);

/// Leaves torchtitan's names. Errors: a preset that is not known, or what no forecast follows.
Expected<void> open_primus_torchtitan(Launch& launch);

}  // namespace stepcast::launch
