// Forward: operators in order, each operand fetched to where the operator needs it (rules 14-18).
#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "dataflow/place/block_placer.h"

namespace stepcast::dataflow {
int BlockPlacer::add_copy(int tensor, bool gradient, const Placement& place, int parent) {
  const Tensor& t = net_.tensors[tensor];
  const double element = gradient && t.role == TensorRole::weight ? options_.gradient_bytes : t.bytes_per_element;
  out_.copies.push_back({tensor, gradient, place, local_elements(net_, tensor, place, mesh_) * element, parent});
  return static_cast<int>(out_.copies.size()) - 1;
}

int BlockPlacer::find_copy(const std::vector<int>& copies, const Placement& place) const {
  for (int c : copies)
    if (out_.copies[c].place == place) return c;
  return -1;
}

BlockPlacer::Manners BlockPlacer::manners_of(int tensor, bool gradient, int op) const {
  const Tensor& t = net_.tensors[tensor];
  const char* class_name = t.role != TensorRole::weight ? "" : gradient ? "grads" : "weights";
  for (const int i : moving_) {
    const auto* move = std::get_if<MoveStatement>(&statements_[i].body);
    const bool named = std::ranges::any_of(
        move->what, [&](const std::string& w) { return w == t.name || (w == class_name && *class_name); });
    if (named && (op < 0 ? statement_holds(statements_[i], tensor)
                         : in_scope(statements_[i].scope, block_.operators[op]) ||
                               (gradient && statement_holds(statements_[i], tensor))))
      return {move, i};
  }
  return {};
}

/// Rows of results (of a query and a head) that a reduction over these atoms joins by their softmax; 0: it adds.
double BlockPlacer::joined_elements(int copy, AtomMask atoms) const {
  const Copy& c = out_.copies[copy];
  if (c.gradient || uses_[c.tensor].producers.size() != 1) return 0;
  const int o = uses_[c.tensor].producers.front();
  const Operator& op = block_.operators[o];
  if (op.kind != OperatorKind::attention) return 0;
  for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
    if ((atoms >> a & 1U) && splits_[o].loop[a] == op.key_loop)
      return local_elements(net_, c.tensor, c.place, mesh_) /
             static_cast<double>(net_.dims[net_.tensors[c.tensor].dims.back()].extent);
  return 0;
}

/// What a gather of a cache brings (rule 17): its new rows are there already where the ranks have made all of them.
double BlockPlacer::share_that_travels(int tensor, AtomMask atoms) const {
  if (net_.tensors[tensor].role != TensorRole::cache || uses_[tensor].producers.empty()) return 1;
  const int rows = block_.operators[uses_[tensor].producers.front()].inputs.front().tensor;
  const bool there = std::ranges::any_of(available_[rows], [&](int copy) {
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if ((atoms >> a & 1U) && out_.copies[copy].place.at[a] != replicated) return false;
    return true;
  });
  return there ? 1 - net_.elements(rows) / net_.elements(tensor) : 1;
}

int BlockPlacer::emit_hops(int from, const std::vector<Hop>& hop_list, Pass pass, Cargo cargo, int op, When when) {
  if (hop_list.empty()) return from;
  const int tensor = out_.copies[from].tensor;
  const bool gradient = out_.copies[from].gradient;
  const Manners manners = manners_of(tensor, gradient, op);
  for (const Hop& hop : hop_list) {
    const double before = out_.copies[from].bytes;
    const int to = add_copy(tensor, gradient, hop.after, from);
    PlacedItem item;
    item.kind = PlacedKind::move;
    item.pass = pass;
    item.op = op;
    item.reads = {from};
    item.writes = {to};
    item.move = hop.kind;
    item.atoms = hop.atoms;
    item.cargo = cargo;
    item.when = when;
    item.statement = manners.statement;
    const auto ranks = static_cast<double>(mesh_.size_of(hop.atoms));
    item.received = received_bytes(hop.kind, before, ranks);
    const bool reduces = hop.kind == MoveKind::all_reduce || hop.kind == MoveKind::reduce_scatter;
    const double rows = reduces ? joined_elements(from, hop.atoms) : 0;
    if (rows > 0) {
      constexpr double fp32 = 4;
      const auto width = static_cast<double>(net_.dims[net_.tensors[tensor].dims.back()].extent);
      item.maxima_received = received_bytes(MoveKind::all_reduce, fp32 * rows, ranks);
      item.received = item.maxima_received + received_bytes(hop.kind, fp32 * rows * (width + 1), ranks);
    }
    if (hop.kind == MoveKind::all_gather) item.received *= share_that_travels(tensor, hop.atoms);
    item.ahead = cargo == Cargo::weight ? 1 : 0;
    if (const MoveStatement* move = manners.move) {
      if (move->manner == Manner::rotate && hop.kind == MoveKind::all_gather) {
        item.move = MoveKind::ring;
        item.steps = static_cast<int>(ranks) - 1;
        // Two operands that rotate against each other must first be aligned: one hop more unless their homes are
        // skewed.
        int rotating = 0;
        for (const Access& input : op >= 0 ? block_.operators[op].inputs : std::vector<Access>{}) {
          const Manners other = manners_of(input.tensor, false, op);
          rotating += other.move && other.move->manner == Manner::rotate;
        }
        const bool skewed = std::ranges::any_of(statements_, [&](const Statement& s) {
          const auto* home = std::get_if<HomeStatement>(&s.body);
          return home && home->what == net_.tensors[tensor].name &&
                 std::ranges::any_of(home->places, [](const HomePlace& p) { return !p.skew.empty(); });
        });
        const bool contracted = op >= 0 && block_.operators[op].kind == OperatorKind::einsum && rotating > 1;
        if (contracted && !skewed) {
          item.steps += 1;
          item.received += before;
        }
      } else if (move->manner == Manner::rotate && hop.kind == MoveKind::reduce_scatter) {
        item.move = MoveKind::ring;  // starts with its own chunk and travels home: p hops (rule 18)
        item.steps = static_cast<int>(ranks);
        item.received = received_bytes(MoveKind::ring, before, ranks);
      } else if (move->manner == Manner::multicast) {
        for (const Statement& s : statements_)
          if (const auto* loop = std::get_if<ForStatement>(&s.body); loop && loop->count > 0)
            item.launches = static_cast<int>(loop->count);
      }
      if (!move->as.empty()) {
        const Tensor& t = net_.tensors[tensor];
        item.received *= wire_bytes(move->as) /
                         (gradient && t.role == TensorRole::weight ? options_.gradient_bytes : t.bytes_per_element);
      }
      item.chunks = static_cast<int>(std::max<std::int64_t>(1, move->chunks));
      if (move->ahead >= 0) item.ahead = move->ahead;
      item.joint_bucket = move->bucket != "none";
    }
    list_->push_back(std::move(item));
    if (!gradient) available_[tensor].push_back(to);
    from = to;
  }
  return from;
}

/// Placements from home to a use, home first.
std::vector<Placement> BlockPlacer::path(int tensor, const Placement& use) const {
  std::vector<Placement> places{home_[tensor]};
  const bool staged = [&] {
    const Manners m = manners_of(tensor, false, -1);
    return m.move && m.move->staged;
  }();
  for (const Hop& hop : hops(home_[tensor], use, mesh_, staged, flat_shard)) places.push_back(hop.after);
  return places;
}

int BlockPlacer::fetch_value(int tensor, const Placement& wanted, Pass pass, int op) {
  if (const int c = find_copy(available_[tensor], wanted); c >= 0) return c;
  if (pass != Pass::forward && made_in_region(tensor)) {
    const int region = region_[uses_[tensor].producers.front()];
    if (!region_done_[region]) {
      run_region(region);
      return fetch_value(tensor, wanted, pass, op);
    }
  }
  const Cargo cargo = net_.tensors[tensor].role == TensorRole::weight ? Cargo::weight : Cargo::activation;
  const Manners manners = manners_of(tensor, false, op);
  const bool staged = manners.move && manners.move->staged;
  const std::vector<Hop> way = hops(home_[tensor], wanted, mesh_, staged, flat_shard);
  // Nearest stop to the use that exists; home counts as stop -1.
  for (int stop = static_cast<int>(way.size()) - 1; stop >= -1; --stop) {
    const int have = find_copy(available_[tensor], stop < 0 ? home_[tensor] : way[stop].after);
    if (have < 0) continue;
    const std::size_t items = list_->size();
    const int at = emit_hops(have, {way.begin() + stop + 1, way.end()}, pass, cargo, op);
    for (std::size_t i = items; i < list_->size(); ++i)
      (*list_)[i].again = pass != Pass::forward && pass != Pass::recompute;
    return at;
  }
  // Only the natural copy exists: bring it home first.
  assert(!available_[tensor].empty());
  const int made = available_[tensor].front();
  emit_hops(made, hops(out_.copies[made].place, home_[tensor], mesh_, staged, flat_shard), pass, cargo, op);
  return fetch_value(tensor, wanted, pass, op);
}

void BlockPlacer::emit_forward(int o, Pass pass) {
  const Operator& op = block_.operators[o];
  PlacedItem item;
  item.kind = PlacedKind::compute;
  item.pass = pass;
  item.op = o;
  item.reads.reserve(op.inputs.size());
  for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i)
    item.reads.push_back(fetch_value(op.inputs[i].tensor, need(o, i), pass, o));
  Placement made = placement_of(op.output, splits_[o], mesh_, true);
  for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
    if (partial_pass_[o] >> a & 1U) made.at[a] = partial_sum;
  const int tensor = op.output.tensor;
  int copy = add_copy(tensor, false, made, -1);
  item.writes = {copy};
  list_->push_back(std::move(item));
  const auto& producers = uses_[tensor].producers;
  if (producers.size() > 1) {
    // Several writers: sum what each made, once the last has written. A region that holds only some of them makes
    // nothing of the tensor again: the sum is kept.
    if (pass == Pass::recompute && !made_in_region(tensor)) return;
    parts_[tensor].push_back(copy);
    if (o != producers.back()) return;
    copy = combined(tensor, std::exchange(parts_[tensor], {}), home_[tensor], Cargo::activation, o, pass);
  }
  available_[tensor].push_back(copy);
}

