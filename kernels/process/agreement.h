// Results of a step that every process takes: all get what all gave, or all get the same Error.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/process/rendezvous.h"
#include "model/base/error.h"

namespace stepcast::kernels {

/// What each process gave. Where one failed, its Error, with its number where there are several processes.
Expected<std::vector<std::string>> agree(Rendezvous& processes, const Expected<std::string>& mine);

/// Values on their way to processes of the same build.
template <typename T> std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string text(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(text.data(), values.data(), text.size());
  return text;
}
template <typename T> std::vector<T> values_in(const std::string& text) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> values(text.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), text.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace stepcast::kernels
