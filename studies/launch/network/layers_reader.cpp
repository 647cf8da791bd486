// Layers of several kinds in a launch: Megatron's patterns of letters, linear attention in most layers, attention over
// picked keys, an encoder in front of a decoder.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/whole_number.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/facts/expert_pattern.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

/// A letter per layer, each a sublayer of its own (Megatron-LM d98e8a6
/// megatron/core/models/hybrid/hybrid_layer_allocation.py): M Mamba-2, G Gated DeltaNet, * attention, + latent
/// attention, D attention over picked keys, - MLP, E experts. Behind a / stand the layers of each prediction module.
struct Letter {
  char letter;
  const char* word;
};
constexpr Letter hybrid_letters[] = {
    {'M', "M"}, {'G', "M"}, {'*', "*"}, {'+', "*"}, {'D', "*"}, {'-', "-"}, {'E', "E"}};

class LayersReader {
 public:
  LayersReader(const LaunchSubject& subject, const NetworkSpec* from)
      : subject_(subject), ask_(subject.answers), spec_(subject.out.network), from_(from) {}

  void read() {
    pattern();
    linear_attention();
  }

 private:
  /// By the letters of hybrid_letters. A | between layers is a border of virtual stages, which read_stages takes.
  std::vector<LayerKind> layers_of(Asked asked, std::string_view letters) {
    std::vector<LayerKind> kinds;
    for (const char letter : letters) {
      if (letter == '|') continue;
      const Letter* row = nullptr;
      for (const Letter& known : hybrid_letters)
        if (known.letter == letter) row = &known;
      if (row == nullptr) {
        ask_.refuse(asked, fmt::format("'{}' in '{:.60}': layers of this kind are none of our forms", letter, letters),
            "M, G, *, +, D, -, E, | between stages, and / before prediction modules");
        return {};
      }
      if (seen_.find(letter) == std::string::npos) seen_ += letter;
      kinds.push_back(*layer_of_word(row->word));
    }
    return kinds;
  }
  [[nodiscard]] bool sees(char letter) const { return seen_.find(letter) != std::string::npos; }
  /// Mixers, and attention, are of one kind in all layers.
  void check_letters() {
    const int mixers = (sees('M') ? 1 : 0) + (sees('G') ? 1 : 0),
              attentions = (sees('*') ? 1 : 0) + (sees('+') ? 1 : 0) + (sees('D') ? 1 : 0);
    if (mixers > 1 || attentions > 1)
      return ask_.refuse(Asked::layer_pattern,
          fmt::format("layers of {} in one pattern", mixers > 1 ? "Mamba-2 and Gated DeltaNet" : "several attentions"),
          mixers > 1 ? "M or G" : "one of *, + and D");
    const bool latent = spec_.latent.kv_rank > 0;
    if (attentions == 1 && latent == sees('*'))
      ask_.refuse(Asked::layer_pattern,
          latent ? "* is plain attention beside --multi-latent-attention"
                 : "latent attention, whose sizes are not told",
          latent ? "+" : "--multi-latent-attention with its ranks");
  }

