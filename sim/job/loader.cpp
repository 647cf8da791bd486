#include "sim/job/loader.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stepcast::sim {
namespace {

double capacity(const Loader& loader) { return static_cast<double>(loader.workers * loader.prefetch); }

/// Batches per second while so many are ready.
double birth_rate(const Loader& loader, double ready) {
  const double busy = std::min(static_cast<double>(loader.workers), capacity(loader) - ready);
  const double rate = busy / loader.make.value();
  return loader.most_per_second > 0 ? std::min(rate, loader.most_per_second) : rate;
}

/// Chances of the numbers that are ready `time` after `before`, by uniformisation in pieces of a Poisson mean of at
/// most 30, so that e^-mean does not vanish.
std::vector<double> grown(const Loader& loader, std::vector<double> before, double time) {
  double fastest = 0;
  for (std::size_t n = 0; n < before.size(); ++n)
    fastest = std::max(fastest, birth_rate(loader, static_cast<double>(n)));
  constexpr double most_mean = 30, least = 1e-15;
  const double pieces = std::max(1.0, std::ceil(fastest * time / most_mean)), mean = fastest * time / pieces;
  for (double piece = 0; piece < pieces; ++piece) {
    std::vector<double> after(before.size(), 0.0), now = before;
    double weight = std::exp(-mean), left = 1;
    for (int jump = 1; left > least && jump < 1000; ++jump) {
      for (std::size_t n = 0; n < now.size(); ++n) after[n] += weight * now[n];
      left -= weight;
      weight *= mean / jump;
      for (std::size_t n = now.size(); n-- > 0;) {
        const double grows = birth_rate(loader, static_cast<double>(n)) / fastest;
        if (n + 1 < now.size()) now[n + 1] += now[n] * grows;
        now[n] *= 1 - grows;
      }
    }
    before = after;
  }
  return before;
}

}  // namespace

double cache_hits(double room, CacheKeeps keeps) {
  if (room >= 1) return 1;
  return keeps == CacheKeeps::first ? room : room + (1 - room) * std::log1p(-room);
}

Loader with_hits(Loader loader, double hits, Seconds cached) {
  loader.make = loader.make * (1 - hits) + cached * hits;
  loader.most_per_second = hits < 1 ? loader.most_per_second / (1 - hits) : 0;
  return loader;
}

Seconds loader_wait(const Loader& loader, Seconds step) {
  if (!loader.varies) {
    double apart = loader.make.value() / static_cast<double>(loader.workers);
    if (loader.most_per_second > 0) apart = std::max(apart, 1 / loader.most_per_second);
    return Seconds(std::max(0.0, apart - step.value()));
  }
  // A step begins with n ready, its own batch taken. Behind it there are n + births: none, and it waits for the first.
  const auto size = static_cast<std::size_t>(capacity(loader)) + 1;
  std::vector<std::vector<double>> rows;
  for (std::size_t n = 0; n < size; ++n) {
    std::vector<double> begin(size, 0.0);
    begin[n] = 1;
    rows.push_back(grown(loader, std::move(begin), step.value()));
  }
  std::vector<double> chances(size, 0.0);
  chances[0] = 1;
  constexpr int most_rounds = 200'000;
  double none = 0;
  for (int round = 0; round < most_rounds; ++round) {
    std::vector<double> next(size, 0.0);
    none = 0;
    for (std::size_t n = 0; n < size; ++n)
      for (std::size_t m = 0; m < size; ++m) {
        const double chance = chances[n] * rows[n][m];
        if (m == 0) none += chance;
        next[m == 0 ? 0 : m - 1] += chance;
      }
    double change = 0;
    for (std::size_t n = 0; n < size; ++n) change += std::abs(next[n] - chances[n]);
    chances = std::move(next);
    if (change < 1e-12) break;
  }
  return Seconds(none / birth_rate(loader, 0));
}

Seconds drawn_loader_wait(const Loader& loader, Seconds step, std::int64_t ranks, std::int64_t steps, Draws& draws) {
  if (!loader.varies) return loader_wait(loader, step);
  // Exponential times have no memory: between events only the number that is ready counts.
  std::vector<double> ready(static_cast<std::size_t>(ranks), 0.0), own_wait(static_cast<std::size_t>(ranks), 0.0);
  const auto grow = [&](double& n, double time) {
    for (double rate = birth_rate(loader, n); rate > 0; rate = birth_rate(loader, n)) {
      time -= draws.exponential(rate);
      if (time < 0) return;
      ++n;
    }
  };
  double waited = 0;
  for (std::int64_t count = 0; count < steps; ++count) {
    double wait = 0;
    for (std::size_t rank = 0; rank < ready.size(); ++rank) {
      grow(ready[rank], step.value());
      own_wait[rank] = 0;
      if (ready[rank] > 0) continue;
      own_wait[rank] = draws.exponential(birth_rate(loader, 0));
      ready[rank] = 1;
      wait = std::max(wait, own_wait[rank]);
    }
    for (std::size_t rank = 0; rank < ready.size(); ++rank) {  // the others go on while the slowest waits
      grow(ready[rank], wait - own_wait[rank]);
      --ready[rank];
    }
    waited += wait;
  }
  return Seconds(waited / static_cast<double>(steps));
}

}  // namespace stepcast::sim
