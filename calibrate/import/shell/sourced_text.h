// Files that a shell script reads into itself or runs: whoever reads the script says which are at hand.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace stepcast::calibrate {

/// The text of a file that a script sources or runs, by the name that it gives; nothing where it is not at hand. Empty:
/// nobody looks for such files, and none is missed.
using SourcedText = std::function<std::optional<std::string>(const std::string& name)>;

}  // namespace stepcast::calibrate
