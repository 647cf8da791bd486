// Megatron-LM's classes and flags. A class names a loop and where input and output are kept between operators:
// ColumnParallelLinear splits n, RowParallelLinear k (NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py).
// "Column" means the columns of W in Y = X W; the stored tensor is transposed, so its rows are cut.
#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/cluster/names.h"
#include "model/base/contains.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

/// Where an operand is kept, relative to how its operator uses it.
enum class Kept : std::uint8_t { any, as_used, whole, in_rows, in_shards, elsewhere };

/// What kind of product the operator is.
enum class LinearKind : std::uint8_t { with_weight, lookup, of_activations };

struct MegatronClass {
  LoopRole role;
  LinearKind kind;
  Kept input, weight, output;
  const char* name;
  const char* flags;  ///< {} = ranks of the axis
  const char* why;
};

constexpr const char* tp_flag = "--tensor-model-parallel-size {}";
constexpr const char* sp_flag = "--tensor-model-parallel-size {} --sequence-parallel";
constexpr const char* column_why = "n is split: input needed whole, output in pieces of n, nothing reduced";
constexpr const char* row_why = "k is split: every rank makes a part of the sum";

constexpr std::array megatron_classes = {
    MegatronClass{LoopRole::columns, LinearKind::with_weight, Kept::as_used, Kept::as_used, Kept::as_used,
        "ColumnParallelLinear(gather_output=False)", tp_flag, column_why},
    MegatronClass{LoopRole::columns, LinearKind::with_weight, Kept::in_rows, Kept::as_used, Kept::as_used,
        "ColumnParallelLinear(gather_output=False, sequence_parallel=True)", sp_flag,
        "n is split and the input is kept in pieces of m: it is gathered first"},
    MegatronClass{LoopRole::columns, LinearKind::with_weight, Kept::as_used, Kept::as_used, Kept::whole,
        "ColumnParallelLinear(gather_output=True)", tp_flag, "n is split and the output is gathered"},
    MegatronClass{LoopRole::reduced, LinearKind::with_weight, Kept::as_used, Kept::as_used, Kept::whole,
        "RowParallelLinear(input_is_parallel=True)", tp_flag, row_why},
    MegatronClass{LoopRole::reduced, LinearKind::with_weight, Kept::as_used, Kept::as_used, Kept::in_rows,
        "RowParallelLinear(input_is_parallel=True, sequence_parallel=True)", sp_flag,
        "k is split and the sum is scattered in pieces of m"},
    MegatronClass{LoopRole::reduced, LinearKind::with_weight, Kept::whole, Kept::as_used, Kept::whole,
        "RowParallelLinear(input_is_parallel=False)", tp_flag,
        "k is split and each rank cuts its piece from a whole input"},
    MegatronClass{LoopRole::reduced, LinearKind::lookup, Kept::any, Kept::as_used, Kept::whole,
        "VocabParallelEmbedding", tp_flag, "the table's rows are split: a rank without the row adds zero"},
    MegatronClass{LoopRole::reduced, LinearKind::lookup, Kept::any, Kept::as_used, Kept::in_rows,
        "VocabParallelEmbedding(reduce_scatter_embeddings=True)", sp_flag,
        "the table's rows are split and the sum is scattered in pieces of the positions"},
    MegatronClass{LoopRole::rows, LinearKind::with_weight, Kept::any, Kept::as_used, Kept::any, "data parallelism",
        "data-parallel size {} (--context-parallel-size where the loop counts positions)",
        "m is split and every rank keeps the whole weight"},
    MegatronClass{LoopRole::rows, LinearKind::with_weight, Kept::any, Kept::in_shards, Kept::any,
        "fully sharded data parallelism", "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params",
        "m is split and the weight is kept in shards, gathered before use"},
    MegatronClass{LoopRole::batch, LinearKind::with_weight, Kept::any, Kept::as_used, Kept::any, "expert parallelism",
        "--expert-model-parallel-size {}", "the loop indexes input, weight and output: each rank has its own problems"},
    MegatronClass{LoopRole::rows, LinearKind::of_activations, Kept::any, Kept::in_shards, Kept::any,
        "context parallelism", "--context-parallel-size {} (--cp-comm-type p2p or all_gather)",
        "queries are split, and the other operand is kept in pieces of the positions but needed whole"},
    MegatronClass{LoopRole::batch, LinearKind::of_activations, Kept::as_used, Kept::as_used, Kept::as_used,
        "tensor or data parallelism inside attention", "no flag of its own",
        "the loop indexes all three operands: each rank has its own heads or sequences"},
    MegatronClass{LoopRole::batch, LinearKind::of_activations, Kept::any, Kept::any, Kept::any,
        "context parallelism by heads (Ulysses)", "--context-parallel-size {} --cp-comm-type a2a",
        "the loop indexes all three operands, which are kept in pieces of another"},
};

