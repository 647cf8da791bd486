// The rules of check_split, one row each: what must divide, and what to say where it does not. Those of positions are
// in sequence_rules.cpp.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/error_context.h"
#include "studies/run/split/sequence_rules.h"

namespace stepcast::run {
namespace {

std::string legal_tensor_hint(const BrokenSplit& a) {
  return fmt::format("legal tp: {}", nearest_values(legal_tensor_sizes(a.network, a.split.copies_groups), a.split.tp));
}

bool heads_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return heads_split(network, split.tp);
}
Error heads_error(const BrokenSplit& a) {
  return {a.origin(FieldId::tp),
      fmt::format("{} heads ({} kv groups x {}) do not divide by tp {}", a.network.heads, a.network.kv_heads,
          a.network.heads / a.network.kv_heads, a.split.tp),
      legal_tensor_hint(a)};
}

bool mixer_fits(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return mixer_splits(network, split.tp, split.copies_groups);
}
Error mixer_error(const BrokenSplit& a) {
  for (const Mixer& mixer : mixers(a.network))
    if (const std::int64_t groups = mixer.extent("u"); groups % a.split.tp != 0)
      return {a.origin(FieldId::tp),
          fmt::format("{} groups of heads in the {} layers do not divide by tp {}", groups, mixer.form->id, a.split.tp),
          legal_tensor_hint(a)};
  return {};
}

/// Ranks exchange positions for heads before a mixer's convolution and back behind its scan (Megatron-LM
/// megatron/core/ssm/mamba_context_parallel.py): its heads divide over them, groups first.
bool heads_of_mixer_fit(const Mixer& mixer, const Split& split) {
  const std::int64_t groups = mixer.extent("u") / split.tp, heads = std::max<std::int64_t>(1, mixer.extent("m"));
  return heads % (split.cp / std::gcd(groups, split.cp)) == 0;
}
bool mixer_heads_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return split.cp == 1 ||
         std::ranges::all_of(mixers(network), [&](const Mixer& mixer) { return heads_of_mixer_fit(mixer, split); });
}
Error mixer_heads_error(const BrokenSplit& a) {
  for (const Mixer& mixer : mixers(a.network))
    if (!heads_of_mixer_fit(mixer, a.split))
      return {a.origin(FieldId::cp),
          fmt::format("{} groups of {} heads of the {} layers on a tp rank do not divide by cp {}",
              mixer.extent("u") / a.split.tp, std::max<std::int64_t>(1, mixer.extent("m")), mixer.form->id, a.split.cp),
          "a cp that divides the heads of a tp rank"};
  return {};
}

bool width_fits(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return width_splits(network, split.tp);
}
Error width_error(const BrokenSplit& a) {
  return {a.origin(FieldId::tp), fmt::format("MLP width {} does not divide by tp {}", a.network.ffn_hidden, a.split.tp),
      legal_tensor_hint(a)};
}

std::int64_t layers_of_a_stage(const Split& split, const NetworkSpec& network) {
  return std::max<std::int64_t>(1, network.layers / split.pp);
}
bool recompute_fits(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return split.recompute.layers <= layers_of_a_stage(split, network);
}
Error recompute_error(const BrokenSplit& a) {
  const std::int64_t per_stage = layers_of_a_stage(a.split, a.network);
  return {a.origin(FieldId::recompute),
      fmt::format("recompute on {} layers of each stage, but a stage of {} has {}", a.split.recompute.layers,
          a.network.id, per_stage),
      fmt::format("from 1 to {}", per_stage)};
}

bool layers_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.layers % (split.pp * split.chunks) == 0 || !split.layers.empty();
}
/// Of the pp that divide the layers those that the GPUs allow, too; 0 GPUs: nobody said how many.
std::string layers_hint(const Split& split, std::int64_t gpus, const NetworkSpec& network) {
  if (network.layers % split.pp == 0)
    return fmt::format(
        "legal chunks at pp {}: {}", split.pp, nearest_values(divisors(network.layers / split.pp), split.chunks));
  std::vector<std::int64_t> stages;
  for (const std::int64_t d : divisors(network.layers))
    if (d % split.chunks == 0 && gpus % (split.tp * split.cp * (d / split.chunks)) == 0)
      stages.push_back(d / split.chunks);
  if (stages.empty())
    return fmt::format("pp x chunks must divide {}{}", network.layers,
        gpus > 0 ? fmt::format(", and tp x cp x pp the {} GPUs", gpus) : "");
  return fmt::format("legal pp: {}", nearest_values(stages, split.pp));
}
Error layers_error(const BrokenSplit& a) {
  const std::string ways = a.split.chunks > 1 ? fmt::format("pp {} x {} chunks", a.split.pp, a.split.chunks)
                                              : fmt::format("pp {}", a.split.pp);
  return {a.network.layers % a.split.pp == 0 ? a.origin(FieldId::chunks) : a.origin(FieldId::pp),
      fmt::format("{} layers do not divide by {}", a.network.layers, ways),
      layers_hint(a.split, a.origin(FieldId::gpus).ends_with("(default)") ? 0 : a.size.gpus, a.network) +
          "; uneven stages: --layout balanced, or a list of layers"};
}

