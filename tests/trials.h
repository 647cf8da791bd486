// How many trials a random test takes: sanitizers make everything about ten times as long.
#pragma once

#include <algorithm>

namespace stepcast {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// All of them, one in sixteen with sanitizers: those look for other defects than wrong figures, and find them in the
/// first trials. The release build, which `./test` runs, takes them all.
template <typename Count> constexpr Count trials(Count all) { return sanitized ? std::max<Count>(all / 16, 1) : all; }

}  // namespace stepcast
