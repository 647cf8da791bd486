#include "sim/schedule/layers/layer_layout.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

namespace stepcast::sim {
namespace {

// Of all stages and layers: no model is near it, and a mistyped factor stays harmless.
constexpr std::size_t most_items = 1 << 16;
constexpr std::size_t most_factor_digits = 5;

constexpr std::string_view letters = "EtmL|";

/// A letter or bar after repetition, with the column that it came from.
struct LayoutItem {
  char letter;
  int column;
};

bool is_layout_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Unrolls repetitions; groups do not nest, as in Megatron.
class LayoutReader {
 public:
  LayoutReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Expected<std::vector<LayoutItem>> items() {
    for (skip(); at_ < text_.size(); skip()) {
      const std::size_t first = items_.size();
      TRY(text_[at_] == '(' ? read_group() : read_letter());
      TRY(repeat_from(first));
    }
    return std::move(items_);
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ' ')) ++at_;
  }

  [[nodiscard]] tl::unexpected<Error> refuse(std::size_t at, std::string what, std::string hint) const {
    return fail(fmt::format("{}:{}", where_, at + 1), std::move(what), std::move(hint));
  }

  Expected<void> read_letter() {
    const char letter = text_[at_];
    if (letters.find(letter) == std::string_view::npos)
      return refuse(at_, fmt::format("'{}' is no part of a layout", letter),
          "E, t, m, L, | between stages, x*3 or (tt|)*3 to repeat");
    items_.push_back({letter, static_cast<int>(at_) + 1});
    ++at_;
    return {};
  }

  /// Inside of a group single letters may repeat, groups may not.
  Expected<void> read_group() {
    const std::size_t opened = at_++;
    for (skip(); at_ < text_.size() && text_[at_] != ')'; skip()) {
      const std::size_t first = items_.size();
      if (text_[at_] == '(')
        return refuse(at_, "a group inside of a group", "groups side by side: Megatron does not nest them");
      TRY(read_letter());
      TRY(repeat_from(first));
    }
    if (at_ == text_.size()) return refuse(opened, "the group is not closed", "(tt|)*3");
    ++at_;
    if (at_ < text_.size() && text_[at_] == '*') return {};
    return refuse(opened, "the group is not repeated", "(tt|)*3, or no brackets");
  }

  /// "*3" behind what stands from `first` on.
  Expected<void> repeat_from(std::size_t first) {
    if (at_ == text_.size() || text_[at_] != '*') return {};
    const std::size_t star = at_++;
    const std::size_t digits = at_;
    while (at_ < text_.size() && is_layout_digit(text_[at_])) ++at_;
    std::size_t factor = 0;
    std::from_chars(text_.data() + digits, text_.data() + std::min(at_, digits + most_factor_digits), factor);
    if (factor == 0) return refuse(star, "'*' without a number of repetitions", "t*3, 1 or more");
    const std::size_t length = items_.size() - first;
    if (at_ - digits > most_factor_digits || first + length * factor > most_items)
      return refuse(star, "too many layers and stages", fmt::format("at most {}", most_items));
    for (std::size_t i = length; i < length * factor; ++i) items_.push_back(items_[first + i % length]);
    return {};
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::vector<LayoutItem> items_;
};

/// What the letters may follow: E before all, then t, then m, then L.
class StageBuilder {
 public:
  explicit StageBuilder(const std::string& where) : where_(where) {}

  Expected<void> add(const LayoutItem& item) {
    if (item.letter == '|') return void(layout_.stages.emplace_back()), Expected<void>{};
    if (item.letter == 'E' && (last_ != 0 || layout_.stages.size() > 1))
      return refuse(item, "the embedding E is not the first layer", "one E, at the very beginning");
    if (item.letter != 'E' && last_ == 0)
      return refuse(item, "the layout does not begin with the embedding", "E first, as in Ett|tt|ttL");
    if (last_ == 'L') return refuse(item, fmt::format("{} after the loss", item.letter), "one L, at the very end");
    if (item.letter == 't' && last_ == 'm')
      return refuse(item, "a decoder layer t after a prediction layer m", "all t before the first m");
    StageLayers& stage = layout_.stages.back();
    stage.embedding = stage.embedding || item.letter == 'E';
    stage.layers += item.letter == 't' ? 1 : 0;
    stage.predictions += item.letter == 'm' ? 1 : 0;
    stage.loss = stage.loss || item.letter == 'L';
    last_ = item.letter;
    return {};
  }

