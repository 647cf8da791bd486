#include "sim/fast/step_costs.h"

#include <algorithm>
#include <limits>

#include "sim/memory/block_memory.h"
#include "sim/step/around.h"
#include "sim/streams.h"

namespace stepcast::sim {

namespace {

void add_once(const Move& move, const Price& price, BlockOnce& block) {
  OnceMoves& side = move.when == When::once_last_use ? block.gradients : block.parameters;
  (move.blocking ? side.serial : side.beside) += price.time.value();
  if (!move.blocking) side.tiers |= 1U << price.tier;
}

}  // namespace

CrossingStream crossing_stream(const Program& program, double micro_batch) {
  CrossingStream stream;
  const auto crossing = std::find_if(
      program.edges.begin(), program.edges.end(), [](const StageEdge& edge) { return edge.rank_distance > 0; });
  if (crossing == program.edges.end()) return stream;
  stream.bytes = crossing->bytes / micro_batch;
  stream.gather = crossing->gather;
  if (!stream.gather) return stream;
  stream.gather->received = stream.gather->received / micro_batch;
  stream.group = program.groups[stream.gather->group];
  return stream;
}

StepCosts::StepCosts(const Program& program, const CostModel& cost) : cost_(&cost) {
  for (const ProgramBlock& block : program.blocks) {
    BlockOnce once;
    for (const Move& move : block.step_moves) add_once(move, price_move(program, move, cost), once);
    once.optimizer_elements = block.optimizer_elements;
    once.persistent = memory_of(block).persistent.sum().value();
    blocks_.push_back(once);
  }
  gradient_bytes_ = program.bytes_per_gradient_element;
  optimizer_bytes_ = program.bytes_per_optimizer_element;
  contention_ = cost.tuning()[StepParameter::contention];
  fixed_ = (data_wait(cost) + host_to_device(program, cost) + host_time(cost)).value() + serial_moves(program);
  find_sends(program);
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs)
      mean_persistent_ += blocks_[run.block].persistent * static_cast<double>(run.count);
  mean_persistent_ /= static_cast<double>(program.stages);
}

double StepCosts::serial_moves(const Program& program) const {
  double seconds = 0;
  for (const std::vector<Move>* moves : {&program.shared, &program.tail})
    for (const Move& move : *moves) seconds += price_move(program, move, *cost_).time.value();
  return seconds;
}

void StepCosts::find_sends(const Program& program) {
  unsigned seen = 0;
  for (std::int64_t stage = 0; program.stages > 1 && stage < program.stages; ++stage) {
    const Send send{stage * program.stage_stride, (stage + 1) % program.stages * program.stage_stride};
    const unsigned tier = 1U << cost_->send(Bytes(1), send.from, send.to).tier;
    if ((seen & tier) == 0) sends_.push_back(send);
    seen |= tier;
  }
}

double StepCosts::hop(const CrossingStream& stream, double micro_batch) const {
  if (sends_.empty()) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Send& send : sends_)
    least = std::min(least, cost_->send(stream.bytes * micro_batch, send.from, send.to).time.value());
  if (!stream.gather) return least;
  Move gather = *stream.gather;
  gather.received = gather.received * micro_batch;
  return least + cost_->move(gather, stream.group).time.value();
}

RankOnce StepCosts::on_rank(const std::vector<BlockRun>& runs) const {
  RankOnce rank;
  for (const BlockRun& run : runs) {
    const BlockOnce& block = blocks_[run.block];
    const double count = static_cast<double>(run.count);
    rank.persistent += block.persistent * count;
    rank.gradients_beside += block.gradients.beside * count;
    rank.gradients_serial += block.gradients.serial * count;
    rank.parameters_beside += block.parameters.beside * count;
    rank.parameters_serial += block.parameters.serial * count;
  }
  return rank;
}

double StepCosts::updates(const StageShape& shape) const {
  double most = 0;
  for (const StageShape::RankKind& kind : shape.rank_kinds) {
    double elements = 0;
    for (const BlockRun& run : kind.runs)
      elements += blocks_[run.block].optimizer_elements * static_cast<double>(run.count);
    most = std::max(most, elements);
  }
  double seconds = 0;
  for (const double bytes : {most * gradient_bytes_, most * optimizer_bytes_})
    if (bytes > 0) seconds += cost_->memory(Bytes(bytes)).time.value();
  return seconds;
}

OnceOnShape once_on_shape(const StepCosts& costs, const StageShape& shape) {
  OnceOnShape on{&costs, &shape, {}, costs.updates(shape)};
  for (const StageShape::RankKind& kind : shape.rank_kinds) on.ranks.push_back(costs.on_rank(kind.runs));
  return on;
}

}  // namespace stepcast::sim
