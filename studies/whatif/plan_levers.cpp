#include "studies/whatif/plan_levers.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast::whatif {
namespace {

using Walk = FieldLever::Walk;

struct PipelineRow {
  const char *schedule, *chunks;
};
constexpr PipelineRow pipelines[] = {
    {"1f1b", "1"}, {"interleaved-1f1b", "2"}, {"interleaved-1f1b", "4"}, {"zb-h1", "1"}, {"zb-v", "2"}};

std::string lever_name(const RunField& field) { return std::string(field.flag.substr(2)); }

/// Of a value that the field's own walk found, or that is in force.
Request with_value(Request request, const RunField& field, std::string value) {
  (void)request.say(field, std::move(value), std::string(field.flag));  // next_values() keeps to the field's range
  return request;
}

std::vector<std::string> next_values(const RunField& field, const std::string& from) {
  std::vector<std::string> values;
  if (field.lever.walk == Walk::words) {
    for (const std::string_view word : field.lever.words)
      if (!word.empty() && from != word) values.emplace_back(word);
    return values;
  }
  const std::int64_t now = std::stoll(from);
  if (field.lever.walk == Walk::doubling) {
    if (now % 2 == 0) values.push_back(std::to_string(now / 2));
    if (2 * now <= field.type.most) values.push_back(std::to_string(2 * now));
  } else {
    if (now > field.type.least) values.push_back(std::to_string(now - 1));
    if (now < field.type.most) values.push_back(std::to_string(now + 1));
  }
  return values;
}

bool said_by_mapping(const Request& request, const RunField& field) {
  return request.mapping.has_value() && field.splits;
}

/// Why the lever of a field can do nothing here; "" where it can.
std::string_view why_idle(const RunField& field, const Request& request, const Scenario& scenario) {
  if (field.applies == nullptr || !scenario.split) return {};  // a mapping tells its ways itself
  return field.applies(*scenario.split, request.wishes(), scenario.network.row) ? std::string_view() : field.why_not;
}

PlanLever lever_of_field(const RunField& field, const Request& request, const Scenario& scenario) {
  PlanLever lever{lever_name(field), std::string(field.lever.name), "", {}, ""};
  if (said_by_mapping(request, field)) {
    lever.idle = "the mapping says it: change it there";
    return lever;
  }
  lever.from = plan_value(request, scenario, field.id);
  lever.idle = why_idle(field, request, scenario);
  if (!lever.idle.empty()) return lever;
  for (std::string& value : next_values(field, lever.from))
    lever.steps.push_back({value, with_value(request, field, value)});
  return lever;
}

std::string pipeline_words(const std::string& schedule, const std::string& chunks) {
  return chunks == "1" ? schedule : fmt::format("{}, {} chunks", schedule, chunks);
}

/// A schedule and its chunks go together.
PlanLever schedule_lever(const Request& request, const Scenario& scenario) {
  PlanLever lever{"schedule", "pipeline schedule", "", {}, ""};
  const RunField &schedule_field = field(FieldId::schedule), &chunks_field = field(FieldId::chunks);
  if (said_by_mapping(request, schedule_field)) {
    lever.idle = "the mapping says it: change it there";
    return lever;
  }
  const std::string schedule = plan_value(request, scenario, FieldId::schedule),
                    chunks = plan_value(request, scenario, FieldId::chunks);
  lever.from = pipeline_words(schedule, chunks);
  lever.idle = why_idle(field(FieldId::layout), request, scenario);
  if (!lever.idle.empty()) return lever;
  for (const PipelineRow& row : pipelines) {
    if (schedule == row.schedule && (chunks == row.chunks || (chunks == "1" && schedule == "zb-v"))) continue;
    lever.steps.push_back({pipeline_words(row.schedule, row.chunks),
        with_value(with_value(request, schedule_field, row.schedule), chunks_field, row.chunks)});
  }
  return lever;
}

}  // namespace

// Not what depends on nothing else: a sequence that is said has to divide, where the network's own turns sp off.
Request pinned(Request request, const Scenario& scenario) {
  const Plan& plan = scenario.plan;
  const auto pin = [&](FieldId id, std::string value) {
    if (!request.says(id)) request = with_value(std::move(request), field(id), std::move(value));
  };
  pin(FieldId::gpus, std::to_string(plan.gpus));
  pin(FieldId::global_batch, std::to_string(plan.global_batch));
  pin(FieldId::precision, to_text(plan.precision));
  if (!request.profile) request.profile = scenario.profile;
  if (!request.stack) request.stack = scenario.stack;
  return request;
}

std::string plan_value(const Request& request, const Scenario& scenario, FieldId id) {
  if (const Request::Value* said = request.find(id)) return said->text;
  const RunField& row = field(id);
  for (const Assumption& assumption : scenario.assumptions)
    if (assumption.flag == row.flag) return assumption.value;
  return row.plain.empty() ? "1" : std::string(row.plain);
}

std::vector<PlanLever> plan_levers(const Request& request, const Scenario& scenario) {
  std::vector<const RunField*> fields;
  for (const RunField& field : run_fields())
    if (field.lever.walk != Walk::none) fields.push_back(&field);
  std::sort(fields.begin(), fields.end(),
      [](const RunField* a, const RunField* b) { return a->lever.place < b->lever.place; });
  std::vector<PlanLever> levers;
  for (const RunField* field : fields) levers.push_back(lever_of_field(*field, request, scenario));
  levers.push_back(schedule_lever(request, scenario));
  return levers;
}

}  // namespace stepcast::whatif
