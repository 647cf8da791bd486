#include "studies/gate/check.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/percentile.h"
#include "model/base/quantity_text.h"
#include "studies/gate/expected.h"
#include "studies/gate/results.h"
#include "studies/print/digits.h"

namespace stepcast::gate {
namespace {

/// A case with what was found of it, before it is held against anything.
struct ReadyCase {
  const GateCase* asked = nullptr;
  std::optional<CaseForecast> forecast;
  FoundResults found;
  std::vector<RecordedCheck> history;
  [[nodiscard]] double gpus() const {
    if (asked->gpus > 0) return static_cast<double>(asked->gpus);
    return forecast ? forecast->work.gpus : 0;
  }
};

std::vector<double> logs_of(const std::vector<double>& seconds) {
  std::vector<double> logs;
  for (const double value : seconds) logs.push_back(std::log(value));
  return logs;
}

std::vector<double> logs_of(const RecordedCheck& check) {
  std::vector<double> logs;
  for (const RecordedRun& run : check.runs) logs.push_back(std::log(run.seconds));
  return logs;
}

double middle_of(const std::vector<double>& values) { return values.empty() ? 0 : percentile(values, 0.5); }

bool same_runs(const RecordedCheck& check, const std::vector<double>& seconds) {
  return std::equal(check.runs.begin(), check.runs.end(), seconds.begin(), seconds.end(),
      [](const RecordedRun& run, double value) { return run.seconds == value; });
}

/// What the forecast's run takes for one thing of the result's unit.
Expected<double> forecast_seconds(const ReadyCase& ready) {
  const ResultUnit& unit = *ready.asked->result.unit;
  const CaseForecast& forecast = *ready.forecast;
  if (!unit.rate || unit.name == "steps/s") return forecast.seconds;
  if (unit.name == "samples/s" && forecast.work.samples > 0) return forecast.seconds / forecast.work.samples;
  if (unit.name == "tokens/s/GPU" && forecast.tokens_per_s_per_gpu > 0) return 1 / forecast.tokens_per_s_per_gpu;
  if (unit.name == "tokens/s" && forecast.tokens_per_s_per_gpu > 0 && forecast.work.gpus > 0)
    return 1 / (forecast.tokens_per_s_per_gpu * forecast.work.gpus);
  return fail(ready.asked->where + "/result/unit",
      fmt::format("stepcast {} forecasts nothing in {}", ready.asked->forecast.front(), unit.name),
      "s, ms, us or ns of a step; of predict also tokens/s/GPU, tokens/s, samples/s or steps/s");
}

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

std::string percent(double fraction) { return fmt::format("{:.4g} %", 100 * fraction); }

/// What a case is held against: times of other runs, or one time, and what the shift may be.
struct HeldAgainst {
  std::vector<double> before;  ///< log times
  double expected = 0;         ///< log time
  bool missing = false;
  Allowed allowed;
  std::optional<double> reached_at_one;  ///< MFU and its kin that a measured time of 1 s would be
  std::string name, note;
};

class Holder {
 public:
  Holder(const GateFile& file, const std::vector<ReadyCase>& all) : file_(file), all_(all) {}

  [[nodiscard]] Expected<HeldAgainst> against(const ReadyCase& ready, const Must& must) const {
    HeldAgainst held;
    switch (must.kind) {
      case MustKind::forecast: {
        TRY(const auto seconds, forecast_seconds(ready));
        held.expected = std::log(seconds);
        held.allowed = {std::log1p(must.limit), std::log1p(-must.limit)};
        held.name = fmt::format("within {} of the forecast", percent(must.limit));
        return held;
      }
      case MustKind::mfu: return share_of(ready, must, "mfu", "MFU", ready.forecast->mfu);
      case MustKind::roofline: return share_of(ready, must, "roofline", "of the roofline", roof_share(ready));
      case MustKind::last_good: return last_good(ready, must);
      case MustKind::baseline: {
        TRY(const auto found, find_results(must.baseline, file_.folder, "", work_of(ready)));
        if (must.baseline.unit->rate != ready.asked->result.unit->rate ||
            must.baseline.unit->per_gpu != ready.asked->result.unit->per_gpu)
          return fail(ready.asked->where + "/must/baseline/result",
              fmt::format(
                  "the baseline is in {}, the case in {}", must.baseline.unit->name, ready.asked->result.unit->name),
              "results of one kind");
        held.before = logs_of(found.seconds);
        held.name = fmt::format("at most {} slower than the baseline", percent(must.limit));
        if (held.before.empty()) held.missing = true, held.note = "no result of the baseline is there";
        break;
      }
      case MustKind::scaling:
      case MustKind::speedup: return other_case(ready, must);
    }
    held.allowed = {std::log1p(must.limit), 0.0};
    return held;
  }

