// Libraries that are loaded when they are first needed, so that one program runs with and without them: NVML belongs to
// the driver, cuBLASLt, cuDNN and NCCL to whatever CUDA, Python environment or cluster module is there.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/base/error.h"

namespace stepcast::kernels {

class SharedLibrary {
 public:
  /// The first of `names` ("libnccl.so.2") that the loader finds: where LD_LIBRARY_PATH and the system say, then lib64
  /// and lib of CUDA_HOME, CUDA_PATH and /usr/local/cuda. Fails with every name that was tried, the loader's words and
  /// `hint`. Never unloaded: handles outlive any order of destruction.
  static Expected<SharedLibrary> open(std::span<const std::string_view> names, const std::string& hint);

  /// Fails naming the library and the symbol: an older or newer version than the program knows.
  template <typename Function> Expected<void> load(Function*& into, const char* symbol) const {
    TRY(auto found, find(symbol));
    into = reinterpret_cast<Function*>(found);
    return {};
  }
  [[nodiscard]] Expected<void*> find(const char* symbol) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// Finds functions of a library for the members of a struct, which are initialised by it: read("ncclSend").
struct FunctionReader {
  std::optional<SharedLibrary> library;  ///< none: every function is null
  Expected<void> all_found;              ///< or the first that was needed and is missing

  /// A function of any type.
  struct Found {
    void* function;
    template <typename Function> operator Function*() const { return reinterpret_cast<Function*>(function); }
  };
  Found operator()(const char* symbol);
  /// The first of the names that is there; null where none is, which is no failure.
  [[nodiscard]] Found any_of(std::initializer_list<const char*> symbols) const;
};

}  // namespace stepcast::kernels
