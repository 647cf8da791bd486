// Architectures whose layers differ in their sizes or in what their attention sees.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

constexpr IntegerRange block_sizes{1, 100'000'000};

/// What a block of a searched network has.
struct SearchedBlock {
  LayerKind kind{Feed::none, false, false, false};
  std::int64_t kv_heads = 0, ffn_hidden = 0;
};

/// A sublayer that the search took out or put a matrix in the place of.
bool is_out(JsonObject& part) {
  bool out = false, matrix = false;
  part.optional("no_op", out);
  part.optional("replace_with_linear", matrix);
  part.require(!matrix, "replace_with_linear", "a matrix in place of a sublayer is none of our forms", "false");
  for (const char* key : {"sparsify", "num_sink_tokens", "window_length", "mamba", "llama4", "moe", "hidden_act",
           "intermediate_size", "parallel_blocks"})
    part.require(!part.has(key), key, "a sublayer with it is none of our forms", "null");
  return out;
}

/// The width of the MLP is two thirds of twice the multiple, rounded up to 256 (modeling_decilm.py of
/// nvidia/Llama-3_3-Nemotron-Super-49B-v1, _ffn_mult_to_intermediate_size).
std::int64_t width_of(double multiple, std::int64_t hidden) {
  constexpr std::int64_t step = 256;
  const auto width = static_cast<std::int64_t>(2 * multiple * static_cast<double>(hidden) / 3);
  return (width + step - 1) / step * step;
}

SearchedBlock searched_block(const JsonObject& object, const NetworkSpec& n) {
  JsonObject block = object;
  block.allow_unknown_keys();
  SearchedBlock made;
  JsonObject attention = block.object("attention"), ffn = block.object("ffn");
  attention.allow_unknown_keys();
  ffn.allow_unknown_keys();
  made.kind.attention = !is_out(attention);
  if (made.kind.attention) {
    std::int64_t group = 1;
    attention.read("n_heads_in_group", group, block_sizes);
    attention.require(group > 0 && n.heads % group == 0, "n_heads_in_group",
        fmt::format("{} query heads of {} share a key head", group, n.heads), "a number that divides the heads");
    made.kv_heads = n.heads / std::max<std::int64_t>(1, group);
  }
  if (is_out(ffn)) return made;
  double multiple = 0;
  bool gated = true;
  ffn.optional("gated", gated);
  ffn.require(gated, "gated", "an MLP without a gate is none of its forms", "true");
  ffn.read("ffn_mult", multiple, NumberRange{1e-3, 1e3});
  made.kind.feed = Feed::mlp;
  made.ffn_hidden = width_of(multiple, n.hidden);
  return made;
}

/// The most common of the sizes that are there; 0: none is.
std::int64_t usual(const std::vector<SearchedBlock>& blocks, std::int64_t SearchedBlock::*which) {
  std::map<std::int64_t, int> seen;
  for (const SearchedBlock& block : blocks)
    if (block.*which > 0) ++seen[block.*which];
  const auto most = std::ranges::max_element(seen, {}, &std::pair<const std::int64_t, int>::second);
  return most == seen.end() ? 0 : most->first;
}

/// The shape of these sizes, added where no layer had it before; 0: the network's own.
std::uint8_t shape_of(NetworkSpec& n, const SearchedBlock& block) {
  LayerShape shape;
  if (block.kv_heads > 0 && block.kv_heads != n.kv_heads) {
    shape.kv_heads = block.kv_heads;
    shape.name = fmt::format("kv{}", block.kv_heads);
  }
  if (block.ffn_hidden > 0 && block.ffn_hidden != n.ffn_hidden) {
    shape.ffn_hidden = block.ffn_hidden;
    shape.name += fmt::format("{}mlp{}", shape.name.empty() ? "" : "-", block.ffn_hidden);
  }
  if (shape.name.empty()) return 0;
  const auto same = std::ranges::find(n.shapes, shape.name, &LayerShape::name);
  const auto at = static_cast<std::uint8_t>(same - n.shapes.begin() + 1);
  if (same == n.shapes.end()) n.shapes.push_back(std::move(shape));
  return at;
}

