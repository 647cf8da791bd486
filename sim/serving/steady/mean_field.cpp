#include "sim/serving/steady/mean_field.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/serving/steady/word_cycle.h"

namespace stepcast::sim {
namespace {

/// Of saturation, where sequences give way to others: it is some 10 % less than the mean field says.
constexpr double near_preempting_saturation = 0.8;
/// Of what iterations can read: above it times to first words hang on how prompts queue.
constexpr double much_reading = 0.6;

/// Of the time that reading prompts takes: above it what a prompt takes counts several times over.
constexpr double much_pressure = 0.45, much_pressure_of_groups = 0.2, much_of_closed_groups = 0.5;
/// Of iterations that are planned ahead, the part that reads prompts beside words: above it one bunch of them follows
/// the other, and their sizes hang on each other.
constexpr double much_met_ahead = 0.85;

}  // namespace

const char* to_text(MeanFieldDoubt doubt) {
  constexpr const char* texts[] = {"", "90 % of saturation or more", "beyond saturation",
      "the cache may run full, and sequences give way to others", "arrivals in bursts", "prompts take much of the time",
      "few words behind the first", "prompts wait for each other", "whole prompts find no room beside words",
      "groups of ranks wait for the slowest of them in ways that means do not tell",
      "iterations wait for each other on stages", "a request is longer than the cache"};
  return texts[static_cast<int>(doubt)];
}

MeanField::MeanField(const RequestMeans& means, const Servers& servers, const BatchTimer& timer)
    : means_(means), servers_(servers), timer_(&timer), room_(means, servers.policy) {
  // Lanes that never waited for each other would be replicas of their own.
  servers_.replicas *= servers.stages;
  saturation_ = closed({});
}

bool MeanField::reads_ahead(const SteadyState& state) const {
  return servers_.policy.plans_ahead && !servers_.policy.prompts_apart && state.met_prompts > much_met_ahead;
}

SteadyState MeanField::closed(const SteadyLoad& load) const {
  const auto replicas = static_cast<double>(servers_.replicas), groups = static_cast<double>(servers_.groups);
  const bool endless = !load.users;
  const double most = room_.most_running(), before = endless ? 0 : servers_.before.value();
  const double users = endless ? most : *load.users / (replicas * groups);
  // Of users that do not divide among groups the fullest group counts.
  const double fullest = groups > 1 ? std::ceil(users - 1e-9) : users;
  const bool cohorts = means_.output_deviation() == 0;
  const WordCycles cycles(means_, servers_.policy, servers_.groups, *timer_);
  WordCycle cycle;
  double running = std::min(users, most), whole = 0;
  Crowd crowd;
  crowd.sequences = std::min(std::max(1.0, fullest), most);
  crowd.others = std::max(0.0, running - 1 / groups);
  crowd.bunching = cohorts ? Bunching::in_cohorts : Bunching::scattered;
  crowd.rounds = endless ? 0 : load.rounds, crowd.before = users > most ? 0 : before;
  crowd.ahead = servers_.policy.plans_ahead && !endless && users <= most ? 1 : 0;
  for (int step = 0; step < 4; ++step) {
    cycle = cycles.of(crowd);
    whole = cycle.prompt + cycle.words;
    const double under_way = whole / (whole + cycle.away), next = 1 + (std::max(1.0, fullest) - 1) * under_way;
    running = std::min(users * under_way, most);
    if (cohorts || users > most || std::abs(next - crowd.sequences) < 1e-3 * next) break;
    crowd.sequences = std::min(next, most);
    crowd.others = std::max(0.0, running * (1 - 1 / (std::max(1.0, users * groups))));
  }
  SteadyState state;
  const double per_group = running / whole;
  state.requests_per_second = per_group * groups * replicas;
  state.words_per_second = state.requests_per_second * means_.output;
  state.per_word = Seconds(cycle.per_word);
  state.alone = Seconds(cycle.alone), state.with_prompts = Seconds(cycle.with_prompts);
  state.met_prompts = cycle.share;
  state.running = running * groups * replicas;
  state.used_share = room_.used_share(running);
  const bool full = users > most;
  if (!endless && full) state.first_word = Seconds(users / per_group - cycle.words);
  else if (!endless) state.first_word = Seconds(cycle.away + cycle.prompt);
  if (servers_.stages > 1) state.doubt = MeanFieldDoubt::stages;
  if (means_.output - 1 < few_words) state.doubt = MeanFieldDoubt::one_word;
  if (servers_.policy.most_wait > 0) state.doubt = MeanFieldDoubt::holds_back;
  const auto positions = static_cast<double>(servers_.policy.most_positions);
  if (!servers_.policy.pieces && !servers_.policy.prompts_apart && means_.most_read > positions - running &&
      means_.least_read <= positions)
    state.doubt = MeanFieldDoubt::starves;
  const bool cache_bound = full && most < static_cast<double>(servers_.policy.most_sequences);
  if (groups > 1 &&
      ((replicas > 1 && users < 1) || cycles.most_prompts(running) < 1 || cycle.pressure > much_of_closed_groups))
    state.doubt = MeanFieldDoubt::uneven;
  if (reads_ahead(state)) state.doubt = MeanFieldDoubt::reads_much;
  if (room_.may_preempt(running, cohorts) || (cache_bound && !servers_.policy.reserves_all))
    state.doubt = MeanFieldDoubt::preempts;
  if (room_.never_fits()) state.doubt = MeanFieldDoubt::never_fits;
  return state;
}

SteadyState MeanField::open(const SteadyLoad& load) const {
  const auto replicas = static_cast<double>(servers_.replicas), groups = static_cast<double>(servers_.groups);
  const double units = replicas * groups, rate = *load.rate / units, most = room_.most_running();
  SteadyState state;
  state.requests_per_second = *load.rate, state.words_per_second = *load.rate * means_.output;
  const double share = *load.rate / saturation_.requests_per_second;
  if (share >= 1) {
    state = saturation_;
    state.doubt = saturation_.doubt == MeanFieldDoubt::never_fits ? MeanFieldDoubt::never_fits
                                                                  : MeanFieldDoubt::beyond_saturation;
    state.first_word.reset();
    return state;
  }
  const WordCycles cycles(means_, servers_.policy, servers_.groups, *timer_);
  // Of one group. The router evens groups out: what varies is what all have together.
  // The first guess: a word's time grows evenly from that of one sequence to that at saturation.
  const double lone = MeanIterations(means_, *timer_).words(1), slowest = saturation_.per_word.value();
  double mean = rate * means_.output * lone / (1 - share + share * lone / slowest), variance = mean;
  WordCycle low, high;
  double weight = 0.5;
  for (int step = 0; step < 12; ++step) {
    // Gauss's rule of two points for the number under way of all units, whose law has this mean and variance and the
    // skewness of a negative binomial one (without slowing down it is Poisson's).
    const double all = mean * units, deviation = std::sqrt(variance * units),
                 skewness = (2 * variance / mean - 1) / deviation, half = skewness / 2, root = std::hypot(1.0, half);
    const double below = (all + 1 + deviation * (half - root)) / units,
                 above = (all + 1 + deviation * (half + root)) / units;
    weight = (1 + half / root) / 2;
    const auto at = [&](double sequences, const WordCycle& last) {
      Crowd crowd;
      // Of groups the fullest counts: a router evens them out but for one request.
      crowd.sequences = std::clamp(sequences + (groups > 1 ? std::min(0.5, mean / 2) : 0), 1.0, most);
      crowd.bunching = Bunching::arriving, crowd.per_second = rate, crowd.alone = replicas == 1;
      crowd.word_guess = last.words / std::max(1.0, means_.output - 1);
      return cycles.of(crowd);
    };
    low = at(below, low), high = at(above, high);
    const double few = rate * (low.prompt + low.words), many = rate * (high.prompt + high.words);
    const double next = weight * few + (1 - weight) * many;
    const double slope = std::clamp((many - few) / (above - below), 0.0, 0.95);
    // A chord's step towards the balance of what comes and what ends.
    const double moved = std::max(1e-9, mean + (next - mean) / (1 - slope));
    const bool settled = std::abs(moved - mean) < 1e-2 * moved;
    mean = moved, variance = mean / (1 - slope);
    if (settled) break;
  }
  const auto both = [&](double WordCycle::*what) { return weight * low.*what + (1 - weight) * high.*what; };
  state.per_word = Seconds(both(&WordCycle::per_word));
  state.alone = Seconds(both(&WordCycle::alone)), state.with_prompts = Seconds(both(&WordCycle::with_prompts));
  state.met_prompts = both(&WordCycle::share);
  state.running = mean * units;
  const double idle = std::exp(-mean * groups);
  state.pressure = both(&WordCycle::pressure);
  const double planned = servers_.policy.plans_ahead ? both(&WordCycle::words) / std::max(1.0, means_.output - 1) : 0;
  if (both(&WordCycle::reading) < much_reading)
    state.first_word =
        servers_.before + Seconds((1 - idle) * (weight * low.residual() + (1 - weight) * high.residual() + planned) +
                                  both(&WordCycle::prompt));
  state.used_share = room_.used_share(mean, room_.blocks_of(means_.context()));
  const double deviation = std::sqrt(variance / units);
  if (state.pressure > (groups > 1 ? much_pressure_of_groups : much_pressure)) state.doubt = MeanFieldDoubt::reads_much;
  if (reads_ahead(state)) state.doubt = MeanFieldDoubt::reads_much;
  if (load.shape != 1) state.doubt = MeanFieldDoubt::bursts;
  if (room_.may_preempt(mean + CacheRoom::far_out * deviation, false)) state.doubt = MeanFieldDoubt::preempts;
  else if (mean + CacheRoom::far_out * deviation > most) state.first_word.reset();
  if (share >= (saturation_.doubt == MeanFieldDoubt::preempts ? near_preempting_saturation : near_saturation))
    state.doubt = MeanFieldDoubt::near_saturation;
  if (groups > 1 && cycles.most_prompts(mean) < 1) state.doubt = MeanFieldDoubt::uneven;
  for (const MeanFieldDoubt certain : {MeanFieldDoubt::stages, MeanFieldDoubt::one_word, MeanFieldDoubt::holds_back,
           MeanFieldDoubt::starves, MeanFieldDoubt::never_fits})
    if (saturation_.doubt == certain) state.doubt = certain;
  return state;
}

SteadyState MeanField::of(const SteadyLoad& load) const { return load.rate ? open(load) : closed(load); }

}  // namespace stepcast::sim
