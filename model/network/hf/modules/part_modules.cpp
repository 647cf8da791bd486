// Names of modules are those of the classes of transformers (src/transformers/models), and of vLLM where it joins
// several (vllm/model_executor/models, packed_modules_mapping).
#include "model/network/hf/modules/part_modules.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/network/hf/modules/module_pattern.h"

namespace stepcast::detail {
namespace {

/// Operators of a layer, and the modules that may hold their weights, behind the layer's name.
struct PartModules {
  std::string_view operators, modules;  ///< with blanks between them
  bool joined = false;                  ///< its modules hold the weights of several that other rows name
};
constexpr PartModules parts[] = {
    {"attn.qkv.Q attn.qkv.K attn.qkv.V attn.qkv.G",
        "self_attn.qkv_proj attn.qkv_proj attn.c_attn attn.Wqkv attention.query_key_value self_attn.query_key_value "
        "self_attention.query_key_value attention.wqkv self_attn.W_pack",
        true},
    {"attn.qkv.Q attn.up.Q attn.up.Q.nope attn.up.Q.rope",
        "self_attn.q_proj attn.q_proj attention.wq mixer.q_proj self_attn.q_b_proj attn.wq_b"},
    {"attn.qkv.G", "self_attn.q_proj self_attn.g_proj"},
    {"attn.qkv.K", "self_attn.k_proj attn.k_proj attention.wk mixer.k_proj"},
    {"attn.qkv.V", "self_attn.v_proj attn.v_proj attention.wv mixer.v_proj"},
    {"attn.out", "self_attn.o_proj self_attn.out_proj attn.o_proj attn.out_proj attn.c_proj attention.dense "
                 "self_attn.dense self_attention.dense attention.wo mixer.o_proj attn.wo_b"},
    {"attn.out.down", "attn.wo_a"},
    {"attn.down.cq attn.down.ckv attn.down.kr", "self_attn.fused_qkv_a_proj self_attn.fused_qkv_a_proj_with_mqa", true},
    {"attn.down.cq", "self_attn.q_a_proj attn.wq_a"},
    {"attn.down.ckv attn.down.kr", "self_attn.kv_a_proj_with_mqa attn.wkv"},
    {"attn.up.K attn.up.V attn.absorb.K attn.absorb.V", "self_attn.kv_b_proj"},
    {"index.q", "self_attn.indexer.wq_b attn.indexer.wq_b"},
    {"index.k", "self_attn.indexer.wk"},
    {"index.w", "self_attn.indexer.weights_proj attn.indexer.weights_proj self_attn.indexers_proj"},
    {"mlp.gate mlp.up", "mlp.gate_up_proj feed_forward.gate_up_proj", true},
    {"mlp.gate", "mlp.gate_proj feed_forward.gate_proj feed_forward.w1 mlp.w1"},
    {"mlp.up", "mlp.up_proj feed_forward.up_proj feed_forward.w3 mlp.fc1 fc1 mlp.c_fc mlp.dense_h_to_4h "
               "mlp.linear_fc1 mixer.up_proj"},
    {"mlp.down", "mlp.down_proj feed_forward.down_proj feed_forward.w2 mlp.fc2 fc2 mlp.c_proj mlp.dense_4h_to_h "
                 "mlp.linear_fc2 mixer.down_proj"},
    {"expert.gate expert.up", "mlp.experts.gate_up_proj mlp.experts.0.gate_up_proj feed_forward.experts.gate_up_proj",
        true},
    {"expert.gate", "mlp.experts.0.gate_proj block_sparse_moe.experts.0.w1 feed_forward.experts.0.gate_proj "
                    "ffn.experts.0.w1"},
    {"expert.up", "mlp.experts.0.up_proj block_sparse_moe.experts.0.w3 feed_forward.experts.0.up_proj "
                  "mixer.experts.0.up_proj ffn.experts.0.w3"},
    {"expert.down", "mlp.experts.down_proj mlp.experts.0.down_proj block_sparse_moe.experts.0.w2 "
                    "feed_forward.experts.down_proj feed_forward.experts.0.down_proj mixer.experts.0.down_proj "
                    "ffn.experts.0.w2"},
    {"shared.gate shared.up",
        "mlp.shared_experts.gate_up_proj mlp.shared_expert.gate_up_proj "
        "feed_forward.shared_expert.gate_up_proj",
        true},
    {"shared.gate", "mlp.shared_experts.gate_proj mlp.shared_expert.gate_proj feed_forward.shared_expert.gate_proj "
                    "ffn.shared_experts.w1"},
    {"shared.up", "mlp.shared_experts.up_proj mlp.shared_expert.up_proj feed_forward.shared_expert.up_proj "
                  "mixer.shared_experts.up_proj ffn.shared_experts.w3"},
    {"shared.down", "mlp.shared_experts.down_proj mlp.shared_expert.down_proj feed_forward.shared_expert.down_proj "
                    "mixer.shared_experts.down_proj ffn.shared_experts.w2"},
    {"shared.gate.score", "mlp.shared_expert_gate"},
    {"router", "mlp.gate mlp.router block_sparse_moe.gate feed_forward.router mixer.gate ffn.gate"},
    {"latent.down", "mixer.fc1_latent_proj"},
    {"latent.up", "mixer.fc2_latent_proj"},
    {"mixer.in.Q.in mixer.in.K.in mixer.in.V.in", "linear_attn.in_proj_qkv"},
    {"mixer.in.Q.in mixer.in.K.in mixer.in.V.in mixer.in.Z", "linear_attn.in_proj_qkvz", true},
    {"mixer.in.Z", "linear_attn.in_proj_z self_attn.output_gate"},
    {"mixer.in.beta mixer.in.decay", "linear_attn.in_proj_ba", true},
    {"mixer.in.beta", "linear_attn.in_proj_b self_attn.b_proj"},
    {"mixer.in.decay", "linear_attn.in_proj_a"},
    {"mixer.in.Q.in mixer.in.Q mixer.in.K.in mixer.in.K mixer.in.V.in mixer.in.V", "self_attn.qkv_proj", true},
    {"mixer.in.Q.in mixer.in.Q", "self_attn.q_proj"},
    {"mixer.in.K.in mixer.in.K", "self_attn.k_proj"},
    {"mixer.in.V.in mixer.in.V", "self_attn.v_proj"},
    {"mixer.in.Z mixer.in.X.in mixer.in.B.in mixer.in.C.in mixer.in.dt", "mixer.in_proj mamba.in_proj"},
    {"mixer.in.B mixer.in.C mixer.in.X", "conv.in_proj"},
    {"mixer.select.dt.raw mixer.select.B.raw mixer.select.C.raw mixer.select.dt.low mixer.select.B mixer.select.C",
        "mixer.x_proj mamba.x_proj"},
    {"mixer.step.dt", "mixer.dt_proj mamba.dt_proj"},
    {"mixer.low.decay.low", "self_attn.f_a_proj"},
    {"mixer.decay.decay", "self_attn.f_b_proj"},
    {"mixer.low.gate.low", "self_attn.g_a_proj"},
    {"mixer.gate.Z", "self_attn.g_b_proj"},
    {"mixer.out.y", "linear_attn.out_proj mixer.out_proj mamba.out_proj self_attn.o_proj self_attn.out_proj "
                    "conv.out_proj"},
};

/// Of what stands outside of layers. Tables of words and heads are wide by themselves.
constexpr PartModules outside[] = {{"head", "lm_head language_model.lm_head output embed_out"},
    {"embed",
        "model.embed_tokens language_model.model.embed_tokens model.language_model.embed_tokens transformer.wte"}};

/// What is no product of a layer: encoders of images and sound, norms, short convolutions, modules that predict.
constexpr std::string_view aside = "visual vision audio image projector connector merger mtp norm conv1d rotary "
                                   "kv_cache q_scale k_scale v_scale sink bias";

/// Where layers stand in a network, by classes of transformers, and the word that tells of it; "": any.
struct LayerStack {
  std::string_view name, word;
};
constexpr LayerStack layer_stacks[] = {{"model.layers", ""}, {"model.language_model.layers", "language_model"},
    {"language_model.model.layers", "language_model"}, {"transformer.h", "transformer"},
    {"transformer.blocks", "transformer"}, {"backbone.layers", "backbone"}, {"gpt_neox.layers", "gpt_neox"},
    {"model.decoder.layers", "decoder"}};

std::vector<std::string> words_of(std::string_view words) {
  std::vector<std::string> all;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) all.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return all;
}

bool has_one_of(std::string_view name, std::string_view words) {
  return std::ranges::any_of(words_of(words), [&](const std::string& word) { return name.find(word) != name.npos; });
}

struct Module {
  std::string name;
  std::string stem;                  ///< of a joined one: "qkv" of "self_attn.qkv_proj"; else ""
  std::vector<std::string> singles;  ///< those that stand beside a joined one where nothing is joined
};
struct Part {
  std::vector<std::string> operators;
  std::vector<Module> modules;
};

/// "self_attn" of "self_attn.q_proj", and "mlp.experts" of "mlp.experts.0.up_proj".
std::string_view folder_of(std::string_view module) {
  const std::size_t end = module.rfind('.');
  const std::string_view folder = module.substr(0, end == module.npos ? 0 : end);
  return folder.ends_with(".0") ? folder.substr(0, folder.size() - 2) : folder;
}

std::string stem_of(std::string_view module) {
  std::string_view word = module.substr(module.rfind('.') + 1);
  constexpr std::string_view projection = "_proj";
  if (word.ends_with(projection)) word.remove_suffix(projection.size());
  return std::string(word);
}

/// Of the rows that are not joined: those in the joined module's folder with one of its operators.
std::vector<std::string> singles_of(std::string_view module, const std::vector<std::string>& operators,
    const PartModules* from, const PartModules* to) {
  std::vector<std::string> all;
  for (; from != to; ++from) {
    const std::vector<std::string> others = words_of(from->operators);
    const bool shares = std::ranges::any_of(others, [&](const std::string& op) { return contains(operators, op); });
    if (from->joined || !shares) continue;
    for (const std::string& single : words_of(from->modules))
      if (folder_of(single) == folder_of(module)) all.push_back(single);
  }
  return all;
}

std::vector<Part> split(const PartModules* from, const PartModules* to) {
  std::vector<Part> all;
  for (const PartModules* row = from; row != to; ++row) {
    Part& part = all.emplace_back(words_of(row->operators));
    for (const std::string& name : words_of(row->modules)) {
      Module& module = part.modules.emplace_back(name);
      if (row->joined) module.stem = stem_of(name), module.singles = singles_of(name, part.operators, from, to);
    }
  }
  return all;
}
const std::vector<Part>& layer_parts() {
  static const std::vector<Part> all = split(std::begin(parts), std::end(parts));
  return all;
}
const std::vector<Part>& outer_parts() {
  static const std::vector<Part> all = split(std::begin(outside), std::end(outside));
  return all;
}

/// An operator, and the layer: -1 stands for all.
using Place = std::pair<std::string, std::int64_t>;
constexpr std::int64_t all_layers = -1;

struct Found {
  std::set<Place> whole;
  std::map<Place, std::set<std::int64_t>> experts;  ///< where patterns name single ones
};

/// Single experts of every layer become those of each, with what other patterns name of it. The network's own layers
/// and the one behind them that predicts, as where patterns tell layers apart.
void spread_over_layers(Found& found, std::int64_t layers, std::int64_t experts) {
  std::map<Place, std::set<std::int64_t>> by_layer;
  for (const auto& [place, held] : found.experts) {
    const auto& [op, layer] = place;
    const std::int64_t first = layer == all_layers ? 0 : layer, last = layer == all_layers ? layers : layer;
    for (std::int64_t at = first; at <= last; ++at) by_layer[{op, at}].insert(held.begin(), held.end());
  }
  found.experts = std::move(by_layer);
  for (const auto& [place, held] : found.experts)
    if (static_cast<std::int64_t>(held.size()) >= experts) found.whole.insert(place);
}

/// What every pattern of a file asks of: names of layers are written once.
struct FileNames {
  std::int64_t layers, experts;
  bool counted = false;                          ///< how many experts there are in how many layers is known
  std::vector<std::vector<std::string>> stacks;  ///< by stack and layer: "model.layers.0."
};

FileNames file_names(std::int64_t layers, std::int64_t experts) {
  FileNames names{
      layers, std::max<std::int64_t>(experts, 2), experts > 1 && layers > 0, {}};  // two tell whether it is of all
  for (const LayerStack& stack : layer_stacks) {
    std::vector<std::string>& all = names.stacks.emplace_back();
    for (std::int64_t layer = 0; layer <= layers; ++layer) all.push_back(fmt::format("{}.{}.", stack.name, layer));
  }
  return names;
}

bool is_number(std::string_view word) {
  constexpr std::size_t most_digits = 6;
  return !word.empty() && word.size() <= most_digits &&
         std::ranges::all_of(word, [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// Of "model.layers.12.mlp" 12 behind "layers"; -1: it is not spelled so. Words end at dots.
std::int64_t number_behind(std::string_view text, std::string_view words) {
  std::string_view before;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('.'), text.size());
    const std::string_view word = text.substr(0, end);
    if (is_number(word) && contains(words_of(words), std::string(before))) return std::stoll(std::string(word));
    before = word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return -1;
}

class Reading {
 public:
  Reading(const std::string& text, const ModulePattern& pattern, const FileNames& names)
      : text_(text), pattern_(pattern), names_(names) {
    predicting_ = text.find("mtp") != text.npos;
    for (std::size_t i = 0; i < std::size(layer_stacks); ++i)
      if (layer_stacks[i].word.empty() || text.find(layer_stacks[i].word) != text.npos) stacks_.push_back(i);
    const bool search = text.starts_with("re:");
    if (!search) layer_ = number_behind(text, "layers h blocks");
    if (!search) expert_ = number_behind(text, "experts");
    const std::size_t experts = text.find("experts");
    each_expert_ = experts != text.npos && text.find_first_of("0123456789[?\\", experts) != text.npos;
  }

  void add_to(Found& found) {
    for (const Part& part : outer_parts())
      for (const Module& module : part.modules)
        if (pattern_.holds(module.name)) put(part, all_layers, found);
    const bool each = pattern_.counts_layers();
    const std::int64_t last = each ? names_.layers : 0;  // one behind the last of the network's own predicts
    const std::int64_t from = layer_ < 0 ? 0 : layer_, to = layer_ < 0 ? last : std::min(last, layer_);
    for (const Part& part : layer_parts()) {
      for (std::int64_t layer = from; layer <= to; ++layer)
        for (const std::size_t stack : stacks_)
          add(part, names_.stacks[stack][static_cast<std::size_t>(layer)], each ? layer : all_layers, found);
      if (predicting_ && names_.layers > 0) add(part, "mtp.layers.0.", names_.layers, found);
    }
  }
  /// Whether it holds what counts, and nothing else.
  [[nodiscard]] bool counts() const { return names_.counted ? any_ || single_ : any_ && !single_; }

 private:
  static constexpr std::string_view first_expert = "experts.0.";

  /// The name of the module of an expert.
  const std::string& named(const std::string& before, const std::string& module, std::int64_t expert) {
    name_.assign(before).append(module);
    const std::size_t at = expert > 0 ? name_.find(first_expert, before.size()) : name_.npos;
    if (at != name_.npos) name_.replace(at, first_expert.size(), fmt::format("experts.{}.", expert));
    return name_;
  }
  /// A joined module holds as such where the pattern spells it, or where it holds none of the single ones, which else
  /// tell by themselves what it means.
  bool holds(const std::string& before, const Module& module, std::int64_t expert) {
    if (!pattern_.holds(named(before, module.name, expert))) return false;
    if (module.stem.empty() || text_.find(module.stem) != text_.npos) return true;
    return std::ranges::none_of(
        module.singles, [&](const std::string& single) { return pattern_.holds(named(before, single, expert)); });
  }
  void add(const Part& part, const std::string& before, std::int64_t layer, Found& found) {
    for (const Module& module : part.modules)
      if (module.name.find(first_expert) != module.name.npos) add_experts(part, module, before, layer, found);
      else if (holds(before, module, 0)) put(part, layer, found);
  }
  /// The first and the last stand for all where the pattern does not tell one from another.
  void add_experts(
      const Part& part, const Module& module, const std::string& before, std::int64_t layer, Found& found) {
    const std::int64_t last = names_.experts - 1;
    const bool spelled = expert_ >= 0;
    std::vector<std::int64_t> held;
    for (std::int64_t expert = spelled ? expert_ : 0; expert <= (spelled ? std::min(expert_, last) : last);
         expert += each_expert_ ? 1 : last)
      if (holds(before, module, expert)) held.push_back(expert);
    if (!each_expert_ && held.size() == 2) put(part, layer, found);
    else
      for (const std::int64_t expert : held) add_single(part, {layer, expert}, found);
  }
  struct Expert {
    std::int64_t layer, index;
  };
  void add_single(const Part& part, Expert expert, Found& found) {
    for (const std::string& op : part.operators) {
      const Place place(op, expert.layer);
      single_ = true;
      std::set<std::int64_t>& held = found.experts[place];
      held.insert(expert.index);
      if (static_cast<std::int64_t>(held.size()) >= names_.experts) found.whole.insert(place);
    }
  }
  void put(const Part& part, std::int64_t layer, Found& found) {
    any_ = true;
    for (const std::string& op : part.operators) found.whole.emplace(op, layer);
  }

  const std::string& text_;
  const ModulePattern& pattern_;
  const FileNames& names_;
  bool predicting_ = false;                ///< it names a layer that predicts by its own stack
  bool each_expert_ = false;               ///< it may tell one expert from another
  std::int64_t layer_ = -1, expert_ = -1;  ///< those that it spells
  std::vector<std::size_t> stacks_;
  std::string name_;
  bool any_ = false, single_ = false;  ///< it holds all of something; some experts of something
};

}  // namespace

HeldWeights weights_of_modules(const std::vector<std::string>& patterns, std::int64_t layers, std::int64_t experts) {
  HeldWeights out;
  Found found;
  const FileNames names = file_names(layers, experts);
  std::vector<std::optional<ModulePattern>> read;
  std::vector<std::optional<Reading>> readings(patterns.size());
  read.reserve(patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto& pattern = read.emplace_back(ModulePattern::of(patterns[i]));
    if (pattern) readings[i].emplace(patterns[i], *pattern, names).add_to(found);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool counts = readings[i] && readings[i]->counts();
    if (!counts && !has_one_of(lower_case(patterns[i]), aside)) out.unknown.push_back(patterns[i]);
  }
  if (names.counted) spread_over_layers(found, names.layers, names.experts);
  std::map<std::string, std::set<std::int64_t>> by_operator;
  for (const auto& [op, layer] : found.whole) by_operator[op].insert(layer);
  for (const auto& [op, held] : by_operator) {
    WeightsOfLayers weights{op, {}, held.contains(all_layers)};
    if (!weights.all) weights.layers.assign(held.begin(), held.end());
    out.weights.push_back(std::move(weights));
  }
  for (const auto& [place, held] : found.experts)
    if (names.counted && !found.whole.contains(place) && !found.whole.contains({place.first, all_layers}))
      out.of_experts.push_back({place.first, place.second, static_cast<std::int64_t>(held.size())});
  return out;
}

}  // namespace stepcast::detail
