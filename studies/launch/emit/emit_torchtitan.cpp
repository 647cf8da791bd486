// --emit torchtitan: a TOML file of the fields of torchtitan/config/job_config.py at v0.2.2.
#include "studies/launch/emit/emit_torchtitan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "studies/launch/facts/argument_facts.h"
#include "studies/launch/emit/emit_text.h"

namespace stepcast {
namespace {

constexpr std::string_view titan_release = "0.2.2";

/// TOML's plain string, its literal one where that needs no escapes, else JSON's, whose escapes are TOML's too.
std::string titan_quoted(std::string_view text) {
  if (text.find_first_of("\"\\\n\r\t") == text.npos) return fmt::format("\"{}\"", text);
  return text.find_first_of("'\n\r\t") == text.npos ? fmt::format("'{}'", text) : json_quoted(text);
}

std::string titan_count(std::int64_t count) { return std::to_string(count); }

// One setting each; "" = it is not written.
using TitanValue = std::string (*)(const EmitPlan& plan);

bool titan_staged(const EmitPlan& plan) { return plan.split.pp > 1; }
bool titan_quantized(const EmitPlan& plan, Precision precision) { return plan.scenario->plan.precision == precision; }
bool titan_compiles(const EmitPlan& plan) { return !plan.scenario->stack.row.eager; }

/// A network that torchtitan does not ship goes by its own name, under which somebody has to register it.
std::string titan_name(const EmitPlan& plan) {
  const NetworkSpec& network = plan.scenario->network.row;
  const TorchtitanModel* model = torchtitan_model(network.id);
  return titan_quoted(model != nullptr ? model->name : std::string_view(network.id));
}
std::string titan_flavor(const EmitPlan& plan) {
  const TorchtitanModel* model = torchtitan_model(plan.scenario->network.row.id);
  return model != nullptr ? titan_quoted(model->flavor) : std::string();
}

std::string titan_converters(const EmitPlan& plan) {
  const bool fp8 = titan_quantized(plan, Precision::fp8);
  if (!fp8 && !titan_quantized(plan, Precision::mxfp8)) return {};
  const std::string_view kind = fp8 ? "float8" : "mx";
  const std::string experts = plan.split.experts ? fmt::format(", \"quantize.grouped_mm.{}\"", kind) : "";
  return fmt::format("[\"quantize.linear.{}\"{}]", kind, experts);
}
template <Precision precision> std::string titan_left_out(const EmitPlan& plan) {
  if (!titan_quantized(plan, precision)) return {};
  return plan.split.experts ? "[\"output\", \"router.gate\"]" : "[\"output\"]";
}
template <Precision precision> std::string titan_expert_modules(const EmitPlan& plan) {
  return titan_quantized(plan, precision) && plan.split.experts ? "[\"experts\"]" : "";
}

/// With stages a rank takes its whole batch at once and the pipeline cuts it; without them it accumulates.
std::string titan_local_batch(const EmitPlan& plan) {
  return titan_count(plan.scenario->plan.micro_batch * (titan_staged(plan) ? plan.split.micro_batches : 1));
}
std::string titan_sequence(const EmitPlan& plan) {
  const std::int64_t asked = plan.scenario->plan.sequence;
  return titan_count(asked > 0 ? asked : plan.scenario->network.row.sequence);
}
std::string titan_precision(const EmitPlan& plan) {
  const Precision precision = plan.scenario->plan.precision;
  return titan_quoted(precision == Precision::fp32 || precision == Precision::tf32 ? "float32" : "bfloat16");
}

std::string titan_layers_per_stage(const EmitPlan& plan) {
  if (!titan_staged(plan) || !torchtitan_parts(plan).empty()) return {};
  return titan_count(plan.scenario->network.row.layers / (plan.split.pp * plan.split.chunks));
}
/// An even split counts neither the embedding nor the LM head as layers, which torchtitan does by itself.
std::string titan_no_less(const EmitPlan& plan) { return titan_layers_per_stage(plan).empty() ? "" : "0"; }

std::string titan_parts(const EmitPlan& plan) {
  const auto parts = torchtitan_parts(plan);
  if (parts.empty()) return {};
  std::string text = "[\n";
  for (const std::vector<std::string>& part : parts) {
    std::string line = "   ";
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::string word =
          fmt::format(" {}\"{}\"{}", i == 0 ? "[" : "", part[i], i + 1 == part.size() ? "]," : ",");
      constexpr std::size_t width = 110;
      if (line.size() + word.size() > width) text += line + "\n", line = "    ";
      line += word;
    }
    text += line + "\n";
  }
  return text + "]";
}

/// torch's names: all-gather of keys and values, or their exchange in steps.
std::string titan_context(const EmitPlan& plan) {
  if (plan.split.cp == 1) return {};
  return titan_quoted(plan.split.context == ContextKind::gather ? "allgather" : "alltoall");
}

/// A rank of the axes of experts; nothing for dense networks.
template <std::int64_t Split::*size> std::string titan_expert_axis(const EmitPlan& plan) {
  return plan.split.experts ? titan_count(plan.split.*size) : "";
}

bool titan_by_operator(const EmitPlan& plan) {
  const bool core = plan.split.recompute.kind == Recompute::Kind::selective;
  return core || std::any_of(plan.apart.begin(), plan.apart.end(), torchtitan_by_operator);
}

std::string titan_mode(const EmitPlan& plan) {
  if (titan_by_operator(plan)) return titan_quoted("selective");
  if (plan.split.recompute.kind == Recompute::Kind::none) return titan_quoted("none");
  return titan_quoted(torchtitan_recompute_every(plan) > 1 ? "selective" : "full");
}
std::string titan_option(const EmitPlan& plan) {
  if (titan_by_operator(plan)) return titan_quoted("op");
  const std::int64_t every = torchtitan_recompute_every(plan);
  return every > 1 ? titan_quoted(titan_count(every)) : "";
}

/// One copy is what torchtitan does by itself; where there is one data rank, saying it tells zero 0 from zero 2 and 3.
std::string titan_replicas(const EmitPlan& plan) {
  const bool alone = plan.split.dp * plan.split.cp == 1;
  return alone && plan.split.zero > 0 ? "" : titan_count(torchtitan_shards(plan.split).replicate);
}

struct TitanSetting {
  std::string_view section, name;
  TitanValue value;
  std::string_view comment = {};
};

// In the order of the file. What job_config.py does by itself is written out where a reader should see it.
const TitanSetting titan_settings[] = {
    {"model", "name", titan_name},
    {"model", "flavor", titan_flavor},
    {"model", "converters", titan_converters},
    {"training", "local_batch_size", titan_local_batch, "sequences per data-parallel rank and accumulation step"},
    {"training", "global_batch_size", [](const EmitPlan& p) { return titan_count(p.scenario->plan.global_batch); }},
    {"training", "seq_len", titan_sequence},
    {"training", "mixed_precision_param", titan_precision},
    {"parallelism", "data_parallel_replicate_degree", titan_replicas},
    {"parallelism", "data_parallel_shard_degree",
        [](const EmitPlan& p) { return titan_count(torchtitan_shards(p.split).shard); }},
    {"parallelism", "fsdp_reshard_after_forward",
        [](const EmitPlan& p) {
          const std::string_view reshard = torchtitan_shards(p.split).reshard;
          return reshard.empty() ? std::string() : titan_quoted(reshard);
        },
        "always: weights are gathered anew for backward (zero 3); never: they are kept from forward on (zero 2)"},
    {"parallelism", "tensor_parallel_degree", [](const EmitPlan& p) { return titan_count(p.split.tp); },
        "with sequence parallelism"},
    {"parallelism", "enable_async_tensor_parallel",
        [](const EmitPlan& p) {
          const bool beside = p.scenario->stack.row.activation_moves == Manners::overlapped;
          return true_false(beside && titan_compiles(p));
        }},
    {"parallelism", "context_parallel_degree", [](const EmitPlan& p) { return titan_count(p.split.cp); }},
    {"parallelism", "context_parallel_rotate_method", titan_context},
    {"parallelism", "expert_parallel_degree", titan_expert_axis<&Split::ep>,
        "takes its ranks from data, context and tensor parallelism"},
    {"parallelism", "expert_tensor_parallel_degree", titan_expert_axis<&Split::etp>},
    {"parallelism", "pipeline_parallel_degree", [](const EmitPlan& p) { return titan_count(p.split.pp); }},
    {"parallelism", "pipeline_parallel_schedule",
        [](const EmitPlan& p) {
          return titan_staged(p) ? titan_quoted(torch_schedule(p.split).torch) : std::string();
        }},
    {"parallelism", "pipeline_parallel_microbatch_size",
        [](const EmitPlan& p) { return titan_staged(p) ? titan_count(p.scenario->plan.micro_batch) : std::string(); },
        "sequences; the local batch is cut into these"},
    {"parallelism", "pipeline_parallel_layers_per_stage", titan_layers_per_stage},
    {"parallelism", "pipeline_parallel_first_stage_less_layers", titan_no_less},
    {"parallelism", "pipeline_parallel_last_stage_less_layers", titan_no_less},
    {"parallelism", "module_fqns_per_model_part", titan_parts},
    {"activation_checkpoint", "mode", titan_mode},
    {"activation_checkpoint", "selective_ac_option", titan_option, "a number n: every n-th layer whole"},
    {"compile", "enable", [](const EmitPlan& p) { return true_false(titan_compiles(p)); }},
    {"quantize.linear.float8", "recipe_name",
        [](const EmitPlan& p) { return titan_quantized(p, Precision::fp8) ? titan_quoted("rowwise") : std::string(); }},
    {"quantize.linear.float8", "filter_fqns", titan_left_out<Precision::fp8>, "these stay as they are"},
    {"quantize.grouped_mm.float8", "fqns", titan_expert_modules<Precision::fp8>},
    {"quantize.linear.mx", "recipe_name",
        [](const EmitPlan& p) {
          return titan_quantized(p, Precision::mxfp8) ? titan_quoted("mxfp8_cublas") : std::string();
        }},
    {"quantize.linear.mx", "filter_fqns", titan_left_out<Precision::mxfp8>, "these stay as they are"},
    {"quantize.grouped_mm.mx", "fqns", titan_expert_modules<Precision::mxfp8>},
};

EmittedGroup& titan_section(std::vector<EmittedGroup>& sections, std::string_view heading) {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const EmittedGroup& row) { return row.heading == heading; });
  if (found != sections.end()) return *found;
  sections.push_back({std::string(heading), {}});
  return sections.back();
}

