// Around the pipeline: gradient collectives, norm and clip, optimizer, parameter collectives.
#include <algorithm>

#include "sim/step/beside.h"
#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

enum class Side : std::uint8_t { gradients, parameters };

bool belongs(const Move& move, Side side) { return (side == Side::gradients) == (move.when == When::once_last_use); }

/// The once-per-step moves of one stage: beside the last backward passes of its chunks or before their first forward
/// passes.
struct StageMoves {
  Seconds beside, serial;  ///< all overlapped moves, all blocking ones
  Seconds exposed;         ///< what the overlapped ones add to the step
  std::vector<StepMove> calls;
};

/// A chunk of the stage and when its gradients start to close, or its parameters are first needed.
struct Visit {
  int chunk = 0;
  double begin = 0;
};

// With several chunks per stage the last backward passes of two chunks lie a round of micro-batches apart, and so do
// the first forward passes: that is the room in which the reduces of one chunk and the gathers of the next hide
// (Megatron-LM core/pipeline_parallel/schedules.py: grad_sync_func after a chunk's last micro-batch, param_sync_func
// before its first).
std::vector<Visit> visits(const StepView& view, int stage, Side side) {
  const auto actions = view.order.of_rank(stage);
  const auto first = static_cast<std::size_t>(view.order.begin[stage]);
  const std::size_t count = actions.size();
  const auto chunks = std::ranges::count(view.program.chunks, stage, &Chunk::stage);
  const bool forward = side == Side::parameters;
  std::vector<Visit> found;
  // Each chunk's first forward from the front, or its last backward from the end.
  for (std::size_t n = 0; n < count && std::ssize(found) < chunks; ++n) {
    const std::size_t i = forward ? n : count - 1 - n, at = first + i;
    const int chunk = actions[i].stage;
    if ((actions[i].kind == ActionKind::forward) != forward ||
        std::ranges::find(found, chunk, &Visit::chunk) != found.end())
      continue;
    found.push_back({chunk,
        forward ? view.timeline.start[at].value() : (view.timeline.end[at] - view.outer[chunk].backward()).value()});
  }
  if (!forward) std::ranges::reverse(found);
  return found;
}

/// Tiers that the block's overlapped moves of this side use, one bit each.
unsigned tiers_of(const ProgramBlock& block, const BlockPrices& prices, Side side) {
  unsigned tiers = 0;
  for (std::size_t i = 0; i < block.step_moves.size(); ++i) {
    const Move& move = block.step_moves[i];
    if (belongs(move, side) && !move.blocking) tiers |= 1U << prices.step_moves[i].tier;
  }
  return tiers;
}

/// The share of the pass in which its own moves hold a tier that the step moves need: these go slower by as much.
double fabric_share(const StepView& view, int stage, Side side) {
  double busy = 0, wall = 0;
  for (std::size_t i = 0; i < view.program.chunks.size(); ++i) {
    const Chunk& chunk = view.program.chunks[i];
    if (chunk.stage != stage) continue;
    wall += (side == Side::gradients ? view.outer[i].backward() : view.outer[i].forward).value();
    for (const BlockRun& run : chunk.runs) {
      const ProgramBlock& block = view.program.blocks[run.block];
      const BlockPrices& prices = view.prices(stage)[run.block];
      const unsigned tiers = tiers_of(block, prices, side);
      if (tiers == 0) continue;
      for (const Item& item : side == Side::gradients ? block.backward : block.forward) {
        const Price* price = item.is_move ? &prices.moves[item.index] : nullptr;
        if (price && (tiers >> price->tier & 1U)) busy += price->time.value() * static_cast<double>(run.count);
      }
    }
  }
  return wall > 0 ? std::min(0.9, busy / wall) : 0;
}

void add_run(const StepView& view, int stage, const BlockRun& run, double begin, Seconds wall, double free_share,
    Side side, StageMoves& moves, SideBySide& beside) {
  const double count = static_cast<double>(run.count);
  Seconds each;
  const std::vector<Move>& step_moves = view.program.blocks[run.block].step_moves;
  for (std::size_t i = 0; i < step_moves.size(); ++i) {
    const Move& move = step_moves[i];
    if (!belongs(move, side)) continue;
    const Price& price = view.prices(stage)[run.block].step_moves[i];
    (move.blocking ? moves.serial : moves.beside) += price.time * count;
    if (!move.blocking) each += price.time;
    moves.calls.push_back({&move, price, stage, count, move.blocking ? price.time * count : Seconds(0)});
  }
  const double block = wall.value() / count, fabric = each.value() / free_share;
  if (side == Side::gradients) beside.close(begin, count, block, fabric);
  else beside.need(begin, count, block, fabric);
}

