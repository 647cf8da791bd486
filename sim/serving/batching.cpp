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

RunningSequence Batcher::sequence_of(std::int64_t id, const ServingRequest& request) {
  RunningSequence sequence;
  sequence.id = id, sequence.output = request.output;
  sequence.prompt = sequence.to_read = request.prompt;
  sequence.shared = request.cached;
  return sequence;
}

void Batcher::submit(std::int64_t id, const ServingRequest& request) {
  assert(blocks_at_end(request) <= policy_.own_blocks());
  wait(sequence_of(id, request));
}

void Batcher::wait(const RunningSequence& sequence) {
  if (policy_.plans_ahead) missed_.push_back(sequence);
  else waiting_.push_back(sequence);
}

void Batcher::submit_to_read(std::int64_t id, const ServingRequest& request) {
  RunningSequence sequence = sequence_of(id, request);
  sequence.output = 1, sequence.leaves = true;
  wait(sequence);
}

void Batcher::submit_read(std::int64_t id, const ServingRequest& request) {
  assert(request.output > 1 && request.cached == 0 && blocks_at_end(request) <= policy_.own_blocks());
  RunningSequence sequence = sequence_of(id, request);
  sequence.said = 1, sequence.comes = true;
  wait(sequence);
}

void Batcher::hand_over(std::int64_t id) {
  const auto found = left_.find(id);
  free_ += found->second;
  left_.erase(found);
}

void Batcher::arrive(std::int64_t id) { arrived_.push_back(id); }

bool Batcher::take(RunningSequence& sequence, std::int64_t positions) {
  const std::int64_t blocks = blocks_for(positions, sequence.shared);
  if (blocks > free_) return false;
  free_ -= blocks, sequence.blocks = blocks;
  return true;
}

/// The youngest, but for those whose keys are on their way.
Running::At Batcher::preempt_last(Batch& batch) {
  Running::At at = running_.last();
  while (running_[at].comes) at = running_.before(at);
  if (running_.has_spoken(at)) gave_way_.push_back(running_[at].id);
  else std::erase(fresh_, running_[at].id);
  std::erase(reading_, at);
  const bool speaks = running_.speaks(at);
  RunningSequence victim = running_.erase(at);
  free_ += victim.blocks;
  ++preempted_;
  if (speaks && keep_in_host(victim, batch)) return at;
  victim.to_read = victim.prompt + victim.said;
  victim.blocks = victim.held = victim.piece = 0;
  waiting_.push_front(victim);
  return at;
}

bool Batcher::keep_in_host(const RunningSequence& victim, Batch& batch) {
  if (!policy_.swaps) return false;
  if (victim.blocks > host_free_) {
    ++swaps_.refused;
    return false;
  }
  host_free_ -= victim.blocks;
  batch.blocks_out += static_cast<double>(victim.blocks);
  ++swaps_.sequences, swaps_.blocks_out += victim.blocks;
  swaps_.most_blocks = std::max(swaps_.most_blocks, policy_.host_blocks - host_free_);
  swapped_.push_back(victim);
  return true;
}

/// The first of those whose keys the host keeps, and the next, as long as the cache has a block beyond theirs and the
/// spare ones of all that run then; where nothing runs, as long as it has what their next word needs. They say it in
/// this iteration.
void Batcher::bring_back(Batch& batch) {
  while (!swapped_.empty() && running_.size() < policy_.most_sequences) {
    RunningSequence& next = swapped_.front();
    const std::int64_t grown = blocks_for(next.held + 1, next.shared);
    const std::int64_t spare = policy_.spare_blocks + policy_.spare_of_each * (running_.size() + 1);
    if ((running_.size() == 0 ? grown : next.blocks + 1 + spare) > free_) return;
    host_free_ += next.blocks, free_ -= grown;
    batch.blocks_in += static_cast<double>(next.blocks), swaps_.blocks_in += next.blocks;
    next.blocks = grown;
    const Running::At at = running_.push(next);
    swapped_.pop_front();
    begin_to_speak(at);
  }
}

void Batcher::read(RunningSequence& sequence, std::int64_t piece, Batch& batch) const {
  sequence.piece = piece;
  const auto positions = static_cast<double>(piece);
  batch.prompts += 1, batch.positions += positions;
  batch.pairs += positions * (static_cast<double>(sequence.held) + positions / 2);
}

/// One after the other takes its block, and the youngest give way until it has one.
void Batcher::make_room(Batch& batch) {
  for (Running::At at = running_.first(); at != Running::none; at = running_.behind(at)) {
    if (!running_.needs_block(at)) continue;
    while (free_ == 0)
      if (preempt_last(batch) == at) return;
    --free_;
  }
}

