#include "studies/job/duration.h"

#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"

namespace stepcast::job {

std::string duration_text(Seconds time) {
  constexpr double minute = 60, hour = 3600, day = 86400;
  const double value = time.value();
  if (!std::isfinite(value)) return "forever";
  const auto text = [&](double unit, const char* name) {
    const double count = value / unit;
    if (count >= 1000) return fmt::format("{} {}", grouped_digits(std::round(count)), name);
    return fmt::format("{:.{}f} {}", count, count < 10 ? 2 : count < 100 ? 1 : 0, name);
  };
  if (value >= 2 * day) return text(day, "d");
  if (value >= 2 * hour) return text(hour, "h");
  if (value >= 2 * minute) return text(minute, "min");
  return format_seconds(time);
}

}  // namespace stepcast::job
