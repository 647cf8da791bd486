// Parameters and model FLOPs of a network by closed formulas over its spec. The operators that build_network makes say
// the same things one by one; tests hold the two against each other.
#include <algorithm>

#include "model/network/attention_counts.h"
#include "model/network/modulation_counts.h"
#include "model/network/network.h"

namespace stepcast {
namespace {

using detail::Count, detail::norm_size, detail::attention_matrices, detail::attention_vectors, detail::cross_matrices,
    detail::index_matrices, detail::picks, detail::compressor_of, detail::core_flops_of, detail::stream_matrices,
    detail::stream_vectors, detail::merging_matrices, detail::merging_vectors, detail::router_matrix,
    detail::coefficient_matrices, detail::prediction_vectors, detail::projection_matrices, detail::side_matrices,
    detail::modulation_matrices, detail::modulation_parameters, detail::last_vectors_of, detail::vectors_of,
    detail::condition_matrices, detail::condition_parameters, detail::gate_vectors;

bool is_gated(const NetworkSpec& n) { return n.activation == Activation::swiglu || n.activation == Activation::geglu; }

/// Weight matrices of an MLP: up, down, and the gate where there is one.
Count mlp_matrices(const NetworkSpec& n, Count width) { return (is_gated(n) ? 3 : 2) * n.hidden * width; }
Count mlp_biases(const NetworkSpec& n, Count width) { return (is_gated(n) ? 2 : 1) * width + n.hidden; }

/// Matrices that one token meets in a routed layer's MLP (`experts` = top_k), or all of them (`experts` = count).
Count routed_matrices(const NetworkSpec& n, Count experts) {
  const Experts& e = n.experts;
  const Count router = n.hidden * e.count, gate = e.shared_gate ? n.hidden : 0;
  const Count inner = e.latent > 0 ? e.latent : n.hidden;
  return experts * (is_gated(n) ? 3 : 2) * inner * e.ffn_hidden + 2 * n.hidden * e.latent +
         mlp_matrices(n, e.shared_ffn_hidden) + router + gate;
}

Count routed_vectors(const NetworkSpec& n) {
  const Experts& e = n.experts;
  return (e.router_bias ? e.count : 0) + (e.expert_bias ? e.count * mlp_biases(n, e.ffn_hidden) : 0) +
         n.activation_parameters * (e.shared_ffn_hidden > 0 ? 2 : 1) + (e.own_norms ? 4 * norm_size(n, n.hidden) : 0) +
         (e.norm_behind ? norm_size(n, n.hidden) : 0) + (e.latent_norm ? norm_size(n, e.latent) : 0);
}

/// Of the encoder's positions in a joint layer that makes nothing of them: outputs of attention, and the MLP.
Count idle_matrices(const NetworkSpec& n, const LayerKind& kind) {
  if (kind.shape == 0 || !n.shapes[kind.shape - 1U].ends) return 0;
  return n.heads * n.head_dim * n.hidden + mlp_matrices(n, n.ffn_hidden);
}
Count idle_parameters(const NetworkSpec& n, const LayerKind& kind) {
  const Count matrices = idle_matrices(n, kind);
  return matrices == 0 ? 0 : matrices + n.hidden + mlp_biases(n, n.ffn_hidden);
}
bool is_joint(const NetworkSpec& n, const LayerKind& kind) { return kind.shape > 0 && n.shapes[kind.shape - 1U].joint; }
/// Has it a second attention, of the network's own positions?
bool has_second(const NetworkSpec& n, const LayerKind& kind) {
  return kind.shape > 0 && n.shapes[kind.shape - 1U].second;
}

/// Of a layer's own input: of what was embedded, its gate, and back to the stream.
Count input_matrices(const NetworkSpec& n) { return 3 * n.hidden * n.layer_inputs.width; }

Count layer_norms(const NetworkSpec& n, const LayerKind& kind) {
  if (n.modulation.frequencies > 0 && !n.modulation.gates && !n.modulation.gains)
    return kind.crosses && !n.bare_crossing ? 1 : 0;
  if (kind.shape > 0 && kind.attention && n.shapes[kind.shape - 1U].bare_attention)
    return kind.sublayers() * (n.norm_place == NormPlace::both ? 2 : 1) - 1;
  return n.parallel_block ? n.norms_per_layer : kind.sublayers() * (n.norm_place == NormPlace::both ? 2 : 1);
}

Count own_parameters(const NetworkSpec& n, const LayerKind& kind) {
  Count total = layer_norms(n, kind) * norm_size(n, n.hidden) + (n.layer_scale ? 1 : 0) +
                (n.sublayer_scales     ? kind.sublayers() * n.hidden
                    : n.sublayer_gates ? kind.sublayers()
                                       : 0);
  if (n.layer_inputs.width > 0) total += input_matrices(n) + n.layer_inputs.words * n.layer_inputs.width + n.hidden;
  total += kind.sublayers() * (stream_matrices(n) + stream_vectors(n));
  total += router_matrix(n) + coefficient_matrices(n) + prediction_vectors(n);
  if (kind.attention && n.side_rank > 0) total += side_matrices(n) + norm_size(n, n.hidden);
  const auto compressor = compressor_of(n, kind);
  total += compressor.matrices + compressor.vectors;
  if (kind.attention) total += attention_matrices(n) + attention_vectors(n);
  if (kind.crosses) total += cross_matrices(n).stream + cross_matrices(n).memory + attention_vectors(n);
  if (picks(n, kind) && n.sparse.pooled == 0)
    total += index_matrices(n) + (n.latent.kv_rank > 0 ? 2 * n.sparse.head_dim : 2 * norm_size(n, n.sparse.head_dim));
  if (kind.mixer) total += count_mixer(n.mixer, n.hidden).parameters;
  if (kind.feed == Feed::experts) total += routed_matrices(n, n.experts.count) + routed_vectors(n);
  if (kind.feed == Feed::mlp)
    total += mlp_matrices(n, n.ffn_hidden) + (n.linear_bias || n.mlp_bias ? mlp_biases(n, n.ffn_hidden) : 0) +
             n.activation_parameters;
  if (n.joined_output && n.linear_bias) total -= n.hidden;  // one bias for both
  return total;
}

Count layer_parameters(const NetworkSpec& n, const LayerKind& kind) {
  const Count own = kind.shape == 0 ? own_parameters(n, kind) : own_parameters(shaped(n, kind.shape), kind);
  Count second = 0;
  if (has_second(n, kind)) {
    const NetworkSpec here = shaped(n, kind.shape);
    second = attention_matrices(here) + attention_vectors(here);
  }
  return (is_joint(n, kind) ? 2 : 1) * own + second - idle_parameters(n, kind) +
         (n.modulation.common ? 0 : modulation_parameters(n, vectors_of(n, kind)));
}

/// A multi-token prediction module of DeepSeek-V3 (arXiv 2412.19437) eq. 21-23: the norms of its two inputs, their
/// joint projection, one layer like the last, a final norm. Embedding and head are those of the model.
Count prediction_module_parameters(const NetworkSpec& n) {
  Count total = 3 * norm_size(n, n.hidden) + 2 * n.hidden * n.hidden + merging_matrices(n) + merging_vectors(n);
  for (const LayerKind& kind : prediction_layers(n)) total += layer_parameters(n, kind);
  return total;
}

/// Per token, of a layer without its attention core: of the matrices that the token meets, and of scans.
double layer_flops(const NetworkSpec& n, const LayerKind& kind) {
  Count matrices = kind.sublayers() * stream_matrices(n) + compressor_of(n, kind).matrices + input_matrices(n);
  matrices += 2 * router_matrix(n) + coefficient_matrices(n);
  if (kind.attention) matrices += attention_matrices(n) + side_matrices(n);
  if (kind.crosses) matrices += cross_matrices(n).stream;
  if (picks(n, kind)) matrices += index_matrices(n);
  if (kind.feed == Feed::experts) matrices += routed_matrices(n, n.experts.top_k);
  if (kind.feed == Feed::mlp) matrices += mlp_matrices(n, n.ffn_hidden);
  const double mixed = kind.mixer ? count_mixer(n.mixer, n.hidden).flops_per_token : 0;
  return 2 * static_cast<double>(matrices) + mixed;
}

/// Per token: the logits, of masked positions with the matrix before them; what the first position goes through.
double head_flops(const NetworkSpec& n, std::int64_t sequence) {
  const auto hidden = static_cast<double>(n.hidden);
  const double logits = 2 * (hidden * static_cast<double>(n.vocab) + static_cast<double>(merging_matrices(n)));
  const double pooled =
      n.pooled_outputs == 0 || sequence == 0
          ? 0
          : 2 * hidden * (hidden + static_cast<double>(n.pooled_outputs)) / static_cast<double>(sequence);
  if (!n.masked_loss) return logits + pooled;
  return (n.masked_share > 0 ? n.masked_share : 1) * (logits + 2 * hidden * hidden) + pooled;
}

/// Layers with what stands before and behind them, but for tables of words and logits.
Count stack_parameters(const NetworkSpec& n) {
  const LayerKinds all = layer_kinds(n, n.sequence);
  Count total = 0;
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
    total += all.count(kind) * layer_parameters(n, all.kinds[kind]);
  if (n.layers > 0 && n.norm_place != NormPlace::behind_sum && n.modulation.frequencies == 0 && n.projectors.empty() &&
      !n.no_last_norm)
    total += norm_size(n, n.hidden);
  // The position table has its own number of rows, whatever the training sequence.
  if (n.positions == Positions::learned) total += n.max_positions * n.hidden + n.position_gates;
  if (n.embedding_norm) total += norm_size(n, n.hidden);
  return total + n.distances * n.heads + n.layer_inputs.width + projection_matrices(n);
}

/// What takes in features: a product, two, or two convolutions of three taps.
Count feature_matrices(const NetworkSpec& n) {
  return n.features * n.hidden * (n.intake == Intake::convolutions ? 3 : 1);
}
Count second_matrices(const NetworkSpec& n) {
  return n.intake == Intake::matrix ? 0 : n.hidden * n.hidden * (n.intake == Intake::convolutions ? 3 : 1);
}

/// Three convolutions of 3 x 3 that halve both sides, and a matrix: weights, and multiply-adds of a position.
struct PlaneCount {
  Count parameters = 0, multiplies = 0;
};
PlaneCount count_planes(const NetworkSpec& n) {
  constexpr Count taps = 3 * 3;
  PlaneCount count;
  Count in = 1, numbers = n.features;
  for (const Count frames : {4, 2, 1}) {
    numbers = (numbers + 1) / 2;
    count.parameters += (taps * in + 1) * n.planes;
    count.multiplies += frames * numbers * taps * in * n.planes;
    in = n.planes;
  }
  const Count last = numbers * n.planes * n.hidden;
  return {count.parameters + last, count.multiplies + last};
}

Count feature_parameters(const NetworkSpec& n) {
  if (n.features == 0) return 0;
  if (n.intake == Intake::planes) return count_planes(n).parameters;
  const bool biased = n.intake_bias || (n.linear_bias && !n.no_intake_bias);
  const Count biases = n.intake != Intake::matrix ? 2 : biased ? 1 : 0;
  return feature_matrices(n) + second_matrices(n) + (biases + (n.class_token ? 1 : 0)) * n.hidden;
}
/// Per position; the first convolution walks twice as many frames.
double feature_flops(const NetworkSpec& n) {
  if (n.intake == Intake::planes) return 2 * static_cast<double>(count_planes(n).multiplies);
  return 2 * static_cast<double>((n.intake == Intake::convolutions ? 2 : 1) * feature_matrices(n) + second_matrices(n));
}

/// From an encoder's positions to the network's: weights, and forward FLOPs of one image.
struct ProjectorCount {
  Count parameters = 0;
  double flops = 0;
};
ProjectorCount count_projectors(const NetworkSpec& n) {
  ProjectorCount count;
  for (const Projector& steps : n.projectors) {
    Count width = n.hidden, rows = n.sequence - (n.class_token ? 1 : 0);
    for (const ProjectorStep& step : steps) {
      switch (step.kind) {
        case ProjectorStep::Kind::norm: count.parameters += step.norm == Norm::layernorm ? 2 * width : width; break;
        case ProjectorStep::Kind::layer: break;
        case ProjectorStep::Kind::beside: width += n.hidden; break;
        case ProjectorStep::Kind::attend: {
          // Queries and their norm; four matrices with biases, of which two meet the rows and two the queries.
          const Count matrix = width * width;
          count.parameters += step.size * width + 2 * width + 4 * (matrix + width);
          count.flops += 4 * static_cast<double>(matrix) * static_cast<double>(rows + step.size) +
                         4 * static_cast<double>(step.size * width) * static_cast<double>(rows);
          rows = step.size;
          break;
        }
        case ProjectorStep::Kind::merge: width *= step.size; [[fallthrough]];
        case ProjectorStep::Kind::mean: rows /= step.size; break;
        case ProjectorStep::Kind::gated:
        case ProjectorStep::Kind::matrix:
          const Count matrices = (step.kind == ProjectorStep::Kind::gated ? 2 : 1) * width * step.size;
          count.parameters += matrices + (step.bias ? step.size : 0);
          count.flops += 2 * static_cast<double>(rows) * static_cast<double>(matrices);
          width = step.size;
      }
    }
  }
  return count;
}

Count encoder_parameters(const NetworkSpec& n) {
  const Count words = n.features > 0 || n.tied_embeddings ? 0 : n.vocab * n.hidden;
  return stack_parameters(n) + words + feature_parameters(n) + condition_parameters(n) + count_projectors(n).parameters;
}

/// Of a network of numbers: what takes them in, a sample's condition, and what is asked for.
Count number_parameters(const NetworkSpec& n) {
  if (n.features == 0) return 0;
  return feature_parameters(n) + condition_parameters(n) + modulation_parameters(n, last_vectors_of(n.modulation)) +
         (n.hidden + (n.modulation.no_bias ? 0 : 1)) * (n.outputs + n.classes);
}

std::int64_t joining_positions(const NetworkSpec& n) {
  return !n.encoders.empty() && n.encoders.front().joins ? n.encoders.front().sequence : 0;
}

/// Forward, of one sequence: products of a sample's vectors, and of its first position.
double sample_flops(const NetworkSpec& n) {
  Count matrices = condition_matrices(n) + n.hidden * n.classes;
  if (!n.modulation.shared) {
    const LayerKinds all = layer_kinds(n, n.sequence);
    matrices += modulation_matrices(n, last_vectors_of(n.modulation));
    for (std::size_t kind = 0; kind < all.kinds.size() && !n.modulation.common; ++kind)
      matrices += all.count(kind) * modulation_matrices(n, vectors_of(n, all.kinds[kind]));
  }
  return 2 * static_cast<double>(matrices);
}

/// Forward, of one sequence. Nothing masks its attention.
double encoder_flops(const NetworkSpec& n) {
  const LayerKinds all = layer_kinds(n, n.sequence);
  double token = feature_flops(n);
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
    token += static_cast<double>(all.count(kind)) *
             (layer_flops(n, all.kinds[kind]) + core_flops_of(n, all.kinds[kind], n.sequence, false));
  return token * static_cast<double>(n.sequence) +
         2 * static_cast<double>(condition_matrices(n) + n.layers * modulation_matrices(n, gate_vectors));
}

/// Passes that count, of forward, gradients of what came in and gradients of weights: a part that is not trained has
/// no gradients of weights, and no others where nothing in front of it is trained.
constexpr double all_passes = 3;
double passes_of(bool frozen, bool trained_before) {
  return all_passes - (frozen ? 1 : 0) - (trained_before || !frozen ? 0 : 1);
}
/// Attention has no weights: all gradients go through it, or none.
double core_passes_of(bool frozen, bool trained_before) { return frozen && !trained_before ? 1 : all_passes; }

/// Of all encoders with what takes their positions to the network's, in passes.
double sample_encoder_flops(const NetworkSpec& n) {
  double total = 0;
  for (const NetworkSpec& encoder : n.encoders) {
    const bool placed = !encoder.projectors.empty();
    // where layers look at images there is one
    const double samples = placed && !looks_at_encoder(n) ? static_cast<double>(encoder.images)
                                                          : static_cast<double>(std::max<Count>(1, encoder.images));
    total += samples * (passes_of(encoder.frozen, false) * encoder_flops(encoder) +
                           passes_of(encoder.frozen_projectors, !encoder.frozen) * count_projectors(encoder).flops);
  }
  return total;
}

/// Is anything trained in front of the network's own layers?
bool trained_before(const NetworkSpec& n) {
  return std::ranges::any_of(n.encoders, [](const NetworkSpec& encoder) {
    return !encoder.frozen || (!encoder.projectors.empty() && !encoder.frozen_projectors);
  });
}

}  // namespace

std::int64_t parameter_count(const NetworkSpec& n) {
  Count total = stack_parameters(n) + n.mtp_layers * prediction_module_parameters(n);
  total += (n.tied_embeddings ? 1 : 2) * n.vocab * n.hidden + (n.token_types + n.embedded_only) * n.hidden +
           number_parameters(n);
  total += merging_matrices(n) + merging_vectors(n);
  if (n.masked_loss) total += n.hidden * n.hidden + (n.linear_bias ? n.hidden : 0) + norm_size(n, n.hidden);
  if (n.pooled_outputs > 0) total += (n.hidden + 1) * (n.hidden + n.pooled_outputs);
  return total + encoder_parameter_count(n) + (n.head_bias ? n.vocab : 0);
}

std::int64_t active_parameter_count(const NetworkSpec& n) {
  const Experts& e = n.experts;
  if (e.count == 0) return parameter_count(n);
  const Count one = routed_matrices(n, 1) - routed_matrices(n, 0) + (e.expert_bias ? mlp_biases(n, e.ffn_hidden) : 0);
  const LayerKinds all = layer_kinds(n, n.sequence);
  Count layers = 0;
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
    if (all.kinds[kind].feed == Feed::experts) layers += all.count(kind);
  for (const LayerKind& kind : prediction_layers(n))
    if (kind.feed == Feed::experts) layers += n.mtp_layers;
  return parameter_count(n) - layers * (e.count - e.top_k) * one;
}

std::int64_t encoder_parameter_count(const NetworkSpec& n) {
  return n.encoders.empty() ? 0 : encoder_parameters(n.encoders.front());
}

std::int64_t projector_parameter_count(const NetworkSpec& n) {
  return n.encoders.empty() ? 0 : count_projectors(n.encoders.front()).parameters;
}

std::int64_t image_positions(const NetworkSpec& n) {
  if (n.encoders.empty() || n.encoders.front().projectors.empty() || looks_at_encoder(n)) return 0;
  const NetworkSpec& encoder = n.encoders.front();
  const Count patches = encoder.sequence - (encoder.class_token ? 1 : 0);
  return encoder.images * rows_behind(encoder.projectors.front(), patches);
}

double model_flops(const NetworkSpec& n, double tokens, std::int64_t sequence, bool causal) {
  const LayerKinds all = layer_kinds(n, sequence);
  const auto hidden = static_cast<double>(n.hidden);
  const double head = head_flops(n, sequence);
  // Positions that join the network's own are no tokens of it, and go through its layers.
  const std::int64_t length = sequence == 0 ? 0 : sequence + joining_positions(n);
  const double rows = sequence == 0 ? 1 : static_cast<double>(length) / static_cast<double>(sequence);
  const double passes = passes_of(n.frozen, trained_before(n));
  const double core = core_passes_of(n.frozen, trained_before(n)) / passes;
  const auto flops_of = [&](const LayerKind& kind) {
    const auto flops = [&](const NetworkSpec& own) {
      if (kind.shape > 0 && n.shapes[kind.shape - 1U].alone)
        return layer_flops(own, kind) + core * core_flops_of(own, kind, sequence, causal);
      const double idle = 2 * (rows - 1) * static_cast<double>(idle_matrices(n, kind));
      const double all = rows * (layer_flops(own, kind) + core * core_flops_of(own, kind, length, causal)) - idle;
      if (!has_second(n, kind)) return all;
      return all + 2 * static_cast<double>(attention_matrices(own)) + core * core_flops_of(own, kind, sequence, causal);
    };
    return kind.shape == 0 ? flops(n) : flops(shaped(n, kind.shape));
  };
  // A module projects each stream, and the embedding once.
  double module = 2 * static_cast<double>(n.streams + 1) * hidden * hidden + head, total = head;
  for (const LayerKind& kind : prediction_layers(n)) module += flops_of(kind);
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
    total += static_cast<double>(all.count(kind)) * flops_of(all.kinds[kind]);
  total +=
      feature_flops(n) + 2 * hidden * static_cast<double>(n.outputs) + 2 * static_cast<double>(projection_matrices(n));
  if (sequence > 0) total += sample_flops(n) / static_cast<double>(sequence);
  const double before = sequence > 0 ? sample_encoder_flops(n) / static_cast<double>(sequence) : 0;
  return tokens * (passes * (total + static_cast<double>(n.mtp_layers) * module) + before);
}

}  // namespace stepcast
