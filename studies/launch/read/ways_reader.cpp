// How a launch computes: number types, what it recomputes, what runs beside what.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/facts/step_words.h"
#include "studies/records/recompute_policy.h"
#include "studies/run/split/split.h"

namespace stepcast::launch {
namespace {

/// What frameworks' words for recomputation mean.
struct RecomputeWords {
  std::string_view word, record;
  Recompute::Kind kind;
};
// clang-format off
constexpr RecomputeWords recompute_words[] = {
    {"full", "full", Recompute::Kind::full},           {"uniform", "full", Recompute::Kind::full},
    {"block", "full", Recompute::Kind::full},          {"selective", "selective", Recompute::Kind::selective},
    {"true", "selective", Recompute::Kind::selective}, {"none", "none", Recompute::Kind::none},
};
// clang-format on

class RecomputeReader {
 public:
  explicit RecomputeReader(const LaunchSubject& subject)
      : subject_(subject), ask_(subject.answers), run_(subject.out.run), recompute_(subject.out.recompute) {}

  void read() {
    const auto asked = ask_.text(Asked::recompute), option = ask_.text(Asked::recompute_option);
    // DeepSpeed's pipeline engine alone reads activation_checkpoint_interval
    const bool by_stages = names_argument(ask_.name(Asked::recompute_all), "activation_checkpoint_interval");
    const bool everything = ask_.flag(Asked::recompute_all, false) && (!by_stages || run_.parallel.pp > 1),
               not_selective = ask_.flag(Asked::no_selective, false);
    for (const Asked word : {Asked::recompute_all, Asked::recompute}) subject_.said("recompute", word);
    const std::string usual(subject_.framework.recompute);
    const bool said_none = !asked && ask_.is_given(Asked::recompute);
    const std::string word = everything                   ? "full"
                             : not_selective || said_none ? "none"
                                                          : lower_case(asked.value_or(usual));
    const RecomputeWords* row = word_row(recompute_words, word);
    run_.recompute = row != nullptr ? std::string(row->record) : usual;
    if (row != nullptr) recompute_.kind = row->kind;
    else if (word != usual)
      ask_.refuse(
          Asked::recompute, fmt::format("recomputation '{:.40}' is not known", word), "none, selective or full");
    if (subject_.framework.id == "torchtitan" && run_.recompute->starts_with("selective"))
      of_torchtitan(option.value_or("2"));
    layers();
    modules();
    if (!asked && !everything) subject_.note(fmt::format("recomputation: {}", *run_.recompute));
  }

 private:
  [[nodiscard]] std::int64_t stage_layers() const {
    return std::max<std::int64_t>(1, *run_.model.layers / run_.parallel.pp);
  }

  /// Every n-th layer, or by operator: which of a layer's products are kept is written in the notation
  /// (torchtitan's _custom_policy: all compute operators are kept, except every second product).
  void of_torchtitan(const std::string& option) {
    run_.recompute = option == "op" ? "selective op" : "selective layer";
    if (option == "op") {
      recompute_.kind = Recompute::Kind::none;
      return subject_.out.statements.push_back(by_operator(subject_.out.network));
    }
    const std::int64_t every = std::max<std::int64_t>(1, std::atoll(option.c_str()));
    recompute_ = {Recompute::Kind::full, every == 1 ? 0 : std::max<std::int64_t>(1, stage_layers() / every)};
  }

  /// Of a latent attention only the operators that plain ones have too; experts keep all of theirs.
  static std::string by_operator(const NetworkSpec& spec) {
    const bool latent = spec.latent.kv_rank > 0;
    std::string again = "recompute norm, residual, ";
    again += latent ? "attn.out" : "attn.qkv.K, attn.out";
    if (has_plain_mlp(spec)) again += ", mlp.up, mlp.act";
    if (spec.positions == Positions::rope && !latent) again += ", attn.rope.Q, attn.rope.K";
    return again;
  }

