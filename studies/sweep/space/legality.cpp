#include "studies/sweep/space/legality.h"

#include <algorithm>
#include <numeric>

#include "studies/sweep/space/repeats.h"

namespace stepcast {
namespace {

using Axes = std::vector<AxisId>;

/// Axes that a rule of the split looks at. A rule that is not listed looks at all of them: right, and slow.
struct RuleAxes { std::string_view id; Axes axes; };
const std::vector<RuleAxes>& rule_axes() {
  using enum AxisId;
  static const std::vector<RuleAxes> rows = {
      {"heads do not divide by tp", {tp}},
      {"MLP width does not divide by tp", {tp}},
      {"recomputation of more layers than a stage has", {pp, recompute}},
      {"layers do not divide by pp x chunks", {pp, chunks, schedule, layout}},
      {"GPUs do not divide by tp x cp x pp", {gpus, tp, cp, pp}},
      {"dp does not divide by dp-replicate", {gpus, tp, cp, pp, zero, dp_replicate}},
      {"ep or etp without experts", {ep, etp}},
      {"experts do not divide by ep", {ep}},
      {"expert width does not divide by etp", {etp}},
      {"ep x etp does not divide tp x cp x dp", {gpus, tp, cp, pp, ep, etp}},
      {"ep x etp does not divide the ranks of a copy", {gpus, tp, cp, pp, ep, etp, zero, dp_replicate}},
      {"shared expert width does not divide by tp", {tp}},
      {"experts do not line up with the stages' order", {gpus, tp, cp, pp, ep, etp, order, tp_tier, pp_tier, dp_tier, zero, dp_replicate}},
      {"experts and tensors end at ranks that do not divide", {gpus, tp, cp, pp, ep, etp, order, tp_tier, pp_tier, dp_tier, zero, dp_replicate}},
      {"sequence longer than the learned positions", {}},
      {"sequence does not divide by cp and tp", {tp, cp, cp_kind, sp}},
      {"heads do not divide by tp x cp (ulysses)", {tp, cp, cp_kind}},
      {"sequence does not divide into boundary pieces", {tp, cp, pp, sp, scatter_boundary}},
      {"global batch does not divide by micro-batch x dp", {gpus, tp, cp, pp, micro_batch}},
      {"the schedule cannot run these stages and micro-batches", {gpus, tp, cp, pp, micro_batch, chunks, schedule}},
  };
  return rows;
}

Axes all_axes() {
  Axes axes;
  for (const AxisRow& row : axis_rows()) axes.push_back(row.id);
  return axes;
}

Axes axes_of(std::string_view id) {
  for (const RuleAxes& row : rule_axes())
    if (row.id == id) return row.axes;
  return all_axes();
}

constexpr std::uint64_t most_remembered = 1 << 22;

}  // namespace

Legality::Legality(SpacePoints& points) : points_(points) {
  for (const SplitRule& rule : split_rules()) add({split_holds, &rule, axes_of(rule.id), {}, {}}, rule.id);
  add({layers_lie, nullptr, {AxisId::pp, AxisId::chunks, AxisId::schedule, AxisId::layout}, {}, {}}, "the layout does not fit pp x chunks");
  add_repeats();
  std::vector<std::size_t> sorted(rules_.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return rules_[a].last() < rules_[b].last(); });
  std::vector<Rule> rules;
  for (const std::size_t i : sorted) {
    rules.push_back(std::move(rules_[i]));
    reason_of_.push_back(static_cast<int>(i));
  }
  rules_ = std::move(rules);
}

void Legality::add(Rule rule, std::string_view reason) {
  std::uint64_t size = 1;
  const Space& space = points_.space();
  for (const AxisId axis : rule.axes) {
    rule.strides.push_back(size);
    size = std::min(most_remembered + 1, size * space.values[static_cast<std::size_t>(axis)].size());
  }
  if (size <= most_remembered) rule.known.assign(size, 0);
  rules_.push_back(std::move(rule));
  reasons_.push_back(reason);
}

void Legality::add_repeats() {
  using enum AxisId;
  add({is_first<repeats_context_kind>, nullptr, {cp, cp_kind}, {}, {}}, "repeats: cp kind without cp");
  add({is_first<repeats_order>, nullptr, {gpus, tp, cp, pp, order}, {}, {}}, "repeats: the same order of the axes in use");
  add({is_first<repeats_tier>, nullptr, {gpus, tp, cp, pp, tp_tier, pp_tier, dp_tier}, {}, {}}, "repeats: tiers with the same order");
  add({is_first<repeats_sequence_split>, nullptr, {tp, sp}, {}, {}}, "repeats: sp without tp");
  add({is_first<repeats_scatter>, nullptr, {tp, cp, pp, sp, scatter_boundary}, {}, {}}, "repeats: boundary pieces where nothing is repeated");
  add({is_first<repeats_kept_gathers>, nullptr, {tp, cp, sp, save_gathered, recompute}, {}, {}}, "repeats: kept gathers without gathers");
  add({is_first<repeats_tensor_overlap>, nullptr, {tp, cp, ep, etp, tp_overlap}, {}, {}}, "repeats: tp overlap without tp, cp and ep");
  add({is_first<repeats_chunks>, nullptr, {pp, chunks, schedule, layout}, {}, {}}, "repeats: chunks on one stage, or those that the schedule brings");
  add({is_first<repeats_schedule>, nullptr, {pp, chunks, schedule, layout}, {}, {}}, "repeats: a schedule that comes to the same");
  add({is_first<repeats_layout>, nullptr, {pp, chunks, schedule, layout}, {}, {}}, "repeats: a layout that comes to the same");
  add({is_first<repeats_even_layers>, nullptr, all_axes(), {}, {}}, "repeats: balanced layers that another layout states");
  add({is_first<repeats_zero>, nullptr, {gpus, tp, cp, pp, ep, etp, zero, dp_replicate}, {}, {}}, "repeats: sharding over one rank");
  add({is_first<repeats_copies>, nullptr, {zero, dp_replicate}, {}, {}}, "repeats: copies without sharding");
  add({is_first<repeats_data_overlap>, nullptr, {gpus, tp, cp, pp, dp_overlap}, {}, {}}, "repeats: dp overlap without dp");
}

bool Legality::split_holds(const Legality& legality, const Rule& rule, const Digits& digits) {
  const SplitWishes wishes = legality.points_.wishes(digits);
  const auto laid = legality.points_.split(digits);
  // Layers that cannot be laid break a rule of their own, layers_lie.
  const Split split = laid ? *laid : split_of(wishes, legality.points_.network(), legality.points_.stack());
  return rule.split->holds(split, wishes.size(), legality.points_.network());
}

bool Legality::layers_lie(const Legality& legality, const Rule&, const Digits& digits) {
  return legality.points_.split(digits).has_value();
}

bool Legality::ask_rule(Rule& rule, const Digits& digits) const {
  if (rule.known.empty()) return rule.holds(*this, rule, digits);
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < rule.axes.size(); ++i) place += rule.strides[i] * digits[static_cast<std::size_t>(rule.axes[i])];
  signed char& known = rule.known[place];
  if (known == 0) known = rule.holds(*this, rule, digits) ? 1 : -1;
  return known > 0;
}

Legality::Verdict Legality::ask(const Digits& digits, AxisId changed) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].last() < changed) continue;
    if (!ask_rule(rules_[i], digits)) return {reason_of_[i], rules_[i].last()};
  }
  return {};
}

}  // namespace stepcast
