#include "sim/serving/pooled_run.h"

#include <algorithm>
#include <deque>
#include <queue>

namespace stepcast::sim {
namespace {

/// The keys of a request on a link.
struct Sending {
  Seconds ends;
  std::size_t id = 0;
  friend bool operator>(const Sending& a, const Sending& b) {
    return std::pair(a.ends, a.id) > std::pair(b.ends, b.id);
  }
};

class PooledLoop {
 public:
  PooledLoop(
      const Load& load, const PooledServers& servers, const BatchTimer& prompt_timer, const BatchTimer& word_timer)
      : load_(load), servers_(servers), prompts_(reached(servers.prompts, load.concurrency), prompt_timer),
        words_(reached(servers.words, load.concurrency), word_timer), from_free_(prompts_.groups()),
        to_free_(words_.groups()), arrived_(words_.groups()), from_(load.requests.size()), to_(load.requests.size()),
        hearing_(run_.served, load.requests.size(), words_.groups()) {
    run_.read.assign(load.requests.size(), never);
  }

  PooledRun go() {
    if (load_.concurrency > 0)
      for (std::int64_t i = 0; i < load_.concurrency; ++i) send_next(Seconds(0));
    start(Seconds(0));
    while (true) {
      const Seconds now =
          std::min({prompts_.next_end(), words_.next_end(), next_arrival(), next_ready(), next_delivery()});
      if (now == never) break;
      prompts_.end_iterations(
          now, [&](const ServerPool::Place& place, const Batcher::Said& said) { hear_read(place, said, now); },
          run_.reading);
      words_.end_iterations(
          now, [&](const ServerPool::Place& place, const Batcher::Said& said) { hear_words(place, said, now); },
          run_.served.iterations);
      while (next_arrival() <= now) send_next(now);
      while (next_ready() <= now) submit(on_their_way_.front());
      while (next_delivery() <= now) deliver();
      start(now);
    }
    run_.served.preempted = prompts_.preempted() + words_.preempted();
    run_.served.swaps = words_.swaps();  // those who read prompts alone have nothing to give way to
    return std::move(run_);
  }

 private:
  [[nodiscard]] Seconds next_arrival() const {
    return load_.concurrency > 0 || sent_ == load_.requests.size() ? never : load_.requests[sent_].arrival;
  }
  [[nodiscard]] Seconds next_ready() const {
    return on_their_way_.empty() ? never : run_.served.requests[on_their_way_.front()].sent + servers_.prompts.before;
  }
  [[nodiscard]] Seconds next_delivery() const { return sendings_.empty() ? never : sendings_.top().ends; }

  void send_next(Seconds now) {
    if (sent_ == load_.requests.size()) return;
    hearing_.send(sent_, load_.requests[sent_], now);
    on_their_way_.push_back(sent_++);
    if (servers_.prompts.before == Seconds(0)) submit(on_their_way_.front());
  }

  void submit(std::size_t id) {
    on_their_way_.pop_front();
    from_[id] = prompts_.least();
    from_[id].group->submit_to_read(static_cast<std::int64_t>(id), load_.requests[id]);
  }

  /// Prompts that were read wait for a group of words.
  void hear_read(const ServerPool::Place& /*place*/, const Batcher::Said& said, Seconds now) {
    for (const std::int64_t ended : said.ended) {
      const auto id = static_cast<std::size_t>(ended);
      run_.read[id] = now;
      ServingRequest request = load_.requests[id];
      request.cached = 0;  // what prompts share is sent with each of them
      to_[id] = words_.least();
      to_[id].group->submit_read(ended, request);
    }
  }

  void hear_words(const ServerPool::Place& place, const Batcher::Said& said, Seconds now) {
    hearing_.hear(place, said, now);
    if (load_.concurrency == 0) return;
    for (std::size_t i = 0; i < said.ended.size(); ++i) send_next(now);
  }

  void start(Seconds now) {
    prompts_.start_iterations(now);
    words_.start_iterations(now, [&](const ServerPool::Place& place, bool runs) {
      if (runs) tell_first(place, now);
      for (const std::int64_t id : place.group->let_in()) send_keys(static_cast<std::size_t>(id), now);
    });
  }

  void tell_first(const ServerPool::Place& place, Seconds now) {
    std::vector<std::size_t>& arrived = arrived_[place.index];
    for (const std::size_t id : arrived) hearing_.word(*place.replica, id, now);
    place.replica->runs.words += static_cast<std::int64_t>(arrived.size());
    arrived.clear();
  }

  /// As soon as the links of both groups are free.
  void send_keys(std::size_t id, Seconds now) {
    Seconds &from = from_free_[from_[id].index], &to = to_free_[to_[id].index];
    const KeyTransfer transfer = servers_.transfer(load_.requests[id].prompt);
    const Seconds start = std::max({now, from, to});
    from = start + transfer.sends, to = start + transfer.receives;
    run_.sending += transfer.time();
    sendings_.push({start + transfer.time(), id});
  }

  void deliver() {
    const std::size_t id = sendings_.top().id;
    sendings_.pop();
    from_[id].group->hand_over(static_cast<std::int64_t>(id));
    to_[id].group->arrive(static_cast<std::int64_t>(id));
    arrived_[to_[id].index].push_back(id);
  }

  const Load& load_;
  const PooledServers& servers_;
  ServerPool prompts_, words_;
  std::vector<Seconds> from_free_, to_free_;       ///< links of each group
  std::vector<std::vector<std::size_t>> arrived_;  ///< of each group of words, since its last iteration began
  std::vector<ServerPool::Place> from_, to_;       ///< of each request
  std::priority_queue<Sending, std::vector<Sending>, std::greater<>> sendings_;
  std::size_t sent_ = 0;
  std::deque<std::size_t> on_their_way_;
  PooledRun run_;
  Hearing hearing_;
};

}  // namespace

PooledRun simulate(
    const Load& load, const PooledServers& servers, const BatchTimer& prompt_timer, const BatchTimer& word_timer) {
  return PooledLoop(load, servers, prompt_timer, word_timer).go();
}

}  // namespace stepcast::sim
