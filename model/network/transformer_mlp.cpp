// MLP: plain, gated, and experts with routing (docs/design.md, section A5).
#include "model/network/transformer_builder.h"

namespace stepcast {

bool TransformerBuilder::gated() const {
  return spec_.activation == Activation::swiglu || spec_.activation == Activation::geglu;
}

const char* TransformerBuilder::act_name() const {
  switch (spec_.activation) {
    case Activation::swiglu: return "swiglu";
    case Activation::geglu: return "geglu";
    case Activation::gelu: return "gelu";
    case Activation::relu: return "relu";
    case Activation::squared_relu: return "squared_relu";
  }
  return "";
}

/// y += down(act(up(x)))
int TransformerBuilder::mlp(int x, int y, const std::string& name, int width, Tags tags) {
  const int a = activation(name == "mlp" ? "A" : name + ".A", {b_, s_, width});
  const std::string w = name == "mlp" ? "W" : "W." + name + ".";
  const bool biases = spec_.linear_bias && name == "mlp";  // experts have biases of their own (Experts::expert_bias)
  if (gated()) {
    int gate = activation(name + ".gate", {b_, s_, width}), up = activation(name + ".up", {b_, s_, width});
    product(name + ".gate", tags, gate, x, weight(w + "gate", {h_, width}), name + ".up");
    product(name + ".up", tags, up, x, weight(w + "up", {h_, width}), name + ".up");
    if (biases) {
      gate = biased(name + ".gate", gate, {width}, tags, "swiglu");
      up = biased(name + ".up", up, {width}, tags, "swiglu");
    }
    add(name + ".act", tags, OperatorKind::nonlinear, act_name(), a, {gate, up}, "swiglu");
  } else {
    int up = activation(name + ".up", {b_, s_, width});
    product(name + ".up", tags, up, x, weight(w + "up", {h_, width}));
    if (biases) up = biased(name + ".up", up, {width}, tags, "bias_gelu");
    add(name + ".act", tags, OperatorKind::nonlinear, act_name(), a, {up}, "bias_gelu");
  }
  product(name + ".down", tags, y, a, weight(w + "down", {width, h_}));
  return y;
}

/// Router, dispatch, experts, combine and shared experts. Rows (e,c) are the tokens (b,s,k) in another order: where a
/// token loop is split, rows are sharded over c, so that routing itself moves nothing (rule 27).
int TransformerBuilder::experts(int x, int y) {
  const Experts& spec = spec_.experts;
  const int scores = statistic("router.scores", {b_, s_, e_});
  product("router", {"router"}, scores, x, weight("Wrouter", {h_, e_}));
  int biased_scores = scores;
  if (spec.router_bias) biased_scores = biased("router", scores, {e_}, {"router"}, "router");
  const int gates = statistic("gates", {b_, s_, k_});
  add("router.top_k", {"router"}, OperatorKind::opaque, "top_k", gates, {biased_scores}, "router").whole_loops = {
      e_, k_};

  const int rows = activation("Xe", {e_, c_, h_});
  Operator& dispatch = add("dispatch", {"dispatch"}, OperatorKind::route, "dispatch", rows, {x}, "dispatch");
  dispatch.output.row_dim = 1;
  dispatch.output.row_loops = {b_, s_};

  const Tags tags{"expert"};
  const int a = activation("Ae", {e_, c_, j_});
  const auto expert_bias = [&](const char* name, int t, int width) {
    return spec.expert_bias ? biased(name, t, {e_, width}, tags, "swiglu") : t;
  };
  if (gated()) {
    int gate = activation("expert.gate", {e_, c_, j_}), up = activation("expert.up", {e_, c_, j_});
    product("expert.gate", tags, gate, rows, weight("We.gate", {e_, h_, j_}), "expert.up");
    product("expert.up", tags, up, rows, weight("We.up", {e_, h_, j_}), "expert.up");
    gate = expert_bias("expert.gate", gate, j_);
    up = expert_bias("expert.up", up, j_);
    add("expert.act", tags, OperatorKind::nonlinear, act_name(), a, {gate, up}, "swiglu");
  } else {
    int up = activation("expert.up", {e_, c_, j_});
    product("expert.up", tags, up, rows, weight("We.up", {e_, h_, j_}));
    up = expert_bias("expert.up", up, j_);
    add("expert.act", tags, OperatorKind::nonlinear, act_name(), a, {up}, "bias_gelu");
  }
  int out = activation("Oe", {e_, c_, h_});
  product("expert.down", tags, out, a, weight("We.down", {e_, j_, h_}));
  if (spec.expert_bias) out = biased("expert.down", out, {e_, h_}, tags, "");

  if (fs_ >= 0) {
    if (spec.shared_gate) {
      const int own = activation("Y.shared", {b_, s_, h_}), scale = statistic("shared.gate", {b_, s_});
      mlp(x, own, "shared", fs_, {"shared"});
      product("shared.gate.score", {"shared"}, scale, x, weight("Wshared.gate", {h_}));
      add("shared.scale", {"shared"}, OperatorKind::nonlinear, "multiply", y, {own, scale}, "shared_scale");
    } else {
      mlp(x, y, "shared", fs_, {"shared"});
    }
  }
  Operator& combine = add("combine", {"combine"}, OperatorKind::route, "combine", y, {out, gates}, "combine");
  combine.monoid = Monoid::sum;
  combine.inputs[0].row_dim = 1;
  combine.inputs[0].row_loops = {b_, s_};
  return y;
}

}  // namespace stepcast
