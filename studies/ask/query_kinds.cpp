#include "studies/ask/query_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/cli/plain_size.h"

namespace stepcast::ask {
namespace {

// Elements, rows or ranks of anything.
constexpr double most_counted = 1e12;

constexpr std::array gemm_fields{QueryField{"m", "", "", "rows of x and y"}, QueryField{"n", "", "", "columns of y"},
    QueryField{"k", "", "", "summed over"}, QueryField{"batch", "b", "1", "products of this shape at once"},
    QueryField{"dtype", "gemm_dtype precision type", "bf16", "fp32 tf32 fp16 bf16 fp8 fp8-block mxfp8 nvfp4"},
    QueryField{"layout", "", "tn", "tn forward, nn input gradient, nt weight gradient"},
    QueryField{
        "cast", "casts_x", "auto", "on, off, auto: the call casts x first (auto: where the profile's tables do)"}};

constexpr std::array attention_fields{QueryField{"batch", "batch_size b", "1", "sequences"},
    QueryField{"seq", "isl seqlen s queries sequence", "", "positions that ask"},
    QueryField{"keys", "", "seq", "positions that are seen (decode: of the cache)"},
    QueryField{"heads", "num_heads", "", "query heads"},
    QueryField{"kv-heads", "kv_heads num_key_value_heads num_kv_heads", "heads", "key and value heads"},
    QueryField{"head-dim", "head_dim d head_size", "128", "elements per head"},
    QueryField{"latent-values", "latent_values", "0",
        "decode over a latent cache: elements of a key that are its value (DeepSeek: 512 of --head-dim 576)"},
    QueryField{"pass", "", "forward", "forward, backward, both or decode"}, QueryField{"causal", "", "on", "on or off"},
    QueryField{"software", "", "any", "whose kernels, as the profile names them; any: training's"},
    QueryField{"dtype", "precision type", "bf16", "of keys and values"}};

constexpr std::array moe_fields{QueryField{"tokens", "num_tokens", "", "rows before they are routed"},
    QueryField{"hidden", "hidden_size", "", "width of the model"},
    QueryField{"inter", "inter_size", "", "width of an expert"}, QueryField{"topk", "", "", "experts per token"},
    QueryField{"experts", "num_experts", "", "in the layer"},
    QueryField{"tp", "moe_tp_size tensor_ways", "1", "ways an expert is split"},
    QueryField{"ep", "moe_ep_size expert_ways", "1", "ways the experts are spread"},
    QueryField{"skew", "distribution", "0", "exponent of the power law of loads; 0 balanced"},
    QueryField{"dtype", "moe_dtype precision type", "bf16", "fp16 bf16 fp8 nvfp4"}};

constexpr std::array memory_fields{QueryField{"rows", "num_tokens tokens", "", "independent rows"},
    QueryField{"columns", "hidden_size hidden h", "", "elements of a row"},
    QueryField{"dtype", "precision type", "bf16", "of the elements"}};

constexpr std::array collective_fields{
    QueryField{"bytes", "size message_size", "", "of the whole buffer, as nccl-tests' size (\"64 MiB\" or a number)"},
    QueryField{"gpus", "num_gpus ranks n", "", "ranks"},
    QueryField{"nodes", "num_nodes", "1", "that they stand on, in equal parts"},
    QueryField{"engine", "", "none", "all_reduce by an engine's kernels: vllm, trtllm, sglang; none: NCCL"},
    QueryField{"graph", "", "any",
        "with --engine: on, as a node of a CUDA graph; off, launched by the host; any: on, else off"}};

constexpr std::array exchange_fields{QueryField{"gpus", "num_gpus ranks ep n moe_ep_size", "", "ranks"},
    QueryField{"tokens", "num_tokens num_token", "", "rows of one rank before they are routed"},
    QueryField{"hidden", "hidden_size", "", "width of the model"},
    QueryField{"topk", "choices num_topk", "", "experts per token"},
    QueryField{"experts", "num_experts", "", "in the layer, on all ranks"},
    QueryField{"dtype", "moe_dtype precision type", "bf16", "of the rows that are sent: bf16 fp8 nvfp4"},
    QueryField{"engine", "", "any", "whose kernels come first, where several were timed: vllm, trtllm, sglang"},
    QueryField{"kernel", "", "any",
        "low_latency or normal (DeepEP), nvlink_two_sided or nvlink_one_sided (TensorRT-LLM); any: the fastest"}};

const std::string& text_of(const FieldValues& values, std::string_view name) { return values.find(name)->second.text; }

Expected<double> count(const FieldValues& values, std::string_view name) {
  const FieldValue& given = values.find(name)->second;
  const auto value = parsed_number<double>(cli::plain_size(given.text));
  if (!value || !(*value >= 1) || *value > most_counted || *value != std::floor(*value))
    return fail(given.where, fmt::format("{} '{}' is no count", name, given.text.substr(0, 60)),
        fmt::format("a whole number from 1 to {:g}: 8192 or 8k", most_counted));
  return *value;
}

/// Several counts at once; the first bad one is the error.
Expected<void> take_counts(
    const FieldValues& values, std::initializer_list<std::pair<std::string_view, double*>> wanted) {
  for (const auto& [name, out] : wanted) {
    TRY(*out, count(values, name));
  }
  return {};
}

template <typename Value, std::size_t N>
Expected<Value> one_of(
    const FieldValues& values, std::string_view name, const std::pair<const char*, Value> (&table)[N]) {
  const FieldValue& given = values.find(name)->second;
  std::vector<std::string> names;
  for (const auto& [word, value] : table) {
    if (given.text == word) return value;
    names.emplace_back(word);
  }
  return fail(
      given.where, fmt::format("unknown {} '{}'", name, given.text.substr(0, 60)), name_hint(given.text, names));
}

constexpr std::pair<const char*, bool> switches[] = {
    {"on", true}, {"off", false}, {"true", true}, {"false", false}, {"1", true}, {"0", false}};

Expected<Precision> precision_of(const FieldValues& values) {
  const FieldValue& given = values.find("dtype")->second;
  static const std::map<std::string, std::string> others{{"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"},
      {"float", "fp32"}, {"float32", "fp32"}, {"float8", "fp8"}};
  const auto other = others.find(given.text);
  return parse_precision(other == others.end() ? given.text : other->second, given.where);
}

Expected<Asked> make_gemm(const FieldValues& given, const std::string&) {
  FieldValues values = given;
  GemmQuery query;
  TRY(take_counts(values, {{"m", &query.m}, {"n", &query.n}, {"k", &query.k}, {"batch", &query.batch}}));
  std::string& dtype = values.find("dtype")->second.text;
  dtype = lower_case(dtype);
  if (dtype == "fp8-block" || dtype == "fp8_block") query.block_scaled = true, dtype = "fp8";
  TRY(query.precision, precision_of(values));
  constexpr std::pair<const char*, GemmLayout> layouts[] = {
      {"tn", GemmLayout::tn}, {"nn", GemmLayout::nn}, {"nt", GemmLayout::nt}};
  TRY(query.layout, one_of(values, "layout", layouts));
  if (text_of(values, "cast") != "auto") {
    TRY(query.casts_x, one_of(values, "cast", switches));
  }
  return query;
}

Expected<Asked> make_attention(const FieldValues& values, const std::string&) {
  AttentionQuery query;
  TRY(take_counts(values, {{"batch", &query.batch}, {"seq", &query.queries}, {"keys", &query.keys},
                              {"heads", &query.heads}, {"kv-heads", &query.kv_heads}, {"head-dim", &query.head_dim}}));
  constexpr std::pair<const char*, AttentionPass> passes[] = {{"forward", AttentionPass::forward},
      {"backward", AttentionPass::backward}, {"both", AttentionPass::forward_and_backward},
      {"decode", AttentionPass::decode}};
  const auto pass = one_of(values, "pass", passes);
  const auto causal = one_of(values, "causal", switches);
  const auto precision = precision_of(values);
  if (!pass) return tl::unexpected(pass.error());
  if (!causal) return tl::unexpected(causal.error());
  if (!precision) return tl::unexpected(precision.error());
  query.pass = *pass;
  query.causal = *causal;
  query.precision = *precision;
  if (query.kv_heads > query.heads || std::fmod(query.heads, query.kv_heads) != 0)
    return fail(values.find("kv-heads")->second.where,
        fmt::format("{} kv-heads for {} heads", query.kv_heads, query.heads), "a divisor of heads");
  if (query.pass == AttentionPass::decode) query.queries = 1;
  else if (query.causal && query.keys < query.queries)
    return fail(values.find("keys")->second.where,
        fmt::format("{} keys for {} causal queries, each of which sees itself", query.keys, query.queries),
        "keys from seq on, or --causal off");
  if (text_of(values, "latent-values") == "0") return query;
  TRY(query.latent_values, count(values, "latent-values"));
  const std::string& where = values.find("latent-values")->second.where;
  if (query.pass != AttentionPass::decode)
    return fail(
        where, "whole sequences make keys and values of the latent cache first", "--pass decode, or leave it out");
  if (query.latent_values > query.head_dim)
    return fail(where, fmt::format("{} values in keys of {}", query.latent_values, query.head_dim),
        "at most --head-dim: 512 of 576");
  if (query.kv_heads != 1)
    return fail(values.find("kv-heads")->second.where,
        fmt::format("{} heads of keys over a latent cache, which all heads share", query.kv_heads), "--kv-heads 1");
  return query;
}

Expected<Asked> make_moe(const FieldValues& values, const std::string&) {
  MoeQuery query;
  TRY(take_counts(
      values, {{"tokens", &query.tokens}, {"hidden", &query.hidden}, {"inter", &query.inter}, {"topk", &query.topk},
                  {"experts", &query.experts}, {"tp", &query.tensor_ways}, {"ep", &query.expert_ways}}));
  TRY(query.precision, precision_of(values));
  std::string skew = text_of(values, "skew");
  if (skew == "balanced" || skew == "uniform") skew = "0";
  if (skew.starts_with("power_law_")) skew.erase(0, 10);
  const auto [stop, problem] = std::from_chars(skew.data(), skew.data() + skew.size(), query.skew);
  if (problem != std::errc{} || stop != skew.data() + skew.size() || !(query.skew >= 0 && query.skew <= 10))
    return fail(values.find("skew")->second.where, fmt::format("skew '{}' is no exponent", skew.substr(0, 60)),
        "0 (balanced) to 10");
  if (query.topk > query.experts)
    return fail(values.find("topk")->second.where, fmt::format("topk {} of {} experts", query.topk, query.experts),
        "as many or fewer");
  return query;
}

Expected<Asked> make_memory(const FieldValues& values, const std::string& id) {
  MemoryQuery query;
  query.op = find_memory_op(id);
  TRY(take_counts(values, {{"rows", &query.rows}, {"columns", &query.columns}}));
  TRY(const auto precision, precision_of(values));
  query.element_bytes = operand_bytes(precision);
  if (query.op->own_bytes > 0 && query.element_bytes != query.op->own_bytes)
    return fail(values.find("dtype")->second.where,
        fmt::format("{} works on elements of {:g} bytes, and {} has {:g}", id, query.op->own_bytes, to_text(precision),
            query.element_bytes),
        "--dtype fp32, or leave it out: what it reads and writes in bf16 is counted");
  return query;
}

Expected<Asked> make_collective(const FieldValues& values, const std::string& id) {
  CollectiveQuery query;
  TRY(query.kind, parse_collective_kind(id, values.find("bytes")->second.where));
  double ranks = 1, nodes = 1;
  TRY(take_counts(values, {{"gpus", &ranks}, {"nodes", &nodes}}));
  const FieldValue& size = values.find("bytes")->second;
  const bool bare = !size.text.empty() && size.text.find_first_not_of("0123456789.eE+") == std::string::npos;
  TRY(const auto bytes, parse_quantity<Bytes>(bare ? size.text + " B" : size.text, size.where));
  if (ranks < 2) return fail(values.find("gpus")->second.where, "one GPU has nobody to talk to", "2 or more");
  if (nodes > ranks || std::fmod(ranks, nodes) != 0)
    return fail(values.find("nodes")->second.where,
        fmt::format("{} GPUs do not stand on {} nodes in equal parts", ranks, nodes), "a divisor of --gpus");
  query.bytes = bytes;
  query.ranks = static_cast<std::int64_t>(ranks);
  query.nodes = static_cast<std::int64_t>(nodes);
  return query;
}

/// Elements of four bits have a scale of eight for 16 of them (NVIDIA's nvfp4); the laws of fp8 were fitted on rows
/// with their scales, counted as one byte.
Expected<double> row_element_bytes(const FieldValues& values) {
  TRY(const auto precision, precision_of(values));
  if (operand_bytes(precision) > 2)
    return fail(values.find("dtype")->second.where, fmt::format("rows of {} were not timed", to_text(precision)),
        "bf16, fp8 or nvfp4");
  return precision == Precision::nvfp4 ? 0.5625 : operand_bytes(precision);
}

Expected<Asked> make_exchange(const FieldValues& values, const std::string& id) {
  ExchangeQuery query;
  query.direction = *exchange_direction_of(id);
  double ranks = 1;
  TRY(take_counts(values, {{"gpus", &ranks}, {"tokens", &query.tokens}, {"hidden", &query.hidden},
                              {"topk", &query.choices}, {"experts", &query.experts}}));
  TRY(query.element_bytes, row_element_bytes(values));
  TRY(const auto kernel, exchange_kernel_of(values));
  (void)kernel;
  if (ranks < 2) return fail(values.find("gpus")->second.where, "one GPU has nobody to talk to", "2 or more");
  if (std::fmod(query.experts, ranks) != 0)
    return fail(values.find("experts")->second.where,
        fmt::format("{} experts do not lie on {} GPUs in equal parts", query.experts, ranks), "a multiple of --gpus");
  if (query.choices > query.experts)
    return fail(values.find("topk")->second.where, fmt::format("topk {} of {} experts", query.choices, query.experts),
        "as many or fewer");
  query.ranks = static_cast<std::int64_t>(ranks);
  return query;
}

constexpr std::array kinds{
    QueryKind{"gemm", "a matrix product y[m,n] = x[m,k] w[n,k]T", gemm_fields, make_gemm},
    QueryKind{"attention", "fused attention over whole sequences, or decode", attention_fields, make_attention},
    QueryKind{"moe", "a layer of routed experts", moe_fields, make_moe},
};
constexpr QueryKind memory_kind{"memory", "a kernel that device memory bounds", memory_fields, make_memory};
constexpr QueryKind collectives{"collective", "NCCL within a node or across nodes", collective_fields, make_collective};

constexpr QueryKind exchanges{
    "exchange", "Rows of experts, by kernels of engines (dispatch, combine, prepare)", exchange_fields, make_exchange};

struct CollectiveName {
  const char* name;
  CollectiveKind kind;
};
constexpr CollectiveName collective_words[] = {{"all_reduce", CollectiveKind::all_reduce},
    {"all_gather", CollectiveKind::all_gather}, {"reduce_scatter", CollectiveKind::reduce_scatter},
    {"all_to_all", CollectiveKind::all_to_all}, {"send_recv", CollectiveKind::send_recv},
    {"broadcast", CollectiveKind::broadcast}, {"reduce", CollectiveKind::reduce}};

/// "All-Reduce", "allreduce" and "all_reduce" are one.
std::string letters(std::string_view text) {
  std::string out = lower_case(text);
  std::erase_if(out, [](unsigned char c) { return std::isalpha(c) == 0; });
  return out;
}

bool column_names(const QueryField& field, const std::string& header) {
  if (letters(header) == letters(field.name) && !letters(header).empty()) return true;
  for (std::size_t at = 0; at < field.columns.size();) {
    const std::size_t end = std::min(field.columns.find(' ', at), field.columns.size());
    if (letters(field.columns.substr(at, end - at)) == letters(header)) return true;
    at = end + 1;
  }
  return false;
}

/// Two letters in another order, or one more or less at an end: "dtpye" of dtype, "node" of nodes.
bool is_slip(std::string column, std::string name) {
  if (column.size() < 3 || name.size() < 3) return false;
  if (column.starts_with(name) || name.starts_with(column))
    return std::max(column.size(), name.size()) - std::min(column.size(), name.size()) == 1;
  std::ranges::sort(column), std::ranges::sort(name);
  return column == name;
}

/// Fails at the first column that is nearly a field's name, where no column is that field: it is a slip. Others say
/// what the table's owner wants.
Expected<void> check_columns(const QueryKind& kind, const std::vector<std::string>& header, const std::string& where) {
  std::vector<std::string> missing;
  for (const QueryField& field : kind.fields)
    if (std::ranges::none_of(header, [&](const std::string& column) { return column_names(field, column); }))
      missing.emplace_back(field.name);
  for (const std::string& column : header) {
    const bool known = std::ranges::any_of(kind.fields, [&](const auto& field) { return column_names(field, column); });
    const auto near =
        std::ranges::find_if(missing, [&](const auto& name) { return is_slip(lower_case(column), name); });
    if (!known && near != missing.end())
      return fail(where, fmt::format("unknown column '{:.60}'", column), fmt::format("did you mean '{}'?", *near));
  }
  return {};
}

}  // namespace

std::vector<std::string> kernel_kinds() {
  std::vector<std::string> out;
  for (const QueryKind& kind : kinds) out.emplace_back(kind.id);
  for (const MemoryOp& op : memory_ops()) out.emplace_back(op.id);
  return out;
}

Expected<const QueryKind*> find_kernel_kind(const std::string& name) {
  for (const QueryKind& kind : kinds)
    if (kind.id == name) return &kind;
  if (find_memory_op(name) != nullptr) return &memory_kind;
  return fail(name.substr(0, 60), "unknown kernel", name_hint(name, kernel_kinds()));
}

const QueryKind& collective_kind() { return collectives; }
const QueryKind& exchange_kind() { return exchanges; }

std::optional<ExchangeDirection> exchange_direction_of(std::string_view name) {
  for (const auto direction : {ExchangeDirection::prepare, ExchangeDirection::dispatch, ExchangeDirection::combine})
    if (letters(name) == to_text(direction)) return direction;
  return std::nullopt;
}

Expected<std::optional<ExchangeKernel>> exchange_kernel_of(const FieldValues& values) {
  if (text_of(values, "kernel") == "any") return std::nullopt;
  constexpr std::pair<const char*, ExchangeKernel> words[] = {{"low_latency", ExchangeKernel::low_latency},
      {"normal", ExchangeKernel::normal}, {"nvlink_two_sided", ExchangeKernel::nvlink_two_sided},
      {"nvlink_one_sided", ExchangeKernel::nvlink_one_sided}};
  TRY(const auto kernel, one_of(values, "kernel", words));
  return kernel;
}

Expected<CollectiveKind> parse_collective_kind(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const CollectiveName& row : collective_words) {
    if (letters(row.name) == letters(name)) return row.kind;
    names.emplace_back(row.name);
  }
  for (const char* name : {"dispatch", "combine", "prepare"}) names.emplace_back(name);
  return fail(where, fmt::format("unknown collective '{}'", name.substr(0, 60)), name_hint(name, names));
}

