// What a rank keeps of a sequence between iterations of an engine: keys, values and states.
#include <algorithm>

#include "dataflow/lower/lowering.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {

void Lowering::count_cache() {
  out_.caches.resize(static_cast<std::size_t>(layout_.stages));
  for (const Chunk& chunk : out_.chunks)
    for (const BlockRun& run : chunk.runs) add_cache(run, out_.caches[static_cast<std::size_t>(chunk.stage)]);
}

// A window's keys are kept as far as it reaches; those that another layer lends are kept there.
void Lowering::add_cache(const BlockRun& run, std::vector<CacheLine>& lines) const {
  const auto layers = static_cast<double>(run.count);
  const auto add = [&](const CacheLine& line) {
    if (line.bytes_per_position == 0 && line.bytes_per_sequence == 0) return;
    const auto same = std::ranges::find(lines, line.reach, &CacheLine::reach);
    if (same == lines.end()) return lines.push_back(line);
    same->bytes_per_position += line.bytes_per_position;
    same->bytes_per_sequence += line.bytes_per_sequence;
  };
  const std::vector<Operator>& operators = network_->blocks[run.block].operators;
  for (const Copy& copy : placed_->blocks[run.block].copies) {
    if (copy.parent >= 0 || network_->tensors[copy.tensor].role != TensorRole::cache) continue;
    const bool own =
        std::ranges::any_of(operators, [&](const Operator& op) { return op.output.tensor == copy.tensor; });
    if (!own) continue;
    const auto positions = static_cast<double>(network_->dims[network_->find_dim("t")].extent * plan_.micro_batch);
    add({layers * copy.bytes / positions, reach_of(network_->blocks[run.block], copy.tensor), 0});
  }
  add({0, 0, layers * state_bytes(run.block)});
}

// 0: all keys are kept.
std::int64_t Lowering::reach_of(const Block& block, int cache) {
  for (const Operator& op : block.operators)
    for (const Access& access : op.inputs)
      if (op.kind == OperatorKind::attention && op.domain == Domain::window && access.tensor == cache &&
          contains(access.loops, op.key_loop))
        return op.reach;
  return 0;
}

// Of one sequence in one layer: the states of its scans, the inputs that its convolutions look back at, and the rows
// that the next compressed key is made of, with their gates, in fp32; where neighbours overlap, those of the one
// before, too (vllm-project/vllm models/deepseek_v4/compressor.py, CompressorStateCache: 1 + overlap times `ratio`
// rows of 2 x (1 + overlap) x width).
double Lowering::state_bytes(int block) const {
  double bytes = 0;
  for (const KernelWork& work : out_.blocks[block].works)
    if (work.kernel == KernelClass::scan) bytes += scan_state_bytes(work.scan);
  for (const Operator& op : network_->blocks[block].operators) {
    if (op.function == "compress") bytes += compressing_bytes(op);
    if (op.function != "conv") continue;
    const Tensor& taps = network_->tensors[op.inputs[1].tensor];
    const auto width = static_cast<double>(network_->dims[taps.dims.back()].extent);
    for (const Copy& copy : placed_->blocks[block].copies)
      if (copy.tensor == op.inputs[1].tensor && copy.parent < 0) bytes += copy.bytes * (width - 1) / width;
  }
  return bytes;
}

double Lowering::compressing_bytes(const Operator& op) const {
  const auto extent = [&](int loop) { return static_cast<double>(network_->dims[loop].extent); };
  const std::vector<int>& places = op.inputs[2].loops;
  const double ratio = extent(places.front()), wide = extent(places.back()),
               overlap = wide / extent(op.output.loops.back());
  constexpr double sums_and_gates = 2, fp32 = 4;
  return overlap * ratio * sums_and_gates * wide * fp32;
}

}  // namespace stepcast::dataflow
