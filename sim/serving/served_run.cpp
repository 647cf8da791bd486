#include "sim/serving/served_run.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace stepcast::sim {
namespace {

constexpr Seconds never{std::numeric_limits<double>::infinity()};

struct Replica {
  std::vector<Batcher> groups;
  Seconds ends = never;
  RanIteration runs;
  double pace = 0;
  std::int64_t speaking = 0;
};

class LoadLoop {
 public:
  LoadLoop(const Load& load, const Servers& servers, const BatchTimer& timer)
      : load_(load), before_(servers.before), timer_(timer) {
    for (std::int64_t i = 0; i < servers.replicas; ++i) {
      Replica& replica = replicas_.emplace_back();
      replica.groups.assign(static_cast<std::size_t>(servers.groups), Batcher(servers.policy));
    }
    run_.requests.resize(load.requests.size());
  }

  ServedRun go() {
    // A closed loop begins with a burst of all its users.
    if (load_.concurrency > 0)
      for (std::int64_t i = 0; i < load_.concurrency; ++i) send_next(Seconds(0));
    for (Replica& replica : replicas_) start_iteration(replica, Seconds(0));
    while (true) {
      const auto first = std::ranges::min_element(replicas_, {}, &Replica::ends);
      const Seconds now = std::min({first->ends, next_arrival(), next_ready()});
      if (now == never) break;
      for (Replica& replica : replicas_)
        if (replica.ends == now) end_iteration(replica);
      while (next_arrival() <= now) send_next(now);
      while (next_ready() <= now) submit(on_their_way_.front());
      for (Replica& replica : replicas_)
        if (replica.ends == never) start_iteration(replica, now);
    }
    for (const Replica& replica : replicas_)
      for (const Batcher& group : replica.groups) run_.preempted += group.preempted();
    return std::move(run_);
  }

 private:
  [[nodiscard]] Seconds next_arrival() const {
    return load_.concurrency > 0 || sent_ == load_.requests.size() ? never : load_.requests[sent_].arrival;
  }

  [[nodiscard]] Seconds next_ready() const {
    return on_their_way_.empty() ? never : run_.requests[on_their_way_.front()].sent + before_;
  }

  void send_next(Seconds now) {
    if (sent_ == load_.requests.size()) return;
    const ServingRequest& request = load_.requests[sent_];
    run_.requests[sent_] = {now, never, never, request.prompt, request.output};
    on_their_way_.push_back(sent_++);
    if (before_ == Seconds(0)) submit(on_their_way_.front());
  }

  /// The first of those on their way comes to the replica and group with the fewest.
  void submit(std::size_t id) {
    on_their_way_.pop_front();
    Batcher* least = nullptr;
    for (Replica& replica : replicas_)
      for (Batcher& group : replica.groups)
        if (least == nullptr || group.outstanding() < least->outstanding()) least = &group;
    least->submit(static_cast<std::int64_t>(id), load_.requests[id]);
  }

  void start_iteration(Replica& replica, Seconds now) {
    RanIteration runs;
    runs.start = now, runs.pace = replica.pace, runs.speaking = replica.speaking;
    bool any = false;
    for (Batcher& group : replica.groups) {
      const Batch batch = group.plan();
      if (batch.empty()) continue;
      any = true;
      const Seconds time = timer_(batch);
      if (time >= runs.time) runs.time = time, runs.batch = batch;
    }
    if (!any) return;
    for (const Batcher& group : replica.groups) {
      runs.running += group.outstanding() - group.waiting();
      runs.waiting += group.waiting();
      runs.used_blocks += group.used_blocks();
    }
    runs.replica = &replica - replicas_.data();
    replica.runs = runs;
    replica.ends = now + runs.time;
  }

  void end_iteration(Replica& replica) {
    const Seconds now = replica.ends;
    replica.ends = never;
    for (Batcher& group : replica.groups) {
      const Batcher::Said& said = group.finish();
      replica.runs.words += static_cast<std::int64_t>(said.words.size());
      for (const std::int64_t id : said.words) say(replica, run_.requests[static_cast<std::size_t>(id)], now);
      for (const std::int64_t id : said.ended) end(replica, run_.requests[static_cast<std::size_t>(id)], now);
    }
    run_.iterations.push_back(replica.runs);
  }

  void say(Replica& replica, Served& request, Seconds now) {
    if (request.first == never) {
      request.first = now;
      if (request.output > 1) ++replica.speaking, replica.pace += 1 / static_cast<double>(request.output - 1);
    } else if (const Seconds gap = now - request.last; !run_.gaps.empty() && run_.gaps.back().time == gap) {
      ++run_.gaps.back().count;
    } else {
      run_.gaps.push_back({gap, 1, now});
    }
    request.last = now;
  }

  void end(Replica& replica, const Served& request, Seconds now) {
    if (request.output > 1) --replica.speaking, replica.pace -= 1 / static_cast<double>(request.output - 1);
    if (load_.concurrency > 0) send_next(now);
  }

  const Load& load_;
  Seconds before_;
  const BatchTimer& timer_;
  std::vector<Replica> replicas_;
  std::size_t sent_ = 0;
  std::deque<std::size_t> on_their_way_;  ///< sent, and not yet waiting: all take as long
  ServedRun run_;
};

}  // namespace

ServedRun simulate(const Load& load, const Servers& servers, const BatchTimer& timer) {
  return LoadLoop(load, servers, timer).go();
}

}  // namespace stepcast::sim
