#include "sim/serving/steady/word_cycle.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {
namespace {

/// What takes more of the time than this is taken as this much, so that a fixed point on its way stays finite.
constexpr double all_but_all = 0.98;

}  // namespace

double WordCycle::residual() const {
  if (share <= 0) return alone / 2;
  const double lone = 1 - share;
  return (lone * alone * alone + share * with_prompts * with_prompts) / (2 * (lone * alone + share * with_prompts));
}

double WordCycles::most_prompts(double words) const {
  const double room = std::max(1.0, static_cast<double>(policy_.most_positions) - (policy_.prompts_apart ? 0 : words));
  const double prompts = room / means_.read;
  if (policy_.pieces) return prompts;
  // Of whole prompts that differ half of one stays empty.
  const bool differ = means_.most_read > means_.least_read;
  return std::max(1.0, differ ? prompts - 0.5 : std::floor(prompts));
}

/// Others of a group in so many iterations of a cycle. As benchmarks start, they are close together at first, and the
/// deviation of their outputs spreads them from round to round.
Bunches WordCycles::since_start(const Crowd& crowd, double iterations) const {
  if (crowd.rounds == 0) return poisson_bunches(crowd.others / iterations, groups_);
  Bunches mean;
  double bunches = 0;
  const double width = std::sqrt(12.0) * means_.output_deviation(), begin = crowd.sequences / most_prompts(0);
  for (std::int64_t round = 1; round <= crowd.rounds; ++round) {
    const double window = std::min(iterations, 1 + begin + width * std::sqrt(static_cast<double>(round)));
    const Bunches one = poisson_bunches(crowd.others / window, groups_);
    const double rest = window == iterations ? static_cast<double>(crowd.rounds - round + 1) : 1;  // and so on
    mean.share += rest * one.share * window / iterations;
    bunches += rest * one.share * window / iterations * one.each;
    if (window == iterations) break;
  }
  if (mean.share > 0) mean.each = std::max(1.0, bunches / mean.share);
  mean.share /= static_cast<double>(crowd.rounds);
  return mean;
}

/// Prompts by themselves, in as many iterations as they need. Their number and lengths differ from time to time: where
/// they all but fill an iteration, half of another follows.
double WordCycles::reading_s(double prompts) const {
  const double filled = prompts / most_prompts(0), one = 1 / std::max(1.0, prompts);
  const bool differ = means_.most_read > means_.least_read;
  const double apart = 1 - 1 / std::max(1.0, most_prompts(0));  // where one fills an iteration, several fill as many
  const double several = std::clamp(filled - 0.5, 0.0, 0.5) * (policy_.pieces ? 1 : apart);
  const double alone = differ ? several : std::ceil(filled - 1e-9) - filled;
  const double reads = std::max(1.0, filled + (1 - one) * several + one * alone);
  return reads * iterations_.mixed(0, prompts / reads, prompts / reads * means_.read);
}

/// Another request ends with an iteration, and the next one waits `before` later for the end of the iteration that runs
/// then: one, or some more where they are shorter than that, and for those that were planned before it came.
double WordCycles::away(const WordCycle& cycle, const Crowd& crowd, double word) const {
  if (crowd.others * groups_ < 0.5) return crowd.before;  // nothing runs meanwhile
  if (crowd.before <= 0) return crowd.ahead * word;
  double iterations = 1 + crowd.ahead, reached = 1;
  for (double passed = cycle.alone; passed < crowd.before && iterations < 64; passed += cycle.alone)
    iterations += reached *= 1 - cycle.share;
  return std::max(crowd.before, iterations * word);
}

/// `first_gap`: what the gap behind the first word is longer than others.
void WordCycles::finish(WordCycle& cycle, double word, double first_gap) const {
  cycle.words = (means_.output - 1) * word + first_gap;
  cycle.per_word = word + first_gap * means_.inverse_gaps;
}

