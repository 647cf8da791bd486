#include "studies/mixed/report.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/mixed/notes.h"
#include "studies/cli/told.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/run/figures/phases.h"
#include "studies/whatif/uneven_words.h"
#include "studies/whatif/whatif_report.h"

namespace stepcast::mixed {
namespace {

std::string headline(const MixedRun& run, const std::vector<AroundPart>& around, const Paint& paint) {
  Table table({{""}, {"", Align::right}, {""}});
  table.add({paint.bold("Step time"), paint.bold(format_seconds(run.step_time)),
      fmt::format("{} to {} (10th to 90th percentile)", format_seconds(run.p10), format_seconds(run.p90))});
  if (!around.empty())
    table.add(
        {"with all around it", format_seconds(run.step_time + sum_of(around)), "the wait for data and pauses, below"});
  if (run.even)
    table.add({run.by_stage ? "Layers even" : "Batches even", format_seconds(*run.even),
        fmt::format("dealt by speed {}", signed_percent(run.step_time / *run.even - 1))});
  table.add({"Tokens/s", grouped_digits(run.tokens() / run.step_time.value()),
      fmt::format(
          "{} per GPU", grouped_digits(run.tokens() / run.step_time.value() / static_cast<double>(run.gpus())))});
  table.add({"MFU", format_percent(run.mfu), "of the peaks of all GPUs together"});
  if (run.by_stage)
    table.add({"Pipeline bubble", format_percent(run.prediction.step.bubble_fraction),
        fmt::format("idle share over all {} stages, {} micro-batches", run.prediction.program.stages,
            run.kinds.front().micro_batches)});
  return "\n" + table.text("");
}

std::string memory_cell(Bytes peak, Bytes capacity, const Paint& paint) {
  const std::string text = fmt::format("{} of {}", format_bytes(peak), format_bytes(capacity));
  return peak <= capacity ? text : paint.bad(text + ": does NOT fit");
}

Bytes capacity_of(const MixedKind& kind) { return kind.scenario.machine.row.gpu.memory; }

std::string range_text(std::int64_t first, std::int64_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

std::string kinds_of_stages(const MixedRun& run, const Paint& paint) {
  Table kinds({{"machine"}, {"GPUs", Align::right}, {"stages"}, {"layers", Align::right}, {"work", Align::right},
      {"busy", Align::right}, {"MFU", Align::right}});
  Table stages({{"stage"}, {"GPU"}, {"layers", Align::right}, {"forward", Align::right}, {"input grad", Align::right},
      {"weight grad", Align::right}, {"busy", Align::right}, {"memory"}});
  const StepReport& step = run.prediction.step;
  for (const MixedKind& kind : run.kinds) {
    for (std::int64_t s = kind.first_stage; s < kind.first_stage + kind.stages; ++s) {
      const StageReport& stage = step.stages[s];
      stages.add({fmt::format("{}", s), kind.scenario.machine.row.gpu.name, fmt::format("{}", stage.layers),
          format_seconds(stage.forward), format_seconds(stage.input_grad), format_seconds(stage.weight_grad),
          format_percent(step.timeline.busy[s] / step.timeline.makespan),
          memory_cell(step.memory.peaks[s], capacity_of(kind), paint)});
    }
    kinds.add({kind.share.machine.row.name, fmt::format("{}", kind.share.gpus),
        range_text(kind.first_stage, kind.stages), fmt::format("{}", run.layers_of(kind)), format_percent(kind.work),
        format_percent(kind.ready / step.timeline.makespan), format_percent(kind.mfu)});
  }
  return fmt::format("\n{}  {}\n{}\n{}  {}\n{}", paint.bold("Kinds"),
      paint.dim(run.two_copies() ? "layers: of the first copy of the model; busy: the busiest stage"
                                 : "busy: the busiest stage"),
      kinds.text("  "), paint.bold("Stages"),
      paint.dim(std::string(run.two_copies() ? "both copies; " : "") + "one micro-batch; busy of the pipeline's time"),
      stages.text("  "));
}

std::string kinds_of_replicas(const MixedRun& run, const Paint& paint) {
  Table kinds({{"machine"}, {"GPUs", Align::right}, {"replicas", Align::right}, {"micro-batches", Align::right},
      {"ready after", Align::right}, {"work", Align::right}, {"MFU", Align::right}, {"memory"}});
  for (const MixedKind& kind : run.kinds)
    kinds.add({kind.share.machine.row.name, fmt::format("{}", kind.share.gpus), fmt::format("{}", kind.replicas),
        kind.fewer == 0 ? fmt::format("{}", kind.micro_batches)
                        : fmt::format("{}, {} run {}", kind.micro_batches, kind.fewer, kind.micro_batches - 1),
        format_seconds(kind.ready), format_percent(kind.work), format_percent(kind.mfu),
        memory_cell(kind.replica->memory.peak, capacity_of(kind), paint)});
  return fmt::format("\n{}  {}\n{}", paint.bold("Kinds"),
      paint.dim("ready: all gradients made; the kinds then reduce and update together"), kinds.text("  "));
}

/// What memory lacks is said of each kind above.
std::string assumptions(const MixedRun& run, const Paint& paint) {
  const MixedNotes notes = notes_of(run);
  std::vector<std::string> parts;
  for (const auto& [one, machines] : notes.defaults)
    parts.push_back(fmt::format("{}{}{} {}", machines, machines.empty() ? "" : ": ", one.flag, one.value));
  std::string text =
      fmt::format("\n{}\n", paint.bold("Defaults and assumptions")) + wrapped(parts, ", ", "  ", page_columns);
  for (const std::string& note : notes.notes) text += paragraph(note, "  ", "    ", page_columns);
  for (const std::string& warning : notes.warnings)
    text += paint.warm("warning: ") + paragraph(warning, "", "  ", page_columns - 9);
  return text;
}

void write_notes(JsonWriter& json, const MixedNotes& notes) {
  json.list("defaults", notes.defaults, [&](const MixedDefault& one) {
    json.fields("flag", one.assumption.flag, "value", one.assumption.value, "why", one.assumption.why);
    if (!one.machines.empty()) json.field("machines", one.machines);
  });
  json.open_list("assumptions");
  for (const std::string& note : notes.notes) json.item(note);
  json.close();
  json.open_list("warnings");
  for (const auto* warnings : {&notes.warnings, &notes.lacking})
    for (const std::string& warning : *warnings) json.item(warning);
  json.close();
}

}  // namespace

std::string mixed_title(const MixedRun& run, const Console& console) {
  const Scenario& first = run.kinds.front().scenario;
  const Plan& plan = first.plan;
  return Paint(console).bold(fmt::format("{} on {}", first.network.row.name, to_text(run.shares()))) + "\n" +
         wrapped({in_words(first), fmt::format("{} sequences of {} per step", plan.global_batch, plan.sequence),
                     fmt::format("micro-batch {}", plan.micro_batch), to_text(plan.precision)},
             "; ", "", page_columns);
}

std::string mixed_text(const MixedRun& run, const std::vector<AroundPart>& around, const Console& console) {
  const Paint paint(console);
  const std::string verdict = run.fits() ? "" : "\n" + paint.bad("does NOT fit: see the memory of each kind") + "\n";
  return mixed_title(run, console) + verdict + headline(run, around, paint) +
         (run.by_stage ? kinds_of_stages(run, paint) : kinds_of_replicas(run, paint)) + assumptions(run, paint) +
         around_text(around, run.step_time);
}

std::string mixed_json(const MixedRun& run, const std::vector<AroundPart>& around) {
  const Scenario& first = run.kinds.front().scenario;
  const Plan& plan = first.plan;
  const StepReport& step = run.prediction.step;
  JsonWriter json;
  json.open();
  json.field("fits", run.fits());
  json.base_field("step_time_s", run.step_time);
  json.field("step_time_interval_s", std::vector<double>{run.p10.value(), run.p90.value()});
  const double rate = run.tokens() / run.step_time.value();
  json.fields("tokens_per_s", rate, "tokens_per_s_per_gpu", rate / static_cast<double>(run.gpus()), "mfu", run.mfu,
      "across", run.by_stage ? "stages" : "replicas", "dealt_by_speed", run.dealt);
  if (run.even) json.base_field("even_step_time_s", *run.even);
  json.list("kinds", run.kinds, [&](const MixedKind& kind) {
    json.fields("machine", kind.share.machine.row.id, "gpu", kind.scenario.machine.row.gpu.id, "gpus", kind.share.gpus,
        "replicas", kind.replicas, "micro_batches", kind.micro_batches, "replicas_with_one_fewer", kind.fewer, "work",
        kind.work, "mfu", kind.mfu);
    json.base_fields("ready_s", kind.ready, "capacity_bytes", capacity_of(kind));
    if (kind.replica) json.base_field("peak_bytes", kind.replica->memory.peak);
    if (run.by_stage) json.fields("first_stage", kind.first_stage, "stages", kind.stages);
  });
  if (run.by_stage) {
    json.open_list("stages");
    for (std::size_t s = 0; s < step.stages.size(); ++s) {
      const StageReport& stage = step.stages[s];
      json.open();
      json.field("layers", stage.layers);
      json.base_fields("forward_s", stage.forward, "input_grad_s", stage.input_grad, "weight_grad_s", stage.weight_grad,
          "busy_s", step.timeline.busy[s], "peak_bytes", step.memory.peaks[s]);
      json.close();
    }
    json.close();
    write_phases(json, step.phases);
  }
  json.object("run", "network", first.network.row.id, "stack", first.stack.row.id, "split", in_words(first), "gpus",
      run.gpus(), "micro_batch", plan.micro_batch, "global_batch", plan.global_batch, "sequence", plan.sequence,
      "precision", to_text(plan.precision));
  if (!around.empty()) write_around(json, around);
  write_notes(json, notes_of(run));
  json.close();
  return json.text();
}

Expected<void> mixed_command(const Arguments& arguments, Console& console) {
  std::vector<std::string_view> own = {"--json"};
  for (const Flag& flag : around_flags("")) own.push_back(flag.name);
  if (whatif::says_even(arguments.value("--imbalance"))) own.emplace_back("--imbalance");
  TRY(const auto asked, read_mixed(arguments, own));
  TRY(const auto around, around_steps(arguments));
  TRY(const auto run, forecast_mixed(asked));
  TRY(const auto parts, around_kinds(run, around, run.step_time, 0));
  console.out << (arguments.has("--json") ? cli::with_told(mixed_json(run, parts), arguments)
                                          : mixed_text(run, parts, console));
  return {};
}

}  // namespace stepcast::mixed
