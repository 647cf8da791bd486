#include "studies/run/split/split.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/error_context.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::run {

namespace {

/// Does it hold of the layers of every shape?
template <class Holds> bool in_all_shapes(const NetworkSpec& network, const Holds& holds) {
  for (std::size_t shape = 0; shape <= network.shapes.size(); ++shape)
    if (!holds(shape == 0 ? network : shaped(network, static_cast<std::uint8_t>(shape)))) return false;
  return true;
}

}  // namespace

bool heads_split(const NetworkSpec& network, std::int64_t ways) {
  if (!has_attention(network)) return true;
  return in_all_shapes(network, [&](const NetworkSpec& own) {
    const std::int64_t over_groups = std::gcd(ways, own.kv_heads);
    return (own.heads / own.kv_heads) % (ways / over_groups) == 0;
  });
}

bool mixer_splits(const NetworkSpec& network, std::int64_t ways, bool copies) {
  return std::ranges::all_of(mixers(network), [&](const Mixer& mixer) {
    const std::int64_t groups = mixer.extent("u"), heads = mixer.extent("m");
    return groups % ways == 0 || (copies && groups == 1 && heads > 0 && heads % ways == 0);
  });
}

bool width_splits(const NetworkSpec& network, std::int64_t ways) {
  return !has_plain_mlp(network) ||
         in_all_shapes(network, [&](const NetworkSpec& own) { return own.ffn_hidden % ways == 0; });
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

/// Rows that are embedded and never answered are not padded.
static bool embedded_rows_split(const NetworkSpec& network, std::int64_t ways) {
  return network.embedded_only == 0 || (network.vocab + network.embedded_only) % ways == 0;
}

std::vector<std::int64_t> legal_tensor_sizes(const NetworkSpec& network, bool copies) {
  std::vector<std::int64_t> sizes;
  const std::int64_t heads_of_groups = copies ? std::max<std::int64_t>(1, network.mixer.extent("m")) : 1;
  const std::int64_t shared = has_attention(network) ? network.heads
                              : network.mixer        ? network.mixer.extent("u") * heads_of_groups
                                                     : network.hidden;
  for (const std::int64_t ways : divisors(shared))
    if (heads_split(network, ways) && mixer_splits(network, ways, copies) && width_splits(network, ways) &&
        network.experts.shared_ffn_hidden % ways == 0 && embedded_rows_split(network, ways))
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
  if (!kind) return tl::unexpected(error_at(where, kind.error()));
  if (too_many_actions(run.stages, run.chunks, run.micro_batches))
    return fail(batch_where,
        fmt::format(
            "{} micro-batches on {} stages x {} chunks are absurdly many", run.micro_batches, run.stages, run.chunks),
        fmt::format("at most {:.0f} in all: a smaller global batch or a larger micro-batch", most_actions));
  const auto legal = check_size(**kind, schedule_size(run.stages, run.chunks, run.micro_batches));
  if (legal) return {};
  return tl::unexpected(error_at(where, error_about(run.schedule, legal.error())));
}

}  // namespace stepcast::run
