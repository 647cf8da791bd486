// What is trained: a network's dimensions as a user states them (NetworkSpec, one JSON file each), and the same
// as blocks of operators over named dims for a given batch (Network).
//
// Dims of the transformer family: b sequences, s positions (queries), t positions (keys), h hidden, g kv groups,
// r queries per group, d head size, f MLP width, v vocabulary; a mixer adds dims of its own (mixer.h). `layer` is the
// repeat of the layer block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/base/large_value.h"
#include "model/network/adapters.h"
#include "model/network/mixer.h"
#include "model/network/network_parts.h"
#include "model/network/operator.h"

namespace stepcast {

/// A network as its config states it. Counts are per model, not per rank.
struct NetworkSpec {
  LARGE_VALUE(NetworkSpec);
  std::string id, name, source;
  std::vector<std::string> aliases;  ///< Hugging Face and vendor names
  std::string family;                ///< that reads its classes, by which engines keep caches: "gemma4"; "" = not known
  std::int64_t layers = 0, hidden = 0, ffn_hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
  std::int64_t value_dim = 0;      ///< of a head's values, where keys are wider (MiMo-V2); 0: head_dim
  std::int64_t sequence = 0;       ///< training sequence length; `--seq` overrides
  std::int64_t max_positions = 0;  ///< rows of a learned position table
  /// keys are picked in longer sequences alone (InfLLM v2, MiniCPM 4.1); of a network without sparse attention: what
  /// picks them is not told; 0: in all
  std::int64_t dense_positions = 0;
  std::int64_t distances = 0;  ///< rows of the table of relative positions, one table for all layers
  Norm norm = Norm::rmsnorm;
  NormPlace norm_place = NormPlace::before;
  Activation activation = Activation::swiglu;
  Positions positions = Positions::rope;
  bool causal = true;            ///< a query sees no later key; false in encoders
  bool linear_bias = false;      ///< biases on all projections
  bool qkv_bias = false;         ///< biases on q, k, v only (implied by linear_bias)
  bool out_bias = false;         ///< bias on the attention's output projection (implied by linear_bias)
  bool mlp_bias = false;         ///< biases on the MLP's (implied by linear_bias)
  bool no_key_bias = false;      ///< keys have none, whatever the others have (Whisper)
  bool qk_norm = false;          ///< norm of each query and key head (Qwen3)
  bool qk_norm_rms = false;      ///< an RMS norm, whatever the others are (Wan)
  bool qk_norm_width = false;    ///< of all heads together, one of queries and one of keys (OLMo 2)
  bool qk_norm_heads = false;    ///< each head has weights of its own and no offset (Command R+)
  bool key_is_value = false;     ///< values are the keys before their norm and rotation (LayerShape)
  bool layer_scale = false;      ///< a number that each layer's output is multiplied with (Gemma 4)
  bool sublayer_gates = false;   ///< a number scales what each sublayer gives (LayerShape)
  bool sublayer_scales = false;  ///< a vector does (InternViT)
  bool borrowed_keys = false;    ///< keys and values are an earlier layer's (LayerShape::keys_of)
  bool value_norm = false;       ///< a norm of each value head, without a weight (Gemma 4)
  bool attention_gate = false;   ///< as many gates as query projections scale what attention gives (Qwen3-Next)
  bool head_gate = false;        ///< of those gates one for each query head (Step 3.5)
  bool attention_sinks = false;  ///< a number per head that takes part in the softmax (gpt-oss)
  bool logit_softcap = false;    ///< tanh over the logits (Gemma 2)
  bool head_bias = false;        ///< a bias on the logits
  /// Words at masked positions are guessed (BERT, arXiv 1810.04805, section 3.1): a matrix, GELU and a norm before the
  /// logits, which are made of this share of the positions. The share is the run's; 0: not said.
  bool masked_loss = false;
  double masked_share = 0;
  std::int64_t pooled_outputs = 0;  ///< classes that the first position is sorted into, by a pooled matrix; 0: none
  std::int64_t activation_parameters = 0;  ///< numbers that an MLP's activation learns (xIELU: 2)
  /// attention and MLP read one norm and write one sum (GPT-J); GPT-NeoX: two norms
  bool parallel_block = false;
  bool joined_output = false;        ///< one product behind both, with one bias (LayerShape::parallel)
  std::int64_t norms_per_layer = 2;  ///< 1 with a shared norm of a parallel block
  Experts experts;
  LatentAttention latent;
  SparseAttention sparse;
  CompressedAttention compressed;
  /// residual streams, one of which the sublayers read: a layer predicts all from each other before its sublayers and
  /// corrects them behind (AltUp, arXiv 2301.13310); 0: none
  std::int64_t predicted_streams = 0;
  std::int64_t side_rank = 0;  ///< of a low-rank way beside attention (LAuReL, arXiv 2411.07501); 0: none
  /// of plain attention: queries go through a rank that all heads share, with a norm (Step3, arXiv 2507.19427); 0: none
  std::int64_t query_rank = 0;
  bool bare_crossing = false;  ///< attention over the encoder reads the stream without a norm (PixArt)
  bool gate_cutoff = false;    ///< of an MLP's gates those far above their row's mean are left alone (Gemma 3n)
  std::int64_t streams = 1;    ///< residual streams, mixed before and behind each sublayer (mHC, arXiv 2512.24880)
  AttentionWindow window;
  Mixer mixer;  ///< what layers have in place of attention, where the pattern says so
  /// A kind for each layer, repeated over all; empty: attention in all, feeds by `experts`, windows by `window`.
  /// Written as a word per layer, its sublayers in order: M mixer, * attention, w attention in the window, d attention
  /// over the keys that an earlier layer picked, x attention over the encoder's positions, - MLP, E experts:
  /// "M E M E M * E", "ME ME ME *E", "*x-".
  std::vector<LayerKind> pattern;
  std::vector<LayerShape> shapes;  ///< a word's name behind a colon: "w- w- *-:global"
  /// One or none: layers of its own over a sequence of its own, which the layers with x in their word look at. It has
  /// no head; with tied_embeddings it reads the network's table of words.
  std::vector<NetworkSpec> encoders;
  /// Numbers that each position of the input has in place of a word: vocab is 0 then.
  std::int64_t features = 0;
  Intake intake = Intake::matrix;
  std::int64_t planes = 0;    ///< that convolutions of 3 x 3 make of frames
  bool sound = false;         ///< of an encoder with projectors: it reads frames of sound, and `images` counts clips
  bool joins = false;         ///< of an encoder: its positions stand in front of the network's own, in one sequence
  bool no_last_norm = false;  ///< of an encoder: none stands behind its last layer
  /// Of an encoder of images: its rows stand in place of words in the network's own sequence, behind these. Several
  /// read the same positions, and their rows are added up (Qwen3-VL's go to its first layers one by one).
  std::vector<Projector> projectors;
  std::int64_t images = 0;         ///< of such an encoder: sequences of its own in each of the network's; 0: text alone
  bool frozen = false;             ///< not trained; through an encoder nothing goes back then
  bool frozen_projectors = false;  ///< not trained, apart from the encoder's layers
  bool no_intake_bias = false;     ///< features are taken in without one, whatever the layers have
  bool intake_bias = false;        ///< with one, though the layers have none
  std::int64_t position_gates = 0;  ///< numbers that scale its tables of positions (Llama 3.2 Vision: 3)
  bool class_token = false;         ///< the first position is not of the input but learned (ViT)
  std::int64_t classes = 0;         ///< that the first position is sorted into, in place of words
  std::int64_t outputs = 0;         ///< numbers that each position gives, by their squared error, in place of words
  Modulation modulation;
  std::int64_t mtp_layers = 0;         ///< multi-token prediction modules behind the last layer (DeepSeek-V3)
  std::vector<LayerKind> mtp_pattern;  ///< layers of a module; empty: one, of attention and experts or MLP
  LayerInputs layer_inputs;
  bool tied_embeddings = false;
  std::int64_t embedded_only = 0;         ///< words that are looked up and never guessed (Llama 3.2 Vision's images: 8)
  bool embedding_norm = false;            ///< BLOOM normalises after the embedding
  std::int64_t token_types = 0;           ///< rows of a second table that is added to the embedding (BERT: 2)
  bool dropout = false;                   ///< dropout trained with, on attention's weights and the residual stream
  bool no_attention_dropout = false;      ///< on the stream alone (Megatron's attention_dropout 0)
  bool no_hidden_dropout = false;         ///< on attention's weights alone (its hidden_dropout 0)
  std::int64_t published_parameters = 0;  ///< exact published count; 0 = not published
  std::string published_parameters_billion;  ///< where only a rounded count is printed: its digits, "529.6"
};

/// Layer 0..layers-1: experts instead of the plain MLP?
inline bool is_expert_layer(const NetworkSpec& spec, std::int64_t layer) {
  if (!spec.pattern.empty())
    return spec.pattern[static_cast<std::size_t>(layer) % spec.pattern.size()].feed == Feed::experts;
  const Experts& x = spec.experts;
  return x.count > 0 && layer >= x.dense_layers && (layer - x.dense_layers) % x.every == x.every - 1;
}

/// Does an indexer pick keys among so many?
inline bool picks_keys(const NetworkSpec& spec, std::int64_t positions) {
  return spec.sparse.top_k > 0 && positions > spec.dense_positions;
}

/// Does any layer see less than all of `positions`? A window that holds all of them is none.
inline bool has_windows(const NetworkSpec& spec, std::int64_t positions) {
  return spec.window.positions > 0 && spec.window.positions < positions;
}

/// Layer 0..layers-1 at a training sequence of `positions`.
inline LayerKind layer_kind(const NetworkSpec& spec, std::int64_t layer, std::int64_t positions) {
  const auto at = static_cast<std::size_t>(layer);
  LayerKind kind{is_expert_layer(spec, layer) ? Feed::experts : Feed::mlp, false, false, true};
  if (spec.pattern.empty()) kind.windowed = spec.window.pattern[at % spec.window.pattern.size()] == 'w';
  else kind = spec.pattern[at % spec.pattern.size()];
  kind.windowed = kind.windowed && has_windows(spec, positions);
  return kind;
}
/// A window instead of full attention?
inline bool is_windowed_layer(const NetworkSpec& spec, std::int64_t layer, std::int64_t positions) {
  return layer_kind(spec, layer, positions).windowed;
}
std::int64_t windowed_layers(const NetworkSpec& spec, std::int64_t positions);

/// Of a module for multi-token prediction.
std::vector<LayerKind> prediction_layers(const NetworkSpec& spec);
/// Has any layer this? The form of a spec whose pattern is empty has attention everywhere.
bool has_attention(const NetworkSpec& spec);
bool has_plain_mlp(const NetworkSpec& spec);
/// The network's mixer and those of its shapes; empty where no layer has one.
std::vector<Mixer> mixers(const NetworkSpec& spec);

/// "ME" and back, the shape left out.
std::string layer_word(const LayerKind& kind);
std::optional<LayerKind> layer_of_word(std::string_view word);
/// With the shape: "ME:wide".
std::string layer_word(const NetworkSpec& spec, const LayerKind& kind);

/// The network as its layers of one shape have it.
NetworkSpec shaped(const NetworkSpec& spec, std::uint8_t shape);

/// The kinds that the network has, each once, and of which of them each layer is: an index into the first.
struct LayerKinds {
  std::vector<LayerKind> kinds;
  std::vector<std::uint8_t> of_layer;
  [[nodiscard]] std::int64_t count(std::size_t kind) const;
};
LayerKinds layer_kinds(const NetworkSpec& spec, std::int64_t positions);

/// A run of operators; layer blocks repeat.
struct Block {
  enum class Place : std::uint8_t { first, layers, last };  ///< which stages run it
  /// "embedding", "layer", "windowed_layer", "expert_layer", "mixer_expert_layer", "mixer", "attention", "experts",
  /// ..., "mtp", "head"
  std::string name;
  std::int64_t repeat = 1;
  std::vector<Operator> operators;  ///< in a topological order
  int input = -1;                   ///< tensor that enters from the block before (-1: none)
  int output = -1;                  ///< tensor handed to the next block; for a repeated block, of input's shape
  Place place = Place::layers;
  int kind = -1;                ///< of a block of layers: its index in LayerKinds::kinds
  std::vector<int> reads = {};  ///< outputs of earlier blocks that every repeat of this one looks at
};

/// The operators of one micro-batch over all ranks. Tensor and dim ids index the tables here.
struct Network {
  std::string id;
  std::vector<Dim> dims;
  std::vector<Tensor> tensors;
  std::vector<Block> blocks;

