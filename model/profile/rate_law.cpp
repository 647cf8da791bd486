// The law across nodes, and which law of a profile speaks of what.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "model/profile/profile.h"

namespace stepcast {

Seconds scale_out_time(
    const ScaleOutLaw& law, Bytes received, std::int64_t nodes, double members_per_node, BytesPerSecond port) {
  assert(nodes >= 2 && members_per_node > 0 && port.value() > 0 && law.efficiency > 0);
  const double n = static_cast<double>(nodes);
  const Seconds latency = law.base + law.per_doubling * std::log2(n) + law.per_node * n;
  const Seconds transfer = received / (port * (members_per_node * law.efficiency));
  return latency + transfer * ramp_of(law, received / members_per_node);
}

const RooflineLaw* find_gemm(const Profile& profile, Precision precision, bool block_scaled) {
  for (const RooflineLaw& law : profile.gemm)
    if (law.precision == precision && law.block_scaled == block_scaled) return &law;
  return nullptr;
}

const ScaleOutLaw* find_scale_out(const Profile& profile, const Level& level) {
  for (const ScaleOutLaw& law : profile.scale_out)
    if (law.fabric == level.fabric && law.transport == level.transport) return &law;
  return nullptr;
}

double ramp_of(const ScaleOutLaw& law, Bytes part) {
  return law.half.value() <= 0 || part.value() <= 0 ? 1 : 1 + std::pow(law.half / part, law.exponent);
}

BytesPerSecond rate_per_gpu(const ScaleOutLaw& law, const Level& level) {
  return law.cap.value() > 0 ? std::min(law.cap, level.bandwidth_per_gpu) : level.bandwidth_per_gpu;
}

// Fitted on nccl-tests tables of 2 to 12 nodes from 1 MiB up (docs/profiles.md lists them), the law of a transport on
// its own: rdma on 12 tables of V100, A100, H100, H200 and B200, efa on p4d (2) and p5, tcpx on A3 High (2), fastrak on
// one of A3 Mega. The spread is measured over forecast with the table left out of the fit, the 10th and 90th percentile
// of its points; mean errors are 12.7 % for rdma, 15.4 % for efa, 30.7 % for tcpx. That of rdma counts four further
// tables as well, each as much as one of the twelve, which no such law explains: A100 on 16 nodes and on 4 with SHARP,
// B200 with Google's gIB, V100 over RoCE take 1.2 to 4 times as long. With one table nothing could be left
// out: the spread of fastrak is a guess. cxi is assumed; the one table of Slingshot at hand (NREL's Kestrel, whose
// adapters are not known) takes 1.8 to 12 times as long, and the spread reaches 6. sockets: runs on Perlmutter
// (cornell-sysphotonics/ ccl-bench) whose gradients leave a node at 3 to 4 GB/s, by four communicators of a thread
// each; its other constants and its spread are guesses. Measured steps behind the fits of profiles used rdma alone.
ScaleOutLaw usual_scale_out(FabricKind fabric, Transport transport) {
  struct Row {
    Transport transport;
    double efficiency, base_us, half_kb, cap_gb_s;
    Spread spread;
  };
  static constexpr Row rows[] = {
      {Transport::rdma, 0.955, 22.4, 177, 0, {0.87, 2.3}},
      {Transport::efa, 0.71, 12.9, 2341, 0, {0.74, 1.11}},
      {Transport::fastrak, 0.946, 66.7, 158, 0, {0.7, 1.6}},
      {Transport::tcpx, 0.6, 729, 76, 0, {0.67, 1.80}},
      {Transport::cxi, 0.9, 66.7, 177, 0, {0.7, 6}},
      {Transport::sockets, 0.955, 60, 177, 0.93, {0.5, 2.0}},
  };
  constexpr double per_doubling = 27.4e-6, exponent = 0.609;
  const Row& row = *std::ranges::find(rows, transport, &Row::transport);
  const Source source = transport == Transport::rdma ? Source::transferred : Source::assumed;
  return {fabric, row.efficiency, Seconds(row.base_us * 1e-6), Seconds(per_doubling), Seconds(0), source, row.spread,
      transport, Bytes(row.half_kb * 1e3), exponent, 1, BytesPerSecond(row.cap_gb_s * 1e9)};
}

}  // namespace stepcast
