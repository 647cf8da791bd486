// The same as a document: base units, the unit at the end of each key.
#include "model/base/json_writer.h"
#include "studies/launch/rules/explain.h"

namespace stepcast::launch {
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
  json.base_fields("with_step_s", effect.with_time, "with_peak_bytes", effect.with_memory);
  json.base_field("with_received_bytes", effect.with_moved);
  if (effect.why_not.empty()) {
    json.base_fields("without_step_s", effect.without_time, "without_peak_bytes", effect.without_memory);
    json.base_field("without_received_bytes", effect.without_moved);
  } else {
    json.field("why_not_without", effect.why_not);
  }
  json.close();
}

void add_argument(JsonWriter& json, const ExplainedArgument& argument) {
  json.open();
  json.fields("name", argument.given.name, "spelled", argument.given.spelled, "value", argument.given.value);
  json.fields("line", argument.given.line, "known", argument.fact != nullptr, "reach", reach_name(argument.reach));
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
  json.object("launch", "framework", launch.framework->id, "where", launch.where, "release", launch.release,
      "first_release", explained.first_release, "last_release", explained.last_release, "gpus", launch.gpus,
      "gpus_per_node", launch.gpus_per_node);
}

void add_launch_forecast(JsonWriter& json, const ExplainedLaunch& explained) {
  if (explained.scenario && explained.prediction) {
    const StepReport& step = explained.prediction->step;
    json.open("forecast");
    json.fields("network", explained.scenario->network.row.id, "machine", explained.scenario->machine.row.id);
    json.fields("gpus", explained.scenario->plan.gpus, "split", in_words(*explained.scenario));
    json.base_fields("step_s", step.step_time, "p10_s", step.p10, "p90_s", step.p90);
    json.field("mfu", explained.prediction->mfu);
    json.base_fields("peak_bytes", step.memory.peak, "capacity_bytes", step.memory.capacity);
    json.close();
  }
  if (explained.refusal)
    json.object(
        "refusal", "where", explained.refusal->where, "what", explained.refusal->what, "hint", explained.refusal->hint);
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
  for (const Interaction& interaction : explained.interactions)
    json.row("arguments", interaction.arguments, "text", interaction.text, "wrong", interaction.wrong);
  json.close();
  json.field("notes", explained.notes);
  json.close();
  return json.text();
}

}  // namespace stepcast::launch
