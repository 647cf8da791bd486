#include "tests/sim/serving/plain_server.h"

#include <algorithm>
#include <limits>

namespace stepcast::sim {
namespace {

enum class State { unborn, queued, active, stored, left, gone };

struct Customer {
  State state = State::unborn;
  bool away = false;         ///< let in, and its keys are on their way
  bool brings_keys = false;  ///< that others read, until it gives way
  double came = 0;
  long told = 0, reread = 0;   ///< words told; words that are to be read again
  long in_cache = 0, now = 0;  ///< positions; of the prompt in this iteration
  long rank = 0;               ///< place in the queue, or in the order of admission
};

/// One group of one pool.
class PlainGroup {
 public:
  PlainGroup(std::vector<ServingRequest> requests, const BatchingPolicy& policy)
      : requests_(std::move(requests)), policy_(policy), all_(requests_.size()) {}

  int preempted = 0, stored = 0, unstored = 0;
  std::vector<std::size_t> let_in;  ///< by the last iteration that was planned, of those that bring keys

  void come(std::size_t i, double when, bool brings_keys = false) {
    Customer& c = all_[i];
    c.state = State::queued, c.came = when, c.rank = back_++;
    c.brings_keys = brings_keys, c.told = brings_keys ? 1 : 0;
  }
  void keys_came(std::size_t i) { all_[i].away = false; }
  void keys_went(std::size_t i) { all_[i].state = State::gone; }

  /// What it does next; where there is nothing, what came meanwhile misses nothing.
  Batch next(double now) {
    let_in.clear();
    Batch batch = choose();
    if (batch.empty()) planned_ = now, batch = choose();
    planned_ = now;
    return batch;
  }

