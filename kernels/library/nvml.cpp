#include "kernels/library/nvml.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "kernels/library/shared_library.h"
#include "model/base/text.h"

namespace stepcast::kernels {
namespace {

using Device = NvmlFunctions::Device;

// Values of the library's enumerations (NVIDIA, NVML API Reference Guide R580).
constexpr int kNvmlSuccess = 0, kNvmlInvalidArgument = 2, kNvmlInsufficientSize = 7;
constexpr int kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr int kGpuSensor = 0;                  // nvmlTemperatureSensors_t
constexpr std::uint64_t kSwPowerCap = 0x04, kHwSlowdown = 0x08, kSwThermal = 0x20, kHwThermal = 0x40,
                        kHwPowerBrake = 0x80;          // nvmlClocksEventReason...
constexpr unsigned kLinkToGpu = 0, kLinkToSwitch = 2;  // nvmlIntNvLinkDeviceType_t; 1 is a CPU, 255 unknown
constexpr unsigned kMostLinks = 36;                    // NVLINK_MAX_LINKS is 18; asking past the last one ends the loop

constexpr unsigned kInstantPower = 186;  // NVML_FI_DEV_POWER_INSTANT
constexpr int kUnsignedValue = 1;        // NVML_VALUE_TYPE_UNSIGNED_INT

constexpr double kWattsPerMilliwatt = 1e-3;

/// Ask: a Number, or a NumberOf of `which`.
template <typename Ask, typename... Which> double number(Ask* ask, Device device, Which... which) {
  unsigned value = 0;
  return ask != nullptr && ask(device, which..., &value) == kNvmlSuccess ? value : 0;
}

bool mode_now(NvmlFunctions::Pair* ask, Device device) {
  unsigned now = 0, after_restart = 0;
  return ask != nullptr && ask(device, &now, &after_restart) == kNvmlSuccess && now != 0;
}

std::string driver_of(const NvmlFunctions& calls) {
  std::array<char, 96> version{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80
  const bool said =
      calls.driver_version != nullptr && calls.driver_version(version.data(), version.size() - 1) == kNvmlSuccess;
  return said ? version.data() : "";
}

std::string words_of(const NvmlFunctions& calls, int status) {
  return calls.error_text != nullptr ? calls.error_text(status) : fmt::format("error {}", status);
}

/// What a link goes to; nothing for a CPU and for what cannot be told.
struct LinkEnd {
  bool gpu = false, bridge = false;
  std::string bus_id;
};

LinkEnd end_of_link(const NvmlFunctions& calls, Device device, unsigned link) {
  LinkEnd end;
  NvmlFunctions::PciAddress address;
  if (calls.link_remote != nullptr && calls.link_remote(device, link, &address) == kNvmlSuccess) {
    address.bus_id[sizeof address.bus_id - 1] = '\0';
    end.bus_id = plain_bus_id(address.bus_id);
  }
  unsigned type = 0;
  if (calls.link_remote_type != nullptr && calls.link_remote_type(device, link, &type) == kNvmlSuccess) {
    end.gpu = type == kLinkToGpu && !end.bus_id.empty();
    end.bridge = type == kLinkToSwitch;
    return end;
  }
  // Drivers before R460 do not tell: an address that is a GPU's is one, any other a switch's.
  Device other = nullptr;
  end.gpu = !end.bus_id.empty() && calls.handle_by_bus_id(end.bus_id.c_str(), &other) == kNvmlSuccess;
  end.bridge = !end.bus_id.empty() && !end.gpu;
  return end;
}

}  // namespace

SlowdownReasons slowdown_reasons(std::uint64_t bits) {
  return {(bits & kSwPowerCap) != 0, (bits & (kHwSlowdown | kSwThermal | kHwThermal | kHwPowerBrake)) != 0};
}

std::string plain_bus_id(std::string_view bus_id) {
  std::string plain = lower_case(bus_id);
  const std::size_t domain = plain.find(':');
  // "bus:device" has one colon and no domain.
  if (domain == std::string::npos || plain.find(':', domain + 1) == std::string::npos) return plain;
  std::size_t zeros = 0;
  while (domain - zeros > 4 && plain[zeros] == '0') ++zeros;
  plain.erase(0, zeros);
  return domain < 4 ? std::string(4 - domain, '0') + plain : plain;
}

/// What the board draws now: nvmlDeviceGetPowerUsage is a mean over a second on Ampere (but GA100) and later, which
/// says more about what ran before. Drivers and cards without the instant figure give the mean.
double NvmlGpu::power_milliwatts() const {
  NvmlFunctions::FieldValue field;
  field.id = kInstantPower;
  if (calls_.field_values != nullptr && calls_.field_values(device_, 1, &field) == kNvmlSuccess &&
      field.status == kNvmlSuccess && field.type == kUnsignedValue && field.value.number > 0)
    return field.value.number;
  return number(calls_.power, device_);
}

GpuState NvmlGpu::state() const {
  GpuState state;
  if (device_ == nullptr) return state;
  // Reasons and clocks first: the GPU idles meanwhile, and both change within milliseconds.
  unsigned long long bits = 0;
  if (calls_.event_reasons != nullptr && calls_.event_reasons(device_, &bits) == kNvmlSuccess) {
    const SlowdownReasons reasons = slowdown_reasons(bits);
    state.power_capped = reasons.power;
    state.thermally_slowed = reasons.thermal_or_external;
  }
  state.sm_clock_mhz = number(calls_.clock, device_, kSmClock);
  state.power_w = kWattsPerMilliwatt * power_milliwatts();
  state.memory_clock_mhz = number(calls_.clock, device_, kMemoryClock);
  state.temperature_c = number(calls_.temperature, device_, kGpuSensor);
  return state;
}

std::vector<std::string> NvmlGpu::other_processes() const {
  if (calls_.processes == nullptr) return {};
  std::vector<NvmlFunctions::Process> found(64);
  unsigned count = static_cast<unsigned>(found.size());
  int status = calls_.processes(device_, &count, found.data());
  if (status == kNvmlInsufficientSize) {  // count then says how many there are; a few may come in between
    found.resize(count + 16);
    count = static_cast<unsigned>(found.size());
    status = calls_.processes(device_, &count, found.data());
  }
  if (status != kNvmlSuccess) return {};
  std::vector<std::string> others;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i) {
    if (found[i].pid == static_cast<unsigned>(getpid())) continue;
    std::array<char, 256> name{};
    const bool named = calls_.process_name != nullptr &&
                       calls_.process_name(found[i].pid, name.data(), name.size() - 1) == kNvmlSuccess;
    others.push_back(named ? fmt::format("{} {}", found[i].pid, name.data()) : fmt::format("{}", found[i].pid));
  }
  return others;
}

void NvmlGpu::describe(GpuSettings& settings) const {
  if (device_ == nullptr) return;
  settings.driver = driver_of(calls_);
  settings.power_limit_w = kWattsPerMilliwatt * number(calls_.enforced_limit, device_);
  settings.default_power_limit_w = kWattsPerMilliwatt * number(calls_.default_limit, device_);
  settings.default_sm_clock_mhz = number(calls_.default_clock, device_, kSmClock);
  settings.ecc = mode_now(calls_.ecc, device_);
  settings.mig = mode_now(calls_.mig, device_);
  settings.persistence = number(calls_.persistence, device_) != 0;
  settings.other_processes = other_processes();
}

NvLinks NvmlGpu::links() const {
  NvLinks links;
  if (device_ == nullptr || calls_.link_state == nullptr) return links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    const int status = calls_.link_state(device_, link, &active);
    if (status == kNvmlInvalidArgument) break;  // there are no more
    if (status != kNvmlSuccess || active == 0) continue;
    ++links.active;
    const LinkEnd end = end_of_link(calls_, device_, link);
    links.switched = links.switched || end.bridge;
    if (end.gpu && std::find(links.gpus.begin(), links.gpus.end(), end.bus_id) == links.gpus.end())
      links.gpus.push_back(end.bus_id);
  }
  return links;
}