  /// Megatron's method block recomputes the first N layers of every virtual stage; uniform all of them, N at a time.
  void layers() {
    const auto method = ask_.text(Asked::recompute_method);
    const auto layers = ask_.count(Asked::recompute_layers);
    if (run_.recompute != "full" || lower_case(method.value_or("")) != "block" || !layers) return;
    const std::int64_t of_stage = *layers * run_.parallel.chunks.value_or(1);
    if (of_stage >= stage_layers()) return;
    recompute_.layers = of_stage;
    run_.recompute = fmt::format("full:{}", of_stage);
    subject_.note(fmt::format("full recomputation of {} layers of each stage", of_stage));
  }

  void modules() {
    const auto text = ask_.text(Asked::recompute_modules);
    if (!text || recompute_.kind != Recompute::Kind::selective) return;
    recompute_.kind = Recompute::Kind::none;
    std::vector<std::string> unknown;
    for (const std::string& word : words_of(*text)) {
      const records::RecomputeModule* module = records::recompute_module(word);
      if (module == nullptr) unknown.push_back(word);
      else if (module->tags.empty()) recompute_.kind = Recompute::Kind::selective;
      else recompute_tags(tags_of(*module, subject_.out.network));
    }
    if (!unknown.empty())
      subject_.note(fmt::format("recomputation of {} is not taken into account", fmt::join(unknown, ", ")));
  }

  void recompute_tags(const std::vector<std::string>& there) {
    if (!there.empty()) subject_.out.statements.push_back(fmt::format("recompute {}", fmt::join(there, ", ")));
  }

