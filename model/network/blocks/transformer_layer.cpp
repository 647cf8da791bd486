// A layer: its sublayers one behind the other, their norms, and what they add to the stream.
#include <utility>

#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

int TransformerBuilder::residual(const std::string& name, int stream, int y, std::vector<int> bias_dims, int gate) {
  if (mixes_streams()) return spread(name, stream, y, mixed_);
  const Tags tags{"residual"};
  if (spec_->linear_bias && !bias_dims.empty()) y = biased(name, y, std::move(bias_dims), tags, "bias_dropout_add");
  if (!spec_->no_hidden_dropout) y = dropped(name, y, tags, "bias_dropout_add");
  if (gate >= 0) {
    const int gated = activation(name + ".gated", {b_, s_, h_});
    add(name + ".gate", tags, OperatorKind::nonlinear, "multiply", gated, {y, gate}, "bias_dropout_add");
    y = gated;
  }
  if (spec_->sublayer_gates || spec_->sublayer_scales)
    y = scaled(name + ".gate", y, {spec_->sublayer_scales ? h_ : one_}, tags, "bias_dropout_add");
  const int sum = activation(name + ".x", {b_, s_, h_});
  add(name + ".add", tags, OperatorKind::linear, "add", sum, {stream, y}, "bias_dropout_add");
  return sum;
}

int TransformerBuilder::normed_before(const std::string& name, int x) {
  const bool here = spec_->norm_place == NormPlace::before || spec_->norm_place == NormPlace::both;
  if (!here) return x;
  if (vectors_.empty() || name == "norm.cross") return norm(name, x, {"norm"});
  return modulated_norm(name, x, {"norm"}, name == "norm1" ? 0 : 3);
}

int TransformerBuilder::normed_behind(const std::string& name, int y) {
  if (spec_->norm_place == NormPlace::both) return norm(name + ".behind", y, {"norm"});
  return spec_->norm_place == NormPlace::behind ? norm(name, y, {"norm"}) : y;
}

int TransformerBuilder::normed_sum(const std::string& name, int sum) {
  return spec_->norm_place == NormPlace::behind_sum ? norm(name, sum, {"norm"}) : sum;
}

/// Attention, a mixer, or both side by side, which write one sum.
int TransformerBuilder::mixing(int x, LayerKind kind) {
  const bool bare = kind.shape > 0 && whole_.shapes[kind.shape - 1U].bare_attention;
  if (mixes_streams()) mixed_ = coefficients("streams1", x, cc_, cs_);
  const int read = mixes_streams() ? merged("streams1", x, mixed_) : x;
  const int x1 = bare ? read : normed_before("norm1", read);
  int y1 = activation("Y1", {b_, s_, h_});
  if (kind.mixer) mixer(x1, y1);
  if (kind.attention) attention(x1, y1, kind);
  if (kind.attention && spec_->out_bias && !spec_->linear_bias)
    y1 = biased("attn.out", y1, {h_}, {"residual"}, "bias_dropout_add");
  const int sum = normed_sum("norm1", residual("residual1", x, normed_behind("norm1", y1), {h_}, gate_of(2)));
  return spec_->side_rank > 0 && kind.attention ? with_side(sum, x1) : sum;
}

/// Beside attention stands its input and a low-rank product of it, normed; the sum of both ways is scaled by 1 / sqrt 2
/// (LAuReL, Menghani et al. 2024, arXiv 2411.07501).
int TransformerBuilder::with_side(int sum, int x) {
  const Tags tags{"side"}, residual_tags{"residual"};
  const int low = activation("side.low", {b_, s_, sr_}), y = activation("Y.side", {b_, s_, h_}),
            both = activation("side.x", {b_, s_, h_}), scaled_sum = activation("side.scaled", {b_, s_, h_});
  product("side.down", tags, low, x, weight("W.side.down", {h_, sr_}));
  product("side.up", tags, y, low, weight("W.side.up", {sr_, h_}));
  add("side.add", residual_tags, OperatorKind::linear, "add", both, {sum, x, norm("norm.side", y, {"norm"})},
      "bias_dropout_add");
  add("side.scale", residual_tags, OperatorKind::linear, "scale", scaled_sum, {both}, "bias_dropout_add");
  return scaled_sum;
}

int TransformerBuilder::crossing(int x) {
  const int x1 = spec_->bare_crossing ? x : normed_before("norm.cross", x);
  int y = activation("Y.cross", {b_, s_, h_});
  cross_attention(x1, y);
  if (spec_->out_bias && !spec_->linear_bias) y = biased("cross.out", y, {h_}, {"residual"}, "bias_dropout_add");
  net_.blocks.back().reads.push_back(memory_);
  return normed_sum("norm.cross", residual("residual.cross", x, normed_behind("norm.cross", y), {h_}));
}

