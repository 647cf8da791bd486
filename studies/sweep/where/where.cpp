#include "studies/sweep/where/where.h"

#include <algorithm>
#include <array>
#include <utility>

#include "studies/sweep/where/where_code.h"
#include "studies/sweep/where/where_parser.h"

namespace stepcast {
namespace {

using WhereAnswer = Where::Answer;
static_assert(WhereAnswer::no < WhereAnswer::open && WhereAnswer::open < WhereAnswer::yes, "and is the least, or the greatest of two");

WhereAnswer answer_of(bool met) { return met ? WhereAnswer::yes : WhereAnswer::no; }
WhereAnswer inverse(WhereAnswer answer) { return static_cast<WhereAnswer>(2 - static_cast<int>(answer)); }

/// The stacks stay as they come: a million questions a second have no time to clear them.
class WhereRun {
 public:
  WhereRun(const WhereCode& code, const Figures& figures, FigureNeeds known, std::span<const std::string_view> words)
      : code_(code), figures_(figures), known_(known), words_(words) {}

  WhereAnswer answer() {
    const auto end = static_cast<std::uint32_t>(code_.steps.size());
    for (std::uint32_t at = 0; at < end;) {
      const WhereStep& step = code_.steps[at];
      at = jumps(step) ? step.target : at + 1;
    }
    return answers_[0];
  }

 private:
  /// Does the step, and says whether to go to its target.
  bool jumps(const WhereStep& step) {
    switch (step.op) {
      case WhereOp::number: numbers_[filled_++] = step.number; return false;
      case WhereOp::figure: numbers_[filled_++] = figures_[step.target]; return false;
      case WhereOp::negate: numbers_[filled_ - 1] = -numbers_[filled_ - 1]; return false;
      case WhereOp::add: --filled_, numbers_[filled_ - 1] += numbers_[filled_]; return false;
      case WhereOp::subtract: --filled_, numbers_[filled_ - 1] -= numbers_[filled_]; return false;
      case WhereOp::multiply: --filled_, numbers_[filled_ - 1] *= numbers_[filled_]; return false;
      case WhereOp::divide: --filled_, numbers_[filled_ - 1] /= numbers_[filled_]; return false;
      case WhereOp::less: return compare([](double a, double b) { return a < b; });
      case WhereOp::at_most: return compare([](double a, double b) { return a <= b; });
      case WhereOp::more: return compare([](double a, double b) { return a > b; });
      case WhereOp::at_least: return compare([](double a, double b) { return a >= b; });
      case WhereOp::equal: return compare([](double a, double b) { return a == b; });
      case WhereOp::unequal: return compare([](double a, double b) { return a < b || a > b; });
      case WhereOp::word_is: push(answer_of(words_[step.target] == code_.values[step.value])); return false;
      case WhereOp::word_is_not: push(answer_of(words_[step.target] != code_.values[step.value])); return false;
      case WhereOp::wait: return step.needs > known_ ? (push(WhereAnswer::open), true) : false;
      case WhereOp::no_to: return answers_[answered_ - 1] == WhereAnswer::no;
      case WhereOp::yes_to: return answers_[answered_ - 1] == WhereAnswer::yes;
      case WhereOp::both: --answered_, answers_[answered_ - 1] = std::min(answers_[answered_ - 1], answers_[answered_]); return false;
      case WhereOp::either: --answered_, answers_[answered_ - 1] = std::max(answers_[answered_ - 1], answers_[answered_]); return false;
      case WhereOp::invert: answers_[answered_ - 1] = inverse(answers_[answered_ - 1]); return false;
    }
    return false;
  }

  template <typename Met>
  bool compare(Met met) {
    filled_ -= 2;
    push(answer_of(met(numbers_[filled_], numbers_[filled_ + 1])));
    return false;
  }
  void push(WhereAnswer answer) { answers_[answered_++] = answer; }

  const WhereCode& code_;
  const Figures& figures_;
  FigureNeeds known_;
  std::span<const std::string_view> words_;
  std::array<double, where_stack> numbers_;
  std::array<WhereAnswer, where_stack> answers_;
  std::size_t filled_ = 0, answered_ = 0;
};

}  // namespace

Expected<Where> Where::read(const std::string& text, const std::string& where, std::span<const WordAxis> axes) {
  Where result;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return result;
  auto code = WhereParser(text, where, axes).run();
  if (!code) return tl::unexpected(std::move(code.error()));
  result.code_ = std::make_shared<const WhereCode>(std::move(*code));
  result.text_ = text;
  return result;
}

Where::Answer Where::ask(const Figures& figures, FigureNeeds known, std::span<const std::string_view> words) const {
  return code_ == nullptr ? Answer::yes : WhereRun(*code_, figures, known, words).answer();
}

FigureNeeds Where::needs() const { return code_ == nullptr ? FigureNeeds::plan : code_->needs; }

std::vector<Figure> Where::figures() const {
  std::vector<Figure> result;
  if (code_ == nullptr) return result;
  for (const WhereStep& step : code_->steps)
    if (step.op == WhereOp::figure) result.push_back(static_cast<Figure>(step.target));
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace stepcast
