#include "tests/dataflow/execute.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tests/dataflow/execute_layout.h"
#include "tests/dataflow/execute_moves.h"

namespace stepcast::dataflow {
namespace {

/// One block: its copies and what runs over them.
class RankedBlock {
 public:
  RankedBlock(const Network& net, const PlacedNetwork& placed, std::size_t index, const ShardLayout& layout)
      : net_(net), block_(net.blocks[index]), placed_(placed.blocks[index]), splits_(placed.splits[index]),
        mesh_(placed.mesh), layout_(layout), collectives_(net_, block_, placed_, mesh_, layout_),
        parts_(placed_.copies.size()), made_side_(block_.operators.size(), 0) {}

  int counted = 0;

  /// Copies that no item writes: weights, data, the block's input. The first of each tensor.
  void give(const GivenValues& given) {
    std::vector<char> seen(net_.tensors.size(), 0);
    for (int c : unwritten(false)) {
      const int tensor = placed_.copies[c].tensor;
      if (seen[tensor]++ == 0 && tensor != block_.input && !is_read(tensor)) put(c, given.value[tensor]);
    }
  }
  void give_input(const std::vector<double>& whole) { put(placed_.input, whole); }
  void give_read(std::size_t i, const std::vector<double>& whole) { put(placed_.reads[i].value, whole); }
  void give_loan_gradient(std::size_t i, const std::vector<double>& whole) {
    if (placed_.loans[i].gradient >= 0) put(placed_.loans[i].gradient, whole);
  }
  void give_read_gradient(std::size_t i, const std::vector<double>& whole) {
    if (placed_.reads[i].gradient_before >= 0) put(placed_.reads[i].gradient_before, whole);
  }
  void give_output_gradient(const std::vector<double>& whole) {
    if (placed_.output_gradient >= 0) put(placed_.output_gradient, whole);
  }

  void forward() {
    for (const PlacedItem& item : placed_.step)
      if (item.when == When::once_first_use) run(item);
    for (const PlacedItem& item : placed_.forward) run(item);
  }

  /// Whatever is not saved, a weight at home or granted a longer life, or data, is gone.
  void forget() {
    std::vector<char> keep(parts_.size(), 0);
    std::fill(made_side_.begin(), made_side_.end(), 0);
    for (const SavedCopy& saved : placed_.saved) {
      if (saved.copy >= 0) keep[saved.copy] = 1;
      else made_side_[saved.op] = 1;
    }
    for (int c : placed_.kept_gathers) keep[c] = 1;
    for (const PlacedRead& read : placed_.reads) keep[read.value] = 1;
    for (int c : unwritten(false))
      keep[c] = keep[c] || net_.tensors[placed_.copies[c].tensor].role != TensorRole::activation;
    for (std::size_t c = 0; c < parts_.size(); ++c) {
      const Copy& copy = placed_.copies[c];
      if (!keep[c] && !copy.gradient && net_.tensors[copy.tensor].role != TensorRole::data) parts_[c].clear();
    }
  }

  void backward() {
    for (const PlacedItem& item : placed_.backward) run(item);
  }

  void step(Executed& out) {
    for (const WeightChain& chain : placed_.chains) {
      if (net_.tensors[chain.tensor].frozen) continue;
      const int sum = last_written(placed_.backward, chain.tensor, true);
      if (sum < 0) refuse(net_.tensors[chain.tensor].name + " gets no gradient");
      if (placed_.copies[sum].place != chain.accumulator)
        refuse("the gradient of " + net_.tensors[chain.tensor].name + " does not reach its accumulator");
      parts_[accumulator_of(chain)] = parts_[sum];
    }
    for (const PlacedItem& item : placed_.step)
      if (item.when == When::once_last_use) run(item);
    for (const WeightChain& chain : placed_.chains)
      if (!net_.tensors[chain.tensor].frozen) update(chain, out);
    for (const PlacedItem& item : placed_.step)
      if (item.when == When::tail) run(item);
    for (const WeightChain& chain : placed_.chains) {
      if (net_.tensors[chain.tensor].frozen) continue;
      const int moved = last_written(placed_.step, chain.tensor, false, When::tail),
                home = moved >= 0 ? moved : updated_of(chain);
      if (placed_.copies[home].place != chain.home)
        refuse("the new " + net_.tensors[chain.tensor].name + " does not reach its home");
      out.weights[chain.tensor] = whole(home);
    }
  }

