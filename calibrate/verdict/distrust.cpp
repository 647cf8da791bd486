#include "calibrate/verdict/distrust.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/bench/work.h"
#include "model/profile/profile_names.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// Beyond rounding of a datasheet and a boost clock above the one that it assumes.
constexpr double most_over_datasheet = 1.05;
/// Large bf16 products reach 61 to 84 % of it from A100 to GB300, streams 85 to 89 % (tables of
/// ai-dynamo/aiconfigurator 095f58a): what is far below has a reason.
constexpr double least_product_share = 0.5, least_stream_share = 0.7;
/// Two releases of one library on one card differ by 2 to 4 % (same tables); within minutes it is heat or a neighbour.
constexpr double most_drift = 0.02;
/// Bursts to seconds on end: 4 % faster to 18 % slower over H200, B200 and GB200 (same tables).
constexpr double most_sustained = 1.3;
/// Held out: median of measured over predicted, of all products and of one layout.
constexpr double most_bias = 0.05;
constexpr double most_unsettled = 0.1;      ///< share of works
constexpr double least_power_limit = 0.98;  ///< of the default

/// Things of one sort that a line names.
constexpr std::size_t named = 4;

using Lines = std::vector<std::string>;

/// run_campaign's words for what is nobody's fault.
constexpr std::string_view budget_word = "budget";

void doubt_campaign(const Evidence& e, Lines& lines) {
  const auto unreached = std::count_if(e.result.skipped.begin(), e.result.skipped.end(),
      [](const NotMeasured& skipped) { return skipped.why == budget_word; });
  if (e.result.finished && unreached == 0) return;
  const bool budget = e.result.finished || e.result.ended_by == budget_word;
  const std::string why = budget ? fmt::format("the budget was used up, {} works were not reached", unreached)
                                 : fmt::format("it ended early: {}", e.result.ended_by);
  lines.push_back(fmt::format(
      "the campaign is not whole ({}): laws have fewer samples than planned; --resume goes on from there", why));
}

void doubt_card(const Evidence& e, Lines& lines) {
  if (e.settings.driver.empty()) return;
  if (e.settings.mig)
    lines.push_back(
        "all figures are of a MIG slice: fewer multiprocessors and less bandwidth than the datasheet's; turn MIG off, "
        "or use them for such slices only");
  if (!e.settings.other_processes.empty())
    lines.push_back(fmt::format(
        "all figures: the card was shared with {}; measure again without", some_of(e.settings.other_processes, named)));
  const double limit = e.settings.power_limit_w, usual = e.settings.default_power_limit_w;
  if (limit > 0 && usual > 0 && limit < usual * least_power_limit)
    lines.push_back(
        fmt::format("rates of products: the power limit is {:.0f} W, below the default of {:.0f} W; they hold for "
                    "cards that are limited alike",
            limit, usual));
}

void doubt_clocks(const Evidence& e, Lines& lines) {
  const auto& timed = e.result.timed;
  if (!timed.empty() && std::all_of(timed.begin(), timed.end(), [](const auto& t) { return !(t.sm_clock_mhz > 0); }))
    lines.push_back("clocks and power were not seen: no row could be marked as throttled; NVML comes with the driver");
  if (e.verdict.throttled.empty()) return;
  lines.push_back(fmt::format(
      "clocks were down even after pauses, and what ran is in no law of bursts: {}; look at cooling and power, "
      "then measure into a new file",
      some_of(e.verdict.throttled, named)));
}

void doubt_drift(const Evidence& e, Lines& lines) {
  if (e.verdict.repeats > 0 && e.verdict.drift <= most_drift) return;
  if (e.verdict.repeats == 0) {
    lines.push_back(
        "whether figures drifted is not known: nothing was timed twice; add repeat to --only, or a longer --budget");
    return;
  }
  const auto worst = std::max_element(e.result.repeats.begin(), e.result.repeats.end(),
      [](const auto& a, const auto& b) { return std::abs(a.again / a.first - 1) < std::abs(b.again / b.first - 1); });
  lines.push_back(
      fmt::format("all figures drifted by {} between first and last, most of all {} ({:.3f} of its first time): heat "
                  "or a neighbour; measure again on a warm, idle card",
          format_percent(e.verdict.drift), worst->work, worst->again / worst->first));
}

std::string rate_text(const Roof& roof, double rate) {
  return unit_of(roof) == RoofUnit::bytes ? format_rate(BytesPerSecond(rate)) : format_flops(FlopsPerSecond(rate));
}

