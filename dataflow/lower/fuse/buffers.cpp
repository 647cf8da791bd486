// What lies in a rank's memory for one block, and how long.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dataflow/lower/fuse/fuse.h"
#include "dataflow/lower/fuse/logits.h"
#include "dataflow/place/placement.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// Where weights in 32 bits lie in shards and are their own master copy (FSDP: 2 bytes beside the 2 of the working
/// type), what is gathered for longer than a block lies beside the shards that it is made of: FSDP's SHARD_GRAD_OP and
/// fully_shard's reshard_after_forward=False (torch/distributed/fsdp/_flat_param.py: _local_shard beside
/// _full_param_padded; _fully_shard/_fsdp_param.py: _sharded_param_data beside _unsharded_param). DeepSpeed's stage 2
/// and Megatron's distributed optimizer have whole weights alone, of which shards are views.
double shard_beside(const FuseContext& c, const WeightChain& chain) {
  constexpr double single = 4;
  const bool own_master = c.stack.master_bytes > 0 && c.stack.master_bytes < single;
  const bool in_shards = chain.optimizer_elements < chain.home_elements;
  return own_master && in_shards ? chain.optimizer_elements * c.network.tensors[chain.tensor].bytes_per_element : 0;
}

void add_weights(const FuseContext& c, ProgramBlock& out) {
  // fp32 weights are their own master copy.
  for (const WeightChain& chain : c.placed.chains) {
    if (c.counted_weights[chain.tensor]) continue;
    const Tensor& tensor = c.network.tensors[chain.tensor];
    const double share = c.block.repeat > 1 && (tensor.shared || c.blocks_reading[chain.tensor] > 1)
                             ? 1.0 / static_cast<double>(c.block.repeat)
                             : 1;
    const double master = tensor.bytes_per_element >= 4 ? 0 : c.stack.master_bytes;
    const auto add = [&](const char* what, BufferKind kind, double bytes) {
      Buffer buffer;
      buffer.label = c.label([&] { return tensor.name + what; });
      buffer.kind = kind;
      buffer.bytes = Bytes(bytes * share);
      out.buffers.push_back(std::move(buffer));
    };
    add("", BufferKind::weight, chain.home_bytes);
    out.parameters += chain.home_elements * share;
    const int reader = c.facts.tensors[chain.tensor].reader;
    const bool expert = reader >= 0 && c.facts.operators[reader].expert;
    const bool wide =
        !expert && (reader < 0 || c.block.place == Block::Place::first || c.facts.operators[reader].keeps_width);
    if (expert) out.expert_parameters += chain.home_elements * share;
    if (wide) out.wide_parameters += chain.home_elements * share;
    if (c.labelled && reader >= 0 && c.placed.backward.empty()) {
      const Operator& op = c.block.operators[reader];
      out.weights.push_back(
          {op.name, op.kernel.empty() ? op.name : op.kernel, chain.home_elements * share, expert, wide});
    }
    if (tensor.frozen) continue;
    add(" gradient", BufferKind::gradient, chain.accumulator_bytes);
    add(" optimizer", BufferKind::optimizer,
        chain.optimizer_elements * (master + c.stack.optimizer_bytes) + shard_beside(c, chain));
    out.optimizer_elements += chain.optimizer_elements * share;
  }
}

/// The matrix dims of a weight on one rank: elements of one matrix (experts hold several) and of its contracted dims.
struct MatrixShape {
  double elements = 1, contracted = 1;
};

MatrixShape shape_of(const FuseContext& c, const Operator& op, const OperatorSplit& split, const Access& weight) {
  const auto reads = [](const Access& access, int loop) { return contains(access.loops, loop); };
  const Access& other = op.inputs[op.inputs[0].tensor == weight.tensor ? 1 : 0];
  MatrixShape shape;
  for (int loop : weight.loops) {
    const bool in = reads(other, loop), out = reads(op.output, loop);
    if (in && out) continue;  // one matrix per expert
    const double extent = local_extent(c.network, loop, split, c.mesh);
    shape.elements *= extent;
    if (in) shape.contracted *= extent;
  }
  return shape;
}

