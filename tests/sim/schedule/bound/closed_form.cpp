#include "tests/sim/schedule/bound/closed_form.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast::sim {
namespace {

/// Equal stages: times of one stage (chunk) and unit, and of every hop.
struct EqualStages {
  double forward = 0, input_grad = 0, weight_grad = 0, hop = 0;
  bool blocking = false;
  double pair_factor = 1;
  [[nodiscard]] double backward() const { return input_grad + weight_grad; }
  [[nodiscard]] double all() const { return forward + backward(); }
  [[nodiscard]] bool short_weight_grad() const { return weight_grad <= std::min(forward, input_grad); }
  [[nodiscard]] bool one_time() const { return forward == input_grad && input_grad == weight_grad; }
};

using Formula = std::optional<double>;

std::optional<double> common_value(const std::vector<Seconds>& times) {
  if (times.empty()) return 0.0;
  const bool equal = std::all_of(times.begin(), times.end(), [&](Seconds t) { return t == times.front(); });
  return equal ? std::optional(times.front().value()) : std::nullopt;
}

bool has_single_durations(const StageTimes& times) {
  return !times.forward_each.empty() || !times.input_grad_each.empty() || !times.weight_grad_each.empty();
}

std::optional<EqualStages> equal_stages(const StageTimes& times) {
  const auto forward = common_value(times.forward), input_grad = common_value(times.input_grad),
             weight_grad = common_value(times.weight_grad);
  const auto hop_forward = common_value(times.hop_forward), hop_backward = common_value(times.hop_backward);
  if (!forward || !input_grad || !weight_grad || !hop_forward || hop_forward != hop_backward) return std::nullopt;
  if (has_single_durations(times) || !times.rank_slowdown.empty()) return std::nullopt;
  return EqualStages{*forward, *input_grad, *weight_grad, *hop_forward, times.blocking_hops, times.pair_factor};
}

/// `units` pass p stages that all work at one pace; the last one enters after units-1 others (arXiv 1811.06965,
/// 2006.09503).
double without_hops(double units, int ranks, const EqualStages& stages) { return (units + ranks - 1) * stages.all(); }

/// GPipe. Overlapped hops are paid while the pipeline fills and drains. Blocking: every further micro-batch costs an
/// inner rank its send and its receive, both ways; with two ranks each has only one of them.
Formula gpipe(const ScheduleSize& size, const EqualStages& stages) {
  const int p = size.ranks, m = size.micro_batches;
  const double fill = 2.0 * (p - 1);
  const double each = !stages.blocking || p == 1 ? 0 : p == 2 ? 2 : 4;
  return without_hops(m, p, stages) + stages.hop * (fill + each * (m - 1));
}

/// 1F1B, overlapped hops: rank 0 has p micro-batches on the way, and each block of p goes there and back once.
/// Blocking: an inner rank's pair of F and B holds two exchanges, so a micro-batch costs f+b+2c (f+b+c on two ranks,
/// whose outer side has no peer). Of the queued send and receive, fill and drain hide one behind the neighbour's
/// F and B, unless the hop is longer.
Formula one_f_one_b(const ScheduleSize& size, const EqualStages& stages) {
  const int p = size.ranks, m = size.micro_batches;
  const double base = without_hops(m, p, stages), c = stages.hop;
  if (p == 1) return base;
  if (!stages.blocking) return base + c * (2.0 * (p - 1) * (1 + (m - 1) / p) + 2 * std::max(0, (m - 1) % p - 1));
  if (p == 2) return base + c * (m + 1.0);
  if (m == 1) return base + c * 2.0 * (p - 1);
  return base + c * (2.0 * (p + m) - 5) + std::max(0.0, c - stages.forward) + std::max(0.0, c - stages.backward());
}

/// 2(p-r)-1 micro-batches on the way cover a round trip of (p-r)(f+b) + 2(p-1-r)c while 2c <= f+b: hops are paid once.
Formula eager(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop > 0 && (stages.blocking || 2 * stages.hop > stages.all())) return std::nullopt;
  return without_hops(size.micro_batches, size.ranks, stages) + 2.0 * (size.ranks - 1) * stages.hop;
}

/// The fill is p-1 chunks, not p-1 ranks' whole work (arXiv 2104.04473, section 2.2); exact for every legal group.
Formula interleaved(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop != 0) return std::nullopt;
  return without_hops(static_cast<double>(size.micro_batches) * size.chunks, size.ranks, stages);
}

/// Fewer micro-batches than ranks do not fill them.
Formula interleaved_full(const ScheduleSize& size, const EqualStages& stages) {
  return size.micro_batches >= size.ranks ? interleaved(size, stages) : std::nullopt;
}

/// arXiv 2401.10241, Table 2: W fills all but f+b-w of what an idle rank has, while it is short enough to fit in.
Formula zb_h1(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop != 0 || !stages.short_weight_grad() || size.micro_batches < size.ranks) return std::nullopt;
  const double units = static_cast<double>(size.micro_batches) * size.chunks;
  return units * stages.all() + (size.ranks - 1) * (stages.forward + stages.input_grad - stages.weight_grad);
}

bool zb_h2_holds(const ScheduleSize& size, const EqualStages& stages) {
  return stages.hop == 0 && stages.short_weight_grad() && size.micro_batches >= 2 * size.ranks - 1;
}

/// arXiv 2401.10241, Table 2; the paper counts every rank from its own first forward.
Formula zb_h2_span(const ScheduleSize& size, const EqualStages& stages) {
  if (!zb_h2_holds(size, stages)) return std::nullopt;
  const double idle = stages.forward + stages.input_grad - 2 * stages.weight_grad;
  return size.micro_batches * stages.all() + (size.ranks - 1) * idle;
}

