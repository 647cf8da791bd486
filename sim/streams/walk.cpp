#include "sim/streams/walk.h"

#include <algorithm>
#include <cassert>

namespace stepcast::sim {

namespace {

/// Backward lists begin with the last copy of a run.
void number_forward(const Chunk& chunk, ListLayout& backward) {
  for (LaidItem& item : backward.items) item.copy = chunk.runs[item.run].count - 1 - item.copy;
}

}  // namespace

ChunkWalk::ChunkWalk(const WalkLists& lists, const OverlapLaw& overlap, int tiers)
    : lists_(lists), slowdown_(overlap.compute_slowdown), move_stretch_(1 + overlap.move_slowdown),
      exposed_(static_cast<std::size_t>(lists.moves)), streams_(static_cast<std::size_t>(tiers)) {
  for (const WalkBlock& block : lists.blocks) ahead_ = std::max(ahead_, block.ahead);
}

ChunkWalk walk_for(const WalkLists& lists, const CostModel& cost) {
  return {lists, cost.overlap(), static_cast<int>(cost.machine().levels.size())};
}

ChunkTimes ChunkWalk::times(const Chunk& chunk) {
  ChunkTimes times;
  std::fill(exposed_.begin(), exposed_.end(), 0.0);
  times.run_forward.resize(chunk.runs.size());
  times.run_backward.resize(chunk.runs.size());
  lay<false>(chunk, true, times);
  lay<false>(chunk, false, times);
  times.exposed.reserve(exposed_.size());
  for (const double seconds : exposed_) times.exposed.push_back(Seconds(seconds));
  return times;
}

double ChunkWalk::span(const Chunk& chunk, bool forward) {
  forward_ = forward;
  reset();
  list_instances(chunk);
  for (std::size_t i = 0; i < instances_.size(); ++i) lay_instance<false>(i);
  return end();
}

ChunkWalk::RunSpans ChunkWalk::run_spans(const Chunk& chunk, bool forward) {
  forward_ = forward;
  reset();
  list_instances(chunk);
  std::size_t last = 0;  // copy of the first run
  while (last + 1 < instances_.size() && instances_[last + 1].run == instances_.front().run) ++last;
  assert(instances_[last].skipped > 0);
  // Of backward a sum is asked for, in which the copy before the gap has its weight.
  const std::size_t parts = forward ? last : last - 1;
  RunSpans spans;
  for (std::size_t i = 0; i < parts; ++i) lay_instance<false>(i);
  keep();
  for (std::size_t i = parts; i <= last; ++i) lay_instance<false>(i);
  spans.few = end();
  for (std::size_t i = last + 1; i < instances_.size(); ++i) lay_instance<false>(i);
  spans.whole = end();
  go_back();
  instances_.resize(last + 1);
  instances_[last].skipped += 1;
  instances_[last - 1].weight += 1;
  for (std::size_t i = parts; i <= last; ++i) lay_instance<false>(i);
  spans.more = end();
  return spans;
}

/// As finish() and ChunkTimes::backward() add it up, in the same order: equal layers must cost the same to the last
/// bit.
double ChunkWalk::end() const {
  const double all = compute_free_ + std::max(0.0, last_end().time - compute_free_);
  const double weight_grad = pass_time_[static_cast<int>(Pass::weight_grad)];
  return forward_ ? all : all - weight_grad + weight_grad;
}

void ChunkWalk::keep() {
  kept_.item_end.assign(item_end_.begin(), item_end_.end());
  kept_.streams.assign(streams_.begin(), streams_.end());
  kept_.streams_free = streams_free_, kept_.compute_free = compute_free_, kept_.mark = mark_, kept_.steady = steady_;
  kept_.last_start = last_start_, kept_.last_pass = last_pass_, kept_.last_slot = last_slot_;
  kept_.output = output_, kept_.pass_time = pass_time_;
}

void ChunkWalk::go_back() {
  item_end_.swap(kept_.item_end);
  streams_.swap(kept_.streams);
  streams_free_ = kept_.streams_free, compute_free_ = kept_.compute_free, mark_ = kept_.mark, steady_ = kept_.steady;
  last_start_ = kept_.last_start, last_pass_ = kept_.last_pass, last_slot_ = kept_.last_slot;
  output_ = kept_.output, pass_time_ = kept_.pass_time;
}

ChunkLayout ChunkWalk::layout(const Chunk& chunk, const Program& program, const std::vector<BlockPrices>& prices) {
  ChunkLayout layout;
  ChunkTimes times;
  times.run_forward.resize(chunk.runs.size());
  times.run_backward.resize(chunk.runs.size());
  for (const bool forward : {true, false}) {
    WalkNotes notes{program, prices, forward ? &layout.forward : &layout.backward};
    noted_ = &notes;
    lay<true>(chunk, forward, times);
    notes.list->seconds = compute_free_;
    if (!forward) number_forward(chunk, layout.backward);
  }
  noted_ = nullptr;
  return layout;
}

template <bool noted> void ChunkWalk::lay(const Chunk& chunk, bool forward, ChunkTimes& times) {
  forward_ = forward;
  reset();
  list_instances(chunk);
  std::vector<Seconds>& run_times = forward ? times.run_forward : times.run_backward;
  double before = 0;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    lay_instance<noted>(i);
    run_times[instances_[i].run] += Seconds(compute_free_ - before);
    before = compute_free_;
  }
  finish<noted>(times);
}

