#include "kernels/gpu_module/gpu_side.h"

#include "kernels/gpu_module/gpu_port.h"

__attribute__((visibility("default"))) const stepcast::kernels::GpuSide* stepcast_gpu_side() {
  static const stepcast::kernels::GpuSide side{STEPCAST_GPU_PORT, stepcast::kernels::devices,
      stepcast::kernels::cuda_support, stepcast::kernels::gpu_libraries, stepcast::kernels::open_gpu,
      stepcast::kernels::open_collectives};
  return &side;
}
