#include "calibrate/rows/device_name.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/catalog.h"

namespace stepcast::calibrate {
namespace {

// clang-format off
/// Names that do not hold the id's words: drivers print the memory's kind or the host's memory instead of the form
/// factor (nvidia-smi -L), benchmarks run everything together.
struct DeviceSpelling { std::string_view words, gpu; };
constexpr DeviceSpelling device_spellings[] = {
    {"h100 80gb hbm3", "h100-sxm"},   {"b300 sxm6 ac", "b300-sxm"}, {"gh200 480gb", "gh200-96gb"},
    {"a100 sxm80", "a100-80gb"},      {"a100 sxm40", "a100-40gb"},
    {"mi300x oam", "mi300x"},         {"v100 sxm3 32gb h", "v100-sxm3-32gb"},
};
// clang-format on

/// The words of a name: makers say nothing.
std::vector<std::string> words_in_order(std::string_view name) {
  constexpr std::string_view makers[] = {"nvidia", "tesla", "geforce", "amd", "instinct"};
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if (c == ' ' || c == '-' || c == '_') words.emplace_back();
    else words.back() += c;
  }
  std::erase_if(words, [&](const std::string& word) {
    return word.empty() || std::find(std::begin(makers), std::end(makers), word) != std::end(makers);
  });
  return words;
}

/// In alphabetic order: that of the name says nothing.
std::vector<std::string> device_words(std::string_view name) {
  std::vector<std::string> words = words_in_order(name);
  std::sort(words.begin(), words.end());
  return words;
}

struct KnownDevice {
  std::vector<std::string> words;
  std::string gpu;
};

std::vector<KnownDevice> list_known_devices() {
  std::vector<KnownDevice> known;
  for (const Gpu& gpu : built_in().gpus) {
    known.push_back({device_words(gpu.id), gpu.id});
    known.push_back({device_words(gpu.name), gpu.id});
    for (const std::string& alias : gpu.aliases) known.push_back({device_words(alias), gpu.id});
  }
  for (const DeviceSpelling& spelling : device_spellings)
    known.push_back({device_words(spelling.words), std::string(spelling.gpu)});
  return known;
}

const std::vector<KnownDevice>& known_devices() {
  static const std::vector<KnownDevice> known = list_known_devices();
  return known;
}

/// The first word with a digit: "gb10" of "NVIDIA GB10", "4090" of "GeForce RTX 4090"; "" where there is none.
std::string model_word(std::string_view device) {
  for (const std::string& word : words_in_order(device))
    if (std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; })) return word;
  return {};
}

}  // namespace

std::string gpu_of_device(std::string_view device) {
  constexpr std::size_t longest_name = 100;
  if (device.size() > longest_name) return {};
  const std::vector<std::string> words = device_words(device);
  for (const KnownDevice& row : known_devices())
    if (row.words == words) return row.gpu;
  return {};
}

Expected<void> check_device(const std::string& device, const std::string& gpu, const std::string& where) {
  const std::string model = model_word(device), known = gpu_of_device(device);
  if (model.empty() || known == gpu) return {};
  bool in_catalogue = false, same_model = false;
  for (const KnownDevice& row : known_devices()) {
    if (row.gpu != gpu) continue;
    in_catalogue = true;
    same_model = same_model || (known.empty() && contains(row.words, model));
  }
  if (!in_catalogue || same_model) return {};
  return fail(where, fmt::format("it is of the device '{:.60}', and the GPU is to be {}", device, gpu),
      known.empty() ? fmt::format("timings of {}: the catalogue does not know this device", gpu)
                    : fmt::format("--gpu {}, or timings of {}", known, gpu));
}

MeasurementContext context_of_device(std::string_view device) {
  MeasurementContext context;
  context.device = std::string(device);
  context.gpu = gpu_of_device(device);
  return context;
}

CollectionName split_collection(std::string_view collection) {
  for (std::size_t end = collection.size(); end != std::string_view::npos && end > 0;
       end = collection.rfind('_', end - 1)) {
    std::string gpu = gpu_of_device(collection.substr(0, end));
    if (gpu.empty()) continue;
    std::string software(collection.substr(std::min(end + 1, collection.size())));
    std::replace(software.begin(), software.end(), '_', ' ');
    return {std::move(gpu), std::move(software)};
  }
  return {};
}

std::string fabric_of_gpu(std::string_view gpu) {
  constexpr std::string_view names[] = {"nvswitch", "nvlink_mesh", "pcie", "infiniband", "ethernet"};  // by FabricKind
  std::string fabric;
  for (const Machine& machine : built_in().machines) {
    if (machine.gpu.id != gpu || machine.levels.empty()) continue;
    const std::string_view name = names[static_cast<std::size_t>(machine.levels.front().fabric)];
    if (!fabric.empty() && fabric != name) return {};
    fabric = name;
  }
  return fabric;
}

}  // namespace stepcast::calibrate