/// As TOML has it: lists, numbers and truths as they are.
std::string titan_written(const ArgumentFact* fact, const std::string& value) {
  const bool list = value.starts_with('[') && value.ends_with(']') && value.find('\n') == value.npos;
  const bool word = value.find_first_of(" \t\n#\"'=[]{}") == value.npos;
  const bool plain = list || (fact != nullptr && fact->takes != "text" && word);
  return plain ? value : titan_quoted(value);
}

/// What the launch that the plan came from says beside the plan: paths, logging, learning rates. Returns the names of
/// those that this release does not take, or whose value nothing sets.
std::vector<std::string> add_as_before(std::vector<EmittedGroup>& sections, const EmitPlan& plan) {
  if (plan.like == nullptr || plan.like->framework == nullptr || plan.like->framework->id != "torchtitan") return {};
  const ArgumentTable& table = argument_table("torchtitan");
  std::vector<std::string> left;
  for (const GivenArgument& given : plan.like->arguments) {
    const ArgumentFact* fact = table.find(given.name);
    if (!plan.like->counts(given) || (fact != nullptr && (fact->asks || fact->reach == Reach::step))) continue;
    const std::size_t dot = given.name.rfind('.');
    if (dot == given.name.npos || !is_plain_name(given.name) || !given.unset.empty() ||
        (fact != nullptr && !table.knows(*fact, titan_release))) {
      left.push_back(given.name);
      continue;
    }
    const bool uncovered = fact == nullptr || fact->reach == Reach::uncovered;
    titan_section(sections, given.name.substr(0, dot))
        .add(given.name.substr(dot + 1), titan_written(fact, given.value),
            uncovered ? "as before; no forecast follows it" : "as before");
  }
  return left;
}

