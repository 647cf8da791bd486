// Behind the layers: prediction modules, masked words, a pooled position, logits and their loss.
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

/// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): the next token's embedding and the stream, each
/// normed, are projected to one stream; a layer and the shared head follow.
void TransformerBuilder::prediction() {
  start_block("mtp", spec_->mtp_layers, Block::Place::last);
  const int x = activation("X.mtp", streamed());
  net_.blocks.back().input = x;
  const int next = activation("X0.mtp", {b_, s_, h_});
  add("mtp.embed", {"embed"}, OperatorKind::select, "", next, {embedding_table_, tokens_}, "embedding").monoid =
      Monoid::sum;
  const int hidden_in = dim("h2", spec_->hidden);
  const int embedded = norm("mtp.enorm", next, {"norm"}), stream = norm("mtp.hnorm", x, {"norm"});
  const auto project = [&](const char* name, int from, int to) {
    Operator& op = product(name, {"mlp"}, to, from, weight(std::string(name) + ".w", {hidden_in, h_}));
    op.inputs[0].loops.back() = hidden_in;  // contracted; the output walks h
  };
  int out = activation("X.joined", streamed());
  project("mtp.proj.stream", stream, out);
  if (n_ < 0) {
    project("mtp.proj.embedding", embedded, out);
  } else {  // every stream gets the embedding's
    const int shared = activation("X.embedding", {b_, s_, h_}), sum = activation("X.joined.sum", streamed());
    project("mtp.proj.embedding", embedded, shared);
    add("mtp.proj.add", {"residual"}, OperatorKind::linear, "add", sum, {out, shared}, "bias_dropout_add");
    out = sum;
  }
  for (const LayerKind& kind : prediction_layers(whole_)) out = layer_body(out, kind);
  net_.blocks.back().output = out;
  head("mtp_head", "mtp.");
  net_.blocks.back().repeat = spec_->mtp_layers;
}

/// The stream at the positions that are guessed, through a matrix, GELU and a norm.
int TransformerBuilder::masked(int x) {
  const Tags tags{"head"};
  const int picked = activation("X.masked", {b_, sm_, h_}), hidden_in = dim("h2", spec_->hidden);
  Operator& pick = add("masked.pick", tags, OperatorKind::opaque, "join", picked, {x}, "masked.pick");
  pick.output.row_dim = 1;
  pick.output.row_loops = {s_};
  int y = activation("masked.transform", {b_, sm_, h_});
  Operator& op = product("masked.transform", tags, y, picked, weight("W.masked", {hidden_in, h_}));
  op.inputs[0].loops.back() = hidden_in;  // contracted; the output walks h
  if (spec_->linear_bias) y = biased("masked.transform", y, {h_}, tags, "bias_gelu");
  const int a = activation("masked.A", {b_, sm_, h_});
  add("masked.act", tags, OperatorKind::nonlinear, "gelu", a, {y}, "bias_gelu");
  return norm("norm.masked", a, {"norm", "head"});
}

int TransformerBuilder::first_position(int x) {
  const int first = activation("X.first", {b_, h_});
  add("pooled.pick", {"head", "pooled"}, OperatorKind::opaque, "join", first, {x}, "masked.pick").whole_loops = {s_};
  return first;
}

/// Numbers at each position, held against those that were asked for.
void TransformerBuilder::squared_error(int x) {
  const Tags tags{"head"}, loss_tags{"loss"};
  const int numbers = dim("o", whole_.outputs);
  int made = activation("outputs", {b_, s_, numbers});
  product("head", tags, made, x, weight("H", {h_, numbers}));
  if (!whole_.modulation.no_bias) made = biased("head", made, {numbers}, tags, "head_bias");
  const int asked = tensor("targets", {b_, s_, numbers}, 4, TensorRole::data),
            off = statistic("loss.off", {b_, s_, numbers}), loss = statistic("loss", {b_, s_});
  add("loss.off", loss_tags, OperatorKind::linear, "add", off, {made, asked}, "loss");
  add("loss", loss_tags, OperatorKind::nonlinear, "square", loss, {off}, "loss").monoid = Monoid::sum;
  net_.blocks.back().output = loss;
}

