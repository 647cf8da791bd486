#include "model/base/error.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"

namespace stepcast {
namespace {

/// Restricted Damerau-Levenshtein distance: insert, delete, replace, swap two neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

/// A hostile megabyte of name is not worth comparing, nor printing whole.
constexpr std::size_t longest_compared_name = 200;

}  // namespace

std::string to_text(const Error& error) {
  std::string text = error.where.empty() ? error.what : fmt::format("{}: {}", error.where, error.what);
  if (!error.hint.empty()) text += fmt::format(" ({})", error.hint);
  return text;
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  if (name.empty() || name.size() > longest_compared_name) return {};
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  std::string nearest;
  const std::string asked = lower_case(name);
  for (const std::string& candidate : candidates) {
    // Each letter more or less is an edit: most candidates of a long list need not be compared.
    if (std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size()) >= best) continue;
    const std::size_t distance = edit_distance(asked, lower_case(candidate));
    // A distance as long as the name would suggest 'dp' for 'tx': nothing of it is left.
    if (distance >= best || distance >= std::max(name.size(), candidate.size())) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string name_hint(std::string_view name, std::span<const std::string> candidates) {
  if (const std::string near = nearest_name(name, candidates); !near.empty())
    return fmt::format("did you mean '{}'?", near);
  if (candidates.empty()) return {};
  return fmt::format("one of: {}", fmt::join(candidates, ", "));
}

}  // namespace stepcast
