#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/fleet/fleet.h"
#include "studies/job/duration.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::fleet {
namespace {

/// "64 x dgx-h100"; of several jobs "a on 64 x dgx-h100, b on 8 x dgx-a100".
std::string choice_text(const FleetAnswer& answer, const FleetChoice& choice) {
  std::vector<std::string> parts;
  for (std::size_t job = 0; job < answer.jobs.size(); ++job) {
    const JobOnFleet& one = answer.jobs[job];
    const std::string& where = one.plans[choice.option[job]].where;
    parts.push_back(answer.jobs.size() == 1 ? where : fmt::format("{} on {}", one.job.name, where));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string options_table(const JobOnFleet& on) {
  Table table({{"on"}, {"plan"}, {"step", Align::right}, {"MFU", Align::right}, {"goodput", Align::right},
      {"time", Align::right}, {"cost", Align::right}});
  for (std::size_t i = 0; i < on.plans.size(); ++i) {
    const OptionPlan& plan = on.plans[i];
    const FleetOption& option = on.job.options[i];
    table.add({plan.where, plan.split, format_seconds(plan.step), format_percent(plan.mfu),
        format_percent(plan.goodput), job::duration_text(option.time), grouped_digits(option.cost)});
  }
  return table.text("  ");
}

std::string notes_text(const JobOnFleet& on, const Paint& paint) {
  std::string text = wrapped(on.defaults, ", ", "  ", page_columns);
  for (const std::string& note : on.notes) text += paragraph(note, "  ", "    ", page_columns);
  for (const std::string& warning : on.warnings)
    text += "  " + paint.warm("warning: ") + paragraph(warning, "", "    ", page_columns - 11);
  return text;
}

/// Of a fabric without levels nothing is shared, which is said below.
std::string beside_text(const FleetAnswer& answer, const Paint& paint) {
  if (answer.beside.empty()) return "";
  Table table({{"on"}, {"laid"}, {"into"}, {"job"}, {"sends", Align::right}, {"alone", Align::right},
      {"beside", Align::right}, {"", Align::right}, {"all at once", Align::right}, {"", Align::right}});
  const auto slower = [](Seconds step, Seconds alone) { return fmt::format("{:+.1f} %", 100 * (step / alone - 1)); };
  for (const BesideEachOther& beside : answer.beside)
    for (const JobBeside& one : beside.jobs)
      table.add({answer.machines[beside.machine].share.name, to_text(beside.packing), one.level,
          answer.jobs[one.job].job.name, format_percent(one.sending), format_seconds(one.step.alone.step),
          format_seconds(one.step.beside), slower(one.step.beside, one.step.alone.step), format_seconds(one.step.worst),
          slower(one.step.worst, one.step.alone.step)});
  return fmt::format("\n{}  {}\n{}", paint.bold("Beside each other"),
             paint.dim("on " + choice_text(answer, answer.chosen())), table.text("  ")) +
         paragraph(
             "Links into the level of a row are shared max-min fairly, and other levels are as in the plans; sends: "
             "share of a step alone that goes over them; beside: the others send independently of it. Packed: one "
             "job's GPUs behind the other's; spread: each over all instances alike. The plans above take every GPU of "
             "the machine to send at once.",
             "  ", "  ", page_columns);
}

}  // namespace

std::string fleet_text(const FleetAnswer& answer, const Console& console) {
  const Paint paint(console);
  std::string text;
  for (const JobOnFleet& on : answer.jobs) {
    text += fmt::format("{}{}\n", paint.bold(on.job.name),
        on.job.deadline ? fmt::format(", by {}", job::duration_text(*on.job.deadline)) : "");
    text += options_table(on);
    for (const std::string& one : on.skipped) text += paragraph("skipped " + one, "  ", "    ", page_columns);
    text += "\n" + notes_text(on, paint) + "\n";
  }
  Table table({{"time", Align::right}, {"cost", Align::right}, {"machines"}});
  for (const FleetChoice& choice : answer.front)
    table.add({job::duration_text(choice.time), grouped_digits(choice.cost), choice_text(answer, choice)});
  text += fmt::format(
      "{}  {}\n{}", paint.bold("Cost over time"), paint.dim("nothing is both cheaper and earlier"), table.text("  "));
  const auto say = [&](const char* what, const std::optional<FleetChoice>& choice) {
    if (choice)
      text += paragraph(fmt::format("{}: {}; {}, {}", what, choice_text(answer, *choice),
                            job::duration_text(choice->time), grouped_digits(choice->cost)),
          "\n", "  ", page_columns);
  };
  say("Cheapest in time", answer.in_time);
  say("Fastest within the budget", answer.in_budget);
  for (const std::string& one : answer.missed) text += "\n" + paint.bad(one) + "\n";
  text += beside_text(answer, paint);
  text += "\n" + paragraph("Jobs run at once, each on one kind of machine from its first step to its last; time and "
                           "cost are those of the long run, failures and checkpoints included; the plan is the "
                           "fastest of a sweep; prices are as given. Jobs on 128 GPUs and more are as "
                           "uneven as `stepcast job` takes them to be.",
                     "", "", page_columns);
  return text;
}

std::string fleet_json(const FleetAnswer& answer) {
  JsonWriter json;
  json.open();
  json.list("jobs", answer.jobs, [&](const JobOnFleet& on) {
    json.field("name", on.job.name);
    if (on.job.deadline) json.base_field("deadline_s", *on.job.deadline);
    json.open_list("options");
    for (std::size_t i = 0; i < on.plans.size(); ++i) {
      const OptionPlan& plan = on.plans[i];
      const FleetOption& option = on.job.options[i];
      json.open();
      json.fields("machine", answer.machines[option.machine].share.name, "gpus", option.gpus, "run_gpus", plan.gpus,
          "split", plan.split, "flags", plan.flags, "mfu", plan.mfu, "goodput", plan.goodput);
      json.base_fields("step_time_s", plan.step, "checkpoint_interval_s", plan.interval, "time_s", option.time);
      json.field("cost", option.cost);
      json.close();
    }
    json.close();
    json.field("skipped", on.skipped);
    json.fields("defaults", on.defaults, "assumptions", on.notes, "warnings", on.warnings);
  });
  const auto fields = [&](const FleetChoice& choice) {
    json.base_field("time_s", choice.time);
    json.field("cost", choice.cost);
    json.open_list("on");
    for (std::size_t job = 0; job < answer.jobs.size(); ++job) {
      const JobOnFleet& one = answer.jobs[job];
      const FleetOption& option = one.job.options[choice.option[job]];
      json.row("job", one.job.name, "machine", answer.machines[option.machine].share.name, "gpus", option.gpus,
          "run_gpus", one.plans[choice.option[job]].gpus);
    }
    json.close();
  };
  json.list("cost_over_time", answer.front, fields);
  for (const auto& [key, choice] :
      {std::pair{"cheapest_in_time", &answer.in_time}, {"fastest_in_budget", &answer.in_budget}}) {
    if (!*choice) {
      json.null_field(key);
      continue;
    }
    json.open(key);
    fields(**choice);
    json.close();
  }
  json.list("beside_each_other", answer.beside, [&](const BesideEachOther& beside) {
    json.fields("machine", answer.machines[beside.machine].share.name, "laid", to_text(beside.packing));
    json.open_list("jobs");
    for (const JobBeside& one : beside.jobs) {
      json.open();
      json.fields("job", answer.jobs[one.job].job.name, "into", one.level, "sending_share", one.sending);
      json.base_fields("alone_s", one.step.alone.step, "beside_s", one.step.beside, "all_at_once_s", one.step.worst);
      json.close();
    }
    json.close();
  });
  json.field("missed", answer.missed);
  json.close();
  return json.text();
}

}  // namespace stepcast::fleet
