#include "studies/gate/held_against.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/percentile.h"

namespace stepcast::gate {
namespace {

std::string percent(double fraction) { return fmt::format("{:.4g} %", 100 * fraction); }

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
        if (!comparable(*must.baseline.unit, *ready.asked->result.unit))
          return fail(ready.asked->where + "/must/baseline/result",
              fmt::format(
                  "the baseline is in {}, the case in {}", must.baseline.unit->name, ready.asked->result.unit->name),
              "times in both, or rates of one thing");
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
    auto last = std::find_if(ready.history.rbegin(), ready.history.rend(), other);
    const bool itself = last == ready.history.rend();
    // unless nothing else was ever good: then nothing has changed since
    if (itself) last = std::ranges::find(ready.history.rbegin(), ready.history.rend(), true, &RecordedCheck::good);
    if (last == ready.history.rend()) {
      held.missing = true;
      held.note = "no good check is recorded yet: --record keeps this one";
      return held;
    }
    held.before = logs_of(*last);
    held.note = fmt::format("{}{}{}{}", last->at, last->commit.empty() ? "" : ", commit ", last->commit.substr(0, 12),
        itself ? ": these very runs, nothing newer was measured" : "");
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
      // of tokens and samples there is one kind
      const bool named = !ready.asked->result.unit->fixed_work;
      held.name = fmt::format("at least {} of the efficiency of {}, {:.0f} to {:.0f} GPUs{}", percent(must.limit),
          must.other, other->gpus(), ready.gpus(),
          !named        ? ""
          : must.strong ? ", strong scaling"
                        : ", weak scaling");
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

}  // namespace

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

Expected<HeldAgainst> held_against(
    const GateFile& file, const std::vector<ReadyCase>& all, const ReadyCase& ready, const Must& must) {
  return Holder(file, all).against(ready, must);
}

}  // namespace stepcast::gate
