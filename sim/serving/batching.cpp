#include "sim/serving/batching.h"

#include <algorithm>
#include <cassert>

namespace stepcast::sim {

std::int64_t Batcher::blocks_for(std::int64_t positions, std::int64_t shared) const {
  return (positions + policy_.block - 1) / policy_.block - shared / policy_.block;
}

std::int64_t Batcher::blocks_at_end(const ServingRequest& request) const {
  return blocks_for(request.prompt + request.output, request.cached);
}

void Batcher::submit(std::int64_t id, const ServingRequest& request) {
  assert(blocks_at_end(request) <= policy_.blocks);
  Sequence sequence;
  sequence.id = id, sequence.output = request.output;
  sequence.prompt = sequence.to_read = request.prompt;
  sequence.shared = request.cached;
  waiting_.push_back(sequence);
}

bool Batcher::grow(Sequence& sequence, std::int64_t positions) {
  if (positions <= sequence.room) return true;
  const std::int64_t more = blocks_for(positions, sequence.shared) - sequence.blocks;
  if (more > free_) return false;
  free_ -= more, sequence.blocks += more;
  sequence.room = (sequence.blocks + sequence.shared / policy_.block) * policy_.block;
  return true;
}

void Batcher::preempt_last() {
  Sequence victim = running_.back();
  running_.pop_back();
  free_ += victim.blocks;
  victim.to_read = victim.prompt + victim.said;
  victim.blocks = victim.held = victim.piece = victim.room = 0;
  waiting_.push_front(victim);
  ++preempted_;
}

void Batcher::read(Sequence& sequence, std::int64_t piece, Batch& batch) const {
  sequence.piece = piece;
  const auto positions = static_cast<double>(piece);
  batch.prompts += 1, batch.positions += positions;
  batch.pairs += positions * (static_cast<double>(sequence.held) + positions / 2);
}

void Batcher::plan_words(Batch& batch) {
  for (std::size_t at = 0; at < running_.size(); ++at) {
    if (!running_[at].speaks()) continue;
    while (!grow(running_[at], running_[at].held + 1)) {
      const bool itself = at + 1 == running_.size();
      preempt_last();
      if (itself) break;
    }
    if (at >= running_.size()) break;
    batch.words += 1;
    batch.contexts += static_cast<double>(running_[at].held);
  }
}

/// Whether prompts that wait should wait for more of them.
bool Batcher::holds_back(std::int64_t budget) {
  if (policy_.most_wait == 0 || waiting_.empty() || running_.empty()) return false;
  std::int64_t ready = 0;
  for (const Sequence& sequence : waiting_) ready += sequence.to_read - sequence.shared;
  const bool enough = static_cast<double>(ready) >= policy_.enough * static_cast<double>(budget);
  if (enough || waited_ >= policy_.most_wait) {
    waited_ = 0;
    return false;
  }
  ++waited_;
  return true;
}

void Batcher::plan_prompts(Batch& batch) {
  std::int64_t budget = policy_.most_positions - static_cast<std::int64_t>(batch.words);
  const auto piece_of = [&](const Sequence& sequence) -> std::int64_t {
    const std::int64_t rest = sequence.to_read - std::max(sequence.held, sequence.shared);
    if (rest <= budget) return rest;
    if (policy_.pieces) return std::max<std::int64_t>(0, budget);
    return batch.prompts == 0 && rest > policy_.most_positions ? rest : 0;
  };
  for (Sequence& sequence : running_)
    if (const std::int64_t piece = sequence.speaks() ? 0 : piece_of(sequence); piece > 0)
      read(sequence, piece, batch), budget -= piece;
  if (holds_back(policy_.most_positions)) return;
  while (!waiting_.empty() && static_cast<std::int64_t>(running_.size()) < policy_.most_sequences) {
    Sequence& next = waiting_.front();
    next.held = next.shared;
    const std::int64_t piece = piece_of(next);
    const std::int64_t room = policy_.reserves_all ? next.prompt + next.output : next.to_read;
    if (piece == 0 || !grow(next, room)) break;
    running_.push_back(next);
    waiting_.pop_front();
    read(running_.back(), piece, batch);
    budget -= piece;
  }
}

Batch Batcher::plan() {
  Batch batch;
  if (policy_.prompts_apart) {
    plan_prompts(batch);
    says_words_ = batch.prompts == 0;
    if (says_words_) plan_words(batch);
    return batch;
  }
  says_words_ = true;
  const std::int64_t before = preempted_;
  plan_words(batch);
  // Who gave way does not come back in the same iteration.
  if (preempted_ == before) plan_prompts(batch);
  return batch;
}

const Batcher::Said& Batcher::finish() {
  said_.words.clear(), said_.ended.clear();
  std::size_t kept = 0;
  for (std::size_t at = 0; at < running_.size(); ++at) {
    Sequence& sequence = running_[at];
    const bool word = sequence.piece == 0 && sequence.speaks() && says_words_;
    sequence.held += word ? 1 : sequence.piece;
    const bool read_all = sequence.piece > 0 && sequence.speaks();
    sequence.piece = 0;
    if (word || read_all) {
      ++sequence.said;
      said_.words.push_back(sequence.id);
      if (sequence.said >= sequence.output) {
        said_.ended.push_back(sequence.id);
        free_ += sequence.blocks;
        continue;
      }
    }
    if (kept != at) running_[kept] = sequence;
    ++kept;
  }
  running_.resize(kept);
  return said_;
}

}  // namespace stepcast::sim
