#include "studies/serve/sweep/engines.h"

#include "studies/infer/start_rules.h"
#include "studies/serve/prompt_pool.h"

namespace stepcast::serve::sweeping {
namespace {

Expected<std::unique_ptr<MadeEngine>> make(const infer::ServingWishes& wishes) {
  TRY(auto serving, infer::serving_of(wishes));
  auto made = std::make_unique<MadeEngine>(MadeEngine{std::move(serving), nullptr, nullptr});
  made->times = std::make_unique<infer::ServedTimes>(made->serving);
  made->timer = made->times->timer();
  return made;
}

}  // namespace

Expected<MadeEngine*> Engines::of(const Key& key) {
  auto found = made_.find(key);
  if (found == made_.end()) {
    infer::ServingWishes wishes;
    wishes.network = asked_->network;
    std::tie(wishes.machine, wishes.engine, wishes.weights, wishes.cache, wishes.tp, wishes.pp, wishes.ep,
        wishes.attention_dp, wishes.node_gpus) = key;
    wishes.profile = asked_->profile, wishes.products = asked_->products, wishes.exchange = asked_->exchange;
    wishes.gpus = wishes.tp * wishes.pp * wishes.attention_dp;
    found = made_.emplace(key, make(wishes)).first;
  }
  if (!found->second) return tl::unexpected(found->second.error());
  return found->second->get();
}

Expected<MadeEngine*> Engines::of(const Configuration& c) {
  return of(Key{c.machine, c.engine, c.weights, c.cache, c.tp, c.pp, c.ep, c.attention_dp, asked_->node_gpus});
}

Expected<MadeEngine*> Engines::of_prompts(const Configuration& c) {
  const PromptSplit& split = *c.prompts;
  return of(Key{split.machine, c.engine, c.weights, c.cache, split.tp, 1, split.ep, split.attention_dp,
                asked_->prefill_node_gpus})
      .map_error(error_of_prompts);
}

/// One replica.
Expected<sim::Servers> Engines::servers(
    const MadeEngine& engine, double length, const SplitLimits& limits, const sim::ServingRequest& longest) const {
  infer::BatchingWishes wishes;
  if (limits.most_sequences > 0) wishes.most_sequences = limits.most_sequences;
  if (limits.most_positions > 0) wishes.most_positions = limits.most_positions;
  sim::Servers servers{infer::policy_of(engine.serving, length, wishes, longest.cached), 1,
      engine.serving.attention_groups(), engine.serving.stages, engine.serving.engine.host_per_request,
      infer::stage_parts(engine.serving)};
  if (servers.policy.blocks <= 0)
    return fail("", limits.prompts ? "where prompts are read, weights leave no room for a cache"
                                   : "weights leave no room for a cache");
  TRY(infer::check_served(engine.serving, longest));
  if (!infer::has_room(longest, servers.policy))
    return fail("", limits.prompts ? "a prompt is longer than the cache beside the weights where it is read"
                                   : "a request is longer than the cache beside the weights");
  TRY(infer::check_positions(
      {longest.prompt + longest.output, 0, asked_->positions}, engine.serving.engine, "--input"));
  return servers;
}

sim::ServingRequest Engines::longest() const {
  sim::ServingRequest longest;
  longest.prompt = asked_->law.prompts.high, longest.output = asked_->law.outputs.high;
  longest.cached = asked_->law.shared;
  return longest;
}

Expected<sim::Servers> Engines::servers(const MadeEngine& engine, const Configuration& c) const {
  const double length = asked_->law.prompts.mean() + asked_->law.outputs.mean() / 2;
  sim::ServingRequest longest = this->longest();
  if (c.prompts) longest.cached = 0;  // keys come whole, with what prompts share
  TRY(auto servers, this->servers(engine, length, {c.most_sequences, c.most_positions}, longest));
  servers.replicas = c.replicas;
  return servers;
}

Expected<sim::Servers> Engines::prompt_servers(const MadeEngine& engine, const Configuration& c) const {
  sim::ServingRequest longest = this->longest();
  longest.output = 1;  // the pool of words says the others
  const SplitLimits limits{c.prompts->most_sequences, c.prompts->most_positions, true};
  auto servers = this->servers(engine, asked_->law.prompts.mean(), limits, longest);
  if (!servers) return tl::unexpected(error_of_prompts(servers.error()));
  servers->replicas = c.prompts->replicas;
  return *servers;
}

}  // namespace stepcast::serve::sweeping
