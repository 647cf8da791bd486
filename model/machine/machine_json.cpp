// Machines from JSON and back.
#include "model/base/contains.h"
#include "model/base/large_value.h"
#include "model/machine/machine.h"

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/machine/gpu_json.h"
#include "model/machine/machine_names.h"
#include "model/machine/plausible.h"
#include "model/base/row_text.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(Machine)
namespace {

constexpr std::int64_t most_gpus = 10'000'000;

bool is_called(const Gpu& gpu, const std::string& name) { return gpu.id == name || contains(gpu.aliases, name); }

Gpu named_gpu(JsonObject& file, const std::vector<Gpu>& gpus) {
  std::string name;
  file.read("gpu", name);
  std::vector<std::string> ids;
  for (const Gpu& gpu : gpus) {
    if (is_called(gpu, name)) return gpu;
    ids.push_back(gpu.id);
  }
  file.require(false, "gpu", fmt::format("unknown GPU '{:.60}'", name),
      name_hint(name, ids) + "; or write the GPU itself here as an object");
  return {};
}

/// The id of a known GPU, or a GPU written out in place.
Gpu read_machine_gpu(JsonObject& file, const std::vector<Gpu>& gpus) {
  if (file.type_of("gpu") != "object") return named_gpu(file, gpus);
  return read_gpu_object(file.object("gpu"));
}

constexpr auto level_members = [](auto& file, auto& level) {
  file.read("name", level.name);
  file.choice("fabric", level.fabric, fabric_names);
  file.read("gpus", level.gpus, IntegerRange{1, most_gpus});
  file.read("bandwidth_per_gpu", level.bandwidth_per_gpu);
  file.read("ports", level.ports, IntegerRange{1, 1'000'000});
  file.read("port_bandwidth", level.port_bandwidth);
  file.read("latency", level.latency);
  file.optional("in_network_reduction", level.in_network_reduction);
  file.optional_choice("transport", level.transport, transport_names);
};

void check_rates(JsonObject& object, const Level& level) {
  object.require(!level.name.empty(), "name", "is empty", "a name, such as node");
  check_plausible(object, "bandwidth_per_gpu", level.bandwidth_per_gpu);
  check_plausible(object, "port_bandwidth", level.port_bandwidth);
  check_plausible(object, "latency", level.latency);
}

/// A level holds whole instances of the level below, and more than one.
void check_nesting(JsonObject& object, const Machine& machine, const Level& level) {
  if (machine.levels.empty()) return;
  const Level& below = machine.levels.back();
  object.require(level.gpus > below.gpus && level.gpus % below.gpus == 0, "gpus",
      fmt::format(
          "{} GPUs are no whole number of instances of level '{}' ({} GPUs)", level.gpus, below.name, below.gpus),
      fmt::format("a larger multiple of {}", below.gpus));
  for (const Level& other : machine.levels)
    object.require(level.name != other.name, "name", fmt::format("two levels are called '{:.40}'", level.name),
        "a name of its own");
}

}  // namespace

Expected<Machine> read_machine(const std::string& text, const std::string& where, const std::vector<Gpu>& gpus) {
  RowReader file(text, where);
  Machine machine;
  file.head(machine);
  file.require(!machine.name.empty(), "name", "is empty", "a name, or leave it out");
  machine.gpu = read_machine_gpu(file, gpus);
  for (JsonObject& object : file.objects("levels")) {
    RowReader row(object);
    Level level;
    level_members(row, level);
    check_rates(object, level);
    check_nesting(object, machine, level);
    machine.levels.push_back(level);
  }
  file.require(!machine.levels.empty(), "levels", "the list is empty", "levels from the innermost out");
  read_plausible(file, "host_memory", machine.host_memory);
  read_plausible(file, "host_link", machine.host_link);
  TRY(Machine result, file.finish(std::move(machine)));
  if (const auto sound = check_fabric(result); !sound)
    return tl::unexpected(error_at(fmt::format("{}:{}", where, sound.error().where), sound.error()));
  return result;
}

std::string write_machine(const Machine& machine) {
  RowWriter json;
  json.open();
  json.head(machine);
  json.open("gpu");
  write_gpu_fields(json, machine.gpu);
  json.close();
  json.list("levels", machine.levels, [&](const Level& level) { level_members(json, level); });
  json.fields("host_memory", machine.host_memory, "host_link", machine.host_link);
  json.close();
  return json.text();
}

}  // namespace stepcast
