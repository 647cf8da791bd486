#include "sim/job/goodput.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {
namespace {

/// Laplace transform at `hard` of the time that a piece of `length` takes, where only failures at the rate `soft` begin
/// it again, each behind a restart. With all = soft + hard and q = e^(-all length):
///   X = q + soft/all (1 - q) psi X,  psi the same transform of a restart that soft failures begin again.
/// It is the chance that no hard failure comes before the piece is done.
double passes(double soft, double hard, double length, double restart) {
  const double all = soft + hard;
  if (all == 0) return 1;
  const auto transform = [&](double time, double again) {
    const double whole = std::exp(-all * time);
    return whole / (1 - soft / all * -std::expm1(-all * time) * again);
  };
  // A restart that fails softly starts anew at once: psi = r + soft/all (1 - r) psi.
  return transform(length, transform(restart, 1));
}

/// Without soft failures no digits are lost where the piece is short.
double log_passes(double soft, double hard, double length, double restart) {
  return soft == 0 ? -hard * length : std::log(passes(soft, hard, length, restart));
}

/// Mean time of such a piece without hard failures: (e^(soft length) - 1)/soft x e^(soft restart).
double mean_time(double soft, double length, double restart) {
  return soft == 0 ? length : std::expm1(soft * length) / soft * std::exp(soft * restart);
}

struct Rates {
  double all, soft, hard;
};

Rates rates_of(const FailureCosts& failures) {
  const double soft = failures.per_second * failures.soft;
  return {failures.per_second, soft, failures.per_second - soft};
}

/// Stored intervals over the time from one hard restart's end to the next. Until the next hard failure 1/hard pass, the
/// restart behind it takes (e^(all R) - 1)/all since any failure begins it again. In between stored periods follow each
/// other with the chance `stored` each, P/(1 - P) in the mean; the last is lost where a hard failure comes before it is
/// safe: e^(-hard settle).
double useful_share(const FailureCosts& failures, const Saves& saves) {
  const Rates rate = rates_of(failures);
  const double kept = (saves.interval + saves.keep).value(), stored = (saves.interval + saves.store).value();
  const double soft_restart = (failures.detect + failures.soft_restart).value();
  const double restart = (failures.detect + failures.restart).value();
  const auto others = static_cast<double>(saves.per_stored - 1);
  const double work = saves.interval.value() * static_cast<double>(saves.per_stored);
  if (rate.hard <= 1e-12 * rate.all)
    return work / (others * mean_time(rate.soft, kept, soft_restart) + mean_time(rate.soft, stored, soft_restart));
  const double log_pass = others * log_passes(rate.soft, rate.hard, kept, soft_restart) +
                          log_passes(rate.soft, rate.hard, stored, soft_restart);
  const double periods = std::exp(log_pass) / -std::expm1(log_pass) * std::exp(-rate.hard * saves.settle.value());
  return periods * work / (1 / rate.hard + std::expm1(rate.all * restart) / rate.all);
}

/// Mean time from a failure until work goes on. Restart attempts that fail, fail hard or softly as any other.
double mean_recovery(const FailureCosts& failures) {
  const double rate = failures.per_second;
  const double hard = std::expm1(rate * (failures.detect + failures.restart).value()) / rate;
  const double broken = -std::expm1(-rate * (failures.detect + failures.soft_restart).value());
  const double soft = (broken / rate + broken * (1 - failures.soft) * hard) / (1 - broken * failures.soft);
  return failures.soft * soft + (1 - failures.soft) * hard;
}

}  // namespace

UpShares up_shares(const FailureCosts& failures, const Saves& saves) {
  const double work = saves.interval.value() * static_cast<double>(saves.per_stored);
  const double save = saves.store.value() + saves.keep.value() * static_cast<double>(saves.per_stored - 1);
  if (failures.per_second == 0) return {work / (work + save), save / (work + save), 0, 0, 0};
  UpShares shares;
  shares.useful = useful_share(failures, saves);
  shares.saving = shares.useful * save / work;
  // Work ends in a failure after 1/rate in the mean, then comes a recovery; each failure begins to be noticed at once.
  const double recovery = mean_recovery(failures);
  const double down = std::isfinite(recovery) ? recovery / (1 / failures.per_second + recovery) : 1;
  shares.detecting = -std::expm1(-failures.per_second * failures.detect.value());
  shares.restarting = std::max(0.0, down - shares.detecting);
  shares.lost = std::max(0.0, 1 - shares.useful - shares.saving - shares.detecting - shares.restarting);
  return shares;
}

FirstOrderGoodput first_order_goodput(double failures_per_second, Seconds interval, Seconds save, Seconds restart) {
  const double loss = failures_per_second * (restart + interval / 2).value();
  return {(1 - loss) / (1 + save / interval), loss};
}

}  // namespace stepcast::sim