  /// The tensor that the ranks hold together; every replica must agree and every shard be where the placement says.
  std::vector<double> whole(int copy) const {
    const Copy& c = placed_.copies[copy];
    if (parts_[copy].empty()) refuse(collectives_.name_of(copy) + " does not exist");
    AtomMask partial = 0;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (c.place.at[a] == partial_sum) partial |= AtomMask{1} << a;
    const auto elements = static_cast<std::size_t>(net_.elements(c.tensor));
    std::vector<double> all(elements);
    std::vector<char> known(elements, 0);
    for (int r = 0; r < layout_.ranks(); ++r) {
      const Part sum = collectives_.joined(copy, parts_[copy], layout_.group(r, partial), Collectives::Join::sum);
      for (std::size_t e = 0; e < elements; ++e) {
        if (!sum.held[e]) continue;
        if (known[e] && !nearly_equal(all[e], sum.value[e]))
          refuse(fmt::format(
              "replicas of {} differ at {}: {} and {}", collectives_.name_of(copy), e, all[e], sum.value[e]));
        all[e] = sum.value[e];
        known[e] = 1;
      }
    }
    if (std::count(known.begin(), known.end(), 0) > 0)
      refuse("parts of " + collectives_.name_of(copy) + " lie nowhere");
    return all;
  }

  [[nodiscard]] const PlacedBlock& placed() const { return placed_; }

 private:
  std::vector<int> unwritten(bool gradient) const {
    std::vector<char> written(placed_.copies.size(), 0);
    for (const auto* list : {&placed_.forward, &placed_.backward, &placed_.step})
      for (const PlacedItem& item : *list)
        for (int w : item.writes)
          if (w >= 0) written[w] = 1;
    std::vector<int> copies;
    for (std::size_t c = 0; c < placed_.copies.size(); ++c)
      if (!written[c] && placed_.copies[c].gradient == gradient) copies.push_back(static_cast<int>(c));
    return copies;
  }
  /// The step's own copies of a chain stand behind all others.
  int accumulator_of(const WeightChain& chain) const { return last_unwritten(chain, true); }
  int updated_of(const WeightChain& chain) const { return last_unwritten(chain, false); }
  int last_unwritten(const WeightChain& chain, bool gradient) const {
    int found = -1;
    for (int c : unwritten(gradient))
      if (placed_.copies[c].tensor == chain.tensor) found = c;
    return found;
  }
  int last_written(
      const std::vector<PlacedItem>& list, int tensor, bool gradient, When when = When::each_micro_batch) const {
    int found = -1;
    for (const PlacedItem& item : list)
      for (int w : item.writes)
        if (w >= 0 && item.when == when && placed_.copies[w].tensor == tensor && placed_.copies[w].gradient == gradient)
          found = w;
    return found;
  }

  /// A given value, spread as its placement says; of a Partial one coordinate 0 keeps it and the rest hold zero.
  void put(int copy, const std::vector<double>& value) {
    const Copy& c = placed_.copies[copy];
    for (int r = 0; r < layout_.ranks(); ++r) {
      Part part{value, layout_.holds(c.tensor, c.place, r, ~AtomMask{0})};
      for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
        if (c.place.at[a] == partial_sum && layout_.coordinate(r, a) != 0)
          std::fill(part.value.begin(), part.value.end(), 0.0);
      parts_[copy].push_back(std::move(part));
    }
  }

