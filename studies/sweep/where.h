// Constraints of a sweep: "memory.peak < 70 GiB and tp <= 8".
//   or    := and { "or" and }          and := not { "and" not }          not := ["not"] ( "(" or ")" | comparison )
//   comparison := sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum        sum := term { ("+"|"-") term }
//   term  := factor { ("*"|"/") factor }   factor := FIGURE | NUMBER [UNIT] | "(" sum ")" | WORD
// A figure is a name of figure_rows(); a number takes a unit of the figure it is compared with ("70 GiB", "12.5 s", "45 %").
// Axes of words compare with == and != only: schedule == zb-v, recompute != full, precision == fp8.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "studies/sweep/figures.h"

namespace stepcast {

/// A constraint that has been read; immutable, cheap to copy, safe to use from several threads.
class Where {
 public:
  /// `words`: axes with words for values ("schedule"). Errors name the position in the text, what stands there, what may.
  static Expected<Where> read(const std::string& text, const std::string& where, const std::vector<std::string>& words);

  enum class Answer : std::uint8_t { no, yes, open };
  /// With figures known up to `known`; open when the rest decides. `word` gives the value of an axis of words by its number in
  /// `words`.
  [[nodiscard]] Answer ask(const Figures& figures, FigureNeeds known, const std::function<std::string_view(int)>& word) const;
  [[nodiscard]] bool empty() const;
  /// What the whole constraint waits for: the latest of its figures.
  [[nodiscard]] FigureNeeds needs() const;
  [[nodiscard]] const std::string& text() const;

 private:
  struct Node;
  std::shared_ptr<const Node> root_;
  std::string text_;
};

}  // namespace stepcast
