// Weights, gradients, optimizer: one chain of homes (rules 24-25), and what of it happens once per step.
#include <cassert>
#include <memory>

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

/// Chains follow from homes and from where each gradient is made.
void BlockPlacer::contributions_alone(bool root) {
  for (const int tensor : tensors_)
    if (uses_[tensor].producers.empty() && !home_known_[tensor]) resolve_home(tensor);
  const int operators = static_cast<int>(block_.operators.size());
  for (int o = 0; o < operators; ++o) {
    pass_partials(o);
    if (error_) return;
    if (const int tensor = block_.operators[o].output.tensor; !home_known_[tensor]) resolve_home(tensor);
    if (error_) return;
  }
  std::vector<char> flows(net_.tensors.size(), 0);  // by tensor: has a gradient
  for (const int tensor : lent_) {
    out_.loans.push_back({add_copy(tensor, false, home_[tensor], -1), -1});
    flows[tensor] = 1;
  }
  if (block_.output >= 0) {
    out_.output = add_copy(block_.output, false, home_[block_.output], -1);
    flows[block_.output] = root ? 0 : 1;
  }
  for (int o = operators; o-- > 0;) {
    const Operator& op = block_.operators[o];
    const bool is_root = o + 1 == operators && (root || block_.output < 0);
    if (flows[op.output.tensor] == 0 && !is_root) continue;
    for (const int i : targets_[o]) {
      const int tensor = op.inputs[i].tensor;
      flows[tensor] = 1;
      if (net_.tensors[tensor].role == TensorRole::weight)
        contributions_[tensor].push_back(add_copy(tensor, true, contribution(o, i), -1));
    }
  }
}

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
    if (!contributions_[tensor].empty() && !options_.step_alone) {
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
    if (!net_.tensors[tensor].frozen && !options_.passes_alone) step_moves(chain, accumulator);
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
  if (options_.step_alone) {
    contributions_alone(root);
    if (error_) return tl::unexpected(*error_);
    weight_chains();
    if (error_) return tl::unexpected(*error_);
    return std::move(out_);
  }
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

/// A run of blocks that hand on one stream: tensors over the same dims.
struct Stream {
  std::vector<int> dims;
  std::size_t layer = 0;  ///< the block that repeats most
  Placement home;
  std::unique_ptr<BlockPlacer> placer;  ///< of that block, which is placed by it, too
};

/// A block that turns one thing into another (a head, a single product) hands on no stream.
bool hands_on(const Network& network, const Block& block) {
  return block.input >= 0 && block.output >= 0 &&
         network.tensors[block.input].dims == network.tensors[block.output].dims;
}

std::vector<Stream> streams_of(const Network& network) {
  std::vector<Stream> streams;
  for (std::size_t b = 0; b < network.blocks.size(); ++b) {
    const Block& block = network.blocks[b];
    if (!hands_on(network, block)) continue;
    const std::vector<int>& dims = network.tensors[block.input].dims;
    const auto known = std::ranges::find(streams, dims, &Stream::dims);
    if (known == streams.end()) streams.push_back({dims, b, {}, nullptr});
    else if (block.repeat > network.blocks[known->layer].repeat) known->layer = b;
  }
  return streams;
}

const Stream* stream_of(const Network& network, const std::vector<Stream>& streams, int tensor) {
  if (tensor < 0) return nullptr;
  const auto found = std::ranges::find(streams, network.tensors[tensor].dims, &Stream::dims);
  return found == streams.end() ? nullptr : &*found;
}

/// A stream has one home, stated by the name of the layer's output. A statement that names another block's end of it
/// would not be followed.
Expected<void> check_stream_homes(
    const Network& network, const Stream& stream, const std::vector<Statement>& statements) {
  const std::string& name = network.tensors[network.blocks[stream.layer].output].name;
  const auto is_end = [&](int tensor, const std::string& what) {
    return tensor >= 0 && network.tensors[tensor].name == what && network.tensors[tensor].dims == stream.dims;
  };
  for (const Statement& statement : statements) {
    const auto* home = std::get_if<HomeStatement>(&statement.body);
    if (!home) continue;
    for (std::size_t b = 0; b < network.blocks.size(); ++b) {
      const Block& block = network.blocks[b];
      const bool handed_on = b + 1 < network.blocks.size() && is_end(block.output, home->what);
      if ((handed_on && home->what != name) || is_end(block.input, home->what))
        return fail(where_of(statement),
            fmt::format(
                "'{}': {} is where blocks meet, and has the home of the layer's output", print(statement), home->what),
            fmt::format("state the home of {} instead", name));
    }
  }
  return {};
}

bool ends_in_loss(const Block& block) {
  const Operator& last = block.operators.back();
  return last.function == "cross_entropy" || (last.function == "square" && has_tag(last, "loss"));
}

/// Tensors that the block makes and later ones read.
std::vector<int> lent_by(const Network& network, const Block& block) {
  std::vector<int> lent;
  for (const Block& other : network.blocks)
    for (const int tensor : other.reads)
      if (!contains(lent, tensor) &&
          std::ranges::any_of(block.operators, [&](const Operator& op) { return op.output.tensor == tensor; }))
        lent.push_back(tensor);
  return lent;
}

/// Where the block that made the tensor put it.
Placement home_in(const PlacedNetwork& placed, int tensor) {
  for (const PlacedBlock& block : placed.blocks)
    for (const PlacedLoan& loan : block.loans)
      if (block.copies[loan.value].tensor == tensor) return block.copies[loan.value].place;
  assert(false);
  return {};
}

}  // namespace

Expected<PlacedNetwork> place(const Network& network, const std::vector<MeshLine>& meshes,
    const std::vector<Statement>& statements, std::int64_t gpus, const PlacingOptions& options) {
  TRY(auto splits, resolve_splits(network, meshes, statements, gpus));
  PlacedNetwork placed{std::move(splits.mesh), std::move(splits.blocks), {}};
  // What blocks hand on has one home: that of the repeated block's output.
  std::vector<Stream> streams = streams_of(network);
  for (Stream& stream : streams) {
    TRY(check_stream_homes(network, stream, statements));
    stream.placer = std::make_unique<BlockPlacer>(
        network, network.blocks[stream.layer], placed.mesh, placed.splits[stream.layer], statements, options);
    stream.placer->set_read_homes(std::vector<Placement>(network.blocks[stream.layer].reads.size()));
    stream.home = stream.placer->output_home();
  }
  for (std::size_t b = 0; b < network.blocks.size(); ++b) {
    const Block& block = network.blocks[b];
    const auto own = std::ranges::find_if(streams, [&](const Stream& s) { return s.placer && s.layer == b; });
    const auto made = own != streams.end() ? std::move(own->placer)
                                           : std::make_unique<BlockPlacer>(
                                                 network, block, placed.mesh, placed.splits[b], statements, options);
    BlockPlacer& placer = *made;
    const Stream *in = stream_of(network, streams, block.input), *out = stream_of(network, streams, block.output);
    if (in != nullptr || out != nullptr)
      placer.set_carried_home(
          (in != nullptr ? in : out)->home, in != nullptr, out != nullptr && (in == nullptr || in == out));
    std::vector<Placement> homes;
    for (const int tensor : block.reads) homes.push_back(home_in(placed, tensor));
    placer.set_read_homes(std::move(homes));
    placer.set_lent(lent_by(network, block));
    TRY(auto result, placer.place(ends_in_loss(block)));
    placed.blocks.push_back(std::move(result));
  }
  return placed;
}

}  // namespace stepcast::dataflow
