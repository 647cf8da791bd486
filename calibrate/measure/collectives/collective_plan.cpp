#include "calibrate/measure/collectives/collective_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "calibrate/measure/collectives/collective_time.h"

namespace stepcast::calibrate {
namespace {

/// In order of how much of training's time they take.
struct KindRow {
  CollectiveKind kind;
  int rarity;
};
constexpr std::array kinds{KindRow{CollectiveKind::all_reduce, 0}, KindRow{CollectiveKind::all_gather, 0},
    KindRow{CollectiveKind::reduce_scatter, 0}, KindRow{CollectiveKind::all_to_all, 0},
    KindRow{CollectiveKind::send_recv, 0}, KindRow{CollectiveKind::broadcast, 2}, KindRow{CollectiveKind::reduce, 2}};

// What NCCL does besides moving data, observed from outside: making the communicator of a group takes seconds, and the
// first call of a kind connects its channels.
constexpr Seconds opening{2}, opening_per_rank{0.05}, connecting{0.3}, checking{10e-3};

/// How early each of `count` places in a row is looked at when its ends come first and then middles of what lies
/// between.
std::vector<int> halving_levels(std::size_t count) {
  std::vector<int> levels(count, -1);
  if (count == 0) return levels;
  levels.front() = levels.back() = 0;
  for (int level = 1; std::find(levels.begin(), levels.end(), -1) != levels.end(); ++level) {
    std::size_t from = 0;
    for (std::size_t to = 1; to < count; ++to) {
      if (levels[to] < 0 || levels[to] == level) continue;
      if (to - from > 1) levels[from + (to - from) / 2] = level;
      from = to;
    }
  }
  return levels;
}

struct Candidate {
  PlannedCollective call;
  std::size_t group = 0, kind = 0, size = 0;  ///< places in their rows
  int level = 0;                              ///< lower ones are planned first
};

std::vector<Candidate> candidates_of(
    const CollectiveBench& bench, const std::vector<CollectiveGroup>& groups, const MethodRules& rules) {
  std::vector<Candidate> all;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Bytes> sizes =
        collective_sizes(static_cast<int>(groups[g].ranks.size()), bench.free_memory() * rules.memory_share);
    const std::vector<int> levels = halving_levels(sizes.size());
    for (std::size_t k = 0; k < kinds.size(); ++k)
      for (std::size_t s = 0; s < sizes.size(); ++s) {
        const PlannedCollective call{groups[g], kinds[k].kind, sizes[s], {}};
        const Seconds estimate = checking + collective_work_time(expected_time(call), rules);
        all.push_back({{groups[g], kinds[k].kind, sizes[s], estimate}, g, k, s, levels[s] + kinds[k].rarity});
      }
  }
  // Of two equally telling ones that of the larger group, of the more used kind, of the larger buffer.
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    const auto key = [](const Candidate& c) {
      return std::tuple(c.level, -static_cast<std::ptrdiff_t>(c.call.group.ranks.size()), c.kind,
          -static_cast<std::ptrdiff_t>(c.size));
    };
    return key(a) < key(b);
  });
  return all;
}

/// What a call costs on top of its own time where it is the first of its group or of its kind there.
class FirstTimes {
 public:
  [[nodiscard]] Seconds of(std::size_t group, std::size_t kind, std::size_t ranks) const {
    Seconds extra;
    if (!kinds_.contains(group)) extra += opening + opening_per_rank * static_cast<double>(ranks);
    if (const auto found = kinds_.find(group); found == kinds_.end() || !found->second.contains(kind))
      extra += connecting;
    return extra;
  }
  void seen(std::size_t group, std::size_t kind) { kinds_[group][kind] = true; }

 private:
  std::map<std::size_t, std::map<std::size_t, bool>> kinds_;
};

