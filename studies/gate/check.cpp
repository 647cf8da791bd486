#include "studies/gate/check.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "studies/gate/held_against.h"
#include "studies/gate/results.h"
#include "studies/print/digits.h"

namespace stepcast::gate {
namespace {

Expected<ReadyCase> ready_case(const GateFile& file, const GateCase& one, const GateHistory* history) {
  ReadyCase ready;
  ready.asked = &one;
  if (!one.forecast.empty()) {
    TRY(ready.forecast, forecast_case(one.forecast, one.where + "/forecast"));
    if (one.gpus > 0 && ready.forecast->work.gpus > 0 && ready.gpus() != ready.forecast->work.gpus)
      return fail(one.where + "/gpus",
          fmt::format("{} GPUs, and the forecast is of {:.0f}", one.gpus, ready.forecast->work.gpus),
          "leave one of them out");
  }
  const std::string own = (std::filesystem::path(file.runs) / one.name).string();
  TRY(ready.found, find_results(one.result, file.folder, own, ready.forecast ? ready.forecast->work : StepWork{}));
  if (history != nullptr) {
    TRY(ready.history, history->checks(one.name, most_checks));
    for (const RecordedCheck& check : ready.history)
      if (check.unit != one.result.unit->name)
        return fail(one.where + "/result", fmt::format("the history of {} is in {}", one.name, check.unit),
            "that unit, or another name for the case");
  }
  return ready;
}

/// A floor has nothing that is too fast.
JudgedMust judged_must(const ReadyCase& ready, const Must& must, const HeldAgainst& held) {
  const GateCase& asked = *ready.asked;
  JudgedMust judged{must.kind, held.name, {}, 0, std::nullopt, held.before.size(), held.note};
  std::vector<double> now = logs_of(ready.found.seconds);
  if (held.reached_at_one && !now.empty()) judged.figure = *held.reached_at_one / std::exp(middle_of(now));
  const double expected = held.before.empty() ? held.expected : middle_of(held.before);
  if (!held.missing) judged.expected_seconds = std::exp(expected);
  if (held.before.empty())
    for (double& value : now) value -= held.expected;
  if (held.missing) {
    judged.judgement.noise = robust_scale(now);
    judged.judgement.needed = {std::max(asked.repeats, now.size()), asked.repeats};
    return judged;
  }
  judged.judgement = judge(held.before, now, held.allowed, asked.rates);
  // No kernel runs above its roof, and no step multiplies more than the GPU can: the time or the size is another's.
  constexpr double whole = 1.0;
  const bool share = must.kind == MustKind::roofline || must.kind == MustKind::mfu;
  if (share && judged.figure && *judged.figure > whole) {
    judged.judgement.finding = Finding::undecided;
    judged.note = fmt::format("the results are {:.4g} % of what the GPU can do: their time, unit or size, or the "
                              "case's machine, is not what the case says",
        100 * *judged.figure);
    return judged;
  }
  // A little more than ideal there is, of caches that hold a smaller part; who asks for more has that.
  constexpr double ideal = 1.05;
  if (must.kind == MustKind::scaling && judged.figure && *judged.figure > ideal * std::max(1.0, must.limit)) {
    judged.judgement.finding = Finding::undecided;
    judged.note = fmt::format("the results are {:.4g} % of ideal scaling: the work or the GPUs of a case, or \"kind\", "
                              "is not what the file says",
        100 * *judged.figure);
    return judged;
  }
  if (now.size() >= asked.repeats) return judged;
  judged.judgement.finding = Finding::undecided;
  judged.judgement.needed = {asked.repeats, 0};
  return judged;
}

Finding worst_of(const std::vector<JudgedMust>& musts) {
  for (const Finding finding : {Finding::slower, Finding::undecided, Finding::faster})
    if (std::any_of(musts.begin(), musts.end(), [&](const JudgedMust& m) { return m.judgement.finding == finding; }))
      return finding;
  return Finding::equal;
}

/// The checks of the history, and this one behind them if it is not the last of them already.
void find_changes(const ReadyCase& ready, JudgedCase& judged) {
  std::vector<double> levels;
  for (const RecordedCheck& check : ready.history) levels.push_back(middle_of(logs_of(check)));
  const double now = middle_of(logs_of(ready.found.seconds));
  const bool recorded = !levels.empty() && same_runs(ready.history.back(), ready.found.seconds);
  if (!ready.found.seconds.empty() && !recorded) levels.push_back(now);
  judged.history = levels.size();
  const std::size_t skipped = levels.size() > most_checks ? levels.size() - most_checks : 0;
  for (const ChangePoint& point : change_points(std::span(levels).subspan(skipped))) {
    const std::size_t at = point.at + skipped;
    JudgedChange change{levels.size() - 1 - at, std::expm1(point.change), "this check", ""};
    if (at < ready.history.size()) change.at = ready.history[at].at, change.commit = ready.history[at].commit;
    judged.changes.push_back(change);
  }
}

Expected<JudgedCase> judged_case(const GateFile& file, const std::vector<ReadyCase>& all, const ReadyCase& ready) {
  const GateCase& asked = *ready.asked;
  JudgedCase judged{asked.name, std::string(asked.result.unit->name), ready.found.seconds, ready.found.files,
      asked.repeats, middle_of(ready.found.seconds), robust_scale(logs_of(ready.found.seconds)), std::nullopt, {},
      Finding::undecided, 0, {}, ready.found.notes, asked.rates};
  if (ready.forecast)
    if (const auto seconds = forecast_seconds(ready)) judged.forecast_seconds = *seconds;
  for (const Must& must : asked.musts) {
    TRY(const auto held, held_against(file, all, ready, must));
    judged.musts.push_back(judged_must(ready, must, held));
  }
  judged.finding = worst_of(judged.musts);
  find_changes(ready, judged);
  return judged;
}

/// Nothing is slower or undecided, but for a history that has to begin somewhere.
bool is_good(const JudgedCase& judged) {
  if (judged.seconds.size() < judged.wanted) return false;
  return std::all_of(judged.musts.begin(), judged.musts.end(), [](const JudgedMust& must) {
    const Finding finding = must.judgement.finding;
    const bool begins = must.kind == MustKind::last_good && must.expected_seconds == 0;
    return begins || (finding != Finding::slower && finding != Finding::undecided);
  });
}

/// What `gate run` wrote beside a result: "01.out" and "01.manifest.json".
std::string manifest_beside(const std::string& file) {
  if (file.empty()) return {};
  const auto text = read_text_file(std::filesystem::path(file).replace_extension("manifest.json").string());
  return text ? *text : "";
}

Expected<std::size_t> record_checks(
    const GateFile& file, const std::vector<JudgedCase>& cases, const std::string& commit) {
  TRY(auto history, GateHistory::open(file.history, true));
  const std::string now = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  std::vector<RecordedCheck> checks;
  for (const JudgedCase& judged : cases) {
    if (judged.seconds.empty()) continue;
    RecordedCheck check{judged.name, now, commit, is_good(judged), judged.unit, {}};
    for (std::size_t i = 0; i < judged.seconds.size(); ++i)
      check.runs.push_back({judged.seconds[i], judged.files[i], manifest_beside(judged.files[i])});
    checks.push_back(std::move(check));
  }
  return history.record(checks);
}

}  // namespace

std::size_t GateReport::count(Finding finding) const {
  return static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(), [&](const JudgedCase& one) { return one.finding == finding; }));
}

