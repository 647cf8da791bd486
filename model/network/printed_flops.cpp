#include "model/network/printed_flops.h"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

double gated_share(const NetworkSpec& n) {
  return n.activation == Activation::swiglu || n.activation == Activation::geglu ? 1.5 : 1;
}

double mamba2_flops(const Mixer& m, double hidden) {
  const double inner = 2 * hidden, state = number(m.size("state"));
  return 2 * hidden * (2 * inner + 2 * number(m.size("groups")) * state + number(m.size("heads"))) + 7 * inner * state +
         2 * inner * hidden;
}

double gated_delta_flops(const Mixer& m, double hidden) {
  const double keys = number(m.size("key_heads") * m.size("key_dim")), heads = number(m.size("value_heads")),
               size = number(m.size("value_dim")), values = heads * size;
  return 2 * (hidden * (2 * keys + 2 * values + 2 * heads) + number(m.size("taps")) * (2 * keys + values) +
                 heads * size * size * 4 + hidden * values);
}

struct PrintedMixer {
  const char* form;
  double (*flops)(const Mixer& mixer, double hidden);
};
constexpr std::array printed_mixers{
    PrintedMixer{"mamba2", mamba2_flops}, PrintedMixer{"gated-delta", gated_delta_flops}};

double mixer_flops(const NetworkSpec& n) {
  const auto row = std::ranges::find_if(
      printed_mixers, [&](const PrintedMixer& printed) { return !n.mixer.own && printed.form == n.mixer.form->id; });
  return row != printed_mixers.end() ? row->flops(n.mixer, number(n.hidden))
                                     : count_mixer(n.mixer, n.hidden).flops_per_token;
}

double expert_flops(const NetworkSpec& n) {
  const Experts& e = n.experts;
  const double inner = number(e.latent > 0 ? e.latent : n.hidden), hidden = number(n.hidden);
  return 4 * gated_share(n) * (inner * number(e.ffn_hidden * e.top_k) + hidden * number(e.shared_ffn_hidden)) +
         4 * hidden * number(e.latent);
}

/// A token's forward FLOPs in a layer of the kind.
double layer_flops(const NetworkSpec& network, const LayerKind& kind, std::int64_t sequence) {
  const NetworkSpec n = shaped(network, kind.shape);
  double total = 0;
  if (kind.mixer) total += mixer_flops(n);
  if (kind.feed == Feed::mlp) total += 4 * gated_share(n) * number(n.hidden * n.ffn_hidden);
  if (kind.feed == Feed::experts) total += expert_flops(n);
  return kind.attention ? total + attention_flops(network, kind, sequence) : total;
}

}  // namespace

double printed_flops(const NetworkSpec& n, double tokens, std::int64_t sequence) {
  const LayerKinds all = layer_kinds(n, sequence);
  double total = 2 * number(n.hidden * n.vocab * (1 + n.mtp_layers));
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
    total += number(all.count(kind)) * layer_flops(n, all.kinds[kind], sequence);
  for (const LayerKind& kind : prediction_layers(n)) total += number(n.mtp_layers) * layer_flops(n, kind, sequence);
  return 3 * tokens * total;
}

double torchtitan_flops(const NetworkSpec& n, double tokens, std::int64_t sequence) {
  const Experts& e = n.experts;
  const double gate = gated_share(n), hidden = number(n.hidden), inner = number(e.latent > 0 ? e.latent : n.hidden);
  const double idle = 2 * gate * inner * number(e.ffn_hidden) * number(e.count - e.top_k);
  double active = number(parameter_count(n)) +
                  number(n.mtp_layers) * (hidden * number(n.vocab) + number(n.streams - 1) * hidden * hidden);
  if (!n.tied_embeddings) active -= hidden * number(n.vocab);
  const auto leave_out = [&](const LayerKind& kind, double layers) {
    if (kind.feed != Feed::experts) return;
    active -= layers * (idle + (shaped(n, kind.shape).experts.router_bias ? number(e.count) : 0));
  };
  const LayerKinds all = layer_kinds(n, sequence);
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind) leave_out(all.kinds[kind], number(all.count(kind)));
  if (n.mtp_layers > 0)
    for (const LayerKind& kind : prediction_layers(n)) leave_out(kind, number(n.mtp_layers));
  return 6 * tokens * active + model_flops(n, tokens, sequence, false) - model_flops(n, tokens, 0, false);
}

std::span<const FlopsCount> flops_counts() {
  static constexpr FlopsCount rows[] = {
      {"nvidia", "NVIDIA's count", printed_flops}, {"torchtitan", "torchtitan's count", torchtitan_flops}};
  return rows;
}

const FlopsCount* find_flops_count(const std::string& id) {
  const auto row = std::ranges::find(flops_counts(), id, &FlopsCount::id);
  return row == flops_counts().end() ? nullptr : &*row;
}

}  // namespace stepcast
