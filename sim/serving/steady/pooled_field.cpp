#include "sim/serving/steady/pooled_field.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast::sim {
namespace {

/// Of a cycle, the part that is a guess; and of what the pool of prompts reads at most, that at which it is full.
constexpr double much_guessed = 0.05, all_busy = 0.97;
/// Steps of halving: some thousandths of a percent.
constexpr int halvings = 16;

/// No keys are here before they are sent.
RequestMeans sent_whole(RequestMeans means) {
  means.read_square += means.cached * (2 * means.read + means.cached);
  means.least_read += means.cached, means.most_read += means.cached, means.read += means.cached;
  means.cached = 0;
  return means;
}

}  // namespace

WordSpeaker::WordSpeaker(const RequestMeans& means, const Servers& servers, const BatchTimer& timer)
    : means_(sent_whole(means)), servers_(servers), iterations_(means_, timer), room_(means_, servers.policy) {
  servers_.replicas = 1;
}

PooledField::PooledField(const PromptReader& prompts, const WordSpeaker& words, const PoolCounts& counts)
    : prompts_(&prompts), words_(&words), counts_(counts) {
  const Servers& says = words.servers();
  groups_ = counts.words * static_cast<double>(says.groups * says.stages);
  behind_first_ = std::max(1.0, words.means().output - 1);
  most_read_ = counts.prompts * prompts.most_per_second();
  const double senders = counts.prompts * static_cast<double>(prompts.servers().groups);
  most_sent_ = std::min(senders / counts.sends, groups_ / counts.receives) / std::max(1e-12, counts.sending);
  // What is let in holds its blocks while its keys come, too.
  const double held = groups_ * words.room().most_running(), word = words.word(held / groups_);
  const double keys = flow({held, held, held, 1, true}).arriving, speaks = behind_first_ * word;
  most_running_ = held * speaks / (speaks + keys);
  most_said_ = most_running_ / (behind_first_ * words.word(most_running_ / groups_));
}

PooledField::Flow PooledField::flow(const Crowd& crowd) const {
  Flow flow;
  flow.running = crowd.running;
  // A router evens groups out but for one sequence: some have one more than others, and more sequences meet those.
  const double each = crowd.running / groups_, few = std::floor(each), more = each - few;
  const double even = each > 1 ? ((1 - more) * few * few + more * (few + 1) * (few + 1)) / each : 1;
  double met = std::max({even, (crowd.cohorts ? crowd.others : crowd.others + 1) / groups_, crowd.together / groups_});
  // Of the groups of a replica the fullest counts.
  if (words_->servers().groups > 1)
    met = std::min(std::ceil(crowd.users / groups_ - 1e-9), met + std::min(0.5, met / 2));
  flow.word = words_->word(std::clamp(met, 1.0, words_->room().most_running()));
  flow.per_second = crowd.running / (behind_first_ * flow.word);
  const double there = crowd.others / counts_.words;
  flow.busy = counts_.words > 1 ? std::pow(std::min(1.0, there), counts_.words) : 1 - std::exp(-there);
  flow.arriving = counts_.sending + flow.busy * (std::ceil(counts_.sending / flow.word) * flow.word - counts_.sending);
  return flow;
}

/// From when a prompt was read until a group lets it in, its keys are there and its words begin.
double PooledField::until_words(const Flow& flow, double bunch) const {
  const double load = std::min(0.98, flow.per_second / most_sent_);
  const double behind = counts_.sending * (load / (2 * (1 - load)) + (bunch - 1) / 2);
  const double planned = words_->servers().policy.plans_ahead ? 1 : 0;
  return flow.busy * flow.word * (0.5 + planned) + behind + flow.arriving;
}

PooledState PooledField::state_of(const Flow& flow, bool cohorts) const {
  PooledState state;
  state.requests_per_second = flow.per_second;
  state.words_per_second = flow.per_second * words_->means().output;
  state.per_word = state.alone = state.with_prompts = Seconds(flow.word);
  state.running = flow.running;
  state.busy = flow.per_second / most_read_;
  const CacheRoom& room = words_->room();
  const double held = (flow.running + flow.per_second * flow.arriving) / groups_;
  state.used_share = room.used_share(held);
  const Servers& reads = prompts_->servers();
  const Servers& says = words_->servers();
  if (says.stages > 1 || reads.stages > 1) state.doubt = MeanFieldDoubt::stages;
  if (behind_first_ < few_words) state.doubt = MeanFieldDoubt::one_word;
  if (says.policy.most_wait > 0 || reads.policy.most_wait > 0) state.doubt = MeanFieldDoubt::holds_back;
  if (says.groups > 1 && counts_.words > 1 && flow.running < groups_) state.doubt = MeanFieldDoubt::uneven;
  if (room.may_preempt(held, cohorts)) state.doubt = MeanFieldDoubt::preempts;
  if (room.never_fits()) state.doubt = MeanFieldDoubt::never_fits;
  return state;
}

