#include "studies/launch/emit/emit_text.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "model/untold_stack.h"
#include "studies/cli/shell_word.h"
#include "studies/launch/facts/text_if.h"
#include "studies/run/split/split_plan.h"

namespace stepcast::launch {

void EmittedGroup::add(std::string name, std::string value, std::string comment) {
  arguments.push_back({std::move(name), std::move(value), std::move(comment)});
}
void EmittedGroup::add(std::string name, std::int64_t value, std::string comment) {
  add(std::move(name), std::to_string(value), std::move(comment));
}
void EmittedGroup::add_flag(std::string name, std::string comment) {
  add(std::move(name), std::string(), std::move(comment));
}

std::string true_false(bool on) { return on ? "true" : "false"; }
std::string number_text(double number) { return fmt::format("{}", number); }

bool is_plain_name(std::string_view name) {
  constexpr std::size_t longest = 200;
  return !name.empty() && name.size() <= longest && std::all_of(name.begin(), name.end(), is_argument_letter);
}

std::string comment_lines(std::string_view text, std::string_view mark, std::size_t width) {
  std::string lines, line(mark);
  const auto end_line = [&] {
    if (line.size() > mark.size()) lines += line + "\n";
    line = mark;
  };
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    if (word.empty()) break;
    const bool first = line.size() == mark.size();
    if (!first && line.size() + 1 + word.size() > width) end_line();
    if (line.size() > mark.size()) line += ' ';
    line += word;
  }
  end_line();
  return lines;
}

bool lies_as(const Split& split, const MeshOrder& order) {
  const std::int64_t sizes[] = {split.tp, split.cp, split.dp, split.pp};
  const auto of_several = [&](const MeshOrder& all) {
    std::vector<MeshAxis> axes(all.begin(), all.end());
    std::erase_if(axes, [&](MeshAxis axis) { return sizes[static_cast<std::size_t>(axis)] == 1; });
    return axes;
  };
  return of_several(split.order) == of_several(order);
}

const Launch* launch_of(const Launch* like, std::string_view framework) {
  return like != nullptr && like->framework != nullptr && like->framework->id == framework ? like : nullptr;
}

std::int64_t gpus_per_node(const EmitPlan& plan) {
  return std::min(plan.scenario->plan.gpus, plan.scenario->machine.row.levels.front().gpus);
}

std::int64_t nodes_of(const EmitPlan& plan) {
  const std::int64_t per_node = gpus_per_node(plan);
  return (plan.scenario->plan.gpus + per_node - 1) / per_node;
}

std::int64_t gpus_on_each(const EmitPlan& plan) { return std::gcd(plan.scenario->plan.gpus, gpus_per_node(plan)); }

std::string node_gap(const EmitPlan& plan, std::string_view launcher) {
  const std::int64_t gpus = plan.scenario->plan.gpus, per_node = gpus_per_node(plan), each = gpus_on_each(plan);
  return text_if(each != per_node,
      "{} GPUs on nodes of {}, the last not full; {} starts as many on each: {} on {} nodes", gpus, per_node, launcher,
      each, gpus / each);
}

std::int64_t sequence_of(const EmitPlan& plan) {
  const std::int64_t asked = plan.scenario->plan.sequence;
  return asked > 0 ? asked : plan.scenario->network.row.sequence;
}

std::vector<std::string> header_of(const EmitPlan& plan, std::string_view target) {
  const Scenario& scenario = *plan.scenario;
  std::vector<std::string> lines = {fmt::format("{} on {} GPUs of {}: {}.", scenario.network.row.name,
                                        scenario.plan.gpus, scenario.machine.row.name, in_words(scenario)),
      fmt::format("Written by stepcast --emit {}.", target)};
  if (scenario.plan.gpus > gpus_per_node(plan) && scenario.plan.gpus % gpus_per_node(plan) != 0)
    lines.push_back(fmt::format("{} GPUs do not fill their last node of {}.", scenario.plan.gpus, gpus_per_node(plan)));
  return lines;
}

std::string stack_beside(const EmitPlan& plan, std::string_view usual) {
  const std::string id(named_row_of(plan.scenario->stack.id));
  return id == usual || id.empty() ? "" : "--stack " + shell_word(id);
}

