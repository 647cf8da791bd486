#include "studies/roofline/figures/boundary_moves.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/place/moves.h"
#include "sim/streams.h"
#include "studies/roofline/figures/boundary_nest.h"
#include "studies/roofline/figures/link_groups.h"

namespace stepcast::roofline {
namespace {

enum class Operand : std::uint8_t { left, right, result };

struct OperandMove {
  const Move* move;
  Operand of;
};

bool is_gradient(const Move& move) { return move.label.starts_with('d'); }

/// Which operand a move brings, by what it carries: a weight stands on the right, and so does the output gradient of a
/// weight gradient, whose left operand is the input.
Operand brought_operand(const KernelWork& work, const Move& move) {
  if (move.cargo == Cargo::weight) return Operand::right;
  return work.pass == Pass::weight_grad && is_gradient(move) ? Operand::right : Operand::left;
}

/// Follows local moves, which cost nothing, to those that cross a link.
class MoveFinder {
 public:
  MoveFinder(const ProgramBlock& block, const std::vector<Item>& items) : block_(block), items_(items) {}

  void add_around(int item, const KernelWork& work, std::vector<OperandMove>& moves) const {
    for (const int before : items_[item].after) add_before(before, work, moves);
    add_after(item, moves);
  }

 private:
  [[nodiscard]] const Move* move_at(int item) const {
    return items_[item].is_move ? &block_.moves[items_[item].index] : nullptr;
  }

  void add_before(int item, const KernelWork& work, std::vector<OperandMove>& moves) const {
    const Move* move = move_at(item);
    if (!move) return;
    if (move->group >= 0) return moves.push_back({move, brought_operand(work, *move)});
    for (const int before : items_[item].after) add_before(before, work, moves);
  }

  /// A move that waits for the operator among others carries a sum or a joint result, and counts for each of them.
  void add_after(int item, std::vector<OperandMove>& moves) const {
    for (int later = item + 1; later < static_cast<int>(items_.size()); ++later) {
      const auto& after = items_[later].after;
      const Move* move = move_at(later);
      if (!move || std::find(after.begin(), after.end(), item) == after.end()) continue;
      if (move->group >= 0) moves.push_back({move, Operand::result});
      else add_after(later, moves);
    }
  }

  const ProgramBlock& block_;
  const std::vector<Item>& items_;
};

std::vector<OperandMove> moves_around(const ProgramBlock& block, int work) {
  std::vector<OperandMove> moves;
  for (const std::vector<Item>* items : {&block.forward, &block.backward}) {
    const MoveFinder finder(block, *items);
    for (int i = 0; i < static_cast<int>(items->size()); ++i)
      if (!(*items)[i].is_move && (*items)[i].index == work) finder.add_around(i, block.works[work], moves);
  }
  return moves;
}

std::string move_words(const Program& program, const KernelWork& work, const OperandMove& one) {
  const Group& group = program.groups[one.move->group];
  const bool taken = one.of == Operand::result, product = work.kernel == KernelClass::gemm;
  const char* role = product ? product_roles(work)[static_cast<int>(one.of)] : taken ? "result" : "operands";
  std::string text = fmt::format(
      "{} over {} ({} GPUs) {} the {}", one.move->label, group.label, group.size, taken ? "takes" : "brings", role);
  if (!one.move->because.empty()) text += fmt::format(": {}", one.move->because);
  return text;
}

/// Operands that no move of this level touches.
std::string staying(const KernelWork& work, const std::array<bool, 3>& moved) {
  if (work.kernel != KernelClass::gemm) return "none";
  const auto roles = product_roles(work);
  std::vector<const char*> names;
  for (std::size_t i = 0; i < roles.size(); ++i)
    if (!moved[i]) names.push_back(roles[i]);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " and "));
}

struct LevelMoves {
  Bytes bytes;
  Seconds time;
  std::array<bool, 3> moved{};
  std::vector<std::string> words;
};

}  // namespace

std::vector<BoundaryRow> move_rows(const Program& program, const ProgramBlock& block, int work, const CostModel& cost) {
  const KernelWork& of = block.works[work];
  std::map<int, LevelMoves> levels;
  for (const OperandMove& one : moves_around(block, work)) {
    const Price price = price_move(program, *one.move, cost);
    if (price.time.value() <= 0) continue;
    LevelMoves& level = levels[price.tier];
    const Group& group = program.groups[one.move->group];
    level.bytes +=
        one.move->received * share_over_link(cost.machine(), price.tier, to_text(one.move->kind), group, program.ranks);
    level.time += price.time;
    level.moved[static_cast<int>(one.of)] = true;
    level.words.push_back(move_words(program, of, one));
  }
  std::vector<BoundaryRow> rows;
  for (const auto& [tier, level] : levels) {
    BoundaryRow row;
    row.outer = cost.machine().levels[tier].name;
    row.inner = "GPU";
    row.bytes = level.bytes;
    row.rate = cost.machine().levels[tier].bandwidth_per_gpu;
    row.time = level.time;
    row.stationary = staying(of, level.moved);
    row.text = fmt::format("{}", fmt::join(level.words, "; "));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace stepcast::roofline