WordCycle WordCycles::mixed(const Crowd& crowd) const {
  const double behind_first = means_.output - 1;
  WordCycle cycle;
  cycle.alone = iterations_.words(crowd.sequences);
  const double most = most_prompts(crowd.sequences * behind_first / means_.output), pieces = std::max(1.0, 1 / most);
  Bunches bunches;
  double per_iteration = 0, waits = 0, word = cycle.alone, more = 0;
  // Words in an iteration with prompts: those that are not read themselves.
  const auto beside = [&](double prompts) {
    const double present = crowd.sequences * (behind_first + pieces) / (behind_first + pieces + waits);
    return std::max(
        0.0, pieces > 1 ? present * behind_first / (behind_first + pieces) : present - std::max(1.0, prompts));
  };
  const auto bound = [&] {  // what does not find room comes in the next iteration
    cycle.reading = per_iteration / most;
    if (bunches.each > most) bunches.each = std::max(1.0, most), bunches.share = std::max(bunches.share, cycle.reading);
    bunches.share = pieces > 1 ? 1 - std::pow(1 - std::min(1.0, cycle.reading), groups_) : std::min(1.0, bunches.share);
    cycle.with_prompts =
        iterations_.mixed(beside(bunches.each), bunches.each, std::min(bunches.each, most) * means_.read);
  };
  const bool arrive = crowd.bunching == Bunching::arriving;
  if (arrive) {
    if (crowd.word_guess > 0) word = crowd.word_guess, more = std::clamp(1 - cycle.alone / word, 0.0, all_but_all);
    for (int step = 0; step < (crowd.word_guess > 0 ? 2 : 3); ++step) {
      per_iteration = crowd.per_second * word;
      bunches = arriving_bunches(per_iteration, groups_, more);
      bound();
      // Each prompt makes iterations longer by as much, so that more come meanwhile: word = alone + more x word.
      more = bunches.share * (cycle.with_prompts - cycle.alone) / std::max(1e-12, word);
      more = std::min(more, all_but_all);
      word = cycle.alone / (1 - more);
    }
    waits = waits_for_room(cycle.reading, most);
  } else {
    const double iterations = iterations_of_cycle(behind_first + pieces, crowd.others, most);
    waits = iterations - behind_first - pieces;
    if (waits > 0.5) cycle.alone = iterations_.words(crowd.sequences * (behind_first + pieces) / iterations);
    per_iteration = crowd.others / iterations;
    bunches = since_start(crowd, iterations);
    bound();
    word = (1 - bunches.share) * cycle.alone + bunches.share * cycle.with_prompts;
    cycle.pressure = bunches.share * (cycle.with_prompts - cycle.alone) / word;
  }
  cycle.share = bunches.share;
  const double own = std::min(std::max(1.0, most), 1 + per_iteration);
  const double read = iterations_.mixed(beside(own), own, std::min(own, most) * means_.read);
  cycle.prompt = pieces * read + waits * cycle.with_prompts;
  cycle.away = away(cycle, crowd, word);
  // While its own prompt is read more come than in other iterations, and they are read with its second word.
  if (arrive) cycle.pressure = more;
  finish(cycle, word, arrive && crowd.alone ? std::max(0.0, more / (1 - more) * (read - word)) : 0);
  return cycle;
}

WordCycle WordCycles::mixed_cohorts(const Crowd& crowd) const {
  const double behind_first = means_.output - 1, n = crowd.sequences;
  WordCycle cycle;
  cycle.alone = iterations_.words(n);
  // In an iteration that reads a cohort all others speak; those that there is no room for join the next.
  double cohort = std::min(n, std::max(1.0, std::floor(most_prompts(0))));
  for (int step = 0; step < 3; ++step) cohort = std::min(n, std::max(1.0, std::floor(most_prompts(n - cohort))));
  const double most = most_prompts(n - cohort), pieces = std::max(1.0, 1 / most);
  double cohorts = pieces > 1 ? n : std::ceil(n / cohort - 1e-9);
  // A cohort that has ended comes back some iterations later, when the next ones are read: prompts are there, then, to
  // fill iterations to the last position.
  const double idle = cohorts > 1 ? std::ceil(crowd.before / cycle.alone) + crowd.ahead : 0;
  if (idle > 0 && policy_.pieces && pieces == 1) cohorts = std::max(1.0, n / most);
  const double each = n / cohorts, reads = cohorts * pieces;
  const double iterations = std::max(behind_first + pieces + idle, reads);
  const double speaking =
      pieces > 1 ? n * behind_first / iterations : std::max(0.0, std::min(n - each * (1 + idle), each * behind_first));
  cycle.with_prompts = iterations_.mixed(speaking, each, std::min(each, most) * means_.read);
  double behind_others = 0;  // iterations with prompts that a cohort spends away, in the mean
  const double whole = std::max(1.0, std::round(cohorts)), first = std::min(whole, idle + 1);
  behind_others = (first * (first - 1) / 2 + (whole - first) * idle) / whole;
  cycle.away = idle > 0 ? behind_others * cycle.with_prompts + (idle - behind_others) * cycle.alone : crowd.before;
  cycle.share = behind_first > 0 ? std::clamp((reads - pieces - behind_others) / behind_first, 0.0, 1.0) : 0;
  cycle.prompt = (iterations - behind_first - idle) * cycle.with_prompts;
  cycle.reading = reads / iterations;
  finish(cycle, (1 - cycle.share) * cycle.alone + cycle.share * cycle.with_prompts, 0);
  return cycle;
}

