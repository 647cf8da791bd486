// The price of fused attention: its law, and which kernel of which age the software runs.
#include <algorithm>

#include "model/profile/kernel_law.h"
#include "sim/cost.h"

namespace stepcast::sim {

namespace {

// Fused attention backward does five products against two (arXiv 2205.14135, section 3); the law takes forward FLOPs.
constexpr double backward_products = 2.5;

// An attention kernel for Ampere (FlashAttention-2, the Triton kernels before it) runs on newer GPUs through mma.sync
// and synchronous copies. On H100 FlashAttention-2 reaches 221, 265, 294, 308, 328 TFLOP/s forward and backward,
// causal, head size 128, at 1k, 2k, 4k, 8k, 16k positions (Dao-AILab/flash-attention 0251105, assets), 0.63 to 0.70 of
// the law fitted on FlashAttention-3. Blackwell has no such figures and takes Hopper's.
constexpr double ampere_attention_share = 0.65;

// FlashAttention-3 reaches 1.2 PFLOP/s in fp8 against 740 TFLOP/s in 16 bits, forward, on H100 (arXiv 2407.08608); the
// backward kernels, and the softmax on Blackwell, gain less. Assumed.
constexpr double narrow_attention_gain = 1.3;

// Of the rate at head size 128, kernels for Hopper reach this much at 64, where exponentials weigh twice as much: 0.73
// by FlashAttention-3, 0.70 by cuDNN, causal forward over 4096 positions (flash-attention 0251105
// assets/flash3_fp16_fwd.png); on A100, FlashAttention-2 loses a tenth, which is left out.
constexpr double hopper_small_head = 0.73;
constexpr double small_head = 64;

bool is_narrow(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::nvfp4;
}

/// Of the law's rate.
double rate_share(const Stack& stack, const Gpu& gpu, const AttentionLaw& law, Precision precision, double head_dim) {
  const bool newer = gpu.architecture == "hopper" || gpu.architecture == "blackwell";
  const bool own_kernel = newer && !stack.ampere_attention;
  // faster kernels are those for newer GPUs
  double share = newer ? stack.attention_rate : std::min(1.0, stack.attention_rate);
  if (newer && stack.ampere_attention) share *= ampere_attention_share;
  const bool knows_heads = law.forward.softmax > 0;
  if (own_kernel && !knows_heads && head_dim > 0 && head_dim <= small_head) share *= hopper_small_head;
  if (stack.narrow_attention && is_narrow(precision)) share *= narrow_attention_gain;
  return share;
}

// A law of attention is fitted on operands of 16 bits. Kernels for wider ones reach as much less as the GPU's products
// do: no table of ours has them.
constexpr Spread wide_attention_spread{0.75, 1.5};

bool is_wide(const KernelWork& work, Precision precision) {
  return work.element_bytes >= 4 && (precision == Precision::tf32 || precision == Precision::fp32);
}

double wide_share(const Gpu& gpu, Precision precision) {
  const auto peak = [&](Precision p) { return gpu.peak[static_cast<int>(p)].value(); };
  const double half = std::max(peak(Precision::bf16), peak(Precision::fp16)), own = peak(precision);
  return half > 0 && own > 0 ? std::min(1.0, own / half) : 1;
}

}  // namespace

Price CostModel::attention(const KernelWork& work) const {
  const AttentionLaw& law = profile_->attention;
  const bool wide = is_wide(work, precision_);
  const double share = rate_share(*stack_, machine_->gpu, law, precision_, work.head_dim) *
                       (wide ? wide_share(machine_->gpu, precision_) : 1);
  const double slower =
      tuning_[StepParameter::products] * tuning_[StepParameter::attention] * profile_->sustained_slowdown / share;
  const Flops forward = work.flops * (slower / (work.backward ? backward_products : 1));
  // The law knows causal kernels by their length: a window runs as fast as the one that walks as many keys.
  const double length = work.walked > 0 ? std::min(work.sequence, 2 * work.walked) : work.sequence;
  const Domain domain = work.key_reach.domain;
  const bool causal = domain == Domain::causal || domain == Domain::window || domain == Domain::chunk;
  const StepAttention core{
      forward, length, work.head_dim, work.backward ? work.bytes / 2 : work.bytes, causal, work.backward};
  const Seconds kernel = attention_time(law, core).time;
  return {kernel + law.t0 * (work.launches - 1), wide ? std::max(law.source, Source::transferred) : law.source,
      wide ? wide_attention_spread : law.spread, "attention ramp", false, 0};
}

}  // namespace stepcast::sim