/// The first position of each sequence, through a matrix and tanh, sorted into classes.
void TransformerBuilder::pooled(int x) {
  const Tags tags{"head"};
  const int hidden_in = net_.find_dim("h2") >= 0 ? net_.find_dim("h2") : dim("h2", spec_->hidden),
            classes = dim("o", spec_->pooled_outputs);
  const int a = activation("pooled.A", {b_, h_});
  const int first = first_position(x);
  int y = activation("pooled", {b_, h_}), scores = activation("pooled.scores", {b_, classes});
  Operator& op = product("pooled", tags, y, first, weight("W.pooled", {hidden_in, h_}));
  op.inputs[0].loops.back() = hidden_in;
  y = biased("pooled", y, {h_}, tags, "bias_gelu");
  add("pooled.act", tags, OperatorKind::nonlinear, "gelu", a, {y}, "bias_gelu");
  product("pooled.scores", tags, scores, a, weight("W.classes", {h_, classes}));
  biased("pooled.scores", scores, {classes}, tags, "bias_gelu");
}

/// Of an iteration: the logits of each sequence's last position, and the word that they choose.
void TransformerBuilder::sampled(int x) {
  const Tags tags{"head"};
  const int last = activation("X.sampled", {b_, h_});
  add("head.pick", {"head", "sample"}, OperatorKind::opaque, "part", last, {x}).whole_loops = {s_};
  const int logits = activation("logits", {b_, v_});
  product("head", tags, logits, last, head_table_);
  const int chosen = statistic("chosen", {b_});
  add("sample", {"head", "sample"}, OperatorKind::nonlinear, "sample", chosen, {logits}, "sample").monoid = Monoid::max;
  net_.blocks.back().output = chosen;
}

void TransformerBuilder::head(const char* name, const std::string& prefix) {
  start_block(name, 1, Block::Place::last);
  int x = activation(prefix + "X.last", streamed());
  net_.blocks.back().input = x;
  if (mixes_streams()) x = merged(prefix + "streams3", x, coefficients(prefix + "streams3", x, hc_, hs_));
  if (predicts_streams()) x = unprojected_streams(x);
  if (all_ >= 0) x = part("X.own", x, own_), s_ = sm_ = own_;
  if (prefix.empty()) modulate_head();
  int xf = spec_->norm_place == NormPlace::behind_sum ? x : modulated_norm(prefix + "norm3", x, {"norm", "head"}, 0);
  if (batch_.serves) return sampled(xf);
  if (spec_->outputs > 0) return squared_error(xf);
  if (spec_->pooled_outputs > 0) pooled(xf);
  if (spec_->masked_loss) xf = masked(xf);
  const bool sorts = spec_->classes > 0;
  const int words = sorts ? dim("o", spec_->classes) : v_;
  const std::vector<int> rows = sorts ? std::vector<int>{b_} : std::vector<int>{b_, sm_};
  const auto each = [&](int last) {
    std::vector<int> dims = rows;
    dims.push_back(last);
    return dims;
  };
  if (sorts) xf = first_position(xf);
  int logits = activation(prefix + "logits", each(words));
  product(prefix + "head", {"head"}, logits, xf, sorts ? weight("H", {words, h_}) : head_table_);
  if (spec_->head_bias || sorts) logits = biased(prefix + "head", logits, {words}, {"head"}, "head_bias");
  const Tags tags{"loss"};
  if (spec_->logit_softcap) {
    const int capped = activation(prefix + "logits.capped", each(words));
    add(prefix + "loss.cap", tags, OperatorKind::nonlinear, "softcap", capped, {logits}, "softcap");
    logits = capped;
  }
  if (batch_.loss_bytes > batch_.activation_bytes) {
    const int wide = tensor(prefix + "logits.wide", each(words), batch_.loss_bytes, TensorRole::activation);
    add(prefix + "loss.cast", tags, OperatorKind::linear, "cast", wide, {logits}, "loss");
    logits = wide;
  }
  const int labels = tensor(prefix + "labels", rows, 8, TensorRole::data);
  const int m = statistic(prefix + "loss.max", rows), z = statistic(prefix + "loss.sum", rows),
            target = statistic(prefix + "loss.target", rows);
  const int loss = statistic(prefix + "loss", rows);
  add(prefix + "loss.max", tags, OperatorKind::nonlinear, "identity", m, {logits}, "loss").monoid = Monoid::max;
  add(prefix + "loss.target", tags, OperatorKind::select, "", target, {logits, labels}, "loss").monoid = Monoid::sum;
  add(prefix + "loss.sum", tags, OperatorKind::nonlinear, "shifted_exp", z, {logits, m}, "loss").monoid = Monoid::sum;
  add(prefix + "loss", tags, OperatorKind::nonlinear, "cross_entropy", loss, {z, m, target}, "loss");
  net_.blocks.back().output = loss;
}

}  // namespace stepcast