void ChunkWalk::reset() {
  std::fill(streams_.begin(), streams_.end(), Stream{});
  pass_time_ = {};
  compute_free_ = block_start_ = mark_ = steady_ = last_start_ = waited_ = streams_free_ = 0;
  last_slot_ = -1;
  input_ = output_ = End{};
}

// A run of n copies: enough at its front to reach the steady repeat (a gather `ahead` blocks early needs that many to
// settle), and the last one, which may work beside the next run. The copy before the gap stands for those left out.
void ChunkWalk::list_instances(const Chunk& chunk) {
  instances_.clear();
  int items = 0;
  for (std::size_t i = 0; i < chunk.runs.size(); ++i) {
    const int run = static_cast<int>(forward_ ? i : chunk.runs.size() - 1 - i);
    const int block = chunk.runs[run].block;
    const std::int64_t laid = std::min<std::int64_t>(chunk.runs[run].count, 3 + lists_.blocks[block].ahead);
    const double skipped = static_cast<double>(chunk.runs[run].count - laid);
    for (std::int64_t copy = 0; copy < laid; ++copy) {
      Instance instance{block, run, items, 0, 1};
      if (copy == laid - 1) instance.skipped = skipped;
      if (copy == laid - 2) instance.weight = 1 + skipped;
      instances_.push_back(instance);
      items += static_cast<int>(list_of(instance).items.size());
    }
  }
  item_end_.assign(static_cast<std::size_t>(items), -1);
}

template <bool noted> void ChunkWalk::lay_instance(std::size_t index) {
  const Instance& instance = instances_[index];
  if constexpr (noted) note_instance(index);
  skip_copies(index);
  weight_ = instance.weight;
  block_start_ = compute_free_;
  input_ = output_;
  output_ = End{block_start_, -1};
  start_early<noted>(index);
  const WalkList& list = list_of(instance);
  for (int i = 0; i < static_cast<int>(list.items.size()); ++i) {
    const int slot = instance.first_item + i;
    if (item_end_[slot] >= 0) continue;
    if (!noted && runs_freely(list.items[i])) run_freely(list.items[i], slot);
    else place<noted>(instance, list, i, -1);
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
    streams_free_ = std::max(streams_free_, stream.free);
  }
  for (std::size_t i = instances_[index].first_item; i < item_end_.size(); ++i) {
    if (item_end_[i] >= 0) item_end_[i] += shift;
  }
}

// Gathers of the blocks ahead, as soon as this block starts; at the start of the chunk also those of its first blocks.
template <bool noted> void ChunkWalk::start_early(std::size_t index) {
  const std::size_t reach = std::min(instances_.size(), index + 1 + static_cast<std::size_t>(ahead_));
  for (std::size_t later = index; later < reach; ++later) {
    const Instance& instance = instances_[later];
    const WalkList& list = list_of(instance);
    for (const int position : list.early) {
      const bool now = later <= index + static_cast<std::size_t>(list.items[position].ahead);
      if (now && item_end_[instance.first_item + position] < 0) place<noted>(instance, list, position, block_start_);
    }
  }
}

// `earliest` >= 0: the item starts before its block and waits for nothing else.
template <bool noted>
void ChunkWalk::place(const Instance& instance, const WalkList& list, int position, double earliest) {
  const WalkItem& item = list.items[position];
  const int slot = instance.first_item + position;
  double& end = item_end_[slot];
  const End ready = earliest >= 0 ? End{earliest, -1} : ready_for(instance, list, item);
  [[maybe_unused]] const double before = compute_free_;
  if (item.kind == WalkItem::Kind::kernel) {
    place_work(item, ready, end, slot);
    if constexpr (noted) note(instance, position, {last_start_, end, before, ready.move});
  } else {
    const bool blocking = item.kind == WalkItem::Kind::blocking;
    [[maybe_unused]] const double start = std::max(ready.time, blocking ? compute_free_ : streams_[item.tier].free);
    if (blocking) place_blocking(item, ready.time, end);
    else place_beside(item, ready.time, end);
    if constexpr (noted) note(instance, position, {start, end, before, item.move});
  }
  if (item.hands_on && end >= output_.time) output_ = {end, item.move};
}

