// stepcast schedule: makes orders, runs them and shows them in the form asked for.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/schedule/schedule_table.h"
#include "studies/cli/output_file.h"
#include "studies/schedule/layers.h"
#include "studies/schedule/report.h"
#include "studies/schedule/run.h"
#include "studies/schedule/schedule.h"
#include "studies/timeline/scene.h"

namespace stepcast::schedule {
namespace {

/// What may stand where KIND does.
struct InsteadOfKind {
  const char *flag, *kind_hint;
};
constexpr InsteadOfKind instead_of_kind[] = {{"--compare", "--compare runs every kind that is legal"},
    {"--auto", "--auto looks for the order itself: leave KIND out"},
    {"--from", "the file has the order: leave KIND out"}};

Expected<void> check_schedule_words(const Arguments& arguments) {
  const bool compare = arguments.has("--compare");
  const InsteadOfKind* first = nullptr;
  for (const InsteadOfKind& row : instead_of_kind) {
    if (!arguments.has(row.flag)) continue;
    if (!arguments.words.empty())
      return fail(arguments.words[0], fmt::format("a KIND does not go with {}", row.flag), row.kind_hint);
    if (first != nullptr) return fail(row.flag, fmt::format("does not go with {}", first->flag), "one of them");
    first = &row;
  }
  if (first == nullptr && arguments.words.empty())
    return fail(
        "schedule", "KIND is missing", "stepcast schedule 1f1b ..., or --auto, or --compare; stepcast list schedules");
  if (arguments.has("--json") && arguments.has("--csv")) return fail("--csv", "does not go with --json", "one of them");
  for (const char* one : {"--csv", "--trace", "--svg", "--order"})
    if (compare && arguments.has(one)) return fail(one, "shows one schedule, not --compare", "name the KIND instead");
  return {};
}

/// An action takes some 100 bytes and some 100 ns; --compare runs two dozen kinds, several with two chunks.
struct UnitLimit {
  const char* flag;  ///< "" = without one of the others
  double most;
};
constexpr UnitLimit unit_limits[] = {{"--compare", 1e6}, {"--auto", 4e6}, {"", 8e6}};

Expected<void> check_units(const Arguments& arguments, const ScheduleSize& size) {
  if (arguments.has("--from")) return {};
  const auto* const limit = std::find_if(std::begin(unit_limits), std::end(unit_limits),
      [&](const UnitLimit& row) { return *row.flag == 0 || arguments.has(row.flag); });
  const double of_each = static_cast<double>(size.ranks) * size.chunks * size.slices;
  if (of_each * size.micro_batches <= limit->most) return {};
  const double fits = std::floor(limit->most / of_each);
  return fail("--micro-batches",
      fmt::format("the actions of {} micro-batches on {} stages x {} chunks x {} slices need gigabytes and minutes",
          size.micro_batches, size.ranks, size.chunks, size.slices),
      fits >= 1 ? fmt::format("--micro-batches {:.0f} or less", fits) : "--stages 1024 or less, and fewer chunks");
}

struct FileForm {
  const char* flag;
  std::string (*text)(const PipelineRun& run);
  IsOwnFile own;
};
constexpr FileForm file_forms[] = {{"--trace", schedule_trace, is_trace_file},
    {"--svg", schedule_svg, is_pipeline_picture}, {"--order", schedule_order, is_order_file}};

struct OpenForm {
  const FileForm* form;
  OutputFile file;
};

/// Before the work, so that a place that cannot be written costs nothing.
Expected<std::vector<OpenForm>> open_files(const Arguments& arguments) {
  TRY(check_apart(arguments, {"--trace", "--svg", "--order"}));
  std::vector<OpenForm> open;
  for (const FileForm& form : file_forms) {
    if (!arguments.has(form.flag)) continue;
    TRY(auto file, OutputFile::open(output_place(arguments, form.flag, form.own)));
    open.push_back({&form, std::move(file)});
  }
  return open;
}

/// In an order without pairs the factor is of nothing, and would lower the bound alone.
Expected<void> check_pairs(const ScheduleRun& run, const Arguments& arguments) {
  if (!arguments.has("--overlap-factor") || std::ranges::any_of(run.order.actions, &Action::with_next)) return {};
  std::vector<std::string> kinds;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.pairs) kinds.push_back(kind.id);
  return fail("--overlap-factor", "no forward and backward are fused in this order",
      fmt::format("leave it out, or schedule {}", fmt::join(kinds, ", ")));
}

Expected<ScheduleRun> order_run(const ScheduleRequest& request, const Arguments& arguments) {
  if (arguments.has("--from")) return run_schedule_file(request);
  return arguments.has("--auto") ? find_schedule_order(request) : run_schedule(arguments.words[0], request);
}

Expected<ScheduleRun> make_run(const ScheduleRequest& request, const Arguments& arguments) {
  TRY(auto run, order_run(request, arguments));
  TRY(check_pairs(run, arguments));
  return run;
}

std::string shown(const ScheduleRun& run, const Arguments& arguments, const Console& console) {
  if (arguments.has("--json")) return schedule_json(run);
  if (arguments.has("--csv")) return schedule_csv(run);
  return schedule_text(run, console);
}

}  // namespace

Expected<void> schedule_command(const Arguments& arguments, Console& console) {
  TRY(check_schedule_words(arguments));
  if (!arguments.words.empty()) TRY(find_schedule(arguments.words[0]));
  TRY(const auto request, read_schedule_request(arguments));
  TRY(check_units(arguments, request.size));
  if (arguments.has("--compare")) {
    const ScheduleComparison comparison = compare_schedules(request);
    console.out << (arguments.has("--json") ? comparison_json(comparison) : comparison_text(comparison));
    return {};
  }
  TRY(auto files, open_files(arguments));
  TRY(auto run, make_run(request, arguments));
  add_layer_split(request, run);
  for (OpenForm& open : files) open.file.finish(open.form->text(run));
  console.out << shown(run, arguments, console);
  return {};
}

}  // namespace stepcast::schedule