/// A layer of DeepSeek-V4 that compresses so many positions to a key: one in 4 are picked among, of one in 128 all are
/// seen; 0: the window alone.
LayerShape compressing(std::int64_t ratio, bool hashed) {
  constexpr std::int64_t picked_among = 4;
  LayerShape shape;
  shape.ratio = ratio;
  shape.picks = ratio == picked_among;
  shape.hashed_experts = hashed;
  if (ratio > 0) shape.name = shape.picks ? "picked" : "compressed";
  if (hashed) shape.name += shape.name.empty() ? "hashed" : "-hashed";
  return shape;
}

/// Of a list of 0 and 1 under the key, one for each layer.
std::vector<std::int64_t> marks(HfReader& r, JsonObject& file, const char* key) {
  std::vector<std::int64_t> layers;
  file.read(key, layers, IntegerRange{0, 1});
  file.require(static_cast<std::int64_t>(layers.size()) == r.spec.layers, key,
      fmt::format("{} marks for {} layers", layers.size(), r.spec.layers), "one for each layer");
  layers.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, r.spec.layers)));
  return layers;
}

}  // namespace

/// Llama with blocks that were searched one by one (Puzzle, arXiv 2411.19146): each has its own key-value heads and
/// MLP width, or goes without one of the two.
void decilm(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.vocab = r.size("vocab_size");
  n.head_dim = r.config.has("head_dim") ? r.size("head_dim") : n.heads > 0 ? n.hidden / n.heads : 0;
  n.tied_embeddings = r.tied_or(false);
  r.length("max_position_embeddings");
  r.activation("hidden_act", "silu", true);
  attention_biases(r, false);
  r.dropout({"attention_dropout"}, 0);
  const std::vector<JsonObject> objects = r.config.optional_objects("block_configs");
  std::vector<std::int64_t> key_heads;  // of DeciLM 7B, whose layers differ in these alone
  r.config.optional("num_key_value_heads_per_layer", key_heads, IntegerRange{1, 100'000});
  const bool listed = !key_heads.empty() && objects.empty();
  const std::size_t told = listed ? key_heads.size() : objects.size();
  r.config.require(static_cast<std::int64_t>(told) == n.layers,
      listed ? "num_key_value_heads_per_layer" : "block_configs",
      fmt::format("{} blocks for {} layers", told, n.layers),
      "one for each layer, or num_key_value_heads_per_layer beside no blocks");
  if (r.config.failed()) return;
  std::vector<SearchedBlock> blocks;
  for (const JsonObject& object : objects) blocks.push_back(searched_block(object, n));
  if (listed) {
    const std::int64_t width = r.size("intermediate_size");
    for (const std::int64_t heads : key_heads) blocks.push_back({{Feed::mlp, false, false, true}, heads, width});
  }
  n.kv_heads = usual(blocks, &SearchedBlock::kv_heads);
  n.ffn_hidden = usual(blocks, &SearchedBlock::ffn_hidden);
  n.pattern.clear();
  for (SearchedBlock& block : blocks) {
    if (block.kind.sublayers() == 0) continue;
    block.kind.shape = shape_of(n, block);
    n.pattern.push_back(block.kind);
  }
  const auto kept = static_cast<std::int64_t>(n.pattern.size());
  if (kept < n.layers) r.note(fmt::format("{} layers without sublayers left out", n.layers - kept));
  r.config.require(kept > 0, "block_configs", "no block has a sublayer", "attention or ffn with no_op false");
  n.layers = kept;
  n.pattern = shortest(std::move(n.pattern));
}

/// Each layer has heads and an MLP of its own size (OpenELM, modeling_openelm.py of apple's files, make_divisible).
void openelm(HfReader& r) {
  NetworkSpec& n = r.spec;
  n.layers = r.size("num_transformer_layers");
  n.hidden = r.size("model_dim");
  n.head_dim = r.size("head_dim");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.flag_or("share_input_output_layers", true);
  n.qk_norm = r.flag_or("normalize_qk_projections", true);
  r.length("max_context_length");
  std::vector<std::int64_t> heads, kv_heads;
  std::vector<double> multiples;
  r.config.read("num_query_heads", heads, block_sizes);
  r.config.read("num_kv_heads", kv_heads, block_sizes);
  r.config.read("ffn_multipliers", multiples, NumberRange{1e-3, 1e3});
  const auto step = static_cast<double>(r.size_or("ffn_dim_divisor", 256));
  const bool gated = r.flag_or("ffn_with_glu", true);
  r.config.require(gated, "ffn_with_glu", "an MLP without a gate is none of its forms", "true");
  const auto layers = static_cast<std::size_t>(n.layers);
  r.config.require(heads.size() == layers && kv_heads.size() == layers && multiples.size() == layers, "num_query_heads",
      "a list has another number of layers", "one number for each layer in all lists");
  if (r.config.failed() || heads.size() != layers || kv_heads.size() != layers || multiples.size() != layers) return;
  for (std::size_t i = 0; i < layers; ++i) {
    const double width = multiples[i] * static_cast<double>(n.hidden);
    double made = std::max(step, std::floor((width + step / 2) / step) * step);
    constexpr double least = 0.9;  // a width is rounded down by a tenth at most
    if (made < least * width) made += step;
    LayerShape shape;
    shape.heads = heads[i], shape.kv_heads = kv_heads[i], shape.ffn_hidden = static_cast<std::int64_t>(made);
    shape.name = fmt::format("q{}-kv{}-mlp{}", shape.heads, shape.kv_heads, shape.ffn_hidden);
    if (i == 0) n.heads = shape.heads, n.kv_heads = shape.kv_heads, n.ffn_hidden = shape.ffn_hidden;
    LayerKind kind{Feed::mlp, false, false, true};
    if (shape.heads != n.heads || shape.kv_heads != n.kv_heads || shape.ffn_hidden != n.ffn_hidden) {
      const auto same = std::ranges::find(n.shapes, shape.name, &LayerShape::name);
      kind.shape = static_cast<std::uint8_t>(same - n.shapes.begin() + 1);
      if (same == n.shapes.end()) n.shapes.push_back(std::move(shape));
    }
    n.pattern.push_back(kind);
  }
  n.pattern = shortest(std::move(n.pattern));
}

/// Experts behind the first layers, whose attention picks blocks of keys by an indexer for each key-value head.
void minimax_m3(HfReader& r) {
  shared_sizes(r, 0, 0, false);
  NetworkSpec& n = r.spec;
  const std::string gate = r.text_or("hidden_act", "swigluoai");  // a sigmoid with a factor and bounds, gated like SiLU
  r.config.require(gate == "swigluoai" || gate == "silu", "hidden_act",
      fmt::format("the activation '{:.40}' is none of its own", gate), "swigluoai, silu");
  n.activation = Activation::swiglu;
  n.ffn_hidden = r.size("dense_intermediate_size");
  Experts& e = n.experts;
  e.count = r.size("num_local_experts");
  e.top_k = r.size("num_experts_per_tok");
  e.ffn_hidden = r.either("intermediate_size", "moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("n_shared_experts", 0) * r.size_or("shared_intermediate_size", e.ffn_hidden);
  e.router_bias = r.flag_or("use_routing_bias", true);
  n.qk_norm = r.flag_or("use_qk_norm", true);
  const std::string over = r.text_or("qk_norm_type", "per_head");
  r.config.require(over == "per_head", "qk_norm_type", fmt::format("'{:.40}' is none of its norms", over), "per_head");
  n.attention_gate = r.flag_or("attention_output_gate", false);
  for (const char* key : {"num_mtp_modules", "num_nextn_predict_layers"})
    if (r.config.has(key) && r.size_or(key, 0) > 0)
      r.note(fmt::format("{} {}: its file does not describe them, they are left out", key, r.size(key)));
  if (r.config.has("first_k_dense_replace")) r.size_or("first_k_dense_replace", 0);
  const std::vector<std::int64_t> routed = marks(r, r.config, "moe_layer_freq");
  std::vector<std::int64_t> picks(routed.size(), 0);
  if (r.config.has("sparse_attention_config")) {
    JsonObject sparse = r.config.object("sparse_attention_config");
    // which of the blocks are always seen, and how a block's score is made of its keys': neither changes how many
    for (const char* key : {"sparse_score_type", "sparse_init_block", "sparse_local_block"})
      static_cast<void>(sparse.has(key));
    bool used = true;
    sparse.optional("use_sparse_attention", used);
    if (used) {
      picks = marks(r, sparse, "sparse_attention_freq");
      std::int64_t blocks = 0;
      sparse.read("sparse_topk_blocks", blocks, block_sizes);
      sparse.read("sparse_block_size", n.sparse.block, block_sizes);
      sparse.read("sparse_num_index_heads", n.sparse.heads, block_sizes);
      sparse.read("sparse_index_dim", n.sparse.head_dim, block_sizes);
      n.sparse.top_k = blocks * n.sparse.block;
      std::vector<std::int64_t> valueless;  // 1: an indexer without values of its own
      sparse.optional("sparse_disable_index_value", valueless, IntegerRange{0, 1});
      for (std::size_t i = 0; i < picks.size(); ++i)
        sparse.require(picks[i] == 0 || (i < valueless.size() && valueless[i] == 1), "sparse_disable_index_value",
            "an indexer with values of its own is none of our forms", "1 in every layer that picks");
    }
  }
  if (std::ranges::find(picks, 1) == picks.end()) n.sparse = {};
  else if (std::ranges::find(picks, 0) != picks.end()) n.shapes.push_back({.name = "full", .all_keys = true});
  for (std::size_t i = 0; i < routed.size(); ++i) {
    LayerKind kind{routed[i] == 1 ? Feed::experts : Feed::mlp, false, false, true};
    kind.shape = picks[i] == 0 && !n.shapes.empty() ? 1 : 0;
    n.pattern.push_back(kind);
  }
  n.pattern = shortest(std::move(n.pattern));
}

/// Attention in a window and over compressed keys, several residual streams, experts chosen by a hash of the word in
/// the first layers; a prediction module has the window alone (deepseek_v4/modeling_deepseek_v4.py).
void deepseek_v4(HfReader& r) {
  NetworkSpec& n = r.spec;
  stream_sizes(r);
  n.kv_heads = r.size_or("num_key_value_heads", 1, 1);
  n.head_dim = r.size("head_dim");
  n.vocab = r.size("vocab_size");
  n.tied_embeddings = r.tied_or(false);
  r.length("max_position_embeddings");
  r.activation("hidden_act", "silu", true);
  r.dropout({"attention_dropout"}, 0);
  attention_biases(r, false);
  n.compressed = {r.size("q_lora_rank"), r.size("o_lora_rank"), r.size("o_groups"), r.size("sliding_window"),
      r.size("index_topk"), r.size("index_n_heads"), r.size("index_head_dim")};
  n.streams = r.size_or("hc_mult", 4);
  Experts& e = n.experts;
  n.ffn_hidden = expert_sizes(r, "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size");
  e.shared_ffn_hidden = r.size_or("n_shared_experts", 0) * e.ffn_hidden;
  e.router_bias = true;
  const std::int64_t hashed = r.size_or("num_hash_layers", 0);
  if (r.config.has("qk_rope_head_dim")) r.size("qk_rope_head_dim");
  constexpr std::int64_t timed_rounds = 20;  // of all tables of engines' kernels, and of DeepSeek V4 itself
  if (r.size_or("hc_sinkhorn_iters", timed_rounds) != timed_rounds)
    r.note(fmt::format("hc_sinkhorn_iters: the mixing of streams is priced with {} rounds", timed_rounds));
  std::vector<std::int64_t> ratios;
  r.config.read("compress_ratios", ratios, IntegerRange{0, 1 << 20});
  r.config.require(static_cast<std::int64_t>(ratios.size()) >= n.layers, "compress_ratios",
      fmt::format("{} ratios for {} layers", ratios.size(), n.layers), "one for each layer");
  if (static_cast<std::int64_t>(ratios.size()) < n.layers) return;
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    const std::int64_t ratio = ratios[static_cast<std::size_t>(layer)];
    LayerKind kind{Feed::experts, false, false, true};
    LayerShape shape = compressing(ratio <= 1 ? 0 : ratio, layer < hashed);
    if (!shape.name.empty()) {
      const auto same = std::ranges::find(n.shapes, shape.name, &LayerShape::name);
      r.config.require(same == n.shapes.end() || same->ratio == shape.ratio, "compress_ratios",
          fmt::format("layers compress {} and {} positions to a key", ratio, shape.ratio), "4 and one other ratio");
      kind.shape = static_cast<std::uint8_t>(same - n.shapes.begin() + 1);
      if (same == n.shapes.end()) n.shapes.push_back(std::move(shape));
    }
    n.pattern.push_back(kind);
  }
  n.pattern = shortest(std::move(n.pattern));
  n.mtp_layers = r.config.has("num_nextn_predict_layers") ? r.size_or("num_nextn_predict_layers", 0) : 0;
  if (n.mtp_layers > 0) n.mtp_pattern = {{Feed::experts, false, false, true}};
}

}  // namespace stepcast::detail
