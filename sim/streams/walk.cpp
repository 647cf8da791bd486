#include "sim/streams/walk.h"

#include <algorithm>
#include <cassert>

namespace stepcast::sim {

namespace {

const std::vector<Item>& items_of(const ProgramBlock& block, bool forward) {
  return forward ? block.forward : block.backward;
}

/// Backward lists begin with the last copy of a run.
void number_forward(const Chunk& chunk, ListLayout& backward) {
  for (LaidItem& item : backward.items) item.copy = chunk.runs[item.run].count - 1 - item.copy;
}

bool carries_activation(const Move& move) { return move.cargo == Cargo::activation || move.cargo == Cargo::boundary; }

}  // namespace

ChunkWalk::ChunkWalk(
    const Program& program, const std::vector<BlockPrices>& prices, const OverlapLaw& overlap, int tiers)
    : program_(program), prices_(prices), slowdown_(overlap.compute_slowdown), move_stretch_(1 + overlap.move_slowdown),
      streams_(static_cast<std::size_t>(tiers)) {
  std::size_t moves = 0;
  for (const ProgramBlock& block : program.blocks) moves += block.moves.size();
  for (const BlockPrices& block : prices) ahead_ = std::max(ahead_, block.ahead);
  exposed_.resize(moves);
}

ChunkWalk walk_for(const Program& program, const std::vector<BlockPrices>& prices, const CostModel& cost) {
  return {program, prices, cost.overlap(), static_cast<int>(cost.machine().levels.size())};
}

ChunkTimes ChunkWalk::times(const Chunk& chunk) {
  ChunkTimes times;
  std::fill(exposed_.begin(), exposed_.end(), 0.0);
  times.run_forward.resize(chunk.runs.size());
  times.run_backward.resize(chunk.runs.size());
  lay<false>(chunk, List::forward, times);
  lay<false>(chunk, List::backward, times);
  times.exposed.reserve(exposed_.size());
  for (const double seconds : exposed_) times.exposed.push_back(Seconds(seconds));
  return times;
}

ChunkLayout ChunkWalk::layout(const Chunk& chunk) {
  ChunkLayout layout;
  ChunkTimes times;
  times.run_forward.resize(chunk.runs.size());
  times.run_backward.resize(chunk.runs.size());
  for (const List list : {List::forward, List::backward}) {
    WalkNotes notes{list == List::forward ? &layout.forward : &layout.backward};
    noted_ = &notes;
    lay<true>(chunk, list, times);
    notes.list->seconds = compute_free_;
    if (list == List::backward) number_forward(chunk, layout.backward);
  }
  noted_ = nullptr;
  return layout;
}

template <bool noted> void ChunkWalk::lay(const Chunk& chunk, List list, ChunkTimes& times) {
  reset();
  list_instances(chunk, list);
  std::vector<Seconds>& run_times = list == List::forward ? times.run_forward : times.run_backward;
  double before = 0;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    lay_instance<noted>(i, list);
    run_times[instances_[i].run] += Seconds(compute_free_ - before);
    before = compute_free_;
  }
  finish<noted>(list, times);
}

void ChunkWalk::reset() {
  std::fill(streams_.begin(), streams_.end(), Stream{});
  pass_time_ = {};
  compute_free_ = block_start_ = mark_ = steady_ = last_start_ = waited_ = 0;
  last_slot_ = -1;
  input_ = output_ = End{};
}

// A run of n copies: enough at its front to reach the steady repeat (a gather `ahead` blocks early needs that many to
// settle), and the last one, which may work beside the next run. The copy before the gap stands for those left out.
void ChunkWalk::list_instances(const Chunk& chunk, List list) {
  instances_.clear();
  int items = 0;
  for (std::size_t i = 0; i < chunk.runs.size(); ++i) {
    const int run = static_cast<int>(list == List::forward ? i : chunk.runs.size() - 1 - i);
    const int block = chunk.runs[run].block;
    const std::int64_t laid = std::min<std::int64_t>(chunk.runs[run].count, 3 + prices_[block].ahead);
    const double skipped = static_cast<double>(chunk.runs[run].count - laid);
    for (std::int64_t copy = 0; copy < laid; ++copy) {
      Instance instance{block, run, items, 0, 1};
      if (copy == laid - 1) instance.skipped = skipped;
      if (copy == laid - 2) instance.weight = 1 + skipped;
      instances_.push_back(instance);
      items += static_cast<int>(items_of(program_.blocks[block], list == List::forward).size());
    }
  }
  item_end_.assign(static_cast<std::size_t>(items), End{-1, -1});
}

