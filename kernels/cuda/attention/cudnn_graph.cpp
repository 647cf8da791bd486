// NVIDIA's documentation of the backend interface (cuDNN documentation, "Backend Descriptor Types") names the
// attributes; which operations make up an attention that its fused engines know is told in cudnn_attention_graph.cpp.
#include "kernels/cuda/attention/cudnn_graph.h"

#ifdef STEPCAST_HAS_CUDNN

namespace stepcast::kernels::gpu {

CudnnDims dense_strides(const CudnnDims& dims) { return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}; }

cudnnBackendDescriptor_t CudnnGraph::finished(
    cudnnBackendDescriptorType_t type, const std::vector<Attribute>& attributes) {
  if (!good_) return nullptr;
  auto made = CudnnDescriptor::make(*library_, type);
  if (!made) {
    good_ = tl::unexpected(std::move(made.error()));
    return nullptr;
  }
  for (const Attribute& one : attributes)
    if (good_) good_ = made->set(one.name, one.type, one.count, one.values);
  if (good_) good_ = made->finalize();
  kept_.push_back(std::move(*made));
  return kept_.back().raw();
}

CudnnGraph::Tensor CudnnGraph::describe(std::int64_t id, cudnnDataType_t type, const CudnnDims& dims,
    const CudnnDims& strides, bool is_passed, bool by_value) {
  constexpr std::int64_t alignment = 16;  // bytes; buffers have more
  tensors_.push_back(finished(
      CUDNN_BACKEND_TENSOR_DESCRIPTOR, {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
                                           {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data()},
                                           {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data()},
                                           {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id},
                                           {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment},
                                           {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_passed},
                                           {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value}}));
  return tensors_.size() - 1;
}

CudnnGraph::Tensor CudnnGraph::stored(
    std::int64_t id, cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides) {
  return describe(id, type, dims, strides, false, false);
}

CudnnGraph::Tensor CudnnGraph::scalar(std::int64_t id) {
  return describe(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

CudnnGraph::Tensor CudnnGraph::passed(cudnnDataType_t type, const CudnnDims& dims) {
  return passed(type, dims, dense_strides(dims));
}

CudnnGraph::Tensor CudnnGraph::passed(cudnnDataType_t type, const CudnnDims& dims, const CudnnDims& strides) {
  return describe(next_passed_++, type, dims, strides, true, false);
}

void CudnnGraph::multiply(Tensor a, Tensor b, Tensor c) {
  constexpr cudnnDataType_t math = CUDNN_DATA_FLOAT;
  const auto how =
      finished(CUDNN_BACKEND_MATMUL_DESCRIPTOR, {{CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &math}});
  operations_.push_back(finished(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[a]},
          {CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[b]},
          {CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[c]},
          {CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how}}));
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t how, Tensor x, Tensor y) {
  constexpr cudnnDataType_t math = CUDNN_DATA_FLOAT;
  const auto described = finished(CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
      {{CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &math},
          {CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how}});
  operations_.push_back(finished(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described},
          {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[x]},
          {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[y]}}));
}

void CudnnGraph::reshape(Tensor x, Tensor y) {
  operations_.push_back(finished(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[x]},
          {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[y]}}));
}

void CudnnGraph::apply(cudnnPointwiseMode_t how, std::initializer_list<Tensor> inputs, Tensor y, cudnnDataType_t math) {
  pointwise(finished(CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &how},
                    {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &math}}),
      inputs, y);
}

void CudnnGraph::position(std::int64_t axis, Tensor x, Tensor y) {
  constexpr cudnnPointwiseMode_t how = CUDNN_POINTWISE_GEN_INDEX;
  constexpr cudnnDataType_t math = CUDNN_DATA_FLOAT;
  pointwise(
      finished(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &how},
                                                       {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &math},
                                                       {CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis}}),
      {x}, y);
}

void CudnnGraph::pointwise(cudnnBackendDescriptor_t how, const std::vector<Tensor>& inputs, Tensor y) {
  constexpr cudnnBackendAttributeName_t names[] = {
      CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  std::vector<Attribute> attributes{
      {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &how},
      {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[y]}};
  for (std::size_t at = 0; at < inputs.size(); ++at)
    attributes.push_back({names[at], CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors_[inputs[at]]});
  operations_.push_back(finished(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, attributes));
}

Expected<void> CudnnGraph::finish(cudnnHandle_t handle) {
  if (!good_) return good_;
  TRY(graph_, CudnnDescriptor::make(*library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  good_ = graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      static_cast<std::int64_t>(operations_.size()), operations_.data());
  if (good_ && handle != nullptr) good_ = graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  if (good_) good_ = graph_.finalize();
  return good_;
}

}  // namespace stepcast::kernels::gpu

#endif
