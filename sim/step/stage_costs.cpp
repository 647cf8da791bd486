#include "sim/step/stage_costs.h"

#include <algorithm>

namespace stepcast::sim {

StageCosts StageCosts::with_ranks(std::int64_t ranks) const {
  StageCosts other = *this;
  for (RankKind& kind : other.kinds_) {
    kind.cost = kind.cost.with_ranks(ranks);
    kind.across = kind.across.with_ranks(ranks);
  }
  return other;
}

bool StageCosts::leaves(const Group& group) const {
  if (kinds_.size() == 1) return false;
  return std::ranges::any_of(
      group.digits, [&](const Group::Digit& digit) { return alike_ % (digit.stride * digit.size) != 0; });
}

Price StageCosts::slowest(const Move& move, const Group& group) const {
  const bool out = leaves(group);
  Price slowest = (out ? kinds_.front().across : kinds_.front().cost).move(move, group);
  for (const RankKind& kind : kinds_) {
    const Price price = (out ? kind.across : kind.cost).move(move, group);
    if (price.time > slowest.time) slowest = price;
  }
  return slowest;
}

Price StageCosts::send(Bytes bytes, int from, int to, std::int64_t stride) const {
  const RankKind &sender = kinds_[kind_of(from)], &receiver = kinds_[kind_of(to)];
  const std::int64_t first = sender.first_rank;
  if (&sender == &receiver) return sender.cost.send(bytes, from * stride - first, to * stride - first);
  if (first == receiver.first_rank) {  // parts of one machine
    const Price out = sender.cost.send(bytes, from * stride - first, to * stride - first);
    const Price in = receiver.cost.send(bytes, from * stride - first, to * stride - first);
    return out.time < in.time ? in : out;
  }
  const Price out = sender.across.send_out(bytes), in = receiver.across.send_out(bytes);
  return out.time < in.time ? in : out;
}

}  // namespace stepcast::sim
