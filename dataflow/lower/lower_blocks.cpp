// Blocks of the network as blocks of the program, and weights that two ends of the pipeline use.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dataflow/lower/fuse/fuse.h"
#include "dataflow/lower/lowering.h"

namespace stepcast::dataflow {
namespace {

/// Scale bytes included: one per 32 elements in mx formats, one per 16 in nvfp4 (OCP MX 1.0; NVIDIA Blackwell
/// whitepaper).
double narrow_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp8: return 1;
    case Precision::mxfp8: return 1 + 1.0 / 32;
    case Precision::nvfp4: return 0.5 + 1.0 / 16;
    default: return 0;
  }
}

/// A weight is cast as is and transposed. mxfp8 and nvfp4 scale along what is contracted, so that the two differ; fp8
/// of a scale per tensor needs the second only where products take one layout alone (TransformerEngine 2.x,
/// pytorch/csrc/quantizer.cpp: Float8Quantizer and Float8CurrentScalingQuantizer ask
/// nvte_is_non_tn_fp8_gemm_supported).
double narrow_copies(const Plan& plan) { return plan.precision == Precision::fp8 && plan.fp8_any_layout ? 1 : 2; }

}  // namespace

ProgramBlock Lowering::lowered(std::size_t b, const PlacedBlock& placed, const std::vector<char>& counted) {
  return fuse({*network_, network_->blocks[b], (*facts_)[b], placed, placed_->splits[b], placed_->mesh, stack_,
      parsed_->statements, out_.groups, explain_, counted, blocks_reading_, spec_.experts,
      narrow_bytes(plan_.precision), narrow_copies(plan_), step_alone_, kernels_alone_,
      !step_alone_ && !passes_alone_});
}

void Lowering::count_readers() {
  std::vector<const Block*> counted(network_->tensors.size(), nullptr);
  blocks_reading_.assign(network_->tensors.size(), 0);
  for (const Block& block : network_->blocks)
    for (const Operator& op : block.operators)
      for (const Access& input : op.inputs)
        if (std::exchange(counted[input.tensor], &block) != &block) ++blocks_reading_[input.tensor];
}

Expected<void> Lowering::make_blocks() {
  // A weight belongs to the first block that uses it; blocks on the same ranks count it once. On the other end of the
  // pipeline it is whole again, and its gradient is summed over both ends once per step (rule 26).
  std::vector<char> first(network_->tensors.size(), 0), last(network_->tensors.size(), 0);
  count_readers();
  const bool one_stage = layout_.stages == 1 || layout_.folded;  // a V ends where it begins
  for (std::size_t b = 0; b < network_->blocks.size(); ++b) {
    const Block::Place place = network_->blocks[b].place;
    std::vector<char>& here = one_stage || place == Block::Place::first ? first : last;
    out_.blocks.push_back(lowered(b, placed_->blocks[b], here));
    if (place == Block::Place::layers)
      layers_.block_of.push_back({static_cast<int>(b), static_cast<int>(b), network_->blocks[b].kind});
    for (const WeightChain& chain : placed_->blocks[b].chains) {
      if (!one_stage && place == Block::Place::last && first[chain.tensor] && !last[chain.tensor]) share(chain);
      if (place != Block::Place::layers) here[chain.tensor] = 1;
    }
  }
  layers_.recompute_limit = recompute_limit();
  if (layers_.recompute_limit == 0) return {};
  const std::int64_t per_stage = spec_.layers / layout_.stages;
  if (layers_.recompute_limit > per_stage)
    return fail(plan_.mapping_where,
        fmt::format("recompute on {} layers of each stage, but a stage has {}", layers_.recompute_limit, per_stage),
        fmt::format("from 1 to {}", per_stage));
  // `layers N`: the rest of each stage's layers run without; the same blocks placed without such statements. What
  // others recompute, all layers do.
  std::vector<Statement> without;
  for (const Statement& statement : parsed_->statements) {
    const auto* recompute = std::get_if<RecomputeStatement>(&statement.body);
    if (recompute == nullptr || recompute->layers == 0) without.push_back(statement);
  }
  TRY(auto plain, place(*network_, parsed_->program.meshes, without, plan_.gpus, placing()));
  const std::vector<char> none(network_->tensors.size(), 0);
  for (LayerBlocks::Kind& kind : layers_.block_of) {
    out_.blocks.push_back(lowered(static_cast<std::size_t>(kind.block), plain.blocks[kind.block], none));
    kind.plain = static_cast<int>(out_.blocks.size()) - 1;
  }
  return {};
}

void Lowering::share(const WeightChain& chain) {
  Move move;
  move.label = "shared " + network_->tensors[chain.tensor].name + " gradient";
  move.kind = MoveKind::all_reduce;
  move.pass = Pass::step;
  move.when = When::once_last_use;
  move.cargo = Cargo::gradient;
  move.blocking = true;
  Group group;
  group.digits = {{layout_.stride * (layout_.stages - 1), 2}};
  group.size = 2;
  group.label = placed_->mesh.label(layout_.atoms) + "{first,last}";
  out_.groups.push_back(group);
  move.group = static_cast<int>(out_.groups.size()) - 1;
  move.local_before = move.local_after = Bytes(chain.accumulator_bytes);
  move.received = Bytes(chain.accumulator_bytes);  // all-reduce over two: 2 * 1/2 of the size
  if (explain_) move.because = "used on the first and on the last stage";
  out_.shared.push_back(std::move(move));
}

}  // namespace stepcast::dataflow