PlannedBeside beside_of(const CollectiveBench& bench, const std::vector<CollectiveGroup>& groups) {
  PlannedBeside beside;
  for (const CollectiveGroup& group : groups) {
    const bool within = group.nodes == 1, have_within = !beside.group.ranks.empty() && beside.group.nodes == 1;
    if (within >= have_within && (within > have_within || group.ranks.size() > beside.group.ranks.size()))
      beside.group = group;
  }
  // Fills the GPU for a millisecond or two on an H100, and is limited by its tensor cores.
  constexpr double side = 8192;
  beside.gemm = {side, side, side};
  beside.gemm.precision = bench.device().capability_major >= 8 ? Precision::bf16 : Precision::fp16;
  constexpr double large = 128 << 20;  // a size of collective_sizes: overlapped calls are large
  for (const Bytes size : collective_sizes(static_cast<int>(beside.group.ranks.size()), bench.free_memory() * 0.5))
    if (size <= Bytes(large * 1.01)) beside.buffer = size;
  beside.estimate = connecting + Seconds(1) + beside_duration * 8;  // the neighbour runs longer than what is timed
  return beside;
}

}  // namespace

std::vector<Bytes> collective_sizes(int ranks, Bytes free) {
  // Latency and bandwidth weigh the same at latency x bandwidth: 16 us x 445 GB/s = 7 MB on eight H100, 0.6 MB on PCIe.
  // Between two sizes times are interpolated in logarithms, which at the knee is 6 % off over a factor of 4, 1.5 %
  // over 2.
  constexpr std::array powers{3, 5, 7, 9, 11, 13, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 29, 30};
  constexpr double element = 2, aligned = 16;
  std::vector<Bytes> sizes;
  for (const int power : powers) {
    const double size = std::ldexp(1.0, power), count = ranks;
    const double part = size >= aligned * count ? aligned * count : element * count;
    const Bytes whole(std::ceil(size / part) * part);
    if (2.0 * whole > free) break;
    if (sizes.empty() || whole > sizes.back()) sizes.push_back(whole);
  }
  return sizes;
}

CollectivePlan plan_collectives(const CollectiveBench& bench, Seconds budget, const MethodRules& rules) {
  CollectivePlan plan;
  plan.budget = budget;
  const std::vector<CollectiveGroup> groups = collective_groups(bench);
  if (groups.empty()) {
    plan.notes.emplace_back("one GPU: no collectives to time");
    return plan;
  }
  // NVIDIA/nccl issue 1031, nccl-tests issue 290.
  if (groups.back().nodes == 2)
    plan.notes.emplace_back(
        "on exactly 2 nodes NCCL's trees move each byte over a NIC once per direction: the bus bandwidth may "
        "exceed the NICs' rate, and does not carry over to more nodes");
  FirstTimes first;
  std::vector<Candidate> chosen;
  PlannedBeside beside = beside_of(bench, groups);
  // A tenth of the time for interference, where that is enough.
  const bool with_beside = beside.estimate <= budget * 0.1 && beside.buffer.value() > 0;
  if (with_beside)
    plan.estimate += beside.estimate + opening + opening_per_rank * static_cast<double>(beside.group.ranks.size());
  for (Candidate& candidate : candidates_of(bench, groups, rules)) {
    const Seconds extra = first.of(candidate.group, candidate.kind, candidate.call.group.ranks.size());
    if (plan.estimate + candidate.call.estimate + extra > budget) {
      plan.left_out.push_back(std::move(candidate.call));
      continue;
    }
    candidate.call.estimate += extra;
    plan.estimate += candidate.call.estimate;
    first.seen(candidate.group, candidate.kind);
    chosen.push_back(std::move(candidate));
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.group, a.kind, a.size) < std::tuple(b.group, b.kind, b.size);
  });
  for (Candidate& candidate : chosen) plan.calls.push_back(std::move(candidate.call));
  if (with_beside) plan.beside.push_back(std::move(beside));
  return plan;
}

}  // namespace stepcast::calibrate
