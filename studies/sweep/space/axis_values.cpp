// Values of an axis as people write them: lists, ranges, "all".
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/errors/error_context.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/sweep/space/axes.h"

namespace stepcast::sweep {
namespace {

/// Of values that the axis may have: zero ends at 3.
std::string ways_to_write_numbers(const FieldType& type) {
  constexpr std::int64_t long_range = 64;
  if (type.most < long_range)
    return fmt::format("a list {},{}, a range {}..{}, or all", type.least, type.most, type.least, type.most);
  return fmt::format("a list 1,2,4, a range 1..8 or 1..{}*2, or all", long_range);
}

/// Instead of a list that is too long.
std::string shorter_list(const AxisRow& row) {
  if (!row.type.number) return "a shorter list";
  return fmt::format("a shorter list, or a range with a factor: 1..{}*2", row.type.most);
}

std::vector<std::string> parted(std::string_view text, char separator) {
  std::vector<std::string> items;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    items.emplace_back(stripped(text.substr(0, end)));
    if (end == text.size()) return items;
    text.remove_prefix(end + 1);
  }
}

/// Reads the values of one axis, item by item.
class AxisValueReader {
 public:
  AxisValueReader(const AxisRow& row, const std::string& where, const AxisContext& context)
      : row_(row), where_(where), context_(context) {}

  Expected<void> take_text(const std::string& text) {
    for (const std::string& item : items_of(text)) TRY(take_item(item));
    return {};
  }

  std::vector<std::string> values() && { return std::move(values_); }

 private:
  /// Layouts have commas of their own; words of them may be listed with commas all the same.
  [[nodiscard]] std::vector<std::string> items_of(const std::string& text) const {
    if (!row_.axis.commas) return parted(text, ',');
    const std::vector<std::string> words = row_.axis.all(context_), items = parted(text, ',');
    const auto is_word = [&](const std::string& item) { return item == "all" || contains(words, item); };
    return std::ranges::all_of(items, is_word) ? items : parted(text, ';');
  }

  Expected<void> take_item(const std::string& item) {
    if (item.empty()) return fail(where_, "a value is missing", std::string(row_.axis.doc));
    if (item == "all") return take_all();
    if (row_.type.number && item.find("..") != std::string::npos) return take_range(item);
    if (row_.type.number) return take_number(item);
    return take_word(item);
  }

  Expected<void> take_all() {
    const std::vector<std::string> all = row_.axis.all(context_);
    if (all.empty())
      return fail(where_, fmt::format("there is no list of all {}", row_.key), "a list 64,128 or a range 64..1024*2");
    for (const std::string& value : all) TRY(add(value));
    return {};
  }

  Expected<std::int64_t> number(const std::string& text) const {
    return parse_count(text, where_, row_.type.least, row_.type.most).map_error([&](Error error) {
      return with_more_hint(std::move(error), ways_to_write_numbers(row_.type));
    });
  }

  Expected<void> take_number(const std::string& text) {
    TRY(const auto parsed, number(text));
    return add(std::to_string(parsed));
  }

  /// "1..8" and "1..64*2".
  Expected<void> take_range(const std::string& text) {
    const std::size_t dots = text.find(".."), star = text.find('*', dots);
    TRY(const auto first, number(text.substr(0, dots)));
    TRY(const auto last, number(text.substr(dots + 2, star == std::string::npos ? star : star - dots - 2)));
    if (first > last)
      return fail(where_, fmt::format("range {:.60} runs backwards", text), fmt::format("{}..{}", last, first));
    std::int64_t factor = 1;
    if (star != std::string::npos) {
      TRY(factor, parse_count(text.substr(star + 1), where_, 2, row_.type.most));
    }
    if (factor > 1 && first == 0)
      return fail(where_, fmt::format("range {:.60} never leaves 0", text), "begin at 1, or list the values");
    for (std::int64_t value = first; value <= last; value = factor > 1 ? value * factor : value + 1)
      TRY(add(std::to_string(value)));
    return {};
  }

  Expected<void> take_word(const std::string& text) {
    if (!row_.axis.own_word.empty() && text == row_.axis.own_word) return add(text);
    if (auto good = row_.is_noun() ? check_tier(text) : check_field(row_, text, where_); !good) {
      if (row_.axis.own_word.empty()) return good;
      return tl::unexpected(with_more_hint(good.error(), fmt::format("or {}", row_.axis.own_word)));
    }
    return add(text);
  }

  Expected<void> check_tier(const std::string& text) const {
    const std::vector<std::string> tiers = row_.axis.all(context_);
    if (contains(tiers, text)) return {};
    return fail(where_, fmt::format("unknown tier '{:.60}'", text), name_hint(text, tiers));
  }

  Expected<void> add(const std::string& value) {
    if (!seen_.insert(value).second)
      return fail(where_, fmt::format("{:.60} is listed twice", value), "each value once");
    if (values_.size() == most_axis_values)
      return fail(where_, fmt::format("more than {} values", most_axis_values), shorter_list(row_));
    values_.push_back(value);
    return {};
  }

  const AxisRow& row_;
  const std::string& where_;
  const AxisContext& context_;
  std::vector<std::string> values_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

Expected<std::vector<std::string>> read_axis_values(
    const AxisRow& row, const std::string& text, const std::string& where, const AxisContext& context) {
  return read_axis_values(row, std::span(&text, 1), where, context);
}

Expected<std::vector<std::string>> read_axis_values(
    const AxisRow& row, std::span<const std::string> texts, const std::string& where, const AxisContext& context) {
  if (texts.empty())
    return fail(where, "the list is empty", fmt::format("leave it out for the default; {}", row.axis.doc));
  AxisValueReader reader(row, where, context);
  for (const std::string& text : texts) TRY(reader.take_text(text));
  return std::move(reader).values();
}

}  // namespace stepcast::sweep
