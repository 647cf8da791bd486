#include "sim/schedule/search/greedy_board.h"

#include <algorithm>
#include <cassert>

namespace stepcast::sim::greedy {
namespace {

/// Sums of the same times in another order may differ by rounding; a gap that a weight gradient fills may be so much
/// too short.
constexpr double rounding = 1e-9;

}  // namespace

Problem make_problem(const ScheduleSize& size, orders::Placement placement, const OrderTimes& times, int cap) {
  Problem problem;
  problem.size = size;
  problem.placement = placement;
  problem.rank_of = orders::OrderWriter(size, placement).take().rank_of;
  problem.stages_of.resize(static_cast<std::size_t>(size.ranks));
  for (int s = 0; s < problem.stages(); ++s) problem.stages_of[problem.rank_of[s]].push_back(s);
  problem.duration[static_cast<int>(ActionKind::forward)] = times.forward;
  problem.duration[static_cast<int>(ActionKind::input_grad)] = times.input_grad;
  problem.duration[static_cast<int>(ActionKind::weight_grad)] = times.weight_grad;
  problem.hop = times.hop;
  const int all = size.micro_batches * problem.stages() / size.ranks;
  problem.cap = cap > 0 ? cap : std::max(all, problem.stages());
  assert(times.forward.size() == problem.rank_of.size());
  return problem;
}

Order to_order(const Problem& problem, const Layout& layout) {
  orders::OrderWriter writer(problem.size, problem.placement);
  for (const auto& rank : layout.ranks) {
    for (const Action& action : rank) writer.add(action);
    writer.end_rank();
  }
  return writer.take();
}

Board::Board(const Problem& problem) : problem_(problem), rows_(static_cast<std::size_t>(problem.ranks())) {
  const auto stages = static_cast<std::size_t>(problem.stages()), units = static_cast<std::size_t>(problem.units());
  for (auto& count : count_) count.assign(stages, 0);
  for (auto& end : end_) end.assign(stages * units, not_known);
  layout_.ranks.resize(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    rows_[r].weights.reserve(problem.stages_of[r].size() * units);
    layout_.ranks[r].reserve(3 * problem.stages_of[r].size() * units);
  }
}

double Board::input(ActionKind kind, int stage) const {
  const bool ahead = kind == ActionKind::forward;
  const int unit = count(kind, stage);
  const int from = ahead ? stage - 1 : stage + 1;
  if (from < 0) return 0;
  if (from == problem_.stages()) return end_[0][slot(stage, unit)];
  const double hop = problem_.rank_of[from] == problem_.rank_of[stage] ? 0 : problem_.hop;
  return end_[ahead ? 0 : 1][slot(from, unit)] + hop;
}

double Board::weight_time(int rank) const {
  const Row& row = rows_[rank];
  return problem_.time(ActionKind::weight_grad, row.weights[row.weights_put].stage);
}

void Board::add(const Action& action, double ready) {
  const int rank = problem_.rank_of[action.stage];
  Row& row = rows_[rank];
  const double start = std::max(row.now, ready);
  if (row.start < 0) {
    row.start = start;
  } else {
    row.idle += start - row.now;
    most_idle_ = std::max(most_idle_, row.idle);
  }
  row.now = start + problem_.time(action.kind, action.stage);
  ++count_[static_cast<int>(action.kind)][action.stage];
  layout_.ranks[rank].push_back(action);
}

void Board::put(ActionKind kind, int stage) {
  const int unit = count(kind, stage);
  const double ready = input(kind, stage);
  assert(unit < problem_.units() && ready < not_known);
  Row& row = rows_[problem_.rank_of[stage]];
  add({kind, stage, unit}, ready);
  if (kind == ActionKind::forward) {
    row.half_held += 2;
    layout_.peak = std::max(layout_.peak, ++row.held);
    end_[0][slot(stage, unit)] = row.now;
  } else {
    if (problem_.half_freed) --row.half_held;
    row.weights.push_back({ActionKind::weight_grad, stage, unit});
    end_[1][slot(stage, unit)] = row.now;
  }
}

void Board::put_weight(int rank) {
  Row& row = rows_[rank];
  assert(weight_pending(rank));
  add(row.weights[row.weights_put++], row.now);
  row.half_held -= problem_.half_freed ? 1 : 2;
  --row.held;
}

void Board::put_all_weights(int rank) {
  while (weight_pending(rank)) put_weight(rank);
}

bool Board::make_room(int rank) {
  while (full(rank) && weight_pending(rank)) put_weight(rank);
  return !full(rank);
}

std::optional<double> Board::time_to_room(int rank) const {
  const Row& row = rows_[rank];
  const int freed = problem_.half_freed ? 1 : 2;
  double time = 0;
  std::size_t next = row.weights_put;
  for (int held = row.half_held; held + 2 > 2 * problem_.cap; held -= freed, ++next) {
    if (next == row.weights.size()) return {};
    time += problem_.time(ActionKind::weight_grad, row.weights[next].stage);
  }
  return time;
}

void Board::fill(int rank, double until) {
  while (weight_pending(rank) && now(rank) + weight_time(rank) <= until + rounding * until) put_weight(rank);
}

Layout Board::take() {
  for (const Row& row : rows_) {
    layout_.makespan = std::max(layout_.makespan, row.now);
    layout_.span = std::max(layout_.span, row.now - row.start);
  }
  return std::move(layout_);
}

}  // namespace stepcast::sim::greedy
