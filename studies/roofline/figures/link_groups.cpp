#include "studies/roofline/figures/link_groups.h"

#include <algorithm>
#include <string_view>

#include "dataflow/place/moves.h"

namespace stepcast::roofline {
namespace {

constexpr std::string_view copies_axis = "copies";

/// Ranks r and p-1-r, the outermost pair (sim/step/copies.cpp).
Group group_of_copies(const Program& program) {
  Group pair;
  pair.digits = {{program.stage_stride * (program.stages - 1), 2}};
  pair.size = 2;
  pair.label = copies_axis;
  return pair;
}

bool same_as_row(const Program& program, const Move& move, const CollectiveReport& row) {
  if (move.group < 0 || move.label != row.name || move.pass != row.pass || row.kind != to_text(move.kind)) return false;
  const Group& group = program.groups[move.group];
  return group.label == row.axis && group.size == row.group_size;
}

}  // namespace

std::optional<Group> link_group(const Prediction& prediction, const std::string& axis, std::int64_t size) {
  for (const Group& group : prediction.program.groups)
    if (group.label == axis && group.size == size) return group;
  if (axis == copies_axis) return group_of_copies(prediction.program);
  return std::nullopt;
}

int link_level(const Machine& machine, const std::string& name) {
  const auto at = std::find_if(
      machine.levels.begin(), machine.levels.end(), [&](const Level& level) { return level.name == name; });
  return at == machine.levels.end() ? -1 : static_cast<int>(at - machine.levels.begin());
}

// As the ports' law charges them (model/profile/collective_law.cpp, through_own_port).
double share_over_link(
    const Machine& machine, int level, const std::string& kind, const std::optional<Group>& group, std::int64_t ranks) {
  if (level <= 0 || !group || group->size <= 1) return 1;
  const auto inside = static_cast<double>(members_inside(*group, machine.levels[level - 1].gpus, ranks));
  const auto size = static_cast<double>(group->size);
  return kind == to_text(MoveKind::all_to_all) ? (size - inside) / (size - 1) : 1 / inside;
}

RowMove move_of_row(const Program& program, const CollectiveReport& row) {
  const auto found = [&](const Move& move) { return RowMove{&move, &program.groups[move.group]}; };
  for (const ProgramBlock& block : program.blocks)
    for (const auto* moves : {&block.moves, &block.step_moves})
      for (const Move& move : *moves)
        if (same_as_row(program, move, row)) return found(move);
  for (const auto* moves : {&program.shared, &program.tail})
    for (const Move& move : *moves)
      if (same_as_row(program, move, row)) return found(move);
  for (const StageEdge& edge : program.edges)
    if (edge.gather && same_as_row(program, *edge.gather, row)) return found(*edge.gather);
  return {nullptr, nullptr};
}

}  // namespace stepcast::roofline
