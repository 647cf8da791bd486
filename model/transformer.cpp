// A transformer spec as blocks of operators. One einsum per weight matrix, pointwise operators in the decomposed form
// of dataflow-semantics rule 11, so that every placement question has an answer; `kernel` says what runs as one launch.
#include <cassert>

#include "model/network.h"

namespace stepcast {
namespace {

class Builder {
 public:
  Builder(const NetworkSpec& spec, const BatchShape& batch, AttentionForm form) : spec_(spec), batch_(batch), form_(form) {
    net_.id = spec.id;
    net_.dims.reserve(10);
    b_ = dim("b", batch.sequences);
    s_ = dim("s", batch.positions);
    t_ = dim("t", batch.positions);
    h_ = dim("h", spec.hidden);
    g_ = dim("g", spec.kv_heads);
    r_ = dim("r", spec.heads / spec.kv_heads);
    d_ = dim("d", spec.head_dim);
    f_ = dim("f", spec.ffn_hidden);
    v_ = dim("v", spec.vocab);
    net_.tensors.reserve(64);
    embedding_table_ = weight("E", {v_, h_});
  }

  Network build() {
    embedding();
    layer();
    head();
    return std::move(net_);
  }

 private:
  int dim(const char* name, std::int64_t extent) {
    net_.dims.push_back({name, extent});
    return static_cast<int>(net_.dims.size()) - 1;
  }
  int tensor(std::string name, std::vector<int> dims, double bytes, TensorRole role) {
    net_.tensors.push_back({std::move(name), std::move(dims), bytes, role});
    return static_cast<int>(net_.tensors.size()) - 1;
  }
  int weight(std::string name, std::vector<int> dims) { return tensor(std::move(name), std::move(dims), batch_.weight_bytes, TensorRole::weight); }
  int activation(std::string name, std::vector<int> dims) { return tensor(std::move(name), std::move(dims), batch_.activation_bytes, TensorRole::activation); }
  /// fp32 statistics and losses.
  int statistic(std::string name, std::vector<int> dims, double bytes = 4) { return tensor(std::move(name), std::move(dims), bytes, TensorRole::activation); }

  Access whole(int tensor) const { return {tensor, net_.tensors[tensor].dims}; }

  Operator& add(std::string name, std::vector<std::string> tags, OperatorKind kind, std::string function, int output,
                std::initializer_list<int> inputs, std::string kernel = {}) {
    Operator op;
    op.name = std::move(name);
    op.tags = std::move(tags);
    op.kind = kind;
    op.function = std::move(function);
    op.output = whole(output);
    for (int input : inputs) op.inputs.push_back(whole(input));
    op.kernel = std::move(kernel);
    return net_.blocks.back().operators.emplace_back(std::move(op));
  }

  Operator& product(std::string name, std::vector<std::string> tags, int output, int x, int w, std::string kernel = {}) {
    Operator& op = add(std::move(name), std::move(tags), OperatorKind::einsum, "", output, {x, w}, std::move(kernel));
    op.monoid = Monoid::sum;
    return op;
  }

  /// y = norm(x): q[b,s] += moments(x); y = x, q, gamma (, beta). LayerNorm's q holds mean and variance (8 bytes).
  int norm(const std::string& name, int x, std::vector<std::string> tags) {
    const bool layernorm = spec_.norm == Norm::layernorm;
    const int q = statistic(name + ".q", {b_, s_}, layernorm ? 8 : 4);
    const int gamma = weight(name + ".gamma", {h_});
    const int y = activation(name + ".y", {b_, s_, h_});
    add(name + ".q", tags, OperatorKind::nonlinear, "square", q, {x}, "norm").monoid = Monoid::sum;
    if (layernorm)
      add(name + ".y", tags, OperatorKind::nonlinear, "layernorm", y, {x, q, gamma, weight(name + ".beta", {h_})}, "norm");
    else
      add(name + ".y", tags, OperatorKind::nonlinear, "rmsnorm", y, {x, q, gamma}, "norm");
    return y;
  }

  int biased(const std::string& name, int x, std::vector<int> dims, std::vector<std::string> tags, const std::string& kernel) {
    const int bias = weight(name + ".b", std::move(dims));
    const int y = activation(name + ".biased", net_.tensors[x].dims);
    add(name + ".bias", std::move(tags), OperatorKind::linear, "bias", y, {x, bias}, kernel);
    return y;
  }

  int dropped(const std::string& name, int x, std::vector<std::string> tags, const std::string& kernel) {
    if (!spec_.dropout) return x;
    const int y = activation(name + ".dropped", net_.tensors[x].dims);
    add(name + ".dropout", std::move(tags), OperatorKind::linear, "dropout", y, {x}, kernel);
    return y;
  }

