// Two copies of the model, run from both ends (DualPipe, arXiv 2412.19437: 2x parameters; Chimera, arXiv 2107.06925:
// the replicas of a stage sum their gradients). Rank r holds stages r and p-1-r: each with its weights, gradients and
// optimizer states. After the pipeline ranks r and p-1-r, which hold the same two stages, add up the gradients that
// each of them updates.
#include <algorithm>

#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

/// The second copy of a chunk stands as far from the last rank as the first from the first.
void add_second_chunks(Program& program) {
  const std::size_t chunks = program.chunks.size();
  for (std::size_t i = 0; i < chunks; ++i) {
    Chunk copy = program.chunks[i];
    copy.stage = static_cast<int>(program.stages) - 1 - copy.stage;
    program.chunks.push_back(std::move(copy));
  }
}

/// edges[i] joins chunks i and i+1, so the copies are joined too, by nothing.
void add_second_edges(Program& program) {
  const std::vector<StageEdge> edges = program.edges;
  const int copy = static_cast<int>(edges.size()) + 1;
  StageEdge between;
  between.from = copy - 1;
  between.to = copy;
  program.edges.push_back(between);
  for (StageEdge edge : edges) {
    edge.from += copy;
    edge.to += copy;
    program.edges.push_back(std::move(edge));
  }
}

/// Bytes of gradients that a rank updates, on the fullest.
double updated_bytes(const Program& program, double gradient_bytes) {
  std::vector<double> elements(static_cast<std::size_t>(program.stages));
  for (const Chunk& chunk : program.chunks) {
    for (const BlockRun& run : chunk.runs) {
      elements[chunk.stage] += program.blocks[run.block].optimizer_elements * static_cast<double>(run.count);
    }
  }
  return gradient_bytes * *std::ranges::max_element(elements);
}

/// All pairs at once; the outermost, which is the widest, stands for them.
Move sum_of_copies(Program& program, double bytes) {
  Group pair;
  pair.digits = {{program.stage_stride * (program.stages - 1), 2}};
  pair.size = 2;
  pair.label = "copies";
  program.groups.push_back(pair);
  Move move;
  move.label = "gradients of both copies";
  move.kind = MoveKind::all_reduce;
  move.pass = Pass::step;
  move.when = When::once_last_use;
  move.cargo = Cargo::gradient;
  move.group = static_cast<int>(program.groups.size()) - 1;
  move.local_before = move.local_after = move.received = Bytes(bytes);  // all-reduce over two: 2 x 1/2 of the size
  move.blocking = true;
  move.because = "ranks r and p-1-r hold the same two stages";
  return move;
}

}  // namespace

Program both_ways(const Program& program, double gradient_bytes) {
  Program both = program;
  add_second_chunks(both);
  add_second_edges(both);
  const double bytes = updated_bytes(both, gradient_bytes);
  if (both.stages > 1 && bytes > 0) both.shared.push_back(sum_of_copies(both, bytes));
  return both;
}

}  // namespace stepcast::sim
