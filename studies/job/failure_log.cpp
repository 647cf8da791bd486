#include "studies/job/failure_log.h"

#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::job {
namespace {

constexpr std::string_view log_header = "failed_at,back_at";
constexpr const char* log_hint = "a header failed_at,back_at and lines like 2026-03-01T04:10:00,2026-03-01T04:31:00";

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  for (const char letter : text.substr(at, count))
    if (letter < '0' || letter > '9') return std::nullopt;
  return parsed_number<int>(text.substr(at, count));
}

/// "2026-03-01T04:10[:00][Z]".
std::optional<std::int64_t> read_time(std::string_view text) {
  using namespace std::chrono;
  if (text.ends_with("Z")) text.remove_suffix(1);
  constexpr std::size_t to_minutes = 16, to_seconds = 19;
  if (text.size() != to_minutes && text.size() != to_seconds) return std::nullopt;
  const bool marks = text[4] == '-' && text[7] == '-' && (text[10] == 'T' || text[10] == ' ') && text[13] == ':' &&
                     (text.size() == to_minutes || text[16] == ':');
  const auto y = digits(text, 0, 4), mo = digits(text, 5, 2), d = digits(text, 8, 2), h = digits(text, 11, 2),
             mi = digits(text, 14, 2);
  const auto s = text.size() == to_seconds ? digits(text, 17, 2) : std::optional(0);
  if (!marks || !y || !mo || !d || !h || !mi || !s || *h > 23 || *mi > 59 || *s > 60) return std::nullopt;
  const year_month_day date{year(*y), month(static_cast<unsigned>(*mo)), day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return duration_cast<seconds>(sys_days(date).time_since_epoch() + hours(*h) + minutes(*mi) + seconds(*s)).count();
}

Expected<LoggedFailure> read_entry(std::string_view line, const std::string& place, std::int64_t now) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos || line.find(',', comma + 1) != std::string_view::npos)
    return fail(place, fmt::format("'{:.60}' has no two cells", line), log_hint);
  std::int64_t times[2] = {};
  const std::string_view cells[2] = {stripped(line.substr(0, comma)), stripped(line.substr(comma + 1))};
  for (int cell = 0; cell < 2; ++cell) {
    const auto time = read_time(cells[cell]);
    if (!time) return fail(place, fmt::format("'{:.40}' is no time", cells[cell]), "UTC like 2026-03-01T04:10:00");
    if (*time > now) return fail(place, fmt::format("{} lies in the future", cells[cell]), "what has been, in UTC");
    times[cell] = *time;
  }
  if (times[1] < times[0])
    return fail(place, fmt::format("back at {} before it failed at {}", cells[1], cells[0]), "the failure first");
  return LoggedFailure{times[0], times[1]};
}

/// Percentile of a gamma law of this shape and scale 1, by Wilson and Hilferty's cube; z: of the normal law.
double gamma_percentile(double shape, double z) {
  const double root = 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape));
  return shape * std::pow(std::max(0.0, root), 3);
}

}  // namespace

Expected<std::vector<LoggedFailure>> read_failure_log(
    const std::string& text, const std::string& where, std::int64_t now) {
  std::vector<LoggedFailure> log;
  std::size_t line = 0, before = 0;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  for (std::size_t begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view words = stripped(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++line;
    const std::string place = fmt::format("{}:{}", where, line);
    if (line == 1) {
      if (words != log_header) return fail(place, fmt::format("the header is '{:.60}'", words), log_hint);
      continue;
    }
    if (words.empty()) continue;
    TRY(const auto entry, read_entry(words, place, now));
    if (!log.empty() && entry.failed_at < log.back().failed_at)
      return fail(place, fmt::format("fails before the entry of line {}", before), "entries in the order of time");
    if (!log.empty() && entry.failed_at < log.back().back_at)
      return fail(place, fmt::format("fails while the failure of line {} is not over", before),
          "one entry for failures that come together");
    log.push_back(entry);
    before = line;
  }
  if (log.empty()) return fail(where, "no failure", log_hint);
  return log;
}

Expected<LoggedRates> rates_of(const std::vector<LoggedFailure>& log, Seconds watched, const std::string& where) {
  const auto spanned = static_cast<double>(log.back().back_at - log.front().failed_at);
  if (spanned > watched.value())
    return fail(where,
        fmt::format("entries lie {:.4g} days apart, and the job was watched for {:.4g}", spanned / 86400,
            watched.value() / 86400),
        "the whole time, with what came before the first failure and after the last");
  LoggedRates rates;
  rates.failures = static_cast<std::int64_t>(log.size());
  double down = 0;
  for (const LoggedFailure& entry : log) down += static_cast<double>(entry.back_at - entry.failed_at);
  rates.mean_down = Seconds(down / static_cast<double>(log.size()));
  const double days = watched.value() / 86400, count = static_cast<double>(log.size());
  constexpr double z = 1.2815515655;  // 90th percentile of the normal law
  rates.per_day = {count / days, gamma_percentile(count, -z) / days, gamma_percentile(count + 1, z) / days};
  return rates;
}

}  // namespace stepcast::job
