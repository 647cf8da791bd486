#include "kernels/gpu_module/gpu_side.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "kernels/gpu_module/gpu_port.h"
#include "kernels/library/shared_library.h"
#include "model/errors/error_context.h"

namespace stepcast::kernels {
namespace {

constexpr const char* kNoGpuSide = "this build of stepcast has no CUDA";
constexpr const char* kHowToBuildIt =
    "install the CUDA toolkit with nvcc: ./stepcast calibrate measure then builds the GPU side; or bring a program "
    "that ./carry made where nvcc is";

/// Beside the program, above it (test programs of a build folder), and where `cmake --install` puts it;
/// STEPCAST_GPU_MODULE names another file. "" where none is there.
std::string module_path() {
  if (const char* named = std::getenv("STEPCAST_GPU_MODULE"); named != nullptr && *named != '\0') return named;
  std::error_code unreadable;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (unreadable) return "";
  for (const char* folder : {".", "..", "../lib/stepcast"}) {
    const std::filesystem::path file = (program.parent_path() / folder / "libstepcast_gpu.so").lexically_normal();
    if (std::filesystem::exists(file, unreadable)) return file.string();
  }
  return "";
}

Expected<const GpuSide*> load_gpu_side() {
  const std::string path = module_path();
  if (path.empty()) return fail("", kNoGpuSide, kHowToBuildIt);
  const std::array<std::string_view, 1> names{path};
  TRY(const auto module, SharedLibrary::open(names, kHowToBuildIt));
  const GpuSide* (*entry)() = nullptr;
  TRY(module.load(entry, "stepcast_gpu_side"));
  const GpuSide* side = entry();
  if (std::string_view(side->port) != STEPCAST_GPU_PORT) {
    return fail("", fmt::format("{} was built from other sources than this program", path),
        "./stepcast calibrate measure builds both");
  }
  return side;
}

/// Loaded once per process; the failure is remembered as well.
const Expected<const GpuSide*>& gpu_side() {
  static const Expected<const GpuSide*> side = load_gpu_side();
  return side;
}

tl::unexpected<Error> missing_for(std::string where) {
  return tl::unexpected(error_at(std::move(where), gpu_side().error()));
}

}  // namespace

Expected<std::vector<DeviceInfo>> devices() {
  if (!gpu_side()) return missing_for("devices");
  return (*gpu_side())->devices();
}

std::string cuda_support() { return gpu_side() ? (*gpu_side())->cuda_support() : "no CUDA"; }

std::vector<LibraryState> gpu_libraries() {
  if (gpu_side()) return (*gpu_side())->gpu_libraries();
  std::vector<LibraryState> libraries;
  for (const char* name : {"cublasLt", "cudnn", "nccl", "nvml"}) {
    libraries.push_back({name, "", gpu_side().error().what});
  }
  return libraries;
}

Expected<std::unique_ptr<GpuBench>> open_gpu(int index) {
  if (!gpu_side()) return missing_for(fmt::format("GPU {}", index));
  return (*gpu_side())->open_gpu(index);
}

Expected<std::unique_ptr<CollectiveBench>> open_collectives(const LaunchPlace& place) {
  if (!gpu_side()) return missing_for("collectives");
  return (*gpu_side())->open_collectives(place);
}

}  // namespace stepcast::kernels
