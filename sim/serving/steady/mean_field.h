// The steady state of a load on servers without running its requests one by one: every sequence meets the mean of the
// others, found as a fixed point over the times of iterations.
//
// A closed loop is a cycle: a request waits, its prompt is read, its words are said, and the next comes. The prompts of
// the others fall into iterations by a Poisson law where lengths of outputs differ, and in the bunches in which they
// began where all outputs are as long. An open loop is a birth-and-death process whose requests take longer the more
// there are: its mean and variance follow from the balance of flows, E[n] = E[a(n + 1)] and Var[n] = E[n] + Cov[n, a(n
// + 1)] with a(n) = rate x time in the system (the processor sharing of Kelly 1979, Reversibility and Stochastic
// Networks, section 3.3).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/serving/steady/cache_room.h"
#include "sim/serving/steady/request_means.h"
#include "sim/serving/served_run.h"

namespace stepcast::sim {

/// What keeps a mean field from being the simulator's figure.
enum class MeanFieldDoubt : std::uint8_t {
  none,
  near_saturation,    ///< an open loop at 90 % of it or more, 80 % where sequences give way there
  beyond_saturation,  ///< more comes than is served: there is no steady state
  preempts,           ///< the cache may run full, and sequences give way to others
  bursts,             ///< arrivals of a law that is not Poisson's
  reads_much,         ///< prompts that arrive take so much of the time that small errors count several times over
  one_word,           ///< requests that say little behind their first word
  holds_back,         ///< prompts wait for each other, by the policy
  starves,            ///< whole prompts find no room beside the words that run
  uneven,             ///< groups of ranks too unlike for means: few users, prompts in pieces, or much reading
  stages,             ///< iterations wait for each other on the stages of a replica
  never_fits,         ///< a request is longer than the cache
};
const char* to_text(MeanFieldDoubt doubt);

/// Of saturation.
constexpr double near_saturation = 0.9;
/// Requests that have fewer words behind their first: prompts are all they are.
constexpr double few_words = 24;

struct SteadyLoad {
  std::optional<double> users = {}, rate = {};  ///< of all replicas; neither: so many are there that some always wait
  double shape = 1;                             ///< of the gamma law between arrivals
  /// of a closed loop that begins as benchmarks do, all users at once: requests of each user; 0: it began long ago
  std::int64_t rounds = 0;
};

/// Of all replicas together, where nothing else is said.
struct SteadyState {
  MeanFieldDoubt doubt = MeanFieldDoubt::none;
  double requests_per_second = 0, words_per_second = 0;
  Seconds per_word;                   ///< of a request behind its first word
  Seconds alone, with_prompts;        ///< times between words, without prompts and with them
  double met_prompts = 0;             ///< share of the words that comes with them
  std::optional<Seconds> first_word;  ///< from sending; nullopt: it hangs on more than means, or grows without bound
  double running = 0;                 ///< requests at once
  double pressure = 0;                ///< of an open loop, the part of the time that reading prompts adds to iterations
  double used_share = 0;              ///< of the cache
};

class MeanField {
 public:
  /// The timer must outlive it.
  MeanField(const RequestMeans& means, const Servers& servers, const BatchTimer& timer);

  [[nodiscard]] SteadyState of(const SteadyLoad& load) const;
  /// With as many waiting as there can be: what the servers do at most.
  [[nodiscard]] const SteadyState& saturation() const { return saturation_; }

 private:
  [[nodiscard]] SteadyState closed(const SteadyLoad& load) const;
  [[nodiscard]] SteadyState open(const SteadyLoad& load) const;
  [[nodiscard]] bool reads_ahead(const SteadyState& state) const;

  RequestMeans means_;
  Servers servers_;
  BatchTimer const* timer_;
  CacheRoom room_;
  SteadyState saturation_;
};

}  // namespace stepcast::sim
