// nccl-tests' JSON (-J, since 2.17.4; src/util.cu there). Numbers have all their digits; the collective stands only in
// the name of the program. The environment that it dumps is not kept: it may hold secrets. What it says of the
// algorithm is noted.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/import/importer.h"
#include "calibrate/import/nccl/nccl_text.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/json_reader.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

using namespace nccl;

/// printf's %lf.
constexpr double json_half_unit = 5e-7;
constexpr NumberRange figures{0, 1e15};
constexpr IntegerRange json_counts{0, 1 << 20}, json_sizes{0, std::int64_t{1} << 50};

Printed read_printed(JsonObject& object, const std::string& key) {
  Printed printed{0, json_half_unit};
  object.read(key, printed.value, figures);
  return printed;
}

std::optional<Half> read_json_half(JsonObject& row, const std::string& key) {
  auto object = row.optional_object(key);
  if (!object) return std::nullopt;
  object->allow_unknown_keys();
  Half half;
  object->require(!object->has("cpu_time"), "cpu_time", "how long calls took to return", "a run without -C 1");
  half.time_us = read_printed(*object, "time");
  half.algbw = read_printed(*object, "alg_bw");
  half.busbw = read_printed(*object, "bus_bw");
  if (object->has("nwrong")) read_printed(*object, "nwrong").value > 0 ? half.wrong = 1 : half.wrong = 0;
  if (auto single = row.optional_object(key + "_per_iter")) {
    single->allow_unknown_keys();
    single->read("min_us", half.least_us, figures);
    single->read("max_us", half.most_us, figures);
    single->require(half.least_us <= half.most_us, "min_us", "above max_us", "the least and the greatest time");
  }
  return half;
}

Row read_json_row(JsonObject& object) {
  object.allow_unknown_keys();
  Row row;
  row.where = object.where();
  std::int64_t size = 0, count = 0;
  object.read("size", size, json_sizes);
  object.read("count", count, json_sizes);
  object.read("type", row.type);
  object.read("redop", row.redop);
  row.size = static_cast<double>(size);
  row.count = static_cast<double>(count);
  std::string root;  // "    -1"
  object.read("root", root);
  const Words words = words_of(root);
  const auto rank = words.size() == 1 ? parsed_number<int>(words[0]) : std::nullopt;
  const bool sound = rank && *rank >= -1;
  object.require(sound, "root", fmt::format("'{:.40}'", root), "-1 or a rank");
  if (sound) row.root = *rank;
  object.require(
      element_bytes(row.type) > 0, "type", fmt::format("unknown type '{:.40}'", row.type), "as nccl-tests names them");
  object.require(
      is_operation(row.redop), "redop", fmt::format("unknown operation '{:.40}'", row.redop), "sum, none, ...");
  row.out_of_place = read_json_half(object, "out_of_place");
  row.in_place = read_json_half(object, "in_place");
  return row;
}

void read_json_config(JsonObject& config, Run& run) {
  config.allow_unknown_keys();
  int graph = 0;
  std::int64_t least = 0, most = 0;
  config.read("nthreads", run.threads, json_counts);
  config.read("ngpus", run.gpus, json_counts);
  config.optional("iterations", run.iterations, json_counts);
  config.optional("graph", graph, json_counts);
  config.optional("minimum_bytes", least, json_sizes);
  config.optional("maximum_bytes", most, json_sizes);
  run.graph = graph > 0;
  run.least_bytes = static_cast<double>(least);
  run.most_bytes = static_cast<double>(most);
}

/// One entry for each process, of its first GPU (src/util.cu reads one line of each): the others follow it.
void read_json_devices(std::vector<JsonObject> objects, Run& run) {
  for (JsonObject& object : objects) {
    object.allow_unknown_keys();
    Device device;
    object.read("rank", device.rank, json_counts);
    object.read("hostname", device.host);
    object.read("device", device.device, json_counts);
    object.read("device_info", device.name);
    run.devices.push_back(std::move(device));
  }
  constexpr std::int64_t most = 1024;  // GPUs that one process drives
  const auto each = static_cast<int>(std::clamp<std::int64_t>(std::int64_t{run.threads} * run.gpus, 1, most));
  const std::vector<Device> firsts = run.devices;
  for (std::size_t i = 0; i < firsts.size(); ++i)
    if (firsts[i].rank != static_cast<int>(i) * each) return;
  run.devices.clear();
  for (const Device& first : firsts)
    for (int i = 0; i < each; ++i) run.devices.push_back({first.rank + i, first.device + i, first.host, first.name});
}

void read_json_environment(JsonObject& file, Run& run) {
  std::vector<std::string> variables;
  file.optional("env", variables);
  for (const std::string& variable : variables)
    if (variable.starts_with("NCCL_ALGO=") || variable.starts_with("NCCL_PROTO="))
      run.forced.push_back(variable.substr(0, 80));
}

}  // namespace

int recognise_nccl_json(std::string_view text, const std::string&) {
  const auto has = [&](std::string_view words) { return text.find(words) != text.npos; };
  const Words first = words_of(text.substr(0, 64));
  if (first.empty() || !first[0].starts_with('{')) return 0;
  return has("\"nccl_version\"") && has("\"out_of_place\"") ? 95 : 0;
}

Expected<Measurements> read_nccl_json(std::string_view text, const std::string& where, const ImportOptions& options) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  Run run;
  std::vector<std::string> arguments;
  std::int64_t version = 0;
  std::string start;
  file.optional("args", arguments);
  file.optional("nccl_version", version, json_sizes);
  file.optional("start_time", start);
  if (JsonObject config = file.object("config"); !file.failed()) {
    read_json_config(config, run);
    // Before devices moved inside: the list of the document.
    auto devices = config.optional_objects("devices");
    read_json_devices(devices.empty() ? file.optional_objects("devices") : std::move(devices), run);
  }
  read_json_environment(file, run);
  for (JsonObject& result : file.objects("results")) run.rows.push_back(read_json_row(result));
  if (auto error = file.first_error()) return tl::unexpected(std::move(*error));
  if (run.rows.empty()) return fail(where + ":/results", "no results", "a run that timed something");
  if (!arguments.empty()) run.program = last_of_path(arguments.front());
  take_library_version(version, run);
  run.context.software = "nccl-tests";
  read_date(words_of(start), run);
  Measurements all;
  TRY(add_run(all, run, where, options));
  return all;
}

}  // namespace stepcast::calibrate