bool is_row_loop(const OperatorPlacement& op, const OperandPlacement& operand, Slot slot) {
  return slot >= 0 && role_of(op, operand.loops[slot]) == LoopRole::rows;
}

bool fits(Kept wanted, const OperatorPlacement& op, const OperandPlacement* operand, std::size_t part) {
  if (wanted == Kept::any) return true;
  if (operand == nullptr) return wanted == Kept::as_used;
  const Slot home = operand->home[part], used = operand->used[part];
  switch (wanted) {
    case Kept::as_used: return home == used;
    case Kept::whole: return home == replicated && used != replicated;
    case Kept::in_rows: return home != used && is_row_loop(op, *operand, home);
    case Kept::in_shards: return home != used && (home == flat_shard || home >= 0);
    default: return false;
  }
}

std::string kept_text(const OperandPlacement* operand, std::size_t part) {
  if (operand == nullptr) return "no such operand";
  const Slot home = operand->home[part];
  const std::string where = home == replicated    ? "whole"
                            : home == partial_sum ? "as an unfinished sum"
                            : home == flat_shard  ? "in flat shards"
                                                  : "in pieces of " + operand->loops[home];
  return fmt::format("{} is kept {}", operand->name, where);
}

LinearKind kind_of(const PlacementView& view, std::size_t op, LoopRole role) {
  const Operator& o = view.network.blocks.front().operators[op];
  const bool lookup = o.kind == OperatorKind::select || o.function == "select";
  if (lookup && role == LoopRole::reduced) return LinearKind::lookup;
  return parts_of(view.operators[op]).weight->weight ? LinearKind::with_weight : LinearKind::of_activations;
}

/// Pointwise operators, sorts and routes have no class: the names speak of products.
bool is_product(const Operator& op) {
  return op.kind == OperatorKind::einsum || op.kind == OperatorKind::select || op.kind == OperatorKind::attention;
}

/// " with ZeRO-1: --use-distributed-optimizer" where homes of gradients and optimizer states are sharded on the axis.
std::string sharded_states(const PlacementView& view, const std::string& axis) {
  bool grads = false, optimizer = false;
  for (const Statement& statement : view.statements)
    if (const auto* home = std::get_if<HomeStatement>(&statement.body))
      for (const HomePlace& place : home->places)
        if (place.what != "full" && place.what != "partial" && contains(place.axes, axis)) {
          grads = grads || home->what == "grads";
          optimizer = optimizer || home->what == "optimizer";
        }
  if (!optimizer) return {};
  return grads ? ", ZeRO-2: --data-parallel-sharding-strategy optim_grads" : ", ZeRO-1: --use-distributed-optimizer";
}

NameRow class_row(const PlacementView& view, std::size_t index, std::size_t part) {
  const OperatorPlacement& op = view.operators[index];
  const OperatorParts parts = parts_of(op);
  const MeshPart& axis = view.parts[part];
  const LoopRole role = role_of(op, op.split[part]);
  NameRow row{"Megatron", op.name, axis.name,
      op.split[part].empty() ? "nothing" : fmt::format("{} ({})", op.split[part], to_text(role)), {}, {}};
  if (role == LoopRole::none) {
    row.why =
        fmt::format("the operator does the same work on all {} ranks; {}", axis.size, kept_text(parts.weight, part));
    return row;
  }
  if (!is_product(view.network.blocks.front().operators[index])) {
    row.why = "no product: it takes its operands in the pieces that their products leave, whatever splits those";
    return row;
  }
  for (const MegatronClass& candidate : megatron_classes) {
    if (candidate.role != role || candidate.kind != kind_of(view, index, role)) continue;
    if (!fits(candidate.input, op, parts.input, part) || !fits(candidate.weight, op, parts.weight, part) ||
        !fits(candidate.output, op, parts.output, part))
      continue;
    row.name = fmt::format("{}, {}", candidate.name, fmt::format(fmt::runtime(candidate.flags), axis.size));
    if (role == LoopRole::rows) row.name += sharded_states(view, axis.axis);
    row.why = candidate.why;
    return row;
  }
  row.why = fmt::format("no class splits {} where {}, {} and {}", to_text(role), kept_text(parts.input, part),
      kept_text(parts.weight, part), kept_text(parts.output, part));
  return row;
}

