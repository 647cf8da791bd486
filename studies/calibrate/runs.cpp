// stepcast calibrate runs: measured steps, from logs of own jobs or records of published runs, as step parameters of
// their software in the profile of their GPU.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/logs/steady_step.h"
#include "calibrate/import/serving/read_benchmarks.h"
#include "model/base/comma_list.h"
#include "model/catalog.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/fit_start.h"
#include "studies/cli/progress_line.h"
#include "studies/launch/read/logged_run.h"
#include "studies/cli/output_file.h"
#include "studies/calibrate/print/calibrate_report.h"
#include "studies/calibrate/print/runs_report.h"
#include "studies/records/built_in_runs.h"
#include "studies/records/run_doubts.h"
#include "studies/records/step_fitting.h"

namespace stepcast::calibration {
namespace {

constexpr const char* built_in_word = "built-in";

bool names_built_in(const Arguments& arguments) {
  return std::find(arguments.words.begin(), arguments.words.end(), built_in_word) != arguments.words.end();
}

/// Records are a JSON object or a list of objects. Lines of logs begin with a bracket too: a time, a rank, a level.
bool is_record_file(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos || text[first] != '[') return first != std::string::npos && text[first] == '{';
  const std::size_t second = text.find_first_not_of(blanks, first + 1);
  return second == std::string::npos || text[second] == '{' || text[second] == ']';
}

LoggedRunHints hints_of(const Arguments& arguments) {
  LoggedRunHints hints;
  hints.machine = arguments.value("--machine");
  hints.network = arguments.value("--model");
  if (arguments.has("--gpus")) hints.gpus = std::stoll(arguments.value("--gpus"));
  return hints;
}

Expected<Run> run_of_log(const std::string& text, const std::string& name, const std::string& launch,
    const LoggedRunHints& hints, std::vector<std::string>& notes) {
  TRY(auto log, read_training_log(text, name));
  if (!launch.empty()) {
    TRY(const auto launch_text, read_text_file(launch));
    TRY(add_launch_arguments(log, launch_text, launch));
  }
  TRY(const auto made, logged_run(log, hints));
  for (const std::string& note : made.assumptions) notes.push_back(fmt::format("{}: {}", name, note));
  return made.run;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items = split_at_commas(text);
  if (items.back().empty()) items.pop_back();
  return items;
}

/// Of every word: a log, a file of records, or the program's own records.
Expected<std::vector<Run>> read_words(const Arguments& arguments, std::vector<std::string>& notes) {
  const LoggedRunHints hints = hints_of(arguments);
  const std::vector<std::string> launches = split_list(arguments.value("--launch"));
  std::vector<Run> runs;
  std::size_t logs = 0;
  for (const std::string& word : arguments.words) {
    if (word == built_in_word) {
      TRY(auto own, built_in_runs());
      runs.insert(runs.end(), own.begin(), own.end());
      continue;
    }
    TRY(const auto text, read_text_file(word));
    if (calibrate::read_benchmark_output(text, word))
      return fail(word, "a benchmark of a serving engine wrote it, and it holds no step of training",
          fmt::format("stepcast calibrate served {} -o RECORDS.json, and calibrate engines RECORDS.json", word));
    if (is_record_file(text)) {
      TRY(auto read, read_runs(text, word));
      runs.insert(runs.end(), read.begin(), read.end());
      continue;
    }
    // One file for all logs, or one for each.
    const std::string launch = launches.empty()         ? ""
                               : launches.size() == 1   ? launches.front()
                               : logs < launches.size() ? launches[logs]
                                                        : "";
    ++logs;
    TRY(auto run, run_of_log(text, word, launch, hints, notes));
    run.id = word;
    runs.push_back(std::move(run));
  }
  if (logs == 0)  // records tell all of that themselves
    for (const char* flag : {"--machine", "--gpus", "--model", "--launch"})
      if (arguments.has(flag))
        return fail(flag, "is said of training logs, and none of the files is one", "leave it out");
  if (launches.size() > 1 && launches.size() != logs)
    return fail("--launch", fmt::format("{} files for {} logs", launches.size(), logs),
        "one for all, or one for each log in the same order");
  return runs;
}

Expected<FitWishes> wishes_of(const Arguments& arguments) {
  FitWishes wishes;
  wishes.from_profile = !names_built_in(arguments);
  for (const std::string& name : split_list(arguments.value("--parameters"))) {
    TRY(const auto parameter, parse_step_parameter(name, "--parameters"));
    if (std::find(wishes.parameters.begin(), wishes.parameters.end(), parameter) != wishes.parameters.end())
      return fail("--parameters", fmt::format("{} twice", name), "once each");
    wishes.parameters.push_back(parameter);
  }
  if (wishes.parameters.size() > most_fitted)
    return fail("--parameters", fmt::format("{} of them", wishes.parameters.size()),
        fmt::format("at most {}: more would fit what the steps do not show", most_fitted));
  if (arguments.has("--leave-out")) {
    const std::string text = arguments.value("--leave-out");
    for (const Leave leave : {Leave::source, Leave::model, Leave::release, Leave::run})
      if (text == to_text(leave)) wishes.leave = leave;
    if (!wishes.leave)
      return fail(
          "--leave-out", fmt::format("'{:.40}' is nothing to leave out", text), "source, model, release or run");
  }
  return wishes;
}

/// Records that cannot be forecast: an error where they are the user's, a line where they are published ones among
/// others.
Expected<std::vector<MeasuredRun>> ready_runs(const std::vector<Run>& records, std::vector<std::string>& notes) {
  std::vector<MeasuredRun> runs;
  std::map<std::string, int> skipped;
  for (const Run& record : records) {
    auto run = measured_run(record);
    if (run) runs.push_back(std::move(*run));
    else if (records.size() < 3) return tl::unexpected(run.error());
    else ++skipped[to_text(run.error())];
  }
  for (const auto& [why, count] : skipped) notes.push_back(fmt::format("{} left out: {}", count, why));
  if (records.empty())
    return fail("runs", "the files hold no record", "training logs, or records with a measured step time");
  if (runs.empty())
    return fail("runs", "none can be forecast",
        notes.empty() ? "runs of networks and machines of the catalogue" : notes.back());
  return runs;
}

/// Records that speak against themselves fit nothing.
void note_doubts(const std::map<std::string, std::string>& reasons, std::vector<std::string>& notes) {
  constexpr std::size_t most_told = 5;
  if (reasons.size() > most_told)
    notes.push_back(fmt::format("{} records are doubtful and fit nothing: validate says why", reasons.size()));
  else
    for (const auto& [id, reason] : reasons)
      notes.push_back(fmt::format("{} is doubtful and fits nothing: {}", id, reason));
}

/// Whether the pool's runs were on such hardware as the profile's: that of the first machine of the catalogue with its
/// GPU.
bool speaks_of(const FitPool& pool, const Profile& profile) {
  for (const Machine& machine : built_in().machines)
    if (machine.gpu.id == profile.gpu) return hardware_of(machine, pool.experts) == pool.hardware;
  return false;
}

/// Between the least and the greatest of n ratios lie (n - 1) / (n + 1) of the next: nine span an 80 % interval. Of
/// fewer, what was believed before makes up the rest, and the interval is no narrower than their own.
Spread spread_of_few(const Spread& own, const Spread& before, int runs) {
  constexpr double enough = 9;
  const double weight = std::min(1.0, runs / enough);
  const auto mixed = [&](double a, double b) { return std::exp(weight * std::log(a) + (1 - weight) * std::log(b)); };
  return {std::min(own.p10, mixed(own.p10, before.p10)), std::max(own.p90, mixed(own.p90, before.p90))};
}

/// What the profile says of this software so far; nullptr: nothing.
const StepFit* fit_before(const Profile& profile, const StepFit& fit) {
  for (const StepFit& known : profile.steps)
    if (known.stack == fit.stack && known.precision == fit.precision && known.experts == fit.experts) return &known;
  return nullptr;
}

/// The interval that the profile gives to this software's steps so far.
Spread spread_before(const Profile& profile, const StepFit& fit) {
  const StepFit* known = fit_before(profile, fit);
  return known ? known->spread : profile.step_spread;
}

/// Own runs of which no two are of one job say nothing of pairs: what was known of them stays.
void keep_pairs(const Profile& profile, StepFit& fit) {
  const StepFit* known = fit_before(profile, fit);
  if (fit.pairs == 0 && known) fit.pairs = known->pairs, fit.pair_spread = known->pair_spread;
}

/// `published`: the fits of the program's own records take the place of all older ones, and one that nothing could be
/// held out against stays away: for others it is no more than a guess.
Profile with_pools(
    Profile profile, const std::vector<FitPool>& pools, const std::vector<MeasuredRun>& runs, bool published) {
  if (published) profile.steps.clear();
  for (const FitPool& pool : pools) {
    if (!speaks_of(pool, profile) || pool.result.runs == 0 || (published && pool.result.groups == 0)) continue;
    for (StepFit& fit : fit_rows(pool, runs)) {
      // nothing was held out: what is usual for this profile
      if (pool.result.groups == 0) fit.spread = profile.step_spread;
      else if (!published) fit.spread = spread_of_few(fit.spread, spread_before(profile, fit), fit.runs);
      if (published) fit = for_strangers(std::move(fit));
      if (!fitted_on(fit, profile.gpu)) fit.spread = widened(fit.spread, other_gpu);
      if (!published) keep_pairs(profile, fit);
      put_fit(profile, std::move(fit));
    }
  }
  return profile;
}

/// Into a folder: every profile of the catalogue whose hardware the runs speak of.
Expected<void> write_folder(
    const Arguments& arguments, const std::vector<FitPool>& pools, const std::vector<MeasuredRun>& runs) {
  const std::filesystem::path folder = arguments.value("--output");
  for (const Profile& profile : built_in().profiles) {
    if (std::none_of(pools.begin(), pools.end(), [&](const FitPool& pool) { return speaks_of(pool, profile); }))
      continue;
    TRY(auto output, OutputFile::open(output_place(
                         arguments, (folder / (profile.id + ".json")).string(), "--output", is_profile_file)));
    TRY(const auto text, profile_text(with_pools(profile, pools, runs, names_built_in(arguments))));
    output.finish(text);
  }
  return {};
}

Expected<const Gpu*> single_gpu(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, const Gpu*> gpus;
  for (const MeasuredRun& run : runs) gpus[run.scenario.machine.row.gpu.id] = &run.scenario.machine.row.gpu;
  if (gpus.size() == 1) return gpus.begin()->second;
  std::vector<std::string> names;
  for (const auto& [id, gpu] : gpus) names.push_back(id);
  return fail("--output",
      fmt::format("the runs are on {} GPUs ({}), and a profile is of one", gpus.size(), fmt::join(names, ", ")),
      "an existing folder: one profile of each goes there");
}

Expected<void> write_fits(
    const Arguments& arguments, const std::vector<FitPool>& pools, const std::vector<MeasuredRun>& runs) {
  if (!arguments.has("--output")) return {};
  const std::string name = arguments.value("--output");
  if (std::filesystem::is_directory(name)) return write_folder(arguments, pools, runs);
  TRY(const auto gpu, single_gpu(runs));
  TRY(const auto id, fitted_id(arguments.value("--id"), *gpu));
  TRY(auto profile, start_profile(arguments.value("--start"), *gpu));
  TRY(auto output, OutputFile::open(output_place(arguments, "--output", is_profile_file)));
  Profile fitted = with_pools(std::move(profile), pools, runs, false);
  fitted.id = id;
  fitted.aliases.clear();
  TRY(const auto text, profile_text(fitted));
  output.finish(text);
  return {};
}

}  // namespace

Expected<void> calibrate_runs(const Arguments& arguments, Console& console) {
  TRY(const auto wishes, wishes_of(arguments));
  RunsReport report;
  TRY(const auto records, read_words(arguments, report.notes));
  TRY(report.runs, ready_runs(records, report.notes));
  note_doubts(find_doubts(report.runs, records), report.notes);
  report.pools = pools_of(report.runs);
  Progress progress(console);
  for (FitPool& pool : report.pools) {
    progress.show(fmt::format("fitting {} runs of {} {}", pool.members.size(), pool.stack, to_text(pool.precision)));
    fit_pool(pool, report.runs, wishes);
  }
  TRY(write_fits(arguments, report.pools, report.runs));
  report.output = arguments.value("--output");
  console.out << (arguments.has("--json") ? runs_json(report) : runs_report(report));
  return {};
}

}  // namespace stepcast::calibration