Expected<FieldValues> completed(const QueryKind& kind, FieldValues values, const std::string& where) {
  for (const QueryField& field : kind.fields) {
    if (values.find(field.name) != values.end()) continue;
    if (field.otherwise.empty()) return fail(where, fmt::format("{} is missing", field.name), std::string(field.doc));
    const auto other = values.find(field.otherwise);  // "keys" are as many as "seq"
    values.emplace(field.name, other == values.end() ? FieldValue{std::string(field.otherwise), where} : other->second);
  }
  return values;
}

Expected<std::map<std::string, std::size_t, std::less<>>> columns_of(
    const QueryKind& kind, const std::vector<std::string>& header, const std::string& where) {
  TRY(check_columns(kind, header, where));
  std::map<std::string, std::size_t, std::less<>> out;
  for (const QueryField& field : kind.fields) {
    for (std::size_t i = 0; i < header.size(); ++i)
      if (column_names(field, header[i]) && !out.emplace(field.name, i).second)
        return fail(where,
            fmt::format(
                "two columns for {}: '{}' and '{}'", field.name, header[out.find(field.name)->second], header[i]),
            "one of them");
    if (field.otherwise.empty() && !out.contains(field.name))
      return fail(where, fmt::format("no column {}", field.name),
          field.columns.empty() ? std::string(field.doc) : fmt::format("{}; also called {}", field.doc, field.columns));
  }
  return out;
}

}  // namespace stepcast::ask
