// The training software as data: which attention kernel, what is fused, saved, bucketed and overlapped, what the host
// costs. One JSON row per stack. Nothing here names a parallelism: moves are told apart by the tensor they carry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/base/large_value.h"
#include "model/loss_form.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/base/units.h"
#include "model/split_function.h"

namespace stepcast {

/// Equal GPUs of one cluster differ by 8 % on average, the slowest of some 200 to 27,000 against the fastest (Sinha et
/// al., SC 2022, arXiv 2208.11035): 5.9 standard deviations of a normal distribution, twice the largest of 400 draws.
inline constexpr double usual_gpu_spread = 0.0135;

/// Does later work wait for a move it does not depend on?
enum class Manners : std::uint8_t {
  blocking,    ///< the compute stream stands still while it runs
  overlapped,  ///< only its consumers wait
};

/// What the exchange in front of routed experts carries.
enum class Dispatch : std::uint8_t {
  rows,    ///< a row per token and chosen expert (all-to-all of torch.distributed)
  tokens,  ///< a token once per destination that holds any of its experts (DeepEP, HybridEP)
};

/// What is replayed from CUDA graphs and costs the host no launches.
enum class Capture : std::uint8_t {
  nothing,
  static_parts,  ///< all but dispatch, experts and combine, whose shapes change with the routing
  step,          ///< whole iterations
};

struct Stack {
  LARGE_VALUE(Stack);
  std::string id, name, source, from, until;  ///< dates "2022-05"; until "" = today
  std::vector<std::string> aliases;
  AttentionForm attention = AttentionForm::fused;
  std::vector<SplitFunction> one_by_one;  ///< none where a compiler or the library makes each one kernel
  /// kernel groups of the network that run as one kernel; others run one by one
  std::vector<std::string> fused;
  bool recompute_whole = true;  ///< a recomputed region runs to its end even where nobody needs it
  double gradient_bytes = 4;    ///< accumulator type of weight gradients
  /// fp16 training accumulates and reduces gradients in fp16, other types as above
  bool half_gradients = false;
  bool accumulates_apart = false;  ///< a kernel of its own adds each weight gradient to the accumulator
  /// gradients are freed behind each step, and the next one's first backward makes them again block by block
  /// (zero_grad's set_to_none of PyTorch)
  bool gradients_freed = false;
  /// weights stay in fp32 and are cast in each micro-batch (torch.autocast)
  bool autocast = false;
  bool dropout = false;        ///< trained with where a run does not say otherwise
  double master_bytes = 4;     ///< fp32 copy of weights in the optimizer; 0 = none
  double optimizer_bytes = 8;  ///< Adam moments
  /// bytes that one gradient collective carries at most; 0 = one per layer
  Bytes gradient_bucket{0};
  Manners activation_moves = Manners::blocking;  ///< gathers and reductions of activations inside a block
  /// of those, what backward does for the input of a product: it is gathered again, its gradient is summed. Overlapped:
  /// the product's gradient kernels run meanwhile
  Manners input_moves_in_backward = Manners::blocking;
  /// under fp8 what a product reads is cast before it is gathered, not after
  bool gathers_cast = false;
  /// pieces that such a move and the product beside it are cut into, where overlapped
  int activation_pieces = 1;
  Manners ring_moves = Manners::overlapped;  ///< exchanges in steps beside compute
  Manners weight_gathers = Manners::overlapped;
  Manners gradient_reduces = Manners::overlapped;
  Manners boundary_sends = Manners::blocking;  ///< point-to-point between stages
  /// notation that this software always implies, after the plan's own lines
  std::vector<std::string> statements;
  double loss_bytes = 4;                   ///< element size of logits in the loss (fp32 in old stacks)
  Seconds host_per_launch, host_per_step;  ///< CPU time per kernel launch; fixed work per step
  /// standard deviation of kernels' time from GPU to GPU: a step lasts as long as on the slowest of all
  double gpu_spread = usual_gpu_spread;
  Dispatch expert_dispatch = Dispatch::rows;
  /// under fp8 what experts' products read is cast before it is sent, with a scale per 128 numbers; results return wide
  bool dispatch_cast = false;
  /// each cast to a narrow type is a kernel of its own; else norms, activations and their like take over a part
  bool casts_apart = false;
  /// exchanges of routed rows; overlapped: beside another micro-batch's compute
  Manners expert_moves = Manners::blocking;
  Capture captured = Capture::nothing;
  /// kernels that the host launches per one that the forecast prices: casts, views
  double calls_per_kernel = 1;
  /// more of them per local expert and product: a product for each expert
  double calls_per_expert = 0;
  double calls_per_dispatch = 1;  ///< of a dispatch or combine: counts, sorts, copies
  bool narrow_attention = false;  ///< the attention core follows a narrow plan
  bool narrow_head = false;       ///< so does the LM head
  double attention_rate = 1;      ///< of its fused attention kernel over the profile's; old kernels < 1
  /// that kernel is written for Ampere: newer GPUs run it without their own instructions
  bool ampere_attention = false;
  /// between any two kernels where the host waits for each (CUDA_LAUNCH_BLOCKING)
  Seconds launch_gap;
  Seconds data_wait;  ///< loader time that is not hidden, per step
  /// autograd gets a cached stand-in per weight shape, the gradient being in its accumulator
  bool gradient_stand_ins = false;
  bool pads_vocabulary = false;  ///< rows of tables and the LM head are filled up to a multiple of 128 and more
  bool loss_in_place = false;    ///< the loss writes the gradient of the logits over the logits
  LossForm loss;                 ///< how much of the logits lies in memory at once
  /// gates scale the experts' activation: combining keeps no rows for their gradient
  bool gates_in_experts = false;
  /// the shared rotary key of latent attention is copied into every head's key
  bool rotary_key_per_head = false;
  Bytes workspace{0};          ///< matrix-product workspaces inside the allocator
  Bytes framework_memory;      ///< outside the allocator: CUDA context, NCCL
  double allocator_slack = 0;  ///< fraction of the allocated peak lost to fragmentation
  /// step parameters that a fit of its steps turns, at most three (model/profile/step_parameter.h)
  std::vector<std::string> parameters;
  std::vector<std::string> expert_parameters;  ///< of networks with routed experts; empty: the same
  bool joint_precisions = false;               ///< one fit for all precisions: too few runs are published in each
  /// stack whose runs make one fit with its own, for both have the same kernels and moves; empty: none
  std::string fitted_with;
  /// stacks whose fits speak for it where it has none of its own, nearest first
  std::vector<std::string> tuned_like;
};

/// Whether a compiler joins the functions that would else run operation by operation.
inline bool compiled(const Stack& stack) { return stack.one_by_one.empty(); }
/// The stack that fits of this one's steps are filed under.
const std::string& fit_name(const Stack& stack);
/// Accumulator type of weight gradients under a plan's precision.
double gradient_bytes(const Stack& stack, Precision precision);

Expected<Stack> read_stack(const std::string& text, const std::string& where);
std::string write_stack(const Stack& stack);

}  // namespace stepcast
