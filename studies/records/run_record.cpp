#include "studies/records/run_record.h"

#include <set>

#include <fmt/format.h>

#include "model/base/json_reader.h"

namespace stepcast::records {
namespace {

constexpr IntegerRange counts{1, 100'000'000}, sizes{0, 100'000'000};
constexpr NumberRange positive{1e-9, 1e12};

/// Keys that a record may carry and a forecast does not need.
void skip(JsonObject& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) static_cast<void>(object.has(key));
}

void maybe(JsonObject& object, const char* key, MaybeCount& out, IntegerRange range = counts) {
  std::int64_t value = 0;
  if (object.has(key)) object.read(key, value, range), out = value;
}
void maybe(JsonObject& object, const char* key, MaybeNumber& out) {
  double value = 0;
  if (object.has(key)) object.read(key, value, positive), out = value;
}
void maybe(JsonObject& object, const char* key, MaybeText& out) {
  std::string value;
  if (object.has(key)) object.read(key, value), out = value;
}
void maybe(JsonObject& object, const char* key, MaybeFlag& out) {
  bool value = false;
  if (object.has(key)) object.read(key, value), out = value;
}

void read_experts(JsonObject& model, RunModel& out) {
  auto object = model.optional_object("moe");
  if (!object) return;
  RunExperts experts;
  object->read("experts", experts.count, counts);
  object->read("topk", experts.top_k, counts);
  object->read("moe_ffn", experts.ffn_hidden, counts);
  object->optional("shared_ffn", experts.shared_ffn, sizes);
  object->optional("dense_layers", experts.dense_layers, sizes);
  object->optional("moe_layer_every", experts.every, counts);
  object->optional("mtp_layers", experts.mtp_layers, sizes);
  object->optional("latent", experts.latent, sizes);
  std::string drop;
  object->optional("drop", drop);
  experts.padded = !drop.empty();
  skip(*object, {"sliding_window", "mtp_repeated"});
  out.experts = experts;
}

void read_latent(JsonObject& model, RunModel& out) {
  auto object = model.optional_object("mla");
  if (!object) return;
  RunLatent latent;
  object->optional("q_lora", latent.q_rank, sizes);
  object->read("kv_lora", latent.kv_rank, counts);
  object->read("qk_head_dim", latent.nope_dim, counts);
  object->read("qk_rope_dim", latent.rope_dim, counts);
  object->read("v_head_dim", latent.value_dim, counts);
  out.latent = latent;
}

void read_hybrid(JsonObject& model, RunModel& out) {
  auto object = model.optional_object("hybrid");
  if (!object) return;
  RunHybrid hybrid;
  hybrid.taps = 4, hybrid.chunk = 128;
  object->read("pattern", hybrid.pattern);
  object->read("mamba_heads", hybrid.heads, counts);
  object->read("mamba_head_dim", hybrid.head_dim, counts);
  object->read("mamba_state", hybrid.state, counts);
  object->read("mamba_groups", hybrid.groups, counts);
  object->optional("conv", hybrid.taps, counts);
  object->optional("chunk", hybrid.chunk, counts);
  out.hybrid = hybrid;
}

void read_model(JsonObject model, RunModel& out) {
  model.read("name", out.name);
  maybe(model, "layers", out.layers);
  maybe(model, "hidden", out.hidden);
  maybe(model, "ffn_hidden", out.ffn_hidden);
  maybe(model, "heads", out.heads);
  maybe(model, "kv_heads", out.kv_heads);
  maybe(model, "head_dim", out.head_dim);
  maybe(model, "seq_len", out.seq_len);
  maybe(model, "vocab", out.vocab);
  maybe(model, "gated_mlp", out.gated_mlp);
  maybe(model, "tied_embeddings", out.tied_embeddings);
  maybe(model, "attention", out.attention);
  maybe(model, "arch", out.arch);
  read_experts(model, out);
  read_latent(model, out);
  read_hybrid(model, out);
  skip(model, {"params_b", "geometry_source"});
}

void read_hardware(JsonObject hardware, RunHardware& out) {
  hardware.read("gpu", out.gpu);
  maybe(hardware, "gpus_per_node", out.gpus_per_node);
  maybe(hardware, "nvlink_domain_gpus", out.nvlink_domain_gpus);
  maybe(hardware, "intra_node", out.intra_node);
  maybe(hardware, "inter_node", out.inter_node);
  maybe(hardware, "intra_node_GBps_per_gpu_unidir", out.intra_node_gb_per_s);
  maybe(hardware, "inter_node_gbps_per_gpu", out.inter_node_gbit_per_s);
  skip(hardware, {"gpu_mem_gb", "peak_tflops_bf16_dense", "note"});
}

void read_parallel(JsonObject parallel, RunParallel& out) {
  out.gpus = 0;
  parallel.optional("gpus", out.gpus, counts);
  parallel.optional("tp", out.tp, counts);
  parallel.optional("pp", out.pp, counts);
  parallel.optional("cp", out.cp, counts);
  parallel.optional("dp", out.dp, counts);
  maybe(parallel, "ep", out.ep);
  maybe(parallel, "etp", out.etp);
  maybe(parallel, "vpp", out.chunks);
  maybe(parallel, "zero_stage", out.zero_stage, IntegerRange{0, 3});
  maybe(parallel, "fsdp_shard_group", out.shard_group);
  maybe(parallel, "sequence_parallel", out.sequence_parallel);
  maybe(parallel, "schedule", out.schedule);
}

void read_overlap(JsonObject& run, RunOverlap& out) {
  auto overlap = run.optional_object("overlap");
  if (!overlap) return;
  maybe(*overlap, "dp_grad", out.dp_grad);
  maybe(*overlap, "dp_param", out.dp_param);
  maybe(*overlap, "tp", out.tp);
  maybe(*overlap, "pp", out.pp);
  skip(*overlap, {"ep_a2a"});
}

void read_measured(JsonObject measured, RunMeasured& out) {
  maybe(measured, "step_time_s", out.step_time_s);
  measured.optional("step_time_source", out.step_time_source);
  maybe(measured, "step_time_p10_s", out.p10_s);
  maybe(measured, "step_time_p90_s", out.p90_s);
  maybe(measured, "tokens_per_s_per_gpu", out.tokens_per_s_per_gpu);
  maybe(measured, "tflops_per_gpu", out.tflops_per_gpu);
  maybe(measured, "peak_mem_gb", out.peak_memory_gb);
  maybe(measured, "peak_mem_kind", out.peak_memory_kind);
  skip(measured, {"n_steps", "samples_per_s", "tflops_convention", "mfu_pct", "hfu_pct", "mfu_peak_tflops", "extra"});
}

void read_source(JsonObject source, Run& run) {
  std::string revision;
  source.read("ref", run.source);
  source.optional("rev", revision);
  if (!revision.empty()) run.source += "@" + revision;
  skip(source, {"type", "path", "locator"});
}

Run read_run(JsonObject& object) {
  Run run;
  object.read("id", run.id);
  object.optional("kind", run.kind);
  object.optional("quality", run.quality);
  object.optional("date", run.date);
  read_source(object.object("source"), run);
  read_model(object.object("model"), run.model);
  read_hardware(object.object("hardware"), run.hardware);
  read_parallel(object.object("parallel"), run.parallel);
  JsonObject batch = object.object("batch");
  maybe(batch, "micro_batch", run.micro_batch);
  run.global_batch = 0;
  batch.optional("global_batch", run.global_batch, counts);
  skip(batch, {"num_microbatches", "tokens_per_step"});
  maybe(object, "recompute", run.recompute);
  maybe(object, "precision", run.precision);
  maybe(object, "software", run.software);
  read_overlap(object, run.overlap);
  read_measured(object.object("measured"), run.measured);
  skip(object, {"rank_top30", "notes", "checks", "new"});
  return run;
}

}  // namespace

Expected<std::vector<Run>> read_runs(const std::string& text, const std::string& where) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool list = first != std::string::npos && text[first] == '[';
  JsonObject file(list ? "{\"runs\":" + text + "}" : text, where);
  std::vector<Run> runs;
  std::set<std::string> ids;
  for (JsonObject& object : file.objects("runs")) {
    runs.push_back(read_run(object));
    if (object.failed()) break;
    object.require(ids.insert(runs.back().id).second, "id", fmt::format("a second run '{:.80}'", runs.back().id),
        "one id per run");
  }
  return file.finish(std::move(runs));
}

}  // namespace stepcast::records
