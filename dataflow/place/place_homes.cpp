// Homes of activations and weights: stated first, then natural, Partial reduced (rules 12, 14, 24).
#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "dataflow/place/block_placer.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {

BlockPlacer::BlockPlacer(const Network& network, const Block& block, const Mesh& mesh,
    const std::vector<OperatorSplit>& splits, const std::vector<Statement>& statements, const PlacingOptions& options)
    : net_(network), block_(block), mesh_(mesh), splits_(splits), statements_(statements), options_(options) {
  const std::size_t tensors = net_.tensors.size();
  uses_.resize(tensors);
  home_.resize(tensors);
  home_known_.assign(tensors, 0);
  available_.resize(tensors);
  contributions_.resize(tensors);
  parts_.resize(tensors);
  totals_.resize(tensors);
  uses_in_backward_.resize(tensors);
  partial_pass_.assign(block_.operators.size(), 0);
  in_backward_.assign(block_.operators.size(), 0);
  collect_uses();
  find_gradients();
  sort_statements();
}

void BlockPlacer::find_gradients() {
  targets_.reserve(block_.operators.size());
  for (const Operator& op : block_.operators) targets_.push_back(differentiable_inputs(op, net_.tensors));
  if (options_.step_alone) return;
  reads_.reserve(block_.operators.size());
  for (const Operator& op : block_.operators) reads_.push_back(backward_reads(op));
}

void BlockPlacer::sort_statements() {
  for (std::size_t i = 0; i < statements_.size(); ++i) {
    const auto& body = statements_[i].body;
    if (std::holds_alternative<MoveStatement>(body)) moving_.push_back(static_cast<int>(i));
    if (std::holds_alternative<HomeStatement>(body)) homing_.push_back(static_cast<int>(i));
    if (const auto* save = std::get_if<SaveStatement>(&body)) saving_.push_back(save);
  }
}

void BlockPlacer::collect_uses() {
  // Counted first, so that all stand in two lists, tensor by tensor.
  struct Count {
    std::size_t producers = 0, consumers = 0;
  };
  std::vector<Count> counts(net_.tensors.size());
  tensors_.reserve(2 * block_.operators.size());
  const auto touch = [&](int tensor) -> Count& {
    Count& count = counts[tensor];
    if (count.producers + count.consumers == 0) tensors_.push_back(tensor);
    return count;
  };
  std::size_t inputs = 0;
  for (const Operator& op : block_.operators) {
    inputs += op.inputs.size();
    for (const Access& input : op.inputs) ++touch(input.tensor).consumers;
    ++touch(op.output.tensor).producers;
  }
  producers_.resize(block_.operators.size());
  consumers_.resize(inputs);
  Count at;
  for (const int tensor : tensors_) {
    const Count here = std::exchange(counts[tensor], at);
    uses_[tensor] = {
        {producers_.data() + at.producers, here.producers}, {consumers_.data() + at.consumers, here.consumers}};
    at.producers += here.producers, at.consumers += here.consumers;
  }
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o) {
    const Operator& op = block_.operators[o];
    for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i)
      consumers_[counts[op.inputs[i].tensor].consumers++] = {o, i};
    producers_[counts[op.output.tensor].producers++] = o;
  }
}

Placement BlockPlacer::natural(int tensor) const {
  Placement place;
  bool first = true;
  for (int o : uses_[tensor].producers) {
    Placement made = placement_of(block_.operators[o].output, splits_[o], mesh_, true);
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (partial_pass_[o] >> a & 1U) made.at[a] = partial_sum;
    if (first) {
      place = made;
      first = false;
      continue;
    }
    // Several operators write one tensor: a shard wins over Partial, and Partial over Replicate (rule 13).
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (made.at[a] >= 0 ? place.at[a] < 0 : made.at[a] == partial_sum && place.at[a] == replicated)
        place.at[a] = made.at[a];
  }
  return place;
}

namespace {

/// y = x + b: one rank of those that have a Partial x adds b.
bool sums_up(const Operator& op) { return op.function == "add" || op.function == "bias"; }

}  // namespace

Placement BlockPlacer::need(int o, int input) const {
  const Operator& op = block_.operators[o];
  Placement place = placement_of(op.inputs[input], splits_[o], mesh_, false);
  const int tensor = op.inputs[input].tensor;
  for (std::size_t a = 0; a < mesh_.atoms.size(); ++a) {
    if (!(partial_pass_[o] >> a & 1U)) continue;
    // Addition needs every summand Partial (a Replicate one is masked); a product takes its others whole.
    if (sums_up(op) || (home_known_[tensor] && home_[tensor].at[a] == partial_sum)) place.at[a] = partial_sum;
  }
  return place;
}