  struct Told {
    std::vector<std::size_t> all, ended;
  };
  /// The end of that iteration. `leaves`: those that end keep their blocks until their keys went elsewhere.
  Told settle(bool leaves = false) {
    Told told;
    for (const std::size_t i : of(State::active)) {
      Customer& c = all_[i];
      const bool talks = std::count(talkers_.begin(), talkers_.end(), i) > 0;
      const bool reads = c.now > 0;
      c.in_cache += talks ? 1 : c.now;
      c.now = 0;
      if (!talks && !(reads && talking(i))) continue;
      told.all.push_back(i);
      if (++c.told < requests_[i].output) continue;
      c.state = leaves ? State::left : State::gone;
      told.ended.push_back(i);
    }
    return told;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> of(State state) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].state == state) found.push_back(i);
    std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return all_[a].rank < all_[b].rank; });
    return found;
  }
  [[nodiscard]] long to_read(std::size_t i) const { return requests_[i].prompt + all_[i].reread; }
  [[nodiscard]] bool talking(std::size_t i) const { return !all_[i].away && all_[i].in_cache >= to_read(i); }
  /// That a sequence must have for so many positions, beyond the shared ones.
  [[nodiscard]] long blocks(std::size_t i, long positions) const {
    long count = 0;
    for (long held = 0; held < positions; held += policy_.block) ++count;
    return count - requests_[i].cached / policy_.block;
  }
  /// That it has: for its prompt at least, or for all that it will say.
  [[nodiscard]] long owned(std::size_t i, long extra) const {
    const long least = policy_.reserves_all ? requests_[i].prompt + requests_[i].output : to_read(i);
    return blocks(i, std::max(least, all_[i].in_cache + extra));
  }
  [[nodiscard]] long owned_by_all(const std::vector<std::size_t>& talkers) const {
    long sum = 0;
    for (const State state : {State::active, State::left})
      for (const std::size_t i : of(state)) sum += owned(i, std::count(talkers.begin(), talkers.end(), i));
    return sum;
  }

  [[nodiscard]] long stored_by_all() const {
    long sum = 0;
    for (const std::size_t i : of(State::stored)) sum += owned(i, 0);
    return sum;
  }

  /// Who talks leaves its keys in the host's memory where that has room.
  bool store(std::size_t i, Batch& batch) {
    if (!policy_.swaps || !talking(i)) return false;
    if (stored_by_all() + owned(i, 0) > policy_.host_blocks) {
      ++unstored;
      return false;
    }
    batch.blocks_out += static_cast<double>(owned(i, 0));
    all_[i].state = State::stored, all_[i].rank = ++stored;
    return true;
  }

  void fetch_stored(Batch& batch) {
    for (const std::size_t i : of(State::stored)) {
      const auto here = static_cast<long>(of(State::active).size());
      long wants = owned(i, 1);
      if (here > 0)
        wants = owned(i, 0) + 1 + policy_.spare_blocks + policy_.spare_of_each + here * policy_.spare_of_each;
      if (here >= policy_.most_sequences || owned_by_all(talkers_) + wants > policy_.own_blocks()) return;
      batch.blocks_in += static_cast<double>(owned(i, 0));
      batch.words += 1, batch.contexts += static_cast<double>(all_[i].in_cache);
      all_[i].state = State::active, all_[i].rank = ++admitted_;
      talkers_.push_back(i);
    }
  }

  void give_way(std::size_t i, Batch& batch) {
    Customer& c = all_[i];
    if (store(i, batch)) {
      ++preempted;
      return;
    }
    c.state = State::queued, c.reread = c.told, c.in_cache = 0, c.rank = --front_, c.brings_keys = false;
    ++preempted;
  }

  void add_words(Batch& batch) {
    const int before = preempted;
    std::vector<std::size_t> talkers;
    for (const std::size_t i : of(State::active)) {
      if (all_[i].state != State::active || !talking(i)) continue;
      talkers.push_back(i);
      while (all_[i].state == State::active && owned_by_all(talkers) > policy_.own_blocks()) {
        std::vector<std::size_t> here = of(State::active);
        std::erase_if(here, [&](std::size_t other) { return all_[other].away; });
        give_way(here.back(), batch);
        if (here.back() == i) talkers.pop_back();
      }
    }
    for (const std::size_t i : talkers) batch.words += 1, batch.contexts += static_cast<double>(all_[i].in_cache);
    talkers_ = talkers;
    if (preempted == before) fetch_stored(batch);
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
      const long rest = to_read(i) - std::max<long>(all_[i].in_cache, requests_[i].cached);
      if (rest <= left) return rest;
      if (policy_.pieces) return std::max(0L, left);
      return batch.prompts == 0 ? rest : 0;
    };
    for (const std::size_t i : of(State::active))
      if (!all_[i].away && !talking(i))
        if (const long some = share(i); some > 0) read(i, some, batch), left -= some;
    if (!of(State::stored).empty()) return;
    for (const std::size_t i : of(State::queued)) {
      if (static_cast<long>(of(State::active).size()) >= policy_.most_sequences) break;
      if (policy_.plans_ahead && all_[i].came > planned_) break;
      const bool brings = all_[i].brings_keys;
      const long some = brings ? 0 : share(i);
      if ((some == 0 && !brings) || owned_by_all(talkers_) + owned(i, 0) > policy_.own_blocks()) break;
      all_[i].state = State::active, all_[i].rank = ++admitted_;
      if (brings) {
        all_[i].in_cache = requests_[i].prompt, all_[i].away = true;
        let_in.push_back(i);
        continue;
      }
      all_[i].in_cache = requests_[i].cached;
      read(i, some, batch), left -= some;
    }
  }

  Batch choose() {
    Batch batch;
    talkers_.clear();
    if (policy_.prompts_apart) {
      add_prompts(batch);
      if (batch.prompts == 0) add_words(batch);
      return batch;
    }
    const int before = preempted;
    add_words(batch);
    if (preempted == before) add_prompts(batch);
    return batch;
  }

  std::vector<ServingRequest> requests_;
  BatchingPolicy policy_;
  std::vector<Customer> all_;
  std::vector<std::size_t> talkers_;
  double planned_ = -1;  ///< when the last iteration was, seconds
  long back_ = 0, front_ = 0, admitted_ = 0;
};

constexpr double no_time = std::numeric_limits<double>::infinity();

