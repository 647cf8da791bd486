// Internal to model/: builds a transformer's blocks of operators. One einsum per weight matrix, pointwise operators in
// the decomposed form of docs/design.md, rule 11, so that every placement question has an answer; `kernel` says what
// runs as one launch where the software joins it.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "model/network/network.h"

namespace stepcast {

class TransformerBuilder {
 public:
  TransformerBuilder(const NetworkSpec& spec, const BatchShape& batch, AttentionForm form);
  Network build();

 private:
  using Tags = std::vector<std::string>;

  // transformer.cpp: pieces that every part uses
  int dim(const char* name, std::int64_t extent, bool expected = false);
  int tensor(std::string name, std::vector<int> dims, double bytes, TensorRole role);
  int weight(std::string name, std::vector<int> dims);
  int activation(std::string name, std::vector<int> dims);
  int statistic(std::string name, std::vector<int> dims, double bytes = 4);
  [[nodiscard]] Access whole(int tensor) const;
  Operator& add(std::string name, Tags tags, OperatorKind kind, std::string function, int output,
      std::initializer_list<int> inputs, std::string kernel = {});
  Operator& product(std::string name, Tags tags, int output, int x, int w, std::string kernel = {});
  void adapter(const std::string& name, const Tags& tags, int output, int x, int w);
  int norm(const std::string& name, int x, Tags tags);
  int biased(const std::string& name, int x, std::vector<int> dims, Tags tags, const std::string& kernel);
  int dropped(const std::string& name, int x, Tags tags, const std::string& kernel);
  void start_block(const char* name, std::int64_t repeat, Block::Place place);
  void embedding();
  void layer(LayerKind kind, std::int64_t repeat);
  int layer_body(int x, LayerKind kind);
  int residual(const std::string& name, int stream, int y, std::vector<int> bias_dims);
  void head(const char* name, const std::string& prefix);
  void prediction();

  // transformer_attention.cpp
  int projection(const char* letter, int x, std::vector<int> heads);
  int rope(const std::string& name, int x);
  int head_norm(const std::string& name, int x);
  [[nodiscard]] Access keys(int tensor) const;
  void fused_core(int q, std::initializer_list<int> keys_and_values, int o, bool windowed);
  void unfused_core(int q, int k, int v, int o);
  int attention(int x, int y, bool windowed);
  int plain_attention(int x, bool windowed);
  int latent_attention(int x, bool windowed);

  // transformer_mlp.cpp
  [[nodiscard]] bool gated() const;
  [[nodiscard]] const char* act_name() const;
  int mlp(int x, int y, const std::string& name, int width, Tags tags);
  int experts(int x, int y);

  const NetworkSpec& spec_;
  BatchShape batch_;
  AttentionForm form_;
  Network net_;
  int b_ = -1, s_ = -1, t_ = -1, h_ = -1, g_ = -1, r_ = -1, d_ = -1, f_ = -1, v_ = -1;
  int e_ = -1, c_ = -1, k_ = -1, j_ = -1, fs_ = -1;      // experts
  int lq_ = -1, lk_ = -1, dn_ = -1, dr_ = -1, dv_ = -1;  // latent attention
  int z_ = -1;                                           // rank of adapters
  int embedding_table_ = -1, head_table_ = -1, tokens_ = -1;
};

}  // namespace stepcast
