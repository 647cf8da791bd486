#include <fmt/format.h>

#include "model/base/large_value.h"
#include "model/machine/gpu_json.h"
#include "model/machine/machine_names.h"
#include "model/machine/plausible.h"
#include "model/base/contains.h"
#include "model/base/row_text.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(Gpu)
namespace {

void check_peak(JsonObject& peak, const char* precision, FlopsPerSecond rate) {
  const PlausibleRange& range = plausible_range("peak");
  if (rate.value() >= range.least && rate.value() <= range.most) return;
  peak.require(false, precision, fmt::format("{} cannot be: {}", exact_text(rate), range.why),
      fmt::format("from {} to {}", exact_text(FlopsPerSecond(range.least)), exact_text(FlopsPerSecond(range.most))));
}

/// Which attention kernels run, and how fast NCCL's channels are, go by these names.
const std::vector<std::string> architectures = {
    "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "cdna2", "cdna3", "cdna4"};

void check_gpu_words(JsonObject& file, const Gpu& gpu) {
  file.require(!gpu.name.empty(), "name", "is empty", "a name, or leave it out");
  file.require(contains(architectures, gpu.architecture), "architecture",
      fmt::format("unknown architecture '{:.40}'", gpu.architecture),
      name_hint(gpu.architecture, architectures) + "; of a chip that is none of these, the one whose kernels it runs");
}

void check_gpu_sizes(JsonObject& file, const Gpu& gpu) {
  check_plausible(file, "memory", gpu.memory);
  check_plausible(file, "memory_bandwidth", gpu.memory_bandwidth);
  check_plausible(file, "l2", gpu.l2);
  check_plausible(file, "scale_up_bandwidth", gpu.scale_up_bandwidth);
}

/// Dense rates (no structured sparsity) by precision; what is absent the chip cannot do.
void read_peaks(JsonObject& object, Gpu& gpu) {
  JsonObject peak = object.object("peak");
  bool any = false;
  for (const Choice<Precision>& row : precision_names) {
    FlopsPerSecond& rate = gpu.peak[static_cast<int>(row.value)];
    peak.optional(row.name, rate);
    if (!peak.failed() && rate.value() > 0) check_peak(peak, row.name, rate);
    any = any || rate.value() > 0;
  }
  object.require(any, "peak", "no rate is given", "at least one of fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4");
}

void write_peaks(JsonWriter& json, const Gpu& gpu) {
  json.open("peak");
  for (const Choice<Precision>& row : precision_names)
    if (const FlopsPerSecond rate = gpu.peak[static_cast<int>(row.value)]; rate.value() > 0) json.field(row.name, rate);
  json.close();
}

constexpr auto gpu_members = [](auto& file, auto& gpu) {
  file.head(gpu);
  file.read("architecture", gpu.architecture);
  file.read("multiprocessors", gpu.multiprocessors, IntegerRange{4, 100'000});  // 40 to 304 in the catalogue
  file.reading(read_peaks, gpu);
  file.writing(write_peaks, gpu);
  file.read("memory", gpu.memory);
  file.read("memory_bandwidth", gpu.memory_bandwidth);
  file.read("l2", gpu.l2);
  file.optional("scale_up_bandwidth", gpu.scale_up_bandwidth, Zero::allowed);
  file.rare("power_w", gpu.power_w, NumberRange{1, 100'000});
  file.rare("fp8_any_layout", gpu.fp8_any_layout);
  file.reading(check_gpu_words, gpu);
  file.reading(check_gpu_sizes, gpu);
  file.rare("unverified", gpu.unverified);
};

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

Gpu read_gpu_object(const JsonObject& object) {
  RowReader file(object);
  Gpu gpu;
  gpu_members(file, gpu);
  return gpu;
}

void write_gpu_fields(RowWriter& json, const Gpu& gpu) { gpu_members(json, gpu); }

Expected<Gpu> read_gpu(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  return file.finish(read_gpu_object(file));
}

std::string write_gpu(const Gpu& gpu) { return row_json(gpu, gpu_members); }

}  // namespace stepcast
