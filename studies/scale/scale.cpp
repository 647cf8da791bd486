// stepcast scale: strong and weak scaling of a plan, the serial share, and what breaks first.
#include "studies/scale/scale.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "studies/cli/output_file.h"
#include "studies/launch/asked_run.h"
#include "studies/print/csv.h"
#include "studies/print/page/page.h"
#include "studies/run/forecast.h"
#include "studies/run/settled_gpus.h"
#include "studies/scale/horizon.h"
#include "studies/scale/migrate.h"
#include "studies/scale/migrate_page.h"
#include "studies/scale/report.h"
#include "studies/whatif/plan_levers.h"
#include "studies/launch/run_flags.h"

namespace stepcast::scale {
namespace {

constexpr std::int64_t most_growth = 16;
constexpr double look_ahead_times[] = {2, 4, 10};
constexpr std::int64_t most_counts = 64;
constexpr std::int64_t most_listed_gpus = 10'000'000;

/// "64,128,256" ascending, each once.
Expected<std::vector<std::int64_t>> parse_gpu_counts(const std::string& text, const std::string& where) {
  std::set<std::int64_t> counts;
  for (const std::string& word : comma_list(text)) {
    TRY(const auto count, parse_count(word, where, 1, most_listed_gpus));
    counts.insert(count);
  }
  if (counts.size() > most_counts)
    return fail(where, fmt::format("{} counts", counts.size()), fmt::format("at most {}", most_counts));
  return std::vector<std::int64_t>(counts.begin(), counts.end());
}

Expected<void> check_counts(const std::string& text, const std::string& where) {
  TRY(parse_gpu_counts(text, where));
  return {};
}

std::int64_t said_count(const Request& request, const Scenario& scenario, FieldId id) {
  const std::string text = plan_value(request, scenario, id);
  return std::max<std::int64_t>(1, std::atoll(text.c_str()));
}

/// The run at `gpus`, with everything said that the others keep.
Expected<ScaleBase> base_at(const Request& asked, std::optional<std::int64_t> gpus) {
  Request request = asked;
  if (gpus) TRY(request.say("gpus", std::to_string(*gpus), "--gpus"));
  TRY(auto scenario, complete(request));
  TRY(const auto prediction, run::predict(scenario));
  ScaleBase base{pinned(std::move(request), scenario), std::move(scenario), {}, 1, prediction.program.stages};
  for (const FieldId id : {FieldId::tp, FieldId::cp, FieldId::pp})
    base.ways *= said_count(base.request, base.scenario, id);
  const Plan& plan = base.scenario.plan;
  base.run = {plan.gpus, plan.global_batch, base.scenario.micro_batches, outcome_of(base.scenario, prediction), 1, 1};
  return base;
}

/// The smallest count that is legal; the error of the smallest where none is.
Expected<ScaleBase> smallest_base(
    const Request& request, const std::vector<std::int64_t>& gpus, std::vector<SkippedCount>& skipped) {
  std::optional<Error> first;
  for (const std::int64_t count : gpus) {
    auto base = base_at(request, count);
    if (base) return base;
    if (!first) first = base.error();
    skipped.push_back({count, base.error().what});
  }
  return first ? Expected<ScaleBase>(tl::unexpected(*first)) : base_at(request, std::nullopt);
}

std::vector<std::int64_t> doubled_counts(std::int64_t first, const Machine& machine) {
  std::vector<std::int64_t> counts;
  const std::int64_t most = std::min(most_growth * first, machine.max_gpus());
  for (std::int64_t count = first; count <= most; count *= 2) counts.push_back(count);
  return counts;
}

void fit_curve(ScalingCurve& curve) {
  std::vector<RelativeRun> runs;
  const ScaledRun& first = curve.runs.front();
  for (const ScaledRun& run : curve.runs)
    runs.push_back({static_cast<double>(run.gpus) / static_cast<double>(first.gpus),
        run.outcome.step_time / first.outcome.step_time});
  curve.fit = fit_serial_share(curve.scaling, runs);
}

ScalingCurve scaling_curve(
    const ScaleBase& base, Scaling scaling, const std::vector<std::int64_t>& gpus, std::vector<SkippedCount> skipped) {
  ScalingCurve curve{scaling, {base.run}, std::move(skipped), {}, {}};
  for (const std::int64_t count : gpus) {
    if (count <= base.run.gpus) continue;
    auto run = run_at(base, scaling, count);
    if (run) {
      curve.runs.push_back(std::move(*run));
    } else {
      const std::string hint = run.error().hint.empty() ? "" : fmt::format(" ({})", run.error().hint);
      curve.skipped.push_back({count, run.error().what + hint});
    }
  }
  fit_curve(curve);
  for (const double times : look_ahead_times) curve.horizons.push_back(look_ahead(base, scaling, times));
  return curve;
}

std::vector<Scaling> asked_scalings(const Arguments& arguments) {
  const bool both = arguments.has("--strong") == arguments.has("--weak");
  std::vector<Scaling> scalings;
  if (both || arguments.has("--strong")) scalings.push_back(Scaling::strong);
  if (both || arguments.has("--weak")) scalings.push_back(Scaling::weak);
  return scalings;
}

}  // namespace

Expected<ScaleStudy> scale_study(
    const Request& request, std::vector<std::int64_t> gpus, std::span<const Scaling> scalings) {
  if (request.mapping)
    return fail(request.mapping->where,
        "a mapping says its number of GPUs itself, and scaling needs another one for each count",
        "the split by flags: --tp, --pp, ...");
  std::vector<SkippedCount> skipped;
  TRY(auto base, smallest_base(request, gpus, skipped));
  if (gpus.size() <= 1) gpus = doubled_counts(base.run.gpus, base.scenario.machine.row);
  ScaleStudy study{base.scenario, base.stages, {}};
  for (const Scaling scaling : scalings) study.curves.push_back(scaling_curve(base, scaling, gpus, skipped));
  return study;
}

std::span<const Flag> scale_flags() {
  // clang-format off
  static const std::vector<Flag> flags = study_flags(
      {{.name = "--gpus", .key = "gpus", .value = "N[,N...]", .group = "Machine and software",
        .doc = "GPUs of each run; one: its powers of two up to 16x (default: from whole nodes that hold tp x cp x pp)",
        .kind = FlagKind::text, .check = check_counts},
       {.name = "--strong", .key = "", .value = "", .group = "Scaling",
        .doc = "the global batch stays (default: strong and weak)", .kind = FlagKind::toggle},
       {.name = "--weak", .key = "", .value = "", .group = "Scaling",
        .doc = "the global batch grows with the GPUs", .kind = FlagKind::toggle},
       {.name = "--migrate", .key = "", .value = "", .group = "Scaling",
        .doc = "instead: at each count the way to shard that is fastest, from DDP to pipeline stages, and what binds",
        .kind = FlagKind::toggle},
       {.name = "--networks", .key = "", .value = "A,B,...", .group = "Scaling",
        .doc = "with --migrate: a network that grows, each of these at each count"},
       {.name = "--html", .key = "", .value = "FILE", .group = "Output",
        .doc = "with --migrate: a page with MFU of each way over GPUs"},
       cli::force_flag,
       {.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document in base units",
        .kind = FlagKind::toggle},
       {.name = "--csv", .key = "", .value = "", .group = "Output", .doc = "the runs as comma-separated values",
        .kind = FlagKind::toggle}});
  // clang-format on
  return flags;
}

namespace {

/// "8,16" or, of one count or none, doubled counts from it, or from a node.
Expected<std::vector<std::int64_t>> counts_of_path(std::vector<std::int64_t> gpus, const Machine& machine) {
  if (gpus.empty()) gpus = {machine.levels.front().gpus};
  if (gpus.back() > machine.max_gpus())
    return fail("--gpus",
        fmt::format("{} has {} GPUs, and {} are asked for", machine.id, machine.max_gpus(), gpus.back()),
        std::to_string(machine.max_gpus()));
  return gpus.size() > 1 ? gpus : doubled_counts(gpus.front(), machine);
}

Expected<void> migrate_command(
    const Arguments& arguments, Request request, std::vector<std::int64_t> gpus, Console& console) {
  if (arguments.has("--csv")) return fail("--csv", "is of scaling curves", "--json");
  std::vector<std::string> networks;
  if (arguments.has("--networks")) networks = comma_list(arguments.value("--networks"));
  const Scaling scaling = arguments.has("--strong") ? Scaling::strong : Scaling::weak;
  if (arguments.has("--strong") && arguments.has("--weak"))
    return fail("--strong", "a path is of one kind of scaling", "--strong or --weak");
  if (!request.machine) {
    TRY(request.machine, choose_machine(default_machine, "default"));
  }
  TRY(const auto counts, counts_of_path(std::move(gpus), request.machine->row));
  std::vector<cli::OutputFile> page;  // opened before the work
  if (arguments.has("--html")) {
    TRY(auto file, cli::OutputFile::open(cli::output_place(arguments, "--html",
                       [](const std::string& name) { return print::is_page(name, migration_page_mark); })));
    page.push_back(std::move(file));
  }
  TRY(const auto path, migration(request, networks, counts, scaling));
  for (cli::OutputFile& file : page) file.finish(migration_page(path, request));
  console.out << (arguments.has("--json") ? migration_json(path) : migration_text(path, request, console));
  return {};
}

}  // namespace

Expected<void> scale_command(const Arguments& arguments, Console& console) {
  std::vector<std::int64_t> gpus;
  Arguments one_run = arguments;
  for (const auto& [flag, what] : {std::pair{"--networks", "are steps of a path"}, {"--html", "is the page of a path"}})
    if (arguments.has(flag) && !arguments.has("--migrate"))
      return fail(flag, what, "--migrate --networks llama3-8b,llama3-70b --html path.html");
  if (arguments.has("--gpus")) {
    TRY(gpus, parse_gpu_counts(arguments.value("--gpus"), "--gpus"));
    one_run.flags["--gpus"] = std::to_string(gpus.front());
  }
  TRY(const auto request, read_request(one_run));
  if (arguments.has("--migrate")) return migrate_command(arguments, request, std::move(gpus), console);
  TRY(const auto study, scale_study(request, std::move(gpus), asked_scalings(arguments)));
  if (arguments.has("--csv")) console.out << csv_of(scale_json(study), {"strong/runs", "weak/runs"});
  else console.out << (arguments.has("--json") ? scale_json(study) : scale_text(study, console));
  return {};
}

}  // namespace stepcast::scale
