// The network of a launch: as its arguments have it, else that of the network that they or the user name.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/errors/error_context.h"
#include "model/base/text.h"
#include "model/catalog.h"
#include "model/network/network_rules.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/facts/number_in.h"
#include "studies/launch/facts/argument_words.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/facts/step_words.h"
#include "studies/run/forecast.h"

namespace stepcast::launch {
namespace {

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
    read_experts(subject_, from_);
    read_window(subject_);
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
    expand();
    if (spec_.ffn_hidden > 0 || spec_.hidden == 0) return;
    constexpr std::int64_t multiple = 64;
    const bool narrows = !names_argument(ask_.name(Asked::gated_mlp), "glu_activation");  // BigScience's keeps 4 h
    const bool gated = narrows && (spec_.activation == Activation::swiglu || spec_.activation == Activation::geglu);
    spec_.ffn_hidden = gated ? 8 * spec_.hidden / 3 / multiple * multiple : 4 * spec_.hidden;
    subject_.note(fmt::format("MLP width {}", spec_.ffn_hidden));
  }

  /// llmfoundry/models/layers/ffn.py, resolve_ffn_hidden_size: any number whose product with the width is whole.
  void expand() {
    const auto ratio = ask_.number_or_default(Asked::expansion);
    if (!ratio || *ratio <= 0 || spec_.ffn_hidden > 0 || spec_.hidden == 0) return;
    const double width = *ratio * static_cast<double>(spec_.hidden);
    if (width != std::floor(width) || width > static_cast<double>(most_of_a_size) || width < 1)
      return ask_.refuse(Asked::expansion,
          fmt::format("{} times the width of {} is no whole number up to 2,000,000", *ratio, spec_.hidden),
          "a number whose product with it is whole");
    spec_.ffn_hidden = static_cast<std::int64_t>(width);
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
        "'{}' is no network of the catalogue, whose config.json in front would do, and ", shown_name(given->value));
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
    const bool wordless = from_ != nullptr && from_->vocab == 0;  // networks of images
    for (const auto& [name, value, asked] : needed)
      if (value == 0 && !(wordless && asked == Asked::vocabulary))
        return fail(subject_.launch.where,
            fmt::format("{}its arguments do not tell the {}{}", unknown_name(asked), name, missing_files()),
            (subject_.launch.unread.empty() ? "" : "--files-from FOLDER that has it, or ") + how_to_tell(asked));
    if (spec_.kv_heads > 0 && spec_.heads % spec_.kv_heads != 0)
      return fail(ask_.where(Asked::kv_heads),
          fmt::format("{} query groups do not divide {} heads", spec_.kv_heads, spec_.heads),
          "groups that divide the heads");
    return {};
  }

  /// Rules between numbers speak of our own fields: says which argument holds the one that is wrong.
  [[nodiscard]] Error in_words_of_launch(Error error) const {
    if (ask_.answering(Asked::capacity) == nullptr) return error;
    return renamed_place(
        std::move(error), subject_.launch.where + ":/experts/capacity_factor", ask_.where(Asked::capacity));
  }

  /// Llama 3 8B with the words of Mistral 7B has all its sizes, and is not called so.
  void name_by_words() {
    if (from_ == nullptr || spec_.vocab == from_->vocab || recognised(spec_) == nullptr) return;
    NetworkSpec with_its_words = spec_;
    with_its_words.vocab = from_->vocab;
    const NetworkSpec* own = recognised(with_its_words);
    if (own == nullptr || own != recognised(*from_)) return;
    spec_.name = fmt::format("{} with a vocabulary of {}", from_->name, spec_.vocab);
    subject_.out.own_name = true;
  }

  Expected<void> settle() {
    TRY(read_encoder(subject_));
    auto complete = complete_network(std::move(spec_), subject_.launch.where);
    if (!complete) return tl::unexpected(in_words_of_launch(complete.error()));
    spec_ = std::move(*complete);
    settle_vocabulary(subject_, plain_vocab_);
    name_by_words();
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
    row.id = row.name = row.source = row.family = "";
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
