// The network of a launch: as its arguments have it, else that of the network that they or the user name.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "model/catalog.h"
#include "model/network/network_rules.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/facts/expert_pattern.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/facts/torchtitan_models.h"
#include "studies/run/forecast.h"

namespace stepcast::launch {
namespace {

/// A tuned model has the sizes of the one it was made of: "Meta-Llama-3.1-8B-Instruct" is of llama-3.1-8b.
void add_plain_names(std::string name, std::vector<std::string>& names) {
  constexpr std::string_view front[] = {"meta-"}, behind[] = {"-instruct", "-hf", "-base", "-chat", "-it", "-v0.1",
                                                      "-2507", "-thinking", "-pt", "-fp8"};
  name = lower_case(name);
  for (const std::string_view word : front)
    if (name.starts_with(word)) names.push_back(name = name.substr(word.size()));
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view word : behind)
      if (name.ends_with(word)) names.push_back(name = name.substr(0, name.size() - word.size())), cut = true;
  }
}

/// The last part of a name or folder without what a model was tuned for: "gemma-3-27b" of "google/gemma-3-27b-pt".
std::string barest_name(std::string_view path) {
  std::vector<std::string> names = {lower_case(last_of_path(path))};
  add_plain_names(names.front(), names);
  return names.back();
}

/// The network of the catalogue that is called so but for its maker and what it was tuned for; null if none.
const NetworkSpec* kin_of(const std::string& name) {
  const std::string bare = barest_name(name);
  for (const NetworkSpec& row : built_in().networks)
    if (std::ranges::any_of(row.aliases, [&](const std::string& alias) { return barest_name(alias) == bare; }))
      return &row;
  return nullptr;
}

/// By what names a model in the arguments: a family with its size, a recipe, a configuration file.
const NetworkSpec* named_network(const LaunchSubject& subject) {
  LaunchAnswers& ask = subject.answers;
  std::vector<std::string> names;
  auto name = ask.text(Asked::model_name);
  const auto flavor = ask.text(Asked::model_flavor);
  while (name && name->ends_with('/')) name->pop_back();  // a folder's last part names the network
  // torchtitan's names are families; a flavor that is not in its table is somebody's own
  if (name && subject.framework.id == "torchtitan" && ask.name(Asked::model_name) == "model.name" &&
      torchtitan_model(*name, flavor.value_or("")) == nullptr)
    return nullptr;
  if (name && flavor) names.push_back(*name + "-" + *flavor);
  if (name) names.push_back(*name), names.push_back(std::string(last_of_path(*name)));
  if (const auto config = ask.text(Asked::config_name)) names.push_back(*config);
  if (const auto file = ask.text(Asked::config_file)) names.push_back(launch_stem(*file));
  const ArgumentMap& set = subject.launch.environment;
  if (const auto found = set.find("CONFIG_FILE"); found != set.end()) names.push_back(launch_stem(found->second));
  if (const auto found = set.find("CONFIG"); found != set.end()) names.push_back(found->second);
  if (name && subject.framework.id == "torchtitan")
    if (const TorchtitanModel* model = torchtitan_model(*name, flavor.value_or("")); model != nullptr)
      names.insert(names.begin(), std::string(model->network));
  if (name) add_plain_names(std::string(last_of_path(*name)), names);
  const std::size_t whole = names.size();
  for (std::size_t i = 0; i < whole; ++i)  // recipes: "llama3_8b_pretrain_config"
    for (std::size_t end = names[i].rfind('_'); end != std::string::npos && end > 0; end = names[i].rfind('_', end - 1))
      names.push_back(names[i].substr(0, end));
  for (const std::string& candidate : names)
    if (const NetworkSpec* spec = catalogue_network(candidate)) {
      subject.note(fmt::format("geometry of {}, as '{}' names it", spec->id, candidate));
      return spec;
    }
  const NetworkSpec* kin = name ? kin_of(*name) : nullptr;
  if (kin != nullptr) subject.note(fmt::format("geometry of {}, as '{}' names it", kin->id, *name));
  return kin;
}

