// What kind of transformer a launch trains: norm, positions, biases, dropout, adapters.
#include <fmt/format.h>

#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

struct NormWord {
  std::string_view word;
  Norm norm;
};
constexpr NormWord norm_words[] = {{"layernorm", Norm::layernorm}, {"layernorm1p", Norm::layernorm},
    {"low_precision_layernorm", Norm::layernorm}, {"low_precision_layer_norm", Norm::layernorm},
    {"rmsnorm", Norm::rmsnorm}, {"low_precision_rmsnorm", Norm::rmsnorm}, {"rms_norm", Norm::rmsnorm},
    {"layernorm-without-offset", Norm::layernorm_scale}};  // as network files have it

struct PositionsWord {
  std::string_view word;
  Positions positions;
};
constexpr PositionsWord positions_words[] = {{"learned_absolute", Positions::learned}, {"absolute", Positions::learned},
    {"learned", Positions::learned}, {"rope", Positions::rope}, {"rotary", Positions::rope}, {"yarn", Positions::rope},
    {"mrope", Positions::rope}, {"alibi", Positions::alibi}, {"true", Positions::alibi},
    {"false", Positions::learned},  // llm-foundry's switch attn_config.alibi
    {"none", Positions::none}, {"nope", Positions::none}};

class KindsReader {
 public:
  KindsReader(const LaunchSubject& subject, const NetworkSpec* from)
      : subject_(subject), ask_(subject.answers), spec_(subject.out.network), from_(from) {}

  void read() {
    const bool told =
        subject_.has_row(Asked::norm) && (subject_.has_row(Asked::positions) || subject_.has_row(Asked::rotary));
    if (from_ == nullptr && !told) by_family();
    // of releases without a word for them
    else if (from_ == nullptr) spec_.norm = Norm::layernorm, spec_.positions = Positions::learned;
    if (const auto norm = from_ == nullptr ? ask_.text_or_default(Asked::norm) : ask_.text(Asked::norm))
      take_word(Asked::norm, "norm", norm_words, *norm, [&](const NormWord& row) { spec_.norm = row.norm; });
    positions();
    if (const auto bias = ask_.flag(Asked::linear_bias)) spec_.linear_bias = *bias;
    else if (from_ == nullptr && told) spec_.linear_bias = true;
    if (ask_.flag(Asked::no_linear_bias, false)) spec_.linear_bias = false;
    // networks of experts say each of their biases (model/network/network.h)
    if (spec_.experts.count > 0 && spec_.linear_bias) {
      spec_.linear_bias = false;
      spec_.qkv_bias = spec_.out_bias = spec_.experts.expert_bias = spec_.experts.router_bias = true;
    }
    spec_.qkv_bias = ask_.flag(Asked::qkv_bias, spec_.qkv_bias) && !spec_.linear_bias;
    // else it norms the latents, as ours always are
    spec_.qk_norm = ask_.flag(Asked::qk_norm, spec_.qk_norm) && spec_.latent.kv_rank == 0;
    spec_.parallel_block = ask_.flag(Asked::parallel_block, spec_.parallel_block);
    if (spec_.parallel_block && ask_.flag(Asked::shared_norm, false)) spec_.norms_per_layer = 1;
    spec_.embedding_norm = ask_.flag(Asked::embedding_norm, spec_.embedding_norm);
    if (spec_.latent.kv_rank > 0 && (spec_.linear_bias || spec_.qkv_bias || spec_.out_bias)) {
      spec_.linear_bias = spec_.qkv_bias = spec_.out_bias = false;
      subject_.note("biases on its projections, which no latent attention of ours has, are not forecast");
    }
    dropout();
    subject_.out.lora_rank = ask_.count(Asked::lora_rank, 0);
    subject_.said("lora", Asked::lora_rank);
  }

 private:
  /// A word that the table does not have would be another network.
  template <typename Row, std::size_t Count, typename Take>
  void take_word(Asked asked, const char* what, const Row (&rows)[Count], const std::string& word, Take take) {
    if (const Row* row = launch_word(rows, word)) take(*row);
    else ask_.refuse(asked, fmt::format("{} '{:.40}' is not forecast", what, word), words_of_table(rows));
  }

  void by_family() {
    const bool gated = spec_.activation == Activation::swiglu || spec_.activation == Activation::geglu;
    const bool modern = gated || spec_.kv_heads != spec_.heads || spec_.experts.count > 0;
    spec_.norm = modern ? Norm::rmsnorm : Norm::layernorm;
    spec_.positions = modern ? Positions::rope : Positions::learned;
    spec_.linear_bias = !modern;
    subject_.note(modern ? "RMS norm, rotary positions, no biases" : "layer norm, learned positions, biases");
  }

  void positions() {
    const auto word = from_ == nullptr ? ask_.text_or_default(Asked::positions) : ask_.text(Asked::positions);
    if (word)
      take_word(Asked::positions, "positions", positions_words, *word,
          [&](const PositionsWord& row) { spec_.positions = row.positions; });
    if (says_no_positions()) spec_.positions = Positions::none;
    if (ask_.flag(Asked::rotary, false)) spec_.positions = Positions::rope;
    if (ask_.flag(Asked::no_positions, false) && spec_.positions == Positions::learned)
      spec_.positions = Positions::none;
    // Kimi Linear's latent attention has none
    if (spec_.latent.kv_rank > 0 && from_ == nullptr) spec_.positions = Positions::rope;
    const auto rows = ask_.count(Asked::max_positions);
    if (spec_.positions != Positions::learned) spec_.max_positions = from_ == nullptr ? 0 : spec_.max_positions;
    else if (rows || from_ == nullptr) spec_.max_positions = rows.value_or(spec_.sequence);
  }

  /// "none" is a word of its own here, not the absence of one.
  [[nodiscard]] bool says_no_positions() const {
    const ArgumentTable& table = subject_.framework.table();
    return std::ranges::any_of(subject_.launch.arguments, [&](const GivenArgument& given) {
      const ArgumentFact* fact = table.find(given.name);
      return fact != nullptr && fact->asks == Asked::positions && subject_.launch.counts(given) &&
             lower_case(given.value) == "none";
    });
  }

  /// What is not told of a network that the launch names is that network's; else the program's.
  void dropout() {
    const bool told = ask_.is_given(Asked::attention_dropout) || ask_.is_given(Asked::hidden_dropout);
    if (from_ != nullptr && !told) return;
    const auto drops = [&](Asked asked, bool none) {
      if (from_ != nullptr && !ask_.is_given(asked)) return from_->dropout && !none;
      return ask_.number_or_default(asked).value_or(0) > 0;
    };
    const bool attention = drops(Asked::attention_dropout, from_ != nullptr && from_->no_attention_dropout),
               hidden = drops(Asked::hidden_dropout, from_ != nullptr && from_->no_hidden_dropout);
    spec_.dropout = attention || hidden;
    spec_.no_attention_dropout = spec_.dropout && !attention;
    spec_.no_hidden_dropout = spec_.dropout && !hidden;
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  NetworkSpec& spec_;
  const NetworkSpec* from_;
};

}  // namespace

void read_kinds(const LaunchSubject& subject, const NetworkSpec* from) { KindsReader(subject, from).read(); }

}  // namespace stepcast::launch
