#include "model/base/json_writer.h"
#include "studies/serve/answer.h"

namespace stepcast::serve {
namespace {

void write_latency(JsonWriter& json, std::string_view key, const sim::Latency& latency, const Spread& spread) {
  if (latency.p99.value() == 0) {  // requests of one word have nothing between words
    json.null_field(key);
    return;
  }
  json.open(key);
  json.base_fields("mean_s", latency.mean, "p50_s", latency.p50, "p90_s", latency.p90, "p99_s", latency.p99);
  json.field(
      "interval_s", std::vector<double>{(latency.mean * spread.p10).value(), (latency.mean * spread.p90).value()});
  json.close();
}

void write_figures(JsonWriter& json, const Answer& answer, const sim::ServiceFigures& f) {
  write_latency(json, "ttft", f.first_word, answer.spread);
  write_latency(json, "tpot", f.per_word, answer.spread);
  write_latency(json, "inter_token", f.between_words, answer.spread);
  write_latency(json, "end_to_end", f.whole, answer.spread);
  json.base_field("span_s", f.span);
  json.fields("requests", f.requests, "requests_per_s", f.requests_per_second, "tokens_per_s", f.words_per_second,
      "tokens_per_s_per_gpu", f.words_per_second / static_cast<double>(answer.gpus));
  if (f.words_per_second_of_user > 0) json.field("tokens_per_s_per_user", f.words_per_second_of_user);
  if (answer.met) json.fields("goodput", *answer.met, "goodput_requests_per_s", *answer.met * f.requests_per_second);
  json.object(
      "queue", "running", f.running, "waiting", f.waiting, "most_waiting", f.most_waiting, "preempted", f.preempted);
  json.object("time", "decode", f.in_words, "mixed", f.in_mixed, "prefill", f.in_prompts, "idle", f.idle, "iterations",
      f.iterations);
  if (const auto& swapped = answer.swapped) {
    json.open("swap");
    json.fields("sequences", answer.run.swaps.sequences, "out_bytes_per_gpu", swapped->out.value(), "in_bytes_per_gpu",
        swapped->in.value(), "most_bytes_per_gpu", swapped->most.value(), "space_bytes_per_gpu", swapped->space.value(),
        "no_room", answer.run.swaps.refused);
    json.base_field("time_s", swapped->time);
    json.field("share_of_time", swapped->share);
    json.close();
  }
  const auto blocks = static_cast<double>(answer.servers.policy.blocks * answer.servers.groups);
  json.object("cache", "used", f.used_blocks / blocks, "most_used", f.most_used_blocks / blocks, "positions",
      static_cast<double>(answer.servers.stages * answer.servers.policy.blocks * answer.servers.policy.block),
      "bytes_per_gpu", answer.room.cache);
}

void write_prompts(JsonWriter& json, const PromptPool& pool, bool ran) {
  json.open("prefill_pool");
  json.fields("machine", pool.serving.machine().id, "engine", pool.serving.engine.id, "gpus", pool.gpus, "replicas",
      pool.servers.replicas, "tp", pool.serving.tensor_ways, "pp", pool.serving.stages, "requests_per_s_at_most",
      pool.saturation.requests_per_second);
  if (ran) json.fields("busy", pool.busy, "waiting", pool.waiting, "most_waiting", pool.most_waiting);
  json.open("transfer");
  json.fields("fabric", pool.transfer.fabric, "prompt", pool.positions, "sent_bytes_per_gpu",
      pool.transfer.sent.value(), "received_bytes_per_gpu", pool.transfer.received.value());
  json.base_field("time_s", pool.transfer.time);
  json.field("requests_per_s_at_most", pool.links_requests_per_second);
  json.close();
  json.close();
}

}  // namespace

std::string answer_json(const Question& question, const Answer& answer) {
  JsonWriter json;
  json.open();
  json.fields("network", answer.serving.network().id, "machine", answer.serving.machine().id, "engine",
      answer.serving.engine.id, "gpus", answer.gpus, "replicas", question.replicas);
  if (!answer.serving.layers.empty()) json.field("layers", answer.serving.layers);
  if (question.concurrency) json.field("concurrency", *question.concurrency);
  else json.field("requests_per_s_sent", answer.rate);
  if (answer.serving.draft > 0)
    json.field("tokens_per_iteration", infer::words_of_iteration(answer.serving.draft, question.guesses.accepted));
  json.field("saturated", !answer.figures.has_value());
  if (answer.figures) write_figures(json, answer, *answer.figures);
  else
    for (const char* unbounded : {"ttft", "tpot", "inter_token", "end_to_end"}) json.null_field(unbounded);
  const Saturation& most = answer.saturation;
  json.open("saturation");
  json.fields("requests_per_s", most.requests_per_second, "tokens_per_s", most.words_per_second, "tokens_per_s_per_gpu",
      most.words_per_second / static_cast<double>(answer.gpus));
  if (most.word.value() > 0) {
    json.field("running", most.running);
    json.base_field("tpot_s", most.word);
  }
  if (answer.prompts) json.field("binds", most.binds);
  else
    json.fields("preempted", most.waiting.gave_way, "while_others_wait_requests_per_s",
        most.waiting.requests_per_second, "most_sequences", most.most_sequences);
  if (!answer.figures) json.field("queue_growth_per_s", answer.rate - most.waiting.requests_per_second);
  json.close();
  if (answer.prompts) write_prompts(json, *answer.prompts, answer.figures.has_value());
  json.field("warnings", answer.warnings);
  json.field("assumptions", answer.serving.assumptions);
  json.close();
  return json.text() + "\n";
}

}  // namespace stepcast::serve
