#include "studies/serve/sweep/engines.h"

#include "studies/infer/start_rules.h"
#include "studies/serve/prompt_pool.h"

namespace stepcast::serve::sweeping {
namespace {

Expected<std::unique_ptr<MadeEngine>> make(const infer::ServingWishes& wishes, double length) {
  TRY(auto serving, infer::serving_of(wishes));
  auto made = std::make_unique<MadeEngine>(MadeEngine{std::move(serving), nullptr, nullptr});
  made->times = std::make_unique<infer::ServedTimes>(made->serving);
  made->times->copy_sequences_of(length);
  made->timer = made->times->timer();
  return made;
}

/// 0: the engine's.
void put_limits(std::int64_t sequences, std::int64_t positions, infer::BatchingWishes& wishes) {
  if (sequences > 0) wishes.most_sequences = sequences;
  if (positions > 0) wishes.most_positions = positions;
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
    found = made_.emplace(key, make(wishes, usual_length())).first;
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

infer::BatchingWishes Engines::wishes(const Configuration& c) const {
  infer::BatchingWishes wishes = asked_->batching;
  wishes.decodes = c.prompts.has_value();
  put_limits(c.most_sequences, c.most_positions, wishes);
  return wishes;
}

/// One replica. `prompts`: of the pool that reads them.
Expected<sim::Servers> Engines::servers(const MadeEngine& engine, double length, const infer::BatchingWishes& wishes,
    const sim::ServingRequest& longest, bool prompts) const {
  TRY(infer::check_swapping(engine.serving, wishes));
  sim::Servers servers{infer::policy_of(engine.serving, length, wishes, longest.cached), 1,
      engine.serving.attention_groups(), engine.serving.stages, engine.serving.engine.host_per_request,
      infer::stage_parts(engine.serving)};
  if (servers.policy.blocks <= 0)
    return fail("",
        prompts ? "where prompts are read, weights leave no room for a cache" : "weights leave no room for a cache");
  const auto within =
      infer::check_positions({longest.prompt + longest.output, 0, asked_->positions}, engine.serving.engine, "--input");
  if (engine.serving.network().positions == Positions::learned) TRY(within);  // the fewer of both are said
  TRY(infer::check_served(engine.serving, longest));
  if (!infer::has_room(longest, servers.policy))
    return fail("", prompts ? "a prompt is longer than the cache beside the weights where it is read"
                            : "a request is longer than the cache beside the weights");
  TRY(within);
  return servers;
}

sim::ServingRequest Engines::longest() const {
  sim::ServingRequest longest;
  longest.prompt = asked_->law.prompts.high, longest.output = asked_->law.outputs.high;
  longest.cached = asked_->law.shared;
  return longest;
}

double Engines::usual_length() const { return asked_->law.prompts.mean() + asked_->law.outputs.mean() / 2; }

Expected<sim::Servers> Engines::servers(const MadeEngine& engine, const Configuration& c) const {
  sim::ServingRequest longest = this->longest();
  if (c.prompts) longest.cached = 0;  // keys come whole, with what prompts share
  TRY(auto servers, this->servers(engine, usual_length(), wishes(c), longest, false));
  servers.replicas = c.replicas;
  return servers;
}

Expected<sim::Servers> Engines::prompt_servers(const MadeEngine& engine, const Configuration& c) const {
  sim::ServingRequest longest = this->longest();
  longest.output = 1;  // the pool of words says the others
  infer::BatchingWishes wishes;
  put_limits(c.prompts->most_sequences, c.prompts->most_positions, wishes);
  auto servers = this->servers(engine, asked_->law.prompts.mean(), wishes, longest, true);
  if (!servers) return tl::unexpected(error_of_prompts(servers.error()));
  servers->replicas = c.prompts->replicas;
  return *servers;
}

}  // namespace stepcast::serve::sweeping