bool BlockPlacer::statement_holds(const Statement& statement, int tensor) const {
  if (statement.scope.empty()) return true;
  const auto holds = [&](int o) { return in_scope(statement.scope, block_.operators[o]); };
  return std::ranges::any_of(uses_[tensor].producers, holds) ||
         std::ranges::any_of(uses_[tensor].consumers, [&](const Consumer& c) { return holds(c.op); });
}

void BlockPlacer::check_divides(int tensor, const Placement& place, const Statement& statement) {
  for (std::size_t d = 0; d < net_.tensors[tensor].dims.size(); ++d) {
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (place.at[a] == static_cast<Slot>(d)) parts *= mesh_.atoms[a].size;
    const Dim& dim = net_.dims[net_.tensors[tensor].dims[d]];
    if (!dim.expected && dim.extent % parts != 0)
      set_error({where_of(statement),
          fmt::format("'{}' cuts dim {} ({}) of {} into {} parts", print(statement), dim.name, dim.extent,
              net_.tensors[tensor].name, parts),
          "the number of parts must divide the extent"});
  }
}

/// Sets the atoms of one place; returns those it spoke to. A compound puts the major factor on the slow atoms as far as
/// it divides (rule 4); a tensor that lacks a factor stays as it was on that part.
AtomMask BlockPlacer::apply_place(const HomePlace& p, const Statement& statement, int tensor, bool by_name,
    AtomMask free, const Placement& base, Placement& place) {
  const auto& dims = net_.tensors[tensor].dims;
  const auto each = [&](AtomMask mask, const auto& slot_of) {
    AtomMask set = 0;
    for (std::size_t a = mesh_.atoms.size(); a-- > 0;) {
      if (!(mask >> a & 1U) || mesh_.atoms[a].stage) continue;
      place.at[a] = slot_of(a);
      set |= AtomMask{1} << a;
    }
    return set;
  };
  // `*` spreads what would be whole or partial; it leaves shards alone.
  if (p.what == "*") return each(free, [&](std::size_t a) { return base.at[a] >= 0 ? base.at[a] : flat_shard; });
  if (p.what == "partial") return each(free, [](std::size_t) { return partial_sum; });
  if (p.what == "full") return each(free, [](std::size_t) { return replicated; });
  AtomMask set = 0;
  bool any = false;
  std::string_view rest = p.what;
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('*')));
    rest = rest.size() > name.size() ? rest.substr(name.size() + 1) : std::string_view{};
    const int dim = net_.find_dim(name);
    const auto found = dim < 0 ? dims.end() : std::ranges::find(dims, dim);
    if (found == dims.end()) {
      if (dim < 0 && statement.alias.empty())
        set_error({where_of(statement), fmt::format("the network has no dim '{}'", name),
            "name a dim of the tensor, *, full or partial"});
      continue;
    }
    any = true;
    AtomMask taken = 0;
    std::int64_t left =
        rest.empty() ? mesh_.size_of(free & ~set) : std::gcd(mesh_.size_of(free & ~set), net_.dims[dim].extent);
    each(free & ~set, [&](std::size_t a) -> Slot {
      if (left % mesh_.atoms[a].size != 0 || left == 1) return place.at[a];
      left /= mesh_.atoms[a].size;
      taken |= AtomMask{1} << a;
      return static_cast<Slot>(found - dims.begin());
    });
    set |= taken;
  }
  // A class statement speaks to those weights that have the dim; a named tensor must have it.
  if (!any && by_name)
    set_error({where_of(statement), fmt::format("{} has no dim '{}'", net_.tensors[tensor].name, p.what),
        "name one of its dims, *, full or partial"});
  return set;
}

/// First matching `home` statement per atom. `what` is the tensor's name, `class_name` "weights", "grads", "optimizer"
/// or "".
Placement BlockPlacer::stated(int tensor, const std::string& what, Placement base, const std::string& class_name) {
  Placement place = base;
  AtomMask done = 0;
  for (const int index : homing_) {
    const Statement& statement = statements_[index];
    const auto* home = std::get_if<HomeStatement>(&statement.body);
    const bool by_name = !what.empty() && home->what == what;
    if (!by_name && (class_name.empty() || home->what != class_name)) continue;
    if (!statement_holds(statement, tensor)) continue;
    for (const HomePlace& p : home->places) {
      AtomMask mask = 0;
      for (const std::string& name : p.axes) {
        const Mesh::Axis* axis = mesh_.find(name);
        if (!axis)
          return set_error({where_of(statement), fmt::format("unknown axis '{}' in '{}'", name, print(statement)),
                     name_hint(name, mesh_.axis_names())}),
                 place;
        mask |= axis->atoms;
      }
      done |= apply_place(p, statement, tensor, by_name, mask & ~done, base, place);
    }
    check_divides(tensor, place, statement);
  }
  return place;
}

