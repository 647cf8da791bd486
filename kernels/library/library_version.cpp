#include "kernels/library/library_version.h"

#include <fmt/format.h>

#include <array>

#include "kernels/library/nvml.h"
#include "kernels/library/shared_library.h"

namespace stepcast::kernels {
namespace {

/// Opens one of the names and puts what `ask` says into the version.
template <typename Ask>
LibraryState state_of_library(std::string name, std::string_view file, const std::string& hint, Ask ask) {
  LibraryState state{std::move(name), {}, {}};
  const auto library = SharedLibrary::open(std::array{file}, hint);
  const Expected<std::string> version = library ? ask(*library) : tl::unexpected(library.error());
  if (version) {
    state.version = *version;
  } else {
    state.missing = to_text(version.error());
  }
  return state;
}

/// For libraries whose version function returns a size_t.
template <typename Text> auto asks(const char* symbol, Text text) {
  return [=](const SharedLibrary& library) -> Expected<std::string> {
    std::size_t (*version)() = nullptr;
    TRY(library.load(version, symbol));
    return text(static_cast<long long>(version()));
  };
}

Expected<std::string> ask_nccl(const SharedLibrary& library) {
  int (*version)(int*) = nullptr;
  TRY(library.load(version, "ncclGetVersion"));
  int number = 0;
  if (const int status = version(&number); status != 0)
    return fail("ncclGetVersion", fmt::format("error {}", status), "a libnccl that works; NCCL_DEBUG=INFO says more");
  return nccl_version_text(number);
}

}  // namespace

std::string version_text(long long number, long long major_worth) {
  return fmt::format("{}.{}.{}", number / major_worth, number % major_worth / 100, number % 100);
}

std::string nccl_version_text(long long number) { return version_text(number, number < 10000 ? 1000 : 10000); }
std::string cudnn_version_text(long long number) { return version_text(number, number < 10000 ? 1000 : 10000); }

LibraryState cublas_state(int cuda_major) {
  return state_of_library("cublasLt", fmt::format("libcublasLt.so.{}", cuda_major),
      "it is part of the CUDA toolkit; LD_LIBRARY_PATH or CUDA_HOME says where it is",
      asks("cublasLtGetVersion", [](long long number) { return version_text(number, 10000); }));
}

LibraryState cudnn_state() {
  return state_of_library("cudnn", "libcudnn.so.9", "install cuDNN 9, or put its folder on LD_LIBRARY_PATH",
      asks("cudnnGetVersion", cudnn_version_text));
}

LibraryState nccl_state() {
  return state_of_library("nccl", "libnccl.so.2", "install NCCL 2, or put its folder on LD_LIBRARY_PATH", ask_nccl);
}

LibraryState nvml_state() {
  LibraryState state{"nvml", {}, {}};
  const auto nvml = Nvml::open();
  if (!nvml) {
    state.missing = to_text(nvml.error());
  } else {
    state.version = nvml->driver();
  }
  return state;
}

}  // namespace stepcast::kernels
