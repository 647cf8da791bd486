// What a Network under a Mapping comes down to: groups, work, moves, buffers, lifetimes (docs/design.md, section E).
// sim/ prices and times this and knows nothing else; no name of a parallelism survives here except in labels.
// All sizes are per rank; times do not exist yet.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/attended_keys.h"
#include "model/base/large_value.h"
#include "model/machine/machine.h"
#include "model/network/operator.h"
#include "model/base/units.h"

namespace stepcast::dataflow {

/// Ranks base + sum of digit_i * stride_i. Rank numbers follow machine order.
struct Group {
  struct Digit {
    std::int64_t stride = 1, size = 1;
  };
  std::vector<Digit> digits;  ///< fastest first
  std::int64_t size = 1;      ///< product of the digit sizes
  std::string label;          ///< mesh axes, "tp*cp": for reports only
  friend bool operator==(const Group&, const Group&);
};

enum class Pass : std::uint8_t { forward, recompute, input_grad, weight_grad, step };

enum class KernelClass : std::uint8_t {
  gemm,       ///< m x n x k, `batch` times
  attention,  ///< fused attention core
  pointwise,  ///< bytes over memory bandwidth; norms, activations, softmax, loss, optimizer
  lookup,     ///< embedding gather / scatter-add: bytes of the touched rows
  scan,       ///< a state carried along positions (ScanFunction)
};

/// "2 sequences of 8192, 64 heads of 64 x 128".
std::string shape_text(const ScanShape& scan);

struct KernelWork;
/// "4096 positions, 4 streams of 4096", of a work that mixes streams, of so many positions.
std::string streams_text(const KernelWork& work, double positions);

/// One kernel launch (or several like it) on one rank.
struct KernelWork {
  std::string label;  ///< "attn.qkv.q dW"
  KernelClass kernel = KernelClass::pointwise;
  Pass pass = Pass::forward;
  double m = 0, n = 0, k = 0, batch = 1;  ///< gemm
  double sequence = 0;                    ///< attention: keys per query, for the rate's ramp
  double sequences = 0, queries = 0;      ///< attention: of each head, and of each sequence
  double heads = 0, kv_heads = 0;         ///< attention
  double walked = 0;                      ///< attention in a window or chunks: keys that the kernel walks for a query
  KeyReach key_reach;                     ///< attention
  double dense = 0;                       ///< attention: sequences up to so long see all keys, and nothing is picked
  bool backward = false;                  ///< attention and scans: the backward kernel
  bool values_are_keys = false;           ///< attention: its keys are read once, as values, too
  /// attention of an indexer, which scores keys of one head and so many bytes an element, and keeps the best of each
  /// query in one choice for all heads or one for each; kept 0: none
  double kept = 0, choices = 1, key_element_bytes = 0;
  ScanShape scan;
  /// pointwise, forward: residual streams that it mixes, of m positions, k numbers in each and n coefficients, of which
  /// what puts a sublayer's result back into them makes none; 0: none
  double streams = 0;
  double element_bytes = 2;  ///< of the operands, chooses the tensor-core rate with Program::precision
  /// stays in its operands' type under a narrower plan (attention core, router, LM head)
  bool keeps_width = false;
  double head_dim = 0;   ///< attention and its unfused products: the contracted or produced head size
  double value_dim = 0;  ///< attention: of a head's result; fused kernels alone
  Flops flops;           ///< executed, with padding and repeats
  Flops useful;          ///< without
  Bytes bytes;           ///< device memory traffic, reads + writes
  double imbalance = 1;  ///< slowest rank / mean
  int launches = 1;
  /// kernels that the host launches for it: the stack's casts, views and single experts
  double host_calls = 1;
  /// of the gap that the stack has around a kernel: adapters' products are single launches, without the casts, views
  /// and checks of a module
  double gap_share = 1;
  double experts = 0;   ///< of a product of routed experts: how many there are on all ranks
  bool routed = false;  ///< its shapes change with the routing: dispatch, experts, combine
};

/// Does it run on the matrix units?
inline bool multiplies(const KernelWork& work) {
  return work.kernel == KernelClass::gemm || work.kernel == KernelClass::attention ||
         work.kernel == KernelClass::scan || (work.streams > 0 && work.n > 0);
}

// clang-format off
enum class MoveKind : std::uint8_t {
  slice, mask,                      ///< local, free
  reduce_scatter, all_reduce, all_to_all, send_recv, all_gather,
  ring,                             ///< exchange in steps: `steps` transfers beside the consumer's steps
};
// clang-format on

enum class When : std::uint8_t {
  each_micro_batch,
  once_first_use,  ///< once per step, before the first use
  once_last_use,   ///< once per step, when the last contribution closes
  tail,            ///< once per step, after the gradient is whole (parameter gather)
};

/// What a move carries; decides what software overlaps and how reports group it.
enum class Cargo : std::uint8_t { activation, weight, gradient, boundary, scalar };

struct Move {
  std::string label;  ///< "X1 all_gather"
  MoveKind kind = MoveKind::all_gather;
  Pass pass = Pass::forward;
  When when = When::each_micro_batch;
  Cargo cargo = Cargo::activation;
  int group = -1;                   ///< index into Program::groups; -1 for local moves
  Bytes received;                   ///< per rank and call
  Bytes local_before, local_after;  ///< local size of what moves
  int launches = 1;                 ///< tensors of one bucket that go as separate calls
  int steps = 1;                    ///< ring: transfers one after the other
  bool blocking = false;            ///< edge added by the stack: compute waits for it
  int ahead = 0;                    ///< weight gathers: may start this many blocks before their own
  double max_rank_factor = 1;       ///< bytes of the fullest rank over the mean (routed rows)
  /// routed rows: so many experts, of which each token takes `choices`; 0 = not routed
  double experts = 0, choices = 0;
  /// of experts, out of which the choices come
  double groups = 1, top_groups = 1;
  bool again = false;        ///< repeats a forward move for backward
  double element_bytes = 2;  ///< of what moves
  bool for_product = false;  ///< feeds a product of layers that a narrower plan casts down
  std::string because;       ///< source statement of the plan and rule, for --explain
};

/// Element of a block's list: a work or a move, and the earlier items of the same list that it waits for.
struct Item {
  bool is_move = false;
  int index = -1;  ///< into ProgramBlock::works or ::moves
  std::vector<int> after;
};

// clang-format off
enum class BufferKind : std::uint8_t {
  weight, gathered_weight, gradient, optimizer, saved, temporary, message,
};
// clang-format on

/// Who keeps how many copies.
enum class Count : std::uint8_t {
  persistent,          ///< one per block instance, whole step
  shared,              ///< whole step; blocks whose buffers have the same label share one
  per_micro_batch,     ///< born in forward, freed in backward: one per micro-batch in flight
  transient_forward,   ///< alive between two items of the forward list
  transient_backward,  ///< alive between two items of the backward list
  per_block_window,    ///< gathered weights: one per block being worked on, plus those ahead
};

struct Buffer {
  std::string label;
  BufferKind kind = BufferKind::temporary;
  Count count = Count::persistent;
  Bytes bytes;
  /// Item indices, for transient counts; per_micro_batch: forward item that makes it, backward item that reads it last.
  int born = 0, dies = 0;
  bool held_until_weight_grad = false;  ///< per_micro_batch: weight-grad still reads it
};

/// Elements of one operator's weights that one rank holds in one instance of a block.
struct OwnWeights {
  std::string op, kernel;  ///< "attn.qkv.Q", and the launch that it is a part of
  double elements = 0;
  bool expert = false, wide = false;  ///< wide: a narrower plan leaves them as they are
};

struct ProgramBlock {
  bool is_layer = false;  ///< counts in a stage's layers
  std::string name;       ///< "embedding", "layer", "head"
  std::vector<KernelWork> works;
  std::vector<Move> moves;
  std::vector<Item> forward;     ///< one micro-batch
  std::vector<Item> backward;    ///< one micro-batch: recompute, input-grad and weight-grad items in issue order
  std::vector<Move> step_moves;  ///< when != each_micro_batch: once per block instance and step
  std::vector<Buffer> buffers;
  double parameters = 0;            ///< held by one rank, elements
  double expert_parameters = 0;     ///< of them, of routed experts
  double wide_parameters = 0;       ///< of them, what a narrower plan leaves as it is: tables, router, LM head
  std::vector<OwnWeights> weights;  ///< of products, where the lists have labels
  double optimizer_elements = 0;    ///< updated by one rank
  double model_flops = 0;           ///< useful forward FLOPs of all ranks, one micro-batch
};

/// A run of one block on a stage.
struct BlockRun {
  int block = 0;
  std::int64_t count = 1;
};

/// One virtual stage: the layers that one rank coordinate runs as one schedule action.
struct Chunk {
  int stage = 0;               ///< coordinate on the stage axis
  int chunk = 0;               ///< which of the chunks there
  std::vector<BlockRun> runs;  ///< in forward order
};

/// A send between neighbouring chunks, each micro-batch, forward; the gradient goes back with the same bytes.
struct StageEdge {
  int from = 0, to = 0;            ///< chunk indices
  Bytes bytes;                     ///< per rank
  std::int64_t rank_distance = 0;  ///< of the two ranks in machine order
  /// After the send, where the stream crosses in more pieces than it lies at home (`home boundary`): back to home.
  std::optional<Move> gather;
};

/// What a rank keeps of a sequence between iterations.
struct CacheLine {
  double bytes_per_position = 0;
  std::int64_t reach = 0;         ///< positions further back are let go; 0: all are kept
  double bytes_per_sequence = 0;  ///< states of scans and convolutions, however long it is
  friend bool operator==(const CacheLine&, const CacheLine&) = default;
};
/// Of a sequence of so many positions. `beyond_reach`: keys that no window reaches any more are kept, too.
inline double cache_bytes(const std::vector<CacheLine>& caches, double positions, bool beyond_reach = false) {
  double bytes = 0;
  for (const CacheLine& line : caches)
    bytes += line.bytes_per_position *
                 (line.reach > 0 && !beyond_reach ? std::min(positions, static_cast<double>(line.reach)) : positions) +
             line.bytes_per_sequence;
  return bytes;
}

/// The same where keys of windows have a pool of their own, of `share` of the positions that the pool of the others has
/// room for. A sequence takes of both what it takes of the one that it fills first.
inline double pooled_cache_bytes(const std::vector<CacheLine>& caches, double positions, double share) {
  double whole = 0, windowed = 0, states = 0, filled = positions;
  for (const CacheLine& line : caches) {
    states += line.bytes_per_sequence;
    (line.reach > 0 ? windowed : whole) += line.bytes_per_position;
    if (line.reach > 0 && line.bytes_per_position > 0)
      filled = std::max(filled, std::min(positions, static_cast<double>(line.reach)) / share);
  }
  return (whole + share * windowed) * filled + states;
}

/// Facts about the plan that a user must be told: repeated work, padding, assumed balance.
struct Note {
  std::string text;
};

struct Program {
  LARGE_VALUE(Program);
  Precision precision = Precision::bf16;
  std::int64_t ranks = 1;
  std::int64_t stages = 1;        ///< size of the stage axis
  std::int64_t stage_stride = 1;  ///< ranks between neighbouring stages
  std::int64_t chunks_per_stage = 1;
  std::int64_t micro_batches = 1;
  std::string schedule = "1f1b";
  double tokens_per_step = 0;
  double choices = 0;  ///< experts that a token takes; 0: no rows are routed
  std::vector<Group> groups;
  std::vector<ProgramBlock> blocks;
  std::vector<Chunk> chunks;                   ///< in forward order: dealt round the stages, or there and back (a V)
  std::vector<StageEdge> edges;                ///< edges[i] joins chunks[i] and chunks[i+1]
  std::vector<Move> tail;                      ///< norm reduction and what else is not of one block, in order
  std::vector<Move> shared;                    ///< once per step between stages (tied embedding)
  double bytes_per_optimizer_element = 0;      ///< memory traffic of the optimizer per element it updates
  double bytes_per_gradient_element = 0;       ///< of the gradient-norm read
  bool routed_rows = false;                    ///< rows go where data sends them: their load is an expectation
  std::vector<std::vector<CacheLine>> caches;  ///< of one rank of each stage, for each sequence
  bool unlike_measured = false;  ///< no step that was fitted on had such a network: two-sided, or of numbers
  double recompute_layers = 0;   ///< reported
  std::vector<Note> notes;
};

}  // namespace stepcast::dataflow