bool BlockPlacer::is_read_from_outside(int tensor) const { return contains(block_.reads, tensor); }

void BlockPlacer::resolve_home(int tensor) {
  if (const auto read = std::ranges::find(block_.reads, tensor); read != block_.reads.end()) {
    home_[tensor] = read_homes_[static_cast<std::size_t>(read - block_.reads.begin())];
    home_known_[tensor] = 1;
    return;
  }
  const Tensor& t = net_.tensors[tensor];
  const Uses& uses = uses_[tensor];
  Placement place;
  const bool carried =
      carried_home_ && ((tensor == block_.input && carried_input_) || (tensor == block_.output && carried_output_));
  if (carried) {
    place = *carried_home_;
  } else if (uses.producers.empty()) {
    place = uses.consumers.empty() ? Placement{} : need(uses.consumers.front().op, uses.consumers.front().input);
  } else {
    place = natural(tensor);
    // The next block's readers are those of this block's input.
    const bool stream = tensor == block_.output && block_.input >= 0 && net_.tensors[block_.input].dims == t.dims;
    const auto& readers = stream && uses.consumers.empty() ? uses_[block_.input].consumers : uses.consumers;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a) {
      if (place.at[a] != partial_sum) continue;
      Slot slot = replicated;
      for (std::size_t c = 0; c < readers.size(); ++c) {
        const Slot wanted = need(readers[c].op, readers[c].input).at[a];
        if (wanted < 0) {
          slot = replicated;
          break;
        }
        if (c == 0) slot = wanted;
      }
      place.at[a] = slot;
    }
  }
  if (!carried) place = stated(tensor, t.name, place, t.role == TensorRole::weight ? "weights" : "");
  home_[tensor] = place;
  home_known_[tensor] = 1;
}

/// Rule 12: a Partial operand may go through a linear operator that is not split there; Partial never meets a function.
void BlockPlacer::pass_partials(int o) {
  const Operator& op = block_.operators[o];
  for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) {
    const int tensor = op.inputs[i].tensor;
    if (!home_known_[tensor]) resolve_home(tensor);
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a) {
      if (home_[tensor].at[a] != partial_sum) continue;
      const bool through = splits_[o].loop[a] < 0 && (op.kind == OperatorKind::einsum || sums_up(op) ||
                                                         op.function == "scale" || op.function == "dropout" ||
                                                         op.function == "rope" || (op.function == "combine" && i == 0));
      if (!through) {
        set_error({block_.name + "/" + op.name,
            fmt::format("{} is Partial on {} here, and operator {} is not linear in it there",
                net_.tensors[tensor].name, mesh_.label(AtomMask{1} << a), op.name),
            "reduce it before: give it the home `full` or a dim on that axis"});
        return;
      }
      if (op.kind == OperatorKind::einsum && (partial_pass_[o] >> a & 1U))
        set_error({block_.name + "/" + op.name,
            fmt::format("two Partial operands of a product on {}", mesh_.label(AtomMask{1} << a)),
            "reduce one of them before the product"});
      partial_pass_[o] |= AtomMask{1} << a;
    }
  }
}

Expected<Placement> BlockPlacer::boundary(const Placement& home) {
  Placement place = stated(block_.output, "boundary", home, "");
  if (error_) return tl::unexpected(*error_);
  return place;
}

Expected<Placement> boundary_placement(const Network& network, const Block& block, const Placement& home,
    const Mesh& mesh, const std::vector<Statement>& statements) {
  const auto speaks = [](const Statement& statement) {
    const auto* stated = std::get_if<HomeStatement>(&statement.body);
    return stated != nullptr && stated->what == "boundary";
  };
  if (std::ranges::none_of(statements, speaks)) return home;
  const std::vector<OperatorSplit> splits(block.operators.size());
  return BlockPlacer(network, block, mesh, splits, statements, {}).boundary(home);
}

Placement BlockPlacer::output_home() {
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o) pass_partials(o);
  if (!home_known_[block_.output]) resolve_home(block_.output);
  const Placement place = home_[block_.output];
  std::fill(home_known_.begin(), home_known_.end(), 0);
  std::fill(partial_pass_.begin(), partial_pass_.end(), 0);
  error_.reset();  // place() meets it again
  return place;
}

}  // namespace stepcast::dataflow
