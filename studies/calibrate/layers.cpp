// stepcast calibrate layers: whole layers of networks timed on this GPU, and the sum of their kernels by a profile that
// never saw them held beside. -o measures; without it, a file that was measured is forecast by a profile.
#include "studies/calibrate/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/rows/device_name.h"
#include "model/errors/error_context.h"
#include "model/base/json_reader.h"
#include "model/catalog.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/layer_run.h"
#include "studies/calibrate/layer_size.h"
#include "studies/calibrate/print/layers_report.h"
#include "studies/cli/interrupt.h"
#include "studies/cli/output_file.h"
#include "studies/cli/progress_line.h"

namespace stepcast::calibration {
namespace {

// --- measuring ---

/// Positions of a sequence that --seq asks for; 0: it does not. Every number of tokens is a multiple of them.
Expected<std::int64_t> longest_of(const Arguments& arguments, const std::vector<Chosen<NetworkSpec>>& networks) {
  if (!arguments.has("--seq")) return 0;
  TRY(const auto longest, parse_count(arguments.value("--seq"), "--seq", 1, std::int64_t{1} << 24));
  const std::int64_t fewest = layer_tokens().front();
  if (longest > fewest || fewest % longest != 0)
    return fail("--seq", fmt::format("{} positions do not divide {} tokens", longest, fmt::join(layer_tokens(), ", ")),
        fmt::format("a divisor of {}, or no --seq: sequences are then as long as the micro-batch", fewest));
  for (const Chosen<NetworkSpec>& network : networks)
    if (network.row.max_positions > 0 && longest > network.row.max_positions)
      return fail("--seq",
          fmt::format("{} positions, and {} has learned {}", longest, network.row.id, network.row.max_positions),
          fmt::format("at most {}", network.row.max_positions));
  return longest;
}

/// Networks are chosen before anything runs.
Expected<LayerRunRequest> request_of(const Arguments& arguments, const DeviceInfo& device, const std::string& date) {
  LayerRunRequest request;
  request.names = arguments.words;
  for (const std::string& name : arguments.words) {
    TRY(auto network, choose_network(name, "NETWORK"));
    request.networks.push_back(std::move(network));
  }
  TRY(request.longest, longest_of(arguments, request.networks));
  const std::string id = arguments.has("--gpu") ? arguments.value("--gpu") : gpu_of_device(device.name);
  if (id.empty())
    return fail(
        "--gpu", fmt::format("'{}' is not in the catalogue", device.name), "name the nearest row: stepcast list gpus");
  const auto gpu = find_row(built_in().gpus, id, "gpu");
  if (!gpu) return tl::unexpected(with_more_hint(error_at("--gpu", gpu.error()), "stepcast list gpus shows all"));
  request.gpu = **gpu;
  request.date = date;
  return request;
}

Expected<LayerFile> measure_layers(const Arguments& arguments, const MeasureDoors& doors, Console& console) {
  TRY(const auto found, doors.devices());
  if (found.empty()) return fail("devices", "the driver lists no GPU", "nvidia-smi shows what it sees");
  const std::string named = arguments.has("--gpu-index") ? arguments.value("--gpu-index") : "0";
  TRY(const auto index, parse_count(named, "--gpu-index", 0, static_cast<std::int64_t>(found.size()) - 1));
  TRY(auto request, request_of(arguments, found[static_cast<std::size_t>(index)], doors.date));
  const OutputPlace place = output_place(arguments, "--output", is_layer_file);
  TRY(OutputFile::open(place));
  TRY(auto bench, doors.open_gpu(static_cast<int>(index)));
  const InterruptGuard guard;
  Progress progress(console);
  request.stop = doors.interrupted;
  request.progress = [&progress](const std::string& name) { progress.show(name); };
  request.keep = [&place](const LayerFile& file) -> Expected<void> {
    TRY(auto out, OutputFile::open(place));
    return out.write(write_layers(file));
  };
  return time_layers(*bench, request);
}

Expected<void> print_measured(const Arguments& arguments, const MeasureDoors& doors, Console& console) {
  TRY(const auto file, measure_layers(arguments, doors, console));
  std::vector<HeldLayer> rows;
  for (const TimedLayer& layer : file.layers) rows.push_back({layer, {}});
  const LayersReport report{file, rows, nullptr};
  console.out << (arguments.has("--json") ? layers_json(report) : layers_report(report, console));
  return {};
}

// --- forecasting ---

Expected<void> print_forecast(const Arguments& arguments, Console& console) {
  for (const char* flag : {"--seq", "--gpu", "--gpu-index", "--force"})
    if (arguments.has(flag))
      return fail(flag, "says nothing of layers that were measured before", "it goes with NETWORK... -o LAYERS.json");
  if (arguments.words.size() != 2)
    return fail("command line", "one file of layers and one profile are wanted",
        "calibrate layers LAYERS.json PROFILE, or NETWORK... -o LAYERS.json to measure");
  const std::string& name = arguments.words.front();
  TRY(const auto text, read_text_file(name));
  TRY(const auto file, read_layers(text, name));
  TRY(const auto profile, choose_kernel_profile(arguments.words.at(1), "PROFILE"));
  const auto gpu = find_row(built_in().gpus, file.context.gpu, "gpu");
  if (!gpu) return tl::unexpected(error_at(name + ":/context/gpu", gpu.error()));
  if (profile.row.gpu != file.context.gpu)
    return fail("PROFILE",
        fmt::format("{} is of {}, and the layers are of {}", profile.row.id, profile.row.gpu, file.context.gpu),
        "a profile of the GPU that the layers were measured on");
  TRY(const auto rows, hold_layers(file, **gpu, profile.row, name));
  const LayersReport report{file, rows, &profile.row};
  console.out << (arguments.has("--json") ? layers_json(report) : layers_report(report, console));
  return {};
}

}  // namespace

Expected<void> layers(const Arguments& arguments, const MeasureDoors& doors, Console& console) {
  return arguments.has("--output") ? print_measured(arguments, doors, console) : print_forecast(arguments, console);
}

Expected<void> calibrate_layers(const Arguments& arguments, Console& console) {
  return layers(arguments, real_doors(), console);
}

}  // namespace stepcast::calibration
