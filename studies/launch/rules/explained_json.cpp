// The same as a document: base units, the unit at the end of each key.
#include "model/base/json_writer.h"
#include "studies/launch/rules/explain.h"

namespace stepcast {
namespace {

struct ReachName {
  Reach reach;
  const char* name;
};
constexpr ReachName reach_names[] = {
    {Reach::nothing, "nothing"}, {Reach::step, "step"}, {Reach::uncovered, "uncovered"}, {Reach::beside, "beside"}};

const char* reach_name(Reach reach) {
  for (const ReachName& row : reach_names)
    if (row.reach == reach) return row.name;
  return "";
}

void add_effect(JsonWriter& json, const ArgumentEffect& effect) {
  json.open("effect");
  json.base_field("with_step_s", effect.with_time);
  json.base_field("with_peak_bytes", effect.with_memory);
  json.base_field("with_received_bytes", effect.with_moved);
  if (effect.why_not.empty()) {
    json.base_field("without_step_s", effect.without_time);
    json.base_field("without_peak_bytes", effect.without_memory);
    json.base_field("without_received_bytes", effect.without_moved);
  } else {
    json.field("why_not_without", effect.why_not);
  }
  json.close();
}

void add_argument(JsonWriter& json, const ExplainedArgument& argument) {
  json.open();
  json.field("name", argument.given.name);
  json.field("spelled", argument.given.spelled);
  json.field("value", argument.given.value);
  json.field("line", argument.given.line);
  json.field("known", argument.fact != nullptr);
  json.field("reach", reach_name(argument.reach));
  json.field("meaning", argument.meaning);
  if (argument.fact != nullptr) {
    json.field("topic", argument.fact->topic);
    if (argument.fact->asks) json.field("asks", asked_name(*argument.fact->asks));
    if (!argument.fact->since.empty()) json.field("since", argument.fact->since);
    if (!argument.fact->until.empty()) json.field("until", argument.fact->until);
    if (!argument.fact->instead.empty()) json.field("instead", argument.fact->instead);
    if (!argument.fact->trap.empty()) json.field("trap", argument.fact->trap);
  }
  json.field("mapping", argument.mapping);
  if (argument.effect) add_effect(json, *argument.effect);
  json.field("said", argument.said);
  json.close();
}

void add_launch(JsonWriter& json, const ExplainedLaunch& explained) {
  const Launch& launch = *explained.launch;
  json.open("launch");
  json.field("framework", launch.framework->id);
  json.field("where", launch.where);
  json.field("release", launch.release);
  json.field("first_release", explained.first_release);
  json.field("last_release", explained.last_release);
  json.field("gpus", launch.gpus);
  json.field("gpus_per_node", launch.gpus_per_node);
  json.close();
}

void add_launch_forecast(JsonWriter& json, const ExplainedLaunch& explained) {
  if (explained.scenario && explained.prediction) {
    const StepReport& step = explained.prediction->step;
    json.open("forecast");
    json.field("network", explained.scenario->network.row.id);
    json.field("machine", explained.scenario->machine.row.id);
    json.field("gpus", explained.scenario->plan.gpus);
    json.field("split", in_words(*explained.scenario));
    json.base_field("step_s", step.step_time);
    json.base_field("p10_s", step.p10);
    json.base_field("p90_s", step.p90);
    json.field("mfu", explained.prediction->mfu);
    json.base_field("peak_bytes", step.memory.peak);
    json.base_field("capacity_bytes", step.memory.capacity);
    json.close();
  } else if (explained.refusal) {
    json.open("refusal");
    json.field("where", explained.refusal->where);
    json.field("what", explained.refusal->what);
    json.field("hint", explained.refusal->hint);
    json.close();
  }
}

}  // namespace

std::string explained_json(const ExplainedLaunch& explained) {
  JsonWriter json;
  json.open();
  add_launch(json, explained);
  add_launch_forecast(json, explained);
  json.open_list("arguments");
  for (const ExplainedArgument& argument : explained.arguments) add_argument(json, argument);
  json.close();
  json.open_list("interactions");
  for (const Interaction& interaction : explained.interactions) {
    json.open();
    json.field("arguments", interaction.arguments);
    json.field("text", interaction.text);
    json.field("wrong", interaction.wrong);
    json.close();
  }
  json.close();
  json.field("notes", explained.notes);
  json.close();
  return json.text();
}

}  // namespace stepcast