/// The last rank starts p-1 forwards late and is then never idle; or rank 0 has more idle time than that.
Formula zb_h2(const ScheduleSize& size, const EqualStages& stages) {
  if (!zb_h2_holds(size, stages)) return std::nullopt;
  const double idle = std::max(stages.forward, stages.forward + stages.input_grad - 2 * stages.weight_grad);
  return size.micro_batches * stages.all() + (size.ranks - 1) * idle;
}

/// arXiv 2405.15362: no rank is idle once it has begun; stage times are those of a chunk.
Formula zb_v_span(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop != 0 || !stages.one_time() || size.micro_batches < 2 * size.ranks - 1) return std::nullopt;
  return 2 * size.micro_batches * stages.all();
}

Formula zb_v(const ScheduleSize& size, const EqualStages& stages) {
  const Formula span = zb_v_span(size, stages);
  return span ? Formula(*span + (size.ranks - 1) * stages.forward) : span;
}

/// arXiv 2412.19437, Table 2: `folds` ranks from an end to the fold are idle for (F&B) + B - 3W each, if F = I = W.
Formula dual(double work, int folds, const EqualStages& stages) {
  if (stages.hop != 0 || !stages.one_time() || stages.pair_factor != 1) return std::nullopt;
  return work + (folds - 1) * (stages.all() + stages.backward() - 3 * stages.weight_grad);
}

Formula dualpipe(const ScheduleSize& size, const EqualStages& stages) {
  return dual(size.micro_batches * stages.all(), size.ranks / 2, stages);
}

Formula dualpipev(const ScheduleSize& size, const EqualStages& stages) {
  return dual(2 * size.micro_batches * stages.all(), size.ranks, stages);
}

/// Slots as long as forward and backward alike: p-2 of them stay empty (arXiv 2107.06925, Table 2).
Formula chimera(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop != 0 || stages.forward != stages.backward() || size.micro_batches % size.ranks != 0)
    return std::nullopt;
  return (2.0 * size.micro_batches + size.ranks - 2) * stages.forward;
}

Formula sliced(const ScheduleSize& size, const EqualStages& stages) {
  if (stages.hop != 0) return std::nullopt;
  return without_hops(static_cast<double>(size.micro_batches) * size.slices, size.ranks, stages);
}

struct ClosedForm {
  std::string_view schedule;
  Formula (*makespan)(const ScheduleSize&, const EqualStages&);
  Formula (*span)(const ScheduleSize&, const EqualStages&);  ///< that of makespan: rank 0 starts first and ends last
};

constexpr std::array closed_forms = {
    ClosedForm{"gpipe", gpipe, gpipe},
    ClosedForm{"1f1b", one_f_one_b, one_f_one_b},
    ClosedForm{"eager-1f1b", eager, eager},
    ClosedForm{"interleaved-1f1b", interleaved, interleaved},
    ClosedForm{"interleaved-flex", interleaved_full, interleaved_full},
    ClosedForm{"looped-bfs", interleaved_full, interleaved_full},
    ClosedForm{"zb-h1", zb_h1, zb_h1},
    ClosedForm{"interleaved-zb", zb_h1, zb_h1},
    ClosedForm{"zb-h2", zb_h2, zb_h2_span},
    ClosedForm{"zb-v", zb_v, zb_v_span},
    ClosedForm{"dualpipe", dualpipe, dualpipe},
    ClosedForm{"dualpipev", dualpipev, dualpipev},
    ClosedForm{"chimera", chimera, chimera},
    ClosedForm{"seq-1f1b", sliced, sliced},
    ClosedForm{"terapipe", sliced, sliced},
};

const ClosedForm* find_closed_form(const std::string& schedule) {
  const auto form = std::find_if(
      closed_forms.begin(), closed_forms.end(), [&](const ClosedForm& row) { return row.schedule == schedule; });
  return form == closed_forms.end() ? nullptr : &*form;
}

std::optional<Seconds> in_seconds(const Formula& value) {
  return value ? std::optional(Seconds(*value)) : std::nullopt;
}

}  // namespace

std::optional<Seconds> closed_form_makespan(
    const std::string& schedule, const ScheduleSize& size, const StageTimes& times) {
  const ClosedForm* form = find_closed_form(schedule);
  const auto stages = equal_stages(times);
  return form && stages ? in_seconds(form->makespan(size, *stages)) : std::nullopt;
}

std::optional<Seconds> closed_form_span(
    const std::string& schedule, const ScheduleSize& size, const StageTimes& times) {
  const ClosedForm* form = find_closed_form(schedule);
  const auto stages = equal_stages(times);
  return form && stages ? in_seconds(form->span(size, *stages)) : std::nullopt;
}

std::optional<std::vector<std::int32_t>> closed_form_peaks(const std::string& schedule, const ScheduleSize& size) {
  const auto kind = find_schedule(schedule);
  if (!kind || (*kind)->peak == nullptr) return std::nullopt;
  std::vector<std::int32_t> peaks;
  for (int rank = 0; rank < size.ranks; ++rank) peaks.push_back((*kind)->peak(size, rank));
  return peaks;
}

/// Both ways over each hop. Around the loop all hops cross ranks; at the turn of a V none does.
Expected<std::int64_t> closed_form_messages(const std::string& schedule, const ScheduleSize& size) {
  const auto kind = find_schedule(schedule);
  if (!kind) return tl::unexpected(kind.error());
  if (auto ok = check_size(**kind, size); !ok) return tl::unexpected(ok.error());
  const std::int64_t units = std::int64_t{size.micro_batches} * size.slices, p = size.ranks;
  if ((*kind)->own_chunks == 2) return 4 * units * (p - 1);
  return p == 1 ? 0 : 2 * units * (p * size.chunks - 1);
}

}  // namespace stepcast::sim
