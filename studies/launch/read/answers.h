// Asks the arguments of a launch by meaning (asked.h), and records which of them were used.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "studies/launch/facts/launch.h"
#include "studies/launch/facts/step_words.h"

namespace stepcast::launch {

class LaunchAnswers {
 public:
  explicit LaunchAnswers(const Launch& launch);

  /// The text as given; nothing where it is not said or said to be none.
  std::optional<std::string> text(Asked asked);
  /// The framework's own where it is not given: of the launch's release.
  std::optional<std::string> text_or_default(Asked asked);
  /// A whole number from 1; 0 and below are as if not said, anything else is remembered as the error.
  std::optional<std::int64_t> count(Asked asked);
  std::optional<std::int64_t> count_or_default(Asked asked);
  std::int64_t count(Asked asked, std::int64_t otherwise) { return count(asked).value_or(otherwise); }
  /// "true", "1", "yes" and "false", ...; other words count as yes.
  std::optional<bool> flag(Asked asked);
  bool flag(Asked asked, bool otherwise) { return flag(asked).value_or(otherwise); }
  /// "0.1"; words that are no number are remembered as the error.
  std::optional<double> number_or_default(Asked asked);

  /// Is it given at all, "none" or "auto" included?
  [[nodiscard]] bool is_given(Asked asked) const;
  /// Name of the argument that answers; "" where none does.
  [[nodiscard]] std::string name(Asked asked) const;
  /// The argument that answers, of all that could; null where none does.
  [[nodiscard]] const GivenArgument* answering(Asked asked) const;
  /// "run.sh:12 --micro-batch-size" of the argument that answers; "run.sh" where none does.
  [[nodiscard]] std::string where(Asked asked) const;

  /// Its value is none that is understood: an error, unless there was one before.
  void refuse(Asked asked, std::string what, std::string hint);
  /// The first value that was no number where one is needed, or that hangs on a variable that nothing sets.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] const std::set<std::string>& used() const { return used_; }
  /// Touches it the step without any forecast that follows it? Its row says so, and its value is neither off, nor its
  /// default, nor what the software has anyway. Those of experts ("moe_...") say nothing of a dense model. Whatever
  /// explain lists under that heading, predict names.
  [[nodiscard]] bool is_left_out(const GivenArgument& given, bool experts) const;
  /// In words: what is given twice, known arguments that are left out, and how many others there are.
  [[nodiscard]] std::vector<std::string> left_over(bool experts) const;

 private:
  const GivenArgument* find(Asked asked);
  /// Those that a row's name is the name or the end of, in their order.
  [[nodiscard]] std::span<const GivenArgument* const> named(std::string_view row) const;
  [[nodiscard]] std::string how_to_define(const GivenArgument& given) const;
  [[nodiscard]] Error unset_value(const GivenArgument& given) const;
  [[nodiscard]] Error no_count(const GivenArgument& given) const;

  const Launch& launch_;
  const ArgumentTable& table_;
  std::unordered_map<std::string_view, std::vector<const GivenArgument*>> named_;  ///< by each end of their names
  std::set<std::string> used_;
  std::optional<Error> error_;
};

}  // namespace stepcast::launch
