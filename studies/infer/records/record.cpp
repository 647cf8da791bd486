#include "studies/infer/records/record.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/text.h"

namespace stepcast::infer {
namespace {

using Json = nlohmann::json;

std::string word(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
std::optional<std::int64_t> number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return static_cast<std::int64_t>(found->get<double>());
}
const Json& part(const Json& object, const char* key) {
  static const Json none = Json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : none;
}

RecordPool pool_of(const Json& split) {
  const auto of = [&](const char* key) { return std::max<std::int64_t>(1, number(split, key).value_or(1)); };
  return {of("tp"), of("pp"), of("dp_attention"), of("ep"), of("workers")};
}

InferenceRecord record_of(const Json& row) {
  InferenceRecord r;
  r.id = word(row, "id"), r.judged_as = word(row, "judged_as"), r.phase = word(row, "phase");
  r.model = word(part(row, "model"), "id");
  const Json &hardware = part(row, "hardware"), &software = part(row, "software"), &split = part(row, "parallel"),
             &work = part(row, "workload"), &types = part(row, "precision");
  r.gpu = word(hardware, "gpu"), r.gpus = number(hardware, "count").value_or(1);
  r.nodes = number(hardware, "nodes").value_or(1);
  r.engine = word(software, "name"), r.version = word(software, "version");
  r.weights = lower_case(word(types, "weights")), r.activations = lower_case(word(types, "activations"));
  r.cache = lower_case(word(types, "kv_cache"));
  r.tp = number(split, "tp").value_or(1), r.pp = number(split, "pp").value_or(1),
  r.ep = number(split, "ep").value_or(0);
  r.prompt = number(work, "isl"), r.output = number(work, "osl"), r.batch = number(work, "batch");
  for (const auto& [key, value] : part(row, "measured").items())
    if (value.is_number()) r.measured[key] = value.get<double>();
  r.upstream = word(part(row, "source"), "upstream"), r.notes = word(row, "notes");
  r.noted = noted_settings(r.notes);
  r.dataset = word(work, "dataset"), r.mode = word(work, "mode"), r.guesses = word(work, "spec_decoding");
  r.attention_dp = number(split, "dp_attention").value_or(1), r.expert_tp = number(split, "moe_tp").value_or(1);
  if (const Json& pools = part(split, "disagg"); !pools.empty())
    r.prompt_pool = pool_of(part(pools, "prefill")), r.word_pool = pool_of(part(pools, "decode"));
  r.concurrency = number(work, "concurrency"), r.requests = number(work, "num_requests");
  r.most_sequences = number(work, "max_num_seqs"), r.most_positions = number(work, "max_num_batched_tokens");
  if (const auto rate = work.find("request_rate"); rate != work.end() && rate->is_number())
    r.rate = rate->get<double>();
  return r;
}

/// Words of notes, and what a record with them says.
struct NotedWords {
  const char* words;
  void (*say)(NotedSettings& noted);
};
constexpr double larger_cache_share = 0.95;
constexpr NotedWords noted_words[] = {
    {"MoE tables run attention DP", [](NotedSettings& noted) { noted.tp_of_groups = true; }},
    {"kv_cache_free_gpu_mem_fraction 0.95", [](NotedSettings& noted) { noted.cache_share = larger_cache_share; }},
    {"kv fraction 0.95", [](NotedSettings& noted) { noted.cache_share = larger_cache_share; }},
    {"CUDA graphs to batch 8192 padded", [](NotedSettings& noted) { noted.padded_graphs = true; }}};

}  // namespace

NotedSettings noted_settings(const std::string& notes) {
  NotedSettings noted;
  for (const NotedWords& row : noted_words)
    if (notes.find(row.words) != std::string::npos) row.say(noted);
  return noted;
}

bool looks_like_inference(const std::string& text) {
  const std::size_t first = text.find_first_of("[{");
  if (first == std::string::npos) return false;
  const std::string head = text.substr(first, 20'000);
  return head.find("\"workload\"") != std::string::npos && head.find("\"phase\"") != std::string::npos;
}

Expected<std::vector<InferenceRecord>> read_inference(const std::string& text, const std::string& where) {
  std::vector<InferenceRecord> records;
  const auto take = [&](const Json& row, std::size_t at) -> Expected<void> {
    if (!row.is_object() || word(row, "id").empty())
      return fail(
          fmt::format("{}:{}", where, at), "no record of inference", "an object with an id, a model, a workload");
    records.push_back(record_of(row));
    return {};
  };
  if (text.find_first_not_of(" \t\r\n") != std::string::npos && text[text.find_first_not_of(" \t\r\n")] == '[') {
    const Json list = Json::parse(text, nullptr, false);
    if (list.is_discarded()) return fail(where, "no JSON", "a list of records, or one in each line");
    for (std::size_t i = 0; i < list.size(); ++i) TRY(take(list[i], i));
    return records;
  }
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string row = text.substr(begin, end - begin);
    begin = end + 1;
    if (row.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Json parsed = Json::parse(row, nullptr, false);
    if (parsed.is_discarded())
      return fail(fmt::format("{}:{}", where, line), "a line that is no JSON", "one record in each line");
    TRY(take(parsed, line));
  }
  return records;
}

}  // namespace stepcast::infer
