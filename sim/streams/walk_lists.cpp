#include "sim/streams/walk_lists.h"

#include <algorithm>

namespace stepcast::sim {

namespace {

bool carries_activation(const Move& move) { return move.cargo == Cargo::activation || move.cargo == Cargo::boundary; }

/// Recomputation reads what forward saved, and so do moves made again; weights and gradients move on their own.
bool needs_input(const ProgramBlock& block, const Item& item) {
  if (!item.is_move) return block.works[item.index].pass != Pass::recompute;
  const Move& move = block.moves[item.index];
  return carries_activation(move) && !move.again && move.pass != Pass::recompute;
}

bool starts_early(const Item& item, const Move& move) {
  return item.after.empty() && move.cargo == Cargo::weight && move.ahead > 0 && !move.blocking;
}

class ListMaker {
 public:
  ListMaker(const ProgramBlock& block, const BlockPrices& prices, double stretch)
      : block_(block), prices_(prices), stretch_(stretch) {}

  WalkList make(const std::vector<Item>& items) {
    list_.items.reserve(items.size());
    follows_.reserve(items.size());
    for (const Item& item : items) add(item);
    return std::move(list_);
  }

 private:
  void add(const Item& item) {
    WalkItem made = item.is_move ? of_move(block_.moves[item.index], item.index) : of_work(item.index);
    const auto position = static_cast<int>(list_.items.size());
    made.after = static_cast<int>(list_.after.size());
    for (const int earlier : item.after)
      if (made.kind == WalkItem::Kind::beside || list_.items[earlier].kind == WalkItem::Kind::beside)
        list_.after.push_back(earlier);
    made.after_end = static_cast<int>(list_.after.size());
    const bool behind = std::ranges::any_of(item.after, [&](int earlier) { return follows_[earlier] != 0; });
    made.waits = !behind && needs_input(block_, item);
    follows_.push_back(behind || made.waits ? 1 : 0);
    if (made.kind == WalkItem::Kind::beside) list_.beside.push_back(position);
    if (item.is_move && starts_early(item, block_.moves[item.index])) list_.early.push_back(position);
    list_.items.push_back(made);
  }

  [[nodiscard]] WalkItem of_work(int index) const {
    WalkItem made;
    made.pass = block_.works[index].pass;
    made.seconds = prices_.works[index].time.value() * stretch_;
    made.hands_on = made.pass != Pass::weight_grad;
    return made;
  }

  [[nodiscard]] WalkItem of_move(const Move& move, int index) const {
    WalkItem made;
    made.kind = move.blocking ? WalkItem::Kind::blocking : WalkItem::Kind::beside;
    made.pass = move.pass;
    made.seconds = prices_.moves[index].time.value();
    made.move = prices_.first_move + index;
    made.ahead = move.ahead;
    made.tier = static_cast<std::uint8_t>(prices_.moves[index].tier);
    made.hands_on = carries_activation(move) && move.pass != Pass::weight_grad;
    return made;
  }

  const ProgramBlock& block_;
  const BlockPrices& prices_;
  double stretch_;
  WalkList list_;
  std::vector<char> follows_;  ///< by item: it waits for what the block before hands on, or for one that does
};

}  // namespace

WalkLists walk_lists(const Program& program, const std::vector<BlockPrices>& prices) {
  WalkLists lists;
  lists.blocks.reserve(program.blocks.size());
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    const ProgramBlock& block = program.blocks[b];
    lists.blocks.push_back({ListMaker(block, prices[b], prices[b].forward_stretch).make(block.forward),
        ListMaker(block, prices[b], prices[b].backward_stretch).make(block.backward), prices[b].ahead});
    lists.moves += static_cast<int>(block.moves.size());
  }
  return lists;
}

}  // namespace stepcast::sim
