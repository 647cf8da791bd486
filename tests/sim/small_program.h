// A machine, a profile and Programs with round numbers, for tests of sim/ that a reader redoes by hand.
// The machine: nodes of 4 GPUs (100 GB/s each inside), a rack of 16 (10 GB/s per GPU, one 10 GB/s port each), 64 in
// all. The GPU: 100 TFLOP/s, 1 TB/s. No latencies, no soft corners: p is so large that max(compute, memory) remains.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dataflow/program.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"
#include "model/stack.h"

namespace stepcast::sim::small {

inline Machine machine() {
  Machine machine;
  machine.id = "small";
  machine.gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(200e12);
  machine.gpu.memory = Bytes(80e9);
  machine.gpu.memory_bandwidth = BytesPerSecond(1e12);
  machine.host_link = BytesPerSecond(10e9);
  const auto level = [](const char* name, FabricKind fabric, std::int64_t gpus, double rate, int ports) {
    Level level;
    level.name = name;
    level.fabric = fabric;
    level.gpus = gpus;
    level.bandwidth_per_gpu = BytesPerSecond(rate);
    level.port_bandwidth = BytesPerSecond(rate);
    level.ports = ports;
    return level;
  };
  machine.levels = {level("node", FabricKind::nvswitch, 4, 100e9, 4),
      level("rack", FabricKind::infiniband, 16, 10e9, 4), level("cluster", FabricKind::ethernet, 64, 2e9, 16)};
  return machine;
}

inline CollectiveCurve curve(CollectiveKind kind, int ranks) {
  CollectiveCurve curve;
  curve.kind = kind;
  curve.fabric = FabricKind::nvswitch;
  curve.ranks = ranks;
  curve.bandwidth = BytesPerSecond(100e9);
  curve.source = Source::fitted;
  return curve;
}

inline Profile profile() {
  Profile profile;
  profile.gemm = {
      {Precision::bf16, Seconds(0), FlopsPerSecond(100e12), BytesPerSecond(1e12), 64, Source::fitted, {0.9, 1.1}}};
  profile.attention = {Seconds(0), FlopsPerSecond(100e12), 0, 1.0, Source::fitted, {0.9, 1.1}};
  profile.memory = {Seconds(0), BytesPerSecond(1e12), Source::fitted, {0.9, 1.1}};
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
           CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::send_recv}) {
    profile.collectives.push_back(curve(kind, 2));
    if (kind != CollectiveKind::send_recv) profile.collectives.push_back(curve(kind, 4));
  }
  ScaleOutLaw law;
  law.fabric = FabricKind::infiniband;
  law.efficiency = 1;
  law.source = Source::fitted;
  profile.scale_out = {law};
  law.fabric = FabricKind::ethernet;
  profile.scale_out.push_back(law);
  profile.overlap = {0, 0, Source::measured};
  profile.step_spread = {0.95, 1.05};
  return profile;
}

inline Stack stack() {
  Stack stack;
  stack.boundary_sends = Manners::overlapped;
  stack.gpu_spread = 0;
  return stack;
}

/// `seconds` of tensor-core work on the small GPU.
inline KernelWork gemm(double seconds, Pass pass, const char* label = "gemm") {
  KernelWork work;
  work.label = label;
  work.kernel = KernelClass::gemm;
  work.pass = pass;
  work.flops = work.useful = Flops(seconds * 100e12);
  return work;
}

/// `seconds` on the fabric of one node of the small machine.
inline Move move(double seconds, MoveKind kind, Pass pass, bool blocking, const char* label = "move") {
  Move move;
  move.label = label;
  move.kind = kind;
  move.pass = pass;
  move.group = 0;
  move.received = Bytes(seconds * 100e9);
  move.blocking = blocking;
  return move;
}

inline Group group(std::int64_t stride, std::int64_t size) { return {{{stride, size}}, size, "x"}; }

/// Adds to a block's list; the item waits for `after`. Both return the item's position.
inline int add(ProgramBlock& block, std::vector<Item>& list, KernelWork work, std::vector<int> after = {}) {
  block.works.push_back(std::move(work));
  list.push_back({false, static_cast<int>(block.works.size()) - 1, std::move(after)});
  return static_cast<int>(list.size()) - 1;
}
inline int add(ProgramBlock& block, std::vector<Item>& list, Move move, std::vector<int> after = {}) {
  block.moves.push_back(std::move(move));
  list.push_back({true, static_cast<int>(block.moves.size()) - 1, std::move(after)});
  return static_cast<int>(list.size()) - 1;
}

/// One second forward, one of input gradient, one of weight gradient.
inline ProgramBlock plain_layer() {
  ProgramBlock block;
  block.name = "layer";
  block.is_layer = true;
  add(block, block.forward, gemm(1, Pass::forward));
  add(block, block.backward, gemm(1, Pass::input_grad));
  add(block, block.backward, gemm(1, Pass::weight_grad), {0});
  return block;
}

/// `stages` stages of `layers` layers each, on neighbouring ranks.
inline Program pipeline(ProgramBlock block, std::int64_t stages, std::int64_t layers, std::int64_t micro_batches) {
  Program program;
  program.ranks = program.stages = stages;
  program.micro_batches = micro_batches;
  program.tokens_per_step = 1000;
  program.groups = {group(1, 4)};
  program.blocks = {std::move(block)};
  for (int stage = 0; stage < stages; ++stage) program.chunks.push_back({stage, 0, {{0, layers}}});
  for (int i = 0; i + 1 < stages; ++i) {
    StageEdge& edge = program.edges.emplace_back();
    edge.from = i;
    edge.to = i + 1;
    edge.rank_distance = 1;
  }
  return program;
}

}  // namespace stepcast::sim::small