void add_network_gaps(std::vector<std::string>& unsaid, const NetworkSpec& n) {
  const bool both = n.norm_place == NormPlace::both;
  add_gaps(unsaid,
      {text_if(n.norm_place != NormPlace::before, "norms {} both sublayers; it has them before",
           both ? "before and behind" : "behind"),
          text_if(n.masked_loss, "a loss over masked words; it predicts the next ones"),
          text_if(n.token_types > 0, "a table of {} token types", n.token_types),
          text_if(n.pooled_outputs > 0, "a classifier of the first position"),
          text_if(n.layer_scale, "a number that scales each layer"),
          text_if(n.experts.own_norms, "norms of routed and of shared experts"),
          text_if(n.experts.norm_behind, "a norm of what experts give"),
          text_if(n.norm == Norm::layernorm_scale, "LayerNorm without an offset; it has one"),
          text_if(n.qk_norm_width, "one norm over all query heads and one over all key heads; it norms each head"),
          text_if(n.qk_norm_heads, "norms of heads with weights of their own each"),
          text_if(n.value_dim > 0, "values narrower than keys"),
          text_if(n.experts.latent_norm, "a norm of what routed experts give"),
          text_if(n.attention_gate, "gates on what attention gives"), text_if(n.logit_softcap, "a cap on the logits"),
          text_if(n.head_bias, "a bias on the logits"), text_if(n.activation == Activation::xielu, "xIELU"),
          text_if(n.sparse.top_k > 0, "attention over {} chosen keys", n.sparse.top_k),
          text_if(n.compressed.q_rank > 0, "attention over compressed keys"),
          text_if(n.streams > 1, "{} residual streams", n.streams),
          text_if(!n.shapes.empty(), "layers of {} shapes; it has one", n.shapes.size() + 1),
          text_if(!n.causal, "attention without a causal mask"), text_if(n.value_norm, "a norm of each value head"),
          text_if(n.key_is_value, "keys that are values, too"),
          text_if(n.features > 0, "{} numbers at each position in place of words", n.features),
          text_if(n.modulation.frequencies > 0, "layers modulated by a sample's vectors"),
          text_if(image_positions(n) > 0, "an encoder of {}",
              !n.encoders.empty() && n.encoders.front().sound ? "sound" : "images"),
          text_if(!n.encoders.empty() && image_positions(n) == 0, "an encoder, and layers that look at it"),
          text_if(n.layer_inputs.width > 0, "inputs of its own for each layer"),
          text_if(n.side_rank > 0, "a low-rank way beside attention"), text_if(n.gate_cutoff, "gates that are cut off"),
          text_if(n.query_rank > 0, "queries through a rank that all heads share"),
          text_if(n.mlp_bias || n.sublayer_scales, "biases or scales on some of its layers' parts"),
          text_if(n.distances > 0, "biases by how far key and query are apart"),
          text_if(n.no_key_bias, "projections with biases but the keys'")});
}

std::string predictors_gap(const EmitPlan& plan) {
  const std::int64_t modules = plan.scenario->network.row.mtp_layers;
  return text_if(modules > 0, "{} prediction module{}; it trains none", modules, modules == 1 ? "" : "s");
}

void add_gaps(std::vector<std::string>& unsaid, std::initializer_list<std::string> gaps) {
  std::copy_if(
      gaps.begin(), gaps.end(), std::back_inserter(unsaid), [](const std::string& gap) { return !gap.empty(); });
}

std::vector<std::string> unsaid_by_all(const EmitPlan& plan, std::string_view name) {
  std::vector<std::string> unsaid;
  for (const std::string& statement : plan.apart)
    unsaid.push_back(fmt::format(
        "the statement '{}' of the mapping; {} has no argument for it and runs without it", statement, name));
  const PipelineChoice& pipeline = plan.scenario->pipeline;
  add_gaps(unsaid,
      {text_if(pipeline.slices > 1, "a sequence cut into {} slices along the pipeline; {} sends whole sequences",
           pipeline.slices, name),
          text_if(pipeline.memory_cap > 0, "a cap of {} held activations; {} holds as many as its schedule needs",
              pipeline.memory_cap, name)});
  return unsaid;
}

}  // namespace stepcast::launch