Expected<Nvml> Nvml::start(const NvmlFunctions& functions) {
  if (functions.init == nullptr || functions.handle_by_bus_id == nullptr) {
    return fail("NVML", "the library lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2", "update the driver");
  }
  if (const int status = functions.init(); status != kNvmlSuccess) {
    return fail("nvmlInit_v2", words_of(functions, status), "nvidia-smi shows whether the driver works");
  }
  Nvml nvml;
  nvml.calls_ = functions;
  return nvml;
}

Expected<Nvml> Nvml::open() {
  constexpr std::string_view names[] = {"libnvidia-ml.so.1"};
  TRY(const auto library,
      SharedLibrary::open(names, "it belongs to NVIDIA's driver; containers get it with the utility capability"));
  return start({.read = {library, {}}});
}

std::string Nvml::driver() const { return driver_of(calls_); }

Expected<NvmlGpu> Nvml::gpu(const std::string& bus_id) const {
  Device device = nullptr;
  if (const int status = calls_.handle_by_bus_id(bus_id.c_str(), &device); status != kNvmlSuccess) {
    return fail("nvmlDeviceGetHandleByPciBusId_v2", fmt::format("{}: {}", bus_id, words_of(calls_, status)),
        "nvidia-smi shows what the driver sees");
  }
  return NvmlGpu(calls_, device);
}

}  // namespace stepcast::kernels
