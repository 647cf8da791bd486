#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/transformer_builder.h"

namespace stepcast {

TransformerBuilder::TransformerBuilder(
    const NetworkSpec& spec, const BatchShape& batch, AttentionForm form, Network& net, std::string prefix)
    : prefix_(std::move(prefix)), frozen_(spec.frozen || batch.serves), spec_(&spec), whole_(spec), batch_(batch),
      form_(form), net_(net) {
  net_.dims.reserve(32 + 4 * spec.shapes.size());
  b_ = dim("b", batch.sequences);
  const bool joined = !spec.encoders.empty() && spec.encoders.front().joins;
  const std::int64_t positions = batch.positions + (joined ? spec.encoders.front().sequence : 0);
  s_ = dim("s", positions);
  t_ = dim("t", positions + batch.cached, batch.serves);  // a cache is dealt to ranks position by position
  if (joined) {
    all_ = s_;
    own_ = dim("s.own", batch.positions);
    joined_ = dim("s.encoder", spec.encoders.front().sequence);
  }
  h_ = dim("h", spec.hidden);
  // Compressed attention has one head of keys; its outputs go by groups.
  const std::int64_t groups = spec.compressed.q_rank > 0 ? spec.compressed.o_groups : spec.kv_heads;
  // The groups and their queries are split as one: where an encoder's differ in one, both are its own.
  const std::int64_t queries = spec.heads / groups;
  const auto has = [&](const char* name, std::int64_t extent) {
    const int known = net.find_dim(name);
    return known >= 0 && net.dims[known].extent == extent;
  };
  const bool own_heads = prefix_.empty() || !has("g", groups) || !has("r", queries);
  g_ = own_heads ? new_dim("g", groups) : dim("g", groups);
  r_ = own_heads ? new_dim("r", queries) : dim("r", queries);
  d_ = dim("d", spec.latent.kv_rank > 0 ? spec.latent.nope_dim + spec.latent.rope_dim : spec.head_dim);
  f_ = dim("f", spec.ffn_hidden);
  if (spec.vocab > 0) v_ = dim("v", spec.vocab);
  if (const Experts& x = spec.experts; x.count > 0) {
    e_ = dim("e", x.count);
    k_ = dim("k", x.top_k);
    j_ = dim("j", x.ffn_hidden);
    if (x.shared_ffn_hidden > 0) fs_ = dim("fs", x.shared_ffn_hidden);
    if (x.latent > 0) le_ = dim("le", x.latent);
    // Rows per expert in expectation, rounded up; capacity pads (or cuts) them to a multiple of the mean.
    const double rows = static_cast<double>(batch.sequences) * static_cast<double>(batch.positions) *
                        static_cast<double>(x.top_k) / static_cast<double>(x.count);
    const double kept = rows * (x.capacity_factor > 0 ? x.capacity_factor : 1);
    c_ = dim("c",
        static_cast<std::int64_t>(kept) + (kept > static_cast<double>(static_cast<std::int64_t>(kept)) ? 1 : 0), true);
  }
  if (const LatentAttention& x = spec.latent; x.kv_rank > 0) {
    if (x.q_rank > 0) lq_ = dim("lq", x.q_rank);
    lk_ = dim("lk", x.kv_rank);
    dn_ = dim("dn", x.nope_dim);
    dr_ = dim("dr", x.rope_dim);
    dv_ = dim("dv", x.value_dim);
    if (batch.serves) dq_ = dim("dq", x.kv_rank + x.rope_dim);
  }
  if (const SparseAttention& x = spec.sparse; x.top_k > 0) {
    const bool latent = spec.latent.kv_rank > 0;
    ih_ = latent ? dim("ih", x.heads) : g_;
    id_ = dim("id", x.head_dim);
    ik_ = dim("ik", std::max<std::int64_t>(1, std::min(x.top_k, batch.positions + batch.cached) / x.block));
    if (latent && dq_ < 0) dq_ = dim("dq", spec.latent.kv_rank + spec.latent.rope_dim);
  }
  if (const CompressedAttention& x = spec.compressed; x.q_rank > 0) {
    lq_ = dim("lq", x.q_rank);
    or_ = dim("or", x.o_rank);
    if (x.top_k > 0) ih_ = dim("ih", x.index_heads), id_ = dim("id", x.index_dim);
  }
  if (spec.streams > 1) {
    constexpr std::int64_t scales = 3;  // of what goes in, of what comes out, and of the streams among each other
    const std::int64_t n = spec.streams, mixed = n * (n + 2);
    n_ = dim("hn", n), cc_ = dim("cc", mixed), cs_ = dim("cs", mixed + scales);
    hc_ = dim("hc", n), hs_ = dim("hs", n + 1);
  }
  if (const std::int64_t n = spec.predicted_streams; n > 0) n_ = dim("hn", n), hm_ = dim("hm", n), hr_ = dim("hr", n);
  if (spec.query_rank > 0) lq_ = dim("lq", spec.query_rank);
  if (spec.side_rank > 0) sr_ = dim("sr", spec.side_rank);
  make_shapes();
  sm_ = s_;
  if (spec.masked_loss) {
    const double share = spec.masked_share > 0 ? spec.masked_share : 1;
    sm_ = dim("s.masked", std::max<std::int64_t>(1, std::llround(share * static_cast<double>(batch.positions))), true);
  }
  if (spec.layer_scale || spec.position_gates > 0 || std::ranges::any_of(spec.shapes, &LayerShape::sublayer_gates))
    one_ = dim("one", 1);
  if (const LayerInputs& x = spec.layer_inputs; x.width > 0) {
    iw_ = dim("iw", x.width);
    iv_ = x.words == spec.vocab ? v_ : dim("iv", x.words);
    input_norm_ = weight("input.norm", {iw_});
    net_.tensors[input_norm_].shared = true;
  }
  if (spec.activation_parameters > 0) xa_ = dim("xa", spec.activation_parameters);
  if (batch.lora_rank > 0) z_ = dim("z", batch.lora_rank);
  if (spec.positions == Positions::relative) {
    distances_ = weight("distances", {dim("rd", spec.distances), g_, r_});
    net_.tensors[distances_].shared = true;
  }
  net_.tensors.reserve(96);
}

std::vector<int> TransformerBuilder::streamed() const {
  return n_ >= 0 ? std::vector<int>{b_, s_, n_, h_} : std::vector<int>{b_, s_, h_};
}

/// A dim of another extent is called after the shape: "f.wide". What splits f splits it, too.
void TransformerBuilder::make_shapes() {
  shaped_.reserve(whole_.shapes.size());
  lent_.assign(whole_.shapes.size() + 1, {-1, -1});
  if (dv_ < 0) dv_ = whole_.value_dim > 0 ? dim("dv", whole_.value_dim) : d_;
  shapes_.push_back({&whole_, "", g_, r_, d_, f_, dv_});
  mixer_dims(shapes_.front());
  for (std::uint8_t i = 1; i <= whole_.shapes.size(); ++i) {
    const NetworkSpec& own = shaped_.emplace_back(shaped(whole_, i));
    Shape made{&own, "", g_, r_, d_, f_, dv_};
    const std::string suffix = "." + whole_.shapes[i - 1U].name;
    const auto sized = [&](int usual, std::int64_t extent) {
      if (net_.dims[usual].extent == extent) return usual;
      return dim((net_.dims[usual].name + suffix).c_str(), extent);
    };
    // The groups and their queries are split as one (`par g*r`): where one is the shape's own, both are.
    if (const std::int64_t ratio = whole_.shapes[i - 1U].ratio; ratio > 0) {
      const auto compressed = [&](std::int64_t positions) { return std::max<std::int64_t>(1, positions / ratio); };
      made.sc = dim(("s" + suffix).c_str(), compressed(batch_.positions));
      made.tc = dim(("t" + suffix).c_str(), compressed(batch_.positions + batch_.cached), batch_.serves);
      made.ra = dim(("ra" + suffix).c_str(), ratio);
    }
    if (own.kv_heads != whole_.kv_heads || own.heads != whole_.heads) {
      made.g = dim(("g" + suffix).c_str(), own.kv_heads);
      made.r = dim(("r" + suffix).c_str(), own.heads / own.kv_heads);
    }
    if (own.latent.kv_rank == 0) {
      made.d = sized(d_, own.head_dim);
      made.dv = own.value_dim == 0                  ? made.d
                : own.value_dim == whole_.value_dim ? dv_
                                                    : dim(("dv" + suffix).c_str(), own.value_dim);
    }
    made.f = sized(f_, own.ffn_hidden);
    if (whole_.shapes[i - 1U].mixer) {
      made.suffix = suffix;
      mixer_dims(made);
    }
    shapes_.push_back(std::move(made));
  }
  use_shape(0);
}

void TransformerBuilder::mixer_dims(const Shape& shape) {
  if (!shape.spec->mixer) return;
  for (const auto& [name, formula] : shape.spec->mixer.form->dims)
    dim((name + shape.suffix).c_str(), shape.spec->mixer.extent(name));
}

void TransformerBuilder::use_shape(std::uint8_t shape) {
  const Shape& used = shapes_[shape];
  spec_ = used.spec;
  shape_ = shape;
  g_ = used.g, r_ = used.r, d_ = used.d, f_ = used.f, dv_ = used.dv;
  sc_ = used.sc, tc_ = used.tc, ra_ = used.ra;
  picks_ = shape > 0 && whole_.shapes[shape - 1U].picks;
  mixer_suffix_ = used.suffix;
}

/// Room that most blocks and networks fill by more than half.
constexpr std::size_t usual_operators = 32, usual_tensors = 96;

void TransformerBuilder::build() {
  net_.id = whole_.id;
  net_.tensors.reserve(usual_tensors);
  if (whole_.vocab > 0) {
    // what splits v splits v.looked-up, too
    const int rows = whole_.embedded_only > 0 ? dim("v.looked-up", whole_.vocab + whole_.embedded_only) : v_;
    embedding_table_ = weight("E", {rows, h_});
    head_table_ = whole_.tied_embeddings ? embedding_table_ : weight("H", {v_, h_});
    tokens_ = tensor("tokens", {b_, s_}, 8, TensorRole::data);
  }
  condition();
  encoder();
  embedding();
  layers(Block::Place::layers);
  if (spec_->mtp_layers > 0) prediction();
  use_shape(0);
  head("head", "");
}

void TransformerBuilder::layers(Block::Place place) {
  layer_run(layer_kinds(whole_, whole_.images > 0 ? whole_.sequence : batch_.positions + batch_.cached), 0,
      whole_.layers, place);
}

/// Layers from one to another, those of a kind in one block.
void TransformerBuilder::layer_run(const LayerKinds& all, std::int64_t from, std::int64_t to, Block::Place place) {
  const auto begin = all.of_layer.begin();
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind) {
    const std::int64_t count = std::count(begin + from, begin + to, static_cast<std::uint8_t>(kind));
    if (count == 0) continue;
    layer(all.kinds[kind], count, place);
    if (place == Block::Place::layers) net_.blocks.back().kind = static_cast<int>(kind);
  }
}

