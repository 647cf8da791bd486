// Windows whose loops have short rounds: what happens relative to the first element of a round depends only on how many
// rounds and elements are left, so that equal situations of each dim are gathered first, and every combination of
// situations is looked at once, unit by unit, with explicit sets.
#include <algorithm>
#include <vector>

#include "dataflow/chip/count/count_ragged.h"
#include "dataflow/chip/count/count_sets.h"
#include "model/base/contains.h"

namespace stepcast::dataflow::counting {
namespace {

struct Interval {
  std::int64_t low = 0, length = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Of one dim, where one unit works in this round and where it worked in the one before.
struct Seat {
  Interval now, before;
  friend bool operator==(const Seat&, const Seat&) = default;
};

struct Situation {
  std::vector<Seat> seats;
  std::int64_t times = 1;
};

/// All indices below the extent of tuples of `varying` on top of `index`.
void collect(const Digits& digits, DigitSet varying, std::int64_t index, std::vector<std::int64_t>& found) {
  found.assign(1, index);
  for (int i = 0; i < digits.size; ++i) {
    if ((varying >> i & 1U) == 0) continue;
    const std::size_t known = found.size();
    for (std::size_t f = 0; f < known; ++f)
      for (std::int64_t n = 1; n < digits.trips[i]; ++n) {
        const std::int64_t next = found[f] + n * digits.weight[i];
        if (next >= digits.extent) break;
        found.push_back(next);
      }
  }
}

/// The parts of one dim's digits when loop `place` steps.
struct Split {
  DigitSet before, units, siblings, after, tile;
  int stepping = -1;  ///< digit of `place`, if it is of this dim

