// The optimizer of a launch: bytes of its states. The time of its step is that of Adam's kernel over its bytes.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

/// Bytes of states per parameter beside the fp32 copy of the weights. `apart`: what the forecast leaves out.
struct OptimizerWord {
  std::string_view word;
  double bytes;
  std::string_view apart = {};
};
constexpr double adam_bytes = 8, one_state = 4;
constexpr std::string_view adams_time = "the time of its step is that of Adam's kernel over its bytes",
                           products = "its matrix products are left out, and the time of its step is Adam's",
                           compressed = "its compressed reductions are not forecast";
// Two fp32 moments (Adam, 1412.6980; LAMB, 1904.00962), one (Lion, 2302.06675; SGD with momentum; AdaGrad; Muon, whose
// embeddings and head have Adam's two), one byte each and a scale per 2,048 (bitsandbytes, 2110.02861) or 256
// (torchao), half a byte each (torchao, 2309.01507), a row and a column of a matrix (Adafactor, 1804.04235).
constexpr OptimizerWord optimizer_words[] = {{"adam", adam_bytes}, {"adamw", adam_bytes}, {"fused_adam", adam_bytes},
    {"fusedadam", adam_bytes}, {"distributed_fused_adam", adam_bytes}, {"megatron_fused_adam", adam_bytes},
    {"mcore_distributed_optim", adam_bytes}, {"adamw_hf", adam_bytes}, {"adamw_torch", adam_bytes},
    {"adamw_torch_fused", adam_bytes}, {"adamw_apex_fused", adam_bytes}, {"adamw_anyprecision", adam_bytes},
    {"decoupled_adamw", adam_bytes}, {"muadam", adam_bytes}, {"muadamw", adam_bytes}, {"lamb", adam_bytes},
    {"fused_lamb", adam_bytes}, {"paged_adamw_32bit", adam_bytes}, {"onebitadam", adam_bytes, compressed},
    {"zerooneadam", adam_bytes, compressed}, {"onebitlamb", adam_bytes, compressed}, {"lion", one_state, adams_time},
    {"fusedlion", one_state, adams_time}, {"lion_32bit", one_state, adams_time},
    {"paged_lion_32bit", one_state, adams_time}, {"decoupled_lionw", one_state, adams_time},
    {"lionw", one_state, adams_time}, {"clip_lion", one_state, adams_time}, {"adalr_lion", one_state, adams_time},
    {"sgd", one_state, adams_time}, {"sgd_without_momentum", 0, adams_time}, {"musgd", one_state, adams_time},
    {"adagrad", one_state, adams_time}, {"muon", one_state, products}, {"dist_muon", one_state, products},
    {"adamw_8bit", 2, adams_time}, {"adamw_bnb_8bit", 2, adams_time}, {"paged_adamw_8bit", 2, adams_time},
    {"adam8bit", 2, adams_time}, {"adamw_torch_8bit", 2, adams_time}, {"ao_adamw_8bit", 2, adams_time},
    {"adamw_torch_4bit", 1, adams_time}, {"ao_adamw_4bit", 1, adams_time}, {"lion_8bit", 1, adams_time},
    {"paged_lion_8bit", 1, adams_time}, {"adafactor", 0, adams_time}};

/// Megatron-LM sums gradients of bf16 in fp32 unless it is told otherwise, and those of fp16 in fp16 (main_grads_dtype,
/// grad_reduce_in_bf16 and accumulate_allreduce_grads_in_fp32 in megatron/training/arguments.py). DeepSpeed's engine
/// has a type of its own, whatever Megatron is told beside it. Nothing: what is usual with the stack.
std::optional<double> told_gradient_bytes(const LaunchSubject& subject) {
  LaunchAnswers& ask = subject.answers;
  constexpr double wide = 4, narrow = 2;
  const std::string precision = *subject.out.run.precision;
  const std::string type = lower_case(ask.text(Asked::gradient_type).value_or(""));
  const auto told = ask.flag(Asked::wide_gradients);
  const bool of_megatron = subject.has_row(Asked::narrow_gradients);
  if (precision.ends_with("32") || (subject.framework.bf16_shards && subject.is_on("deepspeed"))) return std::nullopt;
  if (ask.flag(Asked::narrow_gradients, false) || type.find("16") != type.npos) return narrow;
  if (told.value_or(false)) return wide;
  return (of_megatron ? precision == "fp16" : told.has_value()) ? std::optional(narrow) : std::nullopt;
}

/// A Trainer's program hands what it has loaded in 16 bits to the optimizer as it is, where neither DeepSpeed nor FSDP
/// stands between: autocast keeps no copies. Adapters are in 32 bits beside weights that rest (PEFT's
/// autocast_adapter_dtype), and --zero asks for another run.
bool trains_short_weights(const LaunchSubject& subject) {
  return subject.launch.short_weights && subject.out.lora_rank == 0 && *subject.out.run.precision == "bf16" &&
         !subject.launch.told.contains(FieldId::lora) && !subject.launch.told.contains(FieldId::zero);
}

/// torchtitan/config/configs.py, training.dtype: the model's own type, in which FSDP keeps shards, gradients and
/// states; verl/trainer/fsdp_sft_trainer.py, model_dtype, does the same.
bool keeps_short_weights(const LaunchSubject& subject) {
  const std::string type = lower_case(subject.answers.text_or_default(Asked::weight_type).value_or(""));
  return subject.out.lora_rank == 0 && type.ends_with("16") && !subject.out.run.precision->ends_with("32");
}

}  // namespace

Expected<void> read_optimizer(const LaunchSubject& subject) {
  subject.out.gradient_bytes = told_gradient_bytes(subject);
  LaunchAnswers& ask = subject.answers;
  const auto name = ask.text(Asked::optimizer_name);
  // Lightning's "bf16-mixed" and "16-mixed" keep weights in 32 bits, its "bf16-true" and "16-true" nothing
  const bool mixed = ask.text(Asked::precision).value_or("").ends_with("-mixed");
  const std::string& precision = *subject.out.run.precision;
  const bool half = precision == "bf16" || precision == "fp16";
  const bool all_short = (subject.framework.all_in_16_bits && !mixed && half) || trains_short_weights(subject) ||
                         keeps_short_weights(subject);
  if (all_short) {
    subject.out.short_weights = true, subject.out.gradient_bytes = 2, subject.out.optimizer_bytes = adam_bytes / 2;
    subject.note("weights, gradients and states in 16 bits, with no copies in 32");
  }
  if (!name || is_off(*name)) return {};
  std::string word = lower_case(*name);
  std::replace(word.begin(), word.end(), '-', '_');
  const OptimizerWord* row = launch_word(optimizer_words, word);
  const std::string known = fmt::format("the optimizer '{:.40}' is not known", *name);
  if (row == nullptr && !subject.hints.lenient)
    return fail(ask.where(Asked::optimizer_name), known + ": neither its bytes nor its time",
        "--lenient for the bytes and the time of Adam");
  if (row == nullptr)
    return subject.out.warnings.push_back(known + ": its bytes and time are those of Adam"), Expected<void>{};
  if (row->bytes != adam_bytes || all_short)
    subject.out.optimizer_bytes = all_short && row->bytes >= one_state ? row->bytes / 2 : row->bytes;
  if (!row->apart.empty())
    subject.out.warnings.push_back(fmt::format("optimizer {}: {} bytes of states per parameter, and {}", *name,
        subject.out.optimizer_bytes.value_or(row->bytes), row->apart));
  return {};
}

}  // namespace stepcast::launch
