// Blocks in order: embedding, layers of each kind, prediction modules, head.
#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "model/network/autocast.h"
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

namespace {

/// Room that most blocks and networks fill by more than half.
constexpr std::size_t usual_operators = 32, usual_tensors = 96;

}  // namespace

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

void TransformerBuilder::start_block(const std::string& name, std::int64_t repeat, Block::Place place) {
  put_adapters();
  net_.blocks.push_back({prefix_.empty() ? name : prefix_ + "_" + name, repeat, {}, -1, -1, place});
  net_.blocks.back().operators.reserve(usual_operators);
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
  if (batch.autocast) autocast(net, batch.activation_bytes);
  return net;
}

}  // namespace stepcast
