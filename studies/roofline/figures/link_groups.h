// Says how the group behind a row of the step report lies on the links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

/// The group of this label and size; that of two copies of a model is made as the forecast makes it. Empty: sends
/// between stages.
std::optional<Group> link_group(const Prediction& prediction, const std::string& axis, std::int64_t size);

/// Index of the machine's level of this name; -1 = none has it.
int link_level(const Machine& machine, const std::string& name);

/// The share of what one rank receives that its own port of `level` carries: all inside the innermost level and between
/// stages; of a ring over several instances, whose members inside one share its entry, 1 / members; of an exchange, the
/// rows from outside.
double share_over_link(
    const Machine& machine, int level, const std::string& kind, const std::optional<Group>& group, std::int64_t ranks);

/// A move of the program that a row may stand for.
struct RowMove {
  const Move* move;
  const Group* group;
};
/// Finds the move by label, kind, pass, axis and group size; move nullptr where none is like it.
RowMove move_of_row(const Program& program, const CollectiveReport& row);

}  // namespace stepcast::roofline