bool gpus_fit(const Split& split, const SplitSize& size, const NetworkSpec&) {
  return size.gpus % (split.tp * split.cp * split.pp) == 0;
}
Error gpus_error(const BrokenSplit& a) {
  const std::int64_t ways = a.split.tp * a.split.cp * a.split.pp;
  return {a.origin(FieldId::gpus),
      fmt::format("{} GPUs are not a multiple of tp {} x cp {} x pp {} = {}", a.size.gpus, a.split.tp, a.split.cp,
          a.split.pp, ways),
      fmt::format("nearest: {} GPUs", nearest_multiples(a.size.gpus, ways, a.size.max_gpus))};
}

bool experts_exist(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.experts.count > 0 || (split.ep == 1 && split.etp == 1);
}
Error no_experts_error(const BrokenSplit& a) {
  return {a.split.ep > 1 ? a.origin(FieldId::ep) : a.origin(FieldId::etp),
      fmt::format("network {} has no experts to split", a.network.id), "leave --ep and --etp at 1"};
}

bool experts_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.experts.count % split.ep == 0;
}
Error experts_error(const BrokenSplit& a) {
  const std::int64_t count = a.network.experts.count;
  return {a.origin(FieldId::ep), fmt::format("{} experts do not divide by ep {}", count, a.split.ep),
      fmt::format("legal ep: {}", nearest_values(divisors(count), a.split.ep))};
}

bool expert_width_fits(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.experts.count == 0 || network.experts.ffn_hidden % split.etp == 0;
}
Error expert_width_error(const BrokenSplit& a) {
  const std::int64_t width = a.network.experts.ffn_hidden;
  return {a.origin(FieldId::etp), fmt::format("expert width {} does not divide by etp {}", width, a.split.etp),
      fmt::format("legal etp: {}", nearest_values(divisors(width), a.split.etp))};
}

/// ep is never a further factor of the GPU count: it folds over what tp, cp and dp make.
std::int64_t stage_ranks(const Split& split) { return split.tp * split.cp * split.dp; }
bool expert_ranks_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.experts.count == 0 || stage_ranks(split) % (split.ep * split.etp) == 0;
}
Error expert_ranks_error(const BrokenSplit& a) {
  const Split& split = a.split;
  const std::int64_t ranks = stage_ranks(split);
  return {a.origin(FieldId::ep),
      fmt::format("ep {} x etp {} does not divide the {} ranks of a stage (tp {} x cp {} x dp {})", split.ep, split.etp,
          ranks, split.tp, split.cp, split.dp),
      fmt::format("ep x etp must be one of: {}", nearest_values(divisors(ranks), split.ep * split.etp))};
}

bool replicas_fit(const Split& split, const SplitSize&, const NetworkSpec&) { return split.dp % split.replicas == 0; }
/// What copies have to divide.
std::int64_t copied_ranks(const BrokenSplit& a) {
  return a.network.experts.count > 0 ? std::gcd(a.split.dp, a.split.edp()) : a.split.dp;
}
Error replicas_error(const BrokenSplit& a) {
  return {a.origin(FieldId::replicas),
      fmt::format("dp {} does not divide into {} copies", a.split.dp, a.split.replicas),
      fmt::format("legal dp-replicate: {}", nearest_values(divisors(copied_ranks(a)), a.split.replicas))};
}

/// An expert's ranks lie inside one group of shards.
bool expert_replicas_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.experts.count == 0 || split.edp() % split.replicas == 0;
}
Error expert_replicas_error(const BrokenSplit& a) {
  const Split& split = a.split;
  return {a.origin(FieldId::replicas),
      fmt::format("{} copies of {} ranks (tp {} x cp {} x dp {}) each: ep {} x etp {} does not divide them",
          split.replicas, stage_ranks(split) / split.replicas, split.tp, split.cp, split.dp / split.replicas, split.ep,
          split.etp),
      fmt::format("legal dp-replicate at ep {} x etp {}: {}", split.ep, split.etp,
          nearest_values(divisors(copied_ranks(a)), split.replicas))};
}

