#include "calibrate/import/logs/log_lines.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "calibrate/import/delimited.h"

namespace stepcast::calibrate {
namespace {

bool digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
}

/// ESC [ ... letter.
std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[')
      for (i += 2; i < line.size() && std::isalpha(static_cast<unsigned char>(line[i])) == 0;) ++i;
  }
  return plain;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (digit_at(text, at + count)) ++count;
  return count;
}

/// Length of "12: ", "[default3]:" or "[rank0]:" at the front; 0 where the line has none.
std::size_t rank_prefix(std::string_view line) {
  const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
  constexpr std::size_t most_rank_digits = 6;
  if (const std::size_t digits = digits_at(line, start); digits > 0 && digits <= most_rank_digits)
    return line.substr(start + digits).starts_with(": ") ? start + digits + 2 : 0;
  for (const std::string_view name : {"[default", "[rank"}) {
    if (!line.substr(start).starts_with(name)) continue;
    const std::size_t digits = digits_at(line, start + name.size());
    const std::size_t end = start + name.size() + digits;
    if (digits > 0 && line.substr(end).starts_with("]:")) return end + 2;
  }
  return 0;
}

std::string_view without_ranks(std::string_view line) {
  constexpr int most_prefixes = 3;
  for (int i = 0; i < most_prefixes; ++i) {
    const std::size_t length = rank_prefix(line);
    if (length == 0) break;
    line.remove_prefix(length);
  }
  return line;
}

}  // namespace

std::vector<LogLine> log_lines(std::string_view text) {
  std::vector<LogLine> lines;
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    const std::string plain = without_colours(text.substr(at, end - at));
    lines.push_back({number, std::string(without_ranks(plain))});
    number += end < text.size() && text[end] == '\n' ? 1 : 0;
    at = end + 1;
  }
  return lines;
}

LogFigure figure_after(std::string_view line, std::string_view label, bool open_end) {
  const std::size_t found = line.find(label);
  if (found == line.npos) return {};
  std::size_t at = found + label.size();
  while (at < line.size() && line[at] == ' ') ++at;
  std::string digits;
  const auto belongs = [&](std::size_t i) {
    const char c = line[i];
    if (c == ',') return digit_at(line, i + 1) && digits_at(line, i + 1) == 3;
    const bool sign = (c == '-' || c == '+') && (digits.empty() || digits.back() == 'e' || digits.back() == 'E');
    return digit_at(line, i) || c == '.' || sign || ((c == 'e' || c == 'E') && !digits.empty());
  };
  for (; at < line.size() && belongs(at); ++at)
    if (line[at] != ',') digits += line[at];
  LogFigure figure{0, at >= line.size() && !open_end, true};
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), figure.value);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size())
    figure = {0, at >= line.size(), at >= line.size()};
  return figure;
}

std::string date_in(std::string_view line) {
  constexpr std::size_t date_length = 10, furthest = 64;
  for (std::size_t at = 0; at + date_length <= line.size() && at < furthest; ++at) {
    const std::string_view day = line.substr(at, date_length);
    const bool shape =
        digits_at(day, 0) == 4 && day[4] == '-' && digits_at(day, 5) == 2 && day[7] == '-' && digits_at(day, 8) == 2;
    const bool alone = (at == 0 || !digit_at(line, at - 1)) && !digit_at(line, at + date_length);
    if (shape && alone && day.starts_with("20")) return std::string(day);
  }
  return {};
}

}  // namespace stepcast::calibrate
