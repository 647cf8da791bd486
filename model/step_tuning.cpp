#include "model/step_tuning.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/expert_launch.h"
#include "model/publication_scatter.h"
#include "model/untold_stack.h"

namespace stepcast {
namespace {

double& value_of(StepTuning& tuning, StepParameter parameter) {
  return tuning.values[static_cast<std::size_t>(parameter)];
}

/// Precisions whose steps are alike, nearest first: the same element width, then the next.
std::span<const Precision> nearest_precisions(Precision precision) {
  using enum Precision;
  static constexpr Precision half[] = {bf16, fp16, fp8}, other_half[] = {fp16, bf16}, eight[] = {fp8, mxfp8},
                             blocks[] = {mxfp8, fp8}, four[] = {nvfp4, mxfp8, fp8}, single[] = {fp32, tf32},
                             mixed[] = {tf32, fp32};
  switch (precision) {
    case bf16: return half;
    case fp16: return other_half;
    case fp8: return eight;
    case mxfp8: return blocks;
    case nvfp4: return four;
    case fp32: return single;
    case tf32: return mixed;
  }
  return half;
}

/// What one software makes of kernels holds for another on the same libraries; what it hides of its moves does not.
bool speaks_of_kernels(StepParameter parameter) {
  using enum StepParameter;
  return parameter == products || parameter == attention || parameter == memory || parameter == kernel_gap ||
         parameter == host_per_launch;
}

const StepFit* fit_of(const Profile& profile, const std::string& stack, Precision precision, bool experts) {
  const auto found = std::ranges::find_if(profile.steps,
      [&](const StepFit& fit) { return fit.stack == stack && fit.precision == precision && fit.experts == experts; });
  return found == profile.steps.end() ? nullptr : &*found;
}

// What the fits' own hold-outs do not contain, from `stepcast validate --hold-out` with the publication and with the
// software of every run left out (2026-11, 550 runs of the catalogue): searched for so that intervals hold 75 to 88 %
// of the runs of each class of 20 (docs/runs.md has what they hold); kinds of runs that need less have a share of the
// width (sim/step/interval.cpp). What another software does is a standard deviation of logarithms, down and up; that of
// another precision half the width of an interval.
constexpr Doubt of_dense{0.036, 0.036}, of_experts{0.015, 0.03}, other_precision{0.03, 0.03};
// What a release of software changes for experts, where the fit's hold-out left publications out and where it could
// not: there as much as a publication.
constexpr Doubt other_release{0.06, 0.06}, first_other_release{publication_scatter, publication_scatter};

// Which attention kernels software takes is its own choice: of the two whose long runs on H100 were fitted they take
// 0.95 and 1.42 times the law's time (llm-foundry and PyTorch FSDP; model/catalog/profiles). With the law itself they
// are three whose logarithms have a standard deviation of 0.22; one more lies within 0.48 of their mean in 80 % of
// cases (Student's t with 2 degrees of freedom, 1.89, times 0.22, times the root of 1 + 1/3).
constexpr Doubt other_attention{0.48, 0.48};

// Where nobody says which software ran, its ways are taken for those of a usual one: what it fuses, overlaps, cuts its
// stages into and runs again. Searched for as above, by the rows "untold" (2026-11, 560 runs).
constexpr Doubt untold_dense{0.12, 0.2}, untold_experts{0.15, 0.15};

/// Steps of one GPU say how fast its kernels are, and nothing of software on many.
bool of_several_gpus(const StepFit& fit) { return fit.most_gpus != 1; }

/// `several`: what as many of them show is in the interval already.
Doubt other_software(const Profile& profile, const std::string& stack, bool experts, std::size_t several = 0) {
  std::set<std::string> known;
  for (const StepFit& fit : profile.steps)
    if (!fit.experts && fit.stack != stack && of_several_gpus(fit)) known.insert(fit.stack);
  // One more of n that are known: Student's t, two-sided 80 %, n degrees of freedom (n and not n - 1: what is usual
  // anywhere is known too).
  constexpr double student[] = {3.08, 1.89, 1.64, 1.53, 1.48, 1.44, 1.41, 1.40, 1.38, 1.37};
  const auto few = [&](std::size_t n) {
    n = std::clamp<std::size_t>(n, 1, std::size(student));
    return std::sqrt(1 + 1 / static_cast<double>(n)) * student[n - 1];
  };
  const double within = several > 0 ? few(several) : 0;
  const double beyond = std::sqrt(std::max(0.0, few(known.size()) * few(known.size()) - within * within));
  const Doubt one = experts ? of_experts : of_dense;
  return {one.down * beyond, one.up * beyond};
}

/// A fit's interval counts other publications of its software (other_publication, or publication_scatter over their
/// number), which other software differs by as well: it counts once.
Spread without_publications(const StepFit& fit) {
  if (fit.experts) return fit.spread;
  const double counted =
      fit.left_out == "source" ? publication_scatter / std::sqrt(std::max(1, fit.groups)) : other_publication;
  const auto rest = [&](double half) { return std::sqrt(std::max(0.0, half * half - counted * counted)); };
  return {std::exp(-rest(std::log(std::max(1.0, 1 / fit.spread.p10)))),
      std::exp(rest(std::log(std::max(1.0, fit.spread.p90))))};
}

// What software makes of products anywhere, as geometric means over the fits of the catalogue's profiles
// (model/catalog/profiles, 2026-11): 20 of dense networks, whose logarithms lie 0.087 apart; with experts the two that
// are not NeMo's (Megatron-Core on B200 1.59, PyTorch FSDP on H100 1.01; NeMo's lay the same on passes over memory).
// With experts it speaks where no fit does.
double usual_products(bool experts) { return experts ? 1.26 : 1.06; }

// What a GPU's few programs say of the next one on it: by an analysis of variance over the dense fits of several GPUs
// of the catalogue's profiles (14 programs on A100, B200, H100 and V100, 2026-11) programs on one GPU lie 0.091 apart,
// GPUs 0.043. So a program says mostly of itself, and what is usual anywhere counts like (0.091 / 0.043)^2 of them.
constexpr double programs_in_usual = 4.5;

/// Attention kernels are each software's own choice: geometric mean over the profile's fits of dense networks, their
/// law counting like one of them.
double usual_attention(const Profile& profile) {
  double sum = 0;
  std::set<std::string> known;
  for (const StepFit& fit : profile.steps)
    for (const StepValue& value : fit.values)
      if (value.parameter == StepParameter::attention && !fit.experts && known.insert(fit.stack).second)
        sum += std::log(value.value);
  return std::exp(sum / static_cast<double>(known.size() + 1));
}

FoundFit found(const Profile& profile, StepFit fit, const Stack& stack, Precision precision) {
  const bool foreign = fit.stack != fit_name(stack) && fit.stack != stack.id,
             borrowed = foreign || fit.precision != precision;
  if (foreign) {
    std::erase_if(fit.values, [](const StepValue& value) { return !speaks_of_kernels(value.parameter); });
    for (StepValue& value : fit.values) {
      // Software that is tuned alike shares libraries: it says as much as what is usual anywhere.
      if (value.parameter == StepParameter::products && !fit.experts)
        value.value = std::sqrt(value.value * usual_products(false));
      if (value.parameter == StepParameter::attention) value.value = usual_attention(profile);
    }
    const Spread own = fit.spread;
    fit.spread = widened(without_publications(fit), other_software(profile, fit_name(stack), fit.experts));
    fit.spread = {std::min(own.p10, fit.spread.p10), std::max(own.p90, fit.spread.p90)};
  } else if (borrowed) {
    fit.spread = widened(fit.spread, other_precision);
  } else if (fit.experts) {
    fit.spread = widened(fit.spread, fit.left_out == "source" ? other_release : first_other_release);
  }
  fit.foreign = foreign;
  return {std::move(fit), borrowed};
}

// What other software makes of products on this GPU (with experts, of which too few are known on any, anywhere). Laws
// alone are too fast for nearly every software: clocks sink under sustained load, and no step is as tidy as a
// benchmark. The intervals hold the middle 80 % of measured over forecast when published runs are forecast by the mean
// of other software, four of dense networks and two with experts in the mean. Where no step of any software was
// measured on the GPU, what is usual anywhere speaks, and no interval is narrower than the profile's own.
FoundFit mean_fit(const Profile& profile, const std::string& stack, bool experts) {
  constexpr Spread dense{0.91, 1.13}, routed{0.86, 1.33};
  std::map<std::string, std::pair<double, int>> of_software;  // sum of logarithms, of how many fits
  StepFit mean;
  for (const StepFit& fit : profile.steps)
    for (const StepValue& value : fit.values) {
      if (value.parameter != StepParameter::products || fit.experts || !of_several_gpus(fit)) continue;
      auto& [sum, count] = of_software[fit.stack];
      sum += std::log(value.value), ++count, mean.runs += fit.runs;
    }
  // Of experts on such a GPU one run says something, of which the laws alone are 5 % off (docs/runs.md).
  if (of_software.empty() && experts) return {};
  double sum = programs_in_usual * std::log(usual_products(false));
  for (const auto& [software, logs] : of_software) sum += logs.first / logs.second;
  const double of_dense_networks = std::exp(sum / (programs_in_usual + static_cast<double>(of_software.size())));
  mean.values = {{StepParameter::products, experts ? usual_products(true) : of_dense_networks}};
  mean.spread = widened(experts ? routed : dense, other_software(profile, stack, experts, experts ? 2 : 4));
  mean.gpus = {profile.gpu};
  mean.source = "all software of this profile";
  if (of_software.empty()) {
    mean.source = "what software usually makes of them, by fits on other GPUs";
    mean.spread = widened(mean.spread, other_gpu);
    mean.spread = {
        std::min(mean.spread.p10, profile.step_spread.p10), std::max(mean.spread.p90, profile.step_spread.p90)};
  }
  mean.foreign = true;
  return {std::move(mean), true};
}

}  // namespace

StepTuning neutral_tuning(const Stack& stack, const Profile& profile) {
  StepTuning tuning;
  tuning.values.fill(1);
  value_of(tuning, StepParameter::contention) = profile.overlap.compute_slowdown;
  value_of(tuning, StepParameter::kernel_gap) = stack.launch_gap.value();
  value_of(tuning, StepParameter::host_per_launch) = stack.host_per_launch.value();
  value_of(tuning, StepParameter::host_per_step) = stack.host_per_step.value();
  return tuning;
}

StepTuning tuning_of(const Stack& stack, const Profile& profile, const StepFit* fit) {
  StepTuning tuning = neutral_tuning(stack, profile);
  if (fit == nullptr) return tuning;
  for (const StepValue& value : fit->values) value_of(tuning, value.parameter) = value.value;
  tuning.spread = fit->spread;
  tuning.most_gpus = fit->most_gpus;
  if (fit->foreign) tuning.attention = other_attention;
  return tuning;
}

namespace {

/// What a fit of other software says nothing of.
FoundFit with_launches(FoundFit found, const Stack& stack, bool experts) {
  if (!experts || !found.fit || !found.fit->foreign) return found;
  const bool said = std::ranges::any_of(
      found.fit->values, [](const StepValue& value) { return value.parameter == StepParameter::host_per_launch; });
  if (!said) found.fit->values.push_back({StepParameter::host_per_launch, launch_with_experts(stack)});
  return found;
}

FoundFit nearest_fit(const Profile& profile, const Stack& stack, Precision precision, bool experts) {
  std::vector<std::string> stacks = {fit_name(stack), stack.id};
  stacks.insert(stacks.end(), stack.tuned_like.begin(), stack.tuned_like.end());
  for (const std::string& id : stacks)
    for (const Precision near : nearest_precisions(precision))
      if (const StepFit* fit = fit_of(profile, id, near, experts))
        return with_launches(found(profile, *fit, stack, precision), stack, experts);
  return with_launches(mean_fit(profile, fit_name(stack), experts), stack, experts);
}

}  // namespace

/// No interval is narrower for not being told.
FoundFit find_step_fit(const Profile& profile, const Stack& stack, Precision precision, bool experts) {
  FoundFit found = nearest_fit(profile, stack, precision, experts);
  if (!is_untold(stack) || !found.fit) return found;
  Stack known = stack;
  known.id = named_row_of(stack.id);
  if (!stack.tuned_like.empty()) known.fitted_with = stack.tuned_like.front();  // as_untold put it there
  Spread& spread = found.fit->spread;
  spread = widened(spread, experts ? untold_experts : untold_dense);
  if (const FoundFit told = nearest_fit(profile, known, precision, experts); told.fit)
    spread = {std::min(spread.p10, told.fit->spread.p10), std::max(spread.p90, told.fit->spread.p90)};
  return found;
}

// By fit_pair_spread's quantile, over the program's records (studies/records/runs.json). Dense: 355 pairs of 27 jobs,
// 0.055 when forecast by what all other software makes of products, 0.054 by the own software's fit with the network
// left out, 0.050 by the laws alone: what a fit adds, the splits of one job share. Experts: 9 pairs of two networks on
// 8 GPUs whose batches differ too, 0.079 with the network left out, for runs with experts hardly ever differ in the
// split alone; among dense networks other batches change little (each pair alike: 0.053 for 0.051).
double usual_pair_spread(bool experts) { return experts ? 0.08 : 0.055; }

double pair_spread_of(const FoundFit& found, bool experts) {
  const double usual = usual_pair_spread(experts);
  if (!found.fit || found.fit->pairs == 0) return usual;
  return found.borrowed ? std::max(usual, found.fit->pair_spread) : found.fit->pair_spread;
}

std::string fit_text(const StepFit& fit) {
  if (fit.values.empty()) return "laws as they are";
  std::string text;
  for (const StepValue& value : fit.values) {
    const StepParameterRow& row = row_of(value.parameter);
    const std::string name(row.id.substr(0, row.unit.empty() ? row.id.size() : row.id.size() - 2));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
        row.unit.empty() ? fmt::format("{:.3g}", value.value) : format_seconds(Seconds(value.value)));
  }
  return text;
}

}  // namespace stepcast
