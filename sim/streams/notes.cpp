// The walk written down: what ChunkWalk places, as items of a layout. Copies that the walk leaves out repeat the one
// before them, as their times do.
#include "sim/streams/walk.h"

namespace stepcast::sim {

// Called when the instance before has been laid, and compute stands at its end.
void ChunkWalk::note_instance(std::size_t index) {
  const Instance& instance = instances_[index];
  if (instance.skipped > 0) repeat_notes(instance.skipped);
  if (instance.run != noted_->run) noted_->left_out = 0;
  if (instance.skipped > 0) noted_->left_out = static_cast<std::int64_t>(instance.skipped);
  noted_->run = instance.run;
  noted_->instance_from = noted_->list->items.size();
}

/// Compute and each tier repeat what they took for the copy, so that a tier that falls behind goes on doing so
/// (skip_copies). No move starts before its copy does, so none has stretched a kernel of the copy before.
void ChunkWalk::repeat_notes(double copies) {
  std::vector<LaidItem>& items = noted_->list->items;
  const std::size_t from = noted_->instance_from, until = items.size();
  for (std::int64_t copy = 1; copy <= static_cast<std::int64_t>(copies); ++copy) {
    for (std::size_t i = from; i < until; ++i) {
      LaidItem again = items[i];
      const bool beside = again.kind == LaidKind::move && !again.blocking;
      const double shift = static_cast<double>(copy) * (beside ? streams_[again.tier].steady : steady_);
      again.start += shift;
      again.end += shift;
      if (again.run == noted_->run) again.copy += copy;
      if (again.kind == LaidKind::kernel) noted_->last_kernel = static_cast<int>(items.size());
      items.push_back(again);
    }
  }
}

/// Copies that were left out before it do not count.
std::int64_t ChunkWalk::copy_of(const Instance& instance) const {
  const Instance* first = &instance;
  while (first != instances_.data() && (first - 1)->run == instance.run) --first;
  return &instance - first;
}

void ChunkWalk::note(const Instance& instance, int position, const Placed& placed) {
  std::vector<LaidItem>& items = noted_->list->items;
  const ProgramBlock& block = noted_->program.blocks[instance.block];
  const Item& item = (forward_ ? block.forward : block.backward)[position];
  LaidItem laid;
  laid.block = instance.block;
  laid.item = item.index;
  laid.run = instance.run;
  laid.copy = copy_of(instance) + (instance.run == noted_->run ? noted_->left_out : 0);
  laid.start = placed.start;
  laid.end = placed.end;
  if (!item.is_move) {
    laid.pass = block.works[item.index].pass;
    note_wait(laid, placed.waited_for, placed.before, placed.start);
    noted_->last_kernel = static_cast<int>(items.size());
    items.push_back(laid);
    return;
  }
  const Move& move = block.moves[item.index];
  laid.kind = LaidKind::move;
  laid.pass = move.pass;
  laid.blocking = move.blocking;
  laid.tier = noted_->prices[instance.block].moves[item.index].tier;
  items.push_back(laid);
  if (move.blocking) note_wait(laid, placed.waited_for, placed.before, placed.end);
  else if (compute_free_ > placed.before)  // the move has stretched the last kernel
    items[static_cast<std::size_t>(noted_->last_kernel)].end = compute_free_;
}

void ChunkWalk::note_wait(LaidItem wait, int move, double start, double end) {
  if (end <= start) return;
  wait.kind = LaidKind::wait;
  wait.blocking = false;
  wait.item = -1;
  const std::vector<BlockPrices>& prices = noted_->prices;
  for (std::size_t i = 0; i < prices.size() && move >= 0; ++i) {
    const int at = move - prices[i].first_move;
    if (at < 0 || at >= static_cast<int>(prices[i].moves.size())) continue;
    wait.block = static_cast<int>(i);
    wait.item = at;
  }
  wait.start = start;
  wait.end = end;
  noted_->list->items.push_back(wait);
}

void ChunkWalk::note_end(int move, double waited) {
  LaidItem last;
  last.pass = forward_ ? Pass::forward : Pass::input_grad;
  if (!noted_->list->items.empty()) {
    last.run = noted_->list->items.back().run;
    last.copy = noted_->list->items.back().copy;
  }
  note_wait(last, move, compute_free_, compute_free_ + waited);
}

}  // namespace stepcast::sim
