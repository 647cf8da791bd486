// Roofs of the network's plane: what links could carry by datasheet, and what was measured on them.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/profile/collective_law.h"
#include "model/base/quantity_text.h"
#include "studies/roofline/figures/link_groups.h"
#include "studies/roofline/figures/links.h"

namespace stepcast::roofline {
namespace {

constexpr const char* link_fabric_words[] = {"nvswitch", "nvlink mesh", "pcie", "infiniband", "ethernet"};

/// PCIe 6.0 with 16 lanes of 64 GT/s carries 121 to 128 GB/s per direction (PCI-SIG, PCI Express 6.0); what is faster
/// between host and GPU is a link between chips (NVLink-C2C).
constexpr BytesPerSecond fastest_pcie{128e9};

const char* host_link_name(const Machine& machine) {
  return machine.host_link > fastest_pcie ? "host: C2C" : "host: PCIe";
}

std::string level_link_name(const Level& level) {
  return fmt::format("{}: {}", level.name, link_fabric_words[static_cast<int>(level.fabric)]);
}

/// A law's rate is as good as what the law rests on; timed points are measured, in the profile's regime.
RoofBasis link_basis(Source source, const Profile& profile) {
  switch (source) {
    case Source::measured: return profile.regime == "sustained" ? RoofBasis::sustained : RoofBasis::burst;
    case Source::fitted:
    case Source::transferred: return RoofBasis::fitted;
    case Source::datasheet:
    case Source::assumed: break;
  }
  return RoofBasis::assumed;
}

/// The fastest that was timed, else what the curve tends to.
BytesPerSecond best_link_rate(const CollectiveCurve& curve) {
  BytesPerSecond best;
  for (const CollectiveCurve::Point& point : curve.points) best = std::max(best, point.received / point.time);
  return best.value() > 0 ? best : curve.bandwidth;
}

CollectiveKind link_kind(const std::string& name) {
  using enum CollectiveKind;
  for (const CollectiveKind kind : {all_gather, reduce_scatter, all_reduce, all_to_all})
    if (name == to_text(kind)) return kind;
  return send_recv;
}

/// Of those on `link` the point of the kind that brings most bytes, and of this kind the one that does; nullptr:
/// nothing crosses.
const LinkPoint* heaviest_on(const std::vector<LinkPoint>& points, const std::string& link) {
  const auto brought = [](const LinkPoint& point) { return point.over_link.value() * point.calls; };
  std::map<std::string, double> by_kind;
  for (const LinkPoint& point : points)
    if (point.link == link) by_kind[point.kind] += brought(point);
  const LinkPoint* heaviest = nullptr;
  for (const LinkPoint& point : points) {
    if (point.link != link) continue;
    if (!heaviest || by_kind[point.kind] > by_kind[heaviest->kind] ||
        (point.kind == heaviest->kind && brought(point) > brought(*heaviest)))
      heaviest = &point;
  }
  return heaviest;
}

/// The law that prices a point's kind and group, asked for its own bytes.
CollectiveTime link_law(const Scenario& scenario, const Prediction& prediction, int level, const LinkPoint& point) {
  const Machine& machine = scenario.machine.row;
  const std::int64_t ranks = prediction.program.ranks;
  const std::optional<Group> group = link_group(prediction, point.axis, point.group_size);
  GroupPlacement placement{.ranks = point.group_size};
  std::array<std::int64_t, 64> below{};
  if (level > 0) {
    for (int i = 0; i < level; ++i) below[i] = group ? members_inside(*group, machine.levels[i].gpus, ranks) : 1;
    placement.nodes = (point.group_size + below[0] - 1) / below[0];
    placement.below = {below.data(), static_cast<std::size_t>(level)};
  }
  return collective_time(machine, scenario.profile.row, link_kind(point.kind), point.bytes, placement);
}

std::string curve_from(const CollectiveCurve& curve, const Profile& profile) {
  std::string text = fmt::format("{}, {} GPUs", to_text(curve.kind), curve.ranks);
  if (curve.nodes > 1) text += fmt::format(" on {} nodes", curve.nodes);
  if (!profile.conditions.nccl.empty()) text += fmt::format(", NCCL {}", profile.conditions.nccl);
  return text;
}

LinkRoof curve_roof(const Scenario& scenario, const Prediction& prediction, int level, const LinkPoint& point,
    const CollectiveTime& law) {
  const Machine& machine = scenario.machine.row;
  const Profile& profile = scenario.profile.row;
  const std::optional<Group> group = link_group(prediction, point.axis, point.group_size);
  const double share = share_over_link(machine, level, point.kind, group, prediction.program.ranks);
  const Level& at = machine.levels[level];
  const BytesPerSecond rate = best_link_rate(*law.curve) * share;
  return {at.name, level_link_name(at), link_basis(law.source, profile), rate, curve_from(*law.curve, profile)};
}

/// What the profile knows of a level; its rate is 0 where that is nothing.
LinkRoof known_roof(const Scenario& scenario, const Prediction& prediction, int level, const LinkPoint& point) {
  const Level& at = scenario.machine.row.levels[level];
  const CollectiveTime law = link_law(scenario, prediction, level, point);
  // Across instances the law may name the curve of the fabric inside one, which says nothing of this level.
  if (law.curve && (level == 0 || law.curve->nodes > 1)) return curve_roof(scenario, prediction, level, point, law);
  LinkRoof roof{at.name, level_link_name(at), RoofBasis::assumed, {}, ""};
  if (level == 0) return roof;
  const ScaleOutLaw ports = scale_out_law(scenario.profile.row, at);
  roof.basis = link_basis(ports.source, scenario.profile.row);
  roof.rate = ports.efficiency * at.bandwidth_per_gpu;
  roof.from = fmt::format("{:.3g} of the ports' rate, {}", ports.efficiency, to_text(ports.source));
  return roof;
}

void add_host_roofs(const Scenario& scenario, std::vector<LinkRoof>& roofs) {
  const Machine& machine = scenario.machine.row;
  if (machine.host_link.value() <= 0) return;
  const std::string name = host_link_name(machine);
  roofs.push_back({"host", name, RoofBasis::datasheet, machine.host_link,
      format_rate(machine.host_link) + " per GPU and direction"});
  for (const Roof& roof : scenario.profile.row.roofs) {
    if (roof.of != to_text(TransferKind::host_to_device)) continue;
    const RoofBasis basis = roof.regime == "sustained" ? RoofBasis::sustained : RoofBasis::burst;
    roofs.push_back({"host", name, basis, BytesPerSecond(roof.rate), "copies from pinned host memory"});
  }
}

template <typename Use> void visit_frame_rates(const Machine& machine, Use use) {
  for (const Level& level : machine.levels)
    if (level.bandwidth_per_gpu.value() > 0) use(level.bandwidth_per_gpu.value());
  if (machine.host_link.value() > 0) use(machine.host_link.value());
}

}  // namespace

Frame link_frame(const Machine& machine) {
  double slowest = INFINITY, fastest = 0, lowest = INFINITY, highest = 0;
  visit_frame_rates(
      machine, [&](double rate) { slowest = std::min(slowest, rate), fastest = std::max(fastest, rate); });
  for (const FlopsPerSecond& peak : machine.gpu.peak)
    if (peak.value() > 0) lowest = std::min(lowest, peak.value()), highest = std::max(highest, peak.value());
  if (fastest == 0 || highest == 0) return {};
  const auto down = [](double value) { return static_cast<int>(std::floor(std::log10(value))); };
  const auto up = [](double value) { return static_cast<int>(std::ceil(std::log10(value))); };
  return {down(lowest / fastest) - 1, up(highest / slowest) + 3, down(lowest) - 1, up(highest) + 3};
}

std::vector<LinkRoof> link_roofs(const Scenario& scenario, const Prediction& prediction,
    const std::vector<LinkPoint>& points, std::vector<std::string>& notes) {
  std::vector<LinkRoof> roofs;
  const std::vector<Level>& levels = scenario.machine.row.levels;
  for (int i = 0; i < static_cast<int>(levels.size()); ++i) {
    const Level& level = levels[i];
    roofs.push_back({level.name, level_link_name(level), RoofBasis::datasheet, level.bandwidth_per_gpu,
        format_rate(level.bandwidth_per_gpu) + " per GPU and direction"});
    const LinkPoint* heaviest = heaviest_on(points, level.name);
    if (!heaviest) continue;
    LinkRoof known = known_roof(scenario, prediction, i, *heaviest);
    if (known.rate.value() > 0) roofs.push_back(std::move(known));
    else
      notes.push_back(fmt::format(
          "no {} was timed inside the {}: its time is that of {}", heaviest->kind, level.name, heaviest->law));
  }
  add_host_roofs(scenario, roofs);
  return roofs;
}

}  // namespace stepcast::roofline
