// An encoder in front of a network, and the attention of the network's layers over what it made.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

/// Its blocks stand before the network's own, on the first stage.
void TransformerBuilder::encoder() {
  for (const NetworkSpec& spec : whole_.encoders) {
    if (!spec.projectors.empty() && spec.images == 0 && !looks_at_encoder(whole_)) continue;  // text alone
    BatchShape batch = batch_;
    batch.positions = spec.sequence * std::max<std::int64_t>(1, spec.images);
    TransformerBuilder builder(spec, batch, form_, net_, "encoder");
    builder.encode(*this);
    memory_ = net_.blocks.back().output;
    tm_ = builder.t_;  // a projector in front of layers that look at it merges nothing
  }
}

void TransformerBuilder::encode(const TransformerBuilder& network) {
  condition();
  if (whole_.features == 0) {
    embedding_table_ = whole_.tied_embeddings ? network.embedding_table_ : weight("E", {v_, h_});
    tokens_ = tensor("tokens", {b_, s_}, 8, TensorRole::data);
  }
  embedding();
  if (!whole_.projectors.empty()) {
    layers_that_lend();
    project(activation("X.last", streamed()), network);
  } else if (whole_.layers > 0) {
    layers(Block::Place::first);
    use_shape(0);
    start_block("norm", 1, Block::Place::first);
    const int x = activation("X.last", streamed());
    net_.blocks.back().input = x;
    net_.blocks.back().output =
        whole_.modulation.gates || whole_.no_last_norm ? handed_on(x) : norm("norm3", x, {"norm"});
  }
  net_.tensors[net_.blocks.back().output].name = "memory";
}

/// Without a norm behind the last layer.
int TransformerBuilder::handed_on(int x) {
  const int y = activation("X.handed", streamed());
  add("handed", {"norm"}, OperatorKind::linear, "scale", y, {x}, "norm");
  return y;
}

/// Three convolutions of 3 x 3 over frames and numbers, which halve both, with GELU; a matrix of what is left of each
/// frame. Neighbours that a row reads are not copied.
int TransformerBuilder::planes_in() {
  const Tags tags{"embed"};
  constexpr std::int64_t taps = 3 * 3, halves = 2, pieces = 4;
  std::int64_t numbers = whole_.features;
  const int planes = dim("planes", whole_.planes), near = dim("planes.taps", taps * whole_.planes);
  int x = -1;
  /// So many rows, each of neighbours side by side where they lie.
  const auto beside = [&](const std::string& name, int rows, int wide) {
    const int y = activation(name, {b_, rows, wide});
    Operator& op = add(name, tags, OperatorKind::opaque, "part", y, {x});
    op.output.row_dim = 1;
    op.output.row_loops = {net_.tensors[x].dims[1]};
    op.whole_loops = {planes, wide};
    return y;
  };
  for (std::int64_t frames = pieces; frames >= 1; frames /= halves) {
    numbers = (numbers + 1) / halves;
    const std::string name = "embed.conv" + std::to_string(frames);
    const int rows = dim(("s.conv" + std::to_string(frames)).c_str(), batch_.positions * frames * numbers);
    if (frames == pieces)
      x = tensor("features", {b_, rows, dim("taps", taps)}, batch_.activation_bytes, TensorRole::data);
    else x = beside(name + ".taps", rows, near);
    x = convolved(name, x, planes);
  }
  const int y = activation("X0", {b_, s_, h_}), left = dim("planes.left", numbers * whole_.planes);
  product("embed", tags, y, beside("embed.left", s_, left), weight("W.embed", {left, h_}));
  return y;
}

