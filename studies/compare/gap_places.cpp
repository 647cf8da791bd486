#include "studies/compare/gap_places.h"

namespace stepcast::comparison {

GapPlaces places_of(const TimeSplit& split, const std::vector<std::string>& names) {
  GapPlaces places;
  const auto name = [&](std::int32_t index) {
    return index < 0 ? std::string("the end") : names[static_cast<std::size_t>(index)];
  };
  for (const IdleGap& gap : split.gaps) {
    GapPlace& place = places[{name(gap.before), name(gap.after)}];
    place.seconds += gap.seconds;
    ++place.count;
    place.late += gap.host_late ? 1 : 0;
    if (gap.call) place.calls[*gap.call].first += gap.seconds, ++place.calls[*gap.call].second;
  }
  return places;
}

}  // namespace stepcast::comparison
