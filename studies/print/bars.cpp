#include "studies/print/bars.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "studies/print/table.h"

namespace stepcast::print {
namespace {

// U+2588 full block, then U+258F..U+2589: one to seven eighths.
constexpr const char* full_block = "\u2588";
constexpr std::array eighths = {"", "\u258F", "\u258E", "\u258D", "\u258C", "\u258B", "\u258A", "\u2589"};

std::string repeated(const char* text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

std::string bar(double share, int width, bool unicode) {
  if (!(share > 0)) return {};
  const double length = std::min(share, 1.0) * width;
  if (!unicode) return repeated("#", std::max(1, static_cast<int>(std::lround(length))));
  const int parts = std::max(1, static_cast<int>(std::lround(length * 8)));
  return repeated(full_block, parts / 8) + eighths[static_cast<std::size_t>(parts % 8)];
}

std::string gauge(double share, int width, bool unicode) {
  const std::string filled = bar(share, width, unicode);
  const int rest = width - static_cast<int>(shown_width(filled));
  return filled + repeated(unicode ? "\u2591" : ".", rest);
}

}  // namespace stepcast::print
