#include "studies/sweep/sweep_flags.h"
#include "studies/cli/output_file.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "studies/launch/emit/emit.h"
#include "studies/launch/run_flags.h"
#include "studies/sweep/space/axes.h"

namespace stepcast::sweep {
namespace {

constexpr std::string_view axes_group =
    "Axes (one value; several: 1,2,4 or 1..8 or 1..64*2; all that can be legal: all)";
constexpr std::string_view goal_group = "What is best";
constexpr std::string_view work_group = "How it is searched";
constexpr std::string_view out_group = "Output";

Expected<void> check_snapshot(const std::string& text, const std::string& where) {
  const auto seconds = snapshot_seconds(text, where);
  return seconds ? Expected<void>{} : tl::unexpected(seconds.error());
}

std::vector<Flag> own_sweep_flags() {
  // clang-format off
  return {
      {.name = "--space", .key = "", .value = "FILE", .group = axes_group,
       .doc = "a study file with axes; flags win over it"},

      {.name = "--objective", .key = "", .value = "FIGURE", .group = goal_group,
       .doc = "step_time, tokens_per_s_per_gpu, cost, energy, memory_headroom, ... (default step_time)"},
      {.name = "--where", .key = "", .value = "TEXT", .group = goal_group,
       .doc = "constraint: \"memory.peak < 70 GiB and tp <= 8\""},
      {.name = "--pareto", .key = "", .value = "FIGURES", .group = goal_group,
       .doc = "the front of two figures or more too: step_time,memory.peak"},
      {.name = "--top", .key = "", .value = "K", .group = goal_group,
       .doc = "best configurations that are listed (default 10)", .kind = FlagKind::count, .most = 1'000'000},
      {.name = "--price", .key = "", .value = "USD", .group = goal_group,
       .doc = "of a GPU-hour in US dollars, for cost"},

      {.name = "--exhaustive", .key = "", .value = "", .group = work_group,
       .doc = "forecast every configuration that fits by the event engine; prune none", .kind = FlagKind::toggle},
      {.name = "--threads", .key = "", .value = "N", .group = work_group,
       .doc = "the result does not depend on it (default: one per processor)", .kind = FlagKind::count, .most = 4096},
      {.name = "--shard", .key = "", .value = "I/N", .group = work_group,
       .doc = "part I, from 0, of N; auto: as Slurm, MPI or Kubernetes say"},
      {.name = "--resume", .key = "", .value = "", .group = work_group,
       .doc = "go on from the -o FILE.jsonl of an interrupted run, or begin where there is none",
       .kind = FlagKind::toggle},
      {.name = "--dry-run", .key = "", .value = "", .group = work_group,
       .doc = "only count the configurations, list the axes and estimate the time", .kind = FlagKind::toggle},

      {.name = "--output", .key = "", .value = "FILE", .group = out_group,
       .doc = ".jsonl: what was found, kept while the sweep runs, for --resume and merge; .csv, .sqlite: tables; "
              ".html: a page to explore, with the best 1,000 unless --top says; may be repeated",
       .alias = "-o", .repeats = true},
      force_flag,
      {.name = "--snapshot", .key = "", .value = "SECONDS", .group = out_group,
       .doc = "how often the -o FILE.jsonl is brought up to date (default 2)", .check = check_snapshot},
      {.name = "--json", .key = "", .value = "", .group = out_group, .doc = "one JSON document in base units",
       .kind = FlagKind::toggle},
      {.name = "--csv", .key = "", .value = "", .group = out_group,
       .doc = "the best configurations as comma-separated values", .kind = FlagKind::toggle},
      emit_flag(out_group),
  };
  // clang-format on
}

/// Which batch is trained has no default here: its steps are what is compared.
Flag fixed_flag(Flag flag) {
  if (flag.name == "--global-batch") flag.doc = "sequences per step; required";
  return flag;
}

/// A run flag as an axis: a text of any values.
Flag axis_flag(const AxisRow& row, Flag flag) {
  flag.value = "LIST";
  flag.group = axes_group;
  flag.doc = row.axis.doc;
  flag.kind = FlagKind::text;
  flag.check = nullptr;
  return flag;
}

std::vector<Flag> make_sweep_flags() {
  std::vector<Flag> flags;
  for (const Flag& flag : study_flags({*find_flag(run_flags(), "--between")}))
    if (find_axis(flag.name) == nullptr && flag.name != "--mapping") flags.push_back(fixed_flag(flag));
  for (const AxisRow& row : axis_rows())
    if (!row.flag.empty()) flags.push_back(axis_flag(row, *find_flag(run_flags(), row.flag)));
  for (const Flag& flag : own_sweep_flags()) flags.push_back(flag);
  return flags;
}

}  // namespace

Expected<double> snapshot_seconds(const std::string& text, const std::string& where) {
  constexpr double least = 0.01, most = 86'400;
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, seconds);
  if (problem == std::errc{} && stop == end && seconds >= least && seconds <= most) return seconds;
  return fail(
      where, fmt::format("'{:.60}' is no number of seconds", text), fmt::format("from {} to {:.0f}", least, most));
}

std::span<const Flag> sweep_flags() {
  static const std::vector<Flag> flags = make_sweep_flags();
  return flags;
}

}  // namespace stepcast::sweep
