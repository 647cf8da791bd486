// MLP: plain, gated, and experts with routing (docs/design.md, section A5).
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

bool TransformerBuilder::gated() const {
  return spec_->activation == Activation::swiglu || spec_->activation == Activation::geglu;
}

const char* TransformerBuilder::act_name() const {
  switch (spec_->activation) {
    case Activation::xielu: return "xielu";
    case Activation::swiglu: return "swiglu";
    case Activation::geglu: return "geglu";
    case Activation::gelu: return "gelu";
    case Activation::relu: return "relu";
    case Activation::squared_relu: return "squared_relu";
  }
  return "";
}

/// What an activation learns is a weight beside its input.
int TransformerBuilder::activated(
    const std::string& name, std::vector<int> dims, std::initializer_list<int> x, const Tags& tags) {
  const int a = activation(name == "mlp" ? "A" : name == "expert" ? "Ae" : name + ".A", std::move(dims));
  Operator& op = add(name + ".act", tags, OperatorKind::nonlinear, act_name(), a, x, gated() ? "swiglu" : "bias_gelu");
  if (xa_ >= 0) op.inputs.push_back(whole(weight(name + ".act.w", {xa_})));
  return a;
}

/// What of a row's gates is above their mean by so many deviations (Spark Transformer, You et al. 2025, arXiv
/// 2506.06644; _gaussian_topk of gemma3n/modeling_gemma3n.py). Products with the zeros are done all the same.
int TransformerBuilder::cut_off(int gate, const Tags& tags) {
  const int moments = statistic("mlp.gate.q", {b_, s_}, 8), y = activation("mlp.gate.cut", net_.tensors[gate].dims);
  add("mlp.gate.q", tags, OperatorKind::nonlinear, "square", moments, {gate}, "cutoff").monoid = Monoid::sum;
  add("mlp.gate.cut", tags, OperatorKind::nonlinear, "cutoff", y, {gate, moments}, "cutoff");
  return y;
}

/// y += down(act(up(x)))
int TransformerBuilder::mlp(int x, int y, const std::string& name, int width, Tags tags) {
  int a = -1;
  const std::string w = name == "mlp" ? "W" : "W." + name + ".";
  const bool biases = (spec_->linear_bias || spec_->mlp_bias) &&
                      name.starts_with("mlp");  // experts have biases of their own (Experts::expert_bias)
  if (gated()) {
    int gate = activation(name + ".gate", {b_, s_, width}), up = activation(name + ".up", {b_, s_, width});
    product(name + ".gate", tags, gate, x, weight(w + "gate", {h_, width}), name + ".up");
    product(name + ".up", tags, up, x, weight(w + "up", {h_, width}), name + ".up");
    if (biases) {
      gate = biased(name + ".gate", gate, {width}, tags, "swiglu");
      up = biased(name + ".up", up, {width}, tags, "swiglu");
    }
    if (spec_->gate_cutoff && name == "mlp") gate = cut_off(gate, tags);
    a = activated(name, {b_, s_, width}, {gate, up}, tags);
  } else {
    int up = activation(name + ".up", {b_, s_, width});
    product(name + ".up", tags, up, x, weight(w + "up", {h_, width}));
    if (biases) up = biased(name + ".up", up, {width}, tags, "bias_gelu");
    a = activated(name, {b_, s_, width}, {up}, tags);
  }
  product(name + ".down", tags, y, a, weight(w + "down", {width, h_}));
  return y;
}