// Reading.

struct LayerOption {
  const char* word;
  const char* statement;
};  ///< {0} = axis
struct LayerRow {
  const char* name;
  const char* op;
  const char* split;
  std::array<LayerOption, 3> options;
};

constexpr std::array layer_rows = {
    LayerRow{"ColumnParallelLinear", "O[m,n] += I[m,k] * W[k,n]", "n",
        {{{"sequence_parallel", "home I: m on {0}"}, {"gather_output", "home O: full on {0}"}, {"", ""}}}},
    LayerRow{"RowParallelLinear", "O[m,n] += I[m,k] * W[k,n]", "k",
        {{{"sequence_parallel", "home O: m on {0}"}, {"input_is_parallel=False", "home I: full on {0}"},
            {"input_is_parallel", ""}}}},
    LayerRow{"VocabParallelEmbedding", "O[m,n] += select W[k,n], I[m]", "k",
        {{{"reduce_scatter_embeddings", "home O: m on {0}"}, {"", ""}, {"", ""}}}},
};

/// "sequence_parallel=True" counts as "sequence_parallel"; "=False" is the default of all but one and says nothing.
std::string option_word(std::string word) {
  if (word.ends_with("=True")) word.resize(word.size() - 5);
  return word;
}

}  // namespace

std::vector<NameRow> megatron_names(const PlacementView& view) {
  std::vector<NameRow> rows;
  for (std::size_t o = 0; o < view.operators.size(); ++o)
    for (std::size_t p = 0; p < view.parts.size(); ++p)
      if (view.parts[p].atom >= 0 && parts_of(view.operators[o]).weight != nullptr)
        rows.push_back(class_row(view, o, p));
  return rows;
}

Expected<MappingProgram> read_megatron(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  std::string line, written;
  int number = 0;
  const std::vector<std::string> names = names_of(layer_rows, &LayerRow::name);
  const char* const form = "ColumnParallelLinear m:4096 n:14336 k:4096 tp:8 sequence_parallel";
  while (std::getline(lines, line)) {
    ++number;
    const std::string where = fmt::format("{}:{}:1", file, number);
    line = std::string(stripped(line.substr(0, line.find('#'))));
    if (line.empty()) continue;
    if (!written.empty())
      return fail(where, "found a second layer", "one layer per file; several layers are a program of the notation");
    std::istringstream words(line);
    std::string word, axis, mesh, dims, statements;
    words >> word;
    const auto layer = std::ranges::find(layer_rows, word, &LayerRow::name);
    if (layer == layer_rows.end())
      return fail(where, fmt::format("found '{}', expected a layer class", word), name_hint(word, names));
    std::vector<std::string> options, homes;
    while (words >> word) {
      if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
        const std::string name = word.substr(0, colon);
        if (name == "m" || name == "n" || name == "k") {
          dims += " " + word;
          continue;
        }
        if (!axis.empty())
          return fail(where, fmt::format("found a second axis '{}'", word), "a layer lies on one axis");
        axis = name;
        mesh = word;
        continue;
      }
      options.push_back(option_word(word));
    }
    if (axis.empty()) return fail(where, "the layer has no axis", fmt::format("as in '{}'", form));
    for (const std::string& option : options) {
      const auto known = std::ranges::find(layer->options, option, &LayerOption::word);
      std::vector<std::string> words_known;
      for (const LayerOption& row : layer->options)
        if (*row.word != 0) words_known.emplace_back(row.word);
      if (known == layer->options.end() || option.empty())
        return fail(where, fmt::format("{} has no option '{}'", layer->name, option), name_hint(option, words_known));
      if (*known->statement != 0) statements += fmt::format(fmt::runtime(known->statement), axis) + "\n";
    }
    written = fmt::format(
        "mesh {}\ndim{}\nlinear: {}\npar {} on {}\n{}", mesh, dims, layer->op, layer->split, axis, statements);
    if (dims.empty()) return fail(where, "the layer has no extents", fmt::format("as in '{}'", form));
  }
  if (written.empty()) return fail(file, "the file names no layer", fmt::format("as in '{}'", form));
  TRY(auto program, parse(written, file));
  TRY(placement_view(program));
  return program;
}

}  // namespace stepcast::dataflow