  void pattern() {
    const auto text = ask_.text(Asked::layer_pattern), predicts = ask_.text(Asked::mtp_pattern);
    const auto heads = ask_.count(Asked::mixer_heads), head_dim = ask_.count_or_default(Asked::mixer_head_dim),
               state = ask_.count_or_default(Asked::mixer_state), groups = ask_.count_or_default(Asked::mixer_groups);
    if (!text || is_switched_off(*text)) return;
    for (const auto& [asked, value] : {std::pair{Asked::mixer_heads, heads}, {Asked::mixer_head_dim, head_dim},
             {Asked::mixer_state, state}, {Asked::mixer_groups, groups}})
      if (value && *value < 1) return ask_.refuse(asked, fmt::format("{} of them", *value), "1 or more");
    std::string_view main = *text;
    std::vector<std::string_view> modules;
    for (std::size_t cut = main.rfind('/'); cut != main.npos; cut = main.rfind('/')) {
      modules.push_back(main.substr(cut + 1));
      main = main.substr(0, cut);
    }
    std::vector<LayerKind> kinds = layers_of(Asked::layer_pattern, main);
    if (!ask_.error()) check_letters();
    if (ask_.error()) return;
    if (kinds.empty() || std::ranges::find(modules, "") != modules.end())
      return ask_.refuse(
          Asked::layer_pattern, "a pattern without letters", "letters, and behind each / those of a module");
    const auto asked_modules = ask_.count(Asked::mtp_layers);
    if (!modules.empty() && asked_modules && *asked_modules != static_cast<std::int64_t>(modules.size()))
      return ask_.refuse(Asked::layer_pattern,
          fmt::format("{} prediction modules, and {} elsewhere", modules.size(), *asked_modules), "the same number");
    const auto stated = static_cast<std::int64_t>(kinds.size());
    if (spec_.layers > 0 && spec_.layers != stated && from_ == nullptr)
      return ask_.refuse(
          Asked::layer_pattern, fmt::format("{} letters for {} layers", stated, spec_.layers), "one for each layer");
    spec_.layers = stated;
    spec_.experts.dense_layers = 0, spec_.experts.every = 1;
    spec_.pattern = std::move(kinds);
    for (const std::string_view module : modules)
      if (module != modules.front())
        return ask_.refuse(
            Asked::layer_pattern, "prediction modules of different layers", "the same letters behind each /");
    if (!modules.empty()) spec_.mtp_layers = static_cast<std::int64_t>(modules.size());
    if (spec_.mtp_layers > 0 && (!modules.empty() || predicts))
      spec_.mtp_pattern = layers_of(modules.empty() ? Asked::mtp_pattern : Asked::layer_pattern,
          modules.empty() ? std::string_view(*predicts) : modules.front());
    check_letters();
    if (ask_.error()) return;
    if (sees('D')) picked_keys(Asked::layer_pattern);
    if (sees('G')) return delta_mixer();
    if (!sees('M')) return;
    // Megatron-LM's MambaMixer: twice the hidden size unless heads are given, four taps, chunks of 128.
    const std::int64_t size = head_dim.value_or(64);
    spec_.mixer = make_mixer(
        "mamba2", {{"heads", heads.value_or(size > 0 ? 2 * spec_.hidden / size : 0)}, {"head_dim", size},
                      {"groups", groups.value_or(8)}, {"state", state.value_or(128)}, {"taps", 4}, {"chunk", 128}});
    if (spec_.mixer.extent("m") < 1)
      ask_.refuse(Asked::mixer_groups,
          fmt::format("{} groups of {} heads", spec_.mixer.size("groups"), spec_.mixer.size("heads")),
          "groups that divide the heads");
  }

  /// Gated DeltaNet in all layers but every n-th, or where a list has a 1 (Megatron-LM d98e8a6
  /// megatron/core/models/gpt/experimental_attention_variant_module_specs.py, get_linear_attention_pattern).
  void linear_attention() {
    spec_.attention_gate = ask_.flag(Asked::attention_gate, spec_.attention_gate);
    const auto variant = ask_.text(Asked::attention_variant), layers = ask_.text(Asked::linear_layers);
    if (!variant || is_switched_off(*variant)) return;
    if (*variant == "dsa") return picked_keys(Asked::attention_variant);
    if (*variant != "gated_delta_net" && *variant != "gdn")
      return ask_.refuse(Asked::attention_variant, fmt::format("attention of the kind '{:.40}' is not read", *variant),
          "gated_delta_net, dsa; a network of the catalogue by name has others");
    if (!seen_.empty()) return;  // the pattern says which layers have it
    constexpr std::int64_t most_layers = 10'000;
    if (ask_.error() || spec_.layers < 1 || spec_.layers > most_layers) return;
    const auto every = layers ? parsed_number<std::int64_t>(*layers) : std::nullopt;
    const auto list = layers && !every ? read_expert_pattern(*layers) : std::nullopt;
    if (!(every && *every >= 1) && !(list && static_cast<std::int64_t>(list->size()) == spec_.layers))
      return ask_.refuse(Asked::linear_layers, "it does not say which layers have linear attention",
          "4: all but every fourth, or [1,1,1,0]*12: a 1 for each layer that has it");
    std::vector<LayerKind> kinds;
    for (std::int64_t layer = 0; layer < spec_.layers; ++layer) {
      const bool linear = every ? (layer + 1) % *every != 0 : (*list)[static_cast<std::size_t>(layer)] == 1;
      kinds.push_back({is_expert_layer(spec_, layer) ? Feed::experts : Feed::mlp, false, linear, !linear});
    }
    delta_mixer();
    spec_.pattern = std::move(kinds);
    spec_.experts.dense_layers = 0, spec_.experts.every = 1;
  }

  void delta_mixer() {
    const auto size = [&](Asked asked, std::int64_t usual) { return ask_.count_or_default(asked).value_or(usual); };
    spec_.mixer = make_mixer("gated-delta",
        {{"key_heads", size(Asked::linear_key_heads, 16)}, {"value_heads", size(Asked::linear_value_heads, 32)},
            {"key_dim", size(Asked::linear_key_dim, 128)}, {"value_dim", size(Asked::linear_value_dim, 128)},
            {"taps", size(Asked::linear_taps, 4)}, {"chunk", 64}});
    if (spec_.mixer.extent("m") < 1)
      ask_.refuse(Asked::linear_value_heads,
          fmt::format(
              "{} heads of values for {} of keys", spec_.mixer.size("value_heads"), spec_.mixer.size("key_heads")),
          "a multiple of the key heads");
  }

