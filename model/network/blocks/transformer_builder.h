// Internal to model/: builds a transformer's blocks of operators. One einsum per weight matrix, pointwise operators in
// the decomposed form of docs/design.md, rule 11, so that every placement question has an answer; `kernel` says what
// runs as one launch where the software joins it.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/network/network.h"

namespace stepcast {

class TransformerBuilder {
 public:
  /// Blocks, dims and tensors are added to `net`. `prefix` stands in front of an encoder's blocks.
  TransformerBuilder(
      const NetworkSpec& spec, const BatchShape& batch, AttentionForm form, Network& net, std::string prefix = "");
  void build();

 private:
  using Tags = std::vector<std::string>;

  // transformer_pieces.cpp: what every part uses
  int tensor(std::string name, std::vector<int> dims, double bytes, TensorRole role);
  int weight(std::string name, std::vector<int> dims);
  /// What a frozen encoder makes has no gradient.
  [[nodiscard]] TensorRole made_role() const {
    return batch_.serves || (frozen_ && whole_.frozen && !prefix_.empty()) ? TensorRole::data : TensorRole::activation;
  }
  int activation(std::string name, std::vector<int> dims);
  int statistic(std::string name, std::vector<int> dims, double bytes = 4);
  [[nodiscard]] Access whole(int tensor) const;
  Operator& add(std::string name, Tags tags, OperatorKind kind, std::string function, int output,
      std::initializer_list<int> inputs, std::string kernel = {});
  Operator& product(std::string name, Tags tags, int output, int x, int w, std::string kernel = {});
  void adapter(const std::string& name, const Tags& tags, int output, int x, int w, int contracted = -1);
  void put_adapters();
  int norm(const std::string& name, int x, Tags tags, std::size_t over = 1, bool scaled = true) {
    return norm(name, x, std::move(tags), over, scaled, spec_->norm);
  }
  int norm_by(const std::string& name, int x, const Tags& tags, int gamma);
  /// `weighted`: so many of the last dims have weights of their own; 0: those that the norm is over.
  int norm(
      const std::string& name, int x, Tags tags, std::size_t over, bool scaled, Norm kind, std::size_t weighted = 0);
  int biased(const std::string& name, int x, std::vector<int> dims, Tags tags, const std::string& kernel);
  int dropped(const std::string& name, int x, Tags tags, const std::string& kernel);
  int scaled(const std::string& name, int x, std::vector<int> dims, Tags tags, const std::string& kernel);

  // transformer_dims.cpp
  int dim(const char* name, std::int64_t extent, bool expected = false);
  int new_dim(const char* name, std::int64_t extent, bool expected = false);
  [[nodiscard]] std::vector<int> streamed() const;

  // transformer_embedding.cpp
  void embedding();

  // transformer.cpp
  void start_block(const std::string& name, std::int64_t repeat, Block::Place place);
  void layers(Block::Place place);
  void layer_run(const LayerKinds& all, std::int64_t from, std::int64_t to, Block::Place place);
  void layer(LayerKind kind, std::int64_t repeat, Block::Place place);

  // transformer_layer.cpp
  int layer_body(int x, LayerKind kind);
  int sublayers(int x, LayerKind kind);
  int parallel_body(int x, LayerKind kind);
  int mixing(int x, LayerKind kind);
  int crossing(int x);
  int feeding(int x, Feed feed);
  [[nodiscard]] int gate_of(std::size_t vector) const { return vectors_.empty() ? -1 : vectors_[vector]; }
  int normed_before(const std::string& name, int x);
  int normed_behind(const std::string& name, int y);
  int normed_sum(const std::string& name, int sum);
  int with_side(int sum, int x);
  int own_input(int x);
  int residual(const std::string& name, int stream, int y, std::vector<int> bias_dims, int gate = -1);

  // transformer_head.cpp
  void prediction();
  int masked(int x);
  void pooled(int x);
  int first_position(int x);
  void squared_error(int x);
  void head(const char* name, const std::string& prefix);
  void sampled(int x);

  // transformer_encoder.cpp
  void encoder();
  void encode(const TransformerBuilder& network);
  int handed_on(int x);
  int features_in();
  int part(const std::string& name, int x, int rows);
  int together(const std::string& name, const char* function, int own, int other);
  int joint_body(int x);
  int own_body(int x, LayerKind kind);
  int headed(const std::string& name, int x, std::vector<int> heads);
  int second_attention(int x);
  int planes_in();
  int convolved(const std::string& name, int x, int taps);
  int cross_attention(int x, int y);