/// What a word for the MLP's function means without and with a gate.
struct ActivationWord {
  std::string_view word;
  Activation plain, gated;
};
constexpr ActivationWord activation_words[] = {{"gelu", Activation::gelu, Activation::geglu},
    {"fast-gelu", Activation::gelu, Activation::geglu}, {"silu", Activation::gelu, Activation::swiglu},
    {"swish", Activation::gelu, Activation::swiglu}, {"swiglu", Activation::swiglu, Activation::swiglu},
    {"fast-swiglu", Activation::swiglu, Activation::swiglu}, {"geglu", Activation::geglu, Activation::geglu},
    {"fast-geglu", Activation::geglu, Activation::geglu}, {"relu", Activation::relu, Activation::swiglu},
    {"squared-relu", Activation::squared_relu, Activation::swiglu},
    {"squared_relu", Activation::squared_relu, Activation::swiglu}, {"reglu", Activation::swiglu, Activation::swiglu},
    {"glu", Activation::swiglu, Activation::swiglu}, {"bilinear", Activation::swiglu, Activation::swiglu},
    {"mptmlp", Activation::gelu, Activation::gelu}, {"te_ln_mlp", Activation::gelu, Activation::gelu},
    {"mptglu", Activation::geglu, Activation::geglu}, {"openai_gelu", Activation::gelu, Activation::geglu},
    {"quick_gelu", Activation::gelu, Activation::geglu}, {"liglu", Activation::swiglu, Activation::swiglu},
    // BigScience's with two products in place of one
    {"t5_swiglu", Activation::swiglu, Activation::swiglu}, {"t5_geglu", Activation::geglu, Activation::geglu},
    {"t5_reglu", Activation::swiglu, Activation::swiglu}, {"t5_liglu", Activation::swiglu, Activation::swiglu}};

class GeometryReader {
 public:
  explicit GeometryReader(const LaunchSubject& subject)
      : subject_(subject), ask_(subject.answers), spec_(subject.out.network) {}

  Expected<void> read() {
    TRY(base());
    sizes();
    widths();
    plain_vocab_ = read_vocabulary(subject_, from_);
    experts();
    window();
    latent();
    read_layer_kinds(subject_, from_);
    if (const auto kind = ask_.text(Asked::softmax_type)) spec_.attention_sinks = *kind == "learnable";
    if (ask_.error()) return tl::unexpected(*ask_.error());
    TRY(complete());
    read_kinds(subject_, from_);
    if (ask_.error()) return tl::unexpected(*ask_.error());
    return settle();
  }

 private:
  Expected<void> base() {
    from_ = named_network(subject_);
    const std::string named = from_ == nullptr ? "" : from_->id;
    if (const auto& hint = subject_.hints.network) {
      if (!named.empty() && !hint->id.empty() && named != hint->id && subject_.hints.must_agree)
        return fail(subject_.launch.where, fmt::format("the launch names {}, but {} was asked for", named, hint->id),
            "leave one of them out");
      from_ = &hint->row;
      subject_.note(fmt::format("geometry of {} where {} has none",
          hint->row.id.empty() ? hint->row.name : hint->row.id, subject_.launch.where));
    }
    if (from_ != nullptr) {
      spec_ = *from_;
      leave_out_predictors();
      return {};
    }
    spec_.id = spec_.name = launch_stem(subject_.launch.where);
    spec_.source = subject_.launch.where;
    return {};
  }

  /// A named network comes with them, and many a program trains it without.
  void leave_out_predictors() {
    if (!subject_.framework.leaves_out_predictors || spec_.mtp_layers == 0 || ask_.count(Asked::mtp_layers)) return;
    subject_.note(fmt::format("{} trains no layers that predict further tokens unless told: the {} of {} are left out",
        subject_.framework.name, spec_.mtp_layers, spec_.name));
    spec_.mtp_layers = 0;
    spec_.mtp_pattern.clear();
    spec_.name += " without prediction layers";
    spec_.aliases.clear();
    spec_.published_parameters = 0;
  }

  /// The launch's own figure; said where it is another one than the named network's.
  void take(Asked asked, const char* name, std::int64_t& into) {
    // a network that is named, but not known, has not the program's default sizes
    const bool its_defaults = from_ == nullptr && !ask_.text(Asked::model_name);
    const auto value = its_defaults ? ask_.count_or_default(asked) : ask_.count(asked);
    if (!value) return;
    if (from_ != nullptr && into != *value && into != 0)
      differs(name, std::to_string(*value), std::to_string(into), asked);
    into = *value;
  }
  void differs(const char* name, const std::string& here, const std::string& there, Asked asked) {
    if (subject_.hints.must_agree && subject_.hints.network && !clash_)
      clash_ = Error{ask_.where(asked), fmt::format("{} {}, where {} has {}", name, here, from_->name, there),
          "leave out the network, or the argument"};
    subject_.note(fmt::format("{} {} as given, where {} has {}", name, here, from_->id, there));
  }

