// Parts of a network's description (NetworkSpec): kinds of norms and positions, experts, attention with latents, picks
// or windows, modulation, projectors, and what tells one layer from another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/network/mixer.h"

namespace stepcast {

enum class Norm : std::uint8_t {
  rmsnorm,
  layernorm,
  layernorm_scale,  ///< LayerNorm without an offset
};
/// Where norms stand: before each sublayer, behind it (in front of the residual's sum), both, or behind the sum (BERT),
/// where no last norm follows the layers.
enum class NormPlace : std::uint8_t { before, behind, both, behind_sum };
/// How numbers at each position become the stream: by a matrix; a matrix, GELU and a matrix; two convolutions of three
/// taps, the second with a stride of two (Whisper); or three convolutions of 3 x 3 over frames and numbers, each of
/// which halves both, and a matrix (Qwen3-Omni).
enum class Intake : std::uint8_t { matrix, mlp, convolutions, planes };
enum class Activation : std::uint8_t { swiglu, geglu, gelu, relu, squared_relu, xielu };
/// relative: a bias of each head by how far the key is from the query (T5)
enum class Positions : std::uint8_t { rope, learned, alibi, none, relative };

/// Mixture of experts in place of the MLP of some layers. count 0 = the network is dense.
struct Experts {
  std::int64_t count = 0, top_k = 0;
  std::int64_t ffn_hidden = 0;  ///< width of one routed expert
  std::int64_t latent = 0;      ///< routed experts work on a projection so wide (Nemotron 3 Super); 0 = on hidden
  std::int64_t shared_ffn_hidden = 0;  ///< widths of all shared experts together; 0 = none
  bool shared_gate = false;            ///< a gate of one output scales the shared experts (Qwen2-MoE)
  bool router_bias = false;            ///< one number per expert beside the router (DeepSeek-V3's correction, gpt-oss)
  bool expert_bias = false;            ///< biases on the experts' projections (gpt-oss)
  /// routed and shared experts have norms of their own behind them, the routed ones one before, too, and a norm of
  /// what the router reads (Gemma 4)
  bool own_norms = false;
  bool norm_behind = false;  ///< a norm of what routed and shared experts give together (A.X K1)
  bool latent_norm = false;  ///< a norm of what routed experts give, before it is projected back (Kimi K3)
  /// a token takes its experts out of `top_groups` of so many groups of neighbours, which lie on as many nodes or fewer
  /// (DeepSeek-V2, arXiv 2405.04434, section 2.2.2); 0 = out of all
  std::int64_t groups = 0, top_groups = 0;
  std::int64_t dense_layers = 0;  ///< leading layers that keep the plain MLP of width NetworkSpec::ffn_hidden
  std::int64_t every = 1;         ///< 1: every layer behind those; 2: every second one (Llama 4 Maverick)
  double capacity_factor = 0;     ///< 0 = dropless; else rows per expert are padded or cut to this times the mean
  double imbalance = 1;           ///< rows of the fullest rank over the mean; 1 = balanced (assumed, printed)
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434). kv_rank 0 = plain attention.
struct LatentAttention {
  std::int64_t q_rank = 0;  ///< 0: queries are projected directly
  std::int64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
};

/// Attention over the keys that an indexer picks for each query. top_k 0 = none. On top of latent attention
/// (DeepSeek-V3.2, arXiv 2512.02556, section 2.1) keys are picked one by one for all heads; of plain attention every
/// key-value head has a head of the indexer and picks blocks of neighbours (MiniMax M3).
struct SparseAttention {
  std::int64_t top_k = 0, heads = 0, head_dim = 0;
  std::int64_t block = 1;  ///< keys that are picked together; top_k counts keys
  /// of plain attention: the queries themselves score means of keys, one for every so many positions, after a coarser
  /// pass over a fourth of them; no weights, and nothing goes back (InfLLM v2, MiniCPM4, arXiv 2506.07900); 0: an
  /// indexer scores
  std::int64_t pooled = 0;
};

/// Attention over a window of keys and over compressed ones (DeepSeek-V4; transformers
/// src/transformers/models/deepseek_v4): queries through a low rank, one head of keys that are values, too, outputs
/// through low ranks by groups of heads. Which layers compress how is their shape's. q_rank 0 = none.
struct CompressedAttention {
  std::int64_t q_rank = 0, o_rank = 0, o_groups = 0;
  std::int64_t window = 0;                                 ///< plain keys that a query sees, its own among them
  std::int64_t top_k = 0, index_heads = 0, index_dim = 0;  ///< of layers that pick among compressed keys
};

/// Layers whose queries see only the last `positions` keys, their own among them (without a causal mask as many on
/// either side), or the keys of their own chunk of so many. positions 0 = none.
struct AttentionWindow {
  std::int64_t positions = 0;
  /// which layers have it, a letter each, repeated over all: w = window, f = full attention. "wwwwwf": all but every
  /// sixth; "w": all
  std::string pattern = "w";
  bool chunks = false;  ///< chunks side by side (Llama 4) in place of a window that slides
};

/// Norms without weights of their own, scaled and shifted by vectors of the sample, which gate the sublayers, too
/// (adaLN, Peebles and Xie 2022, arXiv 2212.09748). frequencies 0 = none.
struct Modulation {
  std::int64_t frequencies = 0;  ///< waves that say when a sample is
  std::int64_t classes = 0;      ///< rows of a table that says of which class it is; 0: none
  std::int64_t pooled = 0;       ///< numbers that say what the whole text is; 0: none (Flux)
  bool guidance = false;         ///< how closely to follow the text, said as the time is (Flux)
  bool shared = false;           ///< one product makes the vectors of all layers, each adds a table (Wan)
  bool common = false;           ///< layers of a kind have the same vectors, made once (FLUX.2)
  bool no_bias = false;          ///< of its products and of the network's last one (FLUX.2)
  /// norms have weights, and vectors scale them and gate what is normed behind sublayers: no shifts (Lumina 2)
  bool gains = false;
  std::int64_t width = 0;  ///< numbers that say when a sample is; 0: as many as the stream has
  std::int64_t inner = 0;  ///< between the two matrices that make them; 0: as many
  /// a network of so many layers, so wide, makes all vectors of all layers, each of a row of `frequencies` numbers that
  /// say when a sample is and which vector is asked for (Chroma); 0: products of layers do
  std::int64_t approximator_layers = 0, approximator_width = 0;
  /// of an encoder: two vectors of a layer gate its sublayers, whose norms have weights of their own (HunyuanVideo)
  bool gates = false;
};

/// A step from an encoder's positions to positions of the network's own sequence.
struct ProjectorStep {
  enum class Kind : std::uint8_t {
    norm,    ///< of each row
    merge,   ///< so many neighbours become one row, side by side
    mean,    ///< so many neighbours become one row, their mean
    matrix,  ///< to so many numbers
    gated,   ///< two matrices to so many numbers, one of which gates the other (SwiGLU)
    layer,   ///< begins with what so many layers gave, in place of all
    beside,  ///< what so many layers gave stands beside the row so far
    attend,  ///< so many learned queries look at the rows of an image, by attention with biases (MiniCPM-V)
  };
  Kind kind = Kind::matrix;
  std::int64_t size = 0;
  Norm norm = Norm::rmsnorm;
  bool bias = false, activated = false;  ///< of a matrix; GELU behind it or behind a norm
  bool operator==(const ProjectorStep&) const = default;
};
using Projector = std::vector<ProjectorStep>;
/// "merge 4", "layernorm", "4608 bias gelu".
std::string projector_word(const ProjectorStep& step);
std::optional<ProjectorStep> projector_step(std::string_view word);
/// Positions of the encoder that one row behind stands for, but for learned queries.
std::int64_t positions_merged(const Projector& projector);
/// Rows that come behind so many positions of one image.
std::int64_t rows_behind(const Projector& projector, std::int64_t positions);

/// What follows the mixing of positions in a layer.
enum class Feed : std::uint8_t { none, mlp, experts };

/// Layers whose sizes are not the network's (searched networks; Gemma 4's layers of full attention). 0: as the network.
struct LayerShape {
  std::string name;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0, value_dim = 0, ffn_hidden = 0;
  bool key_is_value = false;    ///< values are the keys before their norm and rotation: one projection serves both
  bool qk_norm = false;         ///< heads are normed here, whatever the network's layers have (Llama 3.2 Vision)
  bool sublayer_gates = false;  ///< a number scales what each sublayer gives (Llama 3.2 Vision)
  bool no_sinks = false;        ///< no number of each head in the softmax, whatever the network's layers have
  bool bare_attention = false;  ///< no norm before attention: the embedding's serves (ModernBERT's first layer)
  std::int64_t ratio = 0;       ///< of compressed attention: positions that a compressed key stands for; 0: none
  bool picks = false;           ///< an indexer picks among compressed keys, whose neighbours overlap
  bool hashed_experts = false;  ///< a hash of the word chooses the experts: no correction of the router
  bool gate_cutoff = false;     ///< gates of the MLP are cut off here, whatever the network's layers have
  bool joint = false;     ///< the encoder's positions and the network's have weights of their own, and attend together
  bool ends = false;      ///< of a joint layer: nothing is made of the encoder's positions but keys (SD3's last)
  bool second = false;    ///< of a joint layer: beside it the network's own positions attend among themselves (SD3.5)
  bool alone = false;     ///< beside an encoder that joins: the network's own positions go through it alone (Lumina 2)
  bool parallel = false;  ///< attention and MLP read one norm, and one product takes both to the stream (Flux)
  bool all_keys = false;  ///< queries see all keys, where the network's see those that an indexer picks
  std::string keys_of{};  ///< the shape of one layer before, whose keys and values serve: queries alone are made here
  Mixer mixer{};          ///< in place of the network's
};

/// What tells the layers of a network apart: those of one kind run the same operators. Attention and mixer in one layer
/// stand side by side under one norm (Falcon-H1).
struct LayerKind {
  Feed feed = Feed::mlp;
  bool windowed = false, mixer = false, attention = true;
  bool picked = false;     ///< of sparse attention: an earlier layer's choice of keys serves
  bool crosses = false;    ///< attention over what the encoder made, a sublayer behind the layer's own attention
  std::uint8_t shape = 0;  ///< 0: the network's; else of NetworkSpec::shapes, counted from 1
  auto operator<=>(const LayerKind&) const = default;
  /// Sublayers one behind the other, each with norms of its own and a residual.
  [[nodiscard]] int sublayers() const {
    return (mixer || attention ? 1 : 0) + (crosses ? 1 : 0) + (feed != Feed::none ? 1 : 0);
  }
};

/// Each layer has an input of its own behind its sublayers: a row of its own table of words, and a product of what was
/// embedded, which a gate of the stream scales (Gemma 3n, transformers src/transformers/models/gemma3n). width 0: none.
struct LayerInputs {
  std::int64_t width = 0, words = 0;
};

}  // namespace stepcast
