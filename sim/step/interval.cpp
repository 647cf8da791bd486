// How sure a forecast is, and what a user must be told about the laws behind it.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/untold_stack.h"
#include "sim/step/parts.h"

namespace stepcast::sim {

namespace {

bool doubtful(Source source) {
  return source == Source::transferred || source == Source::datasheet || source == Source::assumed;
}

void add_share(std::vector<LawShare>& shares, const Price& price, Seconds time, bool attention = false) {
  if (time.value() <= 0) return;
  const auto known = std::ranges::find_if(shares, [&](const LawShare& share) {
    return share.source == price.source && (share.law == price.law || std::strcmp(share.law, price.law) == 0);
  });
  LawShare& share = known != shares.end()
                        ? *known
                        : shares.emplace_back(price.law, price.source, price.spread, false, Seconds(0), attention);
  share.time += time;
  share.extrapolated = share.extrapolated || price.extrapolated;
}

bool gathers_weights(const Program& program) {
  return std::ranges::any_of(program.blocks, [](const ProgramBlock& block) {
    return std::ranges::any_of(block.moves, [](const Move& move) { return move.cargo == Cargo::weight; });
  });
}

const char* why(Source source) {
  switch (source) {
    case Source::transferred: return "transferred from another GPU, rank count or kind";
    case Source::datasheet: return "from the datasheet, nothing measured";
    case Source::assumed: return "assumed, nothing measured";
    default: return "";
  }
}

}  // namespace

std::vector<LawShare> law_shares(const StepView& view, const Tail& tail) {
  std::vector<LawShare> shares;
  for (std::size_t i = 0; i < view.program.chunks.size(); ++i) {
    const Chunk& chunk = view.program.chunks[i];
    if (chunk.stage != view.critical) continue;
    for (const BlockRun& run : chunk.runs) {
      const double calls = static_cast<double>(run.count) * view.units;
      const std::vector<KernelWork>& works = view.program.blocks[run.block].works;
      const std::vector<Price>& prices = view.prices(view.critical)[run.block].works;
      for (std::size_t w = 0; w < works.size(); ++w)
        add_share(shares, prices[w], prices[w].time * calls, works[w].kernel == KernelClass::attention);
      for (const Price& price : view.prices(view.critical)[run.block].moves)
        add_share(shares, price, price.time * calls);
    }
  }
  for (std::size_t i = 0; i < view.program.edges.size(); ++i) {
    const StageEdge& edge = view.program.edges[i];
    if (view.program.chunks[edge.from].stage != view.critical && view.program.chunks[edge.to].stage != view.critical)
      continue;
    for (const Price& price : {view.hops[i].send, view.hops[i].gather})
      add_share(shares, price, price.time * (2 * view.units));
  }
  for (const StepMove& call : tail.moves) {
    if (call.stage == view.critical) add_share(shares, call.price, call.price.time * call.calls);
  }
  return shares;
}

// Two kinds of run spread wider than the profiles' hold-outs, which are of dense runs with resident weights: 10th and
// 90th percentile of measured over forecast in `stepcast validate` on the shipped records, 110 runs with routed rows
// and 98 that gather their weights (2026-11). A third is of networks that no fit has seen: nine runs of BERT in
// NVIDIA's PyTorch program (NVIDIA/DeepLearningExamples 729963dd, on A100 and V100) took 1.09 to 1.27 of their
// forecasts, two of Wan 2.1 (NVIDIA-NeMo/DFM on H100, NVIDIA-NeMo/Megatron-Bridge on B200) 0.83 and 1.08.
KindSpread spread_of_kind(const Program& program) {
  constexpr KindSpread routed{{0.82, 1.61}, "runs with routed rows in stepcast validate"},
      gathered{{0.90, 1.23}, "runs that gather their weights in stepcast validate"};
  const KindSpread kind = program.routed_rows ? routed : gathers_weights(program) ? gathered : KindSpread{};
  if (!program.unlike_measured) return kind;
  constexpr KindSpread unlike{{0.83, 1.27}, "nine measured runs of BERT and two of Wan"};
  return {{std::min(kind.spread.p10, unlike.spread.p10), std::max(kind.spread.p90, unlike.spread.p90)}, unlike.runs};
}

/// What a doubling of GPUs beyond the largest measured run adds. Assumed: published series lose 0.4 % per doubling
/// (InternLM/InternEvo, 7B on 64 to 1,024 A100) to 5 % (arXiv 2407.21783, 405B on 8,192 and 16,384 H100), of which the
/// forecast holds a part.
constexpr Doubt per_doubling_of_gpus{0.01, 0.03};

namespace {

/// Of the width that follows from what was not measured (model/step_tuning.cpp), what runs with routed rows need: the
/// fits of other software differ by more than its runs (1.59 and 1.01, usual_products). So wide, the intervals of
/// `stepcast validate --hold-out` hold 77 to 88 % of such runs in classes of 20 and more, on Hopper and on Blackwell,
/// when their software is left out (2026-11, 128 runs); of the seven hybrids on Hopper 57 %.
constexpr double routed_share = 0.66;

Spread as_wide_as_its_kind(Spread spread, const Program& program) {
  if (!program.routed_rows) return spread;
  return {std::pow(spread.p10, routed_share), std::pow(spread.p90, routed_share)};
}

}  // namespace

Spread beyond_what_was_measured(
    const CostModel& cost, const Program& program, const std::vector<LawShare>& shares, Seconds step) {
  const StepTuning& tuning = cost.tuning();
  Spread spread = tuning.spread;
  // Laws that no measured step used, by the part of the step that rests on them.
  Doubt unknown;
  Seconds all = step;
  for (const LawShare& share : shares) all = std::max(all, share.time);
  for (const LawShare& share : shares) {
    if (share.attention)
      spread = widened(spread, {share.time / all * tuning.attention.down, share.time / all * tuning.attention.up});
    if (share.source != Source::datasheet && share.source != Source::assumed) continue;
    unknown.down += share.time / all * std::log(std::max(1.0, 1 / share.spread.p10));
    unknown.up += share.time / all * std::log(std::max(1.0, share.spread.p90));
  }
  spread = widened(as_wide_as_its_kind(spread, program), unknown);
  if (tuning.most_gpus > 0 && program.ranks > tuning.most_gpus) {
    const double doublings = std::log2(static_cast<double>(program.ranks) / static_cast<double>(tuning.most_gpus));
    spread = widened(spread, {doublings * per_doubling_of_gpus.down, doublings * per_doubling_of_gpus.up});
  }
  if (!program.unlike_measured) return spread;
  const Spread kind = spread_of_kind(program).spread;
  return {std::min(spread.p10, kind.p10), std::max(spread.p90, kind.p90)};
}

// Where steps of this software were measured, their held-out errors are the interval: they contain what kernels,
// collectives and the software's own ways add. Elsewhere the profile's hold-outs say how far whole steps fall from
// their forecast; time that rests on a law which those runs did not use (transferred, datasheet, assumed) takes that
// law's own spread where it is wider; so does all time where the profile has no hold-outs. Hidden moves count too, for
// a wrong law would uncover them.
Spread step_interval(const CostModel& cost, const Program& program, const std::vector<LawShare>& shares, Seconds step) {
  if (cost.tuning().fitted()) return beyond_what_was_measured(cost, program, shares, step);
  const Profile& profile = cost.profile();
  const bool held_out = profile.step_spread.p10 < 1 || profile.step_spread.p90 > 1;
  const Spread kind = spread_of_kind(program).spread;
  Spread interval{std::min(profile.step_spread.p10, kind.p10), std::max(profile.step_spread.p90, kind.p90)};
  Seconds all = step;
  for (const LawShare& share : shares) all = std::max(all, share.time);
  for (const LawShare& share : shares) {
    if (held_out && !doubtful(share.source)) continue;
    const double weight = share.time / all;
    interval.p10 -= weight * std::max(0.0, profile.step_spread.p10 - share.spread.p10);
    interval.p90 += weight * std::max(0.0, share.spread.p90 - profile.step_spread.p90);
  }
  interval.p10 = std::max(interval.p10, 0.1);
  return interval;
}

// Of the time of moves that show, what other software hides, and of the time that is hidden, what others show. Searched
// for so that the interval of unnamed software holds 80 % of the forecasts by named software: ten rows of the
// catalogue, random plans on seven machines (2026-11; docs/runs.md has what they hold).
constexpr double others_hide = 0.6, others_show = 0.3;

Doubt doubt_of_moves(
    const CostModel& cost, const Program& program, const std::vector<CollectiveReport>& rows, int stage, Seconds step) {
  if (!is_untold(cost.stack())) return {};
  Seconds shown, hidden;
  for (const CollectiveReport& row : rows) {
    if (row.stage != stage) continue;
    shown += row.exposed, hidden += std::max(Seconds(), row.time - row.exposed);
  }
  constexpr double most = 0.95;  // of a step that moves make all of
  const double kind = program.routed_rows ? routed_share : 1;
  return {-kind * std::log(1 - std::min(most, others_hide * (shown / step))),
      kind * std::log(1 + others_show * (hidden / step))};
}

std::string PriceDoubt::in_words(std::string_view how) const {
  return fmt::format("{} {}{:.1f} % of the step", text, how, 100 * share);
}

std::vector<PriceDoubt> price_doubts(const std::vector<LawShare>& shares, Seconds step) {
  // What cannot move the step's last printed digit is not worth a line; the tables still show its source.
  constexpr double least_percent = 0.05;
  std::vector<PriceDoubt> doubts;
  for (const LawShare& share : shares) {
    const double part = share.time / step;
    if (100 * part < least_percent) continue;
    if (doubtful(share.source))
      doubts.push_back({fmt::format("{}: {}; its calls take", share.law, why(share.source)), part});
    if (share.extrapolated) doubts.push_back({fmt::format("{}: beyond the largest size measured;", share.law), part});
  }
  return doubts;
}

std::vector<std::string> step_warnings(const std::vector<PriceDoubt>& doubts, const MemoryReport& memory) {
  std::vector<std::string> warnings;
  for (const PriceDoubt& doubt : doubts) warnings.push_back(doubt.in_words());
  if (!memory.fits) {
    warnings.push_back(fmt::format("does not fit: rank {} needs {} of {}, {} too much", memory.rank,
        format_bytes(memory.peak), format_bytes(memory.capacity), format_bytes(memory.peak - memory.capacity)));
  }
  return warnings;
}

}  // namespace stepcast::sim