template <bool noted> void ChunkWalk::lay_instance(std::size_t index, List list) {
  const Instance& instance = instances_[index];
  const BlockPrices& prices = prices_[instance.block];
  if constexpr (noted) note_instance(index);
  skip_copies(index);
  weight_ = instance.weight;
  stretch_ = list == List::forward ? prices.forward_stretch : prices.backward_stretch;
  waits_ = list == List::forward ? &prices.forward_waits : &prices.backward_waits;
  block_start_ = compute_free_;
  input_ = output_;
  output_ = End{block_start_, -1};
  start_early<noted>(index, list);
  const std::vector<Item>& items = items_of(program_.blocks[instance.block], list == List::forward);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const int slot = instance.first_item + static_cast<int>(i);
    if (item_end_[slot].time < 0) place<noted>(instance, items[i], slot, -1);
  }
  mark_copy();
}

void ChunkWalk::mark_copy() {
  steady_ = compute_free_ - mark_;
  mark_ = compute_free_;
  for (Stream& stream : streams_) {
    stream.steady = stream.free - stream.mark;
    stream.mark = stream.free;
  }
}

// Copies left out take the steady repeat each: everything moves on by as much.
void ChunkWalk::skip_copies(std::size_t index) {
  const double copies = instances_[index].skipped;
  if (copies <= 0) return;
  const double shift = copies * steady_;
  compute_free_ += shift;
  mark_ += shift;
  last_start_ += shift;
  output_.time += shift;
  for (Stream& stream : streams_) {
    const double moved = copies * stream.steady;
    stream.busy_from += moved;
    stream.free += moved;
    stream.mark += moved;
  }
  for (std::size_t i = instances_[index].first_item; i < item_end_.size(); ++i) {
    if (item_end_[i].time >= 0) item_end_[i].time += shift;
  }
}

// Gathers of the blocks ahead, as soon as this block starts; at the start of the chunk also those of its first blocks.
template <bool noted> void ChunkWalk::start_early(std::size_t index, List list) {
  const std::size_t reach = std::min(instances_.size(), index + 1 + static_cast<std::size_t>(ahead_));
  for (std::size_t later = index; later < reach; ++later) {
    const Instance& instance = instances_[later];
    const BlockPrices& prices = prices_[instance.block];
    const auto& early = list == List::forward ? prices.forward_early : prices.backward_early;
    const ProgramBlock& block = program_.blocks[instance.block];
    for (const int position : early) {
      const Item& item = items_of(block, list == List::forward)[position];
      const int slot = instance.first_item + position;
      const bool now = later <= index + static_cast<std::size_t>(block.moves[item.index].ahead);
      if (now && item_end_[slot].time < 0) place<noted>(instance, item, slot, block_start_);
    }
  }
}

// `earliest` >= 0: the item starts before its block and waits for nothing else.
template <bool noted> void ChunkWalk::place(const Instance& instance, const Item& item, int slot, double earliest) {
  const ProgramBlock& block = program_.blocks[instance.block];
  const BlockPrices& prices = prices_[instance.block];
  End& end = item_end_[slot];
  [[maybe_unused]] const double before = compute_free_;
  if (!item.is_move) {
    const KernelWork& work = block.works[item.index];
    const End ready = ready_for(instance, item, slot);
    place_work(work.pass, prices.works[item.index].time.value() * stretch_, ready, end, slot);
    if (work.pass != Pass::weight_grad && end.time >= output_.time) output_ = {end.time, -1};
    if constexpr (noted) note(instance, item, {last_start_, end.time, before, ready.move});
    return;
  }
  const Move& move = block.moves[item.index];
  const Price& price = prices.moves[item.index];
  const double ready = earliest >= 0 ? earliest : ready_for(instance, item, slot).time;
  [[maybe_unused]] const double start = std::max(ready, move.blocking ? compute_free_ : streams_[price.tier].free);
  end.move = prices.first_move + item.index;
  if (move.blocking) place_blocking(move, price, ready, end);
  else place_beside(price, ready, end);
  if constexpr (noted) note(instance, item, {start, end.time, before, end.move});
  if (carries_activation(move) && move.pass != Pass::weight_grad && end.time >= output_.time) output_ = end;
}

