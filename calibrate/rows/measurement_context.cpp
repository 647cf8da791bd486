#include "calibrate/rows/measurement_context.h"

#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/rows/device_name.h"
#include "model/base/json_writer.h"

namespace stepcast::calibrate {
namespace detail {
namespace {

using Context = MeasurementContext;
constexpr ContextText texts[] = {{"gpu", &Context::gpu}, {"fabric", &Context::fabric}, {"device", &Context::device},
    {"machine", &Context::machine}, {"software", &Context::software}, {"driver", &Context::driver},
    {"cuda", &Context::cuda}, {"cublas", &Context::cublas}, {"nccl", &Context::nccl}, {"date", &Context::date},
    {"launch_mode", &Context::launch_mode}, {"regime", &Context::regime}, {"cache", &Context::cache},
    {"beside", &Context::beside}, {"source", &Context::source}};
constexpr ContextNumber numbers[] = {{"sm_clock_mhz", &Context::sm_clock_mhz},
    {"memory_clock_mhz", &Context::memory_clock_mhz}, {"power_limit_w", &Context::power_limit_w},
    {"port_bytes_per_s", &Context::port_bytes_per_s}};
constexpr std::string_view ports_name = "ports_per_node";
constexpr std::int64_t most_ports = 1 << 20;

std::string unknown_field_hint(std::string_view name) {
  std::vector<std::string> names{std::string(ports_name)};
  for (const ContextText& field : texts) names.emplace_back(field.name);
  for (const ContextNumber& field : numbers) names.emplace_back(field.name);
  return name_hint(name, names);
}

/// "" or what the field holds instead.
std::string take_field(Context& context, std::string_view name, const JsonValue& value, bool& known) {
  known = true;
  for (const ContextText& field : texts) {
    if (name != field.name) continue;
    if (value.type != JsonType::string) return "a text";
    context.*field.value = value.parts->text;
    if (!context.cache.empty() && context.cache != "warm") return "warm, or nothing";
    return context.regime == "burst" || context.regime == "sustained" ? "" : "burst or sustained";
  }
  for (const ContextNumber& field : numbers) {
    if (name != field.name) continue;
    const bool number = value.type == JsonType::number || value.type == JsonType::integer;
    if (!number || !std::isfinite(value.number) || value.number < 0) return "a number, 0 or above";
    context.*field.value = value.number;
    return "";
  }
  known = name == ports_name;
  if (!known) return "";
  if (value.type != JsonType::integer || value.integer < 0 || value.integer > most_ports) return "a count of ports";
  context.ports_per_node = static_cast<int>(value.integer);
  return "";
}

}  // namespace

std::span<const ContextText> context_texts() { return texts; }
std::span<const ContextNumber> context_numbers() { return numbers; }

Expected<MeasurementContext> read_measurement_context(const JsonValue& value, const std::string& where) {
  if (value.type != JsonType::object) return fail(where, json_described(value), "an object with what is known");
  MeasurementContext context;
  for (const JsonMember& member : value.parts->members) {
    bool known = false;
    const std::string wanted = take_field(context, member.key, member.value, known);
    const std::string at = where + json_pointer("", member.key);
    if (!known) return fail(at, "unknown key", unknown_field_hint(member.key));
    if (!wanted.empty()) return fail(at, json_described(member.value), wanted);
  }
  return context;
}

std::string write_measurement_context(const MeasurementContext& context) {
  const MeasurementContext unknown;
  std::vector<std::string> fields;
  for (const ContextText& field : texts)
    if (context.*field.value != unknown.*field.value)
      fields.push_back(fmt::format("\"{}\": {}", field.name, json_quoted(context.*field.value)));
  for (const ContextNumber& field : numbers)
    if (context.*field.value != 0)
      fields.push_back(fmt::format("\"{}\": {}", field.name, json_number(context.*field.value)));
  if (context.ports_per_node != 0) fields.push_back(fmt::format("\"{}\": {}", ports_name, context.ports_per_node));
  return fmt::format("{{{}}}", fmt::join(fields, ", "));
}

}  // namespace detail

Expected<MeasurementContext> merged_context(
    MeasurementContext context, const MeasurementContext& given, const std::string& where) {
  const bool named = !context.gpu.empty() && !context.device.empty();
  const auto contradicts = [&](const char* name, const auto& found, const auto& said) {
    return fail(where, fmt::format("the file says {} {}, and it was given as {}", name, found, said),
        "leave it out, or import the file that it describes");
  };
  for (const detail::ContextText& field : detail::context_texts()) {
    std::string& known = context.*field.value;
    const std::string& said = given.*field.value;
    const bool open = known.empty() || (field.value == &MeasurementContext::regime && known == "burst");
    if (said.empty() || said == known) continue;
    // Burst is also what a context says that nobody set.
    if (field.value == &MeasurementContext::regime && said == "burst") continue;
    if (!open) return contradicts(field.name, known, said);
    known = said;
  }
  for (const detail::ContextNumber& field : detail::context_numbers()) {
    double& known = context.*field.value;
    const double said = given.*field.value;
    if (said == 0 || said == known) continue;
    if (known != 0) return contradicts(field.name, known, said);
    known = said;
  }
  if (given.ports_per_node != 0) {
    if (context.ports_per_node != 0 && context.ports_per_node != given.ports_per_node)
      return contradicts("ports_per_node", context.ports_per_node, given.ports_per_node);
    context.ports_per_node = given.ports_per_node;
  }
  // A file that names both, measured on a card that has no row of its own, said so when it was written.
  if (!named) TRY(check_device(context.device, context.gpu, where));
  return context;
}

Error gpu_missing(const MeasurementContext& context, const std::string& where) {
  if (context.device.empty()) return {where, "nothing says which GPU it was", "say which: --gpu h100-sxm"};
  return {where, fmt::format("device '{:.60}' is not in the catalogue", context.device),
      "stepcast list gpus shows those that are; timings of another device are not taken for one of them"};
}

}  // namespace stepcast::calibrate
