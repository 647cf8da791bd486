#include "studies/mapping_text.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/schedule/order.h"

namespace stepcast {
namespace {

/// In the order in which the aliases must stand: the first match wins, so sp takes what tp left and cp what both left.
std::vector<std::string> aliases_of(const Split& split) {
  std::vector<std::string> names = {"tp"};
  if (split.vocabulary) names.emplace_back("vocab");
  if (split.sequence) names.emplace_back("sp");
  if (split.cp > 1) names.emplace_back("cp");
  names.emplace_back("dp");
  if (split.experts) {
    names.emplace_back("ep");
    names.emplace_back("etp");
  }
  static const std::vector<std::string> zero = {"", "zero1", "zero2", "fsdp"};
  if (split.zero > 0) names.push_back(zero[static_cast<std::size_t>(split.zero)]);
  return names;
}

/// Chunks are layers dealt out in turn: chunk c of stage s holds the layers of virtual stage c*pp + s. Schedules with
/// chunks of their own run there and back. A list has an entry per virtual stage and is dealt out alike.
std::string stage_line(const Split& split) {
  const auto kind = find_schedule(split.schedule);
  const bool folded = kind && (*kind)->own_chunks == 2;
  const bool even = split.layers.empty();
  std::string layout = folded ? " zigzag" : even && split.chunks > 1 ? fmt::format(" cyclic({})", split.chunks) : "";
  if (!even) layout += fmt::format(" list [{}]", fmt::join(split.layers, ","));
  return fmt::format("par layer on pp{} sched {} for mb:{}\n", layout, split.schedule, split.micro_batches);
}

std::string recompute_line(const Split& split) {
  if (split.recompute.kind == Recompute::Kind::none) return {};
  // The attention output is kept all the same: the output projection's weight gradient reads it.
  if (split.recompute.kind == Recompute::Kind::selective) return "recompute attn.core\nsave O at use\n";
  const std::string layers = split.recompute.layers > 0 ? fmt::format(" layers {}", split.recompute.layers) : "";
  return fmt::format("recompute norm, attn, residual, mlp{}{}{}\n", split.experts ? ", router, dispatch, expert, shared, combine" : "",
                     split.recompute_whole ? " whole" : "", layers);
}

/// Experts live on axes of their own: what is kept in shards over the data ranks is kept over theirs (rule 24).
std::string expert_home_line(const Split& split) {
  static const std::vector<std::string> kept = {"", "optimizer", "optimizer", "weights"};
  if (!split.experts || split.zero == 0) return {};
  std::string line = fmt::format("at expert: home {}: * on edp\n", kept[static_cast<std::size_t>(split.zero)]);
  if (split.zero == 2) line += "at expert: home grads: * on edp\n";
  return line;
}

}  // namespace

std::string mapping_text(const Split& split) {
  std::string meshes = fmt::format("mesh tp:{} cp:{} dp:{} pp:{}\n", split.tp, split.cp, split.dp, split.pp);
  if (split.experts) meshes += fmt::format("mesh etp:{} ep:{} edp:{} pp:{}\n", split.etp, split.ep, split.edp(), split.pp);
  return meshes + expert_home_line(split) +
         fmt::format("use {}\n", fmt::join(aliases_of(split), ", ")) + stage_line(split) + recompute_line(split);
}

}  // namespace stepcast
