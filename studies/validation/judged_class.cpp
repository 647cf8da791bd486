#include "studies/validation/judged_class.h"

#include <algorithm>
#include <map>

namespace stepcast::validation {
namespace {

constexpr std::string_view a100 = "A100", h100 = "H100-80GB", blackwell = "B200 B300 GB200 GB300";
constexpr std::string_view megatrons = "megatron-2020 megatron-2022 megatron-deepspeed megatron-deepspeed-2022";
// BigScience waited for every kernel (CUDA_LAUNCH_BLOCKING=1), which says nothing about software that does not.
constexpr std::string_view unblocked = "megatron-2022 megatron-2020 megatron-deepspeed";
constexpr std::string_view korthikanti = "Korthikanti et al. 2022 (arXiv";
constexpr std::string_view nemo = "nemo megatron-bridge megatron-bridge-2606";

// The closed form: per-layer sums with three fitted numbers per class, no simulation, tried on the same records.
constexpr JudgedClass classes[] = {
    {"Korthikanti, eight runs", a100, "", "", "megatron-2022", korthikanti, Leave::model, 0.025, 0.024},
    {"Korthikanti, parameters of other software", a100, "", "dense", "megatron-2022", korthikanti, Leave::stack, 0.05,
        0.053, unblocked},
    {"A100 tensor and pipeline parallel", a100, "", "dense", megatrons, "", Leave::model, 0.045, 0.048},
    {"vTrain multi-node", a100, "", "dense", "", "VIA-Research/vTrain", Leave::model, 0.055, 0.060},
    {"BigScience A100", a100, "", "dense", "", "bigscience-workshop", Leave::model, 0.035, 0.038},
    {"H100 dense bf16", h100, "bf16", "dense", nemo, "", Leave::source, 0.03, 0.031},
    {"H100 dense fp8", h100, "fp8", "dense", nemo, "", Leave::source, 0.05, 0.052},
    {"Blackwell dense", blackwell, "", "dense", nemo, "", Leave::source, 0.045, 0.049},
    {"Blackwell dense bf16", blackwell, "bf16", "dense", nemo, "", Leave::source, 0.07, 0.029},
    {"Blackwell dense fp8", blackwell, "fp8", "dense", nemo, "", Leave::source, 0.07, 0.069},
    {"Blackwell dense mxfp8", blackwell, "mxfp8", "dense", nemo, "", Leave::source, 0.07, 0.034},
    {"Blackwell dense nvfp4", blackwell, "nvfp4", "dense", nemo, "", Leave::source, 0.07, 0.048},
    {"fully sharded", "", "", "sharded", "", "", Leave::model, 0.065, 0.070},
    {"fully sharded, parameters of other software", "", "", "sharded", "", "", Leave::stack, 0.11, 0.118},
    {"routed experts", "", "", "moe", "", "", Leave::release, 0.12, 0.130},
    {"hybrids", "", "", "hybrid", "", "", Leave::release, 0.08, 0},
    {"hybrids, network left out", "", "", "hybrid", "", "", Leave::model, 0.12, 0},
    {"encoders", "", "", "encoder", "", "", Leave::source, 0.15, 0},
    {"images", "", "", "images", "", "", Leave::source, 0.15, 0},
    {"long context, parameters of short runs", "", "", "long", "", "", Leave::length, 0.07, 0},
};

bool among(std::string_view words, std::string_view one, bool beginning = false) {
  if (words.empty()) return true;
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string_view word = words.substr(at, end - at);
    if (beginning ? one.starts_with(word) : one == word) return true;
    at = end + 1;
  }
  return false;
}

bool inside(double low, double measured, double high) { return low <= measured && measured <= high; }

/// Runs of one model, batch and GPU count, at least four, by ValidatedCase::group.
void add_regret(const std::vector<const ValidatedCase*>& rows, bool held_out, JudgedRow& row) {
  std::vector<ValidatedCase> cases;
  for (const ValidatedCase* one : rows) {
    cases.push_back(*one);
    if (held_out) cases.back().predicted_s = one->held_out_s;
  }
  const auto groups = ranked_groups(cases);
  row.groups = groups.size();
  for (const RankedGroup& group : groups) row.regret += group.regret / static_cast<double>(groups.size());
}

}  // namespace

std::span<const JudgedClass> judged_classes() { return classes; }

bool belongs_to(const ValidatedCase& row, const JudgedClass& judged) {
  return among(judged.gpus, row.gpu, true) && among(judged.precisions, row.precision) &&
         among(judged.kinds, row.kind) && among(judged.stacks, row.stack) && row.source.starts_with(judged.source);
}

/// "source 20, model 21" without the numbers, the most frequent first.
std::string left_out_of(const std::vector<const ValidatedCase*>& rows) {
  std::map<std::string, int> counts;
  for (const ValidatedCase* one : rows)
    if (one->held_out_s > 0) ++counts[one->left_out];
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(-count, name);
  std::sort(order.begin(), order.end());
  std::string text;
  for (const auto& [count, name] : order) text += (text.empty() ? "" : ", ") + name;
  return text;
}

JudgedRow judged_row(const JudgedClass& judged, const std::vector<const ValidatedCase*>& all) {
  JudgedRow row;
  row.judged = &judged;
  const bool held_out =
      std::any_of(all.begin(), all.end(), [](const ValidatedCase* one) { return one->held_out_s > 0; });
  std::vector<const ValidatedCase*> sound;
  std::vector<double> fitted, held, with_doubts, rates, forecast_rates, usual;
  for (const ValidatedCase* one : all) {
    const double forecast = held_out ? one->held_out_s : one->predicted_s;
    with_doubts.push_back(forecast / one->measured_s - 1);
    if (!one->doubt.empty()) continue;
    sound.push_back(one);
    fitted.push_back(one->error);
    held.push_back(forecast / one->measured_s - 1);
    rates.push_back(one->rate());
    forecast_rates.push_back(one->rate() * one->measured_s / forecast);
    const bool covered = held_out ? inside(one->held_out_low_s, one->measured_s, one->held_out_high_s)
                                  : inside(one->low_s, one->measured_s, one->high_s);
    row.coverage += covered ? 1 : 0;
  }
  row.left_out = left_out_of(sound);
  row.doubtful = all.size() - sound.size();
  row.fitted = summarise(fitted);
  row.with_doubts = summarise(with_doubts);
  if (held_out) row.held_out = summarise(held);
  if (sound.empty()) return row;
  row.coverage /= static_cast<double>(sound.size());
  row.spearman = spearman(forecast_rates, rates);
  const double middle = median(rates);
  for (const double rate : rates) usual.push_back(rate / middle - 1);
  row.baseline_mape = summarise(usual).mape;
  add_regret(sound, held_out, row);
  return row;
}

std::vector<JudgedRow> judged_rows(const Validation& validation) {
  std::vector<JudgedRow> rows;
  for (const JudgedClass& judged : classes) {
    std::vector<const ValidatedCase*> members;
    std::vector<ValidatedCase> plain;
    for (const ValidatedCase& one : validation.cases)
      if (belongs_to(one, judged)) plain.push_back(one);
    for (ValidatedCase& one : plain) one.held_out_s = 0, members.push_back(&one);
    rows.push_back(judged_row(judged, members));
  }
  return rows;
}

}  // namespace stepcast::validation