  void sizes() {
    take(Asked::layers, "layers", spec_.layers);
    take(Asked::hidden, "hidden size", spec_.hidden);
    take(Asked::heads, "heads", spec_.heads);
    take(Asked::head_dim, "head size", spec_.head_dim);
    const bool own = subject_.framework.own_sequence && subject_.hints.must_agree;
    const auto sequence = own ? ask_.count_or_default(Asked::sequence) : ask_.count(Asked::sequence);
    if (own && sequence && !ask_.is_given(Asked::sequence))
      subject_.note(fmt::format("sequences of {}, as the program has them unless told", *sequence));
    untold_ = untold_sequence() || (own && from_ != nullptr && subject_.framework.id != "torchtitan" &&
                                       !subject_.hints.told.contains(FieldId::sequence));
    spec_.sequence = sequence.value_or(untold_ ? 0 : spec_.sequence);
    subject_.said("sequence", Asked::sequence);
    // Megatron takes as many groups as heads where the flag that switches them on is absent, and prints 1 then.
    const auto groups = ask_.count(Asked::kv_heads);
    const bool grouped = !subject_.has_row(Asked::grouped_queries) || ask_.flag(Asked::grouped_queries, from_alias());
    if (groups && !grouped && *groups > 1 && *groups != spec_.heads)
      subject_.note(fmt::format("{} {} does nothing without the switch for grouped queries, which is off",
          ask_.name(Asked::kv_heads), *groups));
    if (groups && grouped) spec_.kv_heads = *groups;
    else if (from_ == nullptr || (groups && !grouped)) spec_.kv_heads = spec_.heads;
    if (one_kv_head()) spec_.kv_heads = 1;
    if (ask_.text(Asked::tied)) spec_.tied_embeddings = *ask_.flag(Asked::tied);
    else if (const auto untied = ask_.flag(Asked::untied)) spec_.tied_embeddings = !*untied;
    else if (from_ == nullptr) spec_.tied_embeddings = subject_.framework.tied;
  }
  /// Programs on the Trainer cut at lengths of their own, whatever the network is made for.
  [[nodiscard]] bool untold_sequence() const {
    return subject_.hints.must_agree && !subject_.hints.told.contains(FieldId::sequence) &&
           subject_.launch.find("per_device_train_batch_size") != nullptr &&
           (subject_.launch.find("model_name_or_path") != nullptr || subject_.launch.find("model_name") != nullptr);
  }
  /// Of a switch, or of a word for the kind of heads: "multiquery", "multiquery_attention".
  [[nodiscard]] bool one_kv_head() {
    const std::string kind = lower_case(ask_.text(Asked::one_kv_head).value_or(""));
    return kind == "true" || kind == "1" || kind.starts_with("multiquery");
  }
  /// Where groups are named under another name than Megatron's they need no switch.
  [[nodiscard]] bool from_alias() const { return !names_argument(ask_.name(Asked::kv_heads), "num_query_groups"); }

  /// Without a width: 4 h, or 8/3 h in multiples of 64 with three matrices (Megatron-LM's arguments.py).
  void widths() {
    activation();
    take(Asked::ffn_hidden, "MLP width", spec_.ffn_hidden);
    if (const auto ratio = ask_.count_or_default(Asked::expansion); ratio && spec_.ffn_hidden == 0)
      spec_.ffn_hidden = *ratio * spec_.hidden;
    if (spec_.ffn_hidden > 0 || spec_.hidden == 0) return;
    constexpr std::int64_t multiple = 64;
    const bool narrows = !names_argument(ask_.name(Asked::gated_mlp), "glu_activation");  // BigScience's keeps 4 h
    const bool gated = narrows && (spec_.activation == Activation::swiglu || spec_.activation == Activation::geglu);
    spec_.ffn_hidden = gated ? 8 * spec_.hidden / 3 / multiple * multiple : 4 * spec_.hidden;
    subject_.note(fmt::format("MLP width {}", spec_.ffn_hidden));
  }

