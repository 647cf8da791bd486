#include "sim/schedule/closed_form.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast {
namespace {

/// Equal stages: times of one stage (chunk) and micro-batch, and of every hop.
struct EqualStages {
  double forward = 0, backward = 0, hop = 0;
  bool blocking = false;
};

std::optional<double> common_value(const std::vector<Seconds>& times) {
  if (times.empty()) return 0.0;
  const bool equal = std::all_of(times.begin(), times.end(), [&](Seconds t) { return t == times.front(); });
  return equal ? std::optional(times.front().value()) : std::nullopt;
}

std::optional<EqualStages> equal_stages(const StageTimes& times) {
  const auto forward = common_value(times.forward), input_grad = common_value(times.input_grad),
             weight_grad = common_value(times.weight_grad);
  const auto hop_forward = common_value(times.hop_forward), hop_backward = common_value(times.hop_backward);
  if (!forward || !input_grad || !weight_grad || !hop_forward || hop_forward != hop_backward) return std::nullopt;
  return EqualStages{*forward, *input_grad + *weight_grad, *hop_forward, times.blocking_hops};
}

/// m micro-batches pass p stages that all work at one pace; the last one enters after m-1 others (arXiv 1811.06965,
/// 2006.09503).
double without_hops(const ScheduleSize& size, const EqualStages& stages) {
  return (size.micro_batches + size.ranks - 1.0) * (stages.forward + stages.backward);
}

/// GPipe. Overlapped hops are paid while the pipeline fills and drains. Blocking: every further micro-batch costs an
/// inner rank its send and its receive, both ways; with two ranks each has only one of them.
std::optional<double> gpipe(const ScheduleSize& size, const EqualStages& stages) {
  const int p = size.ranks, m = size.micro_batches;
  const double fill = 2.0 * (p - 1);
  const double each = !stages.blocking || p == 1 ? 0 : p == 2 ? 2 : 4;
  return without_hops(size, stages) + stages.hop * (fill + each * (m - 1));
}

/// 1F1B, overlapped hops: rank 0 has p micro-batches on the way, and each block of p goes there and back once.
/// Blocking: an inner rank's pair of F and B holds two exchanges, so a micro-batch costs f+b+2c (f+b+c on two ranks,
/// whose outer side has no peer). Of the queued send and receive, fill and drain hide one behind the neighbour's
/// F and B, unless the hop is longer.
std::optional<double> one_f_one_b(const ScheduleSize& size, const EqualStages& stages) {
  const int p = size.ranks, m = size.micro_batches;
  const double base = without_hops(size, stages), c = stages.hop;
  if (p == 1) return base;
  if (!stages.blocking) return base + c * (2.0 * (p - 1) * (1 + (m - 1) / p) + 2 * std::max(0, (m - 1) % p - 1));
  if (p == 2) return base + c * (m + 1.0);
  if (m == 1) return base + c * 2.0 * (p - 1);
  return base + c * (2.0 * (p + m) - 5) + std::max(0.0, c - stages.forward) + std::max(0.0, c - stages.backward);
}

/// The fill is p-1 chunks, not p-1 ranks' whole work (arXiv 2104.04473, section 2.2); exact for every legal group.
std::optional<double> interleaved(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop != 0) return std::nullopt;
  const double units = static_cast<double>(size.micro_batches) * size.chunks;
  return (units + size.ranks - 1) * (stages.forward + stages.backward);
}

struct ClosedForm {
  std::string_view schedule;
  std::optional<double> (*makespan)(const ScheduleSize&, const EqualStages&);
};

constexpr std::array closed_forms = {ClosedForm{"gpipe", gpipe}, ClosedForm{"1f1b", one_f_one_b},
                                     ClosedForm{"interleaved-1f1b", interleaved}};

}  // namespace

std::optional<Seconds> closed_form_makespan(const std::string& schedule, const ScheduleSize& size,
                                            const StageTimes& times) {
  const auto form = std::find_if(closed_forms.begin(), closed_forms.end(),
                                 [&](const ClosedForm& r) { return r.schedule == schedule; });
  const auto stages = equal_stages(times);
  if (form == closed_forms.end() || !stages) return std::nullopt;
  const auto makespan = form->makespan(size, *stages);
  return makespan ? std::optional(Seconds(*makespan)) : std::nullopt;
}

}  // namespace stepcast
