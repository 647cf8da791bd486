// From the numbers somebody asked for to a split that works, or an error with the numbers that would.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/network/network.h"
#include "studies/run/field_id.h"
#include "studies/run/split/mapping_text.h"

namespace stepcast::run {

/// Where a number came from ("--tp", "run.json:/tp", "--tp (default)"), so that errors point there.
using SplitOrigin = std::function<std::string(FieldId)>;

struct SplitSize {
  std::int64_t gpus = 1, micro_batch = 1, global_batch = 1, sequence = 1;
  std::int64_t max_gpus = INT64_MAX;  ///< of the machine
};

/// One thing that can be wrong with a split. Rules stand in an order in which each may rely on those before it.
struct SplitRule {
  std::string_view id;  ///< in a few words, for counting: "GPUs do not divide by tp x cp x pp"
  /// what its answer follows from, beside what one sweep has but once (batch, sequence, network, stack)
  FieldSet reads;
  /// The bare arithmetic; takes no memory where the rule holds.
  bool (*holds)(const Split& split, const SplitSize& size, const NetworkSpec& network);
  /// Where it does not hold: the numbers, and the nearest that would.
  Error (*explain)(const Split& split, const SplitSize& size, const NetworkSpec& network, const SplitOrigin& origin);
};
/// Every rule that the flags can break: heads and widths over tp, layers over stages and chunks, GPUs / (tp cp pp),
/// experts, sequence over tp and cp, batch over micro-batch x dp, the schedule's own rule.
std::span<const SplitRule> split_rules();
/// The first rule that is broken; null when all hold.
const SplitRule* broken_rule(const Split& split, const SplitSize& size, const NetworkSpec& network);
/// The same with the error. The hint lists the nearest values that work.
Expected<void> check_split(
    const Split& split, const SplitSize& size, const NetworkSpec& network, const SplitOrigin& origin);

/// A schedule with its sizes.
struct ScheduledRun {
  std::string schedule;
  std::int64_t stages = 1, chunks = 1, micro_batches = 1;
};
/// The schedule's own rule, and a bound on the number of actions.
Expected<void> check_schedule(const ScheduledRun& run, const std::string& where, const std::string& batch_where);
/// The same without a word where it does not hold; names of schedules are checked before.
bool runs_schedule(std::string_view schedule, std::int64_t stages, std::int64_t chunks, std::int64_t micro_batches);

/// Do attention heads divide over `ways`? docs/design.md, rule 4, for `par g*r`: the kv groups take gcd(ways, groups),
/// the queries per group the rest.
bool heads_split(const NetworkSpec& network, std::int64_t ways);
/// Do the groups of heads that a mixer shares out divide over `ways`? True where the network has no mixer. `copies`: or
/// there is one group, of which each rank has a copy beside a part of its heads.
bool mixer_splits(const NetworkSpec& network, std::int64_t ways, bool copies = false);
/// Does the width of the plain MLP divide over `ways`? True where no layer has one.
bool width_splits(const NetworkSpec& network, std::int64_t ways);

/// Tensor-parallel sizes that this network's heads and MLP width allow, ascending.
std::vector<std::int64_t> legal_tensor_sizes(const NetworkSpec& network, bool copies = false);

std::vector<std::int64_t> divisors(std::int64_t number);

/// The values nearest to `wanted`, ascending, at most eight: "1, 2, 4, 8".
std::string nearest_values(const std::vector<std::int64_t>& legal, std::int64_t wanted);

/// "96 or 128": the multiples of `step` around `wanted`, from `step` on and up to `most`.
std::string nearest_multiples(std::int64_t wanted, std::int64_t step, std::int64_t most = INT64_MAX);

}  // namespace stepcast::run
