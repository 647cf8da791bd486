#include "model/stack.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/large_value.h"
#include "model/base/row_text.h"
#include "model/machine/plausible.h"
#include "model/profile/step_parameter.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(Stack)
namespace {

constexpr Choice<AttentionForm> attention_names[] = {
    {"fused", AttentionForm::fused}, {"unfused", AttentionForm::unfused}};
constexpr Choice<Manners> manner_names[] = {{"blocking", Manners::blocking}, {"overlapped", Manners::overlapped}};
constexpr Choice<Dispatch> dispatch_names[] = {{"rows", Dispatch::rows}, {"tokens", Dispatch::tokens}};
constexpr Choice<LossPieces> loss_names[] = {{"whole", LossPieces::whole}, {"count", LossPieces::count},
    {"tokens", LossPieces::tokens}, {"by width", LossPieces::by_width}, {"on chip", LossPieces::on_chip}};
constexpr Choice<Capture> capture_names[] = {
    {"nothing", Capture::nothing}, {"static parts", Capture::static_parts}, {"step", Capture::step}};

/// Groups of operators that build_network marks as one kernel where the software has one.
const std::vector<std::string>& kernel_groups() {
  static const std::vector<std::string> groups = {
      "norm",      // moments, scaling and shift of a norm
      "attn.qkv",  // the three input projections of attention as one matrix product, biases in its epilogue
      "rope",      // rotation of q and k
      "softmax",   // scale, mask and softmax of an unfused attention core
      "attention_dropout",
      "attn.down",         // projections of latent attention to its latents and the shared rotary key
      "attn.up",           // those from the latent of keys and values
      "mlp.up",            // gate and up projections as one matrix product
      "shared.up",         // the same of shared experts
      "expert.up",         // the same of routed experts
      "bias_gelu",         // bias and activation of a plain MLP
      "swiglu",            // gate times activation of a gated MLP
      "bias_dropout_add",  // bias, dropout and residual sum
      "embedding",         // look-up and positions
      "embedding_dropout",
      "loss",  // softmax and cross entropy over the vocabulary
  };
  return groups;
}

void check_fused(JsonObject& file, const Stack& stack) {
  const std::vector<std::string>& groups = kernel_groups();
  for (const std::string& name : stack.fused)
    if (!contains(groups, name))
      file.require(false, "fused", fmt::format("unknown kernel group '{:.40}'", name), name_hint(name, groups));
}

bool is_month(const std::string& text) {
  if (text.size() != 7 || text[4] != '-') return false;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6})
    if (text[i] < '0' || text[i] > '9') return false;
  return text.substr(5) >= "01" && text.substr(5) <= "12";
}

void check_dates(JsonObject& file, const Stack& stack) {
  if (file.failed()) return;
  file.require(is_month(stack.from), "from", fmt::format("'{:.40}' is no month", stack.from), "like \"2022-05\"");
  file.require(stack.until.empty() || is_month(stack.until), "until", fmt::format("'{:.40}' is no month", stack.until),
      "like \"2023-06\", or leave it out");
}

constexpr NumberRange element_bytes{0, 16};

/// Names of step parameters, at most as many as a fit may turn.
void check_parameters(JsonObject& file, const char* key, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto known = parse_step_parameter(name, "");
    file.require(known.has_value(), key, known ? "" : known.error().what, known ? "" : known.error().hint);
  }
  file.require(names.size() <= most_fitted, key, fmt::format("{} parameters", names.size()),
      fmt::format("at most {}", most_fitted));
}

void check_sizes_and_times(JsonObject& file, const Stack& stack) {
  check_plausible(file, "gradient_bucket", stack.gradient_bucket);
  for (const auto& [key, time] : {std::pair{"host_per_launch", stack.host_per_launch},
           {"host_per_step", stack.host_per_step}, {"launch_gap", stack.launch_gap}, {"data_wait", stack.data_wait}})
    check_plausible(file, key, time);
  check_plausible(file, "workspace", stack.workspace);
  check_plausible(file, "framework_memory", stack.framework_memory);
}

