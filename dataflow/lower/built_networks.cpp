#include "dataflow/lower/built_networks.h"

#include <algorithm>
#include <tuple>

namespace stepcast::dataflow {
namespace {

bool same(const BatchShape& a, const BatchShape& b) {
  const auto fields = [](const BatchShape& of) {
    const auto& [sequences, positions, activation, weight, lora, loss, adapted, serves, cached, cache, autocast] = of;
    return std::tie(sequences, positions, activation, weight, lora, loss, adapted, serves, cached, cache, autocast);
  };
  return fields(a) == fields(b);
}

}  // namespace

std::shared_ptr<const Network> BuiltNetworks::of(
    const NetworkSpec& spec, const BatchShape& shape, AttentionForm attention) {
  constexpr std::size_t most = 64;  // some 100 KB each
  const auto known = std::ranges::find_if(built_, [&](const Built& built) {
    return built.spec == &spec && built.attention == attention && same(built.shape, shape);
  });
  if (known != built_.end()) return known->network;
  if (built_.size() == most) built_.erase(built_.begin());
  auto network = std::make_shared<const Network>(build_network(spec, shape, attention));
  auto facts = facts_of(*network);
  built_.push_back({&spec, shape, attention, std::move(network), std::move(facts)});
  return built_.back().network;
}

std::shared_ptr<const NetworkFacts> BuiltNetworks::facts(const std::shared_ptr<const Network>& network) const {
  return std::ranges::find(built_, network, &Built::network)->facts;
}

}  // namespace stepcast::dataflow
