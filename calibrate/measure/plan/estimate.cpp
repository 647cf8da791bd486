// How long the campaign will be busy with one thing at most.
#include <algorithm>

#include "calibrate/measure/plan/planned_work.h"

namespace stepcast::calibrate {
namespace {

// Creating, choosing a kernel, checking against float64, recording a graph: 20-60 ms, by how much there is to fill.
constexpr Seconds make_and_check{25e-3};
// Random numbers are made at a fraction of the memory's rate.
constexpr double fill_share = 0.1;
// The system locks the pages of pinned memory one by one, and the host fills them: about 1 GB/s.
constexpr BytesPerSecond lock_pages{1e9};
// cuDNN plans a graph of operations, and may compile for it.
constexpr Seconds plan_graph{0.25};
// Two kernels at once share the chip.
constexpr double slower_beside = 2;

bool on_host(const Query& query) { return std::holds_alternative<TransferQuery>(query); }

Seconds fill_time(const PlanRequest& request, const Query& query) {
  const Bytes cold = request.gpu.l2 * request.rules.caches_between;
  const Bytes filled = std::max(bytes_taken(query), cold);
  return filled / (request.gpu.memory_bandwidth * fill_share) + (on_host(query) ? filled / lock_pages : Seconds());
}

Seconds preparing(const PlanRequest& request, const Work& work) {
  Seconds time = make_and_check + fill_time(request, work.what);
  if (work.beside) time += make_and_check + fill_time(request, *work.beside);
  return work.source == KernelSource::cudnn ? time + plan_graph : time;
}

Seconds one_call(const PlanRequest& request, const Work& work) {
  return expected_time(request.gpu, work.what) * (work.beside ? slower_beside : 1);
}

/// Probing takes a few calls and warming up a replay; then replays until the interval is narrow or the time is spent.
Seconds sampling(const PlanRequest& request, const Work& work) {
  constexpr double probes = 3;
  const MethodRules& rules = request.rules;
  const Seconds call = one_call(request, work), replay = std::max(call, rules.shortest_replay);
  // Nine in ten settle after the least replays (H100), so that their rests fit into the longest work.
  return call * probes + replay +
         std::max(rules.longest_work + replay, replay * rules.least_replays * (1 + rules.rest));
}

}  // namespace

Seconds expected_campaign_time(const PlanRequest& request, const PlannedWork& planned) {
  Seconds time;
  for (const Work& work : planned.works) time += preparing(request, work);
  if (!planned.runs_for_long()) return time + sampling(request, planned.works.front());
  Seconds round;  // the last one may begin just before the end
  for (const Work& work : planned.works) round += one_call(request, work);
  return time + planned.duration + std::max(round, request.rules.longest_replay) * 4;
}

}  // namespace stepcast::calibrate
