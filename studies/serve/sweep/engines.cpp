#include "studies/serve/sweep/engines.h"

#include <fmt/format.h>

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

Expected<MadeEngine*> Engines::of(const Configuration& c) {
  const Key key{c.machine, c.engine, c.weights, c.cache, c.tp, c.pp, c.ep, c.attention_dp};
  auto found = made_.find(key);
  if (found == made_.end()) {
    infer::ServingWishes wishes;
    wishes.network = asked_->network, wishes.machine = c.machine, wishes.engine = c.engine;
    wishes.profile = asked_->profile, wishes.products = asked_->products, wishes.exchange = asked_->exchange;
    wishes.weights = c.weights, wishes.cache = c.cache;
    wishes.gpus = c.tp * c.pp * c.attention_dp;
    wishes.tp = c.tp, wishes.pp = c.pp, wishes.ep = c.ep, wishes.attention_dp = c.attention_dp;
    found = made_.emplace(key, make(wishes)).first;
  }
  if (!found->second) return tl::unexpected(found->second.error());
  return found->second->get();
}

Expected<sim::Servers> Engines::servers(const MadeEngine& engine, const Configuration& c) const {
  const double length = asked_->law.prompts.mean() + asked_->law.outputs.mean() / 2;
  infer::BatchingWishes wishes;
  if (c.most_sequences > 0) wishes.most_sequences = c.most_sequences;
  if (c.most_positions > 0) wishes.most_positions = c.most_positions;
  sim::Servers servers{infer::policy_of(engine.serving, length, wishes), c.replicas, engine.serving.attention_groups(),
      engine.serving.stages, engine.serving.engine.host_per_request};
  if (servers.policy.blocks <= 0)
    return fail("--tp", "weights leave no room for a cache", "more --tp, or narrower --weights");
  sim::ServingRequest longest;
  longest.prompt = asked_->law.prompts.high, longest.output = asked_->law.outputs.high;
  longest.cached = asked_->law.shared;
  TRY(infer::check_requests(engine.serving, {longest}, servers.policy));
  return servers;
}

}  // namespace stepcast::serve::sweeping