/// Each position's numbers: patches of an image, frames of sound, what another network made of words.
int TransformerBuilder::features_in() {
  const Tags tags{"embed"};
  if (whole_.intake == Intake::planes) return planes_in();
  if (whole_.intake == Intake::convolutions) {
    constexpr std::int64_t taps = 3, stride = 2;
    const int frames = dim("s.frames", stride * batch_.positions), first = dim("ft", taps * whole_.features),
              second = dim("h.taps", taps * whole_.hidden);
    const int sound = tensor("features", {b_, frames, first}, batch_.activation_bytes, TensorRole::data);
    const int made = convolved("embed.conv1", sound, h_);
    // Every second frame with its neighbours.
    const int rows = activation("embed.taps", {b_, s_, second});
    Operator& join = add("embed.taps", tags, OperatorKind::opaque, "join", rows, {made}, "embed.taps");
    join.output.row_dim = 1;
    join.output.row_loops = {frames};
    join.whole_loops = {h_, second};
    return convolved("embed.conv2", rows, h_);
  }
  const int in = tensor("features", {b_, s_, dim("ft", whole_.features)}, batch_.activation_bytes, TensorRole::data);
  const int numbers = net_.tensors[in].dims.back();
  if (whole_.intake == Intake::mlp) {
    const int inner = convolved("embed.in", in, dim("h3", whole_.hidden)), y = activation("X0", {b_, s_, h_});
    product("embed.out", tags, y, inner, weight("W.embed.out", {net_.tensors[inner].dims.back(), h_}));
    return biased("embed.out", y, {h_}, tags, "embedding");
  }
  int y = activation("X0", {b_, s_, h_});
  product("embed", tags, y, in, weight("W.embed", {numbers, h_}));
  if (spec_->intake_bias || (spec_->linear_bias && !spec_->no_intake_bias))
    y = biased("embed", y, {h_}, tags, "embedding");
  if (!whole_.class_token) return y;
  // One position is the class's own: its number stands in place of a patch.
  const int all = activation("X0.classed", {b_, s_, h_});
  add("embed.class", tags, OperatorKind::opaque, "join", all, {y, weight("class", {h_})}, "embedding");
  return all;
}

/// A matrix, a bias and GELU.
int TransformerBuilder::convolved(const std::string& name, int x, int width) {
  const Tags tags{"embed"};
  std::vector<int> dims = net_.tensors[x].dims;
  const int in = dims.back();
  dims.back() = width;
  const int y = activation(name, dims), a = activation(name + ".A", dims);
  product(name, tags, y, x, weight("W." + name, {in, width}));
  add(name + ".act", tags, OperatorKind::nonlinear, "gelu", a, {biased(name, y, {width}, tags, "bias_gelu")},
      "bias_gelu");
  return a;
}

/// Queries from the stream, keys and values from what the encoder made; every query sees all of its positions.
int TransformerBuilder::cross_attention(int x, int y) {
  const Tags tags{"attn", "attn.qkv"};
  int q = projection("cross.Q", x, {g_, r_, d_}), k = projection("cross.K", memory_, {g_, d_}),
      v = projection("cross.V", memory_, {g_, d_});
  if (spec_->linear_bias || spec_->qkv_bias) {
    q = biased("cross.Q", q, {g_, r_, d_}, tags, "attn.qkv");
    if (!spec_->no_key_bias) k = biased("cross.K", k, {g_, d_}, tags, "attn.qkv");
    v = biased("cross.V", v, {g_, d_}, tags, "attn.qkv");
  }
  q = qk_norm("cross.Q", q), k = qk_norm("cross.K", k);
  const int o = activation("cross.O", {b_, s_, g_, r_, d_});
  const Core core{"cross.core", tm_, false, false};
  if (form_ == AttentionForm::unfused) unfused_core(core, q, k, v, o);
  else fused_core(core, q, {k, v}, o);
  product("cross.out", {"attn", "attn.out"}, y, o, weight("cross.WO", {g_, r_, d_, h_}));
  return y;
}

/// The rows that are the network's own or the encoder's: where they lie, nothing is copied.
int TransformerBuilder::part(const std::string& name, int x, int rows) {
  std::vector<int> dims = net_.tensors[x].dims;
  dims[1] = rows;
  const int y = activation(name, dims);
  Operator& op = add("part." + name, {"attn"}, OperatorKind::opaque, "part", y, {x});
  op.output.row_dim = 1;
  op.output.row_loops = {all_};
  return y;
}

/// Both kinds of rows as one sequence: copied by `join`, left where they lie by `parts`.
int TransformerBuilder::together(const std::string& name, const char* function, int own, int other) {
  std::vector<int> dims = net_.tensors[own].dims;
  dims[1] = all_;
  const int y = activation(name, dims);
  Operator& op = add("join." + name, {"attn"}, OperatorKind::opaque, function, y, {own, other});
  for (Access& input : op.inputs) input.row_dim = 1, input.row_loops = {all_};
  return y;
}

/// Queries, keys or values of a joint layer.
int TransformerBuilder::headed(const std::string& name, int x, std::vector<int> heads) {
  const int y = projection(name, x, heads);
  if (!spec_->linear_bias) return y;
  return biased(name, y, std::move(heads), {"attn", "attn.qkv"}, "attn.qkv");
}