  // transformer_projector.cpp
  int projected(const std::string& name, int x, const ProjectorStep& step, int out);
  int queried(const std::string& name, int x, const ProjectorStep& step);
  void layers_that_lend();
  int features_of(std::int64_t layers, int last);
  int rows_beside(const std::string& name, const std::vector<int>& parts);
  void project(int x, const TransformerBuilder& network);
  int patches_alone(int x, const std::string& suffix);
  int filled(int x);

  // transformer_modulation.cpp
  void condition();
  int silu(const std::string& name, int x);
  int embedded(const std::string& name, int x);
  int with_bias(const std::string& name, int x);
  int approximated();
  int row_of(const std::string& name);
  int vector_of(const std::string& name, int active);
  void modulate_layer(std::size_t vectors, const std::string& suffix = "");
  void modulate_head();
  int modulated_norm(const std::string& name, int x, Tags tags, std::size_t first);
  int modulated(const std::string& name, int normed, Tags tags, std::size_t first);

  // transformer_attention.cpp
  int projection(const std::string& letter, int x, std::vector<int> heads);
  void gates(int x);
  int rope(const std::string& name, int x);
  int qk_norm(const std::string& name, int x);
  /// What a core is called, and over which keys it goes.
  struct Core {
    std::string prefix;
    int t = -1;
    bool causal = true, by_distance = false;
  };
  [[nodiscard]] Core own_core() const;
  [[nodiscard]] Access keys(int tensor, const Core& core) const;
  Operator& fused_core(const Core& core, int q, std::initializer_list<int> keys_and_values, int o);
  void windowed_core(Operator& core, bool windowed);
  void unfused_core(const Core& core, int q, int k, int v, int o, int sinks = -1);
  int attention(int x, int y, LayerKind kind);
  int queries(int x);
  int plain_attention(int x, bool windowed);
  int borrowing_attention(int x, bool windowed);
  /// `made`: the keys of these positions, where k stands in a cache.
  int plain_core(int x, int q, int k, int v, bool windowed, int made);
  int cached(const std::string& name, int x) { return cached(name, x, t_, batch_.cache_bytes); }
  int cached(const std::string& name, int x, int positions, double element_bytes);

  // transformer_latent.cpp
  int latent_attention(int x, LayerKind kind);
  int absorbed_attention(int cq, int x, int latent, int turned);
  int latent_down(const char* name, int x, int rank);
  int latent_up(const char* name, int latent, int rank, std::vector<int> heads);

  // transformer_sparse.cpp
  int cached_index_key(int x, int positions);
  int compressed_attention(int x, int y, LayerKind kind);
  int compress(const std::string& name, int x, int width, bool overlaps);
  int index_compressed(int x, int cq);
  int sparse_core(int x, int cq, int latent, int kr, bool picked);
  int index(int x, int cq);
  void read_chosen(Operator& core, int chosen);
  int index_blocks(int x);
  int index_means(int q, int k);
  int means_of(int k, const std::string& name, std::int64_t apart);
  int index_scores(int asked, int seen, int w);

  // transformer_mixer.cpp
  int mixer(int x, int y);
  [[nodiscard]] bool mixes_streams() const { return cc_ >= 0; }
  [[nodiscard]] bool predicts_streams() const { return hm_ >= 0; }
  int copied_streams(int x);
  int coefficients(const std::string& name, int x, int count, int scales);
  int merged(const std::string& name, int x, int mix);
  int spread(const std::string& name, int x, int y, int mix);
  int active_stream(const std::string& name, int x);
  int magnitude(const std::string& name, int x, const Tags& tags);
  int projected_stream(const std::string& name, int x, int magnitude, const Tags& tags);
  int projected_streams(int x);
  int unprojected_streams(int x);
  int routed_streams(const std::string& name, int x);
  int predicted(int x);
  int corrected(int guessed, int made);
  int added_to_others(const std::string& name, int x, int y);

