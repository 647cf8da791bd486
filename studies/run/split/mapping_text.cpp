#include "studies/run/split/mapping_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/large_value.h"
#include "sim/schedule/schedule_table.h"

namespace stepcast::run {

LARGE_VALUE_MEMBERS(Split)
namespace {

const char* context_alias(ContextKind kind) {
  constexpr const char* names[] = {"cp", "cp_gather", "ulysses"};
  return names[static_cast<std::size_t>(kind)];
}

std::int64_t axis_size(const Split& split, MeshAxis axis) {
  switch (axis) {
    case MeshAxis::tp: return split.tp;
    case MeshAxis::cp: return split.cp;
    case MeshAxis::dp: return split.dp;
    case MeshAxis::pp: return split.pp;
  }
  return 1;
}

/// A single stage takes no place between the others: it stands last, where every second mesh line can have it too.
MeshOrder order_of(const Split& split) {
  MeshOrder order = split.order;
  if (split.pp == 1)
    std::stable_partition(order.begin(), order.end(), [](MeshAxis axis) { return axis != MeshAxis::pp; });
  return order;
}

std::string mesh_line(const Split& split) {
  std::string line = "mesh";
  for (const MeshAxis axis : order_of(split)) {
    const bool copied = axis == MeshAxis::dp && split.replicas > 1;
    line += fmt::format(" {}:{}", to_text(axis), axis_size(split, axis) / (copied ? split.replicas : 1));
    if (copied) line += fmt::format(" rep:{}", split.replicas);
  }
  return line + "\n";
}

struct ExpertAxis {
  const char* name;
  std::int64_t size;
};
constexpr int expert_axis_count = 4, copies_axis = 3;  // the last one stands only where there are copies
using ExpertAxes = std::array<ExpertAxis, expert_axis_count>;

ExpertAxes expert_axes(const Split& split) {
  return {{{"etp", split.etp}, {"ep", split.ep}, {"edp", split.edp() / split.replicas}, {"erep", split.replicas}}};
}

/// How many of the experts' axes are faster than the stages; -1 where none of their cuts is the stages'. Size 1 counts
/// as faster: behind the last cut there is nothing left but stages.
int axes_before_stages(const ExpertAxes& axes, std::int64_t stride) {
  std::int64_t ranks = 1;
  int found = ranks == stride ? 0 : -1;
  for (int i = 0; i < expert_axis_count; ++i) {
    ranks *= axes[i].size;
    if (ranks == stride) found = i + 1;
  }
  return found;
}

std::string expert_mesh_line(const Split& split) {
  if (!split.experts) return {};
  const ExpertAxes axes = expert_axes(split);
  const int before = axes_before_stages(axes, stage_stride(split));
  std::string line = "mesh";
  for (int i = 0; i < expert_axis_count; ++i) {
    if (i == before) line += fmt::format(" pp:{}", split.pp);
    if (i != copies_axis || split.replicas > 1) line += fmt::format(" {}:{}", axes[i].name, axes[i].size);
  }
  if (before < 0 || before == expert_axis_count) line += fmt::format(" pp:{}", split.pp);
  return line + "\n";
}

/// In the order in which the aliases must stand: the first match wins, so sp takes what tp left and cp what both left.
std::vector<std::string> aliases_of(const Split& split) {
  std::vector<std::string> names = {"tp"};
  if (split.vocabulary) names.emplace_back("vocab");
  if (split.sequence) names.emplace_back("sp");
  if (split.cp > 1) names.emplace_back(context_alias(split.context));
  if (split.replicas == 1) names.emplace_back("dp");
  if (split.experts) {
    if (split.replicas == 1) names.emplace_back("ep");
    names.emplace_back("etp");
  }
  static const std::vector<std::string> zero = {"", "zero1", "zero2", "fsdp"};
  if (split.zero > 0) names.push_back(zero[static_cast<std::size_t>(split.zero)]);
  return names;
}

/// What a mixer does along positions is split by its heads: all-to-all before and behind; a pooled position is on all
/// ranks. Stands before the aliases.
std::string mixer_lines(const Split& split) {
  std::string lines;
  if (split.copies_groups) lines += "par u*m on tp\n";
  if (split.cp > 1)
    for (const std::string& part : split.mixer_along)
      lines += fmt::format("at mixer.{}: par {} on cp\n", part, split.mixer_heads);
  if (split.cp > 1 && split.pooled) lines += "at pooled: par none on cp\n";
  if (split.sequence && split.pooled) lines += "at pooled: par none on tp\n";
  return lines;
}

/// In place of the aliases dp and ep, whose axis is but a part of the data ranks here.
std::string replica_lines(const Split& split) {
  if (split.replicas == 1) return {};
  std::string lines = "par b on dp*rep\n";
  if (split.experts) lines += "at expert: par e on ep\nat expert: par c on edp*erep\n";
  return lines;
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
  // What a mixer's backward makes again by itself, whatever else is kept.
  std::string own;
  for (const std::string& part : split.mixer_recompute) own += fmt::format("recompute mixer.{}\n", part);
  if (split.recompute.kind == Recompute::Kind::none) return own;
  // The attention output is kept all the same: the output projection's weight gradient reads it.
  if (split.recompute.kind == Recompute::Kind::selective)
    return own + (split.attention ? "recompute attn.core\nsave O at use\n" : "");
  const std::string layers = split.recompute.layers > 0 ? fmt::format(" layers {}", split.recompute.layers) : "";
  const std::string attention = split.attention ? ", attn" : "", mlp = split.plain_mlp ? ", mlp" : "";
  if (split.recompute.layers == 0) own.clear();  // all layers are run again, these parts among them
  return own + fmt::format("recompute norm{}{}, residual{}{}{}{}\n", attention, split.mixer ? ", mixer" : "", mlp,
                   split.experts ? ", router, dispatch, expert, shared, combine" : "",
                   split.recompute_whole ? " whole" : "", layers);
}

/// What a stage keeps gathered for backward, and how its stream goes to the next.
std::string moves_lines(const Split& split) {
  std::string lines;
  if (!split.kept_gathers.empty()) lines += fmt::format("save {} at use\n", fmt::join(split.kept_gathers, ", "));
  if (split.scatter == Scatter::stated) lines += fmt::format("{}\n", scatter_statement);
  return lines;
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

std::int64_t stage_stride(const Split& split) {
  std::int64_t stride = 1;
  for (const MeshAxis axis : order_of(split)) {
    if (axis == MeshAxis::pp) break;
    stride *= axis_size(split, axis);
  }
  return stride;
}

bool experts_meet_stages(const Split& split) {
  return !split.experts || axes_before_stages(expert_axes(split), stage_stride(split)) >= 0;
}

std::size_t MeshCuts::first_crossing() const {
  for (std::size_t i = 0; i + 1 < count; ++i)
    if (at[i + 1] % at[i] != 0) return i;
  return count;
}

MeshCuts mesh_cuts(const Split& split) {
  MeshCuts cuts;
  const auto add = [&](std::int64_t ranks) { cuts.at[cuts.count++] = ranks; };
  std::int64_t ranks = 1;
  for (const MeshAxis axis : order_of(split)) {
    if (axis == MeshAxis::dp && split.replicas > 1) add(ranks * (split.dp / split.replicas));
    add(ranks *= axis_size(split, axis));
  }
  if (split.experts) {
    const ExpertAxes axes = expert_axes(split);
    const int before = axes_before_stages(axes, stage_stride(split));
    ranks = 1;
    for (int i = 0; i < expert_axis_count; ++i) add(ranks *= axes[i].size * (i == before ? split.pp : 1));
  }
  std::sort(cuts.at.begin(), cuts.at.begin() + static_cast<std::ptrdiff_t>(cuts.count));
  return cuts;
}

std::string mapping_text(const Split& split) {
  return mesh_line(split) + expert_mesh_line(split) + expert_home_line(split) + mixer_lines(split) +
         fmt::format("use {}\n", fmt::join(aliases_of(split), ", ")) + replica_lines(split) + stage_line(split) +
         recompute_line(split) + moves_lines(split);
}

}  // namespace stepcast::run