  [[nodiscard]] int find_dim(std::string_view name) const;     ///< -1 when absent
  [[nodiscard]] int find_tensor(std::string_view name) const;  ///< -1 when absent
  [[nodiscard]] double elements(int tensor) const;
  [[nodiscard]] double bytes(int tensor) const { return elements(tensor) * tensors[tensor].bytes_per_element; }
};

/// Which form the attention core takes in the operator list: the software decides (Stack).
enum class AttentionForm : std::uint8_t {
  fused,    ///< one operator of kind attention
  unfused,  ///< scores, softmax, dropout, context as separate operators
};

/// The shape of one micro-batch over all ranks, and the element sizes.
struct BatchShape {
  std::int64_t sequences = 1;  ///< micro-batch x data-split ranks
  std::int64_t positions = 1;  ///< sequence length
  double activation_bytes = 2, weight_bytes = 2;
  std::int64_t lora_rank = 0;       ///< > 0: every weight is frozen, and dense projections get low-rank adapters
  double loss_bytes = 2;            ///< element size of the logits inside the loss; wider ones are cast first
  AdaptedProjections adapted = {};  ///< which of the dense projections do
  /// Of an iteration of an engine: forward alone, keys and values into a cache, the last position's logits sampled.
  bool serves = false;
  std::int64_t cached = 0;  ///< positions of each sequence that stand in the cache already
  double cache_bytes = 2;   ///< element size of the cache
  bool autocast = false;    ///< weights wide, products on casts: model/network/autocast.h
};

/// Iterations of at most so many positions of a sequence read the latent cache itself; with more, keys and values are
/// made of it again (vllm-project/vllm v1/attention/backends/mla/common.py: decode of a sequence has its speculated
/// words in it). 0: the network has no latent cache, or all its queries read picked keys of it as they are.
inline std::int64_t absorbed_positions(const NetworkSpec& spec) {
  return spec.latent.kv_rank > 0 && spec.sparse.top_k == 0 ? 8 : 0;
}

/// A part of a network that its spec does not describe: an image encoder, a projector.
struct NetworkPart {
  std::string name;  ///< "vision", "projector"
  std::int64_t parameters = 0;
  double flops = 0;  ///< forward, of one image of the size that the file tells; 0: not counted
};

/// So many layers of a kind that is told in words.
struct LayerCount {
  std::string kind;
  std::int64_t layers = 0;
};

/// Expands a transformer spec into blocks of operators. The spec must be valid (read_network checks it).
Network build_network(const NetworkSpec& spec, const BatchShape& batch, AttentionForm form);

/// Checks a network's operators as a graph: every block acyclic, each input produced, given or a weight.
Expected<void> check_graph(const Network& network);

/// Parameters of the whole model, by summing weight tensors over repeats (a tied tensor counts once).
std::int64_t parameter_count(const NetworkSpec& spec);
/// Those of them that one token meets: without the routed experts that it does not choose.
std::int64_t active_parameter_count(const NetworkSpec& spec);
/// Of them those of the encoder, without a table of words that it shares with the network. 0: there is none.
std::int64_t encoder_parameter_count(const NetworkSpec& spec);
/// Of those what takes an encoder's positions to the network's.
std::int64_t projector_parameter_count(const NetworkSpec& spec);
/// Vectors that modulate all layers and the last norm.
std::int64_t modulation_vectors(const NetworkSpec& spec);
/// Do layers look at what the encoder made? Else its rows stand in place of words, or in front of them.
bool looks_at_encoder(const NetworkSpec& spec);
/// Do layers read what stands on the first stage, or what another layer made, beside the stream?
bool reads_beside_stream(const NetworkSpec& spec);
/// Rows that the encoder's images take up in a sequence of the network. 0: none do.
std::int64_t image_positions(const NetworkSpec& spec);
/// Layers before the last whose features projectors read, in order: "layer 9", "beside 9" of 24.
std::vector<std::int64_t> lending_layers(const NetworkSpec& encoder);

/// Model FLOPs of one training step of `tokens` tokens: forward x 3, no recompute; matrix products and attention
/// core only. Causal counts half the core, and of a window or a chunk the mean number of keys that a query sees;
/// without it a query counts as seeing all of them. Source: Narayanan et al. 2021 (arXiv 2104.04473) eq. 3, PaLM
/// appendix B; windows: NVIDIA-NeMo/Megatron-Bridge 067f987, training/utils/flop_utils.py.
double model_flops(const NetworkSpec& spec, double tokens, std::int64_t sequence, bool causal);

Expected<NetworkSpec> read_network(const std::string& text, const std::string& where);
std::string write_network(const NetworkSpec& spec);

}  // namespace stepcast