void BlockPlacer::forward() {
  // Room for what most blocks come to: an item or two of an operator forward, three backward.
  const std::size_t operators = block_.operators.size();
  out_.forward.reserve(2 * operators);
  out_.backward.reserve(3 * operators);
  out_.copies.reserve(8 * operators);
  list_ = &out_.forward;
  for (int tensor : tensors_)
    if (uses_[tensor].producers.empty()) {
      if (!home_known_[tensor]) resolve_home(tensor);
      const int copy = add_copy(tensor, false, home_[tensor], -1);
      available_[tensor] = {copy};
      if (tensor == block_.input) out_.input = copy;
    }
  for (const int tensor : block_.reads) out_.reads.push_back({available_[tensor].front(), -1, -1});
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o) {
    pass_partials(o);
    if (error_) return;
    if (const int tensor = block_.operators[o].output.tensor; !home_known_[tensor]) resolve_home(tensor);
    if (error_) return;
    emit_forward(o, Pass::forward);
  }
  for (const int tensor : lent_) out_.loans.push_back({fetch_value(tensor, home_[tensor], Pass::forward, -1), -1});
  if (block_.output >= 0) out_.output = fetch_value(block_.output, home_[block_.output], Pass::forward, -1);
}

}  // namespace stepcast::dataflow
