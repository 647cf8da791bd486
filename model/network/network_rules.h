// What must hold between the numbers of a network, wherever they come from: a file of ours, a Hugging Face config, the
// record of a measured run.
#pragma once

#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast {

/// Fills in what follows from the rest (kv_heads, head_dim, the MLP width of a network whose layers are all routed)
/// where it is 0, then checks every rule. An error points to "<where>:/<field>" with the names of our own network
/// files.
Expected<NetworkSpec> complete_network(NetworkSpec spec, const std::string& where);

}  // namespace stepcast
