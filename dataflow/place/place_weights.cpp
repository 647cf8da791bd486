// Weights, gradients, optimizer: one chain of homes (rules 24-25), and what of it happens once per step.

#include <fmt/format.h>

#include "dataflow/place/block_placer.h"
#include "dataflow/place/splits.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

/// Moves a list's matching items out of it.
template <typename Match>
void take(std::vector<PlacedItem>& from, std::vector<PlacedItem>& to, When when, const Match& match) {
  const auto middle =
      std::stable_partition(from.begin(), from.end(), [&](const PlacedItem& item) { return !match(item); });
  for (auto it = middle; it != from.end(); ++it) {
    it->when = when;
    to.push_back(std::move(*it));
  }
  from.erase(middle, from.end());
}

}  // namespace

void BlockPlacer::weight_chains() {
  for (int tensor : tensors_) {
    if (net_.tensors[tensor].role != TensorRole::weight) continue;
    WeightChain chain;
    chain.tensor = tensor;
    chain.home = home_[tensor];
    // What micro-batches add: Partial wins over Replicate where contributions differ.
    Placement made;
    bool any = false;
    for (int c : contributions_[tensor])
      for (std::size_t a = 0; a < mesh_.atoms.size(); ++a) {
        const Slot slot = out_.copies[c].place.at[a];
        if (!any || slot == partial_sum || made.at[a] == replicated) made.at[a] = slot;
        if (a + 1 == mesh_.atoms.size()) any = true;
      }
    Placement accumulator = made;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (made.at[a] < 0 && chain.home.at[a] != replicated) accumulator.at[a] = chain.home.at[a];
    accumulator = stated(tensor, "", accumulator, "grads");
    chain.accumulator = accumulator;
    if (!contributions_[tensor].empty()) {
      list_ = &out_.backward;
      combined(tensor, std::move(contributions_[tensor]), accumulator, Cargo::gradient, -1, Pass::weight_grad);
      contributions_[tensor].clear();
    }
    // The optimizer follows the accumulator; a sum left Partial goes where the weight's home is in shards, else whole.
    Placement optimizer = accumulator;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (optimizer.at[a] == partial_sum)
        optimizer.at[a] = chain.home.at[a] == partial_sum ? replicated : chain.home.at[a];
    chain.optimizer = stated(tensor, "", optimizer, "optimizer");
    if (contains(chain.optimizer.at, partial_sum))
      set_error({block_.name + "/" + net_.tensors[tensor].name, "the optimizer's home is partial",
          "only accumulators (`home grads`) may stay partial (rule 24)"});
    chain.home_elements = local_elements(net_, tensor, chain.home, mesh_);
    chain.home_bytes = chain.home_elements * net_.tensors[tensor].bytes_per_element;
    if (!net_.tensors[tensor].frozen) step_moves(chain, accumulator);
    out_.chains.push_back(std::move(chain));
  }
  // `life step`: gathered once per step, all blocks resident.
  const auto lives_a_step = [&](const PlacedItem& item) {
    if (item.kind != PlacedKind::move || item.cargo != Cargo::weight) return false;
    const Manners manners = manners_of(out_.copies[item.reads.front()].tensor, false, item.op);
    return manners.move && manners.move->life == Life::step;
  };
  take(out_.forward, out_.step, When::once_first_use, lives_a_step);
}

void BlockPlacer::step_moves(WeightChain& chain, const Placement& accumulator) {
  list_ = &out_.step;
  chain.optimizer_elements = local_elements(net_, chain.tensor, chain.optimizer, mesh_);
  const int gradient = add_copy(chain.tensor, true, accumulator, -1);
  chain.accumulator_bytes = out_.copies[gradient].bytes;
  const Manners sum = manners_of(chain.tensor, true, -1);
  emit_hops(gradient, hops(accumulator, chain.optimizer, mesh_, sum.move && sum.move->staged, flat_shard), Pass::step,
      Cargo::gradient, -1, When::once_last_use);
  const int updated = add_copy(chain.tensor, false, chain.optimizer, -1);
  emit_hops(
      updated, hops(chain.optimizer, chain.home, mesh_, false, flat_shard), Pass::step, Cargo::weight, -1, When::tail);
}

Expected<PlacedBlock> BlockPlacer::place(bool root) {
  forward();
  if (error_) return tl::unexpected(*error_);
  find_regions();
  choose_saved();
  backward(root);
  if (error_) return tl::unexpected(*error_);
  weight_chains();
  if (error_) return tl::unexpected(*error_);
  return std::move(out_);
}

namespace {

/// The stream has one home, stated by the name of the layer's output. A statement that names another block's end of it
/// would not be followed.
Expected<void> check_stream_homes(const Network& network, std::size_t layer, const std::vector<Statement>& statements) {
  const int stream = network.blocks[layer].output;
  for (const Statement& statement : statements) {
    const auto* home = std::get_if<HomeStatement>(&statement.body);
    if (!home) continue;
    for (std::size_t b = 0; b < network.blocks.size(); ++b) {
      const Block& block = network.blocks[b];
      const bool handed_on =
          b + 1 < network.blocks.size() && block.output >= 0 && network.tensors[block.output].name == home->what;
      const bool taken = block.input >= 0 && network.tensors[block.input].name == home->what;
      if ((handed_on && block.output != stream) || taken)
        return fail(where_of(statement),
            fmt::format(
                "'{}': {} is where blocks meet, and has the home of the layer's output", print(statement), home->what),
            fmt::format("state the home of {} instead", network.tensors[stream].name));
    }
  }
  return {};
}

}  // namespace

Expected<PlacedNetwork> place(const Network& network, const std::vector<MeshLine>& meshes,
    const std::vector<Statement>& statements, std::int64_t gpus, const PlacingOptions& options) {
  TRY(auto splits, resolve_splits(network, meshes, statements, gpus));
  PlacedNetwork placed{std::move(splits.mesh), std::move(splits.blocks), {}};
  // The stream that blocks hand on has one home: that of the repeated block's output. A block that turns one thing into
  // another (a head, a single product) hands on no stream.
  std::optional<Placement> carried;
  std::size_t layer = network.blocks.size();
  for (std::size_t b = 0; b < network.blocks.size(); ++b) {
    const Block& block = network.blocks[b];
    if (block.input < 0 || block.output < 0 || network.tensors[block.input].dims != network.tensors[block.output].dims)
      continue;
    if (layer == network.blocks.size() || block.repeat > network.blocks[layer].repeat) layer = b;
  }
  if (layer < network.blocks.size()) {
    TRY(check_stream_homes(network, layer, statements));
    carried = BlockPlacer(network, network.blocks[layer], placed.mesh, placed.splits[layer], statements, options)
                  .output_home();
  }
  for (std::size_t b = 0; b < network.blocks.size(); ++b) {
    const Block& block = network.blocks[b];
    BlockPlacer placer(network, block, placed.mesh, placed.splits[b], statements, options);
    const bool hands_on =
        carried && network.tensors[block.output].dims == network.tensors[network.blocks[layer].output].dims;
    if (carried) placer.set_carried_home(*carried, block.input >= 0, hands_on);
    TRY(auto result, placer.place(block.operators.back().function == "cross_entropy"));
    placed.blocks.push_back(std::move(result));
  }
  return placed;
}

}  // namespace stepcast::dataflow
