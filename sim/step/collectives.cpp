// Rows of the report: what moves, how often, how long, and how much of it nobody hides.
#include <algorithm>
#include <span>

#include "dataflow/place/moves.h"
#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

/// Calls of the blocks' moves on one stage, by block and move.
void add_block_moves(const StepView& view, int stage, std::vector<StepMove>& moves) {
  std::vector<double> copies(view.program.blocks.size());
  std::vector<const ChunkTimes*> chunks;
  for (std::size_t i = 0; i < view.program.chunks.size(); ++i) {
    if (view.program.chunks[i].stage != stage) continue;
    chunks.push_back(&view.chunks[i]);
    for (const BlockRun& run : view.program.chunks[i].runs) copies[run.block] += static_cast<double>(run.count);
  }
  for (std::size_t b = 0; b < copies.size(); ++b) {
    if (copies[b] == 0) continue;
    const ProgramBlock& block = view.program.blocks[b];
    for (std::size_t i = 0; i < block.moves.size(); ++i) {
      if (block.moves[i].group < 0) continue;
      Seconds exposed;
      for (const ChunkTimes* chunk : chunks) exposed += chunk->exposed[view.prices(stage)[b].first_move + i];
      moves.push_back(
          {&block.moves[i], view.prices(stage)[b].moves[i], stage, copies[b] * view.units, exposed * view.units});
    }
  }
}

/// A price that another kind of rank has set may speak of a tier further out than this stage's machine has.
const std::string& tier_name(const StepView& view, int stage, int tier) {
  const std::vector<Level>& levels = view.costs.of(stage).machine().levels;
  return levels[std::min(static_cast<std::size_t>(tier), levels.size() - 1)].name;
}

CollectiveReport row_of(const StepView& view, const StepMove& call) {
  const Move& move = *call.move;
  CollectiveReport row;
  row.name = move.label;
  row.kind = to_text(move.kind);
  row.because = move.because;
  row.pass = move.pass;
  row.bytes = move.received;
  row.source = call.price.source;
  row.law = call.price.law;
  row.stage = call.stage;
  row.span = tier_name(view, call.stage, call.price.tier);
  if (move.group >= 0) {
    row.axis = view.program.groups[move.group].label;
    row.group_size = view.program.groups[move.group].size;
  }
  return row;
}

bool same_row(const StepMove& a, const StepMove& b) {
  return a.move->group == b.move->group && a.move->pass == b.move->pass && a.move->kind == b.move->kind &&
         a.move->received == b.move->received && a.move->label == b.move->label;
}

/// Equal moves of one stage become one row.
void add_rows(const StepView& view, std::span<const StepMove> moves, std::vector<CollectiveReport>& rows) {
  std::vector<std::pair<const StepMove*, std::size_t>> first;
  for (const StepMove& call : moves) {
    auto known = std::ranges::find_if(first, [&](const auto& f) { return same_row(*f.first, call); });
    if (known == first.end()) {
      known = first.emplace(known, &call, rows.size());
      rows.push_back(row_of(view, call));
    }
    CollectiveReport& row = rows[known->second];
    row.count += call.calls;
    row.time += call.price.time * call.calls;
    row.exposed += call.exposed;
  }
}

void add_hop(const StepView& view, int stage, const Price& price, Bytes bytes, double calls, CollectiveReport& row) {
  row.bytes = bytes;
  row.source = price.source;
  row.law = price.law;
  row.span = tier_name(view, stage, price.tier);
  row.count += calls;
  row.time += price.time * calls;
}

/// Hops between stages, every edge that ends on the stage: it takes part in the sends of both directions and gathers
/// what it receives. Where hops hold their rank, the hold is shared out by time.
void add_boundary(const StepView& view, int stage, std::vector<CollectiveReport>& rows) {
  CollectiveReport send, gather;
  for (std::size_t i = 0; i < view.program.edges.size(); ++i) {
    const StageEdge& edge = view.program.edges[i];
    const int from = view.program.chunks[edge.from].stage, to = view.program.chunks[edge.to].stage;
    if ((from != stage && to != stage) || from == to) continue;
    add_hop(view, stage, view.hops[i].send, edge.bytes, 2 * view.units, send);
    if (!edge.gather) continue;
    const StepMove call{&*edge.gather, view.hops[i].gather, stage, 0, Seconds(0)};
    if (gather.count == 0) gather = row_of(view, call);
    add_hop(view, stage, call.price, edge.gather->received, view.units, gather);
  }
  if (send.count == 0) return;
  send.name = "boundary";
  send.kind = to_text(MoveKind::send_recv);
  send.axis = "stage";
  send.group_size = 2;
  send.stage = stage;
  send.because = "neighbouring stages";
  const Seconds both = send.time + gather.time;
  if (both.value() > 0) {
    send.exposed = view.timeline.hop_wait[stage] * (send.time / both);
    gather.exposed = view.timeline.hop_wait[stage] * (gather.time / both);
  }
  rows.push_back(std::move(send));
  if (gather.count > 0) rows.push_back(std::move(gather));
}

bool has_row(const std::vector<CollectiveReport>& rows, const CollectiveReport& wanted) {
  return std::ranges::any_of(rows, [&](const CollectiveReport& row) {
    return row.name == wanted.name && row.pass == wanted.pass && row.axis == wanted.axis && row.kind == wanted.kind;
  });
}

std::vector<CollectiveReport> rows_of(const StepView& view, const Tail& tail, int stage) {
  std::vector<StepMove> moves;
  add_block_moves(view, stage, moves);
  for (const StepMove& call : tail.moves) {
    if (call.stage == stage) moves.push_back(call);
  }
  std::vector<CollectiveReport> rows;
  rows.reserve(moves.size() + 1);
  add_rows(view, moves, rows);
  add_boundary(view, stage, rows);
  return rows;
}

}  // namespace

std::vector<CollectiveReport> collective_rows(const StepView& view, const Tail& tail) {
  std::vector<CollectiveReport> rows = rows_of(view, tail, view.critical);
  // Embedding, head and loss live on one stage each: the first and the last complete the picture.
  for (const int stage : {0, view.order.ranks - 1}) {
    if (stage == view.critical) continue;
    for (CollectiveReport& row : rows_of(view, tail, stage)) {
      if (!has_row(rows, row)) rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace stepcast::sim