/// An encoder's positions are its own; another dim is the network's where it is as wide.
int TransformerBuilder::dim(const char* name, std::int64_t extent, bool expected) {
  if (prefix_.empty()) return new_dim(name, extent, expected);
  const std::string_view called = name;
  const bool positions = called == "s" || called == "t";
  if (const int known = net_.find_dim(positions ? fmt::format("{}.{}", name, prefix_) : name);
      known >= 0 && !expected && net_.dims[known].extent == extent)
    return known;
  return new_dim(name, extent, expected);
}

int TransformerBuilder::new_dim(const char* name, std::int64_t extent, bool expected) {
  net_.dims.push_back({prefix_.empty() ? name : fmt::format("{}.{}", name, prefix_), extent, expected});
  return static_cast<int>(net_.dims.size()) - 1;
}

void TransformerBuilder::start_block(const std::string& name, std::int64_t repeat, Block::Place place) {
  put_adapters();
  net_.blocks.push_back({prefix_.empty() ? name : prefix_ + "_" + name, repeat, {}, -1, -1, place});
  net_.blocks.back().operators.reserve(usual_operators);
}

void TransformerBuilder::embedding() {
  start_block("embedding", 1, Block::Place::first);
  int x = -1;
  if (all_ >= 0) {
    s_ = own_;
    x = features_in();
    s_ = all_;
    x = together("X0.joined", "join", x, memory_);
    net_.blocks.back().reads.push_back(memory_);
  } else if (spec_->features > 0) {
    x = features_in();
  } else {
    x = activation("X0", {b_, s_, h_});
    add("embed", {"embed"}, OperatorKind::select, "", x, {embedding_table_, tokens_}, "embedding").monoid = Monoid::sum;
    if (image_positions(whole_) > 0) x = filled(x);
  }
  if (spec_->token_types > 0) {
    const int types = tensor("types", {b_, s_}, 8, TensorRole::data), looked_up = activation("X0.types", {b_, s_, h_}),
              y = activation("X0.typed", {b_, s_, h_});
    add("embed.types", {"embed"}, OperatorKind::select, "", looked_up,
        {weight("E.types", {dim("tt", spec_->token_types), h_}), types}, "embedding")
        .monoid = Monoid::sum;
    add("embed.typed", {"embed"}, OperatorKind::linear, "add", y, {x, looked_up}, "embedding");
    x = y;
  }
  if (spec_->positions == Positions::learned && !spec_->projectors.empty()) {
    // Each image has the same positions, whose table may be of another size.
    const int where = tensor("positions", {b_, s_}, 8, TensorRole::data), y = activation("X0.positioned", {b_, s_, h_});
    int looked_up = activation("X0.where", {b_, s_, h_});
    add("embed.where", {"embed"}, OperatorKind::select, "", looked_up,
        {weight("P", {dim("pt", spec_->max_positions), h_}), where}, "embedding")
        .monoid = Monoid::sum;
    for (std::int64_t i = 1; i <= spec_->position_gates; ++i)
      looked_up = scaled(fmt::format("embed.where.gate{}", i), looked_up, {one_}, {"embed"}, "embedding");
    add("embed.positions", {"embed"}, OperatorKind::linear, "add", y, {x, looked_up}, "embedding");
    x = y;
  } else if (spec_->positions == Positions::learned) {
    const int table = weight("P", {s_, h_});
    const int y = activation("X0.positioned", {b_, s_, h_});
    add("embed.positions", {"embed"}, OperatorKind::linear, "bias", y, {x, table}, "embedding");
    x = y;
  }
  if (spec_->embedding_norm) x = norm("norm0", x, {"norm", "embed"});
  x = dropped("embed", x, {"embed"}, "embedding_dropout");
  if (iw_ >= 0) {
    embedded_ = activation("X0.lent", {b_, s_, h_});
    add("embed.lent", {"embed"}, OperatorKind::linear, "scale", embedded_, {x}, "embedding");
  }
  if (mixes_streams()) x = copied_streams(x);
  if (predicts_streams()) x = projected_streams(x);
  net_.blocks.back().output = x;
}

