// Dims of a transformer, and those that layers of a shape have of their own.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model/network/blocks/transformer_builder.h"

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
    if (std::ranges::any_of(spec.shapes, [](const LayerShape& shape) { return shape.second || shape.alone; }))
      to_ = dim("t.own", batch.positions);
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

}  // namespace stepcast
