// Finds the points of a space that can run, and those that only repeat another. It asks the split's own rules
// (studies/run/split/split.h) as soon as the digits that they look at are known, so that whole stretches of numbers are
// dismissed at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "studies/sweep/price/points.h"

namespace stepcast::sweep {

class Legality {
 public:
  explicit Legality(SpacePoints& points);

  struct Verdict {
    int reason = -1;               ///< into reasons(); -1: legal
    AxisId axis = AxisId::count_;  ///< all points that share the digits up to here fail alike
  };
  /// The broken rule with the outermost axis. Rules that look at no axis from `changed` on hold already.
  [[nodiscard]] Verdict ask(const Digits& digits, AxisId changed);
  [[nodiscard]] std::span<const std::string_view> reasons() const { return reasons_; }

 private:
  struct Rule {
    bool (*holds)(const Legality&, const Rule&, const Digits&);
    const SplitRule* split = nullptr;
    std::vector<AxisId> axes;            ///< that it looks at, ascending
    std::vector<std::uint64_t> strides;  ///< of the answer's place in `known`
    std::vector<signed char> known;      ///< 0 not asked yet, 1 holds, -1 broken; empty: too many to remember
    [[nodiscard]] AxisId last() const { return axes.empty() ? AxisId::gpus : axes.back(); }
  };
  /// Rules in a row with one last axis, whose answers together are remembered too: most numbers ask one of these.
  struct Answers {
    AxisId last{};
    std::size_t begin = 0, end = 0;      ///< of rules_
    std::vector<std::size_t> axes;       ///< that have several values and one of the rules looks at
    std::vector<std::uint64_t> strides;  ///< of the answer's place in `known`
    std::vector<std::uint8_t> known;     ///< 0 not asked yet, 1 all hold, else 2 + the first that is broken, from begin
  };
  void add(Rule rule, std::string_view reason);
  void join_rules();
  [[nodiscard]] std::uint8_t ask_all(const Answers& answers, const Digits& digits);
  [[nodiscard]] bool ask_rule(Rule& rule, const Digits& digits) const;
  static bool split_holds(const Legality& legality, const Rule& rule, const Digits& digits);
  static bool layers_lie(const Legality& legality, const Rule& rule, const Digits& digits);
  template <auto repeats> static bool is_first(const Legality& legality, const Rule&, const Digits& digits) {
    return !repeats(legality.points_, digits);
  }
  void add_repeats();

  SpacePoints& points_;
  std::vector<Rule> rules_;     ///< by the last axis
  std::vector<int> reason_of_;  ///< by rule
  std::vector<Answers> answers_;
  std::array<std::size_t, axis_count>
      answers_from_{};  ///< by axis: the first of answers_ that ends there or further in
  std::vector<std::string_view> reasons_;
};

}  // namespace stepcast::sweep