void Batcher::plan_words(Batch& batch) {
  if (running_.needs() <= free_) {
    free_ -= running_.needs();
    bring_back(batch);
  } else {
    make_room(batch);
  }
  batch.words = static_cast<double>(running_.speakers());
  batch.contexts = static_cast<double>(running_.contexts());
}

/// Whether prompts that wait should wait for more of them.
bool Batcher::holds_back(std::int64_t budget) {
  if (policy_.most_wait == 0 || waiting_.empty() || running_.size() == 0) return false;
  std::int64_t ready = 0;
  for (const RunningSequence& sequence : waiting_) ready += sequence.to_read - sequence.shared;
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
  const auto piece_of = [&](const RunningSequence& sequence) -> std::int64_t {
    const std::int64_t rest = sequence.to_read - std::max(sequence.held, sequence.shared);
    if (rest <= budget) return rest;
    if (policy_.pieces) return std::max<std::int64_t>(0, budget);
    return batch.prompts == 0 ? rest : 0;
  };
  for (const Running::At at : reading_)
    if (const std::int64_t piece = piece_of(running_[at]); piece > 0) read(running_[at], piece, batch), budget -= piece;
  if (!swapped_.empty() || holds_back(policy_.most_positions)) return;
  while (!waiting_.empty() && running_.size() < policy_.most_sequences) {
    RunningSequence& next = waiting_.front();
    next.held = next.comes ? next.prompt : next.shared;
    const std::int64_t piece = next.comes ? 0 : piece_of(next);
    const std::int64_t room = policy_.reserves_all ? next.prompt + next.output : next.to_read;
    if ((piece == 0 && !next.comes) || !take(next, room)) break;
    const Running::At at = running_.push(next);
    waiting_.pop_front();
    if (running_[at].comes) {
      let_in_.push_back(running_[at].id);
      coming_[running_[at].id] = at;
      continue;
    }
    reading_.push_back(at);
    read(running_[at], piece, batch);
    budget -= piece;
  }
}

void Batcher::begin_to_speak(Running::At at) {
  running_.begin_to_speak(at);
  fresh_.push_back(running_[at].id);
}

Batch Batcher::plan() {
  Batch batch;
  let_in_.clear();
  for (const std::int64_t id : arrived_) {
    const auto found = coming_.find(id);
    running_[found->second].comes = false;
    begin_to_speak(found->second);
    coming_.erase(found);
  }
  arrived_.clear();
  if (policy_.prompts_apart) {
    plan_prompts(batch);
    says_words_ = batch.prompts == 0;
    if (says_words_) plan_words(batch);
  } else {
    says_words_ = true;
    const std::int64_t before = preempted_;
    plan_words(batch);
    // Who gave way does not come back in the same iteration.
    if (preempted_ == before) plan_prompts(batch);
  }
  waiting_.insert(waiting_.end(), missed_.begin(), missed_.end());
  missed_.clear();
  return batch;
}

void Batcher::end(Running::At at) {
  const RunningSequence sequence = running_.erase(at);
  said_.ended.push_back(sequence.id);
  if (sequence.leaves) left_[sequence.id] = sequence.blocks;
  else free_ += sequence.blocks;
}

/// Those that are read say their first word, or the next where they had given way.
void Batcher::finish_prompts() {
  if (reading_.empty()) return;
  std::vector<Running::At> unread;
  for (const Running::At at : reading_) {
    RunningSequence& sequence = running_[at];
    sequence.held += sequence.piece;
    const bool now = sequence.piece > 0 && sequence.held >= sequence.to_read;
    sequence.piece = 0;
    if (!now) {
      unread.push_back(at);
      continue;
    }
    said_.read.push_back(sequence.id);
    if (++sequence.said >= sequence.output) end(at);
    else begin_to_speak(at);
  }
  reading_ = std::move(unread);
}

const Batcher::Said& Batcher::finish() {
  said_.read.clear(), said_.ended.clear(), said_.joined.clear(), said_.gave_way.clear();
  said_.gave_way.swap(gave_way_);
  said_.words = says_words_ ? running_.speakers() : 0;
  if (said_.words > 0) {
    said_.joined.swap(fresh_);
    running_.speak();
    for (Running::At at = running_.ended(); at != Running::none; at = running_.ended()) end(at);
  }
  finish_prompts();
  return said_;
}

}  // namespace stepcast::sim
