#include "model/base/json_writer.h"
#include "studies/serve/sweep/words.h"

namespace stepcast::serve::sweeping {
namespace {

void write_seconds(JsonWriter& json, std::string_view key, const std::optional<Seconds>& time) {
  if (time) json.field(key, time->value());
  else json.null_field(key);
}

/// null where one pool reads and says.
void write_prompts(JsonWriter& json, const Row& row, const std::optional<PromptSplit>& split) {
  const auto count = [&](const char* key, std::int64_t PromptSplit::*what) {
    if (split && (*split).*what > 0) json.field(key, (*split).*what);
    else json.null_field(key);
  };
  if (split) json.fields("prefill_machine", machine_name(split->machine), "prefill_gpus", split->gpus());
  else json.null_field("prefill_machine"), json.null_field("prefill_gpus");
  count("prefill_replicas", &PromptSplit::replicas), count("prefill_tp", &PromptSplit::tp);
  count("prefill_ep", &PromptSplit::ep), count("prefill_dp_attention", &PromptSplit::attention_dp);
  count("prefill_most_sequences", &PromptSplit::most_sequences);
  count("prefill_most_positions", &PromptSplit::most_positions);
  if (row.prompts_busy) json.field("prefill_busy", *row.prompts_busy);
  else json.null_field("prefill_busy");
}

void write_row(JsonWriter& json, const Asked& asked, const Explored& explored, const Row& row) {
  const Configuration& c = explored.configurations[row.configuration];
  json.fields("machine", machine_name(c.machine), "engine", c.engine.empty() ? "vllm" : c.engine, "weights",
      c.weights.empty() ? "default" : c.weights, "kv", c.cache.empty() ? "default" : c.cache, "gpus", c.gpus);
  json.fields("tp", c.tp, "pp", c.pp, "ep", c.ep, "dp_attention", c.attention_dp, "replicas", c.replicas);
  if (c.most_sequences > 0) json.field("most_sequences", c.most_sequences);
  else json.null_field("most_sequences");
  if (c.most_positions > 0) json.field("most_positions", c.most_positions);
  else json.null_field("most_positions");
  write_prompts(json, row, c.prompts);
  json.field(asked.closed ? "concurrency" : "requests_per_s_sent", row.load);
  const RowFigures& figures = row.figures();
  json.fields("tokens_per_s_per_gpu", figures.words_per_gpu, "tokens_per_s_per_user", figures.words_per_user);
  json.base_field("tpot_s", figures.per_word);
  write_seconds(json, "ttft_s", figures.first_word);
  json.fields("cache_used", row.state.used_share, "running", row.state.running);
  if (row.cost) json.field("usd_per_million_output_tokens", *row.cost);
  else json.null_field("usd_per_million_output_tokens");
  if (row.swapped) json.field("swapped_sequences", *row.swapped);
  else json.null_field("swapped_sequences");
  if (row.met) json.field("goodput", *row.met);
  else json.null_field("goodput");
  if (row.state.doubt == sim::MeanFieldDoubt::none) json.null_field("mean_field_doubt");
  else json.field("mean_field_doubt", sim::to_text(row.state.doubt));
  json.fields("simulated", row.simulated.has_value(), "sure", row.sure(), "standing", standing_of(row), "front",
      row.on_front, "mean_field_tokens_per_s_per_gpu", row.mean.words_per_gpu);
  json.base_field("mean_field_tpot_s", row.mean.per_word);
}

}  // namespace

std::string sweep_json(const Asked& asked, const Explored& explored) {
  JsonWriter json;
  json.open();
  json.fields("network", explored.network, "combinations", static_cast<std::int64_t>(explored.combinations));
  json.list("refused", explored.refused, [&](const Refused& refused) {
    json.fields("reason", refused.reason, "count", static_cast<std::int64_t>(refused.count));
  });
  json.list("rows", explored.rows, [&](const Row& row) { write_row(json, asked, explored, row); });
  json.list("best", explored.best, [&](std::size_t place) {
    const Row& row = explored.rows[place];
    const Configuration& c = explored.configurations[row.configuration];
    json.fields("row", static_cast<std::int64_t>(place), "command", serve_line(asked, c, row.load));
    json.field("interval_tpot_s", std::vector<double>{(row.figures().per_word * row.spread.p10).value(),
                                      (row.figures().per_word * row.spread.p90).value()});
  });
  json.field("assumptions", explored.assumptions);
  json.close();
  return json.text() + "\n";
}

}  // namespace stepcast::serve::sweeping
