// The arguments of a log asked by meaning (logged_names.h), with a record of which were used.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/import/training_log.h"
#include "studies/logged_names.h"

namespace stepcast {

class LoggedAnswers {
 public:
  LoggedAnswers(const TrainingLog& log, const TrainingProgram& program) : log_(log), program_(program) {}

  /// Nothing where it is not said or said to be none.
  std::optional<std::string> text(Asked asked);
  /// A whole number from 1; anything else is remembered as the error.
  std::optional<std::int64_t> count(Asked asked);
  std::int64_t count(Asked asked, std::int64_t otherwise) { return count(asked).value_or(otherwise); }
  /// "true", "1", "yes" and "false", ...; other words count as yes.
  std::optional<bool> flag(Asked asked);
  bool flag(Asked asked, bool otherwise) { return flag(asked).value_or(otherwise); }

  /// The first value that was no number where one is needed.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// In words: arguments that nothing asked for and that may change the step, and how many others there are. Those of
  /// experts ("moe_...") say nothing of a dense model.
  [[nodiscard]] std::vector<std::string> left_over(bool experts) const;

 private:
  struct Answer {
    std::string name, value;
  };
  std::optional<Answer> find(Asked asked);

  const TrainingLog& log_;
  const TrainingProgram& program_;
  std::set<std::string> used_;
  std::optional<Error> error_;
};

}  // namespace stepcast
