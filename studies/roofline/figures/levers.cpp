// The changes that would bring most, out of all that a sensitivity study tries.
#include <algorithm>
#include <optional>

#include "studies/run/figures/phases.h"
#include "studies/roofline/figures/waterfall.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::roofline {
namespace {

/// Another length of sequences is another job, not a way to do this one; faster units of one type are a part of all
/// types' gain.
bool counts_as_lever(const LeverEffect& lever) { return lever.id != "seq" && lever.id != "own-type"; }

/// The phase that changed most for the same tokens on the same GPUs.
std::string lever_phase(const Outcome& before, const Outcome& after) {
  const double same_tokens =
      (before.tokens / static_cast<double>(before.gpus)) / (after.tokens / static_cast<double>(after.gpus));
  const auto then = phase_rows(before.phases), now = phase_rows(after.phases);
  std::string_view name;
  Seconds most;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Seconds change = now[i].time * same_tokens - then[i].time;
    if (std::max(change, -change) > most) most = std::max(change, -change), name = now[i].name;
  }
  return std::string(name);
}

/// Of a lever's variations the one that gains most; empty: none gains, or none that gains fits.
std::optional<Lever> best_variation(const LeverEffect& effect, const Outcome& before) {
  std::optional<Lever> best;
  for (const Variation& variation : effect.variations) {
    const double gain = -time_change(before, variation.after);
    if (gain <= 0 || (best && gain <= best->gain) || (before.fits && !variation.after.fits)) continue;
    best = Lever{effect.id, effect.name, effect.from, variation.to, effect.of_machine, before.step_time,
        before.step_time * (1 - gain), gain, lever_phase(before, variation.after), variation.after.fits};
  }
  return best;
}

}  // namespace

Expected<std::vector<Lever>> biggest_levers(const Request& request, std::size_t most) {
  constexpr double factor = 2;
  TRY(const auto study, sensitivity(request, factor));
  std::vector<Lever> levers;
  for (const LeverEffect& effect : study.levers) {
    if (!effect.idle.empty() || !counts_as_lever(effect)) continue;
    if (auto best = best_variation(effect, study.before)) levers.push_back(*std::move(best));
  }
  std::stable_sort(levers.begin(), levers.end(), [](const Lever& a, const Lever& b) { return a.gain > b.gain; });
  if (levers.size() > most) levers.erase(levers.begin() + static_cast<std::ptrdiff_t>(most), levers.end());
  return levers;
}

}  // namespace stepcast::roofline
