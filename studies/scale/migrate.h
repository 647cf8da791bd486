// When to change how a run is sharded: at each size of the cluster or of the network the ways are held side by side,
// from plain data parallelism to pipeline stages, with what binds each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "studies/cli/console.h"
#include "studies/run/request.h"
#include "studies/scale/fit.h"
#include "studies/whatif/sensitivity.h"

namespace stepcast::scale {

/// A way to shard, in the order in which runs that grow go through them.
struct Rung {
  std::string_view id, name;
  std::string_view zero;                ///< stages of sharded states that are tried: "0", "13"
  bool replicated = false;              ///< shards inside a node, copies across nodes
  bool tensor = false, stages = false;  ///< of more than one rank
};
std::span<const Rung> rungs();

/// Of what the rung takes: not enough of it is why it cannot run, or most of the step that is not compute.
enum class Binds : std::uint8_t { compute, memory, links, bubble, optimizer, batch, split };
const char* to_text(Binds binds);

/// The best plan of a rung at a size.
struct RungRun {
  std::optional<Outcome> outcome;  ///< absent: it cannot run
  std::string plan;                ///< "tp 8, zero 1, recompute full"
  double mfu = 0;
  Binds binds = Binds::split;
  std::string why;      ///< of what binds, with numbers
  bool offered = true;  ///< false: no way to shard is of this rung on so many GPUs
  [[nodiscard]] bool works() const { return outcome && outcome->fits; }
};

struct SizeOnPath {
  std::string network;
  std::int64_t gpus = 1, global_batch = 1;
  std::vector<RungRun> rungs;  ///< in the order of rungs()
  int best = -1;               ///< the fastest that works; of those within 2 % the first
};

/// From a size on another rung is the fastest; a network's first size is held against that of the network before it.
struct TurnOfPath {
  std::size_t size = 0;  ///< index
  int from = -1, to = -1;
  double faster = 1;  ///< the old rung's step over the new one's; 0: the old one cannot run there
};

struct Migration {
  Scaling scaling = Scaling::weak;
  std::vector<SizeOnPath> sizes;  ///< by network, then GPUs
  std::vector<TurnOfPath> turns;
};

/// Each network of `networks` (the request's own where there are none) at each count of GPUs. Tensor parallelism stays
/// in a node; stages are powers of two up to 64; recomputation is the request's, or full where that does not fit. Weak
/// scaling: the request's batch is that of the first count. `request` names its machine. Errors: the request says how
/// it is sharded; a network that nothing runs.
Expected<Migration> migration(const Request& request, const std::vector<std::string>& networks,
    const std::vector<std::int64_t>& gpus, Scaling scaling);

/// The first way, then each change of it with its reason, a sentence each.
std::vector<std::string> path_lines(const Migration& path);
std::string migration_text(const Migration& path, const Request& request, const Console& console);
std::string migration_json(const Migration& path);

}  // namespace stepcast::scale
