#include "studies/launch/facts/expert_pattern.h"

#include <charconv>

namespace stepcast::launch {
namespace {

/// sum := part ("+" part)* ; part := (list | "(" sum ")") ("*" count)? ; list := "[" (0|1 ",")* "]"
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<int>> read() {
    auto all = sum(0);
    if (!good_ || peek() != 0) return std::nullopt;
    return all;
  }

 private:
  static constexpr std::size_t most_layers = 10'000;
  static constexpr int most_depth = 20;

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\'' || text_[at_] == '"')) ++at_;
    return at_ < text_.size() ? text_[at_] : char{0};
  }
  bool take(char c) { return peek() == c && (++at_, true); }

  std::vector<int> sum(int depth) {
    std::vector<int> all = part(depth);
    while (good_ && take('+')) {
      const std::vector<int> more = part(depth);
      if (all.size() + more.size() > most_layers) return refuse();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  std::vector<int> part(int depth) {
    if (depth > most_depth) return refuse();
    std::vector<int> once;
    if (take('(')) {
      once = sum(depth + 1);
      if (!take(')')) return refuse();
    } else {
      once = list();
    }
    if (!good_ || !take('*')) return once;
    return repeated(once, number());
  }

  std::vector<int> list() {
    if (!take('[')) return refuse();
    std::vector<int> items;
    while (good_ && peek() != ']' && peek() != 0) {
      const std::size_t item = number();
      if (item > 1 || items.size() >= most_layers) return refuse();
      items.push_back(static_cast<int>(item));
      take(',');
    }
    return take(']') ? items : refuse();
  }

  std::vector<int> repeated(const std::vector<int>& once, std::size_t times) {
    if (!good_ || times > most_layers || once.size() * times > most_layers) return refuse();
    std::vector<int> all;
    for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), once.begin(), once.end());
    return all;
  }

  std::size_t number() {
    peek();
    std::size_t value = 0;
    const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (end.ec != std::errc()) return good_ = false, 0;
    at_ = static_cast<std::size_t>(end.ptr - text_.data());
    return value;
  }

  std::vector<int> refuse() {
    good_ = false;
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool good_ = true;
};

bool has_pattern(const std::vector<int>& pattern, std::size_t dense, std::size_t every) {
  for (std::size_t layer = 0; layer < pattern.size(); ++layer) {
    const bool experts = layer >= dense && (layer - dense) % every == every - 1;
    if (experts != (pattern[layer] == 1)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<int>> read_expert_pattern(std::string_view text) { return PatternReader(text).read(); }

std::optional<ExpertLayers> expert_layers_of(const std::vector<int>& pattern) {
  std::size_t first = 0;
  while (first < pattern.size() && pattern[first] == 0) ++first;
  // The first layer with experts is the last of its group, so that the group is at most all in front of it and itself.
  for (std::size_t every = 1; every <= first + 1; ++every)
    if (has_pattern(pattern, first + 1 - every, every))
      return ExpertLayers{static_cast<std::int64_t>(first + 1 - every), static_cast<std::int64_t>(every)};
  return std::nullopt;
}

}  // namespace stepcast::launch
