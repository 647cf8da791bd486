#include "studies/infer/serving.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"

namespace stepcast::infer {
namespace {

/// What weights and caches may be made of: bytes of an element with its scales, and what multiplies it.
struct NumberType {
  const char* name;
  double bytes;
  Precision products;
  bool block_scaled = false, weights_alone = false, experts_alone = false;
};
// Scales: one fp32 per block of 128 x 128; one byte per 32 (mx) or 16 (nvfp4) elements; w4: one bf16 per group of 128
// (AWQ, GPTQ). mxfp4 is what gpt-oss and DeepSeek V4 have in their experts alone.
constexpr NumberType number_types[] = {{"bf16", 2, Precision::bf16}, {"fp16", 2, Precision::fp16},
    {"fp8", 1, Precision::fp8}, {"fp8-block", 1 + 4.0 / (128 * 128), Precision::fp8, true},
    {"mxfp8", 1 + 1.0 / 32, Precision::mxfp8}, {"nvfp4", 0.5 + 1.0 / 16, Precision::nvfp4},
    {"mxfp4", 0.5 + 1.0 / 32, Precision::bf16, false, true, true},
    {"int4", 0.5 + 2.0 / 128, Precision::bf16, false, true}, {"int8", 1, Precision::bf16, false, true}};

Expected<const NumberType*> number_type(const std::string& name, const char* where) {
  std::string known;
  for (const NumberType& row : number_types) {
    if (name == row.name) return &row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return fail(where, fmt::format("unknown number type '{:.40}'", name), known);
}

/// Of an element with its scales: nvfp4 has a byte per 16.
double gathered_bytes(Precision products) {
  return operand_bytes(products) + (products == Precision::nvfp4 ? 1.0 / 16 : 0);
}

Expected<void> settle_types(const ServingWishes& wishes, Serving& serving) {
  const Gpu& gpu = serving.machine().gpu;
  const auto has = [&](Precision p) { return gpu.peak[static_cast<int>(p)].value() > 0; };
  const std::string usual = has(Precision::bf16) ? "bf16" : "fp16";
  TRY(const auto weights, number_type(wishes.weights.empty() ? usual : wishes.weights, "--weights"));
  TRY(const auto cache, number_type(wishes.cache.empty() ? usual : wishes.cache, "--kv"));
  if (wishes.weights.empty()) serving.assumptions.push_back("--weights " + usual);
  if (wishes.cache.empty()) serving.assumptions.push_back("--kv " + usual);
  serving.types.weight_bytes = weights->bytes;
  serving.types.products = weights->products;
  serving.types.block_scaled = weights->block_scaled;
  serving.types.experts_alone = weights->experts_alone && serving.network().experts.count > 0;
  if (!wishes.products.empty()) {
    TRY(const auto products, number_type(wishes.products, "--products"));
    serving.types.products = products->products;
  }
  if (!has(serving.types.products)) {
    if (weights->weights_alone) serving.types.products = Precision::fp16;
    if (!has(serving.types.products))
      return fail("--weights", fmt::format("{} has no {} matrix units", gpu.name, to_text(serving.types.products)),
          "--weights " + usual);
  }
  // TensorRT-LLM casts what it gathers for experts to their products' type before, unless the scales are of blocks
  // (NVIDIA/TensorRT-LLM 1.0, _torch/modules/fused_moe/fused_moe_cutlass.py, run_post_quant_allgather).
  if (serving.engine.kernels == "trtllm" && !serving.types.block_scaled)
    serving.types.gathered_bytes = gathered_bytes(serving.types.products);
  serving.cache_element_bytes = cache->bytes;
  serving.types.attention = cache->bytes < 2 ? Precision::fp8 : Precision::bf16;
  return {};
}

Expected<Profile> profile_of(const Profile* own, const Gpu& gpu) {
  if (own == nullptr) return default_kernel_profile(gpu, built_in().profiles);
  if (own->gpu != gpu.id)
    return fail("--profile", fmt::format("{} is of {}, and the machine has {}", own->id, own->gpu, gpu.id),
        "a profile of the machine's GPU, or none: its default one");
  return with_all_precisions(*own, gpu);
}

/// Ranks that see the same sequences sum what their experts made, weighted, and not the rows of each expert; those that
/// see others exchange tokens as the engine does.
void lay_experts(run::Scenario& scenario, const ServingWishes& wishes, const Engine& engine) {
  const bool same_sequences = wishes.attention_dp == 1;
  if (same_sequences && wishes.ep < wishes.tp) {
    scenario.statements.emplace_back("home Oe: partial on etp");
    if (scenario.network.row.experts.expert_bias)
      scenario.statements.emplace_back("home expert.down.biased: partial on etp");
  }
  lay_split(scenario, *scenario.split);
  if (wishes.ep == 1 || (!same_sequences && engine.exchange == ExpertExchange::rows)) return;
  // The first line that an operator has the loop of wins: before the one that splits sequences.
  std::string& mapping = scenario.plan.mapping;
  const std::size_t last_mesh = mapping.rfind("\nmesh "), line = last_mesh == std::string::npos ? 0 : last_mesh + 1;
  mapping.insert(mapping.find('\n', line) + 1, "use ep_gather\n");
}

/// One replica: its GPUs split layers, heads and experts, and all see the same sequences.
Expected<run::Scenario> scenario_of(
    const ServingWishes& wishes, run::Chosen<NetworkSpec> network, run::Chosen<Machine> machine, const Engine& engine) {
  run::Request request;
  request.network = std::move(network);
  request.machine = std::move(machine);
  const auto say = [&](const char* key, std::int64_t value, const char* flag) {
    return request.say(key, std::to_string(value), flag);
  };
  const std::int64_t all = wishes.tp * wishes.attention_dp;
  TRY(say("gpus", all * wishes.pp, "--tp"));
  TRY(say("tp", wishes.tp, "--tp"));
  TRY(say("pp", wishes.pp, "--pp"));
  const bool experts = request.network->row.experts.count > 0;
  if (!experts && (wishes.ep > 1 || wishes.attention_dp > 1))
    return fail(wishes.ep > 1 ? "--ep" : "--dp-attention",
        fmt::format("{} has no experts to share", request.network->row.id), "replicas of the engine, each by itself");
  if (experts) {
    if (all % wishes.ep != 0)
      return fail("--ep", fmt::format("experts on {} ranks of {}", wishes.ep, all), "a divisor of tp x dp-attention");
    TRY(say("ep", wishes.ep, "--ep"));
    TRY(say("etp", all / wishes.ep, "--ep"));
  }
  TRY(request.say("sp", "off", "--sp"));
  TRY(say("zero", 0, "--zero"));
  TRY(say("micro_batch", 1, "--batch"));
  TRY(say("global_batch", wishes.attention_dp, "--batch"));
  TRY(say("sequence", 1, "--prompt"));
  TRY(auto scenario, resolve(request));
  if (experts) lay_experts(scenario, wishes, engine);
  return scenario;
}

/// Far enough back that every window and every choice of keys is shorter.
constexpr std::int64_t far_back = 1 << 24;

Expected<sim::RowPrograms> row_programs(const Serving& serving, std::int64_t positions, bool reads_cache) {
  const Stack stack = lowered_for(serving.engine);
  const auto lowered = [&](std::int64_t sequences, std::int64_t length, std::int64_t cached) {
    Plan plan = serving.scenario.plan;
    plan.precision = Precision::bf16;  // what is narrower is priced by the engine's types
    plan.micro_batch = sequences, plan.global_batch = sequences * serving.scenario.split->dp;
    plan.sequence = length;
    plan.cache = CacheUse{cached, serving.cache_element_bytes};
    return dataflow::lower(serving.network(), plan, stack);
  };
  // As many sequences as experts, so that each has a whole number of rows.
  const std::int64_t some = std::max<std::int64_t>(1, serving.network().experts.count);
  sim::RowPrograms out;
  out.rows = {static_cast<double>(some), static_cast<double>(positions), static_cast<double>(far_back)};
  TRY(out.one, lowered(some, positions, far_back));
  TRY(out.twice_as_many, lowered(2 * some, positions, far_back));
  TRY(out.twice_as_long, lowered(some, 2 * positions, far_back));
  if (reads_cache) {
    TRY(out.further, lowered(some, positions, 2 * far_back));
  }
  return out;
}

}  // namespace

Expected<std::shared_ptr<const sim::IterationForm>> iteration_form(const Serving& serving) {
  const auto share = [](sim::IterationForm form) {
    return std::make_shared<const sim::IterationForm>(std::move(form));
  };
  TRY(const auto words, row_programs(serving, 1, false));
  const std::int64_t few = absorbed_positions(serving.network());
  if (few == 0) {
    TRY(auto form, sim::IterationForm::of(words));
    return share(std::move(form));
  }
  TRY(const auto prompts, row_programs(serving, 2 * few, true));
  TRY(auto form, sim::IterationForm::of(words, static_cast<double>(few), prompts));
  return share(std::move(form));
}

namespace {

/// Its last layer by itself, between the table of words and the LM head.
run::Chosen<NetworkSpec> drafter_of(run::Chosen<NetworkSpec> network) {
  NetworkSpec& n = network.row;
  n.id += "-drafter";
  const std::vector<LayerKind> pattern = n.pattern;
  const bool experts = is_expert_layer(n, n.layers - 1);
  n.layers = 1, n.mtp_layers = 0, n.mtp_pattern.clear();
  if (!pattern.empty()) n.pattern = {pattern.back()};
  n.experts.dense_layers = 0;
  if (!experts) n.experts = {};
  return network;
}

}  // namespace

Expected<Serving> serving_of(const ServingWishes& wishes, run::Chosen<NetworkSpec> network,
    run::Chosen<Machine> machine, const Engine& engine, const Profile* profile) {
  if (const std::int64_t split = wishes.tp * wishes.pp * wishes.attention_dp; wishes.gpus != 0 && wishes.gpus != split)
    return fail("--gpus", fmt::format("{} GPUs for a split over {}", wishes.gpus, split),
        "--tp x --pp x --dp-attention; replicas of an engine do not speak to each other");
  Serving serving;
  serving.engine = engine;
  if (!wishes.exchange.empty()) {
    if (wishes.exchange != "gather" && wishes.exchange != "rows")
      return fail("--exchange", fmt::format("unknown exchange '{:.40}'", wishes.exchange), "gather or rows");
    serving.engine.exchange = wishes.exchange == "rows" ? ExpertExchange::rows : ExpertExchange::gather;
  }
  const run::Chosen<NetworkSpec> whole = network;
  const run::Chosen<Machine> where = machine;
  network.row.mtp_layers = 0;  // they guess, and the iteration itself does without them
  TRY(serving.scenario, scenario_of(wishes, std::move(network), std::move(machine), serving.engine));
  TRY(auto laws, profile_of(profile, serving.machine().gpu));
  serving.profile = std::make_shared<const Profile>(std::move(laws));
  TRY(settle_types(wishes, serving));
  TRY(serving.form, iteration_form(serving));
  if (!mixers(serving.network()).empty()) serving.assumptions.emplace_back("states in fp32");
  if (wishes.draft > 0) {
    if (wishes.pp > 1)
      return fail("--draft", "guessing before an iteration on several stages", "--pp 1, or no --draft");
    ServingWishes small = wishes;
    small.draft = 0;
    TRY(auto drafter, serving_of(small, drafter_of(whole), where, engine, profile));
    serving.draft = wishes.draft;
    serving.drafter = std::make_shared<const Serving>(std::move(drafter));
  }
  return serving;
}

Expected<Serving> serving_of(const ServingWishes& wishes) {
  TRY(auto network, run::choose_network(wishes.network, "network"));
  TRY(auto machine, run::choose_machine(wishes.machine.empty() ? "dgx-h100" : wishes.machine, "--machine"));
  TRY(const auto engine, run::choose_engine(wishes.engine.empty() ? "vllm" : wishes.engine, "--engine"));
  ServingWishes settled = wishes;
  if (const std::int64_t others = settled.pp * settled.attention_dp;
      settled.gpus > 0 && settled.tp == 1 && settled.gpus % others == 0)
    settled.tp = settled.gpus / others;
  std::optional<run::Chosen<Profile>> profile;
  if (!wishes.profile.empty()) {
    TRY(profile, run::choose_kernel_profile(wishes.profile, "--profile"));
  }
  const Profile* laws = profile ? &profile->row : nullptr;
  TRY(auto serving, serving_of(settled, std::move(network), std::move(machine), engine.row, laws));
  if (wishes.machine.empty()) serving.assumptions.emplace_back("--machine dgx-h100");
  if (wishes.engine.empty()) serving.assumptions.emplace_back("--engine vllm");
  return serving;
}

double Serving::weight_bytes() const {
  const sim::IterationForm::Parameters& held = form->parameters();
  const double layers = held.all - held.experts - held.wide;
  constexpr double wide = 2;
  return held.experts * types.weight_bytes + layers * (types.experts_alone ? wide : types.weight_bytes) +
         held.wide * wide;
}

ServingCost::ServingCost(const Serving& serving)
    : serving_(&serving), stack_(lowered_for(serving.engine)),
      moves_(serving.machine(), *serving.profile, stack_, Precision::bf16, serving.scenario.plan.gpus),
      cost_(moves_, *serving.profile, serving.engine, serving.types) {}

bool ServingCost::captured(std::span<const sim::Rows> rows) const {
  double sequences = 0;
  for (const sim::Rows& row : rows) {
    if (row.positions > 1) return false;
    sequences += row.sequences;
  }
  return serving_->engine.captured && sequences <= static_cast<double>(serving_->engine.most_captured);
}

sim::IterationTime ServingCost::time(std::span<const sim::Rows> rows) const {
  return serving_->form->time(rows, cost_, captured(rows));
}

}  // namespace stepcast::infer