  /// "core_attn layernorm", "['core_attn', 'mlp']"
  static std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
      if (is_argument_letter(c)) words.back() += c;
      else if (!words.back().empty()) words.emplace_back();
    }
    if (words.back().empty()) words.pop_back();
    return words;
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  Run& run_;
  Recompute& recompute_;
};

/// Scales other than one per tensor. NVIDIA/TransformerEngine: transformer_engine/common/recipe/__init__.py
/// (Float8BlockScaling); NVIDIA-NeMo/Megatron-Bridge: training/mixed_precision.py, whose word is subchannel;
/// pytorch/ao: torchao/float8/config.py.
struct ScaledRecipe {
  std::string_view word, how;
};
constexpr std::string_view in_blocks = "a scale for each 1 x 128 numbers and each 128 x 128 weights";
constexpr ScaledRecipe scaled_recipes[] = {{"blockwise", in_blocks}, {"subchannel", in_blocks},
    {"rowwise_with_gw_hp", "a scale for each row, and products of weight gradients in 16 bits"},
    {"rowwise", "a scale for each row"}};

std::string precision_of_launch(const LaunchSubject& subject) {
  LaunchAnswers& ask = subject.answers;
  const std::string named = lower_case(ask.text(Asked::precision).value_or("")),
                    converters = lower_case(ask.text(Asked::converters).value_or(""));
  const auto fp8 = ask.text(Asked::fp8), fp4 = ask.text(Asked::fp4);
  const bool bf16 = ask.flag(Asked::bf16, false), fp16 = ask.flag(Asked::fp16, false);
  const std::string recipe = lower_case(ask.text(Asked::fp8_recipe).value_or(""));
  for (const Asked asked : {Asked::fp16, Asked::bf16, Asked::precision, Asked::converters, Asked::fp8, Asked::fp4})
    subject.said("precision", asked);
  const auto holds = [](const std::string& words, std::string_view part) { return words.find(part) != words.npos; };
  if ((fp4 && !is_off(*fp4)) || holds(named, "fp4") || holds(converters, "fp4")) return "nvfp4";
  const bool eight = (fp8 && !is_off(*fp8)) || (fp8 && *fp8 == "1") || holds(named, "fp8") ||
                     holds(converters, "float8") || holds(converters, "mx");
  if (eight)
    for (const ScaledRecipe& row : scaled_recipes)
      if (holds(recipe, row.word) || holds(named, row.word)) {
        subject.out.warnings.push_back(
            fmt::format("fp8 with {}: forecast with the casts and products of one scale per tensor", row.how));
        break;
      }
  if (eight) return holds(recipe, "mx") || holds(named, "mxfp8") || holds(converters, "mx") ? "mxfp8" : "fp8";
  if (bf16 && fp16) subject.note("both bf16 and fp16 are on: forecast as bf16");
  if (bf16 || holds(named, "bf16") || holds(named, "bfloat16")) return "bf16";
  if (fp16 || holds(named, "16")) return "fp16";
  if (holds(named, "tf32")) return "tf32";
  if (holds(named, "32") || ask.flag(Asked::plain_precision, false)) return "fp32";
  subject.note(fmt::format("precision {}, as the program does unless told", subject.framework.precision));
  return std::string(subject.framework.precision);
}

/// What shards weights and overlaps of its own accord, from which stage of ZeRO on. NVIDIA/Megatron-LM@d98e8a64dd:
/// megatron/core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py sets both in its constructor, whatever it is told;
/// torch/distributed/fsdp/_fully_shard gathers ahead and reduces behind on streams of its own.
struct ForcedOverlap {
  std::string_view argument, name;
  std::int64_t from_stage;
  MaybeFlag RunOverlap::*what;
};
constexpr ForcedOverlap forced_overlaps[] = {{"use_megatron_fsdp", "Megatron-FSDP", 2, &RunOverlap::dp_grad},
    {"use_megatron_fsdp", "Megatron-FSDP", 3, &RunOverlap::dp_param},
    {"use_custom_fsdp", "Megatron-FSDP", 2, &RunOverlap::dp_grad},
    {"use_custom_fsdp", "Megatron-FSDP", 3, &RunOverlap::dp_param},
    {"use_torch_fsdp2", "PyTorch's FSDP2", 2, &RunOverlap::dp_grad},
    {"use_torch_fsdp2", "PyTorch's FSDP2", 2, &RunOverlap::dp_param}};

/// Flags go over it, and over the stage that has it.
void force_overlap(const LaunchSubject& subject) {
  for (const FieldId field : {FieldId::dp_overlap, FieldId::param_overlap, FieldId::zero})
    if (subject.launch.told.contains(field)) return;
  std::string_view forced;
  for (const ForcedOverlap& row : forced_overlaps) {
    const GivenArgument* given = subject.launch.find(row.argument);
    if (given == nullptr) given = subject.launch.find("ddp." + std::string(row.argument));
    MaybeFlag& overlap = subject.out.run.overlap.*row.what;
    const bool on = given != nullptr && (given->value == "1" || !is_off(given->value));
    if (!on || subject.out.run.parallel.zero_stage.value_or(0) < row.from_stage || overlap.value_or(false)) continue;
    overlap = true, forced = row.name;
  }
  if (!forced.empty())
    subject.note(fmt::format("data collectives run beside the work: {} does so whatever it is told", forced));
}

void read_overlap(const LaunchSubject& subject) {
  LaunchAnswers& ask = subject.answers;
  RunOverlap& overlap = subject.out.run.overlap;
  // accelerate hands DeepSpeed and Megatron-LM no overlap of its own, and both leave it off then, but for DeepSpeed's
  // stage 3
  const std::string engine = lower_case(ask.text(Asked::engine).value_or(""));
  const bool behind = engine == "deepspeed" && subject.out.run.parallel.zero_stage != 3;
  const bool silent = subject.framework.quiet_overlap || behind || engine == "megatron_lm";
  const auto of = [&](const char* key, Asked asked) {
    subject.said(key, asked);
    const auto flag = ask.flag(asked);
    return flag || !silent ? flag : std::optional(false);
  };
  overlap.dp_grad = of("dp_overlap", Asked::overlap_gradients);
  overlap.dp_param = of("param_overlap", Asked::overlap_weights);
  force_overlap(subject);
  overlap.tp = of("tp_overlap", Asked::overlap_tensor);
  overlap.pp = ask.flag(Asked::overlap_stages);
  subject.said("pp_overlap", Asked::overlap_stages);
  if (const auto without = ask.flag(Asked::no_overlap_stages))
    overlap.pp = !*without, subject.said("pp_overlap", Asked::no_overlap_stages);
}

}  // namespace

