#include "model/stack.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/row_text.h"
#include "model/profile/step_parameter.h"

namespace stepcast {
namespace {

constexpr Choice<AttentionForm> attention_names[] = {
    {"fused", AttentionForm::fused}, {"unfused", AttentionForm::unfused}};
constexpr Choice<Manners> manner_names[] = {{"blocking", Manners::blocking}, {"overlapped", Manners::overlapped}};
constexpr Choice<Dispatch> dispatch_names[] = {{"rows", Dispatch::rows}, {"tokens", Dispatch::tokens}};
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

void read_fused(JsonObject& file, Stack& stack) {
  file.read("fused", stack.fused);
  const std::vector<std::string>& groups = kernel_groups();
  for (const std::string& name : stack.fused)
    file.require(std::find(groups.begin(), groups.end(), name) != groups.end(), "fused",
        fmt::format("unknown kernel group '{:.40}'", name), name_hint(name, groups));
}

bool is_month(const std::string& text) {
  if (text.size() != 7 || text[4] != '-') return false;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6})
    if (text[i] < '0' || text[i] > '9') return false;
  return text.substr(5) >= "01" && text.substr(5) <= "12";
}

void read_dates(JsonObject& file, Stack& stack) {
  file.read("from", stack.from);
  file.optional("until", stack.until);
  if (file.failed()) return;
  file.require(is_month(stack.from), "from", fmt::format("'{:.40}' is no month", stack.from), "like \"2022-05\"");
  file.require(stack.until.empty() || is_month(stack.until), "until", fmt::format("'{:.40}' is no month", stack.until),
      "like \"2023-06\", or leave it out");
}

constexpr NumberRange element_bytes{0, 16};

/// Names of step parameters, at most as many as a fit may turn.
void read_parameters(JsonObject& file, const std::string& key, std::vector<std::string>& names) {
  file.optional(key, names);
  for (const std::string& name : names) {
    const auto known = parse_step_parameter(name, "");
    file.require(known.has_value(), key, known ? "" : known.error().what, known ? "" : known.error().hint);
  }
  file.require(names.size() <= most_fitted, key, fmt::format("{} parameters", names.size()),
      fmt::format("at most {}", most_fitted));
}

void read_routing(JsonObject& file, Stack& stack) {
  file.optional_choice("expert_dispatch", stack.expert_dispatch, dispatch_names);
  file.optional_choice("expert_moves", stack.expert_moves, manner_names);
  file.optional_choice("captured", stack.captured, capture_names);
  file.optional("calls_per_kernel", stack.calls_per_kernel, NumberRange{0, 100});
  file.optional("calls_per_expert", stack.calls_per_expert, NumberRange{0, 100});
  file.optional("calls_per_dispatch", stack.calls_per_dispatch, NumberRange{0, 1000});
}

void write_routing(JsonWriter& json, const Stack& stack) {
  json.field("expert_dispatch", name_of<Dispatch>(dispatch_names, stack.expert_dispatch));
  json.field("expert_moves", name_of<Manners>(manner_names, stack.expert_moves));
  json.fields("captured", name_of<Capture>(capture_names, stack.captured), "calls_per_kernel", stack.calls_per_kernel);
  json.fields("calls_per_expert", stack.calls_per_expert, "calls_per_dispatch", stack.calls_per_dispatch);
}

}  // namespace

double gradient_bytes(const Stack& stack, Precision precision) {
  constexpr double single = 4;
  if (precision == Precision::fp32 || precision == Precision::tf32) return std::max(single, stack.gradient_bytes);
  return stack.half_gradients && precision == Precision::fp16 ? 2 : stack.gradient_bytes;
}

