#include "studies/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/schedule/order.h"

namespace stepcast {
namespace {

using Check = Expected<void>;

Check check_gpus(const Split& split, const SplitSize& size, const SplitOrigin& origin) {
  const std::int64_t ways = split.tp * split.cp * split.pp;
  if (size.gpus % ways == 0) return {};
  return fail(origin.gpus,
              fmt::format("{} GPUs are not a multiple of tp {} x cp {} x pp {} = {}", size.gpus, split.tp, split.cp,
                          split.pp, ways),
              fmt::format("nearest: {} GPUs", nearest_multiples(size.gpus, ways, size.max_gpus)));
}

/// dataflow-semantics rule 4 for `par g*r`: the kv groups take gcd(p, g) ways, the queries per group the rest.
bool heads_split(const NetworkSpec& network, std::int64_t ways) {
  const std::int64_t over_groups = std::gcd(ways, network.kv_heads);
  return (network.heads / network.kv_heads) % (ways / over_groups) == 0;
}

bool has_plain_mlp(const NetworkSpec& network) {
  for (std::int64_t layer = 0; layer < network.layers; ++layer)
    if (!is_expert_layer(network, layer)) return true;
  return false;
}

Check check_tensor(const Split& split, const NetworkSpec& network, const SplitOrigin& origin) {
  const std::string hint = fmt::format("legal tp: {}", nearest_values(legal_tensor_sizes(network), split.tp));
  if (!heads_split(network, split.tp))
    return fail(origin.tp,
                fmt::format("{} heads ({} kv groups x {}) do not divide by tp {}", network.heads, network.kv_heads,
                            network.heads / network.kv_heads, split.tp),
                hint);
  if (has_plain_mlp(network) && network.ffn_hidden % split.tp != 0)
    return fail(origin.tp, fmt::format("MLP width {} does not divide by tp {}", network.ffn_hidden, split.tp), hint);
  return {};
}

/// ep is never a further factor of the GPU count: it folds over what tp, cp and dp make.
Check check_experts(const Split& split, const NetworkSpec& network, const SplitOrigin& origin) {
  const Experts& experts = network.experts;
  if (experts.count == 0) {
    if (split.ep > 1 || split.etp > 1)
      return fail(split.ep > 1 ? origin.ep : origin.etp, fmt::format("network {} has no experts to split", network.id), "leave --ep and --etp at 1");
    return {};
  }
  if (experts.count % split.ep != 0)
    return fail(origin.ep, fmt::format("{} experts do not divide by ep {}", experts.count, split.ep), fmt::format("legal ep: {}", nearest_values(divisors(experts.count), split.ep)));
  if (experts.ffn_hidden % split.etp != 0)
    return fail(origin.etp, fmt::format("expert width {} does not divide by etp {}", experts.ffn_hidden, split.etp), fmt::format("legal etp: {}", nearest_values(divisors(experts.ffn_hidden), split.etp)));
  const std::int64_t ranks = split.tp * split.cp * split.dp;
  if (ranks % (split.ep * split.etp) != 0)
    return fail(origin.ep, fmt::format("ep {} x etp {} does not divide the {} ranks of a stage (tp {} x cp {} x dp {})", split.ep, split.etp, ranks, split.tp, split.cp, split.dp),
                fmt::format("ep x etp must be one of: {}", nearest_values(divisors(ranks), split.ep * split.etp)));
  if (experts.shared_ffn_hidden % split.tp != 0)
    return fail(origin.tp, fmt::format("shared expert width {} does not divide by tp {}", experts.shared_ffn_hidden, split.tp), fmt::format("legal tp: {}", nearest_values(legal_tensor_sizes(network), split.tp)));
  return {};
}

Check check_sequence(const Split& split, const SplitSize& size, const NetworkSpec& network,
                     const SplitOrigin& origin) {
  if (network.positions == Positions::learned && network.max_positions > 0 && size.sequence > network.max_positions)
    return fail(origin.sequence,
                fmt::format("{} positions, but {} has learned positions for {}", size.sequence, network.id,
                            network.max_positions),
                fmt::format("at most {}", network.max_positions));
  const std::int64_t pieces = split.cp > 1 ? 2 * split.cp : 1;  // zigzag: two chunks per rank
  const std::int64_t step = std::lcm(pieces, split.cp * (split.sequence ? split.tp : 1));
  if (size.sequence % step == 0) return {};
  const std::string why = split.cp > 1 ? fmt::format("cp {} (two pieces per rank)", split.cp) : std::string("sp");
  return fail(split.cp > 1 && size.sequence % pieces != 0 ? origin.cp : origin.sequence,
              fmt::format("sequence {} does not divide by {} for {}{}", size.sequence, step, why,
                          split.sequence ? fmt::format(" with tp {}", split.tp) : ""),
              fmt::format("nearest sequences: {}", nearest_multiples(size.sequence, step)));
}

Check check_layers(const Split& split, const NetworkSpec& network, const SplitOrigin& origin) {
  const std::int64_t per_stage = std::max<std::int64_t>(1, network.layers / split.pp);
  if (split.recompute.layers > per_stage)
    return fail(origin.recompute, fmt::format("recompute on {} layers of each stage, but a stage of {} has {}", split.recompute.layers,
                                              network.id, per_stage),
                fmt::format("from 1 to {}", per_stage));
  const std::int64_t parts = split.pp * split.chunks;
  if (network.layers % parts == 0 || !split.layers.empty()) return {};
  std::vector<std::int64_t> stages, chunks;
  for (const std::int64_t d : divisors(network.layers))
    if (d % split.chunks == 0) stages.push_back(d / split.chunks);
  std::string hint = stages.empty() ? std::string() : fmt::format("legal pp: {}", nearest_values(stages, split.pp));
  if (network.layers % split.pp == 0) {
    chunks = divisors(network.layers / split.pp);
    hint = fmt::format("legal chunks at pp {}: {}", split.pp, nearest_values(chunks, split.chunks));
  }
  if (hint.empty()) hint = fmt::format("pp x chunks must divide {}", network.layers);
  const std::string ways =
      split.chunks > 1 ? fmt::format("pp {} x {} chunks", split.pp, split.chunks) : fmt::format("pp {}", split.pp);
  return fail(network.layers % split.pp == 0 ? origin.chunks : origin.pp,
              fmt::format("{} layers do not divide by {}", network.layers, ways),
              hint + "; uneven stages: --layout balanced, or a list of layers");
}

Check check_batch(const Split& split, const SplitSize& size, const SplitOrigin& origin) {
  const std::int64_t step = size.micro_batch * split.dp;
  if (size.global_batch % step == 0) return {};
  return fail(origin.global_batch,
              fmt::format("global batch {} is not a multiple of micro-batch {} x dp {} = {}", size.global_batch,
                          size.micro_batch, split.dp, step),
              fmt::format("nearest: {}", nearest_multiples(size.global_batch, step)));
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d * d != number) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::string nearest_values(const std::vector<std::int64_t>& legal, std::int64_t wanted) {
  constexpr std::size_t most = 8;
  std::vector<std::int64_t> near = legal;
  std::stable_sort(near.begin(), near.end(), [&](std::int64_t a, std::int64_t b) {
    return std::llabs(a - wanted) < std::llabs(b - wanted);
  });
  near.resize(std::min(near.size(), most));
  std::sort(near.begin(), near.end());
  return fmt::format("{}", fmt::join(near, ", "));
}

std::string nearest_multiples(std::int64_t wanted, std::int64_t step, std::int64_t most) {
  const std::int64_t below = wanted / step * step;
  if (below > 0 && below + step > most) return fmt::format("{}", below);
  if (below == 0) return fmt::format("{}", step);
  return fmt::format("{} or {}", below, below + step);
}

std::vector<std::int64_t> legal_tensor_sizes(const NetworkSpec& network) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t ways : divisors(network.heads))
    if (heads_split(network, ways) && (!has_plain_mlp(network) || network.ffn_hidden % ways == 0) && network.experts.shared_ffn_hidden % ways == 0) sizes.push_back(ways);
  return sizes;
}

