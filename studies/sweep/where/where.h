// Constraints of a sweep: "memory.peak < 70 GiB and tp <= 8".
//   or    := and { "or" and }          and := not { "and" not }          not := { "not" } ( "(" or ")" | comparison )
//   comparison := sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum        sum := term { ("+"|"-") term }
//   term  := factor { ("*"|"/") factor }   factor := FIGURE | ["$"] NUMBER [UNIT] | "(" sum ")" | "-" factor
//   comparison := AXIS ("==" | "!=") WORD
// A figure is a name of figure_rows(). A number takes a unit: of time ("12.5 s"), memory ("70 GiB"), "%", energy ("4
// MJ") or money ("$ 1.20", "1.20 USD"); without one it is in the base unit of what it is compared with: seconds, bytes,
// a fraction. The two sides of a comparison or a sum are of one unit; products and quotients make new ones ("energy /
// step_time < 200000" is in watts). Axes of words compare with == and != only: schedule == zb-v, recompute != full,
// layout == "Ett|tt|tL".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/sweep/space/figures.h"
#include "studies/sweep/where/where_reader.h"

namespace stepcast::sweep {

/// A constraint that has been read; immutable, cheap to copy, safe to use from several threads.
class Where {
 public:
  static constexpr int deepest = deepest_where;  ///< open parentheses

  /// Blank text is the constraint that everything meets. Errors name the column, what stands there, what may: unknown
  /// names, sides of different units, a share above 1, comparisons of two numbers, texts over 10,000 characters or 30
  /// parentheses deep.
  static Expected<Where> read(const std::string& text, const std::string& where, std::span<const WordAxis> axes = {});

  enum class Answer : std::uint8_t { no, open, yes };
  /// With figures known up to `known`; open when the rest decides (Kleene's logic: "no and open" is no). `words`: the
  /// value of each of `axes`, which are known with the plan. Nothing is allocated. What is not a number (0 / 0, a cost
  /// without a price) meets no comparison, not even !=.
  [[nodiscard]] Answer ask(
      const Figures& figures, FigureNeeds known, std::span<const std::string_view> words = {}) const;
  [[nodiscard]] bool empty() const { return nodes_ == nullptr; }
  /// What the whole constraint waits for: the latest of its figures.
  [[nodiscard]] FigureNeeds needs() const;
  /// Those it mentions, in their order.
  [[nodiscard]] std::vector<Figure> figures() const;
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::shared_ptr<const std::vector<WhereNode>> nodes_;  ///< the last one is the whole; null: blank
  std::string text_;
};

}  // namespace stepcast::sweep