  void activation() {
    const auto gate = ask_.text(Asked::gated_mlp), word = ask_.text(Asked::activation);
    const ActivationWord* row = word ? launch_word(activation_words, *word) : nullptr;
    const ActivationWord* by_gate = gate ? launch_word(activation_words, *gate) : nullptr;  // "fast-swiglu" says both
    if (word && row == nullptr)
      ask_.refuse(
          Asked::activation, fmt::format("activation '{:.40}' is not known", *word), words_of_table(activation_words));
    if (const bool yes_or_no = !gate || is_switched_off(*gate) || lower_case(*gate) == "true" || *gate == "1";
        !yes_or_no && by_gate == nullptr)
      ask_.refuse(
          Asked::gated_mlp, fmt::format("activation '{:.40}' is not known", *gate), words_of_table(activation_words));
    if (by_gate != nullptr) spec_.activation = by_gate->plain;
    else if (gate)
      spec_.activation = ask_.flag(Asked::gated_mlp, false) ? (row == nullptr ? Activation::swiglu : row->gated)
                                                            : (row == nullptr ? Activation::gelu : row->plain);
    else if (row != nullptr) spec_.activation = row->plain;
    else if (from_ == nullptr) spec_.activation = Activation::gelu;
    if (ask_.flag(Asked::squared_relu, false)) spec_.activation = Activation::squared_relu;
  }

  void experts() {
    const std::int64_t count = ask_.count(Asked::experts, 0);
    const auto top_k = ask_.count(Asked::top_k), width = ask_.count(Asked::expert_ffn),
               shared = ask_.count(Asked::shared_ffn), mtp = ask_.count(Asked::mtp_layers);
    const auto layers = from_ == nullptr ? ask_.text_or_default(Asked::expert_layers) : ask_.text(Asked::expert_layers);
    const auto capacity = from_ == nullptr ? ask_.number_or_default(Asked::capacity) : std::nullopt;
    const bool drops = !subject_.is_on("disable_moe_token_dropping");
    const auto gate = ask_.flag(Asked::shared_gate), bias = ask_.flag(Asked::router_bias);
    spec_.mtp_layers = mtp.value_or(spec_.mtp_layers);
    Experts& experts = spec_.experts;
    if (count <= 1 && experts.count == 0) return;
    if (ask_.is_given(Asked::capacity)) experts.capacity_factor = rows_of_experts();
    // Megatron-DeepSpeed cuts to its capacity unless told
    else if (capacity && drops && count > 1) experts.capacity_factor = *capacity;
    if (count <= 1) return;
    experts.count = count;
    experts.top_k = top_k.value_or(experts.top_k > 0 ? experts.top_k : subject_.framework.top_k);
    experts.ffn_hidden = width.value_or(experts.ffn_hidden > 0 ? experts.ffn_hidden : spec_.ffn_hidden);
    experts.shared_ffn_hidden = shared.value_or(experts.shared_ffn_hidden);
    experts.shared_gate = gate.value_or(experts.shared_gate);
    experts.router_bias = bias.value_or(experts.router_bias);
    experts.latent = ask_.count(Asked::expert_latent).value_or(experts.latent);
    experts.groups = ask_.count(Asked::expert_groups).value_or(experts.groups);
    // one group is no choice among groups
    experts.top_groups = ask_.count(Asked::top_groups).value_or(experts.groups == 1 ? 1 : experts.top_groups);
    if (layers) expert_layers(*layers);
  }

  /// Over the mean. Megatron drops what is beyond the capacity and leaves fewer rows as they are, unless it pads them
  /// (core/transformer/moe/moe_utils.py, topk_softmax_with_capacity); other programs have as many places as they say.
  double rows_of_experts() {
    const double factor = ask_.number_or_default(Asked::capacity).value_or(0);
    const bool drops_alone = ask_.name(Asked::capacity) == "moe_expert_capacity_factor" &&
                             !subject_.is_on("moe_pad_expert_input_to_capacity");
    if (!drops_alone || factor < 1) return factor;
    subject_.note(fmt::format(
        "experts take up to {} times their mean of rows, and balanced ones have the mean: nothing is padded", factor));
    return 0;
  }

  /// A number n for every n-th layer, or a pattern. Megatron's n-th are the first of their group and ours the last,
  /// which only tells where the number of layers is no multiple.
  void expert_layers(const std::string& text) {
    Experts& experts = spec_.experts;
    const bool number = std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    experts.dense_layers = 0;
    if (number) return void(experts.every = std::max<std::int64_t>(1, std::atoll(text.c_str())));
    const auto pattern = read_expert_pattern(text);
    const auto layers = pattern ? expert_layers_of(*pattern) : std::nullopt;
    if (layers) {
      experts.dense_layers = layers->dense, experts.every = layers->every;
      return;
    }
    const auto first = pattern ? std::find(pattern->begin(), pattern->end(), 1) - pattern->begin() : 0;
    experts.dense_layers = first, experts.every = 1;
    subject_.note(fmt::format(
        "layers with experts '{:.40}' are not {}: forecast as {} dense layers and experts in all behind them", text,
        "dense ones in front and then every n-th", first));
  }