Expected<void> check_split(const Split& split, const SplitSize& size, const NetworkSpec& network,
                           const SplitOrigin& origin) {
  for (const Check& check :
       {check_tensor(split, network, origin), check_layers(split, network, origin), check_gpus(split, size, origin), check_experts(split, network, origin),
        check_sequence(split, size, network, origin), check_batch(split, size, origin)})
    if (!check) return check;
  return check_schedule({split.schedule, split.pp, split.chunks, split.micro_batches}, origin.schedule,
                        origin.global_batch);
}

Expected<void> check_schedule(const ScheduledRun& run, const std::string& where, const std::string& batch_where) {
  const auto kind = find_schedule(run.schedule);
  if (!kind) return fail(where, kind.error().what, kind.error().hint);
  // 64 stages x 8 chunks x 1024 micro-batches are half a million; ten times that takes seconds and says no more.
  constexpr double most = 4e6;
  const double actions = static_cast<double>(run.micro_batches) * static_cast<double>(run.stages) * static_cast<double>(run.chunks);
  if (actions > most)
    return fail(batch_where,
                fmt::format("{} micro-batches on {} stages x {} chunks are absurdly many", run.micro_batches, run.stages,
                            run.chunks),
                fmt::format("at most {:.0f} in all: a smaller global batch or a larger micro-batch", most));
  const ScheduleSize size{static_cast<int>(run.stages), static_cast<int>(run.chunks), static_cast<int>(run.micro_batches), 0};
  const auto legal = check_size(**kind, size);
  if (legal) return {};
  return fail(where, fmt::format("{}: {}", run.schedule, legal.error().what), legal.error().hint);
}

}  // namespace stepcast
