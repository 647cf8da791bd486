// Reads the text of a constraint into its nodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/sweep/where/where_node.h"

namespace stepcast {

/// The last node is the whole. Errors as Where::read() has them.
Expected<std::vector<WhereNode>> read_where(
    const std::string& text, const std::string& where, std::span<const WordAxis> axes);

}  // namespace stepcast
