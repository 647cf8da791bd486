#include "calibrate/import/tables/plain_row.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/plain_words.h"
#include "calibrate/rows/measurement_context.h"
#include "model/base/text.h"
#include "model/catalog.h"

namespace stepcast::calibrate {
namespace {

struct Spellings {
  std::string_view word;
  std::vector<std::string_view> others;
};
const Spellings field_spellings[] = {
    {"batch", {"batch_size", "batch_count", "b"}},
    {"dtype", {"precision", "data_type", "datatype", "type", "t{ct}", "t"}},
    {"queries", {"seqlen_q", "q_len", "query_len"}},
    {"keys", {"seqlen_k", "kv_len", "context_len"}},
    {"seqlen", {"seq_len", "sequence_length", "positions", "s"}},
    {"heads", {"num_heads", "n_heads", "num_attention_heads"}},
    {"kv_heads", {"num_kv_heads", "num_key_value_heads"}},
    {"head_dim", {"headdim", "head_size"}},
    {"tokens", {"num_tokens"}},
    {"hidden", {"hidden_size"}},
    {"inter", {"inter_size", "intermediate_size"}},
    {"topk", {"top_k"}},
    {"experts", {"num_experts"}},
    {"tensor_ways", {"moe_tp_size"}},
    {"expert_ways", {"moe_ep_size"}},
    {"op", {"operation", "operator"}},
    {"kind", {"collective"}},
    {"rows", {}},
    {"columns", {"cols", "row_length"}},
    {"elements", {"numel", "num_elements", "elements{io}"}},
    {"bytes", {"size_bytes", "message_bytes"}},
    {"gpus", {"ranks", "num_gpus", "num_ranks", "world_size", "nranks"}},
    {"nodes", {"num_nodes", "nnodes"}},
};

/// Reads the row's numbers; the first mistake stays.
class PlainReader {
 public:
  PlainReader(const PlainFields& fields, const std::string& where) : fields_(fields), where_(where) {}

