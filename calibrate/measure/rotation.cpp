#include "calibrate/measure/rotation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"

namespace stepcast::calibrate {
namespace {

/// Of every cold figure: two caches between two uses of a set. The plan asks for caches_between, which is more.
constexpr double caches_asserted = 2;

/// A count that fits an int, from a ratio that may not.
int bounded_count(double count) { return static_cast<int>(std::clamp(count, 0.0, 1e9)); }

/// Without counting one more for what rounding left over.
double rounded_up(double ratio) { return std::ceil(ratio * (1 - 1e-9)); }

/// Calls of `per_call` that make a replay of at least the shortest length.
int calls_to_fill(Seconds per_call, const MethodRules& rules) {
  const double wanted = per_call.value() > 0 ? rounded_up(rules.shortest_replay / per_call) : rules.most_calls;
  return std::clamp(bounded_count(wanted), 1, rules.most_calls);
}

}  // namespace

Expected<int> sets_that_fit(Bytes touched, Bytes free, const MethodRules& rules) {
  const Bytes allowed = free * rules.memory_share;
  if (touched > allowed)
    return fail("memory of the GPU",
        fmt::format("one set of buffers takes {}, and {} of the {} that are free may be used", format_bytes(touched),
            format_bytes(allowed), format_bytes(free)),
        "end what else runs on this GPU, or measure smaller shapes");
  return touched.value() > 0 ? bounded_count(allowed / touched) : bounded_count(1e9);
}

Expected<Rotation> cold_rotation(Bytes touched, Bytes l2, Seconds per_call, Bytes free, const MethodRules& rules) {
  TRY(const auto fit, sets_that_fit(touched, free, rules));
  if (!(touched.value() > 0)) return warm_rotation(per_call, rules);  // launches touch nothing
  const int sets = std::max(1, bounded_count(rounded_up(rules.caches_between * l2 / touched)));
  const int filling = calls_to_fill(per_call, rules);
  // One set alone exceeds the caches: nothing of it is left when it comes again, however long a replay is.
  const bool round_fits = sets == 1 || (sets <= rules.most_calls && per_call * sets <= rules.longest_replay);
  if (sets <= fit && round_fits) {
    const int rounds = std::max(1, (filling + sets - 1) / sets);
    return Rotation{sets, std::max(sets, std::min(rounds * sets, rules.most_calls / sets * sets)), false};
  }
  const int once = std::clamp(filling, 1, std::max(1, fit));
  return Rotation{once, once, true};
}

Rotation warm_rotation(Seconds per_call, const MethodRules& rules) {
  return {1, calls_to_fill(per_call, rules), false};
}

bool is_cold(const Rotation& rotation, Bytes touched, Bytes l2) {
  if (!(touched.value() > 0)) return true;
  if (rotation.flush) return rotation.calls <= rotation.copies;
  // Replays follow each other, so a round that is broken off would bring its first sets again too soon.
  return rotation.calls % rotation.copies == 0 && touched * rotation.copies >= l2 * caches_asserted;
}

}  // namespace stepcast::calibrate