  Expected<LayerLayout> finish() {
    if (last_ == 0) return fail(where_, "the layout is empty", "as in Ett|tt|ttL");
    if (!layout_.stages.back().loss)
      return fail(where_, "the layout does not end with the loss", "L last, as in Ett|tt|ttL");
    return std::move(layout_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> refuse(const LayoutItem& item, std::string what, std::string hint) const {
    return fail(fmt::format("{}:{}", where_, item.column), std::move(what), std::move(hint));
  }

  const std::string& where_;
  LayerLayout layout_{.stages = {StageLayers{}}};
  char last_ = 0;
};

/// "7,8" cut at commas; the column of each number, from 1.
Expected<int> count_at(std::string_view part, const std::string& place) {
  int count = 0;
  const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), count);
  const bool whole = problem == std::errc() && end == part.data() + part.size();
  if (whole && count >= 0 && count <= static_cast<int>(most_items)) return count;
  return fail(place, fmt::format("'{}' is no number of layers", part), "whole numbers, one per stage: 7,8,8,7");
}

std::string text_of_stage(const StageLayers& stage) {
  std::string text = stage.embedding ? "E" : "";
  text += stage.layers > 2 ? fmt::format("t*{}", stage.layers) : std::string(stage.layers, 't');
  text += stage.predictions > 2 ? fmt::format("m*{}", stage.predictions) : std::string(stage.predictions, 'm');
  return stage.loss ? text + "L" : text;
}

}  // namespace

int LayerLayout::layers() const {
  return std::accumulate(stages.begin(), stages.end(), 0, [](int n, const StageLayers& s) { return n + s.layers; });
}

int LayerLayout::predictions() const {
  return std::accumulate(
      stages.begin(), stages.end(), 0, [](int n, const StageLayers& s) { return n + s.predictions; });
}

Expected<LayerLayout> read_layer_layout(std::string_view text, const std::string& where) {
  TRY(const auto items, LayoutReader(text, where).items());
  StageBuilder builder(where);
  for (const LayoutItem& item : items) {
    TRY(builder.add(item));
  }
  return builder.finish();
}

Expected<LayerLayout> read_layer_list(std::string_view text, const std::string& where) {
  LayerLayout layout;
  std::size_t begin = text.starts_with('[') ? 1 : 0;
  const std::size_t end = text.size() - (begin == 1 && text.ends_with(']') ? 1 : 0);
  while (begin <= end) {
    std::size_t comma = std::min(text.find(',', begin), end);
    const std::size_t next = comma + 1;
    while (begin < comma && text[begin] == ' ') ++begin;
    while (comma > begin && text[comma - 1] == ' ') --comma;
    TRY(const auto count, count_at(text.substr(begin, comma - begin), fmt::format("{}:{}", where, begin + 1)));
    layout.stages.push_back({.layers = count});
    begin = next;
  }
  layout.stages.front().embedding = true;
  layout.stages.back().loss = true;
  return layout;
}

Expected<LayerLayout> read_layers(std::string_view text, const std::string& where) {
  const bool list = !text.empty() && (is_layout_digit(text.front()) || text.front() == '[');
  return list ? read_layer_list(text, where) : read_layer_layout(text, where);
}

Expected<void> check_layers(
    const LayerLayout& layout, int layers, int predictions, int ranks, int chunks, const std::string& where) {
  const auto stages = static_cast<std::int64_t>(ranks) * chunks;
  if (static_cast<std::int64_t>(layout.stages.size()) != stages) {
    return fail(where,
        fmt::format(
            "{} stages in the layout, {} on {} ranks with {} chunks", layout.stages.size(), stages, ranks, chunks),
        fmt::format("{} bars between the stages", stages - 1));
  }
  if (layout.layers() != layers) {
    return fail(where, fmt::format("{} decoder layers in the layout, {} in the model", layout.layers(), layers),
        layout.layers() < layers ? fmt::format("{} more t", layers - layout.layers())
                                 : fmt::format("{} fewer t", layout.layers() - layers));
  }
  if (layout.predictions() != predictions) {
    return fail(where,
        fmt::format("{} prediction layers m in the layout, {} in the model", layout.predictions(), predictions),
        fmt::format("{} m, after the last t", predictions));
  }
  return {};
}

std::string write_layer_layout(const LayerLayout& layout) {
  std::string text;
  const std::size_t count = layout.stages.size();
  for (std::size_t i = 0; i < count;) {
    std::size_t same = i + 1;
    while (same < count && layout.stages[same] == layout.stages[i]) ++same;
    const std::string stage = text_of_stage(layout.stages[i]);
    const bool run = same - i > 1;
    text += run ? fmt::format("({}|)*{}", stage, same - i) : stage + (same < count ? "|" : "");
    i = same;
  }
  return text;
}

}  // namespace stepcast::sim