bool shared_width_fits(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.experts.count == 0 || network.experts.shared_ffn_hidden % split.tp == 0;
}
Error shared_width_error(const BrokenSplit& a) {
  return {a.origin(FieldId::tp),
      fmt::format("shared expert width {} does not divide by tp {}", a.network.experts.shared_ffn_hidden, a.split.tp),
      legal_tensor_hint(a)};
}

bool order_fits(const Split& split, const SplitSize&, const NetworkSpec&) { return experts_meet_stages(split); }
Error order_error(const BrokenSplit& a) {
  const Split& split = a.split;
  const std::int64_t stride = stage_stride(split);
  return {a.origin(FieldId::order),
      fmt::format(
          "order {} puts stages {} ranks apart, where no axis of the experts ends (etp {}, times ep {}, times edp {})",
          to_text(split.order), stride, split.etp, split.ep, split.edp()),
      fmt::format("etp or ep x etp of {}, or an order with pp first or last", stride)};
}

bool cuts_fit(const Split& split, const SplitSize&, const NetworkSpec&) {
  if (!split.experts) return true;
  const MeshCuts cuts = mesh_cuts(split);
  return cuts.first_crossing() == cuts.count;
}
Error cuts_error(const BrokenSplit& a) {
  const Split& split = a.split;
  const MeshCuts cuts = mesh_cuts(split);
  const std::size_t i = cuts.first_crossing();
  return {a.origin(FieldId::ep),
      fmt::format("ep {} and etp {} end at other ranks than tp {}, cp {} and dp {}: {} does not divide {}", split.ep,
          split.etp, split.tp, split.cp, split.dp, cuts.at[i], cuts.at[i + 1]),
      split.replicas > 1 ? "etp and ep x etp must divide tp, tp x cp and the ranks of a copy, or be multiples of them; "
                           "or --dp-replicate 1"
                         : "etp and ep x etp must divide tp, tp x cp and tp x cp x dp, or be multiples of them"};
}

bool batch_fits(const Split& split, const SplitSize& size, const NetworkSpec&) {
  return size.global_batch % (size.micro_batch * split.dp) == 0;
}
Error batch_error(const BrokenSplit& a) {
  const std::int64_t step = a.size.micro_batch * a.split.dp;
  return {a.origin(FieldId::global_batch),
      fmt::format("global batch {} is not a multiple of micro-batch {} x dp {} = {}", a.size.global_batch,
          a.size.micro_batch, a.split.dp, step),
      fmt::format("nearest: {}", nearest_multiples(a.size.global_batch, step))};
}

bool schedule_fits(const Split& split, const SplitSize&, const NetworkSpec&) {
  return runs_schedule(split.schedule, split.pp, split.chunks, split.micro_batches);
}
/// "--global-batch 16 or 24, which are 16 or 24 micro-batches": the nearest that the schedule runs on these stages; ""
/// where the number of micro-batches is not what is wrong.
std::string schedule_hint(const BrokenSplit& a) {
  const Split& split = a.split;
  const std::int64_t asked = split.micro_batches, reach = 4 * split.pp;  // dualpipe wants two of each stage
  const auto runs = [&](std::int64_t batches) {
    return batches > 0 && runs_schedule(split.schedule, split.pp, split.chunks, batches);
  };
  std::vector<std::int64_t> near;
  for (std::int64_t less = asked - 1; near.empty() && less >= asked - reach; --less)
    if (runs(less)) near.push_back(less);
  for (std::int64_t more = asked + 1; more <= asked + reach; ++more)
    if (runs(more)) {
      near.push_back(more);
      break;
    }
  if (near.empty()) return {};
  std::vector<std::int64_t> batches;
  for (const std::int64_t count : near) batches.push_back(count * a.size.micro_batch * split.dp);
  return fmt::format("--global-batch {}, which {} {} micro-batches", fmt::join(batches, " or "),
      near.size() > 1 ? "are" : "is", fmt::join(near, " or "));
}
Error schedule_error(const BrokenSplit& a) {
  const Split& split = a.split;
  const ScheduledRun run{split.schedule, split.pp, split.chunks, split.micro_batches};
  return with_hint(
      check_schedule(run, a.origin(FieldId::schedule), a.origin(FieldId::global_batch)).error(), schedule_hint(a));
}

using Holds = bool (*)(const Split&, const SplitSize&, const NetworkSpec&);