/// Extents are far below what a whole number holds, and written faster as one.
std::int64_t rounded(double extent) { return static_cast<std::int64_t>(std::nearbyint(extent)); }

/// Gradients are added to their accumulators by the products themselves; autograd is handed a stand-in of the weight's
/// shape and type instead, which is cached: one per distinct shape on a rank. Products of one kernel are one weight.
void add_stand_ins(const FuseContext& c, ProgramBlock& out) {
  if (!c.stack.gradient_stand_ins) return;
  struct Joined {
    std::string kernel;
    MatrixShape shape;
    double bytes_per_element = 2;
  };
  std::vector<Joined> weights;
  for (std::size_t o = 0; o < c.block.operators.size(); ++o) {
    const Operator& op = c.block.operators[o];
    if (op.kind != OperatorKind::einsum || op.inputs.size() != 2) continue;
    for (const Access& input : op.inputs) {
      const Tensor& tensor = c.network.tensors[input.tensor];
      if (tensor.role != TensorRole::weight || tensor.frozen) continue;
      const MatrixShape shape = shape_of(c, op, c.splits[o], input);
      if (!weights.empty() && !op.kernel.empty() && weights.back().kernel == op.kernel &&
          weights.back().shape.contracted == shape.contracted)
        weights.back().shape.elements += shape.elements;
      else weights.push_back({op.kernel, shape, tensor.bytes_per_element});
    }
  }
  for (const Joined& weight : weights) {
    Buffer buffer;
    buffer.label = fmt::format("gradient stand-in {} x {}", rounded(weight.shape.elements / weight.shape.contracted),
        rounded(weight.shape.contracted));
    buffer.kind = BufferKind::temporary;
    buffer.count = Count::shared;
    buffer.bytes = Bytes(weight.shape.elements * weight.bytes_per_element);
    out.buffers.push_back(std::move(buffer));
  }
}

/// Under a narrow plan every projection keeps its weight cast, and transposed where that is another copy, from one
/// optimizer step to the next (TransformerEngine: weight workspaces filled on the first micro-batch). Gathered weights
/// are cast anew and keep none.
void add_narrow_weights(const FuseContext& c, ProgramBlock& out) {
  if (c.narrow_bytes == 0) return;
  for (std::size_t o = 0; o < c.block.operators.size(); ++o) {
    const Operator& op = c.block.operators[o];
    if (!c.facts.operators[o].is_cast) continue;
    for (const Access& input : op.inputs)
      for (const WeightChain& chain : c.placed.chains) {
        if (chain.tensor != input.tensor || !(chain.home == placement_of(input, c.splits[o], c.mesh, false))) continue;
        Buffer buffer;
        buffer.label = c.label([&] { return c.network.tensors[input.tensor].name + " cast"; });
        buffer.kind = BufferKind::weight;
        buffer.bytes = Bytes(c.narrow_copies * chain.home_elements * c.narrow_bytes);
        out.buffers.push_back(std::move(buffer));
      }
  }
}

/// A rotary key that the heads of one attention core share, and lacks their dims, lies in memory once per local head.
double heads_that_copy(const FuseContext& c, int tensor) {
  for (std::size_t o = 0; o < c.block.operators.size(); ++o) {
    const Operator& op = c.block.operators[o];
    if (op.kind != OperatorKind::attention || op.inputs.size() < 4 || op.inputs.back().tensor != tensor) continue;
    if (!contains(op.inputs.back().loops, op.key_loop)) continue;
    double heads = 1;
    for (int loop : op.inputs[1].loops)  // K's dims that the key lacks, but for the head size
      if (loop != op.inputs[1].loops.back() && !contains(op.inputs.back().loops, loop))
        heads *= local_extent(c.network, loop, c.splits[o], c.mesh);
    return heads;
  }
  return 1;
}

