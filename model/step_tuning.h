// The step parameters that hold for one forecast: what measured steps said where there are some, else what the laws and
// the software's row say by themselves.
#pragma once

#include <array>
#include <optional>

#include "model/profile/profile.h"
#include "model/stack.h"
#include "model/profile/step_parameter.h"

namespace stepcast {

struct StepTuning {
  std::array<double, step_parameter_count> values{};
  Spread spread;               ///< of steps, held out; {1, 1} = nothing was fitted
  std::int64_t most_gpus = 0;  ///< of the largest run that was fitted on; 0 = not known
  Doubt attention;             ///< beside the spread, of the time of attention alone
  double operator[](StepParameter parameter) const { return values[static_cast<std::size_t>(parameter)]; }
  [[nodiscard]] bool fitted() const { return spread.p10 < 1 || spread.p90 > 1; }
};

/// Factors are 1; the rest is what the software's row and the profile say.
StepTuning neutral_tuning(const Stack& stack, const Profile& profile);
/// The same with the values of `fit` put in; nullptr puts none in.
StepTuning tuning_of(const Stack& stack, const Profile& profile, const StepFit* fit);

/// The profile's fit for this software, precision and kind of network, or what comes nearest: of the software that the
/// stack names as its like, of the precision next in width; in the end the mean of `products` over all software of the
/// profile. Of another software's only those values that speak of kernels: what that one hides of its moves says
/// nothing. Empty: nobody measured anything near.
struct FoundFit {
  std::optional<StepFit> fit;
  bool borrowed = false;  ///< of another software or precision; the spread is wider then
};
FoundFit find_step_fit(const Profile& profile, const Stack& stack, Precision precision, bool experts);

/// How much slower, as a logarithm, the forecast of one split may be than that of another of the same job and the split
/// still be the faster one, with 10 % chance. The fit's own figure; of one that is borrowed or knows no pairs, at least
/// the usual one.
double pair_spread_of(const FoundFit& found, bool experts);
/// Where nobody measured two splits of one job.
double usual_pair_spread(bool experts);

/// "products 1.09, activation_moves 0.44": for lines that say which values are in force.
std::string fit_text(const StepFit& fit);

}  // namespace stepcast
