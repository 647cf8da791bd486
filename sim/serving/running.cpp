#include "sim/serving/running.h"

#include <algorithm>

namespace stepcast::sim {

Running::At Running::push(const RunningSequence& sequence) {
  At at = 0;
  if (free_.empty()) {
    at = static_cast<At>(nodes_.size());
    nodes_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  nodes_[at] = {.sequence = sequence, .before = last_, .order = let_in_++, .alive = true};
  if (last_ == none) first_ = at;
  else nodes_[last_].behind = at;
  last_ = at;
  ++size_;
  return at;
}

void Running::begin_to_speak(At at) {
  Node& node = nodes_[at];
  const RunningSequence& sequence = node.sequence;
  node.speaks = true, node.since = spoken_;
  ++speakers_, contexts_ += sequence.held;
  // Its last block, of its own or shared, ends where a multiple of a block does.
  const std::int64_t room = (sequence.held + block_ - 1) / block_ * block_;
  node.residue = grows_ ? (spoken_ + room - sequence.held) % block_ : 0;
  ++needs_[static_cast<std::size_t>(node.residue)];
  ends_.push({spoken_ + sequence.output - sequence.said, node.order, at});
}

RunningSequence Running::erase(At at) {
  Node& node = nodes_[at];
  RunningSequence sequence = node.sequence;
  if (node.speaks) {
    const std::int64_t words = spoken_ - node.since;
    sequence.held += words, sequence.said += words;
    const std::int64_t blocks = (sequence.held + block_ - 1) / block_ - sequence.shared / block_;
    if (grows_) sequence.blocks = std::max(sequence.blocks, blocks);
    --speakers_, contexts_ -= sequence.held;
    --needs_[static_cast<std::size_t>(node.residue)];
  }
  (node.before == none ? first_ : nodes_[node.before].behind) = node.behind;
  (node.behind == none ? last_ : nodes_[node.behind].before) = node.before;
  node.alive = false;
  free_.push_back(at);
  --size_;
  return sequence;
}

bool Running::needs_block(At at) const {
  const Node& node = nodes_[at];
  return grows_ && node.speaks && node.residue == spoken_ % block_;
}

void Running::speak() {
  ++spoken_;
  contexts_ += speakers_;
}

Running::At Running::ended() {
  while (!ends_.empty() && ends_.top().at_word <= spoken_) {
    const End end = ends_.top();
    ends_.pop();
    const Node& node = nodes_[end.at];
    if (node.alive && node.speaks && node.order == end.order) return end.at;
  }
  return none;
}

}  // namespace stepcast::sim
