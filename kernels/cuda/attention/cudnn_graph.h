// GPU side only. A graph of cuDNN operations, written down one line per operation, and the plan that cuDNN's heuristic
// makes of it. The first failure is remembered and comes out when the graph is finished.
#pragma once

#include "kernels/cuda/attention/cudnn_library.h"

#ifdef STEPCAST_HAS_CUDNN

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace stepcast::kernels::gpu {

using CudnnDims = std::array<std::int64_t, 4>;

/// Row-major.
CudnnDims dense_strides(const CudnnDims& dims);

class CudnnGraph {
 public:
  /// Numbers a tensor within its graph.
  using Tensor = std::size_t;

  explicit CudnnGraph(const CudnnLibrary& library) : library_(&library) {}

  /// In memory, at an address that each call gives for `id`.
  Tensor stored(std::int64_t id, cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides);
  /// One fp32 number on the host, likewise.
  Tensor scalar(std::int64_t id);
  /// Handed from one operation to the next, never stored.
  Tensor passed(cudnnDataType_t type, const CudnnDims& dims);
  Tensor passed(cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides);

  void multiply(Tensor a, Tensor b, Tensor c);
  void reduce(cudnnReduceTensorOp_t how, Tensor x, Tensor y);
  void reshape(Tensor x, Tensor y);
  /// y = how(x); y = how(x, b); y = t ? x : b for CUDNN_POINTWISE_BINARY_SELECT.
  void apply(cudnnPointwiseMode_t how, std::initializer_list<Tensor> inputs, Tensor y,
      cudnnDataType_t math = CUDNN_DATA_FLOAT);
  /// y = the position along `axis`.
  void position(std::int64_t axis, Tensor x, Tensor y);

  /// Without a handle it is the graph of a GPU that whoever asks for engines describes.
  Expected<void> finish(cudnnHandle_t handle);
  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return graph_.raw(); }

 private:
  struct Attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    std::int64_t count;
    const void* values;
  };
  Tensor describe(std::int64_t id, cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides,
      bool is_passed, bool by_value);
  cudnnBackendDescriptor_t finished(cudnnBackendDescriptorType_t type, const std::vector<Attribute>& attributes);
  void pointwise(cudnnBackendDescriptor_t how, const std::vector<Tensor>& inputs, Tensor y);

  const CudnnLibrary* library_;
  std::deque<CudnnDescriptor> kept_;
  std::vector<cudnnBackendDescriptor_t> tensors_, operations_;
  CudnnDescriptor graph_;
  std::int64_t next_passed_ = 1000;  ///< ids of what is passed on, beyond those of what is stored
  Expected<void> good_;
};

/// Addresses of one call by the ids of stored tensors and scalars.
struct CudnnPointers {
  std::vector<std::int64_t> ids;
  std::vector<void*> addresses;
  void add(std::int64_t id, const void* address) {
    ids.push_back(id);
    addresses.push_back(const_cast<void*>(address));
  }
};

class CudnnPlan {
 public:
  /// The first of the heuristic's engines that can be built. Fails where there is none.
  static Expected<CudnnPlan> make(const CudnnLibrary& library, cudnnHandle_t handle, const CudnnGraph& graph);
  /// Enqueued on the stream and not waited for.
  Expected<void> run(const CudnnPointers& pointers, void* workspace, cudaStream_t stream) const;
  [[nodiscard]] std::size_t workspace_bytes() const { return static_cast<std::size_t>(workspace_bytes_); }
  [[nodiscard]] std::int64_t engine() const { return engine_; }

 private:
  const CudnnLibrary* library_ = nullptr;
  cudnnHandle_t handle_ = nullptr;
  CudnnDescriptor config_, plan_;
  std::int64_t workspace_bytes_ = 0, engine_ = -1;
};

}  // namespace stepcast::kernels::gpu

#endif
