// Prices of kernels in a step: the law's price (model/profile/kernel_law.h, which `stepcast kernel` asks too), and what
// steps add to it: sustained clocks, what measured steps say, further launches, casts, the gaps between kernels.
#include <algorithm>
#include <cmath>
#include <utility>

#include "dataflow/chip/account/gemm_kernel.h"
#include "model/profile/kernel_law.h"
#include "sim/cost.h"

namespace stepcast::sim {

namespace {

// A matrix product over a head size that is not a multiple of 8 leaves the tensor cores (NVIDIA, Matrix Multiplication
// Background, section "Requirements to use Tensor Cores") and runs on the CUDA cores, which add up in fp32. It reaches
// as much of their fp32 peak as large products do. On an A100 that is 20 times slower, which BigScience's runs confirm,
// hidden 14400 with 96 heads (head size 150) and 13824 with 128 (108), against their aligned neighbours at
// micro-batches of 1 to 4 (bigscience-workshop/bigscience, train/tr11-176B-ml/chronicles-prequel.md).
constexpr double cuda_core_share = 0.65;
constexpr double off_tensor_cores = 20;  // of a GPU whose fp32 peak is unknown
constexpr double aligned_head = 8;

// Where nothing was measured. Large GEMMs reach 67-84 % of the dense bf16 peak over A100, H100, H200, B200, L40S;
// streams reach 85-89 % of the memory bandwidth (ai-dynamo/aiconfigurator 095f58a tables). One launch costs a few
// microseconds.
constexpr double peak_share = 0.7, memory_share = 0.85;
constexpr Seconds launch{4e-6};
constexpr Spread datasheet_spread{0.75, 1.5};

FlopsPerSecond any_peak(const Gpu& gpu) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32}) {
    const FlopsPerSecond peak = gpu.peak[static_cast<int>(precision)];
    if (peak.value() > 0) return peak;
  }
  return FlopsPerSecond(1e12);
}

RooflineLaw datasheet_law(const Gpu& gpu, Precision precision) {
  const FlopsPerSecond peak = gpu.peak[static_cast<int>(precision)];
  RooflineLaw law;
  law.precision = precision;
  law.t0 = launch;
  law.compute = peak_share * (peak.value() > 0 ? peak : any_peak(gpu));
  law.memory = memory_share * gpu.memory_bandwidth;
  law.source = peak.value() > 0 ? Source::datasheet : Source::assumed;
  law.spread = datasheet_spread;
  return law;
}

// The expected largest of n draws of a standard normal distribution: the deviation that a share of 0.625 / (n + 0.25)
// exceeds (Blom, Statistical Estimates and Transformed Beta-Variables, 1958), by the rational approximation of its
// inverse (Abramowitz and Stegun 26.2.22, within 0.003).
double largest_of(std::int64_t draws) {
  if (draws < 2) return 0;
  const double t = std::sqrt(-2 * std::log(0.625 / (static_cast<double>(draws) + 0.25)));
  return t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t);
}

const char* gemm_law(Precision precision) {
  static constexpr const char* names[] = {"gemm roofline fp32", "gemm roofline tf32", "gemm roofline fp16",
      "gemm roofline bf16", "gemm roofline fp8", "gemm roofline mxfp8", "gemm roofline nvfp4"};
  return names[static_cast<int>(precision)];
}

bool narrow(Precision plan) { return plan == Precision::fp8 || plan == Precision::mxfp8 || plan == Precision::nvfp4; }

// What the tensor cores run at: the plan's precision where its operands have that width, else the nearest wider one.
Precision rate_for(double element_bytes, Precision plan) {
  if (element_bytes >= 4) return plan == Precision::fp32 ? Precision::fp32 : Precision::tf32;
  if (element_bytes >= 2)
    return narrow(plan) || plan == Precision::fp32 || plan == Precision::tf32 ? Precision::bf16 : plan;
  return narrow(plan) ? plan : Precision::fp8;
}

double narrow_bytes(Precision plan) { return plan == Precision::nvfp4 ? 0.5 : 1; }

// Under a narrow plan the projections of layers are cast to it. Transformer Engine leaves the products of an attention
// core, the router and the LM head as they are (TransformerEngine user guide, fp8_autocast covers its own modules
// only).
bool cast_down(const KernelWork& work, Precision plan) {
  return narrow(plan) && work.element_bytes == 2 && !work.keeps_width;
}

// The left operand of a forward product (x) or an input gradient (dy) is cast beside its use. By itself a cast reads 2
// bytes and writes `narrow_bytes` twice, as is and transposed; norms and activations take over a part, and 2 bytes per
// element are left over: what published H100 fp8 steps leave beside their products (3 passes of the hidden width and
// 0.75 of the MLP width forward, 5 and 2.5 backward).
constexpr double cast_bytes = 2;

