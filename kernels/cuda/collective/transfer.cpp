// Copies between pinned host memory and the GPU, as data loaders and checkpoints make them: pageable memory would go
// through a staging buffer of the driver and time the host's own copy.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cuda/operation.h"

namespace stepcast::kernels::gpu {
namespace {

/// Words that differ from their neighbours and from copy to copy (Knuth's multiplicative hash of the place).
void write_pattern(unsigned char* into, std::size_t bytes, std::uint64_t salt) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = (at + 1 + (salt << 48)) * 0x9e3779b97f4a7c15ull;
    std::memcpy(into + at, &word, std::min(sizeof word, bytes - at));
  }
}

double differing_bytes(const unsigned char* one, const unsigned char* other, std::size_t bytes) {
  if (std::memcmp(one, other, bytes) == 0) return 0;
  double count = 0;
  for (std::size_t i = 0; i < bytes; ++i) count += one[i] != other[i] ? 1 : 0;
  return count;
}

class Transfer : public Operation {
 public:
  Transfer(GpuContext& context, TransferKind kind, std::size_t bytes)
      : context_(context), to_device_(kind == TransferKind::host_to_device), bytes_(bytes) {}
  [[nodiscard]] Bytes touched() const override { return Bytes(static_cast<double>(bytes_)); }
  Expected<void> allocate(int copies) override;
  Expected<void> launch(int copy, cudaStream_t stream) override;
  Expected<Check> check() override;

 private:
  /// Between two sets: whole lines of 256 bytes, so that each is aligned as its own allocation would be.
  [[nodiscard]] std::size_t stride() const { return (bytes_ + 255) / 256 * 256; }
  GpuContext& context_;
  bool to_device_;
  std::size_t bytes_;
  [[nodiscard]] unsigned char* host_at(std::size_t offset) const {
    return static_cast<unsigned char*>(host_.get()) + offset;
  }
  OwnedHandle<void*, cudaFreeHost> host_;  ///< page-locked
  DeviceBuffer device_;
};

Expected<void> Transfer::allocate(int copies) {
  host_.reset();
  device_ = DeviceBuffer();
  const std::size_t all = stride() * static_cast<std::size_t>(copies);
  void* pinned = nullptr;
  TRY(checked(cudaMallocHost(&pinned, all), "cudaMallocHost"));
  host_.reset(pinned);
  for (int copy = 0; copy < copies; ++copy) {
    write_pattern(host_at(stride() * static_cast<std::size_t>(copy)), bytes_, static_cast<std::uint64_t>(copy));
  }
  TRY(device_, context_.filled(all / 4, Fill::fp32));
  return {};
}

Expected<void> Transfer::launch(int copy, cudaStream_t stream) {
  const std::size_t at = stride() * static_cast<std::size_t>(copy);
  const cudaError_t status = to_device_
                                 ? cudaMemcpyAsync(device_.as(at), host_at(at), bytes_, cudaMemcpyHostToDevice, stream)
                                 : cudaMemcpyAsync(host_at(at), device_.as(at), bytes_, cudaMemcpyDeviceToHost, stream);
  return checked(status, "cudaMemcpyAsync");
}

/// Every byte, against what a copy of another kind brings.
Expected<Check> Transfer::check() {
  if (!to_device_) std::memset(host_at(0), 0, bytes_);
  TRY(launch(0, context_.stream));
  TRY(context_.wait("copy"));
  constexpr std::size_t chunk = std::size_t{16} << 20;
  std::vector<unsigned char> on_gpu(std::min(chunk, bytes_));
  Check check;
  for (std::size_t at = 0; at < bytes_; at += chunk) {
    const std::size_t part = std::min(chunk, bytes_ - at);
    TRY(checked(cudaMemcpy(on_gpu.data(), device_.as(at), part, cudaMemcpyDeviceToHost), "cudaMemcpy"));
    check.error += differing_bytes(on_gpu.data(), host_at(at), part);
    check.compared += static_cast<std::int64_t>(part);
  }
  return check;
}

}  // namespace

MadeOperation make_transfer(GpuContext& context, const TransferQuery& query) {
  if (!(query.bytes >= Bytes(1))) return fail(work_name(query), "nothing to copy", "at least 1 byte");
  return std::make_unique<Transfer>(context, query.kind, static_cast<std::size_t>(query.bytes.value()));
}

}  // namespace stepcast::kernels::gpu
