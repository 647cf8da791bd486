#include "studies/run/scenario_file.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/error_context.h"
#include "model/base/json_reader.h"
#include "studies/run/encoders.h"

namespace stepcast::run {
namespace {

using Json = nlohmann::ordered_json;

/// The text of an object inside the file. The strict reader has already refused what nlohmann would let pass.
std::string inner_text(const std::string& text, const std::string& key) { return Json::parse(text).at(key).dump(); }

template <typename Row, typename Choose, typename Read>
Expected<void> read_noun(JsonObject& file, const std::string& text, const std::string& key,
    std::optional<Chosen<Row>>& slot, Choose choose, Read read) {
  if (!file.has(key)) return {};
  const std::string where = file.where(key);
  if (file.type_of(key) == "object") {
    auto row = read(inner_text(text, key), where);
    if (!row) return tl::unexpected(at_one_pointer(row.error(), where));
    slot = Chosen<Row>{std::move(*row), ""};
    return {};
  }
  std::string name;
  file.read(key, name);
  if (auto error = file.first_error(); error && file.failed()) return tl::unexpected(*error);
  TRY(slot, choose(name, where));
  return {};
}

Expected<void> read_nouns(JsonObject& file, const std::string& text, Request& request) {
  file.require(file.has("network"), "network", "this key is missing", "it is required");
  TRY(read_noun(file, text, "network", request.network, choose_network, read_network));
  TRY(read_noun(file, text, "machine", request.machine, choose_machine, read_checked_machine));
  TRY(read_noun(file, text, "stack", request.stack, choose_stack, read_stack));
  return read_noun(file, text, "profile", request.profile, choose_profile, read_profile);
}

void read_mapping(JsonObject& file, Request& request) {
  if (!file.has("mapping")) return;
  std::vector<std::string> lines;
  file.read("mapping", lines);
  request.mapping = Request::Value{fmt::format("{}\n", fmt::join(lines, "\n")), file.where("mapping")};
}

Expected<void> read_value(JsonObject& file, const RunField& field, Request& request) {
  const std::string key(field.key);
  if (!file.has(key)) return {};
  std::string text;
  if (field.type.number) {
    std::int64_t count = field.type.least;
    file.read(key, count, IntegerRange{field.type.least, field.type.most});
    text = std::to_string(count);
  } else {
    file.read(key, text);
  }
  if (file.failed()) return {};
  return request.say(field, std::move(text), file.where(key));
}

template <typename Row>
void write_noun(Json& file, const char* key, const Chosen<Row>& chosen, std::string (*write)(const Row&)) {
  if (chosen.id.empty()) {
    file[key] = Json::parse(write(chosen.row));
  } else {
    file[key] = chosen.id;
  }
}

void write_ways(Json& file, const StackWays& ways) {
  const auto put = [&](const char* key, const std::optional<bool>& on) {
    if (on) file[key] = *on ? "on" : "off";
  };
  put("dp_overlap", ways.dp_overlap);
  put("param_overlap", ways.param_overlap);
  put("tp_overlap", ways.tp_overlap);
  put("pp_overlap", ways.pp_overlap);
  put("scatter_boundary", ways.scatter_boundary);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

bool is_scenario(const std::string& text) {
  JsonObject file(text, "");
  return file.has("network") && !is_shown_network(text);
}

Expected<Request> read_scenario(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  if (file.failed()) return tl::unexpected(*file.first_error());
  Request request;
  TRY(read_nouns(file, text, request));
  read_mapping(file, request);
  for (const RunField& field : run_fields())
    if (!field.is_noun()) TRY(read_value(file, field, request));
  return file.finish(std::move(request));
}

std::string write_scenario(const Scenario& scenario) {
  Json file;
  write_noun(file, "network", scenario.network, write_network);
  write_noun(file, "machine", scenario.machine, write_machine);
  write_noun(file, "stack", scenario.stack, write_stack);
  if (scenario.own_profile || !scenario.profile.id.empty())
    write_noun(file, "profile", scenario.profile, write_profile);
  write_ways(file, scenario.ways);
  const Plan& plan = scenario.plan;
  file["gpus"] = plan.gpus;
  file["micro_batch"] = plan.micro_batch;
  if (plan.lora_rank > 0) file["lora"] = plan.lora_rank;
  if (plan.lora_rank > 0 && !plan.adapted.all()) file["lora_on"] = plan.adapted.text();
  if (scenario.network.row.masked_share > 0)
    file["masked_share"] = fmt::format("{}", scenario.network.row.masked_share);
  for (const NetworkSpec& encoder : scenario.network.row.encoders) {
    file["encoder_sequence"] = encoder.sequence;
    if (encoder.images > 0) file[encoder.sound ? "clips" : "images"] = encoder.images;
  }
  if (const std::string frozen = frozen_parts(scenario.network.row); !frozen.empty()) file["freeze"] = frozen;
  file["global_batch"] = plan.global_batch;
  file["sequence"] = plan.sequence;
  if (scenario.pipeline.slices > 1) file["seq_splits"] = scenario.pipeline.slices;
  if (scenario.pipeline.memory_cap > 0) file["memory_cap"] = scenario.pipeline.memory_cap;
  file["precision"] = to_text(plan.precision);
  file["attention_flops"] = scenario.causal_attention ? "causal" : "full";
  file["mapping"] = lines_of(plan.mapping);
  return file.dump(2) + "\n";
}

}  // namespace stepcast::run