// Rows of experts that run one by one were written by a dispatch or an activation over all experts: their casts stand
// alone.
double cast_bytes_of(const KernelWork& work, const Stack& stack, Precision plan) {
  return stack.casts_apart || (work.routed && stack.calls_per_expert > 0) ? 2 + 2 * narrow_bytes(plan) : cast_bytes;
}

// Hopper's tensor cores add up products of fp8 in fewer bits than fp32 has. Training software lets the products of its
// gradients move their sums to fp32 registers again and again (TransformerEngine d0067d0 common/recipe/__init__.py,
// use_split_accumulator; precision HIGHEST in openxla/xla pull request 6599; use_fast_accum in torchao
// float8/config.py), and those of its forward pass not, as the tables of serving libraries do. Large products on an
// H100 run 1.1 to 1.2 times as fast without (pytorch/ao issue 2377); the lower end stands for chips at their power
// limit, whose steps it fits no worse than the upper. Blackwell has no such mode (NVIDIA/TransformerEngine pull request
// 2748).
constexpr double split_accumulator = 1.1;

double accumulates_slower(const KernelWork& work, Precision precision, const Gpu& gpu) {
  const bool gradient = work.pass == Pass::input_grad || work.pass == Pass::weight_grad;
  return gradient && precision == Precision::fp8 && gpu.architecture == "hopper" ? split_accumulator : 1;
}

// KernelWork::bytes has every element once. What waves of tiles read again because L2 does not hold it comes from the
// kernel's own dataflow. A law fitted on measured products has seen this in its rates, per byte counted once; a
// datasheet's has not.
Bytes read_again(const KernelWork& work, double operand_bytes, const Gpu& gpu) {
  if (gpu.multiprocessors <= 0 || gpu.l2.value() <= 0) return {};  // a chip whose file says neither
  const GemmShape shape{work.m, work.n, work.k, work.batch, operand_bytes, work.element_bytes};
  const GemmTraffic traffic = gemm_traffic(shape, {gpu.multiprocessors, gpu.l2});
  return Bytes(traffic.hbm_bytes - traffic.footprint_bytes);
}

bool misaligned(double head_dim) { return head_dim > 0 && std::fmod(head_dim, aligned_head) != 0; }

double off_tensor_cores_of(const Gpu& gpu, FlopsPerSecond tensor_rate) {
  const FlopsPerSecond peak = gpu.peak[static_cast<int>(Precision::fp32)];
  return peak.value() > 0 ? std::max(1.0, tensor_rate / (cuda_core_share * peak)) : off_tensor_cores;
}

}  // namespace

GemmQuery product_query(const KernelWork& work, Precision precision) {
  GemmQuery query{work.m, work.n, work.k, work.batch, precision};
  if (work.head_dim > 0) {  // scores and contexts of an attention that is not fused: a batch of heads
    if (work.k != work.head_dim || work.pass != Pass::forward) query.layout = GemmLayout::nn;
    return query;
  }
  // Narrow types have no other layout: training keeps transposed copies and runs gradients as tn.
  const bool only_tn = narrow(precision);
  if (work.pass == Pass::input_grad && !only_tn) query.layout = GemmLayout::nn;
  if (work.pass == Pass::weight_grad) {
    std::swap(query.m, query.n);
    if (!only_tn) query.layout = GemmLayout::nt;
  }
  return query;
}

CostModel::CostModel(const Machine& machine, const Profile& profile, const Stack& stack, Precision precision,
    std::int64_t ranks, const StepFit* fit)
    : machine_(&machine), profile_(&profile), stack_(&stack), precision_(precision), ranks_(ranks),
      slowest_rank_(slowest_of(ranks)), tuning_(tuning_of(stack, profile, fit)) {
  for (int i = 0; i < precisions; ++i) {
    const RooflineLaw* fitted = find_gemm(profile, static_cast<Precision>(i));
    roofline_[i] = fitted ? *fitted : datasheet_law(machine.gpu, static_cast<Precision>(i));
  }
}

CostModel CostModel::with_ranks(std::int64_t ranks) const {
  CostModel other = *this;
  other.ranks_ = ranks;
  other.slowest_rank_ = slowest_of(ranks);
  return other;
}

double CostModel::slowest_of(std::int64_t ranks) const {
  return 1 + stack_->gpu_spread * largest_of(ranks > 0 ? ranks : machine_->max_gpus());
}

OverlapLaw CostModel::overlap() const {
  OverlapLaw law = profile_->overlap;
  law.compute_slowdown = tuning_[StepParameter::contention];
  return law;
}

namespace {

/// Software that fills vocabularies up has no rows at odd addresses, whatever the network's number says: the law is
/// asked for the next multiple of 8. FLOPs and bytes are the program's.
GemmQuery with_whole_rows(GemmQuery query) {
  constexpr double whole = 8;
  for (double* size : {&query.m, &query.n, &query.k}) *size = std::ceil(*size / whole) * whole;
  return query;
}

}  // namespace

