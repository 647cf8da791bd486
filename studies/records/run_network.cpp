// The network of a record: geometry as stated, the rest by the family that the geometry belongs to.
#include <algorithm>

#include <fmt/format.h>

#include "model/catalog.h"
#include "model/network/network_rules.h"
#include "studies/records/run_scenario.h"
#include "studies/records/stack_rule.h"

namespace stepcast::records {
namespace {

/// Is it one whose layers no record tells?
bool is_of_the_catalogue(const RunModel& model) {
  const std::string arch = model.arch.value_or("");
  const auto has = [&](std::string_view word) { return arch.find(word) != std::string::npos; };
  return has("mamba") || has("cross attention") || has("diffusion") || model.attention.value_or("") == "hybrid";
}

/// What a record calls layers that no operator describes.
struct UnknownLayers {
  std::string_view arch, layers;
};
constexpr UnknownLayers unknown_layers[] = {
    {"convolutional", "convolutions over images"}, {"recommendation", "tables and dot products of a recommender"}};

Expected<void> check_layers(const RunModel& model) {
  for (const UnknownLayers& row : unknown_layers)
    if (model.arch.value_or("").find(row.arch) != std::string::npos)
      return fail(
          "model/arch", fmt::format("these layers are not forecast: {}", row.layers), "a network of known layers");
  return {};
}

bool is_encoder(const RunModel& model) { return model.arch.value_or("").starts_with("encoder (bidirectional)"); }

/// Data whose batches are padded to the end of their bin and not to the longest sequence.
struct BinnedData {
  std::string_view source;
  std::int64_t longest, real, bin;  ///< positions: of a record's sequence, of words in it on average, of a bin