void doubt_roofs(const Evidence& e, Lines& lines) {
  for (const RoofVerdict& verdict : e.verdict.roofs) {
    if (verdict.datasheet <= 0) continue;
    const double share = verdict.roof.rate / verdict.datasheet;
    const std::string figure = fmt::format("{} {}: {} is {} of the datasheet's {}", verdict.roof.of,
        verdict.roof.regime, rate_text(verdict.roof, verdict.roof.rate), format_percent(share),
        rate_text(verdict.roof, verdict.datasheet));
    const bool stream = verdict.roof.of.starts_with("hbm "),
               wide = verdict.roof.of == "bf16" || verdict.roof.of == "fp16";
    if (share > most_over_datasheet)
      lines.push_back(figure + "; more than there is: units, clock or datasheet are wrong");
    else if ((stream && share < least_stream_share) || (wide && share < least_product_share))
      lines.push_back(figure +
                      "; usual is far more: look at power limit, clocks, ECC and what else uses the card, and whether "
                      "the catalogue's GPU is this one");
  }
}

void doubt_kernels(const Evidence& e, Lines& lines) {
  for (const KernelShare& kernel : e.verdict.kernels)
    if (kernel.share > most_over_datasheet)
      lines.push_back(fmt::format(
          "{} ran at {} of the roof {}, at {}: its bytes did not all come from there, or the roof is too low",
          kernel.kernel, format_percent(kernel.share), kernel.roof, kernel.at));
}

/// One line for each reason, with what it kept from being measured.
void doubt_skipped(const Evidence& e, Lines& lines) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const NotMeasured& skipped : e.result.skipped)
    if (skipped.why != budget_word) by_reason[skipped.why].push_back(skipped.work);
  for (const auto& [why, works] : by_reason)
    lines.push_back(fmt::format(
        "{} not measured ({}): laws stand without {}", some_of(works, named), why, works.size() > 1 ? "them" : "it"));
}

void doubt_medians(const Evidence& e, Lines& lines) {
  std::vector<std::string> open;
  for (const MeasureResult::Timed& timed : e.result.timed)
    if (!timed.settled && timed.row < e.result.measurements.rows.size())
      open.push_back(work_name(e.result.measurements.rows[timed.row].what));
  const auto all = static_cast<double>(e.result.timed.size());
  if (open.empty() || static_cast<double>(open.size()) <= most_unsettled * all) return;
  lines.push_back(fmt::format(
      "{} of {} medians were still moving by more than 1 % when their time was up: {}; measure again on an idle card",
      open.size(), e.result.timed.size(), some_of(open, named)));
}

const HeldOut& figures_of(const LawFit& fit) { return fit.training.samples > 0 ? fit.training : fit.held_out; }

void doubt_laws(const Evidence& e, Lines& lines) {
  std::vector<std::string> wrong, few, biased;
  for (const LawFit& fit : e.verdict.laws) {
    const UsualFit usual = usual_fit(fit);
    if (usual.samples > 0 && fit.samples < usual.samples) few.push_back(fmt::format("{} ({})", fit.law, fit.samples));
    const double mape = figures_of(fit).mape;
    if (usual.mape > 0 && mape > usual.mape)
      wrong.push_back(fmt::format("{} {} (usual {})", fit.law, format_percent(mape), format_percent(usual.mape)));
    for (const PartFit& part : fit.layouts)
      if (std::abs(part.bias - 1) > most_bias)
        biased.push_back(fmt::format("{} {} take {:.2f} of what the law says", fit.law, part.part, part.bias));
  }
  if (!wrong.empty())
    lines.push_back(fmt::format(
        "held-out errors above the usual: {}; more shapes (--budget), or times that scatter", some_of(wrong, 6)));
  if (!few.empty())
    lines.push_back(fmt::format("few samples behind {}: a longer --budget gives more", some_of(few, 8)));
  if (!biased.empty())
    lines.push_back(fmt::format(
        "one law holds all layouts of products, and here {}: forward and backward are off to opposite sides",
        some_of(biased, 3)));
}