  int projection(const char* letter, int x, std::vector<int> heads) {
    const std::string name = std::string("attn.qkv.") + letter;
    std::vector<int> weight_dims{h_}, out{b_, s_};
    weight_dims.insert(weight_dims.end(), heads.begin(), heads.end());
    out.insert(out.end(), heads.begin(), heads.end());
    const int y = activation(letter, out);
    product(name, {"attn", "attn.qkv"}, y, x, weight(std::string("W") + letter, weight_dims), "attn.qkv");
    return y;
  }

  int rope(const std::string& name, int x) {
    if (spec_.positions != Positions::rope) return x;
    const int y = activation(name + ".rotated", net_.tensors[x].dims);
    add("attn.rope." + name, {"attn", "attn.qkv"}, OperatorKind::opaque, "rope", y, {x}, "rope").whole_loops = {d_};
    return y;
  }

  /// What the attention core reads is called Q, K and V, so that `move K, V` means it; what was before it, Q.projected.
  int named(const char* letter, int read) {
    const int projected = net_.find_tensor(letter);
    if (read == projected) return read;
    net_.tensors[projected].name = std::string(letter) + ".projected";
    net_.tensors[read].name = letter;
    return read;
  }

  /// K and V are stored over s and read over t.
  Access keys(int tensor) const { return {tensor, {b_, t_, g_, d_}}; }

  void fused_core(int q, int k, int v, int o) {
    Operator& op = add("attn.core", {"attn", "attn.core"}, OperatorKind::attention, "", o, {q});
    op.inputs.push_back(keys(k));
    op.inputs.push_back(keys(v));
    op.monoid = Monoid::softmax;
    op.whole_loops = {d_};
    op.domain = Domain::causal;
    op.query_loop = s_;
    op.key_loop = t_;
  }

  void unfused_core(int q, int k, int v, int o) {
    const std::vector<std::string> tags{"attn", "attn.core"};
    const int scores = activation("scores", {b_, g_, r_, s_, t_});
    Operator& qk = add("attn.core.scores", tags, OperatorKind::einsum, "", scores, {q});
    qk.inputs.push_back(keys(k));
    qk.monoid = Monoid::sum;
    const int probabilities = activation("probabilities", net_.tensors[scores].dims);
    add("attn.core.softmax", tags, OperatorKind::opaque, "softmax", probabilities, {scores}, "softmax").whole_loops = {t_};
    const int kept = dropped("attn.core", probabilities, tags, "attention_dropout");
    Operator& pv = add("attn.core.context", tags, OperatorKind::einsum, "", o, {kept});
    pv.inputs.push_back(keys(v));
    pv.monoid = Monoid::sum;
  }

  int residual(const std::string& name, int stream, int y, std::vector<int> bias_dims) {
    const std::vector<std::string> tags{"residual"};
    if (spec_.linear_bias) y = biased(name, y, std::move(bias_dims), tags, "bias_dropout_add");
    y = dropped(name, y, tags, "bias_dropout_add");
    const int sum = activation(name + ".x", {b_, s_, h_});
    add(name + ".add", tags, OperatorKind::linear, "add", sum, {stream, y}, "bias_dropout_add");
    return sum;
  }

  int attention(int x) {
    int q = projection("Q", x, {g_, r_, d_}), k = projection("K", x, {g_, d_}), v = projection("V", x, {g_, d_});
    if (spec_.linear_bias || spec_.qkv_bias) {
      const std::vector<std::string> tags{"attn", "attn.qkv"};
      q = biased("Q", q, {g_, r_, d_}, tags, "attn.qkv");
      k = biased("K", k, {g_, d_}, tags, "attn.qkv");
      v = biased("V", v, {g_, d_}, tags, "attn.qkv");
    }
    q = named("Q", rope("Q", q));
    k = named("K", rope("K", k));
    v = named("V", v);
    const int o = activation("O", {b_, s_, g_, r_, d_});
    form_ == AttentionForm::fused ? fused_core(q, k, v, o) : unfused_core(q, k, v, o);
    const int y = activation("Y1", {b_, s_, h_});
    product("attn.out", {"attn", "attn.out"}, y, o, weight("WO", {g_, r_, d_, h_}));
    return y;
  }