constexpr auto stack_members = [](auto& file, auto& stack) {
  file.head(stack);
  file.read("from", stack.from);
  file.rare("until", stack.until);
  file.reading(check_dates, stack);
  file.choice("attention", stack.attention, attention_names);
  file.read("fused", stack.fused);
  file.reading(check_fused, stack);
  file.read("recompute_whole", stack.recompute_whole);
  file.read("gradient_bytes", stack.gradient_bytes, NumberRange{0.5, 16});
  file.rare("half_gradients", stack.half_gradients);
  file.rare("accumulates_apart", stack.accumulates_apart);
  file.rare("gradients_freed", stack.gradients_freed);
  file.rare("autocast", stack.autocast);
  file.rare("dropout", stack.dropout);
  file.read("master_bytes", stack.master_bytes, element_bytes);
  file.read("optimizer_bytes", stack.optimizer_bytes, element_bytes);
  file.read("gradient_bucket", stack.gradient_bucket, Zero::allowed);
  file.choice("activation_moves", stack.activation_moves, manner_names);
  file.unless(1, "activation_pieces", stack.activation_pieces, IntegerRange{1, 64});
  file.optional_choice("input_moves_in_backward", stack.input_moves_in_backward, manner_names);
  file.rare("gathers_cast", stack.gathers_cast);
  file.choice("ring_moves", stack.ring_moves, manner_names);
  file.choice("weight_gathers", stack.weight_gathers, manner_names);
  file.choice("gradient_reduces", stack.gradient_reduces, manner_names);
  file.choice("boundary_sends", stack.boundary_sends, manner_names);
  file.rare("statements", stack.statements);
  file.read("loss_bytes", stack.loss_bytes, NumberRange{0.5, 16});
  file.read("host_per_launch", stack.host_per_launch, Zero::allowed);
  file.read("host_per_step", stack.host_per_step, Zero::allowed);
  file.unless(usual_gpu_spread, "gpu_spread", stack.gpu_spread, NumberRange{0, 0.1});
  file.optional_choice("expert_dispatch", stack.expert_dispatch, dispatch_names);
  file.rare("dispatch_cast", stack.dispatch_cast);
  file.rare("casts_apart", stack.casts_apart);
  file.optional_choice("expert_moves", stack.expert_moves, manner_names);
  file.optional_choice("captured", stack.captured, capture_names);
  file.optional("calls_per_kernel", stack.calls_per_kernel, NumberRange{0, 100});
  file.optional("calls_per_expert", stack.calls_per_expert, NumberRange{0, 100});
  file.optional("calls_per_dispatch", stack.calls_per_dispatch, NumberRange{0, 1000});
  file.optional("narrow_attention", stack.narrow_attention);
  file.optional("narrow_head", stack.narrow_head);
  file.unless(1.0, "attention_rate", stack.attention_rate, NumberRange{0.1, 2});
  file.reading(read_split_functions, stack.one_by_one);
  file.writing(write_split_functions, stack.one_by_one);
  file.rare("ampere_attention", stack.ampere_attention);
  file.rare("launch_gap", stack.launch_gap, Zero::allowed);
  file.read("data_wait", stack.data_wait, Zero::allowed);
  file.optional("gradient_stand_ins", stack.gradient_stand_ins);
  file.rare("pads_vocabulary", stack.pads_vocabulary);
  file.optional("loss_in_place", stack.loss_in_place);
  file.rare_choice("loss_pieces", stack.loss.pieces, loss_names);
  file.rare("loss_piece", stack.loss.size, IntegerRange{0, 1 << 30});
  file.rare("loss_kept", stack.loss.kept);
  file.rare("loss_product_whole", stack.loss.whole_product);
  file.optional("gates_in_experts", stack.gates_in_experts);
  file.optional("rotary_key_per_head", stack.rotary_key_per_head);
  file.optional("workspace", stack.workspace, Zero::allowed);
  file.read("framework_memory", stack.framework_memory, Zero::allowed);
  file.read("allocator_slack", stack.allocator_slack, NumberRange{0, 1});
  file.rare("parameters", stack.parameters);
  file.reading(check_parameters, "parameters", stack.parameters);
  file.rare("expert_parameters", stack.expert_parameters);
  file.reading(check_parameters, "expert_parameters", stack.expert_parameters);
  file.rare("joint_precisions", stack.joint_precisions);
  file.rare("fitted_with", stack.fitted_with);
  file.rare("tuned_like", stack.tuned_like);
  file.reading(check_sizes_and_times, stack);
};

}  // namespace

const std::string& fit_name(const Stack& stack) { return stack.fitted_with.empty() ? stack.id : stack.fitted_with; }

double gradient_bytes(const Stack& stack, Precision precision) {
  constexpr double single = 4;
  if (precision == Precision::fp32 || precision == Precision::tf32) return std::max(single, stack.gradient_bytes);
  return stack.half_gradients && precision == Precision::fp16 ? 2 : stack.gradient_bytes;
}

Expected<Stack> read_stack(const std::string& text, const std::string& where) {
  RowReader file(text, where);
  Stack stack;
  stack_members(file, stack);
  return file.finish(std::move(stack));
}

std::string write_stack(const Stack& stack) { return row_json(stack, stack_members); }

}  // namespace stepcast
