#include "studies/whatif/plan_levers.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>

namespace stepcast {
namespace {

enum class Walk : std::uint8_t { doubling, steps_of_one, words };

struct PlanRow {
  const char *key, *name, *usual;              ///< usual: where nobody said it and nothing was assumed
  Walk walk;
  std::vector<const char*> words = {};
  bool (*applies)(const Scenario&, const Request&) = nullptr;
  const char* why_not = "";
};

bool has_stages(const Scenario& scenario, const Request& request) { return plan_value(request, scenario, "pp") != "1"; }
bool has_tensor_split(const Scenario& scenario, const Request& request) { return plan_value(request, scenario, "tp") != "1"; }
bool has_context_split(const Scenario& scenario, const Request& request) { return plan_value(request, scenario, "cp") != "1"; }
bool has_sequence_split(const Scenario& scenario, const Request& request) { return plan_value(request, scenario, "sp") == "on"; }
bool has_shards(const Scenario& scenario, const Request& request) { return plan_value(request, scenario, "zero") != "0"; }
bool has_experts(const Scenario& scenario, const Request&) { return scenario.network.row.experts.count > 0; }

const std::vector<PlanRow>& plan_rows() {
  static const std::vector<PlanRow> rows = {
      {"tp", "tensor parallelism", "1", Walk::doubling},
      {"pp", "pipeline stages", "1", Walk::doubling},
      {"cp", "context parallelism", "1", Walk::doubling},
      {"ep", "expert parallelism", "1", Walk::doubling, {}, has_experts, "the network has no experts"},
      {"micro_batch", "micro-batch", "1", Walk::doubling},
      {"global_batch", "global batch", "1", Walk::doubling},
      {"sequence", "sequence", "1", Walk::doubling},
      {"zero", "sharding stage", "1", Walk::steps_of_one},
      {"dp_replicate", "copies of what is sharded", "1", Walk::doubling, {}, has_shards, "zero 0 shards nothing"},
      {"recompute", "recompute", "none", Walk::words, {"none", "selective", "full"}},
      {"sp", "sequence parallelism", "off", Walk::words, {"on", "off"}, has_tensor_split, "without tp it does nothing"},
      {"save_gathered", "gathered activations kept", "off", Walk::words, {"on", "off"}, has_sequence_split,
       "without sp it does nothing"},
      {"cp_kind", "context parallelism by", "ring", Walk::words, {"ring", "gather", "ulysses"}, has_context_split,
       "without cp it does nothing"},
      {"order", "axes on the ranks", "tp-cp-dp-pp", Walk::words, {"tp-cp-dp-pp", "tp-cp-pp-dp"}},
      {"dp_overlap", "gradients beside compute", "the stack's way", Walk::words, {"on", "off"}},
      {"tp_overlap", "activations beside compute", "the stack's way", Walk::words, {"on", "off"}},
      {"layout", "layers on stages", "even", Walk::words, {"even", "balanced"}, has_stages, "there is one stage"},
      {"precision", "number type", "bf16", Walk::words, {"bf16", "fp8"}}};
  return rows;
}

struct PipelineRow { const char *schedule, *chunks; };
constexpr PipelineRow pipelines[] = {{"1f1b", "1"}, {"interleaved-1f1b", "2"}, {"interleaved-1f1b", "4"}, {"zb-h1", "1"}, {"zb-v", "2"}};

std::string lever_name(const char* key) {
  return std::string(find_key(run_flags(), key)->name.substr(2));
}

Request with_value(Request request, std::string_view key, std::string value) {
  request.values[std::string(key)] = {std::move(value), std::string(find_key(run_flags(), key)->name)};
  return request;
}

std::int64_t number_of(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> next_values(const PlanRow& row, const std::string& from) {
  std::vector<std::string> values;
  const std::int64_t now = number_of(from);
  if (row.walk == Walk::doubling) {
    if (now % 2 == 0) values.push_back(std::to_string(now / 2));
    values.push_back(std::to_string(2 * now));
  } else if (row.walk == Walk::steps_of_one) {
    const Flag& flag = *find_key(run_flags(), row.key);
    if (now > flag.least) values.push_back(std::to_string(now - 1));
    if (now < flag.most) values.push_back(std::to_string(now + 1));
  } else {
    for (const char* word : row.words)
      if (from != word) values.emplace_back(word);
  }
  return values;
}

bool said_by_mapping(const Request& request, std::string_view key) {
  return request.mapping.has_value() && find_key(run_flags(), key)->splits;
}

PlanLever lever_of_row(const PlanRow& row, const Request& request, const Scenario& scenario) {
  PlanLever lever{lever_name(row.key), row.name, "", {}, ""};
  if (said_by_mapping(request, row.key)) {
    lever.idle = "the mapping says it: change it there";
    return lever;
  }
  lever.from = plan_value(request, scenario, row.key);
  if (row.applies != nullptr && !row.applies(scenario, request)) {
    lever.idle = row.why_not;
    return lever;
  }
  for (std::string& value : next_values(row, lever.from)) lever.steps.push_back({value, with_value(request, row.key, value)});
  return lever;
}

std::string pipeline_words(const std::string& schedule, const std::string& chunks) {
  return chunks == "1" ? schedule : fmt::format("{}, {} chunks", schedule, chunks);
}

/// A schedule and its chunks go together.
PlanLever schedule_lever(const Request& request, const Scenario& scenario) {
  PlanLever lever{"schedule", "pipeline schedule", "", {}, ""};
  if (said_by_mapping(request, "schedule")) {
    lever.idle = "the mapping says it: change it there";
    return lever;
  }
  const std::string schedule = plan_value(request, scenario, "schedule"), chunks = plan_value(request, scenario, "chunks");
  lever.from = pipeline_words(schedule, chunks);
  if (!has_stages(scenario, request)) {
    lever.idle = "there is one stage";
    return lever;
  }
  for (const PipelineRow& row : pipelines) {
    if (schedule == row.schedule && (chunks == row.chunks || (chunks == "1" && schedule == "zb-v"))) continue;
    lever.steps.push_back({pipeline_words(row.schedule, row.chunks),
                           with_value(with_value(request, "schedule", row.schedule), "chunks", row.chunks)});
  }
  return lever;
}

}  // namespace

// Not what depends on nothing else: a sequence that is said has to divide, where the network's own turns sp off.
Request pinned(Request request, const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const auto pin = [&](const char* key, std::string value) {
    if (request.find(key) == nullptr) request = with_value(std::move(request), key, std::move(value));
  };
  pin("gpus", std::to_string(plan.gpus));
  pin("global_batch", std::to_string(plan.global_batch));
  pin("precision", to_text(plan.precision));
  if (!request.profile) request.profile = scenario.profile;
  return request;
}

std::string plan_value(const Request& request, const Scenario& scenario, std::string_view key) {
  if (const Request::Value* said = request.find(key)) return said->text;
  const std::string_view flag = find_key(run_flags(), key)->name;
  for (const Assumption& assumption : scenario.assumptions)
    if (assumption.flag == flag) return assumption.value;
  for (const PlanRow& row : plan_rows())
    if (key == row.key) return row.usual;
  return "1";
}

std::vector<PlanLever> plan_levers(const Request& request, const Scenario& scenario) {
  std::vector<PlanLever> levers;
  for (const PlanRow& row : plan_rows()) levers.push_back(lever_of_row(row, request, scenario));
  levers.push_back(schedule_lever(request, scenario));
  return levers;
}

}  // namespace stepcast
