#include "studies/sweep/price/legality.h"

#include <algorithm>
#include <numeric>

#include "model/base/contains.h"
#include "studies/sweep/price/repeats.h"

namespace stepcast::sweep {
namespace {

using Axes = std::vector<AxisId>;

Axes all_axes() {
  Axes axes;
  for (const AxisRow& row : axis_rows()) axes.push_back(row.id);
  return axes;
}

/// Tiers decide the order of the mesh, so that they are read where it is.
Axes axes_of(const FieldSet& reads) {
  Axes axes;
  for (const AxisId id : all_axes()) {
    const bool tier = id == AxisId::tp_tier || id == AxisId::pp_tier || id == AxisId::dp_tier;
    if (reads.has(tier ? AxisId::order : id)) axes.push_back(id);
  }
  return axes;
}

constexpr std::uint64_t most_remembered = 1 << 22;

}  // namespace

Legality::Legality(SpacePoints& points) : points_(points) {
  for (const SplitRule& rule : split_rules()) add({split_holds, &rule, axes_of(rule.reads), {}, {}}, rule.id);
  add({layers_lie, nullptr, {AxisId::pp, AxisId::chunks, AxisId::schedule, AxisId::layout}, {}, {}},
      "the layout does not fit pp x chunks");
  add_repeats();
  std::vector<std::size_t> sorted(rules_.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::stable_sort(
      sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return rules_[a].last() < rules_[b].last(); });
  std::vector<Rule> rules;
  for (const std::size_t i : sorted) {
    rules.push_back(std::move(rules_[i]));
    reason_of_.push_back(static_cast<int>(i));
  }
  rules_ = std::move(rules);
  join_rules();
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

void Legality::join_rules() {
  constexpr std::uint64_t most_joined = 1 << 16;
  const auto& values = points_.space().values;
  const auto join = [&](const std::vector<std::size_t>& axes, const Rule& rule) {
    std::vector<std::size_t> all = axes;
    for (const AxisId axis : rule.axes)
      if (const auto at = static_cast<std::size_t>(axis); values[at].size() > 1 && !contains(all, at))
        all.push_back(at);
    return all;
  };
  const auto size_of = [&](const std::vector<std::size_t>& axes) {
    std::uint64_t size = 1;
    for (const std::size_t axis : axes) size = std::min(most_joined + 1, size * values[axis].size());
    return size;
  };
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Answers* last = answers_.empty() || answers_.back().last != rules_[i].last() ? nullptr : &answers_.back();
    if (last != nullptr && size_of(join(last->axes, rules_[i])) > most_joined) last = nullptr;
    if (last == nullptr) last = &answers_.emplace_back(Answers{rules_[i].last(), i, i, {}, {}, {}});
    last->axes = join(last->axes, rules_[i]);
    last->end = i + 1;
  }
  for (Answers& answers : answers_) {
    std::uint64_t size = 1;
    for (const std::size_t axis : answers.axes) {
      answers.strides.push_back(size);
      size = std::min(most_joined + 1, size * values[axis].size());
    }
    if (size <= most_joined) answers.known.assign(size, 0);
  }
  for (std::size_t axis = 0; axis < axis_count; ++axis)
    answers_from_[axis] = static_cast<std::size_t>(std::ranges::find_if(answers_, [&](const Answers& a) {
      return a.last >= static_cast<AxisId>(axis);
    }) - answers_.begin());
}

void Legality::add_repeats() {
  using enum AxisId;
  add({is_first<repeats_context_kind>, nullptr, {cp, cp_kind}, {}, {}}, "repeats: cp kind without cp");
  add({is_first<repeats_order>, nullptr, {gpus, tp, cp, pp, order}, {}, {}},
      "repeats: the same order of the axes in use");
  add({is_first<repeats_tier>, nullptr, {gpus, tp, cp, pp, tp_tier, pp_tier, dp_tier}, {}, {}},
      "repeats: tiers with the same order");
  add({is_first<repeats_sequence_split>, nullptr, {tp, sp}, {}, {}}, "repeats: sp without tp");
  add({is_first<repeats_scatter>, nullptr, {tp, cp, pp, sp, scatter_boundary}, {}, {}},
      "repeats: boundary pieces where nothing is repeated");
  add({is_first<repeats_kept_gathers>, nullptr, {tp, cp, sp, save_gathered, recompute}, {}, {}},
      "repeats: kept gathers without gathers");
  add({is_first<repeats_tensor_overlap>, nullptr, {tp, cp, ep, etp, tp_overlap}, {}, {}},
      "repeats: tp overlap without tp, cp and ep");
  add({is_first<repeats_chunks>, nullptr, {pp, chunks, schedule, layout}, {}, {}},
      "repeats: chunks on one stage, or those that the schedule brings");
  add({is_first<repeats_schedule>, nullptr, {pp, chunks, schedule, layout}, {}, {}},
      "repeats: a schedule that comes to the same");
  add({is_first<repeats_layout>, nullptr, {pp, chunks, schedule, layout}, {}, {}},
      "repeats: a layout that comes to the same");
  if (points_.space().values[static_cast<std::size_t>(layout)].size() > 1)
    add({is_first<repeats_even_layers>, nullptr, all_axes(), {}, {}},
        "repeats: balanced layers that another layout states");
  add({is_first<repeats_zero>, nullptr, {gpus, tp, cp, pp, ep, etp, zero, replicas}, {}, {}},
      "repeats: sharding over one rank");
  add({is_first<repeats_replicas>, nullptr, {zero, replicas}, {}, {}}, "repeats: copies without sharding");
  add({is_first<repeats_data_overlap>, nullptr, {gpus, tp, cp, pp, dp_overlap}, {}, {}},
      "repeats: dp overlap without dp");
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
  for (std::size_t i = 0; i < rule.axes.size(); ++i)
    place += rule.strides[i] * digits[static_cast<std::size_t>(rule.axes[i])];
  signed char& known = rule.known[place];
  if (known == 0) known = rule.holds(*this, rule, digits) ? 1 : -1;
  return known > 0;
}

std::uint8_t Legality::ask_all(const Answers& answers, const Digits& digits) {
  for (std::size_t i = answers.begin; i < answers.end; ++i)
    if (!ask_rule(rules_[i], digits)) return static_cast<std::uint8_t>(2 + i - answers.begin);
  return 1;
}

Legality::Verdict Legality::ask(const Digits& digits, AxisId changed) {
  for (std::size_t a = answers_from_[static_cast<std::size_t>(changed)]; a < answers_.size(); ++a) {
    Answers& answers = answers_[a];
    std::uint8_t all = 0;
    if (answers.known.empty()) {
      all = ask_all(answers, digits);
    } else {
      std::uint64_t place = 0;
      for (std::size_t i = 0; i < answers.axes.size(); ++i) place += answers.strides[i] * digits[answers.axes[i]];
      if (answers.known[place] == 0) answers.known[place] = ask_all(answers, digits);
      all = answers.known[place];
    }
    if (all > 1) return {reason_of_[answers.begin + all - 2], answers.last};
  }
  return {};
}

}  // namespace stepcast::sweep