  void run(const PlacedItem& item) {
    for (int read : item.reads)
      if (read >= 0 && parts_[read].empty())
        refuse(fmt::format("{} is read but was not kept or made", collectives_.name_of(read)));
    switch (item.kind) {
      case PlacedKind::compute: compute(item); break;
      case PlacedKind::gradient: gradient(item); break;
      case PlacedKind::sum: sum(item); break;
      case PlacedKind::move: move(item); break;
    }
    for (int written : item.writes)
      if (written >= 0) check_placement(written);
  }

  void check_placement(int copy) const {
    const Copy& c = placed_.copies[copy];
    for (int r = 0; r < layout_.ranks(); ++r)
      if (parts_[copy][r].held != layout_.holds(c.tensor, c.place, r, ~AtomMask{0}))
        refuse(fmt::format("rank {} does not hold {} as its placement says", r, collectives_.name_of(copy)));
  }

  RankOperator on_rank(const PlacedItem& item, int rank) const {
    const Operator& op = block_.operators[item.op];
    RankOperator on{net_, op, {}};
    for (int loop : loops_of(op)) on.walked.push_back(layout_.walked(loop, splits_[item.op], rank));
    return on;
  }
  const Part* part(int copy, int rank) const { return copy < 0 ? nullptr : &parts_[copy][rank]; }

  void compute(const PlacedItem& item) {
    RankParts made;
    std::string error;
    for (int r = 0; r < layout_.ranks(); ++r) {
      std::vector<const Part*> inputs;
      for (int read : item.reads) inputs.push_back(part(read, r));
      made.push_back(run_operator(on_rank(item, r), inputs, error));
    }
    if (!error.empty()) refuse(error);
    made_side_[item.op] = 1;
    parts_[item.writes[0]] = std::move(made);
  }

  void gradient(const PlacedItem& item) {
    const Operator& op = block_.operators[item.op];
    const bool side = op.kind == OperatorKind::attention || backward_reads(op).mask_bytes_per_output > 0;
    if (side && !made_side_[item.op]) refuse(op.name + ": its mask or statistics were not kept");
    std::vector<int> targets;
    for (std::size_t i = 0; i < item.writes.size(); ++i)
      if (item.writes[i] >= 0) targets.push_back(static_cast<int>(i));
    std::string error;
    for (int r = 0; r < layout_.ranks(); ++r) {
      std::vector<const Part*> inputs;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(part(item.reads[1 + i], r));
      std::vector<Part> made = run_gradient(
          on_rank(item, r), part(item.reads.front(), r), inputs, part(item.reads.back(), r), targets, error);
      for (std::size_t t = 0; t < targets.size(); ++t) parts_[item.writes[targets[t]]].push_back(std::move(made[t]));
    }
    if (!error.empty()) refuse(error);
  }

  void sum(const PlacedItem& item) {
    RankParts total = parts_[item.reads.front()];
    for (std::size_t i = 1; i < item.reads.size(); ++i)
      for (int r = 0; r < layout_.ranks(); ++r) {
        const Part& part = parts_[item.reads[i]][r];
        if (part.held != total[r].held)
          refuse(fmt::format("{} and {} are summed but lie differently", collectives_.name_of(item.reads.front()),
              collectives_.name_of(item.reads[i])));
        for (std::size_t e = 0; e < part.value.size(); ++e) total[r].value[e] += part.value[e];
      }
    parts_[item.writes[0]] = std::move(total);
  }

  void move(const PlacedItem& item) {
    const RankParts& source = parts_[item.reads[0]];
    RankParts made = collectives_.moved(item, source);
    counted += collectives_.check_received(item, source, made);
    parts_[item.writes[0]] = std::move(made);
  }

