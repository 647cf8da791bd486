// From the text of a constraint to its program, by recursive descent; where.h has the grammar.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/base/error.h"
#include "studies/sweep/where/where.h"
#include "studies/sweep/where/where_code.h"
#include "studies/sweep/where/where_text.h"
#include "studies/sweep/where/where_unit.h"

namespace stepcast {

class WhereParser {
 public:
  WhereParser(std::string_view text, const std::string& where, std::span<const WordAxis> axes) : text_(text, where), axes_(axes) {}
  Expected<WhereCode> run();

 private:
  /// What a part of the text stands for, and which of it: [begin, end) of the text, steps from `first` on.
  struct Part {
    enum class Kind { truth, quantity, word } kind = Kind::quantity;
    std::size_t begin = 0, end = 0, first = 0;
    WhereUnit unit;
    FigureNeeds needs = FigureNeeds::plan;
    std::optional<double> constant;
    std::uint32_t axis = 0;
  };

  // One function per rule of the grammar.
  Part disjunction();
  Part conjunction();
  Part negation();
  Part comparison();
  Part sum();
  Part term();
  Part factor();
  Part parenthesis();
  Part number();
  Part name();

  Part joined(Part left, Part (WhereParser::*side)(), WhereOp skip, WhereOp join);
  Part compared(WhereOp op, Part left, const Part& right);
  Part word_compared(WhereOp op, Part axis);
  Part computed(WhereOp op, Part left, const Part& right);
  Part folded(Part part, double value);

  void need_truth(const Part& part);
  void need_quantity(const Part& part);
  void need_one_unit(const Part& left, const Part& right, const char* rule);
  void need_share(const Part& figure, const Part& limit);
  void unknown_name(std::string_view name);

  std::optional<WhereOp> accept_comparison();
  [[nodiscard]] Part opened() const;
  [[nodiscard]] Part closed(Part part) const;
  [[nodiscard]] std::string shown(const Part& part) const { return text_.shown(part.begin, part.end); }
  void emit(WhereStep step) { code_.steps.push_back(step); }

  WhereText text_;
  std::span<const WordAxis> axes_;
  int depth_ = 0;
  WhereCode code_;
};

}  // namespace stepcast