  Split(const Digits& digits, int inner, int from, int place) {
    const DigitSet time = digits.time_outside(inner);
    units = digits.space_up_to(from);
    siblings = digits.space_up_to(inner) & ~units;
    before = digits.time_outside(inner, place);
    tile = digits.all() & ~time & ~units & ~siblings;
    for (int i = 0; i < digits.size; ++i)
      if (digits.loop[i] == place) stepping = i;
    after = time & ~before;
    if (stepping >= 0) after &= ~(DigitSet{1} << stepping);
  }
};

Situation situation_at(const Digits& digits, const Split& split, std::int64_t base) {
  const std::int64_t whole = digits.range(split.tile);
  std::vector<std::int64_t> starts;
  collect(digits, split.siblings, base, starts);
  Situation situation;
  for (const std::int64_t start : starts) {
    const std::int64_t from = split.stepping < 0 ? start : start - digits.weight[split.stepping];
    const std::int64_t last = digits.last_from(from, split.after);
    situation.seats.push_back(
        {{start - base, std::min(whole, digits.extent - start)}, {last - base, std::min(whole, digits.extent - last)}});
  }
  return situation;
}

/// Indices below the extent, from `low` on, of tuples of `varying` whose digit `stepping` (if any) is not 0.
std::vector<std::int64_t> indices_from(const Digits& digits, DigitSet varying, int stepping, std::int64_t low) {
  std::int64_t rest = 0;
  for (int i = 0; i < digits.size; ++i)
    if ((varying >> i & 1U) != 0) rest += (digits.trips[i] - 1) * digits.weight[i];
  if (rest < low) return {};
  std::vector<std::int64_t> found{0}, before;
  for (int i = 0; i < digits.size; ++i) {
    if ((varying >> i & 1U) == 0) continue;
    const std::int64_t weight = digits.weight[i];
    rest -= (digits.trips[i] - 1) * weight;  // what the digits further in can add at most
    before.swap(found);
    found.clear();
    for (const std::int64_t index : before) {
      const std::int64_t missing = std::max<std::int64_t>(low - index - rest, 0);
      const std::int64_t last = std::min(digits.trips[i] - 1, (digits.extent - 1 - index) / weight);
      for (std::int64_t n = std::max<std::int64_t>((missing + weight - 1) / weight, i == stepping); n <= last; ++n)
        found.push_back(index + n * weight);
    }
  }
  return found;
}

/// Rounds that are far enough from the end of the extent are all alike: only those near it are looked at one by one.
std::vector<Situation> situations_of(const Digits& digits, const Split& split) {
  const DigitSet step = split.stepping < 0 ? 0 : DigitSet{1} << split.stepping;
  const DigitSet varying = split.before | split.units | step;
  std::int64_t reach = 0;
  for (int i = 0; i < digits.size; ++i)
    if (((split.siblings | split.after | split.tile) >> i & 1U) != 0) reach += (digits.trips[i] - 1) * digits.weight[i];
  std::vector<Situation> situations;
  std::int64_t alike = digits.tuples_below(varying, reach);
  if (step != 0) alike -= digits.tuples_below(varying & ~step, reach);
  if (alike > 0) {
    situations.push_back(situation_at(digits, split, step == 0 ? 0 : digits.weight[split.stepping]));
    situations[0].times = alike;
  }
  for (const std::int64_t at :
      indices_from(digits, varying, split.stepping, std::max<std::int64_t>(digits.extent - reach, 0))) {
    Situation found = situation_at(digits, split, at);
    const auto same = std::find_if(
        situations.begin(), situations.end(), [&](const Situation& known) { return known.seats == found.seats; });
    if (same != situations.end()) ++same->times;
    else situations.push_back(std::move(found));
  }
  return situations;
}

/// Every way to take one of each.
template <typename Visit> void for_each_choice(const std::vector<std::size_t>& sizes, const Visit& visit) {
  std::vector<std::size_t> choice(sizes.size(), 0);
  if (contains(sizes, 0U)) return;
  while (true) {
    visit(choice);
    std::size_t k = 0;
    while (k < sizes.size() && ++choice[k] == sizes[k]) choice[k++] = 0;
    if (k == sizes.size()) return;
  }
}

using Chosen = std::vector<const Situation*>;

/// The lowest value that any unit has, now or before, and how far the values go.
Interval values_of(const Nest::Index& window, const Chosen& chosen) {
  std::int64_t low = 0, high = 0;
  for (int k = 0; k < window.terms; ++k) {
    std::int64_t first = chosen[k]->seats[0].now.low, last = first;
    for (const Seat& seat : chosen[k]->seats)
      for (const Interval& part : {seat.now, seat.before}) {
        first = std::min(first, part.low);
        last = std::max(last, part.low + part.length - 1);
      }
    low += window.step[k] * first, high += window.step[k] * last;
  }
  return {low, high - low + 1};
}

void mark_values(
    const Nest::Index& window, const std::array<Interval, most_terms>& parts, std::int64_t lowest, Marks& marks) {
  std::int64_t start = -lowest;
  Sums sums;
  for (int k = 0; k < window.terms; ++k) {
    start += window.step[k] * parts[k].low;
    sums.add(window.step[k], parts[k].length);
  }
  marks.mark(start);
  marks.widen(sums);
}

WindowSums look_at(const Nest::Index& window, const Chosen& chosen) {
  const Interval values = values_of(window, chosen);
  Marks needed(values.length), fresh(values.length), now(values.length), before(values.length);
  std::vector<std::size_t> sizes;
  for (const Situation* situation : chosen) sizes.push_back(situation->seats.size());
  for_each_choice(sizes, [&](const std::vector<std::size_t>& unit) {
    std::array<Interval, most_terms> parts_now{}, parts_before{};
    for (int k = 0; k < window.terms; ++k) {
      parts_now[k] = chosen[k]->seats[unit[k]].now;
      parts_before[k] = chosen[k]->seats[unit[k]].before;
    }
    now.clear();
    before.clear();
    mark_values(window, parts_now, values.low, now);
    mark_values(window, parts_before, values.low, before);
    for (std::int64_t value = 0; value < values.length; ++value) {
      if (!now.has(value)) continue;
      needed.mark(value);
      if (!before.has(value)) fresh.mark(value);
    }
  });
  return {needed.count(), needed.count() - fresh.count()};
}

}  // namespace

WindowSums window_sums(const RaggedNest& nest, const Nest::Index& window, int inner, int from, int place) {
  std::vector<std::vector<Situation>> situations;
  std::vector<std::size_t> sizes;
  for (int k = 0; k < window.terms; ++k) {
    const Digits& digits = nest.dim[window.dim[k]];
    situations.push_back(situations_of(digits, Split(digits, inner, from, place)));
    sizes.push_back(situations.back().size());
  }
  WindowSums sums;
  for_each_choice(sizes, [&](const std::vector<std::size_t>& choice) {
    Chosen chosen;
    std::int64_t times = 1;
    for (int k = 0; k < window.terms; ++k) {
      chosen.push_back(&situations[k][choice[k]]);
      times *= chosen.back()->times;
    }
    const WindowSums here = look_at(window, chosen);
    sums.needed += times * here.needed;
    sums.kept += times * here.kept;
  });
  return sums;
}

std::int64_t window_held(const RaggedNest& nest, const Nest::Index& window, int level) {
  std::vector<std::vector<std::vector<std::int64_t>>> held;  // by term, by unit: its indices
  std::vector<std::size_t> sizes;
  std::int64_t values = 1;
  for (int k = 0; k < window.terms; ++k) {
    const Digits& digits = nest.dim[window.dim[k]];
    const DigitSet units = digits.space_up_to(level);
    std::vector<std::int64_t> firsts;
    collect(digits, units, 0, firsts);
    held.emplace_back();
    for (const std::int64_t first : firsts) collect(digits, digits.all() & ~units, first, held[k].emplace_back());
    sizes.push_back(firsts.size());
    values += window.step[k] * (digits.extent - 1);
  }
  std::int64_t sum = 0;
  for_each_choice(sizes, [&](const std::vector<std::size_t>& unit) {
    Marks marks(values);
    std::vector<std::size_t> indices;
    for (int k = 0; k < window.terms; ++k) indices.push_back(held[k][unit[k]].size());
    for_each_choice(indices, [&](const std::vector<std::size_t>& at) {
      std::int64_t value = 0;
      for (int k = 0; k < window.terms; ++k) value += window.step[k] * held[k][unit[k]][at[k]];
      marks.mark(value);
    });
    sum += marks.count();
  });
  return sum;
}

}  // namespace stepcast::dataflow::counting