  // transformer_mlp.cpp
  [[nodiscard]] bool gated() const;
  [[nodiscard]] const char* act_name() const;
  int cut_off(int gate, const Tags& tags);
  int mlp(int x, int y, const std::string& name, int width, Tags tags);
  int activated(const std::string& name, std::vector<int> dims, std::initializer_list<int> x, const Tags& tags);
  int experts(int x, int scored, int y);
  void shared(int x, int y);
  int normed_experts(int stream, int x, int y);

  /// Layers of one shape: the network as they have it, and its dims that differ from layer to layer.
  struct Shape {
    const NetworkSpec* spec = nullptr;
    std::string suffix;  ///< of dims that its mixer alone has: ".global"
    int g = -1, r = -1, d = -1, f = -1;
    int dv = -1;                    ///< of values
    int sc = -1, tc = -1, ra = -1;  ///< compressed positions, as queries' and as keys', and how many one stands for
  };
  void make_shapes();
  void mixer_dims(const Shape& shape);
  void use_shape(std::uint8_t shape);
  [[nodiscard]] int mixer_dim(const std::string& name) const;

  std::string prefix_;
  bool frozen_;              ///< the weights being made are not trained
  const NetworkSpec* spec_;  ///< the network, or as the layers being built have it
  const NetworkSpec& whole_;
  std::vector<NetworkSpec> shaped_;  ///< the specs of shapes behind the first
  std::vector<Shape> shapes_;
  std::string mixer_suffix_;
  BatchShape batch_;
  AttentionForm form_;
  Network& net_;
  int b_ = -1, s_ = -1, t_ = -1, h_ = -1, g_ = -1, r_ = -1, d_ = -1, f_ = -1, v_ = -1;
  int e_ = -1, c_ = -1, k_ = -1, j_ = -1, fs_ = -1, le_ = -1;  // experts
  int lq_ = -1, lk_ = -1, dn_ = -1, dr_ = -1, dv_ = -1;        // latent attention
  int ih_ = -1, id_ = -1, ik_ = -1, dq_ = -1;                  // indexer of sparse attention
  int z_ = -1;                                                 // rank of adapters
  // clang-format off
  struct Adapter { std::string name; Tags tags; int output, x, w; };
  // clang-format on
  std::vector<Adapter> adapters_;  // beside the products of a kernel that may run as one; they stand behind it
  int n_ = -1, cc_ = -1, cs_ = -1, hc_ = -1, hs_ = -1;  // streams and their coefficients
  int hm_ = -1, hr_ = -1;                               // predicted streams as they are read, and as they are routed
  int router_ = -1, router_norm_ = -1, others_ = -1;    // of the layer being built; which streams are not active
  int sr_ = -1;                                         // rank of the way beside attention
  int or_ = -1, sc_ = -1, tc_ = -1, ra_ = -1;           // compressed attention
  bool picks_ = false;
  int mixed_ = -1;                         // coefficients of the streams of the sublayer being built
  int sm_ = -1;                            // positions whose logits are made
  int one_ = -1;                           // of a number alone
  int xa_ = -1;                            // what an activation learns
  int gate_ = -1;                          // of attention, projected beside its queries
  int memory_ = -1, tm_ = -1;              // what the encoder made, and its positions as keys
  int all_ = -1, own_ = -1, joined_ = -1;  // positions together, the network's own, and the encoder's
  int to_ = -1;                            // the network's own as keys, of a second attention
  int distances_ = -1;                     // table of relative positions
  int embedded_ = -1, iw_ = -1, iv_ = -1;  // what layers' own inputs are made of, their width, and their words
  int input_norm_ = -1;                    // of all layers' own inputs
  std::vector<std::pair<int, int>> lent_;  // keys and values that layers of a shape lend
  std::vector<std::pair<std::int64_t, int>> features_;  // of an encoder: what so many layers gave, for projectors
  std::size_t shape_ = 0;                               // of the layer being built
  int condition_ = -1, hb_ = -1;                    // a sample's vector, and the stream's width where it is contracted
  int nv_ = -1;                                     // rows of approximated vectors
  int cw_ = -1, ci_ = -1;                           // its width, and that between the matrices that make it
  std::vector<int> shared_, vectors_;               // what modulates all layers, and the layer being built
  std::map<std::string, std::vector<int>> common_;  // layers of a kind
  int embedding_table_ = -1, head_table_ = -1, tokens_ = -1;
};

}  // namespace stepcast
