// Latent attention (MLA): keys and values made of a low rank, or read there.
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

int TransformerBuilder::latent_down(const char* name, int x, int rank) {
  const int y = activation(name, {b_, s_, rank});
  product(std::string("attn.down.") + name, {"attn", "attn.qkv"}, y, x,
      weight(std::string("Wdown.") + name, {h_, rank}), "attn.down");
  return y;
}

int TransformerBuilder::latent_up(const char* name, int latent, int rank, std::vector<int> heads) {
  std::vector<int> dims{b_, net_.tensors[latent].dims[1]}, weights{rank};
  dims.insert(dims.end(), heads.begin(), heads.end());
  weights.insert(weights.end(), heads.begin(), heads.end());
  const int y = activation(name, dims);
  product(std::string("attn.up.") + name, {"attn", "attn.qkv"}, y, latent, weight(std::string("Wup.") + name, weights),
      rank == lk_ || std::string_view(name) != "Q" ? "attn.up" : "");
  return y;
}

/// DeepSeek-V2 (arXiv 2405.04434) section 2.1: queries, keys and values through low-rank latents; one rotated key for
/// all heads. The core is always fused: its query and value sizes differ.
int TransformerBuilder::latent_attention(int x, LayerKind kind) {
  const Tags tags{"attn", "attn.qkv"};
  gates(x);
  int cq = lq_ >= 0 ? latent_down("cq", x, lq_) : -1;
  const int ckv = latent_down("ckv", x, lk_), kr_raw = latent_down("kr", x, dr_);
  if (cq >= 0) cq = norm("attn.norm.cq", cq, tags);
  if (spec_->sparse.top_k > 0)
    return sparse_core(x, cq, norm("attn.norm.ckv", ckv, tags), rope("kr", kr_raw), kind.picked);
  const bool absorbs = batch_.serves && batch_.positions <= absorbed_positions(*spec_);
  const int q = absorbs ? -1 : cq >= 0 ? latent_up("Q", cq, lq_, {g_, r_, d_}) : projection("Q", x, {g_, r_, d_});
  int latent = norm("attn.norm.ckv", ckv, tags), turned = -1;
  if (batch_.serves) {
    latent = cached("ckv.cache", latent), turned = cached("kr.cache", rope("kr", kr_raw));
    if (absorbs) return absorbed_attention(cq, x, latent, turned);
  }
  const int k = latent_up("K", latent, lk_, {g_, dn_}), v = latent_up("V", latent, lk_, {g_, dv_});
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  const int rotated = rope("Q", q);
  if (turned < 0) turned = rope("kr", kr_raw);
  windowed_core(fused_core(own_core(), rotated, {k, v, turned}, o), kind.windowed);
  return o;
}

/// A few queries against many keys read the latent cache itself, as one key of all heads (DeepSeek-V2 section 2.1.2).
int TransformerBuilder::absorbed_attention(int cq, int x, int latent, int turned) {
  const Tags tags{"attn", "attn.qkv"};
  const int first = cq >= 0 ? cq : x, rank = cq >= 0 ? lq_ : h_;
  const int nope = latent_up("Q.nope", first, rank, {g_, r_, dn_}),
            rotated = rope("Q.rope", latent_up("Q.rope", first, rank, {g_, r_, dr_}));
  const int absorbed = activation("Q.latent", {b_, s_, g_, r_, lk_});
  product("attn.absorb.K", tags, absorbed, nope, weight("Wup.K", {lk_, g_, dn_}));
  const int q = activation("Q", {b_, s_, g_, r_, dq_}), low = activation("O.latent", {b_, s_, g_, r_, lk_});
  add("attn.join.Q", tags, OperatorKind::opaque, "join", q, {absorbed, rotated}, "attn.join").whole_loops = {
      dq_, lk_, dr_};
  Operator& core = fused_core(own_core(), q, {latent, turned}, low);
  core.whole_loops.push_back(dq_);
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  product("attn.absorb.V", tags, o, low, weight("Wup.V", {lk_, g_, dv_}));
  return o;
}

}  // namespace stepcast
