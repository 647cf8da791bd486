#include "studies/calibrate/own_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>

#include "dataflow/lower/lower.h"
#include "studies/calibrate/step_queries.h"
#include "studies/run/fields.h"
#include "studies/run/split/mapping_text.h"
#include "studies/run/split/split.h"

namespace stepcast::calibration {
namespace {

/// How a step is cut into one GPU's work.
struct OwnVariant {
  std::int64_t tensor_ways = 1, expert_ways = 1, micro_batch = 1;
};

// Shorter sequences are trained a few at a time, so that products stay large.
constexpr std::int64_t short_sequence = 2048;
constexpr std::int64_t ways_of_a_node = 8;  ///< of a node

/// Experts go over the ranks that share the other layers, so that each keeps as many rows; and over a node of whole
/// layers.
std::vector<OwnVariant> variants_of(const NetworkSpec& network, std::int64_t sequence) {
  const auto experts_divide = [&](std::int64_t ways) {
    return network.experts.count > 0 && network.experts.count % ways == 0;
  };
  std::vector<OwnVariant> out;
  for (std::int64_t batch = 1; batch <= (sequence <= short_sequence ? 4 : 1); batch *= 2) {
    for (std::int64_t ways = 1; ways <= ways_of_a_node; ways *= 2)
      out.push_back({ways, experts_divide(ways) ? ways : 1, batch});
    if (experts_divide(ways_of_a_node)) out.push_back({1, ways_of_a_node, batch});
  }
  return out;
}

/// What predict makes of --tp and --ep and nothing else.
Split split_of(const NetworkSpec& network, const OwnVariant& variant, std::int64_t sequence) {
  Split split;
  split.tp = variant.tensor_ways;
  split.ep = variant.expert_ways;
  split.dp = std::max<std::int64_t>(1, variant.expert_ways / variant.tensor_ways);
  split.experts = network.experts.count > 0;
  split.vocabulary = split.tp > 1 && network.vocab % split.tp == 0;
  split.sequence = split.tp > 1 && sequence % split.tp == 0;
  return split;
}

Expected<Program> program_of(
    const NetworkSpec& network, const OwnVariant& variant, const OwnShapesRequest& request, std::int64_t sequence) {
  const Split split = split_of(network, variant, sequence);
  Plan plan;
  plan.gpus = split.tp * split.dp;
  plan.micro_batch = variant.micro_batch;
  plan.global_batch = variant.micro_batch * split.dp;
  plan.sequence = sequence;
  plan.precision = request.precision;
  const SplitSize size{plan.gpus, plan.micro_batch, plan.global_batch, plan.sequence};
  TRY(check_split(split, size, network, run::flag_of));
  plan.mapping = mapping_text(split);
  plan.mapping_where = "mapping of own shapes";
  return lower(network, plan, request.stack);
}

/// Equal for equal questions.
struct KeyOf {
  std::string operator()(const GemmQuery& g) const {
    return fmt::format(
        "gemm {} {} {} {} {} {}", g.m, g.n, g.k, g.batch, to_text(g.precision), static_cast<int>(g.layout));
  }
  std::string operator()(const AttentionQuery& a) const {
    return fmt::format(
        "attention {} {} {} {} {} {}", a.batch, a.queries, a.heads, a.kv_heads, a.head_dim, static_cast<int>(a.pass));
  }
  std::string operator()(const MemoryQuery& m) const { return fmt::format("{} {} {}", m.op->id, m.rows, m.columns); }
  template <typename Other> std::string operator()(const Other&) const {
    return {};
  }  // steps of a lowered network ask for no others
};

/// Shares of a step's time by question, summed over the variants.
class Weights {
 public:
  void add(const std::vector<TimedQuery>& queries, double weight) {
    Seconds step;
    for (const TimedQuery& one : queries) step += one.time;
    for (const TimedQuery& one : queries) {
      const auto [at, fresh] = index_.try_emplace(std::visit(KeyOf{}, one.query), rows_.size());
      if (fresh) rows_.push_back({one.query, 0});
      rows_[at->second].share += weight * (one.time / step);
    }
  }
  std::vector<Query> heaviest_first() && {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.share > b.share; });
    std::vector<Query> out;
    for (Row& row : rows_) out.push_back(row.query);
    return out;
  }

 private:
  struct Row {
    Query query;
    double share = 0;
  };
  std::map<std::string, std::size_t> index_;
  std::vector<Row> rows_;
};

Expected<std::int64_t> sequence_of(const NetworkSpec& network, const OwnShapesRequest& request) {
  const std::int64_t sequence = request.sequence > 0 ? request.sequence : network.sequence;
  if (sequence == 0)
    return fail("--seq", fmt::format("{} does not say how long its sequences are", network.id), "--seq 8k");
  return sequence;
}

}  // namespace

Expected<LayerShapes> layer_shapes(const NetworkSpec& network, const OwnShapesRequest& request) {
  TRY(const auto sequence, sequence_of(network, request));
  TRY(const auto program, program_of(network, {.micro_batch = request.micro_batch}, request, sequence));
  const StepSizes sizes{network, sequence, request.micro_batch, 1, request.precision};
  LayerQueries layer = layer_queries(program, sizes, request.gpu);
  LayerShapes shapes;
  shapes.left_out = std::move(layer.left_out);
  for (const TimedQuery& one : layer.queries)
    shapes.calls.insert(shapes.calls.end(), static_cast<std::size_t>(std::lround(one.calls)), one.query);
  return shapes;
}

Expected<std::vector<Query>> own_shapes(const NetworkSpec& network, const OwnShapesRequest& request) {
  TRY(const auto sequence, sequence_of(network, request));
  Weights weights;
  for (const OwnVariant& variant : variants_of(network, sequence)) {
    const bool whole = variant.tensor_ways == 1 && variant.expert_ways == 1;
    const auto program = program_of(network, variant, request, sequence);
    if (!program && whole) return tl::unexpected(program.error());
    if (!program) continue;  // heads or widths that do not divide
    const StepSizes sizes{network, sequence, variant.micro_batch, variant.tensor_ways, request.precision};
    // One sequence at a time is what a split over many GPUs leaves; more of them only make the same products longer.
    weights.add(queries_of(*program, sizes, request.gpu), 1 / static_cast<double>(variant.micro_batch));
  }
  return std::move(weights).heaviest_first();
}

}  // namespace stepcast::calibration
