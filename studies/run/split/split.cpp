#include "studies/run/split/split.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/schedule/schedule_table.h"

namespace stepcast::run {

bool heads_split(const NetworkSpec& network, std::int64_t ways) {
  const std::int64_t over_groups = std::gcd(ways, network.kv_heads);
  return (network.heads / network.kv_heads) % (ways / over_groups) == 0;
}

bool has_plain_mlp(const NetworkSpec& network) {
  if (network.experts.count == 0) return true;
  for (std::int64_t layer = 0; layer < network.layers; ++layer)
    if (!is_expert_layer(network, layer)) return true;
  return false;
}

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d * d != number) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::string nearest_values(const std::vector<std::int64_t>& legal, std::int64_t wanted) {
  constexpr std::size_t most = 8;
  std::vector<std::int64_t> near = legal;
  std::ranges::stable_sort(
      near, [&](std::int64_t a, std::int64_t b) { return std::llabs(a - wanted) < std::llabs(b - wanted); });
  near.resize(std::min(near.size(), most));
  std::ranges::sort(near);
  return fmt::format("{}", fmt::join(near, ", "));
}

std::string nearest_multiples(std::int64_t wanted, std::int64_t step, std::int64_t most) {
  const std::int64_t below = wanted / step * step;
  if (below > 0 && below + step > most) return fmt::format("{}", below);
  if (below == 0) return fmt::format("{}", step);
  return fmt::format("{} or {}", below, below + step);
}

std::vector<std::int64_t> legal_tensor_sizes(const NetworkSpec& network) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t ways : divisors(network.heads))
    if (heads_split(network, ways) && (!has_plain_mlp(network) || network.ffn_hidden % ways == 0) &&
        network.experts.shared_ffn_hidden % ways == 0)
      sizes.push_back(ways);
  return sizes;
}

namespace {

// 64 stages x 8 chunks x 1024 micro-batches are half a million; ten times that takes seconds and says no more.
constexpr double most_actions = 4e6;

bool too_many_actions(std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) {
  return static_cast<double>(micro_batches) * static_cast<double>(stages) * static_cast<double>(chunks) > most_actions;
}

ScheduleSize schedule_size(std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) {
  return {static_cast<int>(stages), static_cast<int>(chunks), static_cast<int>(micro_batches), 0};
}

}  // namespace

bool runs_schedule(std::string_view schedule, std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches) {
  if (too_many_actions(stages, chunks, micro_batches)) return false;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.id == schedule) return check_size(kind, schedule_size(stages, chunks, micro_batches)).has_value();
  return false;
}

Expected<void> check_schedule(const ScheduledRun& run, const std::string& where, const std::string& batch_where) {
  const auto kind = find_schedule(run.schedule);
  if (!kind) return fail(where, kind.error().what, kind.error().hint);
  if (too_many_actions(run.stages, run.chunks, run.micro_batches))
    return fail(batch_where,
        fmt::format(
            "{} micro-batches on {} stages x {} chunks are absurdly many", run.micro_batches, run.stages, run.chunks),
        fmt::format("at most {:.0f} in all: a smaller global batch or a larger micro-batch", most_actions));
  const auto legal = check_size(**kind, schedule_size(run.stages, run.chunks, run.micro_batches));
  if (legal) return {};
  return fail(where, fmt::format("{}: {}", run.schedule, legal.error().what), legal.error().hint);
}

}  // namespace stepcast::run