int TransformerBuilder::feeding(int x, Feed feed) {
  if (mixes_streams()) mixed_ = coefficients("streams2", x, cc_, cs_);
  const int x3 = normed_before("norm2", mixes_streams() ? merged("streams2", x, mixed_) : x);
  int y2 = activation("Y2", {b_, s_, h_});
  if (feed == Feed::mlp) mlp(x3, y2, "mlp", f_, {"mlp"});
  if (feed == Feed::mlp && spec_->mlp_bias && !spec_->linear_bias)
    y2 = biased("mlp.down", y2, {h_}, {"residual"}, "bias_dropout_add");
  if (feed == Feed::experts && spec_->experts.own_norms) y2 = normed_experts(x, x3, y2);
  else if (feed == Feed::experts) experts(x3, x3, y2);
  if (feed == Feed::experts && spec_->experts.norm_behind) y2 = norm("norm2.experts", y2, {"norm"});
  return normed_sum("norm2", residual("residual2", x, normed_behind("norm2", y2),
                                 feed == Feed::experts ? std::vector<int>{} : std::vector<int>{h_}, gate_of(5)));
}

/// Attention and MLP, or experts, write one sum: one reduction for both (rule 13). Biases of the two are one vector
/// each.
int TransformerBuilder::parallel_body(int x, LayerKind kind) {
  const int x1 = modulated_norm("norm1", x, {"norm"}, 0);
  int y1 = activation("Y1", {b_, s_, h_});
  const int x3 = spec_->norms_per_layer > 1 ? norm("norm2", x, {"norm"}) : x1;
  attention(x1, y1, kind);
  if (kind.feed == Feed::experts) experts(x3, x3, y1);
  else mlp(x3, y1, "mlp", f_, {"mlp"});
  if (spec_->linear_bias) y1 = biased("attn.out", y1, {h_}, {"residual"}, "bias_dropout_add");
  else if (kind.feed == Feed::mlp && spec_->mlp_bias)
    y1 = biased("mlp.down", y1, {h_}, {"residual"}, "bias_dropout_add");
  return residual("residual1", x, y1, spec_->joined_output ? std::vector<int>{} : std::vector<int>{h_}, gate_of(2));
}

int TransformerBuilder::layer_body(int x, LayerKind kind) {
  use_shape(kind.shape);
  if (kind.shape > 0 && whole_.shapes[kind.shape - 1U].joint) return joint_body(x);
  if (kind.shape > 0 && whole_.shapes[kind.shape - 1U].alone) return own_body(x, kind);
  constexpr std::size_t one_sublayer = 3;
  modulate_layer(spec_->joined_output ? one_sublayer : 2 * one_sublayer);
  return sublayers(x, kind);
}

int TransformerBuilder::sublayers(int x, LayerKind kind) {
  if (spec_->parallel_block) return parallel_body(x, kind);
  const int guessed = predicts_streams() ? predicted(x) : -1;
  if (guessed >= 0) x = active_stream("streams.active", guessed);
  if (kind.mixer || kind.attention) x = mixing(x, kind);
  if (kind.crosses) x = crossing(x);
  if (kind.feed != Feed::none) x = feeding(x, kind.feed);
  if (guessed >= 0) x = corrected(guessed, x);
  if (iw_ >= 0) x = own_input(x);
  return spec_->layer_scale ? scaled("layer.scale", x, {one_}, {"residual"}, "bias_dropout_add") : x;
}

/// A row of the layer's own words and a normed product of what was embedded, through a gate of the stream (GELU) and a
/// matrix back to it: per_layer_* of gemma3n/modeling_gemma3n.py, where one table and one product serve all layers.
int TransformerBuilder::own_input(int x) {
  const Tags tags{"input"};
  const std::vector<int> dims{b_, s_, iw_};
  const int word = activation("input.word", dims), made = activation("input.made", dims),
            both = activation("input.both", dims), gate = activation("input.gate", dims),
            inner = activation("input.A", dims), y = activation("Y.input", {b_, s_, h_});
  add("input.word", tags, OperatorKind::select, "", word, {weight("E.input", {iv_, iw_}), tokens_}).monoid =
      Monoid::sum;
  product("input.made", tags, made, embedded_, weight("W.input.made", {h_, iw_}));
  net_.blocks.back().reads.push_back(embedded_);
  add("input.both", tags, OperatorKind::linear, "add", both, {norm_by("input.norm", made, tags, input_norm_), word},
      "norm");
  const int seen = predicts_streams() ? scaled("input.seen", active_stream("input.active", x), {h_}, tags, "") : x;
  product("input.gate", tags, gate, seen, weight("W.input.gate", {h_, iw_}));
  add("input.act", tags, OperatorKind::nonlinear, "geglu", inner, {gate, both}, "swiglu");
  product("input.out", tags, y, inner, weight("W.input.out", {iw_, h_}));
  if (predicts_streams()) return added_to_others("input", x, norm("norm.input", y, {"norm"}));
  const int sum = activation("input.x", {b_, s_, h_});
  add("input.add", tags, OperatorKind::linear, "add", sum, {x, norm("norm.input", y, {"norm"})}, "bias_dropout_add");
  return sum;
}

}  // namespace stepcast
