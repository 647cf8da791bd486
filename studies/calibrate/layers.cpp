// stepcast calibrate layers: whole layers of networks timed on this GPU, and the sum of their kernels by a profile that
// never saw them held beside. -o measures; without it, a file that was measured is forecast by a profile.
#include "studies/calibrate/layers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/measure/campaign_context.h"
#include "calibrate/measure/sample.h"
#include "calibrate/rows/device_name.h"
#include "kernels/bench/gpu_bench.h"
#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "model/catalog.h"
#include "model/profile/kernel_law.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/layer_file.h"
#include "studies/calibrate/own_shapes.h"
#include "studies/cli/interrupt.h"
#include "studies/cli/output_file.h"
#include "studies/cli/progress_line.h"
#include "studies/print/json_fields.h"
#include "studies/print/table.h"
#include "studies/run/nouns.h"

namespace stepcast::calibration {
namespace {

/// Of a micro-batch, in sequences as long as the network allows or --seq says.
constexpr std::int64_t layer_tokens[] = {2048, 4096, 8192};
constexpr const char* layer_stack = "megatron-core";
/// Long enough for clocks to settle: power control takes 10 to 50 ms on H100 and H200 (docs/measuring.md).
constexpr Seconds sustained_for{1.5};

struct LayerSize {
  std::int64_t sequence = 0, micro_batch = 1;
};

/// Sequences as long as the tokens, or as `sequence` or the network's learned positions allow; none where --seq is
/// more.
std::vector<LayerSize> sizes_of(const NetworkSpec& network, std::int64_t sequence) {
  std::vector<LayerSize> sizes;
  for (const std::int64_t tokens : layer_tokens) {
    std::int64_t longest = sequence > 0 ? sequence : tokens;
    if (network.max_positions > 0) longest = std::min(longest, network.max_positions);
    if (longest <= tokens) sizes.push_back({longest, tokens / longest});
  }
  return sizes;
}

/// The layer's calls.
Expected<LayerShapes> shapes_of(const std::string& network, const LayerSize& size, const Gpu& gpu) {
  TRY(const auto chosen, choose_network(network, "NETWORK"));
  OwnShapesRequest request;
  request.gpu = gpu;
  request.stack = choose_stack(layer_stack, "stack")->row;
  request.sequence = size.sequence;
  request.micro_batch = size.micro_batch;
  return layer_shapes(chosen.row, request);
}

Sequence sequence_of(const std::string& name, const std::vector<Query>& calls, KernelSource attention, bool in_graph) {
  Sequence sequence{name, {}, in_graph};
  for (const Query& query : calls) {
    const bool core = std::holds_alternative<AttentionQuery>(query);
    sequence.calls.push_back({query, core ? attention : usual_source(query), false, std::nullopt});
  }
  return sequence;
}

// --- measuring ---

/// A way to run one layer.
struct LayerForm {
  KernelSource attention;
  bool in_graph;
};
constexpr LayerForm layer_forms[] = {
    {KernelSource::cudnn, true}, {KernelSource::cudnn, false}, {KernelSource::stepcast, true}};

class LayerRun {
 public:
  LayerRun(GpuBench& bench, const Gpu& gpu, std::function<bool()> stop, Console& console)
      : bench_(bench), gpu_(gpu), stop_(std::move(stop)), progress_(console) {}

  Expected<LayerFile> run(const std::vector<std::string>& networks, std::int64_t longest, const std::string& date,
      const std::function<Expected<void>(const LayerFile&)>& keep) {
    file_.context = setup_context(bench_.device(), bench_.settings(), gpu_.id, date);
    file_.context.software = software_of(KernelSource::cublas, bench_.settings());
    for (const std::string& network : networks) {
      TRY(const auto chosen, choose_network(network, "NETWORK"));
      for (const LayerSize& size : sizes_of(chosen.row, longest)) {
        TRY(const auto shapes, shapes_of(network, size, gpu_));
        if (!shapes.left_out.empty())
          note(fmt::format("{} at {}: not timed: {}", network, size.sequence, fmt::join(shapes.left_out, ", ")));
        for (const LayerForm& form : layer_forms) {
          if (stop_()) return std::move(file_);
          TRY(time_layer(network, size, shapes.calls, form));
          TRY(keep(file_));
        }
      }
    }
    return std::move(file_);
  }

 private:
  void note(std::string text) { file_.notes.push_back(std::move(text)); }