 private:
  static StepWork work_of(const ReadyCase& ready) { return ready.forecast ? ready.forecast->work : StepWork{}; }

  static std::optional<double> roof_share(const ReadyCase& ready) {
    if (!ready.forecast->roof_seconds) return std::nullopt;
    return *ready.forecast->roof_seconds / ready.forecast->seconds;
  }

  /// `share`: what the forecast itself reaches.
  static Expected<HeldAgainst> share_of(
      const ReadyCase& ready, const Must& must, const char* key, const char* what, std::optional<double> share) {
    if (!share)
      return fail(fmt::format("{}/must/{}", ready.asked->where, key),
          fmt::format("stepcast {} does not say it", ready.asked->forecast.front()),
          "mfu goes with predict, roofline with roofline and with kernel gemm");
    TRY(const auto seconds, forecast_seconds(ready));
    HeldAgainst held;
    held.expected = std::log(seconds * *share / must.limit);
    held.reached_at_one = seconds * *share;
    held.name = fmt::format("at least {} {}", percent(must.limit), what);
    return held;
  }

  static Expected<HeldAgainst> last_good(const ReadyCase& ready, const Must& must) {
    HeldAgainst held;
    held.name = fmt::format("at most {} slower than the last good check", percent(must.limit));
    held.allowed = {std::log1p(must.limit), 0.0};
    // a check that was recorded and is looked at again is not its own measure
    const auto other = [&](const RecordedCheck& check) { return check.good && !same_runs(check, ready.found.seconds); };
    const auto last = std::find_if(ready.history.rbegin(), ready.history.rend(), other);
    if (last == ready.history.rend()) {
      held.missing = true;
      held.note = "no good check is recorded yet: --record keeps this one";
      return held;
    }
    held.before = logs_of(*last);
    held.note = fmt::format("{}{}{}", last->at, last->commit.empty() ? "" : ", commit ", last->commit.substr(0, 12));
    return held;
  }

  [[nodiscard]] Expected<HeldAgainst> other_case(const ReadyCase& ready, const Must& must) const {
    const auto other =
        std::find_if(all_.begin(), all_.end(), [&](const ReadyCase& any) { return any.asked->name == must.other; });
    HeldAgainst held;
    double factor = 1;  // of the times, at an efficiency or speed-up of one
    if (must.kind == MustKind::scaling) {
      if (!(ready.gpus() > 0) || !(other->gpus() > 0))
        return fail(ready.asked->where + "/must/scaling", "the number of GPUs of a case is not known",
            "\"gpus\" or \"forecast\" in both cases");
      if (must.strong) factor = other->gpus() / ready.gpus();
      held.name = fmt::format("at least {} of the efficiency of {}, {:.0f} to {:.0f} GPUs", percent(must.limit),
          must.other, other->gpus(), ready.gpus());
    } else {
      held.name = fmt::format("at least {:.4g} times as fast as {}", must.limit, must.other);
    }
    held.before = logs_of(other->found.seconds);
    for (double& value : held.before) value += std::log(factor / must.limit);
    if (held.before.empty()) held.missing = true, held.note = fmt::format("no result of {} is there", must.other);
    else held.reached_at_one = must.limit * std::exp(middle_of(held.before));
    return held;
  }

  const GateFile& file_;
  const std::vector<ReadyCase>& all_;
};

/// A floor has nothing that is too fast.
JudgedMust judged_must(const ReadyCase& ready, const Must& must, const HeldAgainst& held) {
  const GateCase& asked = *ready.asked;
  JudgedMust judged{must.kind, held.name, {}, 0, std::nullopt, held.before.size(), held.note};
  std::vector<double> now = logs_of(ready.found.seconds);
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
  if (held.reached_at_one && !now.empty()) judged.figure = *held.reached_at_one / middle_of(ready.found.seconds);
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

Expected<JudgedCase> judged_case(const Holder& holder, const ReadyCase& ready) {
  const GateCase& asked = *ready.asked;
  JudgedCase judged{asked.name, std::string(asked.result.unit->name), ready.found.seconds, ready.found.files,
      asked.repeats, middle_of(ready.found.seconds), robust_scale(logs_of(ready.found.seconds)), std::nullopt, {},
      Finding::undecided, 0, {}, ready.found.notes, asked.rates};
  if (ready.forecast)
    if (const auto seconds = forecast_seconds(ready)) judged.forecast_seconds = *seconds;
  for (const Must& must : asked.musts) {
    TRY(const auto held, holder.against(ready, must));
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
  const Holder holder(file, ready);
  for (const ReadyCase& one : ready) {
    TRY(auto judged, judged_case(holder, one));
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
