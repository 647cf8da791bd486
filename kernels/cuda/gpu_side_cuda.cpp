#include "kernels/gpu_module/gpu_side.h"

#include "kernels/gpu_module/gpu_port.h"

__attribute__((visibility("default"))) const stepcast::GpuSide* stepcast_gpu_side() {
  static const stepcast::GpuSide side{STEPCAST_GPU_PORT, stepcast::devices, stepcast::cuda_support,
      stepcast::gpu_libraries, stepcast::open_gpu, stepcast::open_collectives};
  return &side;
}