  /// "(127, 0)": keys before the query and behind it, its own apart; a single number counts its own. Which layers: a
  /// number n for full attention in every n-th, or a 1 for each layer with the window (Megatron-LM
  /// core/transformer/utils.py, is_layer_window_attention).
  void window() {
    const auto text = ask_.text(Asked::window), layers = ask_.text(Asked::window_layers);
    if (!text) return;
    const std::string_view inside = without_brackets(*text);
    const std::size_t comma = inside.find(',');
    const auto before = parsed_number<std::int64_t>(stripped(inside.substr(0, comma)));
    const auto behind = comma == inside.npos ? 0 : parsed_number<std::int64_t>(stripped(inside.substr(comma + 1)));
    constexpr std::int64_t longest = std::int64_t{1} << 30;
    if (is_switched_off(*text) || (before && *before < 0)) return void(spec_.window = {});
    if (!before || !behind || *behind > 0 || *before > longest)
      return ask_.refuse(Asked::window, fmt::format("the window '{:.40}' is none of ours", *text),
          "keys before the query, and none behind it: 4095,0");
    spec_.window = {comma == inside.npos ? *before : *before + 1, "w", false};
    if (layers) window_layers(*layers);
  }

  void window_layers(const std::string& text) {
    std::string& pattern = spec_.window.pattern;
    if (const auto every = parsed_number<std::int64_t>(text)) {
      if (*every < 1)
        return ask_.refuse(
            Asked::window_layers, fmt::format("full attention in every {}th layer", *every), "1 or more");
      if (*every <= spec_.layers) pattern = std::string(static_cast<std::size_t>(*every - 1), 'w') + "f";
      if (*every == 1) spec_.window = {};
      return;
    }
    const auto list = read_expert_pattern(text);
    if (!list)
      return ask_.refuse(Asked::window_layers, fmt::format("'{:.40}' is no list of layers", text), "[1]*5+[0]");
    pattern.clear();
    for (const int one : *list) pattern += one == 1 ? 'w' : 'f';
    if (static_cast<std::int64_t>(pattern.size()) != spec_.layers)
      return ask_.refuse(Asked::window_layers, fmt::format("{} layers of {}", pattern.size(), spec_.layers),
          "a 1 or 0 for each layer");
    if (pattern.find('w') == pattern.npos) spec_.window = {};
  }

  static std::string_view without_brackets(std::string_view text) {
    text = stripped(text);
    const bool brackets = text.size() > 1 && std::string_view("([").find(text.front()) != std::string_view::npos;
    return brackets ? text.substr(1, text.size() - 2) : text;
  }

  /// Megatron's defaults of MLATransformerConfig where only the flag is given.
  void latent() {
    const bool on = ask_.flag(Asked::latent, false);
    const auto of = [&](Asked asked, std::int64_t otherwise) {
      return ask_.count_or_default(asked).value_or(otherwise);
    };
    const LatentAttention latent{ask_.count(Asked::query_rank, 0), of(Asked::key_rank, 512), of(Asked::nope_dim, 128),
        of(Asked::rope_dim, 64), of(Asked::value_dim, 128)};
    if (!on) return;
    spec_.latent = latent;
    spec_.kv_heads = spec_.heads;
    spec_.head_dim = latent.nope_dim + latent.rope_dim;
  }

  /// Of a launch that tells everything else the argument, which may stand behind --; else the network.
  [[nodiscard]] std::string how_to_tell(Asked asked) const {
    auto rows = subject_.framework.table().answering(asked);
    if (rows.empty() && asked == Asked::vocabulary)
      rows = subject_.framework.table().answering(Asked::padded_vocabulary);
    if (asked == Asked::sequence && untold_) return "--seq N, as long as the program fills or cuts them";
    const bool alone = asked == Asked::vocabulary && subject_.hints.must_agree && !rows.empty();
    if (!alone) return subject_.hints.how_to_name;
    const std::string name = spelled_name(subject_.framework, rows.front()->name);
    return fmt::format("-- {}{}N at the end of the command, or {}", name, name.starts_with("--") ? " " : "=",
        subject_.hints.how_to_name);
  }

