#include "studies/infer/roofs.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

/// What a GPU has no units for its kernels widen to what it has.
Precision multiplied(const Serving& serving, Precision precision) {
  for (const Precision wide : {precision, Precision::bf16, Precision::fp16})
    if (serving.machine().gpu.peak[static_cast<int>(wide)].value() > 0) return wide;
  return Precision::fp32;
}

FlopsPerSecond peak_of(const Serving& serving, Precision precision) {
  return serving.machine().gpu.peak[static_cast<int>(multiplied(serving, precision))];
}

}  // namespace

std::vector<RoofedKernel> roofed_kernels(const Serving& serving, const sim::IterationTime& iteration) {
  std::vector<RoofedKernel> kernels;
  const BytesPerSecond bandwidth = serving.machine().gpu.memory_bandwidth;
  for (const sim::IterationPart& part : iteration.parts) {
    if (part.is_move || part.bytes.value() <= 0) continue;
    const FlopsPerSecond peak = peak_of(serving, part.attends ? serving.types.attention : serving.types.products);
    const Seconds computing = part.flops / peak, streaming = part.bytes / bandwidth;
    kernels.push_back({part.label, part.shape, part.time, part.flops.value() / part.bytes.value(),
        FlopsPerSecond(part.flops.value() / part.time.value()), BytesPerSecond(part.bytes.value() / part.time.value()),
        streaming >= computing, std::max(computing, streaming) / part.time});
  }
  std::ranges::stable_sort(kernels, std::greater{}, &RoofedKernel::time);
  return kernels;
}

std::string roofs_text(const Serving& serving, const sim::IterationTime& iteration) {
  const FlopsPerSecond peak = peak_of(serving, serving.types.products);
  const BytesPerSecond bandwidth = serving.machine().gpu.memory_bandwidth;
  print::Table table({{"kernel"}, {"shape"}, {"time", print::Align::right}, {"FLOP/B", print::Align::right},
      {"FLOP/s", print::Align::right}, {"device memory", print::Align::right}, {"roof"},
      {"reached", print::Align::right}});
  for (const RoofedKernel& kernel : roofed_kernels(serving, iteration))
    table.add({kernel.label, kernel.shape, format_seconds(kernel.time),
        kernel.intensity > 0 ? fmt::format("{:.3g}", kernel.intensity) : "-",
        kernel.intensity > 0 ? format_flops(kernel.compute) : "-", format_rate(kernel.memory),
        kernel.below_memory ? "memory" : "compute", format_percent(kernel.share)});
  return fmt::format("Roofs of the datasheet  {} of {} products, {} of device memory; they meet at {:.0f} FLOP/B\n{}",
      format_flops(peak), to_text(serving.types.products), format_rate(bandwidth), peak.value() / bandwidth.value(),
      table.text(""));
}

std::string roofs_json(const Serving& serving, const sim::IterationTime& iteration) {
  JsonWriter json;
  json.open();
  json.fields("peak_flops_per_s", peak_of(serving, serving.types.products).value(), "memory_bytes_per_s",
      serving.machine().gpu.memory_bandwidth.value());
  json.open_list("kernels");
  for (const RoofedKernel& kernel : roofed_kernels(serving, iteration)) {
    json.open();
    json.fields("label", kernel.label, "shape", kernel.shape);
    json.base_field("time_s", kernel.time);
    json.fields("flops_per_byte", kernel.intensity, "flops_per_s", kernel.compute.value(), "bytes_per_s",
        kernel.memory.value(), "roof", kernel.below_memory ? "memory" : "compute", "reached", kernel.share);
    json.close();
  }
  json.close();
  json.close();
  return json.text() + "\n";
}

}  // namespace stepcast::infer