  double count(std::string_view word, double otherwise = 0) {
    const auto text = find_field(fields_, word);
    if (!text && otherwise > 0) return otherwise;
    const double value = number(word);
    if (!error_ && !(value >= 1 && value <= largest_count && value == std::floor(value)))
      error_ = Error{where_, fmt::format("{} = {}", word, value), "a whole number from 1"};
    return error_ ? 1 : value;
  }
  double number(std::string_view word) {
    const auto text = find_field(fields_, word);
    if (!text && !error_) error_ = Error{where_, fmt::format("nothing says '{}'", word), "a column of this name"};
    if (error_) return 1;
    const auto value = finite_number(*text, where_, fmt::format("column '{}'", word));
    if (!value) error_ = value.error();
    return value.value_or(1);
  }
  bool flag(std::string_view word, bool otherwise) {
    const auto text = find_field(fields_, word);
    if (!text) return otherwise;
    const std::string lower = lower_case(*text);
    const bool yes = lower == "1" || lower == "true" || lower == "yes",
               no = lower == "0" || lower == "false" || lower == "no";
    if (!yes && !no && !error_)
      error_ = Error{where_, fmt::format("'{:.40}' in column '{}'", *text, word), "true or false"};
    return yes;
  }
  ElementType element(const ImportOptions& options) {
    const auto text = find_field(fields_, "dtype");
    if (!text && options.precision.empty()) refuse("no element type", "a column dtype, or --precision bf16");
    if (error_) return {};
    const auto type = element_type_of(text ? *text : std::string_view(options.precision));
    if (!type)
      refuse(fmt::format("unknown element type '{:.40}'", text ? *text : std::string_view(options.precision)),
          "one of: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4");
    return type.value_or(ElementType{});
  }
  void refuse(std::string what, std::string hint) {
    if (!error_) error_ = Error{where_, std::move(what), std::move(hint)};
  }
  Expected<Query> answer(Query query) const {
    if (error_) return tl::unexpected<Error>(*error_);
    return query;
  }
  [[nodiscard]] const PlainFields& fields() const { return fields_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr double largest_count = 1e15;
  const PlainFields& fields_;
  const std::string& where_;
  std::optional<Error> error_;
};

GemmLayout layout_of(PlainReader& row) {
  const auto text = find_field(row.fields(), "layout");
  const std::string name = text ? lower_case(*text) : "tn";
  if (name == "nn") return GemmLayout::nn;
  if (name == "nt") return GemmLayout::nt;
  if (name != "tn") row.refuse(fmt::format("layout '{:.20}'", name), "one of: tn, nn, nt");
  return GemmLayout::tn;
}

Query gemm_query(PlainReader& row, const ImportOptions& options) {
  const ElementType type = row.element(options);
  return GemmQuery{row.count("m"), row.count("n"), row.count("k"), row.count("batch", 1), type.precision,
      type.block_scaled, layout_of(row), row.flag("casts_x", false)};
}

Query attention_query(PlainReader& row, const ImportOptions& options) {
  AttentionQuery a;
  const bool both = find_field(row.fields(), "seqlen").has_value();
  a.queries = row.count(both ? "seqlen" : "queries");
  a.keys = both ? a.queries : row.count("keys", a.queries);
  a.batch = row.count("batch", 1);
  a.heads = row.count("heads");
  a.kv_heads = row.count("kv_heads", a.heads);
  a.head_dim = row.count("head_dim");
  if (const auto text = find_field(row.fields(), "pass")) {
    const auto pass = attention_pass_of(*text);
    if (!pass) row.refuse(fmt::format("pass '{:.40}'", *text), "one of: fwd, bwd, fwd+bwd, decode");
    a.pass = pass.value_or(AttentionPass::forward);
  }
  a.causal = row.flag("causal", true);
  a.precision = row.element(options).precision;
  if (a.keys < a.queries && a.causal)
    row.refuse(fmt::format("{} keys for {} causal queries", a.keys, a.queries), "keys from queries on");
  return a;
}

Query moe_query(PlainReader& row, const ImportOptions& options) {
  MoeQuery moe{row.count("tokens"), row.count("hidden"), row.count("inter"), row.count("topk"), row.count("experts"),
      row.count("tensor_ways", 1), row.count("expert_ways", 1), 0, row.element(options).precision};
  if (find_field(row.fields(), "skew")) moe.skew = row.number("skew");
  if (moe.skew < 0)
    row.refuse(fmt::format("skew = {}", moe.skew), "0 for balanced loads, or the exponent of their power law");
  if (moe.topk > moe.experts)
    row.refuse(fmt::format("top {} of {} experts", moe.topk, moe.experts), "topk up to experts");
  return moe;
}

Query memory_query(PlainReader& row, const ImportOptions& options, const MemoryOp& op) {
  MemoryQuery memory{&op, 1, 1, 2};
  // Along what a norm or a softmax runs matters; without it the row says too little.
  const bool one_row = op.group == "elementwise" || op.group == "copy" || op.group == "activation" ||
                       op.group == "optimizer" || op.group == "quantize";
  if (find_field(row.fields(), "elements") && one_row) {
    memory.columns = row.count("elements");
  } else {
    memory.rows = row.count("rows");
    memory.columns = row.count("columns");
  }
  if (find_field(row.fields(), "element_bytes")) memory.element_bytes = row.number("element_bytes");
  else memory.element_bytes = operand_bytes(row.element(options).precision);
  if (!(memory.element_bytes > 0 && memory.element_bytes <= 8))
    row.refuse(fmt::format("{} bytes per element", memory.element_bytes), "0.5 to 8");
  return memory;
}

Query collective_query(PlainReader& row, const ImportOptions& options, CollectiveKind kind) {
  const double ranks = row.count("gpus", static_cast<double>(options.ranks));
  const double nodes = row.count("nodes", static_cast<double>(std::max<std::int64_t>(options.nodes, 1)));
  const CollectiveQuery c{
      kind, static_cast<std::int64_t>(ranks), static_cast<std::int64_t>(nodes), Bytes(row.count("bytes"))};
  if (c.ranks < 2 || c.nodes > c.ranks || c.ranks % c.nodes != 0)
    row.refuse(fmt::format("{} GPUs on {} nodes", c.ranks, c.nodes), "2 GPUs or more, the same number on each node");
  return c;
}

/// "gemm", "attention", "moe", an op or a collective: what the user says, else the row's word, else by its columns.
std::string kind_of_row(const PlainFields& fields, const ImportOptions& options) {
  if (!options.kind.empty()) return lower_case(options.kind);
  for (const std::string_view word : {"kind", "op"})
    if (const auto text = find_field(fields, word)) return lower_case(*text);
  if (find_field(fields, "m") && find_field(fields, "n") && find_field(fields, "k")) return "gemm";
  if (find_field(fields, "heads") && find_field(fields, "head_dim")) return "attention";
  if (find_field(fields, "experts") && find_field(fields, "topk")) return "moe";
  return {};
}

}  // namespace

std::optional<std::string_view> find_field(const PlainFields& fields, std::string_view word) {
  const auto told = [&](std::string_view name) -> std::optional<std::string_view> {
    const auto at = fields.find(name);
    if (at == fields.end()) return std::nullopt;
    fields.read.insert(at->first);
    return at->second;
  };
  if (const auto text = told(word)) return text;
  for (const Spellings& row : field_spellings) {
    if (row.word != word) continue;
    for (const std::string_view other : row.others)
      if (const auto text = told(other)) return text;
  }
  return std::nullopt;
}

bool makes_query(const PlainFields& fields, const ImportOptions& options) {
  if (!options.kind.empty() || !kind_of_row(fields, options).empty()) return true;
  return find_field(fields, "kind").has_value() || find_field(fields, "op").has_value();
}

Expected<Query> plain_query(const PlainFields& fields, const std::string& where, const ImportOptions& options) {
  PlainReader row(fields, where);
  const std::string kind = kind_of_row(fields, options);
  // Evaluated before answer(), which looks at what went wrong.
  const auto done = [&](const Query& query) { return row.answer(query); };
  if (kind == "gemm" || kind == "matmul" || kind == "linear" || kind == "bmm") return done(gemm_query(row, options));
  if (kind == "attention") return done(attention_query(row, options));
  if (kind == "moe") return done(moe_query(row, options));
  if (const auto collective = collective_kind_of(kind)) return done(collective_query(row, options, *collective));
  if (const MemoryOp* op = find_memory_op(kind)) return done(memory_query(row, options, *op));
  if (kind.empty())
    return fail(where, "nothing says what was timed",
        "columns m, n, k or a column kind: gemm, attention, moe, norm, all_reduce, ...");
  std::vector<std::string> names{"gemm", "attention", "moe", "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
      "send_recv", "broadcast", "reduce"};
  for (const MemoryOp& op : memory_ops()) names.emplace_back(op.id);
  return fail(where, fmt::format("unknown kind '{:.40}'", kind), name_hint(kind, names));
}

Expected<MeasurementContext> plain_context(const PlainFields& fields, const std::string& where) {
  MeasurementContext context;
  constexpr std::string_view not_from_tables[] = {"gpu", "cache", "beside"};
  for (const detail::ContextText& field : detail::context_texts()) {
    if (std::find(std::begin(not_from_tables), std::end(not_from_tables), field.name) != std::end(not_from_tables))
      continue;
    if (const auto text = find_field(fields, field.name)) context.*field.value = std::string(*text);
  }
  if (context.regime != "burst" && context.regime != "sustained")
    return fail(where, fmt::format("regime '{:.40}'", context.regime), "burst or sustained");
  const auto gpu = find_field(fields, "gpu");
  if (gpu) context.gpu = gpu_of_device(*gpu);
  if (gpu && context.gpu.empty()) {
    const auto known = find_row(built_in().gpus, std::string(*gpu), "gpu");
    return fail(
        where, fmt::format("unknown GPU '{:.60}'", *gpu), known ? "a name of the catalogue" : known.error().hint);
  }
  if (!gpu && !context.device.empty()) context.gpu = gpu_of_device(context.device);
  return context;
}

Expected<void> read_plain_extras(const PlainFields& fields, const std::string& where, Measurement& into) {
  PlainReader row(fields, where);
  if (find_field(fields, "repeats")) into.repeats = static_cast<int>(std::min(row.count("repeats"), 1e9));
  if (find_field(fields, "power_w")) into.power_w = row.number("power_w");
  if (into.power_w < 0) row.refuse(fmt::format("{} W", into.power_w), "a power from 0");
  if (row.error()) return tl::unexpected<Error>(*row.error());
  return {};
}

}  // namespace stepcast::calibrate
