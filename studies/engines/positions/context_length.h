// How long the requests are that a network is made for, as engines take it from config.json: of a file by what it says,
// of a network of the catalogue by a table of its checkpoints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/base/embedded.h"

namespace stepcast::engines {

/// studies/engines/positions/*.json; made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_positions();

/// Positions that the config.json of a network, or of its folder, has turned as they were trained or stretched to: what
/// engines take as the longest request where nothing is said. 0: no file, or one that does not tell.
std::int64_t turned_positions(const std::string& file);
/// The same of a network of the catalogue by the name of its checkpoint; by others, and by its id, the longest that its
/// checkpoints without a row of their own have. 0: not told.
std::int64_t published_positions(std::string_view network, std::string_view checkpoint);
/// By a name as it is typed: a file, or an id or another name of the catalogue. 0: not told.
std::int64_t context_length(const std::string& name);

}  // namespace stepcast::engines
