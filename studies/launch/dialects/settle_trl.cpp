// TRL's fine-tuning (trl sft, sft.py): its defaults changed over its releases, and a launch does not say which it runs.
#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "studies/launch/dialects/settle_dialect.h"

namespace stepcast::launch {
namespace {

/// Releases from one on until another that lacks it, as numbers: 22 of 0.22, 109 of 1.9.
struct TrlReleases {
  int since = 0, until = std::numeric_limits<int>::max();
};

/// Names that not all releases have: huggingface/trl, trl/trainer/sft_config.py, trl/trainer/model_config.py and
/// trl/scripts/utils.py at v0.12.0 to v1.9.0.
struct TrlWord {
  std::string_view name;
  TrlReleases in;
};
constexpr TrlWord trl_words[] = {{"num_of_sequences", {0, 18}}, {"chars_per_token", {0, 18}},
    {"dataset_batch_size", {0, 18}}, {"use_liger", {0, 18}}, {"max_seq_length", {0, 20}}, {"max_length", {16}},
    {"padding_free", {16}}, {"completion_only_loss", {17}}, {"eos_token", {17}}, {"pad_token", {17}},
    {"pad_to_multiple_of", {18}}, {"activation_offloading", {18}}, {"packing_strategy", {19}},
    {"assistant_only_loss", {19}}, {"chat_template_path", {19}}, {"dataset_streaming", {19}},
    {"lora_target_parameters", {21}}, {"dtype", {23}}, {"loss_type", {23}}, {"shuffle_dataset", {29}},
    {"bnb_4bit_quant_storage", {29}}, {"truncation_mode", {100}}};

/// What is on unless told from a release on, and was off before: trl/trainer/sft_config.py at v0.18.0, v0.19.0,
/// v0.21.0 and v0.22.0; trl/trainer/base_config.py at v1.9.0.
struct TrlDefault {
  std::string_view name;
  int since;
  FieldId field;
  std::string_view release, told;  ///< how people call that one; a flag of ours that tells it, too
};
constexpr TrlDefault trl_defaults[] = {{"bf16", 19, FieldId::precision, "0.19.0 of June 2025", "--precision"},
    {"gradient_checkpointing", 22, FieldId::recompute, "0.22.0 of August 2025", "--recompute"}};

/// Those that know all that the launch names.
TrlReleases releases_of(DialectWords& words) {
  TrlReleases known;
  for (const TrlWord& word : trl_words)
    if (words.has(word.name)) known = {std::max(known.since, word.in.since), std::min(known.until, word.in.until)};
  return known;
}

}  // namespace

/// By its command, by its programs (sft.py, sft_gpt_oss.py and their like of examples/scripts), or by names that it
/// alone has.
bool is_trl(DialectWords& words) {
  const std::string& program = words.launch.program;
  return (program.starts_with("sft") && program.ends_with(".py")) || program == "run_sft.py" || program == "trl sft" ||
         words.has_any({"dataset_train_split", "dataset_test_split", "packing_strategy", "eval_packing",
             "completion_only_loss", "assistant_only_loss", "chat_template_path"});
}

namespace {

/// Is it told, by its name or by another that stands for it?
bool is_told(DialectWords& words, const TrlDefault& row) {
  if (words.has(row.name) || words.launch.told.contains(row.field)) return true;
  // accelerate's own holds where the program's arguments say nothing, and is what they have unless told
  const bool mixed = words.value("mixed_precision").ends_with("16");
  return row.field == FieldId::precision && (words.is_on("fp16") || words.is_on("fp16.enabled") || mixed);
}

void put_trl(DialectWords& words, std::string_view name, std::string_view value, std::string_view source) {
  words.put(name, std::string(value));
  words.launch.arguments.back().spelled = fmt::format("{} (default of TRL)", name);
  words.note(fmt::format("{} {}: as TRL has it unless told ({})", name, value, source));
}

/// On, off, or asked for where releases of both kinds know all that the launch names.
Expected<void> settle_default(DialectWords& words, const TrlDefault& row, const TrlReleases& known) {
  if (is_told(words, row)) return {};
  if (known.since >= row.since) {
    put_trl(words, row.name, "true", fmt::format("from {} on", row.release));
  } else if (known.until <= row.since) {
    put_trl(words, row.name, "false", fmt::format("before {}", row.release));
  } else {
    return fail(words.launch.where,
        fmt::format("nothing says {}, which TRL has on from {} on and off before, and the launch fits releases of both",
            row.name, row.release),
        fmt::format("-- --{0} true at the end of the command, or false; or {1} beside the launch", row.name, row.told));
  }
  return {};
}

/// trl/trainer/sft_config.py at v1.6.0 and v1.7.0: without Liger the loss is in pieces from 1.7.0 on. It moves memory
/// and little time, so that the newest release is taken and the other one named.
void settle_loss(DialectWords& words, const TrlReleases& known) {
  constexpr int in_pieces = 107;
  constexpr std::string_view since = "1.7.0 of June 2026";
  if (words.has("loss_type")) return;
  if (words.is_on("use_liger_kernel") || words.is_on("use_liger") || known.until <= in_pieces)
    return words.put("loss_type", "nll");
  words.put("loss_type", "chunked_nll");
  words.launch.arguments.back().spelled = "loss_type (default of TRL)";
  words.note(fmt::format("loss_type chunked_nll: TRL's own from {} on{}", since,
      known.since >= in_pieces ? "" : "; before, it makes all logits, which takes more memory (-- --loss_type nll)"));
}

}  // namespace

Expected<void> settle_trl(DialectWords& words) {
  if (!is_trl(words)) return {};
  const TrlReleases known = releases_of(words);
  if (known.since >= known.until)
    return fail(words.launch.where, "names arguments that no release of TRL has together: some came after others went",
        "the arguments of one release");
  for (const TrlDefault& row : trl_defaults) TRY(settle_default(words, row, known));
  settle_loss(words, known);
  // min(tokenizer.model_max_length, 1024) at v0.12.0, 1024 at v1.9.0: tokenizers of today's networks know more
  const bool told =
      words.has_any({"max_length", "max_seq_length", "block_size"}) || words.launch.told.contains(FieldId::sequence);
  words.ask_samples("block_size", words.is_on("packing"));  // as s1's program calls it
  if (!told) put_trl(words, "max_length", "1024", "trl/trainer/sft_config.py");
  return {};
}

}  // namespace stepcast::launch
