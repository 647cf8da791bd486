#include "kernels/library/nccl_library.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "kernels/library/library_version.h"

namespace stepcast::kernels {
namespace {

constexpr std::array<std::string_view, 2> nccl_files{"libnccl.so.2", "libnccl.so"};
constexpr const char* nccl_hint =
    "install NCCL (the package libnccl2 of NVIDIA's repository, or nvidia-nccl-cu12/-cu13 of a Python environment) and "
    "put its "
    "folder into LD_LIBRARY_PATH";

}  // namespace

Expected<void> NcclLibrary::checked(NcclResult result, const char* call, NcclCommunicator communicator) const {
  if (result == NcclResult::success) return {};
  std::string text = error_text(result);
  if (last_error != nullptr) {
    const char* words = last_error(communicator);
    if (words != nullptr && *words != '\0') text += fmt::format(": {}", words);
  }
  return fail(call, std::move(text), "NCCL_DEBUG=WARN makes NCCL say more");
}

Expected<std::string> NcclLibrary::version() const {
  int number = 0;
  TRY(checked(get_version(&number), "ncclGetVersion"));
  return nccl_version_text(number);
}

Expected<NcclLibrary> load_nccl(const SharedLibrary& library) {
  NcclLibrary out{{library, {}}};
  TRY(out.read.all_found);
  return out;
}

Expected<const NcclLibrary*> nccl_library() {
  static const Expected<NcclLibrary> loaded = []() -> Expected<NcclLibrary> {
    TRY(auto library, SharedLibrary::open(nccl_files, nccl_hint));
    return load_nccl(library);
  }();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace stepcast::kernels