/// Router over `scored`, dispatch of x, experts and combine into y. Rows (e,c) are the tokens (b,s,k) in another order:
/// where a token loop is split, rows are sharded over c, so that routing itself moves nothing (rule 27).
int TransformerBuilder::experts(int x, int scored, int y) {
  const Experts& spec = spec_->experts;
  const int inner = le_ >= 0 ? le_ : h_;
  const int scores = statistic("router.scores", {b_, s_, e_});
  product("router", {"router"}, scores, scored, weight("Wrouter", {h_, e_}));
  int biased_scores = scores;
  if (spec.router_bias) biased_scores = biased("router", scores, {e_}, {"router"}, "router");
  const int gates = statistic("gates", {b_, s_, k_});
  add("router.top_k", {"router"}, OperatorKind::opaque, "top_k", gates, {biased_scores}, "router").whole_loops = {
      e_, k_};

  const Tags narrow{"shared", "shared.latent"};
  int sent = x, came = y;
  if (le_ >= 0) {
    sent = activation("X.latent", {b_, s_, le_}), came = activation("Y.latent", {b_, s_, le_});
    product("latent.down", narrow, sent, x, weight("Wlatent.down", {h_, le_}));
  }
  const int rows = activation("Xe", {e_, c_, inner});
  Operator& dispatch = add("dispatch", {"dispatch"}, OperatorKind::route, "dispatch", rows, {sent}, "dispatch");
  dispatch.output.row_dim = 1;
  dispatch.output.row_loops = {b_, s_};

  const Tags tags{"expert"};
  int a = -1;
  const auto expert_bias = [&](const char* name, int t, int width) {
    return spec.expert_bias ? biased(name, t, {e_, width}, tags, "swiglu") : t;
  };
  if (gated()) {
    int gate = activation("expert.gate", {e_, c_, j_}), up = activation("expert.up", {e_, c_, j_});
    product("expert.gate", tags, gate, rows, weight("We.gate", {e_, inner, j_}), "expert.up");
    product("expert.up", tags, up, rows, weight("We.up", {e_, inner, j_}), "expert.up");
    gate = expert_bias("expert.gate", gate, j_);
    up = expert_bias("expert.up", up, j_);
    a = activated("expert", {e_, c_, j_}, {gate, up}, tags);
  } else {
    int up = activation("expert.up", {e_, c_, j_});
    product("expert.up", tags, up, rows, weight("We.up", {e_, inner, j_}));
    up = expert_bias("expert.up", up, j_);
    a = activated("expert", {e_, c_, j_}, {up}, tags);
  }
  int out = activation("Oe", {e_, c_, inner});
  product("expert.down", tags, out, a, weight("We.down", {e_, j_, inner}));
  if (spec.expert_bias) out = biased("expert.down", out, {e_, inner}, tags, "");
  if (!spec.own_norms) shared(x, y);
  Operator& combine = add("combine", {"combine"}, OperatorKind::route, "combine", came, {out, gates}, "combine");
  combine.monoid = Monoid::sum;
  combine.inputs[0].row_dim = 1;
  combine.inputs[0].row_loops = {b_, s_};
  if (spec.latent_norm) came = norm("latent.norm", came, narrow);
  if (le_ >= 0) product("latent.up", narrow, y, came, weight("Wlatent.up", {le_, h_}));
  return y;
}

/// Routed experts read the stream under a norm of their own, the router under a third; what routed and shared experts
/// give is normed and summed.
int TransformerBuilder::normed_experts(int stream, int x, int y) {
  const Tags tags{"norm"};
  const int own = activation("Y.shared", {b_, s_, h_});
  shared(x, own);
  experts(norm("norm2.routed", stream, tags), norm("norm2.router", stream, tags), y);
  const int kept = norm("norm2.shared.behind", own, tags), routed = norm("norm2.routed.behind", y, tags);
  const int sum = activation("Y2.summed", {b_, s_, h_});
  add("experts.sum", tags, OperatorKind::linear, "add", sum, {kept, routed}, "norm");
  return sum;
}

void TransformerBuilder::shared(int x, int y) {
  if (fs_ < 0) return;
  if (!spec_->experts.shared_gate) return void(mlp(x, y, "shared", fs_, {"shared"}));
  const int own = activation("Y.shared", {b_, s_, h_}), scale = statistic("shared.gate", {b_, s_});
  mlp(x, own, "shared", fs_, {"shared"});
  product("shared.gate.score", {"shared"}, scale, x, weight("Wshared.gate", {h_}));
  add("shared.scale", {"shared"}, OperatorKind::nonlinear, "multiply", y, {own, scale}, "shared_scale");
}

}  // namespace stepcast
