#include "sim/serving/pool.h"

#include <algorithm>

namespace stepcast::sim {

BatchingPolicy lane_policy(BatchingPolicy policy, std::int64_t stages) {
  policy.blocks /= stages;
  policy.shared_blocks = (policy.shared_blocks + stages - 1) / stages;
  policy.most_sequences = std::max<std::int64_t>(1, policy.most_sequences / stages);
  policy.host_blocks /= stages, policy.spare_blocks /= stages;
  return policy;
}

Servers reached(Servers servers, std::int64_t users) {
  if (users <= 0) return servers;
  const std::int64_t each = servers.groups * servers.stages;
  servers.replicas = std::min(servers.replicas, (users + each - 1) / each);
  return servers;
}

ServerPool::ServerPool(const Servers& servers, const BatchTimer& timer)
    : timer_(timer), stages_(static_cast<std::size_t>(servers.stages)), parts_(servers.parts),
      free_(static_cast<std::size_t>(servers.replicas * servers.stages)) {
  if (parts_.empty()) parts_.assign(stages_, 1 / static_cast<double>(stages_));
  for (std::int64_t i = 0; i < servers.replicas * servers.stages; ++i)
    replicas_.emplace_back().groups.assign(static_cast<std::size_t>(servers.groups), Batcher(servers.policy));
}

ServerPool::Place ServerPool::place(Replica& replica, std::size_t group) {
  const auto at = static_cast<std::size_t>(&replica - replicas_.data());
  return {&replica, &replica.groups[group], at * replica.groups.size() + group};
}

ServerPool::Place ServerPool::least() {
  Place least;
  for (Replica& replica : replicas_)
    for (std::size_t group = 0; group < replica.groups.size(); ++group)
      if (least.group == nullptr || replica.groups[group].outstanding() < least.group->outstanding())
        least = place(replica, group);
  return least;
}

Seconds ServerPool::next_end() const { return std::ranges::min_element(replicas_, {}, &Replica::ends)->ends; }

void ServerPool::end_iterations(Seconds now, const Heard& heard, std::vector<RanIteration>& ran) {
  for (Replica& replica : replicas_) {
    if (replica.ends != now) continue;
    replica.ends = never;
    for (std::size_t group = 0; group < replica.groups.size(); ++group) {
      const Batcher::Said& said = replica.groups[group].finish();
      replica.runs.words += said.all();
      heard(place(replica, group), said);
    }
    ran.push_back(replica.runs);
  }
}

void ServerPool::start_iterations(Seconds now, const Planned& planned) {
  for (Replica& replica : replicas_)
    if (replica.ends == never) start(replica, now, planned);
}

void ServerPool::start(Replica& replica, Seconds now, const Planned& planned) {
  replica.runs = {};
  RanIteration& runs = replica.runs;
  // Where nothing runs, what came meanwhile misses no iteration.
  if (!plan(replica, planned) && !plan(replica, planned)) return;
  for (const Batcher& group : replica.groups) {
    runs.running += group.outstanding() - group.waiting();
    runs.waiting += group.waiting();
    runs.used_blocks += group.used_blocks();
  }
  runs.replica = &replica - replicas_.data();
  runs.start = now, runs.pace = replica.pace, runs.speaking = replica.speaking;
  if (stages_ > 1) runs.time = end_of(static_cast<std::size_t>(runs.replica), now, runs.time) - now;
  replica.ends = now + runs.time;
  runs.replica /= static_cast<std::int64_t>(stages_);
}

/// Whether a group has something to do.
bool ServerPool::plan(Replica& replica, const Planned& planned) {
  RanIteration& runs = replica.runs;
  bool any = false;
  for (std::size_t group = 0; group < replica.groups.size(); ++group) {
    const Batch batch = replica.groups[group].plan();
    if (planned) planned(place(replica, group), !batch.empty());
    if (batch.empty()) continue;
    any = true;
    const Seconds time = timer_(batch);
    if (time >= runs.time) runs.time = time, runs.batch = batch;
  }
  return any;
}

/// Of an iteration that takes so long where no other is on its stages.
Seconds ServerPool::end_of(std::size_t replica, Seconds now, Seconds time) {
  const std::size_t first = replica / stages_ * stages_;
  for (std::size_t stage = 0; stage < stages_; ++stage)
    free_[first + stage] = now = std::max(now, free_[first + stage]) + time * parts_[stage];
  return now;
}

std::int64_t ServerPool::preempted() const {
  std::int64_t sum = 0;
  for (const Replica& replica : replicas_)
    for (const Batcher& group : replica.groups) sum += group.preempted();
  return sum;
}

Swaps ServerPool::swaps() const {
  Swaps sum;
  for (const Replica& replica : replicas_)
    for (const Batcher& group : replica.groups) sum.add(group.swaps());
  return sum;
}

}  // namespace stepcast::sim