  /// What cannot run is a note; a GPU that is lost ends all.
  Expected<void> time_layer(
      const std::string& network, const LayerSize& size, const std::vector<Query>& calls, const LayerForm& form) {
    const std::string name = fmt::format("a layer of {} at {} x {} by {} attention, {}", network, size.micro_batch,
        size.sequence, to_text(form.attention), form.in_graph ? "in a graph" : "eager");
    progress_.show(name);
    const Sequence timed = sequence_of(name, calls, form.attention, form.in_graph);
    const auto burst = sample(bench_, timed, rules_, stop_, &clocks_);
    if (!burst) {
      note(fmt::format("{}: {}", name, to_text(burst.error())));
      return bench_.usable();
    }
    TimedLayer row{network, size.sequence, size.micro_batch, to_text(form.attention), form.in_graph,
        static_cast<std::int64_t>(calls.size()), burst->time, burst->low, burst->high, burst->replays, {},
        burst->sm_clock_mhz, burst->power_w, 0, burst->power_limited, burst->settled};
    if (const auto run = sample_sustained(bench_, timed, sustained_for, rules_, stop_)) {
      row.sustained = run->settled;
      if (!run->points.empty()) row.sustained_clock_mhz = run->points.back().state.sm_clock_mhz;
    }
    file_.layers.push_back(std::move(row));
    return {};
  }

  GpuBench& bench_;
  const Gpu& gpu_;
  std::function<bool()> stop_;
  Progress progress_;
  MethodRules rules_;
  ClocksSeen clocks_;
  LayerFile file_;
};

Expected<LayerFile> measure_layers(const Arguments& arguments, const MeasureDoors& doors, Console& console) {
  TRY(const auto found, doors.devices());
  TRY(const auto index, parse_count(arguments.has("--gpu-index") ? arguments.value("--gpu-index") : "0", "--gpu-index",
                            0, static_cast<std::int64_t>(found.size()) - 1));
  const DeviceInfo& device = found[static_cast<std::size_t>(index)];
  const std::string id = arguments.has("--gpu") ? arguments.value("--gpu") : gpu_of_device(device.name);
  TRY(const auto gpu, find_row(built_in().gpus, id, "gpu"));
  std::int64_t longest = 0;
  if (arguments.has("--seq")) {
    TRY(longest, parse_count(arguments.value("--seq"), "--seq", 1, std::int64_t{1} << 24));
  }
  const OutputPlace place = output_place(arguments, "--output", is_layer_file);
  TRY(OutputFile::open(place));
  TRY(auto bench, doors.open_gpu(static_cast<int>(index)));
  const InterruptGuard guard;
  LayerRun run(*bench, *gpu, doors.interrupted, console);
  return run.run(arguments.words, longest, doors.date, [&](const LayerFile& file) -> Expected<void> {
    TRY(auto out, OutputFile::open(place));
    return out.write(write_layers(file));
  });
}

// --- forecasting ---

struct KernelPrice {
  const Profile& profile;
  std::string attention;  ///< software of the profile's law: "cudnn 9.1" is found by its name
  std::optional<KernelTime> operator()(const GemmQuery& q) const { return gemm_time(profile, q); }
  std::optional<KernelTime> operator()(const AttentionQuery& q) const {
    for (const AttentionLaw* law : laws())
      if (!law->decode && law->refinement.software.starts_with(attention))
        return attention_time(profile, q, law->refinement.software);
    return std::nullopt;
  }
  std::optional<KernelTime> operator()(const MemoryQuery& q) const { return memory_time(profile, q); }
  template <typename Other> std::optional<KernelTime> operator()(const Other&) const { return std::nullopt; }

