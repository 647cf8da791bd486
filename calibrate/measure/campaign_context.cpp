#include "calibrate/measure/campaign_context.h"

#include <string_view>

#include <fmt/format.h>

#include "model/version.h"

namespace stepcast::calibrate {
namespace {

using Context = MeasurementContext;

struct SharedText {
  const char* name;
  std::string Context::*value;
};
constexpr SharedText shared_texts[] = {{"GPU", &Context::gpu}, {"device", &Context::device},
    {"driver", &Context::driver}, {"CUDA", &Context::cuda}, {"cuBLAS", &Context::cublas}, {"NCCL", &Context::nccl}};

tl::unexpected<Error> other_setup(std::string_view name, const std::string& before, const std::string& now) {
  return fail("the earlier file", fmt::format("it was measured with {} {}, and here is {}", name, before, now),
      "measure into a new file");
}

/// Whose version a context's software names; null for a library that rows of this program cannot name.
Expected<void> check_software(const std::string& software, const GpuSettings& settings) {
  const std::string library = software.substr(0, software.find(' '));
  for (const KernelSource source :
      {KernelSource::cublas, KernelSource::cudnn, KernelSource::stepcast, KernelSource::cuda, KernelSource::nccl}) {
    const std::string now = software_of(source, settings);
    if (library != to_text(source)) continue;
    const bool known = now != library && software != library;  // both name a version
    if (known && software != now) return other_setup("software", software, now);
    return {};
  }
  return fail("the earlier file", fmt::format("software '{}' is none that this command times", software),
      "go on with a file that stepcast calibrate measure wrote");
}

}  // namespace

std::string software_of(KernelSource source, const GpuSettings& settings) {
  const auto version_of = [&]() -> std::string {
    switch (source) {
      case KernelSource::cublas: return settings.cublas;
      case KernelSource::cudnn: return settings.cudnn;
      case KernelSource::nccl: return settings.nccl;
      case KernelSource::cuda: return settings.cuda;
      case KernelSource::stepcast: break;
    }
    return std::string(version());
  };
  const std::string of = version_of();
  return of.empty() ? to_text(source) : fmt::format("{} {}", to_text(source), of);
}

MeasurementContext setup_context(
    const DeviceInfo& device, const GpuSettings& settings, const std::string& gpu, const std::string& date) {
  Context context;
  context.gpu = gpu;
  context.device = device.name;
  context.driver = settings.driver;
  context.cuda = settings.cuda;
  context.cublas = settings.cublas;
  context.nccl = settings.nccl;
  context.date = date;
  context.source = measured_here;
  context.sm_clock_mhz = settings.default_sm_clock_mhz;
  context.memory_clock_mhz = device.memory_clock_hz / 1e6;
  context.power_limit_w = settings.power_limit_w;
  return context;
}

std::string row_key(const Query& what, const MeasurementContext& context) {
  return fmt::format(
      "{} | {} | {} | {} | {}", work_name(what), context.software, context.regime, context.cache, context.beside);
}

Expected<void> check_earlier(
    const Measurements& earlier, const MeasurementContext& setup, const GpuSettings& settings) {
  for (const Context& context : earlier.contexts) {
    if (context.source != measured_here)
      return fail("the earlier file",
          context.source.empty() ? "it holds rows that do not say where they come from"
                                 : fmt::format("it holds rows of '{}'", context.source),
          "go on with a file that stepcast calibrate measure wrote");
    for (const SharedText& field : shared_texts) {
      const std::string& before = context.*field.value;
      const std::string& now = setup.*field.value;
      if (!before.empty() && !now.empty() && before != now) return other_setup(field.name, before, now);
    }
    if (context.power_limit_w > 0 && setup.power_limit_w > 0 && context.power_limit_w != setup.power_limit_w)
      return other_setup("a power limit of", fmt::format("{} W", context.power_limit_w),
          fmt::format("one of {} W", setup.power_limit_w));
    TRY(check_software(context.software, settings));
  }
  return {};
}

}  // namespace stepcast::calibrate
