// What the driver's management library says about a GPU: clocks, power, temperature, settings and links. Loaded when
// first needed, and every answer is optional: what a card or a driver does not support stays 0 or empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/bench/gpu_bench.h"
#include "kernels/library/shared_library.h"
#include "model/base/error.h"

namespace stepcast::kernels {

/// The functions of libnvidia-ml.so.1 that are called, declared here because its header is not part of every toolkit
/// (NVIDIA, NVML API Reference Guide R580; all return 0 for success). Null: this driver has no such function.
struct NvmlFunctions {
  using Device = struct NvmlDeviceHandle*;  ///< opaque
  struct Process {                          ///< nvmlProcessInfo_t, the same in _v2 and _v3
    unsigned pid = 0;
    unsigned long long used_memory = 0;
    unsigned gpu_instance = 0, compute_instance = 0;
  };
  struct PciAddress {  ///< nvmlPciInfo_t
    char legacy_bus_id[16] = {};
    unsigned domain = 0, bus = 0, device = 0, device_id = 0, subsystem_id = 0;
    char bus_id[32] = {};
  };
  struct FieldValue {  ///< nvmlFieldValue_t
    unsigned id = 0, scope = 0;
    long long timestamp = 0, latency_us = 0;
    int type = 0, status = 0;  ///< nvmlValueType_t: 0 double, 1 unsigned; of this field alone
    union {
      double real;
      unsigned number;
      unsigned long long wide;
    } value = {.wide = 0};
  };
  using Number = int(Device, unsigned*);               ///< most questions have one number as their answer
  using NumberOf = int(Device, int which, unsigned*);  ///< of a clock or a sensor
  using Pair = int(Device, unsigned* now, unsigned* after_restart);

  FunctionReader read;  ///< of several names the newest that is there is taken
  int (*init)() = read("nvmlInit_v2");
  const char* (*error_text)(int) = read("nvmlErrorString");
  int (*driver_version)(char*, unsigned length) = read("nvmlSystemGetDriverVersion");
  int (*process_name)(unsigned pid, char*, unsigned length) = read("nvmlSystemGetProcessName");
  int (*handle_by_bus_id)(const char*, Device*) = read("nvmlDeviceGetHandleByPciBusId_v2");
  NumberOf* clock = read("nvmlDeviceGetClockInfo");
  NumberOf* default_clock = read("nvmlDeviceGetDefaultApplicationsClock");
  NumberOf* temperature = read("nvmlDeviceGetTemperature");
  Number* power = read("nvmlDeviceGetPowerUsage");
  Number* enforced_limit = read("nvmlDeviceGetEnforcedPowerLimit");
  Number* default_limit = read("nvmlDeviceGetPowerManagementDefaultLimit");
  Number* persistence = read("nvmlDeviceGetPersistenceMode");
  Pair* ecc = read("nvmlDeviceGetEccMode");
  Pair* mig = read("nvmlDeviceGetMigMode");
  int (*field_values)(Device, int count, FieldValue*) = read("nvmlDeviceGetFieldValues");
  int (*event_reasons)(Device, unsigned long long*) = read.any_of(
      {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  int (*processes)(Device, unsigned* count, Process*) = read.any_of(
      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  int (*link_state)(Device, unsigned link, unsigned* active) = read("nvmlDeviceGetNvLinkState");
  int (*link_remote)(Device, unsigned link, PciAddress*) = read("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  int (*link_remote_type)(Device, unsigned link, unsigned* type) = read("nvmlDeviceGetNvLinkRemoteDeviceType");
};

/// Why clocks are down (the reasons' bits as GpuState tells them apart).
struct SlowdownReasons {
  bool power = false, thermal_or_external = false;
};
SlowdownReasons slowdown_reasons(std::uint64_t bits);

/// One spelling for the driver's "00000000:0F:00.0" and CUDA's "0000:0F:00.0": "0000:0f:00.0".
std::string plain_bus_id(std::string_view bus_id);

/// Where a GPU's NVLinks lead.
struct NvLinks {
  int active = 0;                 ///< links that are up
  bool switched = false;          ///< one at least goes to an NVSwitch: it reaches every GPU that has such a link
  std::vector<std::string> gpus;  ///< plain bus ids of the GPUs that links go to directly
};

/// One GPU, asked through the library. Cheap to copy.
class NvmlGpu {
 public:
  NvmlGpu() = default;  ///< knows nothing: state() is all zero, describe() adds nothing
  NvmlGpu(const NvmlFunctions& functions, NvmlFunctions::Device device) : calls_(functions), device_(device) {}
  [[nodiscard]] GpuState state() const;
  /// Driver, power limits, default clock, modes and other processes than this one.
  void describe(GpuSettings& settings) const;
  [[nodiscard]] NvLinks links() const;

 private:
  [[nodiscard]] std::vector<std::string> other_processes() const;
  [[nodiscard]] double power_milliwatts() const;
  NvmlFunctions calls_;
  NvmlFunctions::Device device_ = nullptr;
};

/// The library itself.
class Nvml {
 public:
  /// Starts the library behind `functions`. Fails with its own words where it does not start.
  static Expected<Nvml> start(const NvmlFunctions& functions);
  /// Loads libnvidia-ml.so.1 first.
  static Expected<Nvml> open();
  [[nodiscard]] std::string driver() const;  ///< "580.65.06"; "" = it does not say
  [[nodiscard]] Expected<NvmlGpu> gpu(const std::string& bus_id) const;

 private:
  NvmlFunctions calls_;
};

}  // namespace stepcast::kernels
