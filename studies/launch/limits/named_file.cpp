#include "studies/launch/limits/named_file.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace stepcast::launch {
namespace {

namespace fs = std::filesystem;

/// Is `path` below `folder`? Both are canonical.
bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

/// Files of the kernel, which tell of the process and the machine.
bool is_of_the_system(const fs::path& path) {
  constexpr const char* folders[] = {"/proc", "/dev", "/sys"};
  return std::any_of(
      std::begin(folders), std::end(folders), [&](const char* folder) { return is_below(path, folder); });
}

Expected<bool> may_open(const LaunchFolders& folders, const fs::path& path, const std::string& name) {
  std::error_code none;
  if (!fs::exists(path, none)) return false;
  const fs::path real = fs::canonical(path, none);
  if (none || is_of_the_system(real) || !fs::is_regular_file(real, none))
    return fail(name, "the launch names it, and it is no regular file", "a copy of what it holds beside the launch");
  const bool allowed = std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    std::error_code missing;
    const fs::path at = fs::canonical(folder, missing);
    return !missing && is_below(real, at);
  });
  if (allowed) return true;
  return fail(name, fmt::format("the launch names it, and it lies outside of {}", folders.front()),
      fmt::format("--files-from {} to have it read, or a copy beside the launch", real.parent_path().string()));
}

/// "$HERE/params/8b.sh", "params/8b.sh", "8b.sh": where the front of a name hangs on the machine it was written for.
std::vector<fs::path> ends_of(const std::string& name) {
  std::vector<fs::path> ends = {name};
  const bool steps_back = name.find("..") != std::string::npos;
  for (std::size_t slash = name.find('/'); slash != std::string::npos && !steps_back; slash = name.find('/', slash + 1))
    if (slash + 1 < name.size() && name[slash + 1] != '/') ends.emplace_back(name.substr(slash + 1));
  if (steps_back) ends.push_back(fs::path(name).filename());
  return ends;
}

}  // namespace

Expected<std::string> named_file(const LaunchFolders& folders, const std::string& name) {
  // one beside the launch goes before an error of where it is named
  Expected<std::string> found;
  for (const fs::path& part : ends_of(name))
    for (const std::string& folder : folders) {
      const fs::path path = fs::path(folder) / part;
      auto may = may_open(folders, path, name);
      if (may && *may) return path.string();
      if (!may && found) found = tl::unexpected(std::move(may.error()));
    }
  return found;
}

}  // namespace stepcast::launch
