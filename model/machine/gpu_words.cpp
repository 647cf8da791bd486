#include "model/machine/gpu_words.h"

#include <algorithm>
#include <cctype>

#include "model/base/text.h"

namespace stepcast {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// "a100" of "a100_1g.5gb": letters and the digits behind them, where a word begins so; "" = it has none.
std::string_view model_in(std::string_view kind) {
  constexpr std::size_t most_letters = 3;  // a100, gh200, mi250
  for (std::size_t at = 0; at < kind.size(); ++at) {
    if (!is_letter(kind[at]) || (at > 0 && (is_letter(kind[at - 1]) || is_digit(kind[at - 1])))) continue;
    std::size_t digits = at;
    while (digits < kind.size() && is_letter(kind[digits])) ++digits;
    std::size_t end = digits;
    while (end < kind.size() && is_digit(kind[end])) ++end;
    if (digits - at <= most_letters && end > digits) return kind.substr(at, end - at);
  }
  return {};
}

/// As a word, or its beginning: "mi250" of "mi250x", and not "a10" of "a100" or "h200" of "gh200".
bool has_model(std::string_view words, std::string_view model) {
  for (std::size_t at = words.find(model); at != words.npos; at = words.find(model, at + 1)) {
    const std::size_t end = at + model.size();
    if ((at == 0 || !is_letter(words[at - 1])) && (end == words.size() || !is_digit(words[end]))) return true;
  }
  return false;
}

struct ChipWord {
  std::string_view part, chip;
};
constexpr std::string_view tpus = "TPUs", neuron = "Neuron cores", gaudi = "Gaudi", ascend = "Ascend NPUs",
                           intel = "Intel's GPUs", atom = "Rebellions' chips", rngd = "Furiosa's chips",
                           host = "the host's processors", slices = "slices of GPUs (MIG)";
// Resources: device plugins of Google, AWS, Habana, Huawei, Intel, Rebellions and Furiosa; images: vllm-project and its
// hardware plugins. "google-tpu-v5e-2x2:4" is a resource profile of KubeAI, "H100_40GB" an accelerator of Baseten.
constexpr ChipWord chip_words[] = {{"google.com/tpu", tpus}, {"vllm-tpu", tpus}, {"google-tpu", tpus},
    {"aws.amazon.com/neuron", neuron}, {"vllm-neuron", neuron}, {"habana.ai/gaudi", gaudi}, {"vllm-gaudi", gaudi},
    {"vllm-hpu", gaudi}, {"huawei.com/ascend", ascend}, {"vllm-ascend", ascend}, {"gpu.intel.com/", intel},
    {"vllm-xpu", intel}, {"vllm-cpu", host}, {"vllm-openai-cpu", host}, {"nvidia.com/mig-", slices},
    {"h100_40gb", slices}, {"rebellions.ai/", atom}, {"vllm-rbln", atom}, {"furiosa.ai/", rngd}, {"furiosa-llm", rngd}};
constexpr ChipWord variable_words[] = {{"HCCL_", ascend}, {"ASCEND_", ascend}, {"PYTORCH_NPU_", ascend},
    {"VLLM_ASCEND_", ascend}, {"NEURON_", neuron}, {"HABANA_", gaudi}, {"PT_HPU_", gaudi}, {"VLLM_XLA_", tpus},
    {"TPU_", tpus}, {"VLLM_CPU_", host}};
// Devices of PyTorch/XLA's PJRT_DEVICE (docs/source/learn/pjrt.md of pytorch/xla, and AWS' plugin).
constexpr ChipWord pjrt_devices[] = {{"TPU", tpus}, {"NEURON", neuron}, {"CPU", host}};
constexpr std::string_view amd = "AMD's GPUs", nvidia = "NVIDIA's GPUs";
// Resources of the vendors' device plugins and their Container Device Interface, the device that ROCm's containers are
// given (rocm.docs.amd.com, "Running ROCm Docker containers"), registries and tags of images, and what engines call
// kernels of AMD alone (sglang's and vLLM's attention backends).
constexpr ChipWord vendor_words[] = {
    {"amd.com/gpu", amd}, {"/dev/kfd", amd}, {"rocm", amd}, {"nvidia.com/gpu", nvidia}, {"nvcr.io/", nvidia}};
// Only ROCm, its libraries and kernels of it read these (ROCm/HIP, ROCm/ROCR-Runtime, ROCm/MIOpen, ROCm/hipBLASLt,
// ROCm/rccl, ROCm/aiter; vllm/envs.py; python/sglang/srt of sgl-project/sglang).
constexpr std::string_view rocm_variables[] = {"HSA_", "HIP_", "HIPBLASLT_", "MIOPEN_", "RCCL_", "ROCBLAS_", "ROCR_",
    "AITER_", "VLLM_ROCM_", "SGLANG_USE_AITER", "SGLANG_ROCM_"};

bool has_variable(const std::map<std::string, std::string>& environment, std::string_view begins) {
  const auto found = environment.lower_bound(std::string(begins));
  return found != environment.end() && found->first.starts_with(begins);
}

}  // namespace

bool names_other_gpu(std::string_view kind, const Machine& machine) {
  const std::string plain = lower_case(kind);
  const std::string_view model = model_in(plain);
  if (model.empty()) return false;
  std::string words = machine.id + " " + machine.name + " " + machine.gpu.id + " " + machine.gpu.name;
  for (const std::string& alias : machine.gpu.aliases) words += " " + alias;
  return !has_model(lower_case(words), model);
}

std::string_view other_chip(std::string_view resource_or_image) {
  const std::string plain = lower_case(resource_or_image);
  for (const ChipWord& row : chip_words)
    if (plain.find(row.part) != plain.npos) return row.chip;
  return {};
}

std::string_view chip_of_environment(const std::map<std::string, std::string>& environment) {
  for (const ChipWord& row : variable_words)
    if (has_variable(environment, row.part)) return row.chip;
  if (const auto device = environment.find("PJRT_DEVICE"); device != environment.end())
    for (const ChipWord& row : pjrt_devices)
      if (device->second == row.part) return row.chip;
  return {};
}

std::string_view vendor_of(std::string_view word) {
  const std::string plain = lower_case(word);
  for (const ChipWord& row : vendor_words)
    if (plain.find(row.part) != plain.npos) return row.chip;
  return {};
}

std::string_view vendor_of_environment(const std::map<std::string, std::string>& environment) {
  const bool rocm =
      std::ranges::any_of(rocm_variables, [&](std::string_view begins) { return has_variable(environment, begins); });
  return rocm ? amd : std::string_view();
}

bool is_other_vendor(std::string_view vendor, const Machine& machine) {
  const bool of_amd = lower_case(machine.gpu.architecture).starts_with("cdna");
  return !vendor.empty() && vendor != (of_amd ? amd : nvidia);
}

}  // namespace stepcast
