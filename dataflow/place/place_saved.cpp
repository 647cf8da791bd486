// What forward keeps for backward, and what backward makes again (rules 21-23).
#include <algorithm>
#include <cassert>

#include "dataflow/place/block_placer.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {

std::vector<BackwardUse> BlockPlacer::backward_uses(int o) const {
  const Operator& op = block_.operators[o];
  std::vector<BackwardUse> uses;
  const std::vector<int>& targets = targets_[o];
  if (targets.empty()) return uses;
  const BackwardReads& reads = reads_[o];
  uses.reserve(targets.size() * (reads.inputs.size() + 1));
  for (const int target : targets) {
    const bool weight_grad = net_.tensors[op.inputs[target].tensor].role == TensorRole::weight;
    for (int i : reads.inputs) {
      if (op.kind == OperatorKind::einsum && op.monoid == Monoid::sum && i == target) continue;
      uses.push_back({op.inputs[i].tensor, o, need(o, i), weight_grad});
    }
    if (reads.output)
      uses.push_back({op.output.tensor, o, placement_of(op.output, splits_[o], mesh_, false), weight_grad});
  }
  return uses;
}

/// Maximal runs of operators that carry a recomputed tag.
void BlockPlacer::find_regions() {
  region_.assign(block_.operators.size(), -1);
  bool inside = false;
  for (std::size_t o = 0; o < block_.operators.size(); ++o) {
    bool tagged = false, whole = options_.recompute_whole;
    for (const Statement& statement : statements_)
      if (const auto* recompute = std::get_if<RecomputeStatement>(&statement.body))
        if (in_scope(recompute->tags, block_.operators[o])) {
          tagged = true;
          whole = whole || recompute->whole;
        }
    if (tagged && !inside) {
      region_whole_.push_back(0);
      region_done_.push_back(0);
    }
    inside = tagged;
    if (tagged) {
      region_[o] = static_cast<int>(region_whole_.size()) - 1;
      region_whole_.back() = region_whole_.back() || whole;
    }
  }
}

bool BlockPlacer::made_in_region(int tensor) const {
  const auto& producers = uses_[tensor].producers;
  if (producers.empty() || region_[producers.front()] < 0) return false;
  if (std::ranges::any_of(producers, [&](int o) { return region_[o] != region_[producers.front()]; })) return false;
  // `save T` keeps it although it is made inside.
  return said_to_save(tensor) == nullptr;
}

const SaveStatement* BlockPlacer::said_to_save(int tensor) const {
  const auto said = std::ranges::find_if(
      saving_, [&](const SaveStatement* save) { return contains(save->tensors, net_.tensors[tensor].name); });
  return said == saving_.end() ? nullptr : *said;
}

/// Rule 22: of home, the stops on the way and the use, the one with fewest bytes that exists, nearest to the use on a
/// tie.
int BlockPlacer::best_candidate(int tensor, const Placement& use) const {
  for (const SaveStatement* save : saving_)
    if (contains(save->tensors, net_.tensors[tensor].name))
      if (const int copy = find_copy(available_[tensor], save->at_use ? use : home_[tensor]); copy >= 0) return copy;
  if (use == home_[tensor]) return stored(tensor);
  int best = -1;
  const std::vector<Placement> stops = path(tensor, use);
  for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop) {
    const int copy = find_copy(available_[tensor], *stop);
    if (copy >= 0 && (best < 0 || out_.copies[copy].bytes < out_.copies[best].bytes)) best = copy;
  }
  return best >= 0 ? best : stored(tensor);
}

/// The copy at home; where no consumer went by home, the copy as it was made.
int BlockPlacer::stored(int tensor) const {
  assert(!available_[tensor].empty());
  const int home = find_copy(available_[tensor], home_[tensor]);
  return home >= 0 ? home : available_[tensor].front();
}

/// By element of what the operator gives: what a function that runs kernel by kernel makes on its way and keeps.
double BlockPlacer::bytes_on_the_way(const Operator& op) const {
  const auto split = std::ranges::find(options_.one_by_one, op.function, &SplitFunction::function);
  if (split == options_.one_by_one.end()) return 0;
  return static_cast<double>(split->kept) * net_.tensors[op.output.tensor].bytes_per_element;
}