  /// An indexer on top of latent attention (DeepSeek-V3.2).
  void picked_keys(Asked asked) {
    const auto top_k = ask_.count(Asked::index_top_k), heads = ask_.count(Asked::index_heads),
               size = ask_.count(Asked::index_dim), every = ask_.count_or_default(Asked::index_every);
    SparseAttention& sparse = spec_.sparse;
    sparse = {top_k.value_or(sparse.top_k), heads.value_or(sparse.heads), size.value_or(sparse.head_dim)};
    if (sparse.top_k < 1 || sparse.heads < 1 || sparse.head_dim < 1)
      return ask_.refuse(asked, "attention over picked keys whose indexer is not told",
          "--dsa-indexer-topk 2048 --dsa-indexer-n-heads 64 --dsa-indexer-head-dim 128");
    if (every.value_or(1) != 1)
      return ask_.refuse(
          Asked::index_every, fmt::format("a choice of keys for {} layers", *every), "1; or GLM-5 by name");
    if (spec_.latent.kv_rank == 0 || spec_.latent.q_rank == 0)
      return ask_.refuse(asked, "the indexer reads the low-rank queries of latent attention, which are not told",
          "--multi-latent-attention --q-lora-rank 1536");
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  NetworkSpec& spec_;
  const NetworkSpec* from_;
  std::string seen_;  ///< letters of the pattern, each once
};

}  // namespace

void read_layer_kinds(const LaunchSubject& subject, const NetworkSpec* from) { LayersReader(subject, from).read(); }

namespace {

/// Megatron-LM stops at both of a pair (megatron/training/arguments.py); its logs print both, alike.
Expected<void> check_encoder_pair(const Launch& launch, std::string_view name, std::string_view of_encoder) {
  const GivenArgument *plain = launch.find(name), *other = launch.find(of_encoder);
  if (plain == nullptr || other == nullptr || says_none(plain->value) || says_none(other->value)) return {};
  if (plain->value == other->value) return {};
  return fail(place_of(launch, *other),
      fmt::format("{:.40} beside {} {:.40}: both say the same of the encoder", other->value, spelled_argument(*plain),
          plain->value),
      fmt::format(
          "one of them; Megatron-LM takes no {} beside {}", spelled_argument(*plain), spelled_argument(*other)));
}

}  // namespace

/// Megatron-LM's T5 (examples/t5/pretrain_t5.py and megatron/core/models/T5/t5_model.py at d98e8a6).
/// Both have as many layers of the same sizes, one table of words and one of positions; the logits have a bias where
/// the words serve for them, too.
Expected<void> read_encoder(const LaunchSubject& subject) {
  NetworkSpec& n = subject.out.network;
  LaunchAnswers& ask = subject.answers;
  TRY(check_encoder_pair(subject.launch, "num_layers", "encoder_num_layers"));
  TRY(check_encoder_pair(subject.launch, "seq_length", "encoder_seq_length"));
  auto layers = ask.count(Asked::decoder_layers);
  const auto length = ask.count(Asked::decoder_sequence);
  if (ask.error()) return tl::unexpected(*ask.error());
  // pretrain_t5.py gives the decoder as many as the encoder has
  if (!layers && length && subject.launch.program.find("pretrain_t5") != std::string::npos) layers = n.layers;
  if (!layers && !length) return {};
  const Asked given = layers ? Asked::decoder_layers : Asked::decoder_sequence;
  if (!layers || !length)
    return fail(ask.where(given),
        layers ? "a decoder whose sequences have no length" : "a decoder's length, and no decoder",
        layers ? "its length: --decoder-seq-length 128"
               : "its layers: --decoder-num-layers 12; images in front of words are a network by name, and --images");
  if (*layers != n.layers || *length < 1)
    return fail(ask.where(given), fmt::format("a decoder of {} layers behind an encoder of {}", *layers, n.layers),
        "as many: pretrain_t5.py takes the encoder's for both");
  if (!n.encoders.empty() || !n.pattern.empty() || n.experts.count > 0 || n.latent.kv_rank > 0 || n.mtp_layers > 0)
    return fail(ask.where(given), "an encoder in front of layers that are not plain attention and an MLP",
        "a network of the catalogue, by name");
  NetworkSpec encoder = n;
  encoder.causal = false;
  encoder.tied_embeddings = true;
  if (encoder.positions == Positions::learned) {
    encoder.positions = Positions::none, encoder.max_positions = 0;
    subject.note("the encoder adds the decoder's table of positions: its time for that is not counted");
  }
  n.encoders = {std::move(encoder)};
  n.pattern = {*layer_of_word("*x-")};
  n.head_bias = n.tied_embeddings;
  n.sequence = *length;
  return {};
}

}  // namespace stepcast::launch
