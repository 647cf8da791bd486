// A network that was built for one batch of an engine, for another.
#pragma once

#include "model/network/network.h"

namespace stepcast {

/// Gives an iteration's network, built for `from`, the extents of `to`, which differs in its numbers of sequences and
/// positions alone. False, and nothing changed: it would have other operators, or it cannot be told.
bool resize_network(
    Network& network, const NetworkSpec& spec, const BatchShape& from, const BatchShape& to, AttentionForm form);

}  // namespace stepcast