/// Last backward item that reads the gradient of what `copy` holds.
int gradient_dies(const FuseContext& c, const ListPlaces& backward, int copy) {
  int last = -1;
  for (std::size_t i = 0; i < c.placed.copies.size(); ++i)
    if (c.placed.copies[i].gradient && c.placed.copies[i].tensor == c.placed.copies[copy].tensor)
      last = std::max(last, backward.dies[i]);
  return last;
}

void add_saved(const FuseContext& c, const ListPlaces& forward, const ListPlaces& backward, ProgramBlock& out) {
  const int end = static_cast<int>(out.backward.size()) - 1;
  const LogitsInMemory logits(c);
  for (const SavedCopy& saved : c.placed.saved) {
    if (saved.copy >= 0 && c.stack.gates_in_experts && c.facts.tensors[c.placed.copies[saved.copy].tensor].combined)
      continue;
    Buffer buffer;
    buffer.label = c.label([&] {
      return saved.copy >= 0 ? c.network.tensors[c.placed.copies[saved.copy].tensor].name
                             : c.block.operators[saved.op].name + " side";
    });
    buffer.kind = BufferKind::saved;
    buffer.count = Count::per_micro_batch;
    buffer.bytes = Bytes(saved.bytes);
    if (saved.copy >= 0) buffer.bytes = buffer.bytes * logits.kept(c.placed.copies[saved.copy].tensor);
    if (saved.copy >= 0 && c.narrow_bytes > 0 && c.facts.tensors[c.placed.copies[saved.copy].tensor].kept_narrow)
      buffer.bytes =
          buffer.bytes * (c.narrow_bytes / c.network.tensors[c.placed.copies[saved.copy].tensor].bytes_per_element);
    if (saved.copy >= 0 && c.stack.rotary_key_per_head)
      buffer.bytes = buffer.bytes * heads_that_copy(c, c.placed.copies[saved.copy].tensor);
    buffer.held_until_weight_grad = saved.held_until_weight_grad;
    const bool read = saved.copy >= 0 && backward.dies[saved.copy] >= 0;
    buffer.born = saved.copy >= 0 ? std::max(forward.born[saved.copy], 0) : 0;
    buffer.dies = read ? backward.dies[saved.copy] : end;
    if (saved.copy >= 0 && c.stack.loss_in_place && c.facts.tensors[c.placed.copies[saved.copy].tensor].read_by_loss)
      buffer.dies = gradient_dies(c, backward, saved.copy);
    out.buffers.push_back(std::move(buffer));
  }
}

/// Gathered weights: in the window of blocks being worked on, or as long as their granted life.
void add_gathered(const FuseContext& c, ProgramBlock& out) {
  const auto add = [&](int copy, Count count) {
    Buffer buffer;
    buffer.label = c.label([&] { return c.network.tensors[c.placed.copies[copy].tensor].name + " gathered"; });
    buffer.kind = BufferKind::gathered_weight;
    buffer.count = count;
    buffer.bytes = Bytes(c.placed.copies[copy].bytes);
    out.buffers.push_back(std::move(buffer));
  };
  const auto gathers = [&](const PlacedItem& item) {
    return item.kind == PlacedKind::move && item.cargo == Cargo::weight && item.move != MoveKind::slice &&
           item.move != MoveKind::mask;
  };
  for (const PlacedItem& item : c.placed.forward) {
    if (!gathers(item)) continue;
    const int copy = item.writes.front();
    const bool kept = contains(c.placed.kept_gathers, copy);
    add(copy, kept ? Count::per_micro_batch : Count::per_block_window);
  }
  for (const PlacedItem& item : c.placed.step)
    if (item.when == When::once_first_use && gathers(item)) add(item.writes.front(), Count::persistent);
}

