#include "kernels/cuda/attention/cudnn_graph.h"

#ifdef STEPCAST_HAS_CUDNN

#include <algorithm>
#include <array>

namespace stepcast::kernels::gpu {
namespace {

constexpr std::int64_t kMostEngines = 16;

Expected<std::vector<CudnnDescriptor>> proposed_configs(const CudnnLibrary& library, const CudnnGraph& graph) {
  TRY(auto heuristic, CudnnDescriptor::make(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  const cudnnBackendDescriptor_t of = graph.raw();
  constexpr cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  TRY(heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &of));
  TRY(heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
  TRY(heuristic.finalize());

  std::vector<CudnnDescriptor> configs;
  std::array<cudnnBackendDescriptor_t, kMostEngines> raw{};
  for (cudnnBackendDescriptor_t& one : raw) {
    TRY(auto config, CudnnDescriptor::make(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    one = config.raw();
    configs.push_back(std::move(config));
  }
  std::int64_t count = 0;
  TRY(heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostEngines, &count, raw.data()));
  configs.resize(static_cast<std::size_t>(std::min(count, kMostEngines)));
  return configs;
}

Expected<std::int64_t> engine_of(const CudnnLibrary& library, const CudnnDescriptor& config) {
  TRY(auto engine, CudnnDescriptor::make(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t raw = engine.raw();
  std::int64_t count = 0, index = -1;
  TRY(config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  TRY(engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index));
  return index;
}

Expected<CudnnDescriptor> built_plan(const CudnnLibrary& library, cudnnHandle_t handle, const CudnnDescriptor& config) {
  TRY(auto plan, CudnnDescriptor::make(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  const cudnnBackendDescriptor_t of = config.raw();
  TRY(plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &of));
  TRY(plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  TRY(plan.finalize());
  return plan;
}

}  // namespace

Expected<CudnnPlan> CudnnPlan::make(const CudnnLibrary& library, cudnnHandle_t handle, const CudnnGraph& graph) {
  TRY(auto configs, proposed_configs(library, graph));
  Error last{"cuDNN", "no engine for this attention on this GPU", ""};
  for (CudnnDescriptor& config : configs) {
    auto plan = built_plan(library, handle, config);
    if (!plan) {
      last = std::move(plan.error());
      continue;
    }
    CudnnPlan made;
    std::int64_t count = 0;
    TRY(plan->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &made.workspace_bytes_));
    made.library_ = &library;
    made.handle_ = handle;
    made.engine_ = engine_of(library, config).value_or(-1);
    made.config_ = std::move(config);
    made.plan_ = std::move(*plan);
    return made;
  }
  return tl::unexpected(std::move(last));
}

Expected<void> CudnnPlan::run(const CudnnPointers& pointers, void* workspace, cudaStream_t stream) const {
  TRY(auto pack, CudnnDescriptor::make(*library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  const auto count = static_cast<std::int64_t>(pointers.ids.size());
  TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
  TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.addresses.data()));
  TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, pointers.ids.data()));
  TRY(pack.finalize());
  TRY(library_->checked(library_->set_stream(handle_, stream), "cudnnSetStream"));
  return library_->checked(library_->execute(handle_, plan_.raw(), pack.raw()), "cudnnBackendExecute");
}

}  // namespace stepcast::kernels::gpu

#endif