template <Error (*says)(const BrokenSplit&)>
constexpr SplitRule rule_of(std::string_view id, Holds holds, FieldSet reads) {
  return {id, reads, holds,
      [](const Split& split, const SplitSize& size, const NetworkSpec& network, const SplitOrigin& origin) {
        return says({split, size, network, origin});
      }};
}

constexpr auto rule_table = [] {
  using enum FieldId;
  return std::array{
      rule_of<heads_error>("heads do not divide by tp", heads_fit, {tp}),
      rule_of<mixer_error>("a mixer's groups do not divide by tp", mixer_fits, {tp}),
      rule_of<mixer_heads_error>("a mixer's heads do not divide by cp", mixer_heads_fit, {tp, cp}),
      rule_of<width_error>("MLP width does not divide by tp", width_fits, {tp}),
      rule_of<recompute_error>("recomputation of more layers than a stage has", recompute_fits, {pp, recompute}),
      rule_of<layers_error>("layers do not divide by pp x chunks", layers_fit, {pp, chunks, schedule, layout}),
      rule_of<gpus_error>("GPUs do not divide by tp x cp x pp", gpus_fit, {gpus, tp, cp, pp}),
      rule_of<replicas_error>("dp does not divide by dp-replicate", replicas_fit, {gpus, tp, cp, pp, zero, replicas}),
      rule_of<no_experts_error>("ep or etp without experts", experts_exist, {ep, etp}),
      rule_of<experts_error>("experts do not divide by ep", experts_fit, {ep}),
      rule_of<expert_width_error>("expert width does not divide by etp", expert_width_fits, {etp}),
      rule_of<expert_ranks_error>(
          "ep x etp does not divide tp x cp x dp", expert_ranks_fit, {gpus, tp, cp, pp, ep, etp}),
      rule_of<expert_replicas_error>("ep x etp does not divide the ranks of a copy", expert_replicas_fit,
          {gpus, tp, cp, pp, ep, etp, zero, replicas}),
      rule_of<shared_width_error>("shared expert width does not divide by tp", shared_width_fits, {tp}),
      rule_of<order_error>("experts do not line up with the stages' order", order_fits,
          {gpus, tp, cp, pp, ep, etp, order, zero, replicas}),
      rule_of<cuts_error>("experts and tensors end at ranks that do not divide", cuts_fit,
          {gpus, tp, cp, pp, ep, etp, order, zero, replicas}),
      rule_of<positions_error>("sequence longer than the learned positions", positions_fit, {}),
      rule_of<keys_error>("sequence longer than all keys are seen in", keys_seen, {}),
      rule_of<sequence_error>("sequence does not divide by cp and tp", sequence_fits, {tp, cp, cp_kind, sp}),
      rule_of<context_heads_error>("heads do not divide by tp x cp (ulysses)", context_heads_fit, {tp, cp, cp_kind}),
      rule_of<window_error>("windows do not go round a ring", window_goes_round, {cp, cp_kind}),
      rule_of<encoder_error>("an encoder's output does not go from stage to stage", encoder_reaches, {pp}),
      rule_of<encoder_heads_error>("an encoder's heads do not divide by tp", encoder_heads_fit, {tp}),
      rule_of<encoder_length_error>(
          "an encoder's sequence does not divide by cp and tp", encoder_fits, {tp, cp, cp_kind, sp}),
      rule_of<boundary_error>(
          "sequence does not divide into boundary pieces", boundary_fits, {tp, cp, pp, sp, scatter_boundary}),
      rule_of<batch_error>(
          "global batch does not divide by micro-batch x dp", batch_fits, {gpus, tp, cp, pp, micro_batch}),
      rule_of<schedule_error>("the schedule cannot run these stages and micro-batches", schedule_fits,
          {gpus, tp, cp, pp, micro_batch, chunks, schedule}),
  };
}();

}  // namespace

std::span<const SplitRule> split_rules() { return rule_table; }

const SplitRule* broken_rule(const Split& split, const SplitSize& size, const NetworkSpec& network) {
  const auto broken =
      std::ranges::find_if(rule_table, [&](const SplitRule& rule) { return !rule.holds(split, size, network); });
  return broken == rule_table.end() ? nullptr : &*broken;
}

Expected<void> check_split(
    const Split& split, const SplitSize& size, const NetworkSpec& network, const SplitOrigin& origin) {
  const SplitRule* broken = broken_rule(split, size, network);
  return broken == nullptr ? Expected<void>{} : tl::unexpected(broken->explain(split, size, network, origin));
}

}  // namespace stepcast::run
