// The geometry of a logged run: as its arguments have it, else that of the network that they or the user name.
#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/plain_words.h"
#include "model/catalog.h"
#include "studies/logged_answers.h"
#include "studies/logged_run.h"

namespace stepcast {
namespace {

const NetworkSpec* catalogue_network(std::string name) {
  name = lower_case(name);
  for (const auto& [from, to] : {std::pair{'_', '-'}, std::pair{' ', '-'}})
    std::replace(name.begin(), name.end(), from, to);
  const auto found = find_row(catalog().networks, name, "network");
  return found ? *found : nullptr;
}

/// "llama3-8b" of "train_configs/llama3_8b.toml".
std::string stem_of(std::string_view path) {
  path = last_of_path(path);
  return std::string(path.substr(0, path.rfind('.')));
}

/// By what names a model in the arguments: a family with its size, a recipe, a configuration file.
const NetworkSpec* named_network(const LoggedSource& source) {
  std::vector<std::string> names;
  const auto name = source.answers.text(Asked::model_name), flavor = source.answers.text(Asked::model_flavor);
  if (name && flavor) names.push_back(*name + "-" + *flavor);
  if (name) names.push_back(*name), names.push_back(std::string(last_of_path(*name)));
  if (const auto config = source.answers.text(Asked::config_name)) names.push_back(*config);
  if (const auto file = source.answers.text(Asked::config_file)) names.push_back(stem_of(*file));
  for (const char* variable : {"CONFIG_FILE", "CONFIG"})
    if (const auto found = source.log.environment.find(variable); found != source.log.environment.end())
      names.push_back(variable == std::string_view("CONFIG") ? found->second : stem_of(found->second));
  for (const std::string& candidate : names)
    if (const NetworkSpec* spec = catalogue_network(candidate)) {
      source.assumptions.push_back(fmt::format("geometry of {}, as '{}' names it", spec->id, candidate));
      return spec;
    }
  return nullptr;
}

RunModel model_of_network(const NetworkSpec& spec) {
  RunModel model;
  model.name = spec.name;
  model.layers = spec.layers, model.hidden = spec.hidden, model.ffn_hidden = spec.ffn_hidden;
  model.heads = spec.heads, model.kv_heads = spec.kv_heads, model.head_dim = spec.head_dim;
  model.seq_len = spec.sequence, model.vocab = spec.vocab;
  model.gated_mlp = spec.activation == Activation::swiglu || spec.activation == Activation::geglu;
  model.tied_embeddings = spec.tied_embeddings;
  const Experts& x = spec.experts;
  if (x.count > 0)
    model.experts = RunExperts{x.count,        x.top_k, x.ffn_hidden,    x.shared_ffn_hidden,
                               x.dense_layers, x.every, spec.mtp_layers, x.capacity_factor > 0};
  const LatentAttention& l = spec.latent;
  if (l.kv_rank > 0) model.latent = RunLatent{l.q_rank, l.kv_rank, l.nope_dim, l.rope_dim, l.value_dim};
  return model;
}

class ModelReader {
 public:
  explicit ModelReader(const LoggedSource& source) : source_(source), ask_(source.answers) {}

  Expected<RunModel> read() {
    if (auto good = base(); !good) return tl::unexpected(good.error());
    sizes();
    widths();
    vocabulary();
    experts();
    latent();
    if (ask_.text(Asked::mamba_layers)) model_.attention = "hybrid";
    if (ask_.error()) return tl::unexpected(*ask_.error());
    if (auto good = complete(); !good) return tl::unexpected(good.error());
    return model_;
  }

 private:
  Expected<void> base() {
    const NetworkSpec* spec = named_network(source_);
    if (const std::string& hint = source_.hints.network; !hint.empty()) {
      const auto row = find_row(catalog().networks, hint, "network");
      if (!row) return tl::unexpected(row.error());
      spec = *row;
      source_.assumptions.push_back(fmt::format("geometry of {} where the log has none", spec->id));
    }
    if (spec != nullptr)
      model_ = model_of_network(*spec), from_ = spec;
    else
      model_.name = stem_of(source_.log.where);
    return {};
  }

  /// The log's own figure; said where it is another one than the named network's.
  void take(Asked asked, const char* name, MaybeCount& into) {
    const auto value = ask_.count(asked);
    if (!value) return;
    if (from_ != nullptr && into && *into != *value && *into != 0)
      source_.assumptions.push_back(fmt::format("{} {} as logged, where {} has {}", name, *value, from_->id, *into));
    into = value;
  }

