// The training software as data: which attention kernel, what is fused, saved, bucketed and overlapped, what the host
// costs. One JSON row per stack. Nothing here names a parallelism: moves are told apart by the tensor they carry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/base/units.h"

namespace stepcast {

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
  std::string id, name, source, from, until;     ///< dates "2022-05"; until "" = today
  std::vector<std::string> aliases;
  AttentionForm attention = AttentionForm::fused;
  bool eager = false;                            ///< modules run operator by operator, in fp32 where the model says so
  std::vector<std::string> fused;                ///< kernel groups of the network that run as one kernel; others run one by one
  bool recompute_whole = true;                   ///< a recomputed region runs to its end even where nobody needs it
  double gradient_bytes = 4;                     ///< accumulator type of weight gradients
  bool half_gradients = false;                   ///< fp16 training accumulates and reduces gradients in fp16, other types as above
  bool accumulates_apart = false;                ///< a kernel of its own adds each weight gradient to the accumulator
  bool dropout = false;                          ///< trained with where a run does not say otherwise
  double master_bytes = 4;                       ///< fp32 copy of weights in the optimizer; 0 = none
  double optimizer_bytes = 8;                    ///< Adam moments
  Bytes gradient_bucket{0};                      ///< bytes that one gradient collective carries at most; 0 = one per layer
  Manners activation_moves = Manners::blocking;  ///< gathers and reductions of activations inside a block
  bool gathers_cast = false;                     ///< under fp8 what a product reads is cast before it is gathered, not after
  int activation_pieces = 1;                     ///< pieces that such a move and the product beside it are cut into, where overlapped
  Manners ring_moves = Manners::overlapped;      ///< exchanges in steps beside compute
  Manners weight_gathers = Manners::overlapped;
  Manners gradient_reduces = Manners::overlapped;
  Manners boundary_sends = Manners::blocking;    ///< point-to-point between stages
  std::vector<std::string> statements;           ///< notation that this software always implies, after the plan's own lines
  double loss_bytes = 4;                         ///< element size of logits in the loss (fp32 in old stacks)
  Seconds host_per_launch, host_per_step;        ///< CPU time per kernel launch; fixed work per step
  Seconds skew_per_doubling;                     ///< what a step waits for its slowest node, per doubling of innermost levels in use
  Dispatch expert_dispatch = Dispatch::rows;
  Manners expert_moves = Manners::blocking;      ///< exchanges of routed rows; overlapped: beside another micro-batch's compute
  Capture captured = Capture::nothing;
  double calls_per_kernel = 1;                   ///< kernels that the host launches per one that the forecast prices: casts, views
  double calls_per_expert = 0;                   ///< more of them per local expert and product: a product for each expert
  double calls_per_dispatch = 1;                 ///< of a dispatch or combine: counts, sorts, copies
  bool narrow_attention = false;                 ///< the attention core follows a narrow plan
  bool narrow_head = false;                      ///< so does the LM head
  double attention_rate = 1;                     ///< of its fused attention kernel over the profile's; old kernels < 1
  bool ampere_attention = false;                 ///< that kernel is written for Ampere: newer GPUs run it without their own instructions
  Seconds launch_gap;                            ///< between any two kernels where the host waits for each (CUDA_LAUNCH_BLOCKING)
  Seconds data_wait;                             ///< loader time that is not hidden, per step
  bool gradient_stand_ins = false;               ///< autograd gets a cached stand-in per weight shape, the gradient being in its accumulator
  bool loss_in_place = false;                    ///< the loss writes the gradient of the logits over the logits
  bool gates_in_experts = false;                 ///< gates scale the experts' activation: combining keeps no rows for their gradient
  bool rotary_key_per_head = false;              ///< the shared rotary key of latent attention is copied into every head's key
  Bytes workspace{0};                            ///< matrix-product workspaces inside the allocator
  Bytes framework_memory;                        ///< outside the allocator: CUDA context, NCCL
  double allocator_slack = 0;                    ///< fraction of the allocated peak lost to fragmentation
  std::vector<std::string> parameters;           ///< step parameters that a fit of its steps turns, at most three (model/profile/step_parameter.h)
  std::vector<std::string> expert_parameters;    ///< of networks with routed experts; empty: the same
  bool joint_precisions = false;                 ///< one fit for all precisions: too few runs are published in each
  std::vector<std::string> tuned_like;           ///< stacks whose fits speak for it where it has none of its own, nearest first
};

/// Accumulator type of weight gradients under a plan's precision.
double gradient_bytes(const Stack& stack, Precision precision);

Expected<Stack> read_stack(const std::string& text, const std::string& where);
std::string write_stack(const Stack& stack);

}  // namespace stepcast