/// The network's own positions among themselves, with weights of its own.
int TransformerBuilder::second_attention(int x) {
  const int q = rope("Q.second", qk_norm("Q.second", headed("Q.part.second", x, {g_, r_, d_}))),
            k = rope("K.second", qk_norm("K.second", headed("K.part.second", x, {g_, d_}))),
            v = headed("V.part.second", x, {g_, d_}), o = activation("O.second", {b_, s_, g_, r_, d_}),
            y = activation("Y1.second", {b_, s_, h_});
  const Core core{"second.core", to_, false, false};
  if (form_ == AttentionForm::unfused) unfused_core(core, q, k, v, o);
  else fused_core(core, q, {k, v}, o);
  product("attn.out.second", {"attn", "attn.out"}, y, o, weight("WO.second", {g_, r_, d_, h_}));
  return y;
}

/// A layer that the network's own positions go through alone.
int TransformerBuilder::own_body(int x, LayerKind kind) {
  const int own = part("X.own", x, own_), other = part("X.other", x, joined_), all_keys = t_;
  constexpr std::size_t vectors = 6;
  s_ = own_, t_ = to_;
  modulate_layer(vectors);
  const int y = sublayers(own, kind);
  s_ = all_, t_ = all_keys;
  return together("X.joined", "parts", y, other);
}

/// Two kinds of rows with weights and vectors of their own that attend together (Flux; Esser et al. 2024, MM-DiT, arXiv
/// 2403.03206, section 4).
int TransformerBuilder::joint_body(int x) {
  struct Rows {
    std::string suffix;
    int dim = -1, x = -1, q = -1, k = -1, v = -1;
    std::vector<int> vectors;
  };
  Rows kinds[2];
  kinds[0].dim = own_;
  kinds[1].suffix = ".other", kinds[1].dim = joined_;
  constexpr std::size_t vectors = 6, last_vectors = 2, second_vectors = 3, second_shift = 6, second_gate = 8;
  int second = -1;
  for (Rows& rows : kinds) {
    const std::string& end = rows.suffix;
    s_ = rows.dim;
    rows.x = part("X" + (end.empty() ? ".own" : end), x, rows.dim);
    const bool ends = &rows == &kinds[1] && whole_.shapes[shape_ - 1].ends;
    const bool twice = &rows == &kinds[0] && whole_.shapes[shape_ - 1].second;
    modulate_layer(ends ? last_vectors : twice ? vectors + second_vectors : vectors, end);
    rows.vectors = vectors_;
    const int normed = norm("norm1" + end, rows.x, {"norm"}, 1, false),
              x1 = modulated("norm1" + end, normed, {"norm"}, 0);
    rows.q = rope("Q" + end, qk_norm("Q" + end, headed("Q.part" + end, x1, {g_, r_, d_})));
    rows.k = rope("K" + end, qk_norm("K" + end, headed("K.part" + end, x1, {g_, d_})));
    rows.v = headed("V.part" + end, x1, {g_, d_});
    if (twice) second = second_attention(modulated("norm1.second", normed, {"norm"}, second_shift));
  }
  s_ = all_;
  const int q = together("Q", "join", kinds[0].q, kinds[1].q), k = together("K", "join", kinds[0].k, kinds[1].k),
            v = together("V", "join", kinds[0].v, kinds[1].v), o = activation("O", {b_, s_, g_, r_, d_});
  if (form_ == AttentionForm::unfused) unfused_core(own_core(), q, k, v, o);
  else fused_core(own_core(), q, {k, v}, o);
  for (Rows& rows : kinds) {
    if (rows.vectors.size() == last_vectors) continue;  // nobody reads what would be made of these
    const std::string& end = rows.suffix;
    s_ = rows.dim;
    vectors_ = rows.vectors;
    const int y1 = activation("Y1" + end, {b_, s_, h_});
    product("attn.out" + end, {"attn", "attn.out"}, y1, part("O" + (end.empty() ? ".own" : end), o, rows.dim),
        weight("WO" + end, {g_, r_, d_, h_}));
    int middle = residual("residual1" + end, rows.x, y1, {h_}, gate_of(2));
    if (second >= 0 && end.empty()) middle = residual("residual.second", middle, second, {h_}, gate_of(second_gate));
    const int y2 = activation("Y2" + end, {b_, s_, h_});
    mlp(modulated_norm("norm2" + end, middle, {"norm"}, 3), y2, "mlp" + end, f_, {"mlp"});
    rows.x = residual("residual2" + end, middle, y2, {h_}, gate_of(5));
  }
  s_ = all_;
  return together("X.joined", "parts", kinds[0].x, kinds[1].x);
}

}  // namespace stepcast