int TransformerBuilder::residual(const std::string& name, int stream, int y, std::vector<int> bias_dims, int gate) {
  if (mixes_streams()) return spread(name, stream, y, mixed_);
  const Tags tags{"residual"};
  if (spec_->linear_bias && !bias_dims.empty()) y = biased(name, y, std::move(bias_dims), tags, "bias_dropout_add");
  y = dropped(name, y, tags, "bias_dropout_add");
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
  return normed_sum("norm2", residual("residual2", x, normed_behind("norm2", y2),
                                 feed == Feed::experts ? std::vector<int>{} : std::vector<int>{h_}, gate_of(5)));
}

/// Attention and MLP write one sum: one reduction for both (rule 13). Biases of the two are one vector each.
int TransformerBuilder::parallel_body(int x, LayerKind kind) {
  const int x1 = modulated_norm("norm1", x, {"norm"}, 0);
  int y1 = activation("Y1", {b_, s_, h_});
  const int x3 = spec_->norms_per_layer > 1 ? norm("norm2", x, {"norm"}) : x1;
  attention(x1, y1, kind);
  mlp(x3, y1, "mlp", f_, {"mlp"});
  if (spec_->linear_bias) y1 = biased("attn.out", y1, {h_}, {"residual"}, "bias_dropout_add");
  return residual("residual1", x, y1, spec_->joined_output ? std::vector<int>{} : std::vector<int>{h_}, gate_of(2));
}

