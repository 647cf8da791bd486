#include "calibrate/measure/plan/expected_time.h"

#include <algorithm>

namespace stepcast::calibrate {
namespace {

// Shares of the dense peak that large products reach, by Precision. bf16 on A100, H100, H200, RTX PRO 6000: 78-84 %, on
// B200 67 %, L40S 61 %; fp8 on H100 60 %, B200 51 %; nvfp4 on B200 37 %, B300 27 % (medians of products above 1e11 in
// the tables of ai-dynamo/aiconfigurator 095f58a). fp32 and tf32 are assumed to do as bf16 does.
constexpr double product_share[] = {0.75, 0.75, 0.75, 0.75, 0.6, 0.5, 0.3};
// Streams: 85-89 % of the memory bandwidth (same tables); one-pass kernels 77-92 % (Lee et al., NeuSight, ASPLOS 2025,
// element-wise measurements of sitar-lab/NeuSight 6945927).
constexpr double stream_share = 0.85, one_pass_share = 0.8;
// In a graph the smallest product takes 1.7-2.5 us (aiconfigurator's tables); with its cold start 3.
constexpr Seconds kernel_start{3e-6};
// A fused attention kernel without the newest chips' own instructions: FlashAttention-2 reaches 0.3 of H100's peak
// forward and backward together (Dao-AILab/flash-attention 0251105, H100 benchmark). Backward does five products for
// two.
constexpr double attention_share = 0.3, attention_backward_share = 0.25, backward_over_forward = 2.5;
// PCIe 4.0 x16 carries 31.5 GB/s (PCI-SIG, 16 GT/s per lane); pinned copies get about 80 % of it.
constexpr BytesPerSecond host_copy_rate{25e9};
constexpr Seconds copy_start{10e-6};
// A launch into a stream takes the host 2-5 us.
constexpr Seconds one_launch{5e-6};
// Ring collectives: 80 % of the links, 20 us to start.
constexpr double link_share = 0.8;
constexpr Seconds collective_start{20e-6};

FlopsPerSecond product_rate(const Gpu& gpu, Precision precision) {
  const FlopsPerSecond own = gpu.peak[static_cast<int>(precision)];
  if (own.value() > 0) return own * product_share[static_cast<int>(precision)];
  // What the chip has no units for runs on its slowest ones.
  FlopsPerSecond slowest;
  for (const FlopsPerSecond peak : gpu.peak)
    if (peak.value() > 0 && (slowest.value() == 0 || peak < slowest)) slowest = peak;
  return (slowest.value() > 0 ? slowest : FlopsPerSecond(1e12)) * 0.5;
}

FlopsPerSecond attention_rate_of(const Gpu& gpu, Precision precision, double share) {
  return product_rate(gpu, precision) * (share / product_share[static_cast<int>(precision)]);
}

struct TimeOf {
  const Gpu& gpu;

  [[nodiscard]] Seconds stream(Bytes bytes, double share) const { return bytes / (gpu.memory_bandwidth * share); }

  Seconds operator()(const GemmQuery& g) const {
    const Seconds cast = g.casts_x ? stream(cast_bytes_of(g), one_pass_share) + kernel_start : Seconds();
    return std::max(flops_of(g) / product_rate(gpu, g.precision), stream(bytes_of(g), stream_share)) + kernel_start +
           cast;
  }
  Seconds operator()(const AttentionQuery& a) const {
    if (a.pass == AttentionPass::decode) return stream(bytes_of(a), one_pass_share) + kernel_start;
    const Seconds forward = forward_flops_of(a) / attention_rate_of(gpu, a.precision, attention_share);
    const Seconds backward =
        forward_flops_of(a) * backward_over_forward / attention_rate_of(gpu, a.precision, attention_backward_share);
    const bool goes_forward = a.pass != AttentionPass::backward, goes_back = a.pass != AttentionPass::forward;
    const Seconds compute = forward * (goes_forward ? 1 : 0) + backward * (goes_back ? 1 : 0);
    // Backward reads and writes about twice what forward does.
    const double passes = (goes_forward ? 1 : 0) + (goes_back ? 2 : 0);
    return std::max(compute, stream(bytes_of(a) * passes, one_pass_share)) + kernel_start * passes;
  }
  Seconds operator()(const MoeQuery& m) const {
    return flops_of(m) / product_rate(gpu, m.precision) + stream(bytes_of(m), one_pass_share) + kernel_start * 5;
  }
  Seconds operator()(const MemoryQuery& m) const { return stream(bytes_of(m), one_pass_share) + kernel_start; }
  Seconds operator()(const CollectiveQuery& c) const {
    const BytesPerSecond links =
        gpu.scale_up_bandwidth.value() > 0 ? gpu.scale_up_bandwidth * link_share : host_copy_rate;
    return received_of(c) / links + collective_start;
  }
  Seconds operator()(const TransferQuery& t) const { return t.bytes / host_copy_rate + copy_start; }
  Seconds operator()(const LaunchQuery&) const { return one_launch; }
};

struct BytesTaken {
  Bytes operator()(const GemmQuery& g) const {
    const double operand = operand_bytes(g.precision);
    const double result = g.layout == GemmLayout::nt ? 4 : std::max(2.0, operand);
    const double cast = g.casts_x ? 2 * g.m * g.k : 0;
    return Bytes(g.batch * (operand * (g.m * g.k + g.n * g.k) + result * g.m * g.n + cast));
  }
  /// Backward: gradients beside what forward had, that of the queries once more in fp32.
  Bytes operator()(const AttentionQuery& a) const {
    const double queries = a.batch * a.queries * a.heads;
    const double sums = 4 * queries * (a.head_dim + 4);
    return makes_gradients(a.pass) ? bytes_of(a) * 2 + Bytes(sums) : bytes_of(a) + Bytes(4 * queries);
  }
  Bytes operator()(const MoeQuery& m) const { return bytes_of(m); }
  Bytes operator()(const MemoryQuery& m) const { return bytes_of(m); }
  Bytes operator()(const CollectiveQuery& c) const { return c.bytes * 2; }
  Bytes operator()(const TransferQuery& t) const { return t.bytes; }
  Bytes operator()(const LaunchQuery&) const { return {}; }
};

}  // namespace

Seconds expected_time(const Gpu& gpu, const Query& query) { return std::visit(TimeOf{gpu}, query); }
Bytes bytes_taken(const Query& query) { return std::visit(BytesTaken{}, query); }

}  // namespace stepcast::calibrate
