#include "studies/run/split/sequence_rules.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace stepcast::run {
namespace {

/// Zigzag gives each rank two pieces; split by heads, attention needs none.
std::int64_t pieces_of(const Split& split) {
  return split.cp == 1 ? 1 : split.context == ContextKind::ulysses ? split.cp : 2 * split.cp;
}

std::int64_t sequence_step(const Split& split) {
  return std::lcm(pieces_of(split), split.cp * (split.sequence ? split.tp : 1));
}

/// Of images side by side, the rows that they become; those and their patches are split as the network's positions.
std::int64_t encoder_positions(const NetworkSpec& network) {
  const std::int64_t rows = image_positions(network);
  return rows > 0 ? rows
                  : network.encoders.front().sequence * std::max<std::int64_t>(1, network.encoders.front().images);
}

}  // namespace

bool positions_fit(const Split&, const SplitSize& size, const NetworkSpec& network) {
  return network.positions != Positions::learned || network.max_positions <= 0 ||
         size.sequence <= network.max_positions;
}
Error positions_error(const BrokenSplit& a) {
  return {a.origin(FieldId::sequence),
      fmt::format(
          "{} positions, but {} has learned positions for {}", a.size.sequence, a.network.id, a.network.max_positions),
      fmt::format("at most {}", a.network.max_positions)};
}

bool keys_seen(const Split&, const SplitSize& size, const NetworkSpec& network) {
  return network.dense_positions == 0 || network.sparse.pooled > 0 || size.sequence <= network.dense_positions;
}
Error keys_error(const BrokenSplit& a) {
  return {a.origin(FieldId::sequence),
      fmt::format("{} positions, but beyond {} queries of {} see blocks of keys that scores of pooled keys pick: that "
                  "is not forecast",
          a.size.sequence, a.network.dense_positions, a.network.id),
      fmt::format("at most {}", a.network.dense_positions)};
}

bool sequence_fits(const Split& split, const SplitSize& size, const NetworkSpec&) {
  return size.sequence % sequence_step(split) == 0;
}
Error sequence_error(const BrokenSplit& a) {
  const Split& split = a.split;
  const std::int64_t step = sequence_step(split), pieces = pieces_of(split);
  const char* twice = pieces > split.cp ? " (two pieces per rank)" : "";
  const std::string why = split.cp > 1 ? fmt::format("cp {}{}", split.cp, twice) : std::string("sp");
  return {split.cp > 1 && a.size.sequence % pieces != 0 ? a.origin(FieldId::cp) : a.origin(FieldId::sequence),
      fmt::format("sequence {} does not divide by {} for {}{}", a.size.sequence, step, why,
          split.sequence ? fmt::format(" with tp {}", split.tp) : ""),
      fmt::format("nearest sequences: {}", nearest_multiples(a.size.sequence, step))};
}

/// Transformer Engine brings keys of windowed attention together by gathers or by heads, never round a ring
/// (transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py, cp_comm_type "p2p").
bool window_goes_round(const Split& split, const SplitSize& size, const NetworkSpec& network) {
  if (split.cp == 1 || split.context != ContextKind::ring) return true;
  return !has_windows(network, size.sequence) && !picks_keys(network, size.sequence) && network.compressed.q_rank == 0;
}
Error window_error(const BrokenSplit& a) {
  if (a.network.compressed.q_rank > 0)
    return {a.origin(FieldId::cp_kind),
        fmt::format("attention over compressed keys does not go round a ring of cp {}", a.split.cp),
        "--cp-kind gather, or ulysses"};
  if (a.network.sparse.top_k > 0)
    return {a.origin(FieldId::cp_kind),
        fmt::format(
            "attention over {} chosen keys does not go round a ring of cp {}", a.network.sparse.top_k, a.split.cp),
        "--cp-kind gather, or ulysses"};
  return {a.origin(FieldId::cp_kind),
      fmt::format("attention in {} of {} positions does not go round a ring of cp {}",
          a.network.window.chunks ? "chunks" : "a window", a.network.window.positions, a.split.cp),
      "--cp-kind gather, or ulysses"};
}