  [[nodiscard]] std::vector<const AttentionLaw*> laws() const {
    std::vector<const AttentionLaw*> all{&profile.attention};
    for (const AttentionLaw& law : profile.attention_kernels) all.push_back(&law);
    return all;
  }
};

struct LayerForecast {
  Seconds time, launching;  ///< of the kernels; of the host
  std::string missing;      ///< a kernel that the profile has no law for
  [[nodiscard]] Seconds of(bool in_graph) const { return in_graph ? time : std::max(time, launching); }
};

Expected<LayerForecast> forecast_layer(const TimedLayer& layer, const Gpu& gpu, const Profile& profile) {
  TRY(const auto shapes, shapes_of(layer.network, {layer.sequence, layer.micro_batch}, gpu));
  const KernelPrice price{profile, layer.attention};
  LayerForecast out;
  for (const Query& query : shapes.calls) {
    const auto time = std::visit(price, query);
    if (!time) {
      out.missing = work_name(query);
      return out;
    }
    out.time += time->time;
  }
  out.launching = profile.host.stream_kernel * static_cast<double>(shapes.calls.size());
  return out;
}

struct HeldLayer {
  TimedLayer layer;
  LayerForecast forecast;
  [[nodiscard]] double error() const { return forecast.of(layer.in_graph) / layer.time - 1; }
};

Expected<std::vector<HeldLayer>> hold(const LayerFile& file, const Gpu& gpu, const Profile& profile) {
  std::vector<HeldLayer> out;
  for (const TimedLayer& layer : file.layers) {
    TRY(auto forecast, forecast_layer(layer, gpu, profile));
    out.push_back({layer, std::move(forecast)});
  }
  return out;
}

std::string mean_errors(const std::vector<HeldLayer>& rows) {
  std::string text;
  for (const bool in_graph : {true, false}) {
    double sum = 0, worst = 0;
    int count = 0;
    for (const HeldLayer& row : rows)
      if (row.layer.in_graph == in_graph && row.forecast.missing.empty()) {
        sum += std::abs(row.error());
        worst = std::max(worst, std::abs(row.error()));
        ++count;
      }
    if (count > 0)
      text += fmt::format("  {}: off by {:.1f} % in the mean, {:.1f} % at most, {} layers\n",
          in_graph ? "in a graph" : "eager", 100 * sum / count, 100 * worst, count);
  }
  return text;
}

std::string layers_text(
    const LayerFile& file, const std::vector<HeldLayer>& rows, const Profile* profile, const Console& console) {
  Table table({{"layer"}, {"sequences", Align::right}, {"attention"}, {"launched"}, {"kernels", Align::right},
      {"measured", Align::right}, {"sustained", Align::right}, {"forecast", Align::right}, {"off", Align::right}});
  for (const HeldLayer& row : rows) {
    const TimedLayer& layer = row.layer;
    const bool known = profile != nullptr && row.forecast.missing.empty();
    table.add({layer.network, fmt::format("{} x {}", layer.micro_batch, layer.sequence), layer.attention,
        layer.in_graph ? "in a graph" : "eager", fmt::format("{}", layer.calls), format_seconds(layer.time),
        layer.sustained.value() > 0 ? format_seconds(layer.sustained) : "-",
        known ? format_seconds(row.forecast.of(layer.in_graph)) : "-",
        known ? fmt::format("{:+.1f} %", 100 * row.error()) : "-"});
  }
  std::string text = fmt::format("Layers forward and backward on {}\n\n{}", file.context.device, table.text("  "));
  if (profile != nullptr)
    text += fmt::format("\nForecast by {} ({})\n{}", profile->name, profile->id, mean_errors(rows));
  for (const HeldLayer& row : rows)
    if (profile != nullptr && !row.forecast.missing.empty())
      text += paragraph(fmt::format("{} at {}: the profile has no law for {}", row.layer.network, row.layer.sequence,
                            row.forecast.missing),
          "  ", "    ", static_cast<std::size_t>(console.columns));
  for (const std::string& note : file.notes)
    text += paragraph(note, "  note: ", "    ", static_cast<std::size_t>(console.columns));
  return text;
}

void write_row(JsonWriter& json, const HeldLayer& row, bool forecast) {
  const TimedLayer& layer = row.layer;
  json.fields("network", layer.network, "sequence", layer.sequence, "micro_batch", layer.micro_batch, "attention",
      layer.attention, "in_graph", layer.in_graph, "kernels", layer.calls);
  json.base_fields("time_s", layer.time, "sustained_s", layer.sustained);
  if (!forecast) return;
  if (!row.forecast.missing.empty()) return json.field("missing", row.forecast.missing);
  json.base_fields("forecast_s", row.forecast.of(layer.in_graph), "kernels_s", row.forecast.time, "launches_s",
      row.forecast.launching);
  json.field("error", row.error());
}

std::string layers_json(const LayerFile& file, const std::vector<HeldLayer>& rows, const Profile* profile) {
  JsonWriter json;
  json.open();
  json.field("device", file.context.device);
  if (profile != nullptr) json.field("profile", profile->id);
  json.list("layers", rows, [&](const HeldLayer& row) { write_row(json, row, profile != nullptr); });
  json.field("notes", file.notes);
  json.close();
  return json.text();
}

}  // namespace

Expected<void> layers(const Arguments& arguments, const MeasureDoors& doors, Console& console) {
  LayerFile file;
  std::optional<Profile> profile;
  if (arguments.has("--output")) {
    TRY(file, measure_layers(arguments, doors, console));
  } else {
    if (arguments.words.size() != 2)
      return fail("command line", "one file of layers and one profile are wanted",
          "calibrate layers LAYERS.json PROFILE, or NETWORK... -o LAYERS.json to measure");
    const std::string& name = arguments.words.front();
    TRY(const auto text, read_text_file(name));
    TRY(file, read_layers(text, name));
    TRY(auto chosen, choose_kernel_profile(arguments.words.at(1), "PROFILE"));
    profile = std::move(chosen.row);
  }
  TRY(const auto gpu, find_row(built_in().gpus, file.context.gpu, "gpu"));
  std::vector<HeldLayer> rows;
  if (profile) {
    TRY(rows, hold(file, *gpu, *profile));
  } else {
    for (const TimedLayer& layer : file.layers) rows.push_back({layer, {}});
  }
  const Profile* by = profile ? &*profile : nullptr;
  console.out << (arguments.has("--json") ? layers_json(file, rows, by) : layers_text(file, rows, by, console));
  return {};
}

Expected<void> calibrate_layers(const Arguments& arguments, Console& console) {
  return layers(arguments, real_doors(), console);
}

}  // namespace stepcast::calibration
