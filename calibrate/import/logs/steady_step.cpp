#include "calibrate/import/logs/steady_step.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast::calibrate {
namespace {

constexpr double warm_up_over_median = 1.1, interrupted_over_median = 1.3;

/// Linear between the nearest ranks.
double quantile_of(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  const double rank = at * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(rank)), high = static_cast<std::size_t>(std::ceil(rank));
  return values[low] + (rank - std::floor(rank)) * (values[high] - values[low]);
}

double later_median(const std::vector<double>& times) {
  return quantile_of({times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end()}, 0.5);
}

class Settling {
 public:
  explicit Settling(const TrainingLog& log) {
    const std::int64_t batch = log.steps.back().global_batch;
    for (const LoggedStep& step : log.steps)
      if (step.global_batch == batch) times_.push_back(step.seconds.value());
    leave_out(log.steps.size() - times_.size(), fmt::format("with another global batch than {}", batch));
  }

  SteadyStep steady() {
    first();
    warm_up();
    interrupted();
    SteadyStep out{Seconds(quantile_of(times_, 0.5)), Seconds(quantile_of(times_, 0.1)),
        Seconds(quantile_of(times_, 0.9)), static_cast<int>(times_.size()), left_out_, {}};
    out.note = fmt::format("median of {} line{}", times_.size(), times_.size() == 1 ? "" : "s");
    if (left_out_ == 0) out.note += ", which may hold the warm-up";
    else out.note += fmt::format("; left out: {}", fmt::join(reasons_, ", "));
    return out;
  }

 private:
  void leave_out(std::size_t count, const std::string& reason) {
    if (count == 0) return;
    left_out_ += static_cast<int>(count);
    reasons_.push_back(fmt::format("{} {}", count, reason));
  }
  void first() {
    if (times_.size() < 2) return;
    times_.erase(times_.begin());
    leave_out(1, "first");
  }
  void warm_up() {
    const double limit = warm_up_over_median * later_median(times_);
    const auto settled = std::find_if(times_.begin(), times_.end(), [&](double time) { return time <= limit; });
    const auto last = std::min(settled, times_.begin() + static_cast<std::ptrdiff_t>(times_.size() / 2));
    leave_out(static_cast<std::size_t>(last - times_.begin()), "of the warm-up");
    times_.erase(times_.begin(), last);
  }
  void interrupted() {
    const double limit = interrupted_over_median * later_median(times_);
    leave_out(std::erase_if(times_, [&](double time) { return time > limit; }), "interrupted");
  }

  std::vector<double> times_;
  std::vector<std::string> reasons_;
  int left_out_ = 0;
};

}  // namespace

Expected<SteadyStep> steady_step(const TrainingLog& log) {
  if (log.steps.empty()) return fail(log.where, "no step", "a log with lines of steps that took time");
  for (const LoggedStep& step : log.steps)
    if (!(step.seconds.value() > 0))
      return fail(fmt::format("{}:{}", log.where, step.line), "a rate where the time of a step is needed",
          "the size of the batch, the sequence length and the number of GPUs give the time");
  return Settling(log).steady();
}

Expected<void> time_steps(TrainingLog& log, double tokens_per_gpu, double samples) {
  for (LoggedStep& step : log.steps) {
    if (step.seconds.value() > 0) continue;
    const double work = step.tokens_per_s_per_gpu > 0 ? tokens_per_gpu : samples;
    const double rate = step.tokens_per_s_per_gpu > 0 ? step.tokens_per_s_per_gpu : step.samples_per_s;
    if (!(work > 0))
      return fail(fmt::format("{}:{}", log.where, step.line), "a rate whose step size is unknown",
          "the size of the batch, the sequence length and the number of GPUs give the time");
    step.seconds = Seconds(work / rate);
  }
  return {};
}

}  // namespace stepcast::calibrate