  void update(const WeightChain& chain, Executed& out) {
    const int moved = last_written(placed_.step, chain.tensor, true, When::once_last_use),
              gradient = moved >= 0 ? moved : accumulator_of(chain);
    if (placed_.copies[gradient].place != chain.optimizer)
      refuse("the gradient of " + net_.tensors[chain.tensor].name + " does not reach its optimizer");
    // a weight that several blocks share has a part of its gradient from each
    std::vector<double>& sum = out.gradients[chain.tensor];
    const std::vector<double> own = whole(gradient);
    sum.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) sum[i] += own[i];
    const int home = first_home(chain), fresh = updated_of(chain);
    std::vector<double> weight = whole(home);
    RankParts made = parts_[gradient];
    for (Part& part : made)
      for (std::size_t e = 0; e < weight.size(); ++e) part.value[e] = weight[e] - learning_rate * part.value[e];
    parts_[fresh] = std::move(made);
  }
  int first_home(const WeightChain& chain) const {
    for (int c : unwritten(false))
      if (placed_.copies[c].tensor == chain.tensor) return c;
    return -1;
  }

  bool is_read(int tensor) const { return std::ranges::find(block_.reads, tensor) != block_.reads.end(); }

  const Network& net_;
  const Block& block_;
  const PlacedBlock& placed_;
  const std::vector<OperatorSplit>& splits_;
  const Mesh& mesh_;
  const ShardLayout& layout_;
  Collectives collectives_;
  std::vector<RankParts> parts_;  ///< by copy
  std::vector<char> made_side_;   ///< by operator: masks and statistics exist
};

/// Of each block the one whose output it reads. A module of prediction ends in a loss of its own, and what stands
/// behind reads what the module did.
std::vector<std::size_t> blocks_before(const Network& net) {
  std::vector<std::size_t> before(net.blocks.size());
  std::size_t module = 0;
  for (std::size_t b = 1; b < net.blocks.size(); ++b) {
    if (net.blocks[b].name == "mtp") module = b;
    before[b] = net.blocks[b - 1].name == "mtp_head" ? before[module] : b - 1;
  }
  return before;
}

void run_all(const Network& net, const PlacedNetwork& placed, const GivenValues& given, Executed& out) {
  const ShardLayout layout(net, placed);
  std::vector<RankedBlock> runs;
  runs.reserve(placed.blocks.size());
  out.gradients.resize(net.tensors.size());
  out.weights.resize(net.tensors.size());
  const std::vector<std::size_t> before = blocks_before(net);
  std::vector<std::vector<double>> lent(net.tensors.size());
  for (std::size_t b = 0; b < placed.blocks.size(); ++b) {
    RankedBlock& run = runs.emplace_back(net, placed, b, layout);
    run.give(given);
    if (net.blocks[b].input >= 0) {
      run.give_input(b == 0 ? given.value[net.blocks[b].input] : out.outputs[before[b]]);
      const PlacedBlock& from = placed.blocks[before[b]];
      if (b > 0 && from.copies[from.output].place != run.placed().copies[run.placed().input].place)
        refuse("neighbouring blocks disagree where their stream lies");
    }
    for (std::size_t i = 0; i < net.blocks[b].reads.size(); ++i) run.give_read(i, lent[net.blocks[b].reads[i]]);
    run.forward();
    out.outputs.push_back(run.whole(run.placed().output));
    for (const PlacedLoan& loan : run.placed().loans)
      lent[run.placed().copies[loan.value].tensor] = run.whole(loan.value);
  }
  std::vector<std::vector<double>> read_gradients(net.tensors.size());   // summed over the blocks behind
  std::vector<std::vector<double>> output_gradients(net.blocks.size());  // the same
  for (std::size_t b = placed.blocks.size(); b-- > 0;) {
    RankedBlock& run = runs[b];
    const std::vector<PlacedLoan>& loans = run.placed().loans;
    // what is only lent has no block behind it
    if (std::ranges::none_of(loans, [&](const PlacedLoan& loan) { return loan.value == run.placed().output; }))
      run.give_output_gradient(
          output_gradients[b].empty() ? given.gradient[net.blocks[b].output] : output_gradients[b]);
    for (std::size_t i = 0; i < loans.size(); ++i)
      run.give_loan_gradient(i, read_gradients[run.placed().copies[loans[i].value].tensor]);
    for (std::size_t i = 0; i < net.blocks[b].reads.size(); ++i) {
      std::vector<double>& sum = read_gradients[net.blocks[b].reads[i]];
      sum.resize(static_cast<std::size_t>(net.elements(net.blocks[b].reads[i])));
      run.give_read_gradient(i, sum);
    }
    run.forget();
    run.backward();
    for (std::size_t i = 0; i < net.blocks[b].reads.size(); ++i)
      if (const int gradient = run.placed().reads[i].gradient; gradient >= 0)
        read_gradients[net.blocks[b].reads[i]] = run.whole(gradient);
    if (run.placed().input_gradient >= 0) out.input_gradient = run.whole(run.placed().input_gradient);
    else out.input_gradient.clear();
    if (b == 0 || net.blocks[b].input < 0) continue;
    std::vector<double>& sum = output_gradients[before[b]];
    sum.resize(std::max(sum.size(), out.input_gradient.size()));
    for (std::size_t e = 0; e < out.input_gradient.size(); ++e) sum[e] += out.input_gradient[e];
  }
  for (RankedBlock& run : runs) {
    run.step(out);
    out.counted_moves += run.counted;
  }
}

}  // namespace

