#include "tests/sim/serving/plain_server.h"

#include <algorithm>

namespace stepcast::sim {
namespace {

enum class State { unborn, queued, active, gone };

struct Customer {
  State state = State::unborn;
  double came = 0, first = -1, last = -1;
  long told = 0, reread = 0;   ///< words told; words that are to be read again
  long in_cache = 0, now = 0;  ///< positions; of the prompt in this iteration
  long rank = 0;               ///< place in the queue, or in the order of admission
};

class PlainServer {
 public:
  PlainServer(const Load& load, const BatchingPolicy& policy)
      : load_(load), policy_(policy), all_(load.requests.size()) {}

  PlainRun run(const BatchTimer& timer) {
    double now = 0;
    if (load_.concurrency > 0)
      for (long i = 0; i < load_.concurrency; ++i) come(0);
    PlainRun out;
    while (true) {
      while (load_.concurrency == 0 && next_ < all_.size() && load_.requests[next_].arrival.value() <= now)
        come(load_.requests[next_].arrival.value());
      Batch batch = choose(out.preempted);
      if (batch.empty()) planned_ = now, batch = choose(out.preempted);
      planned_ = now;
      if (batch.empty()) {
        if (load_.concurrency > 0 || next_ == all_.size()) break;
        now = load_.requests[next_].arrival.value();
        continue;
      }
      now += timer(batch).value();
      ++out.iterations;
      settle(now);
    }
    for (const Customer& c : all_) out.first.push_back(c.first), out.last.push_back(c.last);
    return out;
  }

 private:
  void come(double when) {
    if (next_ == all_.size()) return;
    all_[next_].state = State::queued, all_[next_].came = when, all_[next_].rank = back_++;
    ++next_;
  }
  [[nodiscard]] std::vector<std::size_t> of(State state) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].state == state) found.push_back(i);
    std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return all_[a].rank < all_[b].rank; });
    return found;
  }
  [[nodiscard]] long to_read(std::size_t i) const { return load_.requests[i].prompt + all_[i].reread; }
  [[nodiscard]] bool talking(std::size_t i) const { return all_[i].in_cache >= to_read(i); }
  /// That a sequence must have for so many positions, beyond the shared ones.
  [[nodiscard]] long blocks(std::size_t i, long positions) const {
    long count = 0;
    for (long held = 0; held < positions; held += policy_.block) ++count;
    return count - load_.requests[i].cached / policy_.block;
  }
  /// That it has: for its prompt at least, or for all that it will say.
  [[nodiscard]] long owned(std::size_t i, long extra) const {
    const long least = policy_.reserves_all ? load_.requests[i].prompt + load_.requests[i].output : to_read(i);
    return blocks(i, std::max(least, all_[i].in_cache + extra));
  }
  [[nodiscard]] long owned_by_all(const std::vector<std::size_t>& talkers) const {
    long sum = 0;
    for (const std::size_t i : of(State::active)) sum += owned(i, std::count(talkers.begin(), talkers.end(), i));
    return sum;
  }

  void add_words(Batch& batch, int& preempted) {
    std::vector<std::size_t> talkers;
    for (const std::size_t i : of(State::active)) {
      if (all_[i].state != State::active || !talking(i)) continue;
      talkers.push_back(i);
      while (all_[i].state == State::active && owned_by_all(talkers) > policy_.blocks) {
        const std::size_t youngest = of(State::active).back();
        Customer& c = all_[youngest];
        c.state = State::queued, c.reread = c.told, c.in_cache = 0, c.rank = --front_;
        ++preempted;
        if (youngest == i) talkers.pop_back();
      }
    }
    for (const std::size_t i : talkers) batch.words += 1, batch.contexts += static_cast<double>(all_[i].in_cache);
    talkers_ = talkers;
  }

  void read(std::size_t i, long positions, Batch& batch) {
    all_[i].now = positions;
    for (long p = 0; p < positions; ++p)
      batch.pairs += static_cast<double>(all_[i].in_cache) + static_cast<double>(p) + 0.5;
    batch.prompts += 1, batch.positions += static_cast<double>(positions);
  }

  void add_prompts(Batch& batch) {
    long left = policy_.most_positions - static_cast<long>(batch.words);
    const auto share = [&](std::size_t i) -> long {
      const long rest = to_read(i) - std::max<long>(all_[i].in_cache, load_.requests[i].cached);
      if (rest <= left) return rest;
      if (policy_.pieces) return std::max(0L, left);
      return batch.prompts == 0 ? rest : 0;
    };
    for (const std::size_t i : of(State::active))
      if (!talking(i))
        if (const long some = share(i); some > 0) read(i, some, batch), left -= some;
    for (const std::size_t i : of(State::queued)) {
      if (static_cast<long>(of(State::active).size()) >= policy_.most_sequences) break;
      if (policy_.plans_ahead && all_[i].came > planned_) break;
      const long some = share(i);
      if (some == 0 || owned_by_all(talkers_) + owned(i, 0) > policy_.blocks) break;
      all_[i].state = State::active, all_[i].rank = ++admitted_;
      all_[i].in_cache = load_.requests[i].cached;
      read(i, some, batch), left -= some;
    }
  }

  Batch choose(int& preempted) {
    Batch batch;
    talkers_.clear();
    if (policy_.prompts_apart) {
      add_prompts(batch);
      if (batch.prompts == 0) add_words(batch, preempted);
      return batch;
    }
    const int before = preempted;
    add_words(batch, preempted);
    if (preempted == before) add_prompts(batch);
    return batch;
  }

  void settle(double now) {
    for (const std::size_t i : of(State::active)) {
      Customer& c = all_[i];
      const bool talks = std::count(talkers_.begin(), talkers_.end(), i) > 0;
      const bool reads = c.now > 0;
      c.in_cache += talks ? 1 : c.now;
      c.now = 0;
      if (!talks && !(reads && talking(i))) continue;
      ++c.told;
      if (c.first < 0) c.first = now;
      c.last = now;
      if (c.told < load_.requests[i].output) continue;
      c.state = State::gone;
      if (load_.concurrency > 0) come(now);
    }
  }

  const Load& load_;
  BatchingPolicy policy_;
  std::vector<Customer> all_;
  std::vector<std::size_t> talkers_;
  std::size_t next_ = 0;
  double planned_ = -1;  ///< when this iteration was, seconds
  long back_ = 0, front_ = 0, admitted_ = 0;
};

}  // namespace

PlainRun run_plainly(const Load& load, const BatchingPolicy& policy, const BatchTimer& timer) {
  return PlainServer(load, policy).run(timer);
}

}  // namespace stepcast::sim
