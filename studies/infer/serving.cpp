#include "studies/infer/serving.h"

#include <algorithm>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"

namespace stepcast::infer {
namespace {

/// What weights and caches may be made of: bytes of an element with its scales, and what multiplies it.
struct NumberType {
  const char* name;
  double bytes;
  Precision products;
  bool block_scaled = false, weights_alone = false;
};
// Scales: one fp32 per block of 128 x 128; one byte per 32 (mx) or 16 (nvfp4) elements; w4: one bf16 per group of 128
// (AWQ, GPTQ).
constexpr NumberType number_types[] = {{"bf16", 2, Precision::bf16}, {"fp16", 2, Precision::fp16},
    {"fp8", 1, Precision::fp8}, {"fp8-block", 1 + 4.0 / (128 * 128), Precision::fp8, true},
    {"mxfp8", 1 + 1.0 / 32, Precision::mxfp8}, {"nvfp4", 0.5 + 1.0 / 16, Precision::nvfp4},
    {"mxfp4", 0.5 + 1.0 / 32, Precision::bf16, false, true}, {"int4", 0.5 + 2.0 / 128, Precision::bf16, false, true},
    {"int8", 1, Precision::bf16, false, true}};

Expected<const NumberType*> number_type(const std::string& name, const char* where) {
  std::string known;
  for (const NumberType& row : number_types) {
    if (name == row.name) return &row;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return fail(where, fmt::format("unknown number type '{:.40}'", name), known);
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
  serving.cache_element_bytes = cache->bytes;
  serving.types.attention = cache->bytes < 2 ? Precision::fp8 : Precision::bf16;
  return {};
}

/// One replica: its GPUs split layers, heads and experts, and all see the same sequences.
Expected<run::Scenario> scenario_of(
    const ServingWishes& wishes, run::Chosen<NetworkSpec> network, run::Chosen<Machine> machine) {
  run::Request request;
  request.network = std::move(network);
  request.machine = std::move(machine);
  const auto say = [&](const char* key, std::int64_t value, const char* flag) {
    return request.say(key, std::to_string(value), flag);
  };
  TRY(say("gpus", wishes.tp * wishes.pp, "--tp"));
  TRY(say("tp", wishes.tp, "--tp"));
  TRY(say("pp", wishes.pp, "--pp"));
  if (request.network->row.experts.count > 0 && wishes.ep == 1) TRY(say("etp", wishes.tp, "--tp"));
  if (wishes.ep > 1)
    return fail("parallel", fmt::format("experts spread over {} ranks are not forecast", wishes.ep),
        "ep 1, where every rank has a part of each expert");
  TRY(request.say("sp", "off", "--sp"));
  TRY(say("zero", 0, "--zero"));
  TRY(say("micro_batch", 1, "--batch"));
  TRY(say("global_batch", 1, "--batch"));
  TRY(say("sequence", 1, "--prompt"));
  return resolve(request);
}

}  // namespace

Expected<Serving> serving_of(
    const ServingWishes& wishes, run::Chosen<NetworkSpec> network, run::Chosen<Machine> machine, const Engine& engine) {
  if (wishes.gpus != 0 && wishes.gpus != wishes.tp * wishes.pp)
    return fail("--gpus", fmt::format("{} GPUs for tp {} x pp {}", wishes.gpus, wishes.tp, wishes.pp),
        fmt::format("--tp {}; replicas of an engine do not speak to each other", wishes.gpus / wishes.pp));
  Serving serving;
  TRY(serving.scenario, scenario_of(wishes, std::move(network), std::move(machine)));
  serving.engine = engine;
  serving.profile = default_kernel_profile(serving.machine().gpu, built_in().profiles);
  TRY(settle_types(wishes, serving));
  return serving;
}

Expected<Serving> serving_of(const ServingWishes& wishes) {
  TRY(auto network, run::choose_network(wishes.network, "network"));
  TRY(auto machine, run::choose_machine(wishes.machine.empty() ? "dgx-h100" : wishes.machine, "--machine"));
  TRY(const auto engine, find_row(built_in().engines, wishes.engine.empty() ? "vllm" : wishes.engine, "--engine"));
  ServingWishes settled = wishes;
  if (settled.gpus > 0 && settled.tp == 1 && settled.gpus % settled.pp == 0) settled.tp = settled.gpus / settled.pp;
  TRY(auto serving, serving_of(settled, std::move(network), std::move(machine), *engine));
  if (wishes.machine.empty()) serving.assumptions.emplace_back("--machine dgx-h100");
  if (wishes.engine.empty()) serving.assumptions.emplace_back("--engine vllm");
  return serving;
}

Expected<Iteration> iterate(const Serving& serving, const Rows& rows) {
  Plan plan = serving.scenario.plan;
  plan.precision = Precision::bf16;  // what is narrower is priced by the engine's types
  plan.micro_batch = plan.global_batch = rows.sequences;
  plan.sequence = rows.positions;
  plan.cache = CacheUse{rows.cached, serving.cache_element_bytes};
  const Stack stack = lowered_for(serving.engine);
  TRY(const auto program, dataflow::lower(serving.network(), plan, stack));
  const sim::CostModel moves(serving.machine(), serving.profile, stack, Precision::bf16, plan.gpus);
  const sim::IterationCost cost(moves, serving.profile, serving.engine, serving.types);
  const bool graph = serving.engine.captured && rows.positions == 1 && rows.sequences <= serving.engine.most_captured;
  Iteration out{cost.time(program, static_cast<double>(rows.sequences), graph), program.cache_bytes, 0};
  for (const dataflow::Chunk& chunk : program.chunks) {
    double parameters = 0;
    for (const dataflow::BlockRun& run : chunk.runs)
      parameters += static_cast<double>(run.count) * program.blocks[run.block].parameters;
    out.weight_bytes = std::max(out.weight_bytes, parameters * serving.types.weight_bytes);
  }
  return out;
}

}  // namespace stepcast::infer