int TransformerBuilder::layer_body(int x, LayerKind kind) {
  use_shape(kind.shape);
  if (kind.shape > 0 && whole_.shapes[kind.shape - 1U].joint) return joint_body(x);
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

namespace {

/// "layer" has attention and an MLP; what differs stands in front, and what a layer has alone stands for it.
std::string block_name(LayerKind kind) {
  const char* mixing = kind.mixer && kind.attention ? "mixed"
                       : kind.mixer                 ? "mixer"
                       : kind.windowed              ? "windowed"
                       : kind.picked                ? "picked"
                       : kind.crosses               ? "cross"
                                                    : "";
  if (kind.feed == Feed::none) return *mixing == '\0' ? "attention" : mixing;
  if (kind.sublayers() == 1) return kind.feed == Feed::experts ? "experts" : "mlp";
  return fmt::format("{}{}{}layer", mixing, *mixing == '\0' ? "" : "_", kind.feed == Feed::experts ? "expert_" : "");
}

}  // namespace

void TransformerBuilder::layer(LayerKind kind, std::int64_t repeat, Block::Place place) {
  const std::string shape = kind.shape == 0 ? "" : "_" + whole_.shapes[kind.shape - 1U].name;
  start_block(block_name(kind) + shape, repeat, place);
  const int x = activation("X", streamed());
  net_.blocks.back().input = x;
  net_.blocks.back().output = layer_body(x, kind);
}

Network build_network(const NetworkSpec& spec, const BatchShape& batch, AttentionForm form) {
  assert(spec.kv_heads > 0 && spec.heads % spec.kv_heads == 0);
  Network net;
  TransformerBuilder(spec, batch, form, net).build();
  return net;
}

}  // namespace stepcast
