// stepcast sweep over machines of several kinds: legal splits are forecast with their layers or micro-batches dealt by
// speed, but for those of which no deal can be among the best.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/mixed/mixed_run.h"
#include "studies/sweep/space/space.h"

namespace stepcast::mixed {

struct MixedRow {
  std::uint64_t index = 0;  ///< in the space
  std::string split;        ///< "tp 8, cp 1, pp 4, ..."
  std::string command;      ///< of predict, that says the same
  Seconds step, p10, p90;
  double mfu = 0;
  bool by_stage = true;
  std::vector<std::int64_t> dealt;  ///< by kind: layers of all its stages, or the most micro-batches of a replica
};

struct MixedSweep {
  std::vector<MixedRow> best;  ///< the fastest first
  std::uint64_t configurations = 0;
  std::uint64_t legal = 0;  ///< as many as are in `best` and in the counts after `dismissed` together
  std::map<std::string, std::uint64_t> dismissed;  ///< by reason; those that are not legal, or that predict refuses
  std::uint64_t does_not_fit = 0, slower = 0;      ///< forecast; slower than those in `best`
  std::uint64_t given_up = 0;                      ///< no deal of their layers can be among the best
  std::uint64_t refused = 0;                       ///< by predict; the reasons are in `dismissed`, too
};

/// More legal splits than this are refused: a forecast that deals layers takes up to half a second.
constexpr std::uint64_t most_mixed_splits = 5'000;

/// `asked`: without a request. The same for any number of threads. Errors: those of the space; too many legal splits.
Expected<MixedSweep> sweep_kinds(
    const sweep::Space& space, const Arguments& arguments, const MixedRequest& asked, int threads);

std::string mixed_sweep_text(const MixedSweep& swept, const MixedRequest& asked, const Console& console);
std::string mixed_sweep_json(const MixedSweep& swept, const MixedRequest& asked);

/// `stepcast sweep` on one machine or on several kinds.
Expected<void> sweep_command(const Arguments& arguments, Console& console);

}  // namespace stepcast::mixed