namespace {

/// FSDP sums its copies' gradients as soon as they are made (torch/distributed/fsdp: set_requires_all_reduce), and
/// these programs leave it so.
void note_copies(const LaunchSubject& subject) {
  const Run& run = subject.out.run;
  const std::int64_t each = bounded_product({run.micro_batch.value_or(1), run.parallel.dp});
  const bool reduces_each = subject.framework.id == "torchtitan" || subject.framework.id == "llm-foundry";
  if (subject.out.replicas == 1 || !reduces_each || run.global_batch <= each) return;
  subject.note(fmt::format("gradients of {} copies are summed once per step here; {} does it in each of {} "
                           "micro-batches (home grads: full on rep, in a mapping)",
      subject.out.replicas, subject.framework.name, run.global_batch / each));
}

/// transformers writes the scores to memory only where it is told to; "disabled" is LLaMA-Factory's word for it.
bool writes_scores(const LaunchSubject& subject) {
  return std::ranges::any_of(
      std::array{"attn_implementation", "ds.attn_implementation", "attn_impl", "flash_attn"}, [&](const char* name) {
        const auto* given = subject.launch.find(name);
        return given != nullptr && (lower_case(given->value) == "eager" || lower_case(given->value) == "disabled");
      });
}

const char* stack_on_deepspeed(const LaunchSubject& subject) {
  return writes_scores(subject) ? "deepspeed-zero" : "deepspeed-transformers";
}

/// The Trainer runs on what its arguments name, and compiles nothing unless told.
void stack_of_trainer(const LaunchSubject& subject) {
  if (subject.has_section("zero_optimization.") || subject.launch.find("zero_stage") != nullptr)
    subject.out.stack = stack_on_deepspeed(subject);
  else subject.out.stack = subject.is_on("torch_compile") ? "pytorch-fsdp" : "pytorch-fsdp-eager";
}

/// Of torch.compile's backends, these run the operators of PyTorch as they are (torch/_dynamo/backends/debugging.py).
bool makes_kernels(const std::string& backend) {
  const std::string word = lower_case(backend);
  return !is_off(word) && word != "eager" && word != "aot_eager";
}

/// accelerate runs what distributed_type names, networks of transformers on DeepSpeed too, and compiles nothing unless
/// dynamo_backend says so.
void stack_of_accelerate(const LaunchSubject& subject) {
  const std::string engine = lower_case(subject.answers.text(Asked::engine).value_or(""));
  const auto compiled = subject.answers.text_or_default(Asked::compiled);
  if (engine == "megatron_lm") subject.out.stack = "megatron-core";
  else if (engine == "deepspeed" || subject.is_on("use_deepspeed") || subject.has_section("zero_optimization."))
    subject.out.stack = stack_on_deepspeed(subject);
  else subject.out.stack = compiled && makes_kernels(*compiled) ? "pytorch-fsdp" : "pytorch-fsdp-eager";
}

}  // namespace

Expected<void> read_ways(const LaunchSubject& subject) {
  Run& run = subject.out.run;
  run.software = std::string(subject.framework.software);
  run.precision = precision_of_launch(subject);
  TRY(check_converters_of_experts(subject));
  RecomputeReader(subject).read();
  const auto compiled = subject.answers.text_or_default(Asked::compiled);
  if (compiled && is_off(*compiled) && subject.framework.compiles) subject.out.stack = "pytorch-fsdp-eager";
  if (subject.framework.trainer) stack_of_trainer(subject);
  if (subject.framework.id == "accelerate") stack_of_accelerate(subject);
  if (subject.framework.id == "openrlhf-sft") subject.out.stack = stack_on_deepspeed(subject);
  if (subject.framework.stands_in)
    subject.note(
        fmt::format("priced as {}: no stack is measured for {}", subject.framework.stack, subject.framework.name));
  read_overlap(subject);
  note_copies(subject);
  if (subject.answers.error()) return tl::unexpected(*subject.answers.error());
  return {};
}

}  // namespace stepcast::launch
