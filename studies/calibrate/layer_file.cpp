#include "studies/calibrate/layer_file.h"

#include <fmt/format.h>

#include "calibrate/rows/measurement_context.h"
#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "studies/cli/output_file.h"

namespace stepcast::calibration {
namespace {

constexpr std::int64_t file_version = 1;
constexpr const char* version_key = "stepcast_layers";
constexpr std::int64_t most_count = std::int64_t{1} << 40;

TimedLayer read_layer(JsonObject& json) {
  TimedLayer layer;
  json.read("network", layer.network);
  json.read("sequence", layer.sequence, IntegerRange{1, most_count});
  json.read("micro_batch", layer.micro_batch, IntegerRange{1, most_count});
  json.read("attention", layer.attention);
  json.require(layer.attention == "cudnn" || layer.attention == "stepcast", "attention",
      fmt::format("'{:.40}'", layer.attention), "cudnn or stepcast");
  json.read("in_graph", layer.in_graph);
  json.read("calls", layer.calls, IntegerRange{1, most_count});
  json.read("time_s", layer.time);
  json.read("low_s", layer.low);
  json.read("high_s", layer.high);
  json.read("replays", layer.replays, IntegerRange{1, most_count});
  json.optional("sustained_s", layer.sustained);
  json.optional("sm_clock_mhz", layer.sm_clock_mhz, NumberRange{0, 1e6});
  json.optional("power_w", layer.power_w, NumberRange{0, 1e6});
  json.optional("sustained_clock_mhz", layer.sustained_clock_mhz, NumberRange{0, 1e6});
  json.optional("power_limited", layer.power_limited);
  json.optional("settled", layer.settled);
  return layer;
}

void write_layer(JsonWriter& json, const TimedLayer& layer) {
  json.fields("network", layer.network, "sequence", layer.sequence, "micro_batch", layer.micro_batch, "attention",
      layer.attention, "in_graph", layer.in_graph, "calls", layer.calls);
  json.base_fields("time_s", layer.time, "low_s", layer.low, "high_s", layer.high);
  json.field("replays", layer.replays);
  if (layer.sustained.value() > 0) json.base_field("sustained_s", layer.sustained);
  if (layer.sm_clock_mhz > 0) json.field("sm_clock_mhz", layer.sm_clock_mhz);
  if (layer.power_w > 0) json.field("power_w", layer.power_w);
  if (layer.sustained_clock_mhz > 0) json.field("sustained_clock_mhz", layer.sustained_clock_mhz);
  json.fields("power_limited", layer.power_limited, "settled", layer.settled);
}

}  // namespace

bool is_layer_file(const std::string& name) { return file_holds(name, version_key); }

std::string write_layers(const LayerFile& file) {
  JsonWriter json;
  json.open();
  json.field(version_key, file_version);
  json.open("context");
  for (const calibrate::detail::ContextText& field : calibrate::detail::context_texts())
    if (const std::string& value = file.context.*field.value; !value.empty()) json.field(field.name, value);
  for (const calibrate::detail::ContextNumber& field : calibrate::detail::context_numbers())
    if (const double value = file.context.*field.value; value > 0) json.field(field.name, value);
  json.close();
  json.list("layers", file.layers, [&](const TimedLayer& layer) { write_layer(json, layer); });
  json.field("notes", file.notes);
  json.close();
  return json.text();
}

Expected<LayerFile> read_layers(std::string_view text, const std::string& where) {
  JsonObject json(text, where);
  LayerFile file;
  std::int64_t version = 0;
  json.read(version_key, version, IntegerRange{file_version, file_version});
  JsonObject context = json.object("context");
  for (const calibrate::detail::ContextText& field : calibrate::detail::context_texts())
    context.optional(field.name, file.context.*field.value);
  for (const calibrate::detail::ContextNumber& field : calibrate::detail::context_numbers())
    context.optional(field.name, file.context.*field.value, NumberRange{0, 1e15});
  for (JsonObject& layer : json.objects("layers")) file.layers.push_back(read_layer(layer));
  json.require(!file.layers.empty(), "layers", "none", "one timed layer or more");
  json.read("notes", file.notes);
  return json.finish(std::move(file));
}

}  // namespace stepcast::calibration