  int mlp(int x) {
    const std::vector<std::string> tags{"mlp"};
    const bool gated = spec_.activation == Activation::swiglu || spec_.activation == Activation::geglu;
    const int a = activation("A", {b_, s_, f_});
    if (gated) {
      const int gate = activation("gate", {b_, s_, f_}), up = activation("up", {b_, s_, f_});
      product("mlp.gate", tags, gate, x, weight("Wgate", {h_, f_}), "mlp.up");
      product("mlp.up", tags, up, x, weight("Wup", {h_, f_}), "mlp.up");
      add("mlp.act", tags, OperatorKind::nonlinear, spec_.activation == Activation::swiglu ? "swiglu" : "geglu", a, {gate, up}, "swiglu");
    } else {
      int up = activation("up", {b_, s_, f_});
      product("mlp.up", tags, up, x, weight("Wup", {h_, f_}));
      if (spec_.linear_bias) up = biased("up", up, {f_}, tags, "bias_gelu");
      const char* function = spec_.activation == Activation::gelu ? "gelu" : spec_.activation == Activation::relu ? "relu" : "squared_relu";
      add("mlp.act", tags, OperatorKind::nonlinear, function, a, {up}, "bias_gelu");
    }
    const int y = activation("Y2", {b_, s_, h_});
    product("mlp.down", tags, y, a, weight("Wdown", {f_, h_}));
    return y;
  }

  void embedding() {
    net_.blocks.push_back({"embedding", 1, {}, -1, -1});
    const int tokens = tensor("tokens", {b_, s_}, 8, TensorRole::data);
    int x = activation("X0", {b_, s_, h_});
    Operator& look_up = add("embed", {"embed"}, OperatorKind::select, "", x, {embedding_table_, tokens}, "embedding");
    look_up.monoid = Monoid::sum;
    if (spec_.positions == Positions::learned) {
      const int table = weight("P", {s_, h_});
      const int y = activation("X0.positioned", {b_, s_, h_});
      add("embed.positions", {"embed"}, OperatorKind::linear, "bias", y, {x, table}, "embedding");
      x = y;
    }
    if (spec_.embedding_norm) x = norm("norm0", x, {"norm", "embed"});
    x = dropped("embed", x, {"embed"}, "embedding_dropout");
    net_.blocks.back().output = x;
  }

  void layer() {
    net_.blocks.push_back({"layer", spec_.layers, {}, -1, -1});
    const int x = activation("X", {b_, s_, h_});
    net_.blocks.back().input = x;
    const int x1 = norm("norm1", x, {"norm"});
    const int y1 = attention(x1);
    const int x2 = residual("residual1", x, y1, {h_});
    const int x3 = norm("norm2", x2, {"norm"});
    const int y2 = mlp(x3);
    net_.blocks.back().output = residual("residual2", x2, y2, {h_});
  }

  void head() {
    net_.blocks.push_back({"head", 1, {}, -1, -1});
    const int x = activation("X.last", {b_, s_, h_});
    net_.blocks.back().input = x;
    const int xf = norm("norm3", x, {"norm", "head"});
    int logits = activation("logits", {b_, s_, v_});
    const int table = spec_.tied_embeddings ? embedding_table_ : weight("H", {v_, h_});
    product("head", {"head"}, logits, xf, table);
    const std::vector<std::string> tags{"loss"};
    if (batch_.loss_bytes > batch_.activation_bytes) {
      const int wide = tensor("logits.wide", {b_, s_, v_}, batch_.loss_bytes, TensorRole::activation);
      add("loss.cast", tags, OperatorKind::linear, "cast", wide, {logits}, "loss");
      logits = wide;
    }
    const int labels = tensor("labels", {b_, s_}, 8, TensorRole::data);
    const int m = statistic("loss.max", {b_, s_}), z = statistic("loss.sum", {b_, s_}), target = statistic("loss.target", {b_, s_});
    const int loss = statistic("loss", {b_, s_});
    Operator& largest = add("loss.max", tags, OperatorKind::nonlinear, "identity", m, {logits}, "loss");
    largest.monoid = Monoid::max;
    Operator& pick = add("loss.target", tags, OperatorKind::select, "", target, {logits, labels}, "loss");
    pick.monoid = Monoid::sum;
    Operator& sum = add("loss.sum", tags, OperatorKind::nonlinear, "shifted_exp", z, {logits, m}, "loss");
    sum.monoid = Monoid::sum;
    add("loss", tags, OperatorKind::nonlinear, "cross_entropy", loss, {z, m, target}, "loss");
    net_.blocks.back().output = loss;
  }

  const NetworkSpec& spec_;
  BatchShape batch_;
  AttentionForm form_;
  Network net_;
  int b_, s_, t_, h_, g_, r_, d_, f_, v_, embedding_table_;
};

}  // namespace

Network build_network(const NetworkSpec& spec, const BatchShape& batch, AttentionForm form) {
  assert(spec.kv_heads > 0 && spec.heads % spec.kv_heads == 0);
  return Builder(spec, batch, form).build();
}

}  // namespace stepcast
