// The network roofline: what compute could reach if one collective were the only limit. x is the FLOPs that a rank
// executes in the step per byte that this collective brings it over the link, y these FLOPs over the time that the
// collective takes in the step; a link's roof is y = x * bandwidth, and with the time to start a call it bends: y = 1 /
// (calls * latency / FLOPs + 1 / (x * bandwidth)). A collective below the compute roof stands in the way unless it is
// hidden behind compute. The link is the outermost one that the group crosses: what a rank receives comes over it as a
// whole, except that a ring enters a node of several members once for all. Scaling book (jax-ml/scaling-book 0819a7d,
// roofline.md); Harvard ML systems book, network roofline.
#pragma once

#include <string>
#include <vector>

#include "studies/run/forecast.h"
#include "studies/roofline/figures/roofs.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

/// A slope of the plane, per GPU and direction.
struct LinkRoof {
  std::string link;  ///< name of the machine's level: "node", "cluster"; "host" = host and GPU
  std::string name;  ///< "node: nvswitch", "cluster: infiniband", "host: PCIe"
  RoofBasis basis = RoofBasis::datasheet;
  BytesPerSecond rate;
  std::string from;  ///< "450 GB/s per GPU and direction", "all_gather, 8 GPUs, NCCL 2.27.3"
};

struct LinkPoint {
  std::string name, kind, axis, link;  ///< "norm1.y all_gather", "all_gather", "tp", "node"
  Pass pass = Pass::forward;
  std::int64_t group_size = 1;
  int stage = 0;
  double calls = 0;           ///< per step, on one rank of `stage`
  Bytes bytes;                ///< received, one call (the mean, where calls differ)
  Bytes over_link;            ///< of them over the link, per GPU
  Seconds time, exposed;      ///< summed over the step
  Seconds latency;            ///< of one call of (almost) no bytes, by the same law
  double flops_per_byte = 0;  ///< x
  FlopsPerSecond rate;        ///< y; may lie above the compute roof, and then the collective is not what limits
  BytesPerSecond bus;         ///< bytes over the link, over time
  double share_of_roof = 0;   ///< bus over the link's datasheet rate
  bool limits = false;        ///< lies below the compute roof: alone it would slow the step if nothing hid it
  std::string bound;          ///< "latency" where that is more than half of a call, else "bandwidth"
  Source source = Source::assumed;
  std::string law, because;
  std::string outside;         ///< of the frame: "3.1e+08 FLOP/B lies right of the frame"; "" = inside
  std::string warning;         ///< faster than the link's datasheet rate: by how much, and what to check; "" = not
  std::string faster_because;  ///< the last part of the warning, which collectives of a link may share
  [[nodiscard]] double exposed_share() const { return time.value() > 0 ? exposed / time : 0; }
};

struct NetworkRoofline {
  std::vector<LinkRoof> roofs;  ///< by link, innermost first, the datasheet's first
  /// longest first; collectives of the step report and sends between stages, equal ones in one
  std::vector<LinkPoint> points;
  Frame frame;                     ///< from the machine alone: its links' datasheet rates and the compute peaks
  FlopsPerSecond peak;             ///< datasheet, of the plan's precision
  std::vector<std::string> notes;  ///< what all collectives of a link take together; of which link nothing was measured
};

/// x from a decade below the lowest ridge (a compute peak over a link's rate) to three above the highest, y from one
/// below the lowest peak to three above the highest: x is of the whole step and of one collective, so that those of
/// real jobs lie right of the ridges, tensor-parallel ones at 1e4 to 1e6, data-parallel ones up to 1e7, and above the
/// compute roof by as much as they are short.
Frame link_frame(const Machine& machine);

/// The datasheet's rate of every level and of the host link, and of those that carry some of `points` what the profile
/// has for the kind that brings most bytes. `notes` says of which it has nothing.
std::vector<LinkRoof> link_roofs(const Scenario& scenario, const Prediction& prediction,
    const std::vector<LinkPoint>& points, std::vector<std::string>& notes);

NetworkRoofline network_roofline(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs);

/// y of a link's bent roof at x, for `calls` of `latency` beside `flops` of compute.
FlopsPerSecond bent_roof(double flops_per_byte, BytesPerSecond rate, double calls, Seconds latency, Flops flops);

}  // namespace stepcast::roofline