void doubt_slowdowns(const Evidence& e, Lines& lines) {
  if (e.verdict.sustained_slowdown == 0)
    lines.push_back(
        "rates are of bursts and nobody ran for seconds: the profile's sustained slow-down is the start's; add "
        "sustained to --only, or a longer --budget");
  else if (e.verdict.sustained_slowdown > most_sustained)
    lines.push_back(
        fmt::format("products go on {:.2f} times slower than they start: more than power limits do elsewhere (up to "
                    "1.18); look at cooling",
            e.verdict.sustained_slowdown));
  for (const SlowdownVerdict& slowdown : e.verdict.slowdowns)
    if (slowdown.what == "products beside copy")
      lines.push_back(fmt::format(
          "{} ({:.2f}): a copy within the card asks more of its memory than a collective does, so that steps "
          "with much overlap may be forecast too slow",
          slowdown.what, slowdown.factor));
}

void doubt_missing(const Evidence& e, Lines& lines) {
  bool warm = false, products = false;
  std::set<Precision> precisions;
  for (const Measurement& row : e.result.measurements.rows) {
    const MeasurementContext& context = e.result.measurements.context_of(row);
    if (context.gpu != e.gpu.id) continue;
    warm = warm || !context.cache.empty();
    const auto* gemm = std::get_if<GemmQuery>(&row.what);
    products = products || gemm != nullptr;
    if (gemm != nullptr) precisions.insert(gemm->precision);
  }
  if (products && !warm)
    lines.push_back(
        "all times are cold, and layers reuse what the level-2 cache holds: small products may run faster; add warm to "
        "--only");
  const auto can =
      std::count_if(std::begin(e.gpu.peak), std::end(e.gpu.peak), [](FlopsPerSecond peak) { return peak.value() > 0; });
  if (precisions.size() == 1 && can > 1)
    lines.push_back(
        fmt::format("only {} products were timed: other precisions are its share of their datasheet peaks, and narrow "
                    "ones reach less of it; add precisions to --only",
            to_text(*precisions.begin())));
}

/// By the beginning of a law's name: what is usual of held-out forecasts. Products of training size with 64 shapes 5 to
/// 7 % (L40S 10), narrow ones with their cast 12 to 17 %; attention with a ramp and 16 shapes 7 to 14 %; operators, t0
/// and a rate: elementwise 0.5 to 2.2 %, norms and softmax 6 to 17 %, activations 7 to 8 %. Own study on the tables of
/// ai-dynamo/aiconfigurator 095f58a, sitar-lab/NeuSight 6945927 and vidur.
struct UsualRow {
  std::string_view law;
  UsualFit fit;
};
constexpr std::array usual_rows{UsualRow{"gemm fp8", {0.17, 16}}, UsualRow{"gemm mxfp8", {0.17, 16}},
    UsualRow{"gemm nvfp4", {0.17, 16}}, UsualRow{"gemm ", {0.08, 16}}, UsualRow{"attention decode", {0.25, 16}},
    UsualRow{"attention", {0.15, 12}}, UsualRow{"moe ", {0.2, 16}}, UsualRow{"memory-bound, any", {0.25, 8}}};
constexpr std::array usual_groups{UsualRow{"elementwise", {0.05, 6}}, UsualRow{"copy", {0.05, 4}},
    UsualRow{"norm", {0.17, 6}}, UsualRow{"softmax", {0.17, 6}}, UsualRow{"activation", {0.1, 6}}};
constexpr UsualFit other_operators{0.15, 6};
/// Where no product is of training size: everything from one row on, 10 to 18 % with the same law.
constexpr double usual_of_all_products = 0.2;

}  // namespace

UsualFit usual_fit(const LawFit& fit) {
  for (const UsualRow& row : usual_rows) {
    if (!fit.law.starts_with(row.law)) continue;
    const bool any_size = fit.law.starts_with("gemm ") && fit.training.samples == 0;
    return {any_size ? std::max(row.fit.mape, usual_of_all_products) : row.fit.mape, row.fit.samples};
  }
  const MemoryOp* op = find_memory_op(fit.law);
  if (op == nullptr) return {};
  for (const UsualRow& row : usual_groups)
    if (op->group == row.law) return row.fit;
  return other_operators;
}

std::vector<std::string> distrust_lines(const Evidence& evidence) {
  Lines lines;
  for (const auto doubt : {doubt_campaign, doubt_card, doubt_clocks, doubt_drift, doubt_roofs, doubt_kernels,
           doubt_skipped, doubt_medians, doubt_laws, doubt_slowdowns, doubt_missing})
    doubt(evidence, lines);
  return lines;
}

}  // namespace stepcast::calibrate
