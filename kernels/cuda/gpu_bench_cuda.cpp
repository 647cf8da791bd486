#include <cuda_runtime_api.h>

#include <chrono>
#include <string>
#include <thread>

#include "kernels/cuda/graph_timer.h"
#include "kernels/cuda/operation.h"
#include "kernels/bench/gpu_bench.h"
#include "kernels/library/library_version.h"
#include "kernels/library/nvml.h"

namespace stepcast::kernels {
namespace {

using gpu::checked;

constexpr std::size_t probe_numbers = 256;

/// Streams of the bench: they do not wait for the default stream.
using BenchStream = gpu::OwnedHandle<cudaStream_t, cudaStreamDestroy>;
Expected<BenchStream> make_stream() {
  cudaStream_t stream = nullptr;
  TRY(checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"));
  return BenchStream(stream);
}

std::string runtime_version() {
  int version = 0;
  if (!checked(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion")) return "";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

GpuSettings settings_of(const NvmlGpu& nvml) {
  GpuSettings settings;
  nvml.describe(settings);
  settings.cuda = runtime_version();
  settings.cublas = cublas_state(CUDART_VERSION / 1000).version;
  settings.cudnn = cudnn_state().version;
  settings.nccl = nccl_state().version;
  return settings;
}

/// Without NVML the bench still times; it then knows no clocks.
NvmlGpu nvml_of(const DeviceInfo& device) {
  const auto library = Nvml::open();
  if (!library || device.bus_id.empty()) return {};
  return library->gpu(device.bus_id).value_or(NvmlGpu());
}

class CudaGpuBench : public GpuBench {
 public:
  static Expected<std::unique_ptr<GpuBench>> open(int index, const DeviceInfo& device);
  ~CudaGpuBench() override { (void)context_.use(); }
  [[nodiscard]] const DeviceInfo& device() const override { return context_.device; }
  [[nodiscard]] const GpuSettings& settings() const override { return settings_; }
  Expected<GpuState> state() override { return nvml_.state(); }
  Expected<Bytes> free_memory() override;
  Expected<std::unique_ptr<PreparedWork>> prepare(const Work& work) override;
  Expected<std::unique_ptr<PreparedWork>> prepare(const Sequence& sequence) override;
  Expected<void> usable() override;
  [[nodiscard]] Seconds now() const override { return gpu::host_clock(); }
  void wait(Seconds duration) override { std::this_thread::sleep_for(std::chrono::duration<double>(duration.value())); }

 private:
  Expected<void> start();
  gpu::GpuContext context_;
  BenchStream stream_, side_stream_;
  gpu::DeviceBuffer probe_;  ///< what usable() writes
  NvmlGpu nvml_;
  GpuSettings settings_;
};

Expected<void> CudaGpuBench::start() {
  TRY(context_.use());
  TRY(stream_, make_stream());
  TRY(side_stream_, make_stream());
  context_.stream = stream_.get();
  context_.side_stream = side_stream_.get();
  TRY(probe_, context_.filled(probe_numbers, gpu::Fill::fp32));
  return {};
}

Expected<std::unique_ptr<GpuBench>> CudaGpuBench::open(int index, const DeviceInfo& device) {
  auto bench = std::make_unique<CudaGpuBench>();
  bench->context_.index = index;
  bench->context_.device = device;
  // Before this process itself is on the GPU: inside a container its number is another one, and it would be listed.
  bench->nvml_ = nvml_of(device);
  bench->settings_ = settings_of(bench->nvml_);
  TRY(bench->start());
  return bench;
}

Expected<Bytes> CudaGpuBench::free_memory() {
  TRY(context_.use());
  std::size_t free = 0, all = 0;
  TRY(checked(cudaMemGetInfo(&free, &all), "cudaMemGetInfo"));
  return Bytes(static_cast<double>(free));
}

Expected<std::unique_ptr<PreparedWork>> CudaGpuBench::prepare(const Work& work) {
  TRY(context_.use());
  return gpu::prepare_work(context_, work);
}

Expected<std::unique_ptr<PreparedWork>> CudaGpuBench::prepare(const Sequence& sequence) {
  TRY(context_.use());
  return gpu::prepare_sequence(context_, sequence);
}

/// An error that stays is told by every call; one that passed was told where it happened.
Expected<void> CudaGpuBench::usable() {
  TRY(context_.use());
  (void)cudaGetLastError();
  TRY(checked(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
  return context_.fill(probe_.as(), probe_numbers, gpu::Fill::fp32);
}

}  // namespace

Expected<std::unique_ptr<GpuBench>> open_gpu(int index) {
  TRY(const auto found, devices());
  if (index < 0 || static_cast<std::size_t>(index) >= found.size()) {
    return fail("GPU " + std::to_string(index), "there are " + std::to_string(found.size()) + " GPUs",
        found.empty() ? "nvidia-smi shows whether the driver sees a GPU" : "0 to " + std::to_string(found.size() - 1));
  }
  return CudaGpuBench::open(index, found[static_cast<std::size_t>(index)]);
}

}  // namespace stepcast::kernels
