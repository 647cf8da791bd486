// Which files a launch may open by naming them: regular ones beside the script or below its folder, and below folders
// that the user names. A launch is somebody's text, and what it opens is shown.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::launch {

/// The launch's own folder, then those of --files-from.
using LaunchFolders = std::vector<std::string>;

/// The path of a file as a launch names it, or of one of its last name beside the launch; "" where there is none.
/// Errors, with the way to allow it: the file lies outside the folders (links followed), or is no regular file.
Expected<std::string> named_file(const LaunchFolders& folders, const std::string& name);

}  // namespace stepcast::launch