  /// "'microsoft/phi-1_5' is no network of the catalogue, and ".
  [[nodiscard]] std::string unknown_name(Asked asked) const {
    const GivenArgument* given = ask_.answering(Asked::model_name);
    if (asked != Asked::layers || from_ != nullptr || given == nullptr) return {};
    return fmt::format(
        "'{:.80}' is no network of the catalogue, whose config.json in front would do, and ", given->value);
  }

  /// What may have told it.
  [[nodiscard]] std::string missing_files() const {
    if (subject_.launch.unread.empty()) return {};
    return fmt::format(
        ", and what it reads is not there: {:.200}", fmt::format("{}", fmt::join(subject_.launch.unread, ", ")));
  }

  Expected<void> complete() {
    if (clash_) return tl::unexpected(*clash_);
    // A record of a run has no field for a pattern: its layers are those of a catalogue network, or nobody's.
    if (!spec_.pattern.empty()) subject_.out.run.model.attention = "hybrid";
    const struct {
      const char* name;
      std::int64_t value;
      Asked asked;
    } needed[] = {{"layers", spec_.layers, Asked::layers}, {"hidden size", spec_.hidden, Asked::hidden},
        {"attention heads", spec_.heads, Asked::heads}, {"sequence length", spec_.sequence, Asked::sequence},
        {"vocabulary", spec_.vocab, Asked::vocabulary}};
    for (const auto& [name, value, asked] : needed)
      if (value == 0)
        return fail(subject_.launch.where,
            fmt::format("{}its arguments do not tell the {}{}", unknown_name(asked), name, missing_files()),
            how_to_tell(asked));
    if (spec_.kv_heads > 0 && spec_.heads % spec_.kv_heads != 0)
      return fail(ask_.where(Asked::kv_heads),
          fmt::format("{} query groups do not divide {} heads", spec_.kv_heads, spec_.heads),
          "groups that divide the heads");
    return {};
  }

  /// Rules between numbers speak of our own fields: says which argument holds the one that is wrong.
  [[nodiscard]] Error in_words_of_launch(Error error) const {
    if (error.where.ends_with("/experts/capacity_factor") && ask_.answering(Asked::capacity) != nullptr)
      error.where = ask_.where(Asked::capacity);
    return error;
  }

  Expected<void> settle() {
    TRY(read_encoder(subject_));
    auto complete = complete_network(std::move(spec_), subject_.launch.where);
    if (!complete) return tl::unexpected(in_words_of_launch(complete.error()));
    spec_ = std::move(*complete);
    settle_vocabulary(subject_, plain_vocab_);
    MaybeText attention = std::move(subject_.out.run.model.attention);
    subject_.out.run.model = model_of_network(spec_);
    subject_.out.run.model.attention = std::move(attention);
    return {};
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  const NetworkSpec* from_ = nullptr;
  std::optional<Error> clash_;
  std::int64_t plain_vocab_ = 0;
  bool untold_ = false;  ///< sequences are as long as the program makes them, and nothing says how long
  NetworkSpec& spec_;
};

}  // namespace

Expected<void> read_geometry(const LaunchSubject& subject) { return GeometryReader(subject).read(); }

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
    model.experts = RunExperts{x.count, x.top_k, x.ffn_hidden, x.shared_ffn_hidden, x.dense_layers, x.every,
        spec.mtp_layers, x.capacity_factor > 0};
  const LatentAttention& l = spec.latent;
  if (l.kv_rank > 0) model.latent = RunLatent{l.q_rank, l.kv_rank, l.nope_dim, l.rope_dim, l.value_dim};
  return model;
}

const NetworkSpec* recognised(const NetworkSpec& spec) {
  const auto plain = [](NetworkSpec row) {
    row.id = row.name = row.source = "";
    row.aliases.clear();
    row.window = {};  // a launch says by itself how far its attention looks
    row.sequence = 1, row.published_parameters = 0, row.published_parameters_billion = "";
    if (row.positions != Positions::learned) row.max_positions = 0;
    const Experts& x = row.experts;  // where all layers have experts, nothing has the width of an MLP
    if (x.count > 0 && x.dense_layers == 0 && x.every == 1 && row.pattern.empty()) row.ffn_hidden = x.ffn_hidden;
    return write_network(row);
  };
  const std::string wanted = plain(spec);
  for (const NetworkSpec& row : built_in().networks)
    if (plain(row) == wanted) return &row;
  return nullptr;
}

}  // namespace stepcast::launch