void BlockPlacer::choose_saved() {
  const auto keep = [&](int copy, bool weight_grad) {
    for (SavedCopy& saved : out_.saved)
      if (saved.copy == copy) {
        saved.held_until_weight_grad = saved.held_until_weight_grad || weight_grad;
        return;
      }
    out_.saved.push_back({copy, -1, out_.copies[copy].bytes, weight_grad});
  };
  const auto saves = [&](int tensor) {
    return net_.tensors[tensor].role == TensorRole::activation && !made_in_region(tensor) &&
           !is_read_from_outside(tensor);
  };
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o) {
    const Operator& op = block_.operators[o];
    for (const BackwardUse& use : backward_uses(o)) {
      uses_in_backward_[use.tensor].push_back(use);
      if (saves(use.tensor)) keep(best_candidate(use.tensor, use.place), use.weight_grad);
    }
    if (region_[o] >= 0) {
      // Inputs of a recomputed region are kept at home.
      for (const Access& input : op.inputs)
        if (saves(input.tensor)) keep(stored(input.tensor), false);
      continue;
    }
    if (targets_[o].empty()) continue;
    // Side products: dropout masks, the log-sum-exp of a fused attention core (fp32 per query and head), and of
    // functions that run kernel by kernel their results on the way.
    double side = reads_[o].mask_bytes_per_output;
    if (op.kind == OperatorKind::attention) side = 4.0 / static_cast<double>(net_.dims[op.output.loops.back()].extent);
    side += bytes_on_the_way(op);
    if (side > 0)
      out_.saved.push_back({-1, o,
          side * local_elements(net_, op.output.tensor, placement_of(op.output, splits_[o], mesh_, true), mesh_),
          false});
  }
}

/// Runs the region's operators again that something in backward depends on, in forward order.
void BlockPlacer::run_region(int region) {
  region_done_[region] = 1;
  const auto inside = [&](int o) { return region_[o] == region; };
  std::vector<char> needed(block_.operators.size(), region_whole_[region]);
  std::vector<int> stack;
  const auto require = [&](int tensor) {
    if (!made_in_region(tensor)) return;
    for (int producer : uses_[tensor].producers)
      if (inside(producer) && !needed[producer]) {
        needed[producer] = 1;
        stack.push_back(producer);
      }
  };
  const auto read_by_another_region = [&](int tensor) {
    return std::ranges::any_of(
        uses_[tensor].consumers, [&](const Consumer& c) { return region_[c.op] >= 0 && region_[c.op] != region; });
  };
  for (int tensor : tensors_)
    if (!uses_in_backward_[tensor].empty() || read_by_another_region(tensor)) require(tensor);
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o)
    if (inside(o) && !needed[o] &&
        (reads_[o].mask_bytes_per_output > 0 || block_.operators[o].kind == OperatorKind::attention)) {
      needed[o] = 1;
      stack.push_back(o);
    }
  while (!stack.empty()) {
    const int o = stack.back();
    stack.pop_back();
    for (const Access& input : block_.operators[o].inputs) require(input.tensor);
  }
  int last = -1;
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o)
    if (inside(o) && needed[o]) {
      emit_forward(o, Pass::recompute);
      last = o;
    }
  // A region run to its end also brings its last output home, as software does that re-runs the module.
  if (region_whole_[region] && last >= 0 && made_in_region(block_.operators[last].output.tensor))
    fetch_value(
        block_.operators[last].output.tensor, home_[block_.operators[last].output.tensor], Pass::recompute, last);
  // Keep of it what forward would have kept.
  for (int o = 0; o < static_cast<int>(block_.operators.size()); ++o) {
    if (!inside(o) || !needed[o]) continue;
    const int tensor = block_.operators[o].output.tensor;
    if (!made_in_region(tensor)) continue;
    std::vector<int> kept;
    if (read_by_another_region(tensor)) kept.push_back(fetch_value(tensor, home_[tensor], Pass::recompute, o));
    for (const BackwardUse& use : uses_in_backward_[tensor]) {
      const int copy = best_candidate(tensor, use.place);
      if (!contains(kept, copy)) kept.push_back(copy);
    }
    available_[tensor] = std::move(kept);
  }
}

}  // namespace stepcast::dataflow