WordCycle WordCycles::apart(const Crowd& crowd) const {
  const double behind_first = std::max(1.0, means_.output - 1), most = most_prompts(0);
  WordCycle cycle;
  cycle.alone = iterations_.words(crowd.sequences);
  const double lone = cycle.alone;
  double others = 0, reading = 0, first_gap = 0;
  if (crowd.bunching == Bunching::arriving) {
    // Those that come while prompts are read are read before the next words, and so on.
    double time = lone, reached = 1, more = 0;
    constexpr int alike = 3;  // those behind that come again with the same chance
    for (int chain = 0; chain <= alike; ++chain) {
      const Bunches bunches = arriving_bunches(crowd.per_second * time, groups_, 0);
      if (chain == 0) cycle.share = bunches.share;
      reached *= bunches.share;
      if (reached < 1e-3) break;
      time = reading_s(bunches.each);
      if (chain == 0) more = std::min(all_but_all, crowd.per_second * time / bunches.each);
      if (chain == alike) reached /= std::max(1 - all_but_all, 1 - bunches.share);
      reading += reached * time;
    }
    cycle.prompt = reading_s(1);
    // Behind its own prompt those that came meanwhile are read first.
    if (crowd.alone) first_gap = more / (1 - more) * (cycle.prompt - lone);
    cycle.pressure = more;
  } else {
    const Bunches bunches = since_start(crowd, behind_first);
    cycle.share = bunches.share, others = crowd.others / behind_first;
    if (bunches.share > 0) reading = bunches.share * reading_s(bunches.each);
    cycle.prompt = reading_s(1 + others);
    first_gap = -reading;  // nobody ends while prompts are read
  }
  const double word = lone + reading;
  cycle.with_prompts = cycle.share > 0 ? lone + reading / cycle.share : lone;
  cycle.reading = reading / word;
  if (most < 1) cycle.prompt += cycle.reading / 2 * reading_s(1);  // behind one that is being read
  cycle.away = away(cycle, crowd, word);
  finish(cycle, word, first_gap);
  return cycle;
}

/// While a group reads, its words wait; those of the other groups take as long as the longest iteration of all.
WordCycle WordCycles::apart_in_groups(const Crowd& crowd) const {
  const double behind_first = std::max(1.0, means_.output - 1);
  const bool arrive = crowd.bunching == Bunching::arriving;
  WordCycle cycle;
  cycle.alone = iterations_.words(crowd.sequences);
  double iteration = cycle.alone, own_reads = 0, per_iteration = 0, reads = 0;
  for (int step = 0; step < 8; ++step) {
    per_iteration = arrive ? crowd.per_second * iteration : crowd.others / (behind_first / (1 - own_reads) + 1);
    const Bunches bunches =
        arrive ? arriving_bunches(per_iteration, groups_, 0) : poisson_bunches(per_iteration, groups_);
    reads = bunches.share > 0 ? reading_s(bunches.each) : 0;
    own_reads = std::min(all_but_all, 1 - std::exp(-per_iteration)), cycle.share = bunches.share;
    const double next = (1 - bunches.share) * cycle.alone + bunches.share * std::max(reads, cycle.alone);
    const bool settled = std::abs(next - iteration) < 1e-3 * next && step > 1;
    iteration = next;
    if (settled) break;
  }
  const double word = iteration / (1 - own_reads);
  cycle.with_prompts = cycle.share > 0 ? (word - (1 - cycle.share) * cycle.alone) / cycle.share : cycle.alone;
  cycle.prompt = std::max(reads * cycle.share, reading_s(arrive ? 1 : 1 + per_iteration));
  cycle.reading = own_reads;
  cycle.pressure = cycle.share * std::max(0.0, reads - cycle.alone) / iteration;
  cycle.away = away(cycle, crowd, word);
  finish(cycle, word, 0);
  return cycle;
}

/// All are read one behind the other, then all speak: those read first wait for the others with their second word.
WordCycle WordCycles::apart_cohorts(const Crowd& crowd) const {
  const double n = crowd.sequences, behind_first = std::max(1.0, means_.output - 1), most = most_prompts(0);
  const double reads = std::ceil(n / most - 1e-9), each = n / reads;
  const double one = iterations_.mixed(0, std::max(1.0, each), each * means_.read);
  WordCycle cycle;
  cycle.alone = iterations_.words(n);
  cycle.prompt = (reads + 1) / 2 * one;
  cycle.share = reads > 1 ? (reads - 1) / reads / behind_first : 0;
  cycle.with_prompts = cycle.alone + reads / 2 * one;
  cycle.reading = reads * one / (reads * one + behind_first * cycle.alone);
  cycle.away = crowd.before;
  finish(cycle, cycle.alone, (reads - 1) / 2 * one);
  return cycle;
}

WordCycle WordCycles::of(const Crowd& crowd) const {
  if (crowd.bunching == Bunching::in_cohorts)
    return policy_.prompts_apart ? apart_cohorts(crowd) : mixed_cohorts(crowd);
  if (!policy_.prompts_apart) return mixed(crowd);
  return groups_ > 1 ? apart_in_groups(crowd) : apart(crowd);
}

}  // namespace stepcast::sim
