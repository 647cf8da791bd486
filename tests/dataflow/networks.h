// The networks of the placement tests: the layer of docs/design.md, section C, and others by a few changed fields.
#pragma once

#include "model/network/network.h"

namespace stepcast::dataflow {

/// h 4096, 32 heads (g 8 groups of r 4), d 128, f 14336, v 128256, s 4096: rmsnorm, swiglu, rope, untied.
inline NetworkSpec section_c_spec() {
  NetworkSpec spec;
  spec.id = "section-c";
  spec.layers = 4;
  spec.hidden = 4096;
  spec.ffn_hidden = 14336;
  spec.heads = 32;
  spec.kv_heads = 8;
  spec.head_dim = 128;
  spec.vocab = 128256;
  spec.sequence = 4096;
  return spec;
}

/// One sequence of 4096 positions per data rank, bf16, fused attention.
inline Network section_c_network(std::int64_t data_ranks = 1, const NetworkSpec& spec = section_c_spec()) {
  return build_network(spec, {data_ranks, 4096, 2, 2}, AttentionForm::fused);
}

/// Small enough to be executed with numbers.
inline NetworkSpec tiny_transformer() {
  NetworkSpec spec;
  spec.id = "tiny";
  spec.layers = 2;
  spec.hidden = 4;
  spec.ffn_hidden = 6;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 2;
  spec.vocab = 5;
  spec.sequence = 3;
  return spec;
}

/// The same with sizes that two and four ranks divide: h 8, g 2, r 2, d 4, f 8, v 8, s 4.
inline NetworkSpec even_transformer(std::int64_t layers) {
  NetworkSpec spec;
  spec.id = "even";
  spec.layers = layers;
  spec.hidden = 8;
  spec.ffn_hidden = 8;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 4;
  spec.vocab = 8;
  spec.sequence = 4;
  return spec;
}

}  // namespace stepcast::dataflow