std::vector<EmittedGroup> titan_sections(const EmitPlan& plan) {
  std::vector<EmittedGroup> sections;
  for (const TitanSetting& row : titan_settings)
    if (std::string value = row.value(plan); !value.empty())
      titan_section(sections, row.section).add(std::string(row.name), std::move(value), std::string(row.comment));
  return sections;
}

std::string titan_text(const EmittedGroup& section) {
  std::string text = fmt::format("\n[{}]\n", section.heading);
  for (const EmittedArgument& row : section.arguments)
    text += fmt::format("{} = {}{}\n", row.name, row.value, row.comment.empty() ? "" : "  # " + row.comment);
  return text;
}

std::string titan_command(const EmitPlan& plan) {
  const std::int64_t nodes = nodes_of(plan), each = gpus_per_node(plan);
  if (nodes == 1) return fmt::format("# NGPU={} CONFIG_FILE=./run.toml ./run_train.sh\n", each);
  return fmt::format(
      "# On each of {} nodes, with the name of the first as HOST:\n"
      "# torchrun --nnodes={} --nproc_per_node={} --rdzv_backend=c10d --rdzv_endpoint=HOST:29500 -m torchtitan.train "
      "--job.config_file=./run.toml\n",
      nodes, nodes, each);
}

}  // namespace

Emission emit_torchtitan(const EmitPlan& plan) {
  Emission emission;
  emission.unsaid = unsaid_torchtitan(plan);
  emission.beside = stack_beside(plan, "pytorch-fsdp");
  for (const std::string& line : header_of(plan, "torchtitan")) emission.text += comment_lines(line);
  emission.text += fmt::format(
      "# For torchtitan {}: later releases read no TOML; on the command line most of these fields go by the same "
      "names.\n",
      titan_release);
  emission.text += titan_command(plan);
  for (const std::string& line : emission.unsaid) emission.text += comment_lines("Not said: " + line + ".");
  std::vector<EmittedGroup> sections = titan_sections(plan);
  const std::vector<std::string> left = add_as_before(sections, plan);
  if (!left.empty())
    emission.text += comment_lines(
        fmt::format("Left out, as it does not take them, or nothing sets them: {}.", fmt::join(left, ", ")));
  for (const EmittedGroup& section : sections) emission.text += titan_text(section);
  return emission;
}

}  // namespace stepcast