PooledState PooledField::closed(const SteadyLoad& load) const {
  const double users = *load.users, before = prompts_->servers().before.value();
  const bool cohorts = words_->means().output_deviation() == 0 && load.rounds > 0;
  const double others = (users - 1) / users;
  const auto reading = [&](double per_second) {
    return prompts_->reading({per_second / counts_.prompts, counts_.prompts, others});
  };
  const auto of_running = [&](double running) {
    Crowd crowd{running, running * others, users, 1, cohorts};
    crowd.together = std::min(running, reading(flow(crowd).per_second).together);
    return flow(crowd);
  };
  // Users that keep so many sequences running.
  const auto users_of = [&](const Flow& flow) {
    if (flow.per_second >= std::min(most_read_, most_sent_)) return std::numeric_limits<double>::infinity();
    return flow.running + flow.per_second * (before + reading(flow.per_second).until + until_words(flow, 1));
  };
  const double most_running = std::min(users, most_running_);
  Flow flow = of_running(most_running);
  if (users_of(flow) > users) {
    double low = 0, high = most_running;
    for (int step = 0; step < halvings; ++step) {
      const double middle = (low + high) / 2;
      flow = of_running(middle);
      (users_of(flow) > users ? high : low) = middle;
    }
  }
  PooledState state = state_of(flow, cohorts);
  state.first_word = Seconds(users / flow.per_second - behind_first_ * flow.word);
  // Those that began together, and those of one batch, do not come as a Poisson law has it: how they wait, and how many
  // of a bunch are read at once, is a guess, unless all of the pool's time is filled.
  const PromptReading read = reading(flow.per_second);
  const double bunch = prompts_->time(users / counts_.prompts) - prompts_->time(read.together);
  const double guessed = (read.waits + std::max(0.0, bunch)) * flow.per_second / users;
  if (guessed > much_guessed && state.busy < all_busy && state.doubt == MeanFieldDoubt::none)
    state.doubt = MeanFieldDoubt::reads_much;
  const bool full = flow.running >= most_running_;
  const auto& policy = words_->servers().policy;
  if (full && !policy.reserves_all && words_->room().most_running() < static_cast<double>(policy.most_sequences))
    state.doubt = MeanFieldDoubt::preempts;
  if (words_->room().never_fits()) state.doubt = MeanFieldDoubt::never_fits;
  return state;
}

/// Of so many requests that come in a second: each meets what runs, and runs beside it.
PooledField::Flow PooledField::arriving(double per_second) const {
  constexpr double any = 1e9;
  double low = 0, high = most_running_;
  for (int step = 0; step < halvings; ++step) {
    const double middle = (low + high) / 2;
    (flow({middle, middle, any}).per_second < per_second ? low : high) = middle;
  }
  return flow({high, high, any});
}

PooledState PooledField::open(const SteadyLoad& load) const {
  const double share = *load.rate / most();
  if (share >= 1) {
    PooledState state = state_of(flow({most_running_, most_running_, most_running_, 1, true}), false);
    if (state.doubt != MeanFieldDoubt::never_fits) state.doubt = MeanFieldDoubt::beyond_saturation;
    state.busy = *load.rate / most_read_;
    return state;
  }
  const Flow flow = arriving(*load.rate);
  PooledState state = state_of(flow, false);
  const double read = prompts_->reading({flow.per_second / counts_.prompts, counts_.prompts, 1}).until;
  state.first_word = prompts_->servers().before + Seconds(read + until_words(flow, 1));
  const double deviation = std::sqrt(flow.running);
  const double most_at_once = (flow.running + CacheRoom::far_out * deviation) / groups_;
  if (words_->room().may_preempt(most_at_once, false)) state.doubt = MeanFieldDoubt::preempts;
  else if (most_at_once > words_->room().most_running()) state.first_word.reset();
  if (share >= near_saturation) state.doubt = MeanFieldDoubt::near_saturation;
  if (load.shape != 1) state.doubt = MeanFieldDoubt::bursts;
  if (words_->room().never_fits()) state.doubt = MeanFieldDoubt::never_fits;
  return state;
}

PooledState PooledField::of(const SteadyLoad& load) const { return load.rate ? open(load) : closed(load); }

}  // namespace stepcast::sim
