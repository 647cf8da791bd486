#include "kernels/library/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace stepcast::kernels {
namespace {

/// Where CUDA toolkits keep their libraries, in the order in which they are asked.
std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const char* toolkit) {
    if (toolkit == nullptr || *toolkit == '\0') return;
    for (const char* below : {"/lib64", "/lib"}) {
      const std::string folder = std::string(toolkit) + below;
      if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
    }
  };
  add(std::getenv("CUDA_HOME"));
  add(std::getenv("CUDA_PATH"));
  add("/usr/local/cuda");
  return folders;
}

/// The loader's words on the last thing that went wrong.
std::string loader_words() {
  const char* words = dlerror();
  return words != nullptr ? words : "the loader gives no reason";
}

/// What was tried so far, and why it did not work.
struct LibrarySearch {
  std::vector<std::string> names, words;

  void* open(const std::string& name) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) words.push_back(loader_words());
    return handle;
  }

  void* open_any(std::span<const std::string_view> wanted, const std::vector<std::string>& folders) {
    names.assign(wanted.begin(), wanted.end());
    for (const std::string& name : names) {
      if (void* handle = open(name)) return handle;
    }
    for (const std::string& folder : folders) {
      for (const std::string& name : names) {
        // A file that is not there has nothing to say; one that is there and does not load does.
        if (name.find('/') != std::string::npos || !std::filesystem::exists(folder + "/" + name)) continue;
        if (void* handle = open(folder + "/" + name)) return handle;
      }
    }
    return nullptr;
  }
};

std::string path_of(void* handle, const std::string& otherwise) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return otherwise;
  return *map->l_name != '\0' ? map->l_name : otherwise;
}

}  // namespace

Expected<SharedLibrary> SharedLibrary::open(std::span<const std::string_view> names, const std::string& hint) {
  const std::vector<std::string> folders = toolkit_folders();
  LibrarySearch search;
  SharedLibrary library;
  library.handle_ = search.open_any(names, folders);
  if (library.handle_ == nullptr) {
    return fail(names.empty() ? "library" : std::string(names.front()),
        fmt::format("{} cannot be loaded from the loader's path, {}: {}", fmt::join(search.names, " or "),
            fmt::join(folders, ", "), fmt::join(search.words, "; ")),
        hint);
  }
  library.path_ = path_of(library.handle_, names.empty() ? "" : std::string(names.front()));
  return library;
}

Expected<void*> SharedLibrary::find(const char* symbol) const {
  (void)dlerror();
  void* found = dlsym(handle_, symbol);
  if (found == nullptr) {
    return fail(path_, fmt::format("has no function {}: {}", symbol, loader_words()),
        "an older or newer version of the library than this program knows");
  }
  return found;
}

FunctionReader::Found FunctionReader::operator()(const char* symbol) {
  if (!library) return {nullptr};
  const auto found = library->find(symbol);
  if (!found && all_found) all_found = tl::unexpected(found.error());
  return {found.value_or(nullptr)};
}

FunctionReader::Found FunctionReader::any_of(std::initializer_list<const char*> symbols) const {
  for (const char* symbol : symbols)
    if (const auto found = library ? library->find(symbol) : nullptr; found && *found != nullptr) return {*found};
  return {nullptr};
}

}  // namespace stepcast::kernels
