#include "studies/infer/serving_split.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/read_plan.h"
#include "studies/infer/start_rules.h"
#include "studies/run/mapped_run.h"
#include "studies/run/split/split.h"
#include "studies/run/split/stage_layers.h"

namespace stepcast::infer {
namespace {

/// Ranks that see the same tokens sum what their experts made, weighted, and not the rows of each expert; those that
/// see others exchange tokens as the engine does.
void lay_experts(run::Scenario& scenario, const ServingWishes& wishes, const Engine& engine, bool same_tokens) {
  // Kernels that send rows to experts have whole ones on every rank; parts of experts need all tokens.
  const bool gathers = engine.exchange == ExpertExchange::gather || wishes.ep == 1;
  const bool in_parts = wishes.ep < wishes.tp * wishes.attention_dp * wishes.cp;
  if (in_parts && (same_tokens || gathers)) {
    scenario.statements.emplace_back("home Oe: partial on etp");
    if (scenario.network.row.experts.expert_bias)
      scenario.statements.emplace_back("home expert.down.biased: partial on etp");
  }
  lay_split(scenario, *scenario.split);
  if (same_tokens ? wishes.ep == 1 : !gathers) return;
  // The first line that an operator has the loop of wins: before the one that splits sequences.
  std::string& mapping = scenario.plan.mapping;
  const std::size_t last_mesh = mapping.rfind("\nmesh "), line = last_mesh == std::string::npos ? 0 : last_mesh + 1;
  std::string gather = wishes.ep > 1 ? "use ep_gather\n" : "";
  if (in_parts && !same_tokens) gather += "at dispatch, combine: par none on etp\n";
  mapping.insert(mapping.find('\n', line) + 1, gather);
}

/// What is said to the run of layers on stages; "": as many on each. Errors: layers of stages that are not the
/// network's, stages that neither divide the layers nor have a rule of the engine's for the rest.
Expected<std::string> layout_of(const ServingWishes& wishes, const NetworkSpec& network, const Engine& engine) {
  if (wishes.pp > network.layers)
    return fail("--pp", fmt::format("{} stages for the {} layers of {}", wishes.pp, network.layers, network.id),
        fmt::format("at most {}", network.layers));
  if (wishes.layout == "balanced")
    return fail("--layout", "balanced layers are weighed by a step of training", "layers of each stage: 31,30");
  if (!wishes.layout.empty()) {
    TRY(const auto said, run::read_stage_layers(wishes.layout, "--layout", network, wishes.pp));
    return fmt::format("{}", fmt::join(said, ","));
  }
  if (network.layers % wishes.pp == 0) return std::string();
  const auto dealt = layers_of_stages(engine, network.layers, wishes.pp);
  if (!dealt.empty()) return fmt::format("{}", fmt::join(dealt, ","));
  Engine any = engine;
  any.uneven_stages = UnevenStages::first_ones;
  return fail("--pp",
      fmt::format("{} layers do not divide by pp {}, and how {} deals out the rest is not known", network.layers,
          wishes.pp, engine.name),
      fmt::format("--layout {}, or one of: {}", fmt::join(layers_of_stages(any, network.layers, wishes.pp), ","),
          run::nearest_values(run::divisors(network.layers), wishes.pp)));
}

/// All ranks share the experts, as many on each.
Expected<void> check_expert_ranks(const ServingWishes& wishes, const NetworkSpec& network) {
  const std::int64_t all = wishes.tp * wishes.attention_dp * wishes.cp;
  if (all % wishes.ep == 0) return {};
  std::vector<std::int64_t> legal = run::divisors(std::gcd(all, network.experts.count));
  std::erase_if(legal, [&](std::int64_t ranks) { return network.experts.ffn_hidden % (all / ranks) != 0; });
  return fail("--ep", fmt::format("experts on {} ranks of {}", wishes.ep, all),
      fmt::format("a divisor of tp x dp-attention x cp{}",
          legal.empty() ? "" : fmt::format(": {}", run::nearest_values(legal, wishes.ep))));
}

/// Parts of experts on the ranks that share them, in the words of an engine's flags.
Expected<void> check_expert_width(const ServingWishes& wishes, const NetworkSpec& network) {
  const std::int64_t all = wishes.tp * wishes.attention_dp * wishes.cp, parts = all / wishes.ep;
  const std::int64_t width = network.experts.ffn_hidden;
  if (width % parts == 0) return {};
  const char* flag = wishes.ep > 1 ? "--ep" : wishes.attention_dp > 1 ? "--dp-attention" : "--tp";
  return fail(flag,
      fmt::format("experts of width {} do not divide into {} parts, one for each of {} ranks{}", width, parts, all,
          wishes.ep > 1 ? fmt::format(" over ep {}", wishes.ep) : ""),
      fmt::format("{}tp x dp-attention x cp / ep one of: {}",
          network.experts.count % all == 0 ? fmt::format("--ep {}: whole experts on each, or ", all) : "",
          run::nearest_values(run::divisors(width), parts)));
}

/// One replica: its GPUs split layers, heads and experts, and all see the same sequences.
Expected<run::Scenario> scenario_of(const ServingWishes& wishes, run::Request request, const Engine& engine) {
  const auto say = [&](const char* key, std::int64_t value, const char* flag) {
    return request.say(key, std::to_string(value), flag);
  };
  const NetworkSpec& network = request.network->row;
  if (network.value_dim > 0 || std::ranges::any_of(network.shapes, [](const LayerShape& s) { return s.value_dim > 0; }))
    return fail("NETWORK",
        fmt::format("{} has values narrower than keys: no engine's kernel for them was measured", network.id),
        "stepcast predict prices its training");
  TRY(check_key_heads(network, wishes.tp, engine));
  request.copies_groups = copies_groups(engine);
  const std::int64_t all = wishes.tp * wishes.attention_dp * wishes.cp;
  TRY(say("gpus", all * wishes.pp, "--tp"));
  TRY(say("tp", wishes.tp, "--tp"));
  TRY(say("pp", wishes.pp, "--pp"));
  TRY(const auto layout, layout_of(wishes, network, engine));
  if (!layout.empty()) {
    TRY(request.say("layout", layout, "--layout"));
  }
  const bool experts = request.network->row.experts.count > 0;
  if (!experts && (wishes.ep > 1 || wishes.attention_dp > 1))
    return fail(wishes.ep > 1 ? "--ep" : "--dp-attention",
        fmt::format("{} has no experts to share", request.network->row.id), "replicas of the engine, each by itself");
  if (experts) {
    TRY(check_expert_ranks(wishes, network));
    TRY(check_expert_width(wishes, network));
    TRY(say("ep", wishes.ep, "--ep"));
    TRY(say("etp", all / wishes.ep, "--ep"));
  }
  TRY(request.say("sp", "off", "--sp"));
  TRY(say("zero", 0, "--zero"));
  TRY(say("micro_batch", 1, "--batch"));
  TRY(say("global_batch", wishes.attention_dp, "--batch"));
  if (wishes.cp > 1) {
    TRY(say("cp", wishes.cp, "--cp"));
  }
  TRY(say("sequence", wishes.cp > 1 ? 2 * wishes.cp : 1, "--prompt"));
  return resolve(request);
}

/// Keys of a cache on several ranks: each has a softmax of its own, which are joined. What looks at some of the keys,
/// or at more than keys, no engine's release splits: vLLM refuses windows and states ("DCP not support sliding window
/// attn now", SlidingWindowManager and MambaManager, and PCP alike), and picked or compressed keys are open proposals
/// (vLLM pull requests 45426 and 44573, SGLang 31821).
Expected<void> check_keys_split(const NetworkSpec& n, const char* flag, bool by_heads = false) {
  const bool picked = n.sparse.top_k > 0;
  const char* what = n.window.positions > 0               ? "layers in a window"
                     : picked || n.compressed.q_rank > 0  ? "keys that are picked or compressed"
                     : n.attention_sinks                  ? "attention sinks"
                     : n.positions == Positions::relative ? "relative positions"
                     : !mixers(n).empty()                 ? "layers that carry a state"
                                                          : nullptr;
  if (what == nullptr) return {};
  return fail(flag,
      by_heads ? fmt::format("{} has {}: heads that are exchanged are forecast without them alone", n.id, what)
               : fmt::format("{} has {}: no release of vLLM or SGLang splits their cache by position", n.id, what),
      fmt::format("no {}", flag));
}

/// The line that begins with `use`, or its end.
std::size_t use_line(const std::string& mapping) { return mapping.find("use "); }

std::string with_line(std::string mapping, const std::string& line) {
  mapping.insert(use_line(mapping), line + "\n");
  return mapping;
}

/// In place of the alias that splits the positions of training.
std::string with_context(std::string mapping, const std::string& alias) {
  const std::size_t line = use_line(mapping);
  for (const char* name : {"cp_gather", "ulysses", "cp"}) {
    const std::string word = fmt::format(", {},", name);
    const std::size_t at = mapping.find(word, line);
    if (at == std::string::npos) continue;
    return mapping.replace(at, word.size(), alias.empty() ? "," : fmt::format(", {},", alias));
  }
  return mapping;
}

/// How prompts that are split by position come to all keys. The cache is split by position, or by heads.
struct ContextWay {
  std::string_view name;
  const char* alias;
  bool by_heads, latents;  ///< latents: goes with a latent cache, of which all heads are one
  const char* of_latents;
};
constexpr ContextWay context_ways[] = {{"gather", "pcp", false, true, ""}, {"ring", "pcp_ring", false, false, "a ring"},
    {"exchange", "pcp_exchange", true, false, "an exchange"}};

/// Prompts by position over cp; words of a sequence see its keys on all of cp. `prompts` is the mapping whose ranks of
/// cp have tokens of their own.
Expected<void> lay_context(const ServingWishes& wishes, const std::string& prompts, ServingSplit& out) {
  const NetworkSpec& n = out.scenario.network.row;
  if (wishes.dcp > 1) return fail("--dcp", "a cache that is split twice, by --cp, too", "one of them");
  const auto way =
      std::ranges::find(context_ways, wishes.context.empty() ? "gather" : wishes.context, &ContextWay::name);
  if (way == std::end(context_ways))
    return fail("--cp-way", fmt::format("unknown way '{:.40}'", wishes.context), "exchange, gather or ring");
  if (!way->latents && n.latent.kv_rank > 0)
    return fail("--cp-way", fmt::format("{} of latent keys", way->of_latents), "gather");
  const std::int64_t heads = n.heads / std::max<std::int64_t>(1, wishes.tp);
  if (way->by_heads && n.heads % wishes.tp == 0 && heads % wishes.cp != 0)
    return fail("--cp-way",
        fmt::format("{} heads of each of {} tp ranks, exchanged over --cp {}", heads, wishes.tp, wishes.cp),
        fmt::format("--cp {}, or --cp-way gather", run::nearest_values(run::divisors(heads), wishes.cp)));
  std::string& mapping = out.scenario.plan.mapping;
  out.prompts_mapping = with_context(prompts, way->alias);
  mapping = with_context(mapping, "");
  if (way->by_heads) mapping += "\nat attn.core, attn.cache: par g*r on cp";  // of those that tp left
  else mapping = with_line(mapping, "at attn.core, attn.cache: par t on cp");
  out.cp = wishes.cp;
  return {};
}

/// tp ranks with the same key heads are an axis of their own, the fastest: `par g*r on tp` deals key heads to the slow
/// end (docs/design.md, rule 4).
Expected<void> lay_decode_context(const ServingWishes& wishes, ServingSplit& out) {
  const NetworkSpec& n = out.scenario.network.row;
  TRY(check_keys_split(n, "--dcp"));
  const std::int64_t copies = n.latent.kv_rank > 0 ? wishes.tp : wishes.tp / std::gcd(wishes.tp, n.kv_heads);
  if (copies % wishes.dcp != 0)
    return fail("--dcp",
        fmt::format("{} parts of a cache, of which {} of the {} tp ranks have a copy", wishes.dcp, copies, wishes.tp),
        copies > 1 ? fmt::format("one of: {}", run::nearest_values(run::divisors(copies), wishes.dcp))
                   : fmt::format("more --tp than the {} key heads", n.kv_heads));
  std::string& mapping = out.scenario.plan.mapping;
  const std::string line = mapping.substr(0, mapping.find('\n') + 1), tp = fmt::format(" tp:{}", wishes.tp);
  std::string second = line;
  const std::int64_t rest = wishes.tp / wishes.dcp;
  second.replace(
      second.find(tp), tp.size(), fmt::format(" dcp:{}{}", wishes.dcp, rest > 1 ? fmt::format(" rest:{}", rest) : ""));
  mapping.insert(line.size(), second);
  out.prompts_mapping = with_line(mapping, "at attn.cache: par t on dcp");
  mapping = with_line(mapping, "use dcp");
  out.dcp = wishes.dcp;
  return {};
}

std::int64_t axis_of(const dataflow::MappingProgram& program, const std::string& name) {
  for (const dataflow::MeshLine& mesh : program.meshes)
    for (const dataflow::MeshLine::Axis& axis : mesh.axes)
      if (axis.name == name) return axis.size;
  return 1;
}

std::int64_t stages_of(const dataflow::MappingProgram& program, const std::vector<dataflow::Statement>& statements) {
  std::int64_t stages = 1;
  for (const auto& statement : statements)
    if (const auto* stage = std::get_if<dataflow::StageStatement>(&statement.body))
      stages = axis_of(program, stage->axis);
  return stages;
}

/// Prompts on the same ranks by a mapping of their own, which may split their positions over all of them.
Expected<void> map_prompts(const ServingWishes& wishes, run::Request request, ServingSplit& out) {
  request.mapping = wishes.prompts_mapping;
  TRY(const auto prompts, resolve(request));
  TRY(const auto groups, dataflow::batch_ranks(prompts.plan));
  if (prompts.plan.gpus != out.scenario.plan.gpus || groups != out.groups)
    return fail(wishes.prompts_mapping.where,
        fmt::format("prompts on {} GPUs in {} groups with sequences of their own, and --mapping has {} in {}",
            prompts.plan.gpus, groups, out.scenario.plan.gpus, out.groups),
        "the same ranks in both");
  TRY(const auto program, dataflow::parse(wishes.prompts_mapping.text, wishes.prompts_mapping.where));
  TRY(const auto statements, dataflow::expand(program));
  if (const std::int64_t stages = stages_of(program, statements); stages != out.stages)
    return fail(wishes.prompts_mapping.where,
        fmt::format("prompts on {} stages, and --mapping has words on {}", stages, out.stages),
        "the same stages in both: an engine has one set of weights");
  out.prompts_mapping = wishes.prompts_mapping.text;
  out.cp = prompts.plan.gpus;
  return {};
}

/// A mapping says it all.
Expected<ServingSplit> mapped(const ServingWishes& wishes, run::Request request) {
  const std::int64_t said = wishes.tp * wishes.pp * wishes.ep * wishes.attention_dp * wishes.cp * wishes.dcp;
  if (said > 1 || !wishes.layout.empty())
    return fail("--mapping", fmt::format("{} says how the work is split, and so do flags", wishes.mapping.where),
        "no --tp, --pp, --layout, --ep, --cp, --dcp and --dp-attention beside it");
  request.mapping = wishes.mapping;
  TRY(request.say("micro_batch", "1", "--batch"));
  TRY(request.say("sequence", "1", "--prompt"));
  if (wishes.gpus > 0) {
    TRY(request.say("gpus", std::to_string(wishes.gpus), "--gpus"));
  }
  ServingSplit out;
  TRY(out.scenario, resolve(request));
  TRY(out.groups, dataflow::batch_ranks(out.scenario.plan));
  TRY(const auto program, dataflow::parse(wishes.mapping.text, wishes.mapping.where));
  out.tensor_ways = axis_of(program, "tp");
  TRY(const auto statements, dataflow::expand(program));
  out.stages = stages_of(program, statements);
  if (!wishes.prompts_mapping.where.empty()) {
    TRY(map_prompts(wishes, std::move(request), out));
  }
  return out;
}

}  // namespace

Expected<ServingSplit> serving_split(
    const ServingWishes& wishes, run::Chosen<NetworkSpec> network, run::Chosen<Machine> machine, const Engine& engine) {
  run::Request request;
  request.network = std::move(network);
  request.machine = std::move(machine);
  if (const NetworkSpec& n = request.network->row; n.masked_loss)
    return fail("NETWORK", fmt::format("{} fills in masked tokens and decodes none: no engine's iterations", n.id),
        "stepcast predict prices its training");
  if (!wishes.mapping.where.empty()) return mapped(wishes, std::move(request));
  if (!wishes.prompts_mapping.where.empty())
    return fail("--prompts-mapping", "a mapping of prompts without one of what is said", "--mapping FILE beside it");
  const std::int64_t split = wishes.tp * wishes.pp * wishes.attention_dp * wishes.cp;
  if (wishes.gpus != 0 && wishes.gpus != split)
    return fail("--gpus", fmt::format("{} GPUs for a split over {}", wishes.gpus, split),
        "--tp x --pp x --dp-attention x --cp; replicas of an engine do not speak to each other");
  if (wishes.cp > 1) {
    TRY(check_keys_split(request.network->row, "--cp", wishes.context == "exchange"));
  }
  ServingSplit out;
  TRY(out.scenario, scenario_of(wishes, std::move(request), engine));
  std::string prompts;
  if (out.scenario.network.row.experts.count > 0) {
    if (wishes.cp > 1) {  // vLLM gathers the parts of a prompt before its experts and scatters their sums
      run::Scenario apart = out.scenario;
      lay_experts(apart, wishes, engine, false);
      prompts = std::move(apart.plan.mapping);
    }
    lay_experts(out.scenario, wishes, engine, wishes.attention_dp == 1);
  }
  if (prompts.empty()) prompts = out.scenario.plan.mapping;
  out.groups = out.scenario.split->dp, out.tensor_ways = out.scenario.split->tp, out.stages = out.scenario.split->pp;
  out.layers = out.scenario.split->layers, out.dealt_by_rule = wishes.layout.empty();
  if (wishes.cp > 1) {
    TRY(lay_context(wishes, prompts, out));
  } else if (wishes.dcp > 1) {
    TRY(lay_decode_context(wishes, out));
  }
  return out;
}

std::string split_in_words(const ServingSplit& split) {
  if (!split.scenario.split) return run::mapping_in_words(split.scenario.plan);
  std::string words = fmt::format("tp {}, pp {}", split.tensor_ways, split.stages);
  if (!split.layers.empty()) words += fmt::format(" of {} layers", fmt::join(split.layers, ", "));
  if (split.groups > 1) words += fmt::format(", dp-attention {}", split.groups);
  if (split.scenario.split->ep > 1) words += fmt::format(", ep {}", split.scenario.split->ep);
  if (split.cp > 1) words += fmt::format(", cp {}", split.cp);
  if (split.dcp > 1) words += fmt::format(", dcp {}", split.dcp);
  return words;
}

bool sees_picked_blocks(const NetworkSpec& network, std::int64_t positions) {
  return network.dense_positions > 0 && network.sparse.top_k == 0 && positions > network.dense_positions;
}

const char* unpicked_reason(const NetworkSpec& network) {
  return network.sparse.block > 1 ? "ranks with part of the heads of a key head do not pick them"
                                  : "what picks them is not told";
}

std::string unpicked_hint(const NetworkSpec& network) {
  return network.sparse.block > 1 ? fmt::format(", or --tp: at most {} (key heads)", network.kv_heads) : "";
}

}  // namespace stepcast::infer