ChunkWalk::End ChunkWalk::ready_for(const Instance& instance, const Item& item, int slot) const {
  End ready{item.after.empty() ? block_start_ : 0, -1};
  if ((*waits_)[slot - instance.first_item] != 0 && input_.time > ready.time) ready = input_;
  for (const int earlier : item.after) {
    const End& end = item_end_[instance.first_item + earlier];
    assert(end.time >= 0 && "an item waits for a later one");
    if (end.time > ready.time || (end.time == ready.time && ready.move < 0)) ready = end;
  }
  return ready;
}

void ChunkWalk::place_work(Pass pass, double duration, End ready, End& end, int slot) {
  const double start = std::max(ready.time, compute_free_);
  wait(ready.move, start - compute_free_);
  last_start_ = start;
  last_pass_ = pass;
  last_slot_ = slot;
  end = {end_beside_moves(start, duration), -1};
  advance(pass, end.time);
}

// Communicators share a fabric; what runs in the background gives way to a move that compute stands still for, and ends
// later by as much.
void ChunkWalk::place_blocking(const Move& move, const Price& price, double ready, End& end) {
  Stream& stream = streams_[price.tier];
  const double start = std::max(ready, compute_free_);
  end.time = start + price.time.value();
  if (start < stream.free) {
    stream.free += price.time.value();
  } else {
    stream.busy_from = start;
    stream.free = end.time;
  }
  wait(end.move, end.time - compute_free_);
  advance(move.pass, end.time);
  last_start_ = end.time;
}

// A move beside the kernels. The part of the last kernel that it meets was laid out at full speed: stretch it now.
void ChunkWalk::place_beside(const Price& price, double ready, End& end) {
  Stream& stream = streams_[price.tier];
  const double start = std::max(ready, stream.free);
  end.time = start + price.time.value() * move_stretch_;
  if (start > stream.free) stream.busy_from = start;
  stream.free = end.time;
  const double met = compute_free_ - std::max(start, last_start_);
  if (met <= 0 || last_slot_ < 0) return;
  const double longer = std::min(met * slowdown_, (end.time - start) * slowdown_ / (1 + slowdown_));
  advance(last_pass_, compute_free_ + longer);
  item_end_[last_slot_].time = compute_free_;
}

// The kernel runs at 1/(1 + slowdown) while a stream carries something; streams that are busy at once slow it once.
double ChunkWalk::end_beside_moves(double start, double duration) const {
  double end = start + duration;
  for (const Stream& stream : streams_) {
    const double from = std::max(start, stream.busy_from), window = stream.free - from;
    const double left = duration - (from - start);
    if (window <= 0 || left <= 0) continue;
    end = std::max(end, start + duration + std::min(left * slowdown_, window * slowdown_ / (1 + slowdown_)));
  }
  return end;
}

void ChunkWalk::wait(int move, double seconds) {
  if (seconds <= 0) return;
  waited_ += seconds * weight_;
  if (move >= 0) exposed_[move] += seconds * weight_;
}

void ChunkWalk::advance(Pass pass, double until) {
  pass_time_[static_cast<int>(pass)] += (until - compute_free_) * weight_;
  compute_free_ = until;
}

// The chunk is done when its last item is: what is handed on, and moves that nobody in the chunk waits for.
template <bool noted> void ChunkWalk::finish(List list, ChunkTimes& times) {
  End last = output_;
  for (const End& end : item_end_) {
    if (end.time > last.time) last = end;
  }
  const double waited = std::max(0.0, last.time - compute_free_);
  weight_ = 1;
  if constexpr (noted) note_end(list, last.move, waited);
  wait(last.move, waited);
  advance(list == List::forward ? Pass::forward : Pass::input_grad, compute_free_ + waited);
  const auto by_pass = [&](Pass pass) { return Seconds(pass_time_[static_cast<int>(pass)]); };
  if (list == List::forward) {
    times.forward = Seconds(compute_free_);
    times.exposed_forward = Seconds(waited_);
    times.forward_compute = times.forward - times.exposed_forward;
    if (!times.run_forward.empty()) times.run_forward.back() += Seconds(waited);
    return;
  }
  times.recompute = by_pass(Pass::recompute);
  times.weight_grad = by_pass(Pass::weight_grad);
  times.input_grad = Seconds(compute_free_) - times.weight_grad;
  times.exposed_backward = Seconds(waited_);
  times.backward_compute = times.backward() - times.exposed_backward;
  if (!times.run_backward.empty()) times.run_backward.front() += Seconds(waited);
}

}  // namespace stepcast::sim