double GateReport::false_alarms() const {
  double sum = 0;
  for (const JudgedCase& one : cases) sum += one.rates.alarm() * static_cast<double>(one.musts.size());
  return std::min(sum, 1.0);
}

Expected<GateReport> check_gate(const GateFile& file, bool record, const std::string& commit) {
  std::vector<ReadyCase> ready;
  std::optional<GateHistory> history;
  if (!file.history.empty()) {
    TRY(auto opened, GateHistory::open(file.history, false));
    history.emplace(std::move(opened));
  }
  for (const GateCase& one : file.cases) {
    TRY(auto made, ready_case(file, one, history ? &*history : nullptr));
    ready.push_back(std::move(made));
  }
  GateReport report;
  report.file = file.path;
  for (const ReadyCase& one : ready) {
    TRY(auto judged, judged_case(file, ready, one));
    report.cases.push_back(std::move(judged));
  }
  if (record) {
    TRY(report.recorded, record_checks(file, report.cases, commit));
  }
  return report;
}

std::string shown_result(double seconds, const std::string& unit) {
  const ResultUnit* row = find_unit(unit);
  if (row == nullptr || !row->rate) return format_seconds(Seconds(seconds));
  const double rate = 1 / seconds;
  return rate >= 1000 ? fmt::format("{} {}", print::grouped_digits(rate), unit) : fmt::format("{:.3g} {}", rate, unit);
}

}  // namespace stepcast::gate
