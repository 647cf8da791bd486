// --emit torchtitan: a TOML file of the fields of torchtitan/config/job_config.py at v0.2.2.
#include "studies/launch/emit/emit_torchtitan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "studies/launch/facts/argument_facts.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/facts/text_if.h"

namespace stepcast::launch {
namespace {

constexpr std::string_view titan_release = "0.2.2";

/// TOML's plain string, its literal one where that needs no escapes, else JSON's, whose escapes are TOML's too.
std::string titan_quoted(std::string_view text) {
  if (text.find_first_of("\"\\\n\r\t") == text.npos) return fmt::format("\"{}\"", text);
  return text.find_first_of("'\n\r\t") == text.npos ? fmt::format("'{}'", text) : json_quoted(text);
}

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

struct TitanRecompute {
  std::string mode, option;
};
TitanRecompute titan_recompute(const EmitPlan& plan) {
  const Recompute::Kind kind = plan.split.recompute.kind;
  if (kind == Recompute::Kind::selective || std::any_of(plan.apart.begin(), plan.apart.end(), torchtitan_by_operator))
    return {"\"selective\"", "\"op\""};
  if (kind == Recompute::Kind::none) return {"\"none\"", ""};
  const std::int64_t every = torchtitan_recompute_every(plan);
  return every > 1 ? TitanRecompute{"\"selective\"", fmt::format("\"{}\"", every)} : TitanRecompute{"\"full\"", ""};
}

struct TitanSetting {
  std::string_view section, name;
  std::string value;  ///< "": it is not written
  std::string_view comment = {};
};

/// A network that torchtitan does not ship goes by its own name, under which somebody has to register it.
std::vector<TitanSetting> titan_model(const EmitPlan& plan) {
  const std::string& id = plan.scenario->network.row.id;
  const TorchtitanModel* model = torchtitan_model(id);
  const Precision precision = plan.scenario->plan.precision;
  const char* kind = precision == Precision::fp8 ? "float8" : precision == Precision::mxfp8 ? "mx" : "";
  const std::string experts = text_if(plan.split.experts, ", \"quantize.grouped_mm.{}\"", kind);
  return {
      {"model", "name", titan_quoted(model != nullptr ? model->name : std::string_view(id))},
      {"model", "flavor", model != nullptr ? titan_quoted(model->flavor) : ""},
      {"model", "converters", text_if(*kind != '\0', "[\"quantize.linear.{}\"{}]", kind, experts)},
  };
}

/// With stages a rank takes its whole batch at once and the pipeline cuts it; without them it accumulates.
std::vector<TitanSetting> titan_training(const EmitPlan& plan) {
  const Plan& run = plan.scenario->plan;
  const bool wide = run.precision == Precision::fp32 || run.precision == Precision::tf32;
  return {
      {"training", "local_batch_size",
          std::to_string(run.micro_batch * (plan.split.pp > 1 ? plan.split.micro_batches : 1)),
          "sequences per data-parallel rank and accumulation step"},
      {"training", "global_batch_size", std::to_string(run.global_batch)},
      {"training", "seq_len", std::to_string(sequence_of(plan))},
      {"training", "mixed_precision_param", wide ? "\"float32\"" : "\"bfloat16\""},
  };
}

std::vector<TitanSetting> titan_parallelism(const EmitPlan& plan) {
  const Split& split = plan.split;
  const Stack& stack = plan.scenario->stack.row;
  const bool staged = split.pp > 1;
  const std::string parts = titan_parts(plan);
  const bool even = staged && parts.empty();
  const TorchtitanShards shards = torchtitan_shards(split);
  // One copy is what torchtitan does by itself; where there is one data rank, saying it tells zero 0 from zero 2 and 3.
  const bool tells_copies = split.dp * split.cp > 1 || split.zero == 0;
  return {
      {"parallelism", "data_parallel_replicate_degree", text_if(tells_copies, "{}", shards.replicate)},
      {"parallelism", "data_parallel_shard_degree", std::to_string(shards.shard)},
      {"parallelism", "fsdp_reshard_after_forward", text_if(!shards.reshard.empty(), "\"{}\"", shards.reshard),
          "always: weights are gathered anew for backward (zero 3); never: they are kept from forward on (zero 2)"},
      {"parallelism", "tensor_parallel_degree", std::to_string(split.tp), "with sequence parallelism"},
      {"parallelism", "enable_async_tensor_parallel",
          true_false(stack.activation_moves == Manners::overlapped && compiled(stack))},
      {"parallelism", "context_parallel_degree", std::to_string(split.cp)},
      // torch's names: all-gather of keys and values, or their exchange in steps.
      {"parallelism", "context_parallel_rotate_method",
          text_if(split.cp > 1, "\"{}\"", split.context == ContextKind::gather ? "allgather" : "alltoall")},
      {"parallelism", "expert_parallel_degree", text_if(split.experts, "{}", split.ep),
          "takes its ranks from data, context and tensor parallelism"},
      {"parallelism", "expert_tensor_parallel_degree", text_if(split.experts, "{}", split.etp)},
      {"parallelism", "pipeline_parallel_degree", std::to_string(split.pp)},
      {"parallelism", "pipeline_parallel_schedule", staged ? titan_quoted(torch_schedule(split).torch) : ""},
      {"parallelism", "pipeline_parallel_microbatch_size", text_if(staged, "{}", plan.scenario->plan.micro_batch),
          "sequences; the local batch is cut into these"},
      {"parallelism", "pipeline_parallel_layers_per_stage",
          text_if(even, "{}", plan.scenario->network.row.layers / (split.pp * split.chunks))},
      // An even split counts neither the embedding nor the LM head as layers, which torchtitan does by itself.
      {"parallelism", "pipeline_parallel_first_stage_less_layers", text_if(even, "0")},
      {"parallelism", "pipeline_parallel_last_stage_less_layers", text_if(even, "0")},
      {"parallelism", "module_fqns_per_model_part", parts},
  };
}

std::vector<TitanSetting> titan_compute(const EmitPlan& plan) {
  const Precision precision = plan.scenario->plan.precision;
  const bool experts = plan.split.experts, fp8 = precision == Precision::fp8, mx = precision == Precision::mxfp8;
  const char* left_out = experts ? "[\"output\", \"router.gate\"]" : "[\"output\"]";
  const TitanRecompute recompute = titan_recompute(plan);
  return {
      {"activation_checkpoint", "mode", recompute.mode},
      {"activation_checkpoint", "selective_ac_option", recompute.option, "a number n: every n-th layer whole"},
      {"compile", "enable", true_false(compiled(plan.scenario->stack.row))},
      {"quantize.linear.float8", "recipe_name", text_if(fp8, "\"rowwise\"")},
      {"quantize.linear.float8", "filter_fqns", text_if(fp8, "{}", left_out), "these stay as they are"},
      {"quantize.grouped_mm.float8", "fqns", text_if(fp8 && experts, "[\"experts\"]")},
      {"quantize.linear.mx", "recipe_name", text_if(mx, "\"mxfp8_cublas\"")},
      {"quantize.linear.mx", "filter_fqns", text_if(mx, "{}", left_out), "these stay as they are"},
      {"quantize.grouped_mm.mx", "fqns", text_if(mx && experts, "[\"experts\"]")},
  };
}

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
  const Launch* like = launch_of(plan.like, "torchtitan");
  if (like == nullptr) return {};
  const ArgumentTable& table = argument_table("torchtitan");
  std::vector<std::string> left;
  for (const GivenArgument& given : like->arguments) {
    const ArgumentFact* fact = table.find(given.name);
    if (!like->counts(given) || (fact != nullptr && (fact->asks || fact->reach == Reach::step))) continue;
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
  // In the order of the file. What job_config.py does by itself is written out where a reader should see it.
  for (const auto settings : {titan_model, titan_training, titan_parallelism, titan_compute})
    for (const TitanSetting& row : settings(plan))
      if (!row.value.empty())
        titan_section(sections, row.section).add(std::string(row.name), row.value, std::string(row.comment));
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
  add_gaps(emission.refused, {predictors_gap(plan)});
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

}  // namespace stepcast::launch
