#include "sim/serving/served_run.h"

#include <algorithm>
#include <deque>

namespace stepcast::sim {
namespace {

double pace_of(const Served& request) { return 1 / static_cast<double>(request.output - 1); }

class LoadLoop {
 public:
  LoadLoop(const Load& load, const Servers& servers, const BatchTimer& timer)
      : load_(load), before_(servers.before), pool_(reached(servers, load.concurrency), timer),
        hearing_(run_, load.requests.size(), pool_.groups()) {
    if (load.concurrency == 0) return;
    // Users say a word in each iteration, or nearly.
    std::int64_t words = 0;
    for (const ServingRequest& request : load.requests) words += request.output;
    run_.iterations.reserve(static_cast<std::size_t>(words / load.concurrency + words / (load.concurrency * 8)));
  }

  ServedRun go() {
    // A closed loop begins with a burst of all its users.
    if (load_.concurrency > 0)
      for (std::int64_t i = 0; i < load_.concurrency; ++i) send_next(Seconds(0));
    pool_.start_iterations(Seconds(0));
    while (true) {
      const Seconds now = std::min({pool_.next_end(), next_arrival(), next_ready()});
      if (now == never) break;
      pool_.end_iterations(
          now, [&](const ServerPool::Place& place, const Batcher::Said& said) { hear(place, said, now); },
          run_.iterations);
      while (next_arrival() <= now) send_next(now);
      while (next_ready() <= now) submit(on_their_way_.front());
      pool_.start_iterations(now);
    }
    run_.preempted = pool_.preempted(), run_.swaps = pool_.swaps();
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
    hearing_.send(sent_, load_.requests[sent_], now);
    on_their_way_.push_back(sent_++);
    if (before_ == Seconds(0)) submit(on_their_way_.front());
  }

  /// The first of those on their way.
  void submit(std::size_t id) {
    on_their_way_.pop_front();
    pool_.least().group->submit(static_cast<std::int64_t>(id), load_.requests[id]);
  }

  void hear(const ServerPool::Place& place, const Batcher::Said& said, Seconds now) {
    hearing_.hear(place, said, now);
    if (load_.concurrency == 0) return;
    for (std::size_t i = 0; i < said.ended.size(); ++i) send_next(now);
  }

  const Load& load_;
  Seconds before_;
  ServerPool pool_;
  std::size_t sent_ = 0;
  std::deque<std::size_t> on_their_way_;  ///< sent, and not yet waiting: all take as long
  ServedRun run_;
  Hearing hearing_;
};

}  // namespace

Hearing::Hearing(ServedRun& run, std::size_t requests, std::size_t groups) : run_(&run), spoke_(groups) {
  run.requests.resize(requests);
}

void Hearing::send(std::size_t id, const ServingRequest& request, Seconds now) {
  run_->requests[id] = {now, never, never, request.prompt, request.output};
}

void Hearing::gap(Seconds time, std::int64_t count, Seconds now) {
  std::vector<Gap>& gaps = run_->gaps;
  if (count == 0) return;
  if (!gaps.empty() && gaps.back().time == time) gaps.back().count += count;
  else gaps.push_back({time, count, now});
}

void Hearing::word(ServerPool::Replica& replica, std::size_t id, Seconds now) {
  Served& request = run_->requests[id];
  if (request.first == never) {
    request.first = now;
    if (request.output > 1) ++replica.speaking, replica.pace += pace_of(request);
  } else {
    gap(now - request.last, 1, now);
  }
  request.last = now;
}

/// Of a sequence that spoke before, `last` is written where it ends or gives way.
void Hearing::hear(const ServerPool::Place& place, const Batcher::Said& said, Seconds now) {
  const auto request = [&](std::int64_t id) -> Served& { return run_->requests[static_cast<std::size_t>(id)]; };
  Seconds& spoke = spoke_[place.index];
  for (const std::int64_t id : said.gave_way) request(id).last = spoke;
  gap(now - spoke, said.words - static_cast<std::int64_t>(said.joined.size()), now);
  for (const std::int64_t id : said.joined) gap(now - request(id).last, 1, now);
  if (said.words > 0) spoke = now;
  for (const std::int64_t id : said.read) word(*place.replica, static_cast<std::size_t>(id), now);
  for (const std::int64_t id : said.ended) {
    request(id).last = now;
    if (request(id).output == 1) continue;
    --place.replica->speaking, place.replica->pace -= pace_of(request(id));
  }
}

ServedRun simulate(const Load& load, const Servers& servers, const BatchTimer& timer) {
  return LoadLoop(load, servers, timer).go();
}

}  // namespace stepcast::sim
