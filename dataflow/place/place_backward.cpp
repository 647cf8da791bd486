// Backward: contributions to each gradient by rule 20, summed per placement and moved once (rule 13).
#include <algorithm>
#include <cassert>

#include "dataflow/place/block_placer.h"

namespace stepcast::dataflow {

/// A cast of a weight for one product. The gradient that the product makes of it goes on to the weight's accumulator as
/// it is: what is summed over ranks is summed there, once a step.
bool BlockPlacer::casts_weight(int o) const {
  const Operator& op = block_.operators[o];
  return op.function == "cast" && net_.tensors[op.inputs.front().tensor].role == TensorRole::weight &&
         uses_[op.output.tensor].consumers.size() == 1;
}

Placement BlockPlacer::gradient_home(int tensor) const {
  const auto producers = uses_[tensor].producers;
  if (producers.size() == 1 && casts_weight(producers.front())) return contribution(producers.front(), 0);
  Placement place = home_[tensor];
  for (Slot& slot : place.at)
    if (slot == partial_sum) slot = replicated;
  return place;
}

/// Sums contributions: where one is Partial, Replicate ones become Partial; equal placements add up locally; each class
/// moves once to `home`; then the classes add up there.
int BlockPlacer::combined(
    int tensor, std::vector<int> contributions, const Placement& home, Cargo cargo, int op, Pass pass) {
  const bool gradient = out_.copies[contributions.front()].gradient;
  const Manners manners = manners_of(tensor, gradient, -1);
  const auto bring_home = [&](int copy) {
    return emit_hops(copy, hops(out_.copies[copy].place, home, mesh_, manners.move && manners.move->staged, flat_shard),
        pass, cargo, op);
  };
  if (contributions.size() == 1) return bring_home(contributions.front());
  const std::size_t known = available_[tensor].size();
  AtomMask partial = 0;
  for (int c : contributions)
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if (out_.copies[c].place.at[a] == partial_sum) partial |= AtomMask{1} << a;
  std::vector<std::vector<int>> classes;
  for (int c : contributions) {
    Placement masked = out_.copies[c].place;
    for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
      if ((partial >> a & 1U) && masked.at[a] == replicated) masked.at[a] = partial_sum;
    c = emit_hops(c, hops(out_.copies[c].place, masked, mesh_, false, flat_shard), pass, cargo, op);
    const auto same =
        std::ranges::find_if(classes, [&](const auto& cls) { return out_.copies[cls.front()].place == masked; });
    if (same != classes.end()) same->push_back(c);
    else classes.push_back({c});
  }
  const auto add_up = [&](std::vector<int> parts) {
    if (parts.size() == 1) return parts.front();
    PlacedItem item;
    item.kind = PlacedKind::sum;
    item.pass = pass;
    item.op = op;
    item.writes = {add_copy(tensor, gradient, out_.copies[parts.front()].place, -1)};
    item.reads = std::move(parts);
    const int made = item.writes.front();
    list_->push_back(std::move(item));
    return made;
  };
  // What moved so far is a part of the value, which nobody may read for the whole.
  const auto forget_parts = [&] {
    if (!gradient) available_[tensor].resize(known);
  };
  if (classes.size() == 1) {
    const int sum = add_up(std::move(classes.front()));
    forget_parts();
    return bring_home(sum);
  }
  std::vector<int> at_home;
  for (auto& cls : classes) at_home.push_back(bring_home(add_up(std::move(cls))));
  forget_parts();
  return add_up(std::move(at_home));
}

/// The whole gradient of an activation where an operator needs it; -1 when nothing downstream depends on the tensor.
int BlockPlacer::gradient_of(int tensor, const Placement& wanted, int op) {
  if (totals_[tensor].empty()) {
    if (contributions_[tensor].empty()) return -1;
    totals_[tensor] = {combined(
        tensor, std::move(contributions_[tensor]), gradient_home(tensor), Cargo::activation, op, Pass::input_grad)};
    contributions_[tensor].clear();
  }
  if (const int c = find_copy(totals_[tensor], wanted); c >= 0) return c;
  const int home = totals_[tensor].front();
  const int at = emit_hops(
      home, hops(out_.copies[home].place, wanted, mesh_, false, flat_shard), Pass::input_grad, Cargo::activation, op);
  totals_[tensor].push_back(at);
  return at;
}

/// Where the gradient of an input is made.
Placement BlockPlacer::contribution(int o, int input) const {
  const Operator& op = block_.operators[o];
  if (casts_weight(o)) {
    const Consumer& product = uses_[op.output.tensor].consumers.front();
    return contribution(product.op, product.input);
  }
  const Access& access = op.inputs[input];
  Placement place = placement_of(access, splits_[o], mesh_, true);
  // A Partial operand of a product makes the others' gradients Partial there; its own is whole. Experts' rows times
  // their gates are one, too.
  const bool product = op.kind == OperatorKind::einsum || op.kind == OperatorKind::route;
  for (std::size_t a = 0; a < mesh_.atoms.size(); ++a)
    if ((partial_pass_[o] >> a & 1U) && product && home_[access.tensor].at[a] != partial_sum) place.at[a] = partial_sum;
  return place;
}

void BlockPlacer::emit_gradient(int o) {
  const Operator& op = block_.operators[o];
  const bool is_root = o + 1 == static_cast<int>(block_.operators.size()) && out_.output_gradient < 0;
  const Placement needed = casts_weight(o) ? contribution(o, 0) : placement_of(op.output, splits_[o], mesh_, false);
  const int upstream = gradient_of(op.output.tensor, needed, o);
  if (upstream < 0 && !is_root) return;
  in_backward_[o] = 1;
  const BackwardReads& reads = reads_[o];
  const auto emit = [&](std::span<const int> targets, Pass pass) {
    PlacedItem item;
    item.kind = PlacedKind::gradient;
    item.pass = pass;
    item.op = o;
    item.reads.assign(op.inputs.size() + 2, -1);
    item.writes.assign(op.inputs.size(), -1);
    item.reads.front() = upstream;
    const bool product = op.kind == OperatorKind::einsum && op.monoid == Monoid::sum;
    for (int i : reads.inputs)
      if (!product || targets.size() > 1 || targets.front() != i)
        item.reads[1 + i] = fetch_value(op.inputs[i].tensor, need(o, i), Pass::input_grad, o);
    if (reads.output)
      item.reads.back() =
          fetch_value(op.output.tensor, placement_of(op.output, splits_[o], mesh_, false), Pass::input_grad, o);
    for (int i : targets) {
      const Access& input = op.inputs[i];
      item.writes[i] = add_copy(input.tensor, true, contribution(o, i), -1);
      contributions_[input.tensor].push_back(item.writes[i]);
    }
    list_->push_back(std::move(item));
  };
  std::vector<int> activations, weights;
  activations.reserve(targets_[o].size()), weights.reserve(targets_[o].size());
  for (const int i : targets_[o])
    (net_.tensors[op.inputs[i].tensor].role == TensorRole::weight ? weights : activations).push_back(i);
  if (op.kind == OperatorKind::einsum && op.monoid == Monoid::sum) {
    for (const int& i : activations) emit({&i, 1}, Pass::input_grad);
    for (const int& i : weights) emit({&i, 1}, Pass::weight_grad);
  } else {
    if (!activations.empty()) emit(activations, Pass::input_grad);
    if (!weights.empty()) emit(weights, Pass::weight_grad);
  }
}

void BlockPlacer::backward(bool root) {
  list_ = &out_.backward;
  if (std::ranges::all_of(targets_, &std::vector<int>::empty)) return;  // nothing is trained
  // Only what is saved survives; weights are at home, or where a granted life keeps them.
  for (int tensor : tensors_) {
    std::vector<int> survive;
    const Tensor& t = net_.tensors[tensor];
    if (t.role == TensorRole::weight) {
      const Manners manners = manners_of(tensor, false, -1);
      const bool kept = manners.move && (manners.move->life == Life::microbatch || manners.move->life == Life::step);
      survive.push_back(available_[tensor].front());
      if (kept)
        for (std::size_t i = 1; i < available_[tensor].size(); ++i) {
          survive.push_back(available_[tensor][i]);
          out_.kept_gathers.push_back(available_[tensor][i]);
        }
    } else if (t.role == TensorRole::data || t.role == TensorRole::cache) {
      survive = available_[tensor];
    } else if (is_read_from_outside(tensor)) {
      survive.push_back(available_[tensor].front());
    } else {
      for (int c : available_[tensor])
        if (std::ranges::any_of(out_.saved, [&](const SavedCopy& s) { return s.copy == c; })) survive.push_back(c);
    }
    available_[tensor] = std::move(survive);
  }
  if (!root && block_.output >= 0) {
    out_.output_gradient = add_copy(block_.output, true, gradient_home(block_.output), -1);
    contributions_[block_.output].push_back(out_.output_gradient);
  }
  for (std::size_t i = 0; i < lent_.size(); ++i) {
    if (lent_[i] == block_.output) {
      out_.loans[i].gradient = out_.output_gradient;
      continue;
    }
    out_.loans[i].gradient = add_copy(lent_[i], true, gradient_home(lent_[i]), -1);
    contributions_[lent_[i]].push_back(out_.loans[i].gradient);
  }
  for (std::size_t i = 0; i < block_.reads.size(); ++i) {
    const int tensor = block_.reads[i];
    if (net_.tensors[tensor].role == TensorRole::data || net_.tensors[tensor].role == TensorRole::cache) continue;
    out_.reads[i].gradient_before = add_copy(tensor, true, gradient_home(tensor), -1);
    contributions_[tensor].push_back(out_.reads[i].gradient_before);
  }
  for (int o = static_cast<int>(block_.operators.size()); o-- > 0;) {
    if (error_) return;
    // A region that was run for its masks alone must stand before its first gradient.
    if (region_[o] >= 0 && !region_done_[region_[o]]) run_region(region_[o]);
    emit_gradient(o);
  }
  if (block_.input >= 0) out_.input_gradient = gradient_of(block_.input, gradient_home(block_.input), -1);
  for (std::size_t i = 0; i < block_.reads.size(); ++i)
    if (out_.reads[i].gradient_before >= 0)
      out_.reads[i].gradient = gradient_of(block_.reads[i], gradient_home(block_.reads[i]), -1);
}

}  // namespace stepcast::dataflow