  void sizes() {
    take(Asked::layers, "layers", model_.layers);
    take(Asked::hidden, "hidden size", model_.hidden);
    take(Asked::heads, "heads", model_.heads);
    take(Asked::head_dim, "head size", model_.head_dim);
    take(Asked::sequence, "sequence length", model_.seq_len);
    const auto groups = ask_.count(Asked::kv_heads);
    // Megatron prints num_query_groups 1 where the flag is off, which is as many groups as heads.
    const bool grouped = ask_.flag(Asked::grouped_queries, true);
    if (groups && grouped)
      model_.kv_heads = groups;
    else if (from_ == nullptr)
      model_.kv_heads = model_.heads;
    if (ask_.text(Asked::tied))
      model_.tied_embeddings = ask_.flag(Asked::tied);
    else if (const auto untied = ask_.flag(Asked::untied))
      model_.tied_embeddings = !*untied;
    else if (from_ == nullptr)
      model_.tied_embeddings = source_.program.tied;
  }
  /// Without a width: 4 h, or 8/3 h in multiples of 64 with three matrices (Megatron-LM's arguments.py).
  void widths() {
    if (const auto gate = ask_.text(Asked::gated_mlp))
      model_.gated_mlp =
          ask_.flag(Asked::gated_mlp, false) && lower_case(*gate) != "gelu" && lower_case(*gate) != "squared-relu";
    else if (from_ == nullptr)
      model_.gated_mlp = false;
    take(Asked::ffn_hidden, "MLP width", model_.ffn_hidden);
    if (model_.ffn_hidden.value_or(0) > 0 || !model_.hidden) return;
    constexpr std::int64_t multiple = 64;
    const std::int64_t hidden = *model_.hidden;
    model_.ffn_hidden = *model_.gated_mlp ? 8 * hidden / 3 / multiple * multiple : 4 * hidden;
    source_.assumptions.push_back(fmt::format("MLP width {}", *model_.ffn_hidden));
  }

  void vocabulary() {
    const auto padded = ask_.count(Asked::padded_vocabulary), plain = ask_.count(Asked::vocabulary);
    const std::int64_t multiple =
        ask_.count(Asked::vocabulary_divisor, 0) * std::max<std::int64_t>(1, ask_.count(Asked::tp, 1));
    if (padded)
      model_.vocab = padded;
    else if (plain)
      model_.vocab = multiple > 0 ? (*plain + multiple - 1) / multiple * multiple : *plain;
  }

  void experts() {
    const std::int64_t count = ask_.count(Asked::experts, 0);
    const auto top_k = ask_.count(Asked::top_k), width = ask_.count(Asked::expert_ffn),
               shared = ask_.count(Asked::shared_ffn), mtp = ask_.count(Asked::mtp_layers);
    const auto layers = ask_.text(Asked::expert_layers), capacity = ask_.text(Asked::capacity);
    if (count <= 1) return;
    RunExperts experts = model_.experts.value_or(RunExperts{});
    experts.count = count;
    experts.top_k = top_k.value_or(experts.top_k > 0 ? experts.top_k : source_.program.top_k);
    experts.ffn_hidden = width.value_or(experts.ffn_hidden > 0 ? experts.ffn_hidden : model_.ffn_hidden.value_or(0));
    experts.shared_ffn = shared.value_or(experts.shared_ffn);
    experts.mtp_layers = mtp.value_or(experts.mtp_layers);
    experts.padded = capacity.has_value();
    if (layers) expert_layers(*layers, experts);
    model_.experts = experts;
  }

  /// moe_layer_freq: a number n for every n-th layer, or a list, as "([0]*3+[1]*58)" or printed out.
  void expert_layers(const std::string& text, RunExperts& experts) {
    const std::optional<std::int64_t> every = is_number(text) ? ask_.count(Asked::expert_layers) : std::nullopt;
    if (every) return void(experts.every = *every);
    const std::size_t zero = text.find("[0]*");
    if (zero != text.npos)
      experts.dense_layers = std::atoll(text.c_str() + zero + 4);
    else
      experts.dense_layers = std::count(
          text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find('1'), text.size())), '0');
    experts.every = 1;
    source_.assumptions.push_back(
        fmt::format("{} dense layers in front, as moe_layer_freq {:.40} begins", experts.dense_layers, text));
  }
  static bool is_number(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  }

  /// Megatron's defaults of MLATransformerConfig where only the flag is given.
  void latent() {
    const bool on = ask_.flag(Asked::latent, false);
    RunLatent latent{ask_.count(Asked::query_rank, 0), ask_.count(Asked::key_rank, 512),
                     ask_.count(Asked::nope_dim, 128), ask_.count(Asked::rope_dim, 64),
                     ask_.count(Asked::value_dim, 128)};
    if (on) model_.latent = latent;
  }

  Expected<void> complete() {
    const std::pair<const char*, MaybeCount> needed[] = {{"layers", model_.layers},
                                                         {"hidden size", model_.hidden},
                                                         {"attention heads", model_.heads},
                                                         {"sequence length", model_.seq_len},
                                                         {"vocabulary", model_.vocab}};
    for (const auto& [name, value] : needed)
      if (!value)
        return fail(source_.log.where, fmt::format("neither the log nor its arguments tell the {}", name),
                    "--network ID, of a network in the catalogue (stepcast list networks)");
    if (model_.kv_heads && *model_.kv_heads > 0 && *model_.heads % *model_.kv_heads != 0)
      return fail(source_.log.where,
                  fmt::format("{} query groups do not divide {} heads", *model_.kv_heads, *model_.heads));
    return {};
  }

  const LoggedSource& source_;
  LoggedAnswers& ask_;
  const NetworkSpec* from_ = nullptr;
  RunModel model_;
};

}  // namespace

Expected<RunModel> logged_model(const LoggedSource& source) { return ModelReader(source).read(); }

}  // namespace stepcast
