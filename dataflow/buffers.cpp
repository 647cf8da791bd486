// What lies in a rank's memory for one block, and how long.
#include <algorithm>

#include "dataflow/fuse.h"

namespace stepcast {
namespace {

void add_weights(const FuseContext& c, ProgramBlock& out) {
  // fp32 weights are their own master copy.
  for (const WeightChain& chain : c.placed.chains) {
    if (c.counted_weights[chain.tensor]) continue;
    const Tensor& tensor = c.network.tensors[chain.tensor];
    const double master = tensor.bytes_per_element >= 4 ? 0 : c.stack.master_bytes;
    const auto add = [&](const char* what, BufferKind kind, double bytes) {
      Buffer buffer;
      buffer.label = tensor.name + what;
      buffer.kind = kind;
      buffer.bytes = Bytes(bytes);
      out.buffers.push_back(std::move(buffer));
    };
    add("", BufferKind::weight, chain.home_bytes);
    add(" gradient", BufferKind::gradient, chain.accumulator_bytes);
    add(" optimizer", BufferKind::optimizer, chain.optimizer_elements * (master + c.stack.optimizer_bytes));
    out.parameters += chain.home_elements;
    out.optimizer_elements += chain.optimizer_elements;
  }
}

void add_saved(const FuseContext& c, ProgramBlock& out) {
  for (const SavedCopy& saved : c.placed.saved) {
    Buffer buffer;
    buffer.label = saved.copy >= 0 ? c.network.tensors[c.placed.copies[saved.copy].tensor].name : c.block.operators[saved.op].name + " side";
    buffer.kind = BufferKind::saved;
    buffer.count = Count::per_micro_batch;
    buffer.bytes = Bytes(saved.bytes);
    buffer.held_until_weight_grad = saved.held_until_weight_grad;
    out.buffers.push_back(std::move(buffer));
  }
}

/// Gathered weights: in the window of blocks being worked on, or as long as their granted life.
void add_gathered(const FuseContext& c, ProgramBlock& out) {
  const auto add = [&](int copy, Count count) {
    Buffer buffer;
    buffer.label = c.network.tensors[c.placed.copies[copy].tensor].name + " gathered";
    buffer.kind = BufferKind::gathered_weight;
    buffer.count = count;
    buffer.bytes = Bytes(c.placed.copies[copy].bytes);
    out.buffers.push_back(std::move(buffer));
  };
  const auto gathers = [&](const PlacedItem& item) {
    return item.kind == PlacedKind::move && item.cargo == Cargo::weight && item.move != MoveKind::slice && item.move != MoveKind::mask;
  };
  for (const PlacedItem& item : c.placed.forward) {
    if (!gathers(item)) continue;
    const int copy = item.writes.front();
    const bool kept = std::find(c.placed.kept_gathers.begin(), c.placed.kept_gathers.end(), copy) != c.placed.kept_gathers.end();
    add(copy, kept ? Count::per_micro_batch : Count::per_block_window);
  }
  for (const PlacedItem& item : c.placed.step)
    if (item.when == When::once_first_use && gathers(item)) add(item.writes.front(), Count::persistent);
}

void add_transient(const FuseContext& c, const ListPlaces& places, Count count, ProgramBlock& out) {
  const bool forward = count == Count::transient_forward;
  for (std::size_t i = 0; i < c.placed.copies.size(); ++i) {
    if (places.born[i] < 0) continue;
    const Copy& copy = c.placed.copies[i];
    const bool weight = c.network.tensors[copy.tensor].role == TensorRole::weight;
    if (weight && !copy.gradient) continue;  // counted as gathered
    if (std::any_of(c.placed.saved.begin(), c.placed.saved.end(), [&](const SavedCopy& s) { return s.copy == static_cast<int>(i); })) continue;
    if (weight) {
      // A gradient that is added straight into its accumulator has no buffer of its own.
      const auto chain = std::find_if(c.placed.chains.begin(), c.placed.chains.end(), [&](const WeightChain& w) { return w.tensor == copy.tensor; });
      if (chain != c.placed.chains.end() && chain->accumulator == copy.place) continue;
    }
    Buffer buffer;
    buffer.label = (copy.gradient ? "d" : "") + c.network.tensors[copy.tensor].name;
    buffer.kind = copy.parent >= 0 ? BufferKind::message : BufferKind::temporary;
    buffer.count = count;
    buffer.bytes = Bytes(copy.bytes);
    buffer.born = places.born[i];
    const int end = static_cast<int>((forward ? out.forward : out.backward).size()) - 1;
    const bool leaves = static_cast<int>(i) == c.placed.output || static_cast<int>(i) == c.placed.input_gradient;
    buffer.dies = leaves || places.dies[i] < 0 ? (leaves ? end : places.born[i]) : places.dies[i];
    out.buffers.push_back(std::move(buffer));
  }
}

}  // namespace

void add_buffers(const FuseContext& c, const ListPlaces& forward, const ListPlaces& backward, ProgramBlock& out) {
  add_weights(c, out);
  add_saved(c, out);
  add_gathered(c, out);
  add_transient(c, forward, Count::transient_forward, out);
  add_transient(c, backward, Count::transient_backward, out);
}

}  // namespace stepcast
