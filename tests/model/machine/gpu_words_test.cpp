#include "model/machine/gpu_words.h"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

Machine machine_with(const std::string& id, const std::string& gpu) {
  Machine machine;
  machine.id = machine.name = id;
  machine.gpu.id = machine.gpu.name = gpu;
  return machine;
}

TEST(GpuWords, AModelThatTheMachineLacksIsAnother) {
  const Machine h100 = machine_with("DGX H100", "NVIDIA H100-SXM5-80GB"), gh200 = machine_with("alps", "GH200");
  for (const char* same :
      {"h100", "nvidia-h100-mega-80gb", "NVIDIA-H100-80GB-HBM3", "gpu", "nvidia", "h100_1g.5gb", ""})
    EXPECT_FALSE(names_other_gpu(same, h100)) << same;
  for (const char* other : {"nvidia-l4", "a100", "nvidia-tesla-t4", "mi250", "a100_1g.5gb", "gh200", "h10"})
    EXPECT_TRUE(names_other_gpu(other, h100)) << other;
  EXPECT_TRUE(names_other_gpu("nvidia-h200-141gb", gh200));
  EXPECT_FALSE(names_other_gpu("mi250", machine_with("frontier", "AMD MI250X")));
}

TEST(GpuWords, AcceleratorsThatAreNoGpusAreKnownByTheirPlugins) {
  EXPECT_EQ(other_chip("google.com/tpu"), "TPUs");
  EXPECT_EQ(other_chip("quay.io/ascend/vllm-ascend:v0.11.0"), "Ascend NPUs");
  EXPECT_EQ(other_chip("aws.amazon.com/neurondevice"), "Neuron cores");
  for (const char* gpu : {"nvidia.com/gpu", "amd.com/gpu", "vllm/vllm-openai:v0.11.0", "cpu", "memory"})
    EXPECT_EQ(other_chip(gpu), "") << gpu;
  EXPECT_EQ(chip_of_environment({{"A", "1"}, {"HCCL_CONNECT_TIMEOUT", "1800"}, {"NCCL_DEBUG", "INFO"}}), "Ascend NPUs");
  EXPECT_EQ(chip_of_environment({{"NCCL_DEBUG", "INFO"}, {"CUDA_VISIBLE_DEVICES", "0"}}), "");
}

TEST(GpuWords, DevicesOfPjrtAreToldByTheirValue) {
  EXPECT_EQ(chip_of_environment({{"PJRT_DEVICE", "TPU"}}), "TPUs");
  EXPECT_EQ(chip_of_environment({{"PJRT_DEVICE", "NEURON"}}), "Neuron cores");
  EXPECT_EQ(chip_of_environment({{"PJRT_DEVICE", "CUDA"}}), "");
}

TEST(GpuWords, VariablesOfRocmAreForGpusOfAmd) {
  for (const char* name :
      {"HSA_FORCE_FINE_GRAIN_PCIE", "HIP_VISIBLE_DEVICES", "HIPBLASLT_TUNING_FILE", "RCCL_MSCCL", "SGLANG_USE_AITER"})
    EXPECT_EQ(vendor_of_environment({{name, "1"}}), "AMD's GPUs") << name;
  EXPECT_EQ(vendor_of_environment({{"NCCL_DEBUG", "INFO"}, {"HIPSTER", "1"}}), "");
}

TEST(GpuWords, VendorsAreToldByResourcesImagesDevicesAndBackends) {
  for (const char* word : {"amd.com/gpu", "rocm/vllm:rocm6.4", "vllm/vllm-openai-rocm:v0.14.0", "/dev/kfd",
           "lmsysorg/sglang:v0.5.6-rocm700-mi35x", "ROCM_AITER_FA"})
    EXPECT_EQ(vendor_of(word), "AMD's GPUs") << word;
  for (const char* word : {"nvidia.com/gpu", "nvidia.com/gpu=0", "nvcr.io/nvidia/tritonserver:25.03"})
    EXPECT_EQ(vendor_of(word), "NVIDIA's GPUs") << word;
  for (const char* word : {"vllm/vllm-openai:v0.11.0", "cpu", "FLASH_ATTN", "/data/waiter", ""})
    EXPECT_EQ(vendor_of(word), "") << word;
  Machine amd = machine_with("MI300X", "AMD MI300X"), nvidia = machine_with("DGX H100", "NVIDIA H100");
  amd.gpu.architecture = "cdna3", nvidia.gpu.architecture = "hopper";
  EXPECT_TRUE(is_other_vendor("AMD's GPUs", nvidia));
  EXPECT_FALSE(is_other_vendor("AMD's GPUs", amd));
  EXPECT_TRUE(is_other_vendor("NVIDIA's GPUs", amd));
  EXPECT_FALSE(is_other_vendor("", nvidia));
}

}  // namespace
}  // namespace stepcast
