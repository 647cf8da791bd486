// Bars of block characters, an eighth of a character fine, for shares of a whole.
#pragma once

#include <string>

namespace stepcast::print {

/// `share` of `width` characters, 0 to 1; what is not 0 shows at least a sliver. Without Unicode: whole '#'.
std::string bar(double share, int width, bool unicode);

/// The same, filled up to `width` with a light track.
std::string gauge(double share, int width, bool unicode);

}  // namespace stepcast::print