Expected<Stack> read_stack(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  Stack stack;
  read_row_head(file, stack);
  read_dates(file, stack);
  file.choice("attention", stack.attention, attention_names);
  read_fused(file, stack);
  file.read("recompute_whole", stack.recompute_whole);
  file.read("gradient_bytes", stack.gradient_bytes, NumberRange{0.5, 16});
  file.optional("half_gradients", stack.half_gradients);
  file.optional("accumulates_apart", stack.accumulates_apart);
  file.optional("dropout", stack.dropout);
  file.read("master_bytes", stack.master_bytes, element_bytes);
  file.read("optimizer_bytes", stack.optimizer_bytes, element_bytes);
  file.read("gradient_bucket", stack.gradient_bucket, Zero::allowed);
  file.choice("activation_moves", stack.activation_moves, manner_names);
  file.optional("activation_pieces", stack.activation_pieces, IntegerRange{1, 64});
  file.optional("gathers_cast", stack.gathers_cast);
  file.choice("ring_moves", stack.ring_moves, manner_names);
  file.choice("weight_gathers", stack.weight_gathers, manner_names);
  file.choice("gradient_reduces", stack.gradient_reduces, manner_names);
  file.choice("boundary_sends", stack.boundary_sends, manner_names);
  file.optional("statements", stack.statements);
  file.read("loss_bytes", stack.loss_bytes, NumberRange{0.5, 16});
  file.read("host_per_launch", stack.host_per_launch, Zero::allowed);
  file.read("host_per_step", stack.host_per_step, Zero::allowed);
  file.optional("skew_per_doubling", stack.skew_per_doubling, Zero::allowed);
  read_routing(file, stack);
  file.optional("narrow_attention", stack.narrow_attention);
  file.optional("narrow_head", stack.narrow_head);
  file.optional("attention_rate", stack.attention_rate, NumberRange{0.1, 2});
  file.optional("eager", stack.eager);
  file.optional("ampere_attention", stack.ampere_attention);
  file.optional("launch_gap", stack.launch_gap, Zero::allowed);
  file.read("data_wait", stack.data_wait, Zero::allowed);
  file.optional("gradient_stand_ins", stack.gradient_stand_ins);
  file.optional("loss_in_place", stack.loss_in_place);
  file.optional("gates_in_experts", stack.gates_in_experts);
  file.optional("rotary_key_per_head", stack.rotary_key_per_head);
  file.optional("workspace", stack.workspace, Zero::allowed);
  file.read("framework_memory", stack.framework_memory, Zero::allowed);
  file.read("allocator_slack", stack.allocator_slack, NumberRange{0, 1});
  read_parameters(file, "parameters", stack.parameters);
  read_parameters(file, "expert_parameters", stack.expert_parameters);
  file.optional("joint_precisions", stack.joint_precisions);
  file.optional("tuned_like", stack.tuned_like);
  return file.finish(std::move(stack));
}

std::string write_stack(const Stack& stack) {
  JsonWriter json;
  json.open();
  write_row_head(json, stack);
  json.field("from", stack.from);
  if (!stack.until.empty()) json.field("until", stack.until);
  json.fields("attention", name_of<AttentionForm>(attention_names, stack.attention), "fused", stack.fused);
  json.fields("recompute_whole", stack.recompute_whole, "gradient_bytes", stack.gradient_bytes);
  if (stack.half_gradients) json.field("half_gradients", true);
  if (stack.accumulates_apart) json.field("accumulates_apart", true);
  if (stack.dropout) json.field("dropout", true);
  json.fields("master_bytes", stack.master_bytes, "optimizer_bytes", stack.optimizer_bytes);
  json.field("gradient_bucket", stack.gradient_bucket);
  json.field("activation_moves", name_of<Manners>(manner_names, stack.activation_moves));
  if (stack.activation_pieces > 1) json.field("activation_pieces", stack.activation_pieces);
  if (stack.gathers_cast) json.field("gathers_cast", stack.gathers_cast);
  json.field("ring_moves", name_of<Manners>(manner_names, stack.ring_moves));
  json.field("weight_gathers", name_of<Manners>(manner_names, stack.weight_gathers));
  json.field("gradient_reduces", name_of<Manners>(manner_names, stack.gradient_reduces));
  json.field("boundary_sends", name_of<Manners>(manner_names, stack.boundary_sends));
  if (!stack.statements.empty()) json.field("statements", stack.statements);
  json.fields("loss_bytes", stack.loss_bytes, "host_per_launch", stack.host_per_launch);
  json.field("host_per_step", stack.host_per_step);
  if (stack.skew_per_doubling.value() > 0) json.field("skew_per_doubling", stack.skew_per_doubling);
  write_routing(json, stack);
  json.fields("narrow_attention", stack.narrow_attention, "narrow_head", stack.narrow_head);
  if (stack.attention_rate != 1) json.field("attention_rate", stack.attention_rate);
  if (stack.eager) json.field("eager", true);
  if (stack.ampere_attention) json.field("ampere_attention", true);
  if (stack.launch_gap.value() > 0) json.field("launch_gap", stack.launch_gap);
  json.fields("data_wait", stack.data_wait, "gradient_stand_ins", stack.gradient_stand_ins);
  json.fields("loss_in_place", stack.loss_in_place, "gates_in_experts", stack.gates_in_experts);
  json.fields("rotary_key_per_head", stack.rotary_key_per_head, "workspace", stack.workspace);
  json.fields("framework_memory", stack.framework_memory, "allocator_slack", stack.allocator_slack);
  if (!stack.parameters.empty()) json.field("parameters", stack.parameters);
  if (!stack.expert_parameters.empty()) json.field("expert_parameters", stack.expert_parameters);
  if (stack.joint_precisions) json.field("joint_precisions", true);
  if (!stack.tuned_like.empty()) json.field("tuned_like", stack.tuned_like);
  json.close();
  return json.text();
}

}  // namespace stepcast