// The law's row says whether its correction counts in steps (docs/profiles.md: no shipped one does, they learn what
// bursts of serving libraries do).
// The slow-down of sustained work is a lower clock, so it stretches the compute term and leaves the memory term: a
// memory-bound kernel draws too little power to be throttled (H200, B200, GB200: none below 30 % of the power limit).
Price CostModel::gemm(const KernelWork& work) const {
  const WorkParts parts = product_parts(work);
  const RooflineLaw& law = roofline_[static_cast<int>(parts.precision)];
  const double slower = tuning_[StepParameter::products] * profile_->sustained_slowdown *
                        accumulates_slower(work, parts.precision, machine_->gpu) *
                        (misaligned(work.head_dim) ? off_tensor_cores_of(machine_->gpu, law.compute) : 1);
  Bytes bytes = parts.bytes;
  if (law.source == Source::datasheet) bytes += read_again(work, parts.operand_bytes, machine_->gpu);
  Seconds casting;
  if (parts.casting.value() > 0) casting = parts.casting / profile_->memory.memory;
  GemmQuery query = product_query(work, parts.precision);
  if (stack_->pads_vocabulary) query = with_whole_rows(query);
  const KernelTime kernel = gemm_time(law, profile_->units, query, {work.flops * slower, bytes});
  const Seconds time = kernel.time + law.t0 * (work.launches - 1) + casting;
  return {time, kernel.source, kernel.spread, gemm_law(parts.precision), kernel.extrapolated, 0};
}

/// The precision is that of the law; `launch` is left to parts().
WorkParts CostModel::product_parts(const KernelWork& work) const {
  WorkParts parts;
  parts.operand_bytes = work.element_bytes;
  parts.bytes = work.bytes;
  if (!cast_down(work, precision_)) {
    parts.precision = rate_for(work.element_bytes, precision_);
    return parts;
  }
  parts.precision = precision_;
  parts.operand_bytes = narrow_bytes(precision_);
  const double saved = work.element_bytes - parts.operand_bytes;
  parts.bytes -= Bytes(saved * work.batch * (work.m * work.k + work.k * work.n));
  if (work.pass != Pass::weight_grad)
    parts.casting = Bytes(cast_bytes_of(work, *stack_, precision_) * work.batch * work.m * work.k);
  return parts;
}

WorkParts CostModel::parts(const KernelWork& work) const {
  WorkParts parts;
  switch (work.kernel) {
    case KernelClass::gemm:
      parts = product_parts(work);
      parts.launch = roofline_[static_cast<int>(parts.precision)].t0;
      if (misaligned(work.head_dim)) parts.precision = Precision::fp32;
      break;
    case KernelClass::attention:
      parts = {attention_precision(work), work.element_bytes, work.bytes, Bytes(), profile_->attention.t0};
      break;
    case KernelClass::pointwise:
    case KernelClass::lookup:
    case KernelClass::scan:
      if (work.streams > 0) {
        // The bytes are the law's, which reads the streams twice for `pre`; its product is in fp32 (coefficients() in
        // network/blocks/transformer_mixer.cpp).
        const HyperConnectionShape shape = mixing_shape(work);
        parts = {
            Precision::fp32, work.element_bytes, bytes_of(shape), Bytes(), hyper_connection_start(*profile_, shape)};
        break;
      }
      parts = {work.element_bytes >= 4 ? Precision::fp32 : rate_for(work.element_bytes, precision_), work.element_bytes,
          work.bytes, Bytes(), profile_->memory.t0};
      break;
  }
  parts.launch = (parts.launch + Seconds(tuning_[StepParameter::kernel_gap] * work.gap_share)) * work.launches;
  return parts;
}

/// fp8 at its narrowest: no attention kernel multiplies in 4 bits.
Precision CostModel::attention_precision(const KernelWork& work) const {
  if (!stack_->narrow_attention || !narrow(precision_)) return rate_for(work.element_bytes, precision_);
  return precision_ == Precision::nvfp4 ? Precision::fp8 : precision_;
}

Price CostModel::memory(Bytes bytes) const {
  const MemoryLaw& law = profile_->memory;
  return {memory_time(law, bytes).time, law.source, law.spread, "memory stream", false, 0};
}

Price CostModel::work(const KernelWork& work) const {
  Price price;
  switch (work.kernel) {
    case KernelClass::gemm: price = gemm(work); break;
    case KernelClass::attention: price = attention(work); break;
    case KernelClass::scan: price = scan(work); break;
    case KernelClass::pointwise:
    case KernelClass::lookup:
      if (work.streams > 0) {
        price = mixing(work);
        break;
      }
      price = memory(work.bytes);
      price.time = price.time * tuning_[StepParameter::memory];
      price.time += profile_->memory.t0 * (work.launches - 1);
      break;
  }
  const Seconds gaps(tuning_[StepParameter::kernel_gap] * work.gap_share * work.launches);
  price.time = price.time * (work.imbalance * slowest_rank_) + gaps;
  return price;
}

}  // namespace stepcast::sim