/// Who comes when: users who send again as a request ends, or arrivals.
class Door {
 public:
  explicit Door(const Load& load) : load_(load) {}
  [[nodiscard]] double next_arrival() const {
    return load_.concurrency > 0 || next_ == load_.requests.size() ? no_time : load_.requests[next_].arrival.value();
  }
  [[nodiscard]] long at_first() const { return load_.concurrency; }
  [[nodiscard]] bool closed() const { return load_.concurrency > 0; }
  /// The next one, if there is another.
  template <class Come> void let_one(const Come& come) {
    if (next_ < load_.requests.size()) come(next_++);
  }

 private:
  const Load& load_;
  std::size_t next_ = 0;
};

}  // namespace

PlainRun run_plainly(const Load& load, const BatchingPolicy& policy, const BatchTimer& timer) {
  PlainGroup group(load.requests, policy);
  Door door(load);
  PlainRun out;
  out.first.assign(load.requests.size(), -1), out.last = out.first;
  double now = 0;
  const auto come = [&](std::size_t i) { group.come(i, now); };
  for (long i = 0; i < door.at_first(); ++i) door.let_one(come);
  while (true) {
    while (door.next_arrival() <= now)
      door.let_one([&](std::size_t i) { group.come(i, load.requests[i].arrival.value()); });
    const Batch batch = group.next(now);
    if (batch.empty()) {
      if (door.next_arrival() == no_time) break;
      now = door.next_arrival();
      continue;
    }
    now += timer(batch).value();
    ++out.iterations;
    const PlainGroup::Told told = group.settle();
    for (const std::size_t i : told.all) {
      if (out.first[i] < 0) out.first[i] = now;
      out.last[i] = now;
    }
    if (door.closed())
      for (std::size_t i = 0; i < told.ended.size(); ++i) door.let_one(come);
  }
  out.preempted = group.preempted, out.stored = group.stored, out.unstored = group.unstored;
  return out;
}

PlainRun run_pools_plainly(const Load& load, const BatchingPolicy& prompts, const BatchingPolicy& words,
    const std::function<double(long)>& transfer, const BatchTimer& timer) {
  std::vector<ServingRequest> read = load.requests, said = load.requests;
  for (ServingRequest& request : read) request.output = 1;
  for (ServingRequest& request : said) request.cached = 0;
  PlainGroup reads(read, prompts), says(said, words);
  Door door(load);
  PlainRun out;
  out.first.assign(load.requests.size(), -1), out.last = out.first;
  double now = 0, reads_until = no_time, says_until = no_time, link_free = 0;
  std::vector<double> lands(load.requests.size(), no_time);  // keys on the link
  std::vector<std::size_t> here;                             // that told no word since their keys came
  const auto come = [&](std::size_t i) { reads.come(i, now); };
  for (long i = 0; i < door.at_first(); ++i) door.let_one(come);
  for (now = 0; now < no_time;) {
    if (reads_until == now) {
      reads_until = no_time;
      for (const std::size_t i : reads.settle(true).ended) says.come(i, now, true);
    }
    if (says_until == now) {
      says_until = no_time;
      const PlainGroup::Told told = says.settle();
      for (const std::size_t i : told.all) out.last[i] = now;
      if (door.closed())
        for (std::size_t i = 0; i < told.ended.size(); ++i) door.let_one(come);
    }
    while (door.next_arrival() <= now) door.let_one(come);
    for (std::size_t i = 0; i < lands.size(); ++i)
      if (lands[i] == now) lands[i] = no_time, reads.keys_went(i), says.keys_came(i), here.push_back(i);
    if (reads_until == no_time)
      if (const Batch batch = reads.next(now); !batch.empty())
        reads_until = now + timer(batch).value(), ++out.iterations;
    if (says_until == no_time) {
      const Batch batch = says.next(now);
      for (const std::size_t i : says.let_in)
        link_free = std::max(now, link_free) + transfer(load.requests[i].prompt), lands[i] = link_free;
      if (!batch.empty()) {
        says_until = now + timer(batch).value(), ++out.iterations;
        for (const std::size_t i : here) out.first[i] = out.last[i] = now;
        here.clear();
      }
    }
    now = std::min({reads_until, says_until, door.next_arrival(), *std::min_element(lands.begin(), lands.end())});
  }
  out.preempted = reads.preempted + says.preempted;
  out.stored = says.stored, out.unstored = says.unstored;
  return out;
}

}  // namespace stepcast::sim