  /// Half of a bin is filled up on average.
  std::int64_t padded() const { return real + bin / 2; }
};
/// The second phase of NVIDIA's PyTorch BERT (DeepLearningExamples 729963dd PyTorch/LanguageModeling/BERT
/// scripts/run_pretraining.sh: phase2_bin_size 64). Of Wikipedia's sequences of up to 512 half would be padding (Krell
/// et al., arXiv 2107.02027).
constexpr BinnedData binned_data[] = {{"NVIDIA/DeepLearningExamples", 512, 256, 64}};

void set_binned(NetworkSpec& spec, const Run& run, std::vector<std::string>& assumptions) {
  for (const BinnedData& row : binned_data) {
    if (!run.source.starts_with(row.source) || spec.sequence != row.longest) continue;
    spec.sequence = row.padded();
    assumptions.push_back(
        fmt::format("{} positions per sequence in the mean: batches of up to {} are padded to bins of {}",
            spec.sequence, row.longest, row.bin));
  }
}

/// BERT's layers and loss (arXiv 1810.04805). Megatron-LM makes the logits of all positions (megatron/core/models/bert
/// of d98e8a6) and its release test has no binary head; NVIDIA's PyTorch program those of 20 among 128 and 80 among 512
/// (DeepLearningExamples 729963dd PyTorch/LanguageModeling/BERT, --max_predictions_per_seq).
void set_encoder(NetworkSpec& spec, const Run& run, std::vector<std::string>& assumptions) {
  const bool megatron = run.software.value_or("").find("Megatron") != std::string::npos;
  spec.causal = false;
  spec.norm_place = NormPlace::behind_sum;
  spec.masked_loss = spec.head_bias = spec.embedding_norm = true;
  spec.token_types = 2;
  spec.pooled_outputs = megatron ? 0 : 2;
  spec.masked_share = megatron ? 1 : 80.0 / 512;
  assumptions.push_back(fmt::format("logits of {:.1f} % of the positions", 100 * spec.masked_share));
  set_binned(spec, run, assumptions);
}

/// A letter for each layer; a module for multi-token prediction behind each /.
Expected<std::vector<LayerKind>> kinds_of(const std::string& letters) {
  std::vector<LayerKind> kinds;
  for (const char letter : letters) {
    const auto kind = layer_of_word(std::string_view(&letter, 1));
    if (!kind) return fail("model/hybrid/pattern", fmt::format("'{}' is no layer", letter), "M, *, - and E");
    kinds.push_back(*kind);
  }
  return kinds;
}

/// As Nemotron-H (arXiv 2504.03624): no positions, squared ReLU where the MLP is not gated.
Expected<void> set_hybrid(NetworkSpec& spec, const RunHybrid& run) {
  const std::size_t end = run.pattern.find('/');
  TRY(spec.pattern, kinds_of(run.pattern.substr(0, end)));
  if (end != std::string::npos) {
    const std::size_t next = run.pattern.find('/', end + 1);
    TRY(spec.mtp_pattern, kinds_of(run.pattern.substr(end + 1, next == std::string::npos ? next : next - end - 1)));
    spec.mtp_layers = std::ranges::count(run.pattern, '/');
  }
  spec.mixer = make_mixer("mamba2", {{"heads", run.heads}, {"head_dim", run.head_dim}, {"groups", run.groups},
                                        {"state", run.state}, {"taps", run.taps}, {"chunk", run.chunk}});
  spec.positions = Positions::none, spec.max_positions = 0;
  if (spec.activation == Activation::gelu) spec.activation = Activation::squared_relu;
  spec.norm = Norm::rmsnorm;
  spec.linear_bias = false;
  spec.experts.dense_layers = 0, spec.experts.every = 1;
  spec.experts.router_bias = spec.experts.count > 0;
  return {};
}

/// Records of hybrids, of encoders beside decoders and of diffusion give no layers: they are those of the catalogue's
/// network. Nemotron 3 Super and Ultra and 3.5
/// Lightning train two prediction modules (NVIDIA-NeMo/Megatron-Bridge 067f987 recipes/nemotronh), their files describe
/// one.
Expected<NetworkSpec> network_of_catalogue(const RunModel& model) {
  const auto row = find_row(built_in().networks, model.name, "network");
  if (!row)
    return fail("model/arch", fmt::format("the layers of {} are not known", model.name), "a network of the catalogue");
  NetworkSpec spec = **row;
  spec.name = model.name;
  if (!model.seq_len) return fail("model/seq_len", "the record has no sequence", "a count from 1");
  spec.sequence = *model.seq_len;
  if (spec.mtp_layers == 1) spec.mtp_layers = 2;
  return spec;
}

Expected<void> need_geometry(const RunModel& model) {
  const std::pair<const char*, MaybeCount> fields[] = {{"layers", model.layers}, {"hidden", model.hidden},
      {"heads", model.heads}, {"seq_len", model.seq_len}, {"vocab", model.vocab}};
  for (const auto& [name, value] : fields)
    if (!value) return fail(fmt::format("model/{}", name), "the record has no layer geometry", "a count from 1");
  return {};
}

void set_family(NetworkSpec& spec, const RunModel& model, std::vector<std::string>& assumptions) {
  const bool gated = model.gated_mlp.value_or(false);
  const bool modern = gated || spec.kv_heads != spec.heads || spec.experts.count > 0;
  if (!model.gated_mlp) assumptions.emplace_back("plain MLP");
  spec.activation = gated ? Activation::swiglu : Activation::gelu;
  spec.norm = modern ? Norm::rmsnorm : Norm::layernorm;
  spec.positions = modern ? Positions::rope : Positions::learned;
  spec.max_positions = modern ? 0 : spec.sequence;
  spec.linear_bias = !modern;
  spec.tied_embeddings = model.tied_embeddings.value_or(false);
  assumptions.push_back(modern ? "RMS norm, rotary positions, no biases" : "layer norm, learned positions, biases");
}

void set_experts(NetworkSpec& spec, const RunExperts& run, std::vector<std::string>& assumptions) {
  Experts& experts = spec.experts;
  experts.count = run.count;
  experts.top_k = run.top_k;
  experts.ffn_hidden = run.ffn_hidden;
  experts.shared_ffn_hidden = run.shared_ffn;
  experts.dense_layers = run.dense_layers;
  experts.every = run.every;
  experts.latent = run.latent;
  experts.capacity_factor = run.padded ? 1 : 0;
  spec.mtp_layers = run.mtp_layers;
  if (!run.padded) assumptions.emplace_back("dropless routing, tokens spread evenly over experts");
}

void set_latent(NetworkSpec& spec, const RunLatent& run) {
  spec.latent = {run.q_rank, run.kv_rank, run.nope_dim, run.rope_dim, run.value_dim};
  spec.positions = Positions::rope;
  spec.kv_heads = spec.heads;
  spec.head_dim = run.nope_dim + run.rope_dim;
}

/// What records leave out of networks known by name: openai/gpt-oss has biases everywhere and windows in every other
/// layer, Qwen3 norms each query and
/// key head, DeepSeek-V3 and its kin correct the router's scores, it chooses within 4 of 8 groups (their config.json
/// and modelling code).
void set_known(NetworkSpec& spec) {
  const auto called = [&](std::string_view name) { return spec.name.starts_with(name); };
  if (called("GPT-OSS")) {
    spec.qkv_bias = spec.out_bias = spec.experts.router_bias = spec.experts.expert_bias = true;
    spec.window = {128, "wf", false};
    spec.attention_sinks = true;
  }
  if (called("Qwen3")) spec.qk_norm = true;
  if (called("DeepSeek-V3") || called("Kimi-K2")) spec.experts.router_bias = true;
  if (called("DeepSeek-V3") && spec.experts.count == 256) spec.experts.groups = 8, spec.experts.top_groups = 4;
}

/// Megatron pads the vocabulary to 128 rows per tensor-parallel rank (--make-vocab-size-divisible-by); software that
/// fills no rows up shares them out as evenly as they go.
void pad_vocabulary(NetworkSpec& spec, const Run& run, std::vector<std::string>& assumptions) {
  const std::int64_t tp = run.parallel.tp;
  if (spec.vocab % tp == 0) return;
  const auto stack = find_row(built_in().stacks, stack_of(run).id, "stack");
  const std::int64_t step = (stack && (*stack)->pads_vocabulary ? 128 : 1) * tp;
  spec.vocab = (spec.vocab + step - 1) / step * step;
  assumptions.push_back(fmt::format("vocabulary padded to {} rows", spec.vocab));
}

}  // namespace

Expected<NetworkSpec> network_of(const Run& run, std::vector<std::string>& assumptions) {
  const RunModel& model = run.model;
  TRY(check_layers(model));
  if (is_of_the_catalogue(model) && !model.hybrid) {
    TRY(auto named, network_of_catalogue(model));
    for (const NetworkSpec& encoder : named.encoders)
      assumptions.push_back(fmt::format("{} positions of the encoder", encoder.sequence));
    pad_vocabulary(named, run, assumptions);
    return named;
  }
  TRY(need_geometry(model));
  NetworkSpec spec;
  spec.id = spec.name = model.name;
  spec.source = run.source;
  spec.layers = *model.layers;
  spec.hidden = *model.hidden;
  spec.ffn_hidden = model.ffn_hidden.value_or(0);
  spec.heads = *model.heads;
  spec.kv_heads = model.kv_heads.value_or(spec.heads);
  spec.head_dim = model.head_dim.value_or(0);
  spec.vocab = *model.vocab;
  spec.sequence = *model.seq_len;
  if (model.experts) set_experts(spec, *model.experts, assumptions);
  set_family(spec, model, assumptions);
  if (model.latent) set_latent(spec, *model.latent);
  set_known(spec);
  if (is_encoder(model)) set_encoder(spec, run, assumptions);
  if (model.hybrid) TRY(set_hybrid(spec, *model.hybrid));
  pad_vocabulary(spec, run, assumptions);
  return complete_network(std::move(spec), "model");
}

}  // namespace stepcast::records