void add_chunk(const StepView& view, int stage, const Visit& visit, double free_share, Side side, StageMoves& moves,
    SideBySide& beside) {
  const std::vector<BlockRun>& blocks = view.program.chunks[visit.chunk].runs;
  const ChunkTimes& times = view.outer[visit.chunk];
  const int runs = static_cast<int>(blocks.size());
  double begin = visit.begin;
  for (int j = 0; j < runs; ++j) {
    const int r = side == Side::gradients ? runs - 1 - j : j;
    const Seconds wall = side == Side::gradients ? times.run_backward[r] : times.run_forward[r];
    add_run(view, stage, blocks[r], begin, wall, free_share, side, moves, beside);
    begin += wall.value();
  }
}

/// Gathers start with the step, so a stage that stands idle before its first forward has that time for them.
StageMoves stage_moves(const StepView& view, int stage, Side side) {
  StageMoves moves;
  SideBySide beside;
  const double free_share = 1 - fabric_share(view, stage, side);
  for (const Visit& visit : visits(view, stage, side)) add_chunk(view, stage, visit, free_share, side, moves, beside);
  const Seconds start = view.timeline.rank_start[stage], end = view.timeline.rank_end[stage];
  const Seconds open = side == Side::gradients ? Seconds(beside.queue()) - end : Seconds(beside.late());
  const double lead = side == Side::parameters ? start.value() : 0;
  moves.exposed = Seconds(shown_beside(open.value(), moves.beside.value(), lead, view.timeline.busy[stage].value(),
      view.costs.of(stage).tuning()[StepParameter::contention]));
  return moves;
}

/// Overlapped moves share what is exposed of them by their time.
void report(StageMoves&& moves, std::vector<StepMove>& rows) {
  for (StepMove& call : moves.calls) {
    const Seconds time = call.price.time * call.calls;
    if (!call.move->blocking && moves.beside.value() > 0) call.exposed = moves.exposed * (time / moves.beside);
    rows.push_back(call);
  }
}

/// The step's moves outside of blocks that carry `cargo`: one after the other, nothing beside them.
Seconds serial(const StepView& view, const std::vector<Move>& moves, Cargo cargo, Tail& tail) {
  Seconds total;
  for (const Move& move : moves) {
    const bool same = move.cargo == cargo || (cargo == Cargo::gradient && move.cargo == Cargo::activation);
    if (!same) continue;
    static const Group alone;
    const Price price = view.costs.slowest(move, move.group < 0 ? alone : view.program.groups[move.group]);
    total += price.time;
    tail.moves.push_back({&move, price, view.critical, 1, price.time});
  }
  return total;
}

Seconds over_elements(const StepView& view, double bytes_per_element) {
  Seconds slowest;
  for (int stage = 0; stage < view.order.ranks; ++stage) {
    double elements = 0;
    for (const Chunk& chunk : view.program.chunks) {
      if (chunk.stage != stage) continue;
      for (const BlockRun& run : chunk.runs) {
        elements += view.program.blocks[run.block].optimizer_elements * static_cast<double>(run.count);
      }
    }
    const Bytes bytes(elements * bytes_per_element);
    if (bytes.value() > 0) slowest = std::max(slowest, view.costs.of(stage).memory(bytes).time);
  }
  return slowest;
}

/// From the end of the pipeline until the last stage's gradients are whole: stages that end early reduce meanwhile.
Seconds gradient_sync(const StepView& view, Tail& tail) {
  Seconds done = view.timeline.makespan;
  for (int stage = 0; stage < view.order.ranks; ++stage) {
    StageMoves moves = stage_moves(view, stage, Side::gradients);
    done = std::max(done, view.timeline.rank_end[stage] + moves.exposed + moves.serial);
    report(std::move(moves), tail.moves);
  }
  return done - view.timeline.makespan;
}

Seconds parameter_gather(const StepView& view, Tail& tail) {
  Seconds slowest;
  for (int stage = 0; stage < view.order.ranks; ++stage) {
    StageMoves moves = stage_moves(view, stage, Side::parameters);
    slowest = std::max(slowest, moves.exposed + moves.serial);
    report(std::move(moves), tail.moves);
  }
  return slowest;
}

}  // namespace

Tail step_tail(const StepView& view) {
  Tail tail;
  const Program& program = view.program;
  tail.gradient_sync = gradient_sync(view, tail) + serial(view, program.shared, Cargo::gradient, tail) +
                       serial(view, program.tail, Cargo::gradient, tail);
  tail.clip = over_elements(view, program.bytes_per_gradient_element) + serial(view, program.tail, Cargo::scalar, tail);
  tail.optimizer = over_elements(view, program.bytes_per_optimizer_element);
  tail.parameter_gather = parameter_gather(view, tail) + serial(view, program.tail, Cargo::weight, tail) +
                          serial(view, program.shared, Cargo::weight, tail);
  return tail;
}

}  // namespace stepcast::sim