// Most items are kernels that nothing can hold up, while no fabric carries anything: place() comes to this.
void ChunkWalk::run_freely(const WalkItem& item, int slot) {
  last_start_ = compute_free_;
  last_pass_ = item.pass;
  last_slot_ = slot;
  const double end = compute_free_ + item.seconds;
  item_end_[slot] = end;
  advance(item.pass, end);
  if (item.hands_on && end >= output_.time) output_ = {end, -1};
}

ChunkWalk::End ChunkWalk::ready_for(const Instance& instance, const WalkList& list, const WalkItem& item) const {
  End ready{item.after == item.after_end ? block_start_ : 0, -1};
  if (item.waits && input_.time > ready.time) ready = input_;
  for (int i = item.after; i < item.after_end; ++i) {
    const int earlier = list.after[i];
    const double end = item_end_[instance.first_item + earlier];
    assert(end >= 0 && "an item waits for a later one");
    if (end > ready.time || (end == ready.time && ready.move < 0)) ready = {end, list.items[earlier].move};
  }
  return ready;
}

void ChunkWalk::place_work(const WalkItem& item, End ready, double& end, int slot) {
  const double start = std::max(ready.time, compute_free_);
  wait(ready.move, start - compute_free_);
  last_start_ = start;
  last_pass_ = item.pass;
  last_slot_ = slot;
  end = end_beside_moves(start, item.seconds);
  advance(item.pass, end);
}

// Communicators share a fabric; what runs in the background gives way to a move that compute stands still for, and ends
// later by as much.
void ChunkWalk::place_blocking(const WalkItem& item, double ready, double& end) {
  Stream& stream = streams_[item.tier];
  const double start = std::max(ready, compute_free_);
  end = start + item.seconds;
  if (start < stream.free) {
    stream.free += item.seconds;
  } else {
    stream.busy_from = start;
    stream.free = end;
  }
  streams_free_ = std::max(streams_free_, stream.free);
  wait(item.move, end - compute_free_);
  advance(item.pass, end);
  last_start_ = end;
}

// A move beside the kernels. The part of the last kernel that it meets was laid out at full speed: stretch it now.
void ChunkWalk::place_beside(const WalkItem& item, double ready, double& end) {
  Stream& stream = streams_[item.tier];
  const double start = std::max(ready, stream.free);
  end = start + item.seconds * move_stretch_;
  if (start > stream.free) stream.busy_from = start;
  stream.free = end;
  streams_free_ = std::max(streams_free_, end);
  const double met = compute_free_ - std::max(start, last_start_);
  if (met <= 0 || last_slot_ < 0) return;
  const double longer = std::min(met * slowdown_, (end - start) * slowdown_ / (1 + slowdown_));
  advance(last_pass_, compute_free_ + longer);
  item_end_[last_slot_] = compute_free_;
}

// The kernel runs at 1/(1 + slowdown) while a stream carries something; streams that are busy at once slow it once.
double ChunkWalk::end_beside_moves(double start, double duration) const {
  double end = start + duration;
  if (start >= streams_free_) return end;
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

// Compute is never behind what it has done: only moves beside it end later.
ChunkWalk::End ChunkWalk::last_end() const {
  End last = output_;
  for (const Instance& instance : instances_) {
    const WalkList& list = list_of(instance);
    for (const int position : list.beside)
      if (const double end = item_end_[instance.first_item + position]; end > last.time)
        last = {end, list.items[position].move};
  }
  return last;
}

// The chunk is done when its last item is: what is handed on, and moves that nobody in the chunk waits for.
template <bool noted> void ChunkWalk::finish(ChunkTimes& times) {
  const End last = last_end();
  const double waited = std::max(0.0, last.time - compute_free_);
  weight_ = 1;
  if constexpr (noted) note_end(last.move, waited);
  wait(last.move, waited);
  advance(forward_ ? Pass::forward : Pass::input_grad, compute_free_ + waited);
  const auto by_pass = [&](Pass pass) { return Seconds(pass_time_[static_cast<int>(pass)]); };
  if (forward_) {
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