/// What later blocks read is kept from here until backward comes back, and so is the gradient that they sum.
void add_loans(const FuseContext& c, ProgramBlock& out) {
  for (const PlacedLoan& loan : c.placed.loans)
    for (const int held : {loan.value, loan.gradient}) {
      if (held < 0) continue;
      const Copy& copy = c.placed.copies[held];
      Buffer buffer;
      buffer.label =
          c.label([&] { return c.network.tensors[copy.tensor].name + (held == loan.value ? "" : " gradient"); });
      buffer.kind = BufferKind::saved;
      buffer.count = Count::per_micro_batch;
      buffer.bytes = Bytes(copy.bytes);
      buffer.born = std::max(0, static_cast<int>(out.forward.size()) - 1);
      out.buffers.push_back(std::move(buffer));
    }
}

/// The gradient of what the block reads beside its input, with its own share: counted where that was made.
bool is_summed(const FuseContext& c, int copy) {
  return std::ranges::any_of(c.placed.reads, [&](const PlacedRead& read) { return read.gradient == copy; });
}

void add_transient(const FuseContext& c, const ListPlaces& places, Count count, ProgramBlock& out) {
  const bool forward = count == Count::transient_forward;
  const int end = static_cast<int>((forward ? out.forward : out.backward).size()) - 1;
  const LogitsInMemory logits(c);
  std::vector<char> saved(c.placed.copies.size(), 0);
  for (const SavedCopy& one : c.placed.saved)
    if (one.copy >= 0) saved[one.copy] = 1;
  for (std::size_t i = 0; i < c.placed.copies.size(); ++i) {
    if (places.born[i] < 0 || saved[i] != 0) continue;
    const Copy& copy = c.placed.copies[i];
    const bool weight = c.network.tensors[copy.tensor].role == TensorRole::weight;
    if (weight && !copy.gradient) continue;  // counted as gathered
    if (weight) {
      // A gradient that is added straight into its accumulator has no buffer of its own.
      const auto chain = std::ranges::find(c.placed.chains, copy.tensor, &WeightChain::tensor);
      // A look-up's gradient is a whole table of the weight's own type before it is added.
      const bool looked_up = c.facts.tensors[copy.tensor].looked_up;
      if (!looked_up && chain != c.placed.chains.end() && chain->accumulator == copy.place) continue;
    }
    if (c.stack.loss_in_place && copy.gradient && c.facts.tensors[copy.tensor].read_by_loss) continue;
    const int at = static_cast<int>(i);
    if (is_summed(c, at)) continue;
    Buffer buffer;
    buffer.label = c.label([&] { return (copy.gradient ? "d" : "") + c.network.tensors[copy.tensor].name; });
    buffer.kind = copy.parent >= 0 ? BufferKind::message : BufferKind::temporary;
    buffer.count = count;
    buffer.bytes = Bytes(copy.bytes * logits.passing(copy.tensor, copy.gradient) *
                         (weight && c.facts.tensors[copy.tensor].looked_up
                                 ? c.network.tensors[copy.tensor].bytes_per_element / c.stack.gradient_bytes
                                 : 1));
    buffer.born = places.born[i];
    const bool leaves = at == c.placed.output || at == c.placed.input_gradient;
    buffer.dies = leaves || places.dies[i] < 0 ? (leaves ? end : places.born[i]) : places.dies[i];
    out.buffers.push_back(std::move(buffer));
  }
}

}  // namespace

void add_buffers(const FuseContext& c, const ListPlaces& forward, const ListPlaces& backward, ProgramBlock& out) {
  constexpr std::size_t of_weight = 3, of_copy = 2;  // of most copies there is one
  out.buffers.reserve(of_weight * c.placed.chains.size() + c.placed.copies.size() / of_copy);
  add_weights(c, out);
  add_narrow_weights(c, out);
  if (c.step_alone) return;
  add_stand_ins(c, out);
  add_saved(c, forward, backward, out);
  add_loans(c, out);
  add_gathered(c, out);
  add_transient(c, forward, Count::transient_forward, out);
  if (!out.backward.empty()) add_transient(c, backward, Count::transient_backward, out);
}

}  // namespace stepcast::dataflow
