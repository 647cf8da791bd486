#include "studies/whatif/whatif_change.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "studies/run/forecast.h"
#include "studies/whatif/machine_levers.h"
#include "studies/whatif/plan_levers.h"

namespace stepcast::whatif {
namespace {

constexpr double least_change = 1e-3, most_change = 1000;

/// The run that is changed, and the names that may be.
struct ChangeBase {
  Request asked, request;  ///< as typed, and with everything said
  Scenario scenario;
};

/// "micro-batch" and "micro_batch": the field of the run, null for anything else.
const RunField* plan_field(const std::string& id) {
  const RunField* field = find_flag_field("--" + id);
  if (field == nullptr) field = find_field(id);
  return field != nullptr && field->id != FieldId::profile ? field : nullptr;
}

std::optional<MachineLever> machine_lever_called(const std::string& id, const Scenario& scenario) {
  for (MachineLever& lever : machine_levers(scenario))
    if (lever.id == id || (lever.other_id == id && !id.empty())) return std::move(lever);
  return std::nullopt;
}

Error unknown_lever(const Change& change, const Scenario& scenario) {
  std::vector<std::string> names;
  for (const MachineLever& lever : machine_levers(scenario)) names.push_back(lever.id);
  for (const RunField& field : run_fields())
    if (field.id != FieldId::profile) names.emplace_back(field.flag.substr(2));
  return {"--change", fmt::format("'{:.60}' is neither a rate of this machine nor a number of a plan", change.id),
      name_hint(change.id, names)};
}

bool is_factor(const std::string& value) { return value.size() > 1 && value.ends_with('x') && value != "x"; }

std::string change_where(const Change& change) { return fmt::format("--change {:.60}", change.id); }

/// "16", or "2x" of what is in force.
Expected<std::string> plan_text(const Change& change, const RunField& field, const ChangeBase& base) {
  const std::string where = change_where(change);
  std::string text = change.value;
  if (field.type.number && is_factor(text)) {
    TRY(const auto factor, parse_factor(text, where, least_change, most_change));
    const std::string now = plan_value(base.request, base.scenario, field.id);
    const double wanted = std::stod(now) * factor;
    if (wanted != std::floor(wanted))
      return fail(where, fmt::format("{} of {} is not a whole number", text, now), "a value, or another factor");
    text = fmt::format("{:.0f}", wanted);
  }
  TRY(check_field(field, text, where));
  return text;
}

Expected<void> change_plan(Request& request, const Change& change, const RunField& field, const ChangeBase& base) {
  const std::string where = change_where(change);
  if (field.id == FieldId::machine) {
    TRY(auto machine, choose_machine(change.value, where));
    request.machine = std::move(machine);
    request.profile = base.asked.profile;  // unless one was named, that of the new machine's GPU
    return {};
  }
  if (field.id == FieldId::stack) {
    TRY(request.stack, choose_stack(change.value, where));
    return {};
  }
  TRY(auto text, plan_text(change, field, base));
  return request.say(field, std::move(text), where);
}

/// The plan's changes are resolved first; the machine that results is then scaled.
Expected<Scenario> changed_scenario(const ChangeBase& base, std::span<const Change> changes) {
  Request request = base.request;
  std::vector<const Change*> of_machine;
  for (const Change& change : changes) {
    const RunField* field = plan_field(change.id);
    if (field == nullptr) {
      of_machine.push_back(&change);
    } else TRY(change_plan(request, change, *field, base));
  }
  TRY(auto scenario, complete(request));
  for (const Change* change : of_machine) {
    const auto lever = machine_lever_called(change->id, scenario);
    if (!lever) return tl::unexpected(unknown_lever(*change, scenario));
    if (!is_factor(change->value))
      return fail(change_where(*change), fmt::format("'{:.60}' is no factor", change->value),
          fmt::format("{}=2x or {}=0.5x", change->id, change->id));
    TRY(const auto factor, parse_factor(change->value, change_where(*change), least_change, most_change));
    lever->scale(scenario, factor);
  }
  return scenario;
}

struct NamedChange {
  std::string name, from, to;
};

NamedChange change_words(const Change& change, const ChangeBase& base, const Scenario& after) {
  const RunField* field = plan_field(change.id);
  if (field == nullptr) {
    const MachineLever lever = *machine_lever_called(change.id, base.scenario);
    return {lever.name, lever.text(lever.amount(base.scenario)), lever.text(lever.amount(after))};
  }
  if (field->id == FieldId::machine) return {"machine", base.scenario.machine.row.id, after.machine.row.id};
  if (field->id == FieldId::stack) return {"stack", base.scenario.stack.row.id, after.stack.row.id};
  const auto text = plan_text(change, *field, base);
  return {std::string(field->flag.substr(2)), plan_value(base.request, base.scenario, field->id),
      text ? *text : change.value};
}

/// By itself; a change that only works beside the others says why.
ChangeEffect::One change_alone(const Change& change, const ChangeBase& base) {
  ChangeEffect::One one{change, change.id, "", change.value, {}, ""};
  const auto scenario = changed_scenario(base, {&change, 1});
  if (!scenario) {
    one.refused = scenario.error().what;
    return one;
  }
  NamedChange words = change_words(change, base, *scenario);
  one.name = std::move(words.name), one.from = std::move(words.from), one.to = std::move(words.to);
  const auto outcome = outcome_of_scenario(*scenario);
  if (outcome) {
    one.after = *outcome;
  } else {
    one.refused = outcome.error().what;
  }
  return one;
}

}  // namespace

Expected<double> parse_factor(const std::string& text, const std::string& where, double least, double most) {
  const std::string hint = fmt::format("a factor from {} to {}: 2x, 1.5x", least, most);
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (stop != end && *stop == 'x') ++stop;
  if (problem != std::errc{} || stop != end) return fail(where, fmt::format("'{:.60}' is no factor", text), hint);
  if (!(value >= least && value <= most)) return fail(where, fmt::format("{:.60} is out of range", text), hint);
  return value;
}

Expected<std::vector<Change>> parse_changes(const std::string& text, const std::string& where) {
  std::vector<Change> changes;
  for (const std::string& part : split_at_commas(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos && !changes.empty()) {  // a list of layers holds commas
      changes.back().value += "," + part;
      continue;
    }
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      return fail(where, fmt::format("'{:.60}' names no change", part), "WHAT=VALUE: nic=2x, tp=4");
    changes.push_back({part.substr(0, equals), part.substr(equals + 1)});
    const auto same = [&](const Change& change) { return change.id == changes.back().id; };
    if (std::count_if(changes.begin(), changes.end(), same) > 1)
      return fail(where, fmt::format("{:.60} is given twice", changes.back().id), "give it once");
  }
  return changes;
}

Expected<ChangeEffect> change_effect(const Request& request, const std::vector<Change>& changes) {
  TRY(auto scenario, complete(request));
  const ChangeBase base{request, pinned(request, scenario), scenario};
  TRY(const auto before, outcome_of_scenario(scenario));
  TRY(const auto joint, changed_scenario(base, changes));
  TRY(const auto together, outcome_of_scenario(joint));
  ChangeEffect effect{std::move(scenario), before, {}, together, in_words(joint)};
  for (const Change& change : changes) effect.alone.push_back(change_alone(change, base));
  return effect;
}

}  // namespace stepcast::whatif