bool context_heads_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return split.cp == 1 || split.context != ContextKind::ulysses || heads_split(network, split.tp * split.cp);
}
Error context_heads_error(const BrokenSplit& a) {
  std::vector<std::int64_t> legal;
  for (const std::int64_t cp : divisors(a.network.heads / a.split.tp))
    if (heads_split(a.network, a.split.tp * cp)) legal.push_back(cp);
  return {a.origin(FieldId::cp),
      fmt::format("{} heads ({} kv groups x {}) do not divide by tp {} x cp {} = {}, as ulysses splits them",
          a.network.heads, a.network.kv_heads, a.network.heads / a.network.kv_heads, a.split.tp, a.split.cp,
          a.split.tp * a.split.cp),
      fmt::format("legal cp at tp {}: {}; or --cp-kind ring", a.split.tp, nearest_values(legal, a.split.cp))};
}

/// What the encoder made on the first stage would have to go along with the stream.
bool encoder_reaches(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return split.pp == 1 || !reads_beside_stream(network);
}
Error encoder_error(const BrokenSplit& a) {
  const char* what = !a.network.encoders.empty()            ? "its encoder"
                     : a.network.modulation.frequencies > 0 ? "a sample's vectors"
                                                            : "what others embedded or made of keys";
  return {a.origin(FieldId::pp),
      fmt::format(
          "the layers of {} look at {}: what stands on the first stage does not go from stage to stage of pp {} "
          "here",
          a.network.id, what, a.split.pp),
      "--pp 1"};
}

/// Its positions are split as the network's are.
bool encoder_fits(const Split& split, const SplitSize&, const NetworkSpec& network) {
  return network.encoders.empty() || encoder_positions(network) % sequence_step(split) == 0;
}
Error encoder_length_error(const BrokenSplit& a) {
  const std::int64_t step = sequence_step(a.split), length = encoder_positions(a.network);
  const bool sound = a.network.encoders.front().sound;
  const std::string pieces = image_positions(a.network) == 0 ? "" : sound ? "clips" : "images";
  return {a.split.cp > 1 ? a.origin(FieldId::cp) : a.origin(FieldId::sp),
      fmt::format("the {} positions of the encoder{} do not divide by {} for {}", length,
          pieces.empty() ? "" : fmt::format("'s {}, merged,", pieces), step,
          a.split.cp > 1 ? fmt::format("cp {}", a.split.cp) : fmt::format("sp with tp {}", a.split.tp)),
      fmt::format("{}{}",
          pieces.empty() ? "--encoder-seq " + nearest_multiples(length, step)
                         : fmt::format("{} or {} of another number", pieces, sound ? "positions" : "patches"),
          a.split.cp > 1 ? "" : ", or --sp off")};
}

bool encoder_heads_fit(const Split& split, const SplitSize&, const NetworkSpec& network) {
  if (network.encoders.empty() || network.encoders.front().layers == 0) return true;
  const NetworkSpec& encoder = network.encoders.front();
  return heads_split(encoder, split.tp) && encoder.ffn_hidden % split.tp == 0;
}
Error encoder_heads_error(const BrokenSplit& a) {
  const NetworkSpec& encoder = a.network.encoders.front();
  std::vector<std::int64_t> legal;
  for (const std::int64_t tp : divisors(encoder.ffn_hidden))
    if (heads_split(encoder, tp)) legal.push_back(tp);
  return {a.origin(FieldId::tp),
      fmt::format(
          "the encoder's {} heads and MLP of {} do not divide by tp {}", encoder.heads, encoder.ffn_hidden, a.split.tp),
      fmt::format("legal tp: {}", nearest_values(legal, a.split.tp))};
}

bool boundary_fits(const Split& split, const SplitSize& size, const NetworkSpec&) {
  return split.scatter == Scatter::none || size.sequence % (split.tp * split.cp) == 0;
}
Error boundary_error(const BrokenSplit& a) {
  const std::int64_t step = a.split.tp * a.split.cp;
  return {a.origin(FieldId::scatter_boundary),
      fmt::format("sequence {} does not divide by tp {} x cp {} = {}, in which pieces it goes to the next stage",
          a.size.sequence, a.split.tp, a.split.cp, step),
      fmt::format("nearest sequences: {}; or --scatter-boundary off", nearest_multiples(a.size.sequence, step))};
}

}  // namespace stepcast::run