GivenValues some_values(const Network& network, unsigned seed) {
  GivenValues given;
  unsigned state = seed * 2654435761U + 12345U;
  const auto next = [&] {
    return static_cast<double>((state = state * 1664525U + 1013904223U) >> 8) / (1U << 24) - 0.5;
  };
  const int words = std::max(network.find_dim("v"), network.find_dim("cl"));
  const double kinds = words < 0 ? 1 : static_cast<double>(network.dims[words].extent);
  for (const Tensor& tensor : network.tensors) {
    const auto elements = static_cast<std::size_t>(network.elements(static_cast<int>(given.value.size())));
    auto& value = given.value.emplace_back(elements);
    auto& gradient = given.gradient.emplace_back(elements);
    for (double& v : value) v = tensor.role == TensorRole::data ? std::floor((next() + 0.5) * kinds) : next();
    for (double& g : gradient) g = next();
  }
  return given;
}

Executed execute(const Network& network, const PlacedNetwork& placed, const GivenValues& given) {
  Executed out;
  try {
    run_all(network, placed, given, out);
  } catch (const RunFailed& failed) {
    out.error = failed.what;
  }
  return out;
}

std::string difference(const Network& network, const Executed& expected, const Executed& actual) {
  if (!actual.error.empty()) return actual.error;
  const auto compare = [](const std::string& what, const std::vector<double>& e,
                           const std::vector<double>& a) -> std::string {
    if (e.size() != a.size()) return what + " is missing";
    for (std::size_t i = 0; i < e.size(); ++i)
      if (!nearly_equal(e[i], a[i])) return fmt::format("{} [{}] is {}, not {}", what, i, a[i], e[i]);
    return "";
  };
  std::string found;
  const auto take = [&](const std::string& text) {
    if (found.empty()) found = text;
  };
  for (std::size_t b = 0; b < expected.outputs.size(); ++b)
    take(compare("output of block " + network.blocks[b].name, expected.outputs[b], actual.outputs[b]));
  for (std::size_t t = 0; t < network.tensors.size(); ++t) {
    take(compare("gradient of " + network.tensors[t].name, expected.gradients[t], actual.gradients[t]));
    take(compare("new " + network.tensors[t].name, expected.weights[t], actual.weights[t]));
  }
  take(compare("input gradient", expected.input_gradient, actual.input_gradient));
  return found;
}

}  // namespace stepcast::dataflow
