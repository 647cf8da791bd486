// Layers of the stages of a serving engine as people and launches write them: "31,30".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast::run {

/// Of each stage in order; `stages` are no more than the layers. Errors: text that is no whole numbers from 1, one for
/// each stage, which come to the network's layers.
Expected<std::vector<std::int64_t>> read_stage_layers(
    const std::string& text, const std::string& where, const NetworkSpec& network, std::int64_t stages);

}  // namespace stepcast::run
