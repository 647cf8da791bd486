#include <fmt/format.h>

#include "model/machine/gpu_json.h"
#include "model/machine/machine_names.h"
#include "model/base/row_text.h"

namespace stepcast {
namespace {

/// Dense rates (no structured sparsity) by precision; what is absent the chip cannot do.
void read_peaks(JsonObject& object, Gpu& gpu) {
  JsonObject peak = object.object("peak");
  bool any = false;
  for (const Choice<Precision>& row : precision_names) {
    FlopsPerSecond& rate = gpu.peak[static_cast<int>(row.value)];
    peak.optional(row.name, rate);
    any = any || rate.value() > 0;
  }
  object.require(any, "peak", "no rate is given", "at least one of fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4");
}

}  // namespace

Expected<Precision> parse_precision(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const Choice<Precision>& row : precision_names) {
    if (name == row.name) return row.value;
    names.emplace_back(row.name);
  }
  return fail(where, fmt::format("unknown precision '{:.40}'", name), name_hint(name, names));
}

const char* to_text(Precision precision) { return name_of<Precision>(precision_names, precision); }

Gpu read_gpu_object(JsonObject& object) {
  Gpu gpu;
  read_row_head(object, gpu);
  object.read("architecture", gpu.architecture);
  object.read("multiprocessors", gpu.multiprocessors, IntegerRange{1, 100'000});
  read_peaks(object, gpu);
  object.read("memory", gpu.memory);
  object.read("memory_bandwidth", gpu.memory_bandwidth);
  object.read("l2", gpu.l2);
  object.optional("scale_up_bandwidth", gpu.scale_up_bandwidth, Zero::allowed);
  object.optional("power_w", gpu.power_w, NumberRange{1, 100'000});
  object.optional("unverified", gpu.unverified);
  return gpu;
}

void write_gpu_fields(JsonWriter& json, const Gpu& gpu) {
  write_row_head(json, gpu);
  json.fields("architecture", gpu.architecture, "multiprocessors", gpu.multiprocessors);
  json.open("peak");
  for (const Choice<Precision>& row : precision_names)
    if (const FlopsPerSecond rate = gpu.peak[static_cast<int>(row.value)]; rate.value() > 0) json.field(row.name, rate);
  json.close();
  json.fields("memory", gpu.memory, "memory_bandwidth", gpu.memory_bandwidth, "l2", gpu.l2);
  json.field("scale_up_bandwidth", gpu.scale_up_bandwidth);
  if (gpu.power_w > 0) json.field("power_w", gpu.power_w);
  if (!gpu.unverified.empty()) json.field("unverified", gpu.unverified);
}

Expected<Gpu> read_gpu(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  return file.finish(read_gpu_object(file));
}

std::string write_gpu(const Gpu& gpu) {
  JsonWriter json;
  json.open();
  write_gpu_fields(json, gpu);
  json.close();
  return json.text();
}

}  // namespace stepcast
