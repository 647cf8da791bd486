// What is trained: a network's dimensions as a user states them (NetworkSpec, one JSON file each), and the same
// as blocks of operators over named dims for a given batch (Network).
//
// Dims of the transformer family: b sequences, s positions (queries), t positions (keys), h hidden, g kv groups,
// r queries per group, d head size, f MLP width, v vocabulary. `layer` is the repeat of the layer block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/error.h"
#include "model/operator.h"

namespace stepcast {

enum class Norm : std::uint8_t { rmsnorm, layernorm };
enum class Activation : std::uint8_t { swiglu, geglu, gelu, relu, squared_relu };
enum class Positions : std::uint8_t { rope, learned, alibi, none };

/// A decoder-only transformer as its config states it. Counts are per model, not per rank.
struct NetworkSpec {
  std::string id, name, source;
  std::vector<std::string> aliases;   ///< Hugging Face and vendor names
  std::int64_t layers = 0, hidden = 0, ffn_hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
  std::int64_t sequence = 0;          ///< training sequence length; `--seq` overrides
  std::int64_t max_positions = 0;     ///< rows of a learned position table
  Norm norm = Norm::rmsnorm;
  Activation activation = Activation::swiglu;
  Positions positions = Positions::rope;
  bool linear_bias = false;           ///< biases on all projections
  bool qkv_bias = false;              ///< biases on q, k, v only (implied by linear_bias)
  bool tied_embeddings = false;
  bool embedding_norm = false;        ///< BLOOM normalises after the embedding
  bool dropout = false;               ///< dropout trained with (attention, residual)
  std::int64_t published_parameters = 0;  ///< exact published count; 0 = not published
  std::string published_parameters_billion;  ///< where only a rounded count is printed: its digits, "529.6"
};

/// A run of operators; the layer block repeats.
struct Block {
  std::string name;                   ///< "embedding", "layer", "head"
  std::int64_t repeat = 1;
  std::vector<Operator> operators;    ///< in a topological order
  int input = -1;                     ///< tensor that enters from the block before (-1: none)
  int output = -1;                    ///< tensor handed to the next block; for a repeated block, of input's shape
};

/// The operators of one micro-batch over all ranks. Tensor and dim ids index the tables here.
struct Network {
  std::string id;
  std::vector<Dim> dims;
  std::vector<Tensor> tensors;
  std::vector<Block> blocks;

  [[nodiscard]] int find_dim(const std::string& name) const;     ///< -1 when absent
  [[nodiscard]] int find_tensor(const std::string& name) const;  ///< -1 when absent
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
  std::int64_t sequences = 1;          ///< micro-batch x data-split ranks
  std::int64_t positions = 1;          ///< sequence length
  double activation_bytes = 2, weight_bytes = 2;
  double loss_bytes = 2;               ///< element size of the logits inside the loss; wider ones are cast first
};

/// Expands a transformer spec into blocks of operators. The spec must be valid (read_network checks it).
Network build_network(const NetworkSpec& spec, const BatchShape& batch, AttentionForm form);

/// Checks a network's operators as a graph (Boost.Graph): every block acyclic, each input produced, given or a weight.
Expected<void> check_graph(const Network& network);

/// Parameters of the whole model, by summing weight tensors over repeats (a tied tensor counts once).
std::int64_t parameter_count(const NetworkSpec& spec);

/// Model FLOPs of one training step of `tokens` tokens: forward x 3, no recompute; matrix products and attention
/// core only. Causal counts half the core.  Source: Narayanan et al. 2021 (arXiv 2104.04473) eq. 3, PaLM appendix B.
double model_flops(const NetworkSpec& spec, double tokens, std::int64_t sequence, bool causal);

Expected<NetworkSpec> read_network(const std::string& text, const std::string& where);
std::string write_network(const NetworkSpec& spec);

}  // namespace stepcast
