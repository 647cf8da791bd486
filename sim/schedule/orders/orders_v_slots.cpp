#include "sim/schedule/orders/orders_v_slots.h"

#include <algorithm>

namespace stepcast::sim::orders {
namespace {

constexpr int idle = -1;

/// What a rank does in each slot.
std::vector<int> slots_of(const VRank& rank) {
  int last = 0;
  for (const auto& slots : rank) last = slots.empty() ? last : std::max(last, slots.back());
  std::vector<int> passes(static_cast<std::size_t>(last) + 1, idle);
  for (int pass = 0; pass < 5; ++pass) {
    for (const int slot : rank[pass]) passes[slot] = pass;
  }
  return passes;
}

}  // namespace

std::array<std::vector<int>, 2> weight_slots(const VRank& rank) {
  const std::vector<int> passes = slots_of(rank);
  std::array<std::vector<int>, 2> slots;
  std::array<int, 2> waiting = {};
  int now = 0;
  const auto take = [&](int stage) {
    slots[stage].push_back(now);
    --waiting[stage];
  };
  for (; now < static_cast<int>(passes.size()); ++now) {
    if (passes[now] == i_far) ++waiting[0];
    if (passes[now] == i_near) ++waiting[1];
    if (passes[now] == idle && waiting[0] + waiting[1] > 0) take(waiting[0] > 0 ? 0 : 1);
  }
  for (; waiting[0] + waiting[1] > 0; ++now) take(waiting[0] > 0 ? 0 : 1);
  return slots;
}

void place_weights(VRank& rank) {
  const auto [far, near] = weight_slots(rank);
  rank[w_either].resize(far.size() + near.size());
  std::merge(far.begin(), far.end(), near.begin(), near.end(), rank[w_either].begin());
}

HeldActivations::HeldActivations(const VRank& rank, bool weights_placed)
    : passes_(slots_of(rank)), weights_placed_(weights_placed) {
  before_.resize(passes_.size() + 1);
  update(0, static_cast<int>(passes_.size()));
}

int HeldActivations::peak() const {
  int most = 0;
  for (const State& state : before_) most = std::max(most, state.held);
  return most;
}

bool HeldActivations::is_idle(int slot) const { return passes_[slot] == idle; }

bool HeldActivations::move(int from, int to, int cap) {
  std::swap(passes_[from], passes_[to]);
  State state = before_[to];
  for (int slot = to; slot < static_cast<int>(passes_.size()); ++slot) {
    if (slot > from && state == before_[slot]) break;
    state = after(state, passes_[slot]);
    if (state.held <= cap) continue;
    std::swap(passes_[from], passes_[to]);
    return false;
  }
  update(to, from + 1);
  return true;
}

HeldActivations::State HeldActivations::after(State state, int pass) const {
  if (pass == f_near || pass == f_far) ++state.held;
  if (pass == i_far || pass == i_near) ++state.waiting;
  const bool weight = weights_placed_ ? pass == w_either : pass == idle && state.waiting > 0;
  if (weight) {
    --state.held;
    --state.waiting;
  }
  return state;
}

void HeldActivations::update(int first, int last) {
  for (int slot = first; slot < static_cast<int>(passes_.size()); ++slot) {
    const State state = after(before_[slot], passes_[slot]);
    if (slot >= last && state == before_[slot + 1]) return;
    before_[slot + 1] = state;
  }
}

}  // namespace stepcast::sim::orders
