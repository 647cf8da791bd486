// Slices of a sequence: as many programs as slices, priced one by one, and the mean of them for what is summed over the
// step. A slice's matrix products have its own rows; its attention core sees its own positions, causal, and all keys of
// the slices before it (Seq1F1B, arXiv 2406.03488, section 3.1; TeraPipe, arXiv 2102.07988, section 3).
#include "sim/step/slices.h"

#include <cassert>

#include "sim/step/paired.h"
#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

/// Of k own keys a query of the slice sees (k+1)/2 in the mean, and all i*k before them.
void see_earlier_keys(KernelWork& work, int slice) {
  const double keys = work.sequence;
  const double own = (keys + 1) / 2, more = (own + slice * keys) / own;
  work.flops = work.flops * more;
  work.useful = work.useful * more;
  work.sequence = keys * (slice + 1);
}

void add(ChunkTimes& sum, const ChunkTimes& more) {
  for (const auto part : {&ChunkTimes::forward, &ChunkTimes::input_grad, &ChunkTimes::weight_grad,
           &ChunkTimes::forward_compute, &ChunkTimes::backward_compute, &ChunkTimes::recompute,
           &ChunkTimes::exposed_forward, &ChunkTimes::exposed_backward})
    sum.*part += more.*part;
  for (const auto list : {&ChunkTimes::exposed, &ChunkTimes::run_forward, &ChunkTimes::run_backward}) {
    assert((sum.*list).size() == (more.*list).size());
    for (std::size_t i = 0; i < (sum.*list).size(); ++i) (sum.*list)[i] += (more.*list)[i];
  }
}

void divide(ChunkTimes& sum, double count) {
  for (const auto part : {&ChunkTimes::forward, &ChunkTimes::input_grad, &ChunkTimes::weight_grad,
           &ChunkTimes::forward_compute, &ChunkTimes::backward_compute, &ChunkTimes::recompute,
           &ChunkTimes::exposed_forward, &ChunkTimes::exposed_backward})
    sum.*part = sum.*part / count;
  for (const auto list : {&ChunkTimes::exposed, &ChunkTimes::run_forward, &ChunkTimes::run_backward})
    for (Seconds& time : sum.*list) time = time / count;
}

std::vector<ChunkTimes> mean_times(const std::vector<std::vector<ChunkTimes>>& by_slice) {
  std::vector<ChunkTimes> mean = by_slice.front();
  for (std::size_t chunk = 0; chunk < mean.size(); ++chunk) {
    for (std::size_t slice = 1; slice < by_slice.size(); ++slice) add(mean[chunk], by_slice[slice][chunk]);
    divide(mean[chunk], static_cast<double>(by_slice.size()));
  }
  return mean;
}

/// Moves carry the same bytes for every slice.
void add(std::vector<BlockPrices>& sum, const std::vector<BlockPrices>& more) {
  for (std::size_t block = 0; block < sum.size(); ++block)
    for (std::size_t i = 0; i < sum[block].works.size(); ++i) sum[block].works[i].time += more[block].works[i].time;
}

}  // namespace

std::vector<Program> slice_programs(const Program& first, int slices) {
  std::vector<Program> programs(static_cast<std::size_t>(slices), first);
  for (int slice = 0; slice < slices; ++slice) {
    programs[slice].tokens_per_step = first.tokens_per_step * slices;
    for (ProgramBlock& block : programs[slice].blocks)
      for (KernelWork& work : block.works)
        if (work.kernel == KernelClass::attention) see_earlier_keys(work, slice);
  }
  return programs;
}

namespace {

/// All on ranks of one kind.
struct KindUnits {
  std::vector<BlockPrices> prices;
  std::vector<ChunkTimes> chunks;
  std::vector<std::vector<ChunkTimes>> by_slice;
};

/// Ranks of all kinds wait for the slowest of a group that has several.
void price_moves_out(const Program& program, const StageCosts& costs, std::vector<BlockPrices>& prices) {
  if (costs.kinds().size() == 1) return;
  const auto price = [&](const std::vector<Move>& moves, std::vector<Price>& of_moves) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      if (moves[i].group < 0) continue;
      const Group& group = program.groups[moves[i].group];
      if (costs.leaves(group)) of_moves[i] = costs.slowest(moves[i], group);
    }
  };
  for (std::size_t block = 0; block < prices.size(); ++block) {
    price(program.blocks[block].moves, prices[block].moves);
    price(program.blocks[block].step_moves, prices[block].step_moves);
  }
}

KindUnits price_kind(std::span<const Program> slices, const StageCosts& costs, const CostModel& cost) {
  KindUnits priced;
  priced.prices = price_blocks(slices.front(), cost, paired_share(slices.front()));
  price_moves_out(slices.front(), costs, priced.prices);
  priced.chunks = all_chunk_times(slices.front(), priced.prices, cost);
  if (slices.size() == 1) return priced;
  priced.by_slice.push_back(priced.chunks);
  for (const Program& slice : slices.subspan(1)) {
    std::vector<BlockPrices> prices = price_blocks(slice, cost);
    price_moves_out(slice, costs, prices);
    priced.by_slice.push_back(all_chunk_times(slice, prices, cost));
    add(priced.prices, prices);
  }
  priced.chunks = mean_times(priced.by_slice);
  for (BlockPrices& block : priced.prices)
    for (Price& work : block.works) work.time = work.time / static_cast<double>(slices.size());
  return priced;
}

}  // namespace

PricedUnits price_units(std::span<const Program> slices, const StageCosts& costs) {
  PricedUnits priced;
  const Program& program = slices.front();
  for (std::size_t kind = 0; kind < costs.kinds().size(); ++kind) {
    KindUnits own = price_kind(slices, costs, costs.kinds()[kind].cost);
    priced.prices.push_back(std::move(own.prices));
    if (kind == 0) {
      priced.chunks = std::move(own.chunks);
      priced.by_slice = std::move(own.by_slice);
      continue;
    }
    for (std::size_t chunk = 0; chunk < program.chunks.size(); ++chunk) {
      if (costs.kind_of(program.chunks[chunk].stage) != static_cast<int>(kind)) continue;
      priced.chunks[chunk] = own.chunks[chunk];
      for (std::size_t slice = 0; slice < own.by_slice.size(); ++slice)
        priced.by_slice[slice][chunk] = own.by_slice[slice][chunk];
    }
  }
  return priced;
}

void set_slice_times(const std::vector<std::vector<ChunkTimes>>& by_slice, const Order& order, StageTimes& times) {
  for (int stage = 0; stage < order.stages(); ++stage) {
    for (int unit = 0; unit < order.units(); ++unit) {
      const ChunkTimes& slice = by_slice[unit % order.slices][stage];
      times.forward_each.push_back(slice.forward.value());
      times.input_grad_each.push_back(slice.input_grad.value());
      times.weight_grad_each.push_back(slice.weight_grad.value());
    }
  }
}

}  // namespace stepcast::sim
