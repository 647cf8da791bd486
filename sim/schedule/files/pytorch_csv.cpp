// From cells to an order: which dialect, how many stages and micro-batches, where the stages lie.
#include "sim/schedule/files/pytorch_csv.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "sim/schedule/files/pytorch_cells.h"
#include "sim/schedule/order_fault.h"

namespace stepcast::sim {
namespace {

using pytorch::Cells;
using pytorch::CellStep;
using pytorch::Verb;

constexpr const char* dialect_flag = "--csv-dialect today (B = whole backward, I = input gradient) or --csv-dialect "
                                     "older (B = input gradient, BW = whole backward) decides";

struct DialectName {
  const char* name;
  CsvDialect dialect;
};
constexpr DialectName dialect_names[] = {
    {"detect", CsvDialect::detect}, {"today", CsvDialect::today}, {"older", CsvDialect::older}};

const CellStep* first_of(const Cells& cells, Verb verb) {
  const auto at = std::ranges::find(cells.steps, verb, &CellStep::verb);
  return at == cells.steps.end() ? nullptr : &*at;
}

std::vector<std::pair<int, int>> passes_with(const Cells& cells, Verb verb) {
  std::vector<std::pair<int, int>> passes;
  for (const CellStep& step : cells.steps) {
    if (step.verb == verb) passes.emplace_back(step.stage, step.micro_batch);
  }
  std::ranges::sort(passes);
  return passes;
}

/// Neither I nor BW. A fused B has no W of its own, an input gradient always has one: a whole step can be read in one
/// way at most, and a file that fits neither is refused rather than guessed.
Expected<CsvDialect> dialect_by_weight_grads(const Cells& cells) {
  const auto backward = passes_with(cells, Verb::backward);
  const auto weight = passes_with(cells, Verb::weight_grad);
  if (weight.empty()) return CsvDialect::today;
  if (backward == weight) return CsvDialect::older;
  return pytorch::refuse(cells, *first_of(cells, Verb::weight_grad),
      "leaves open what B means: some micro-batches have B and W, others one of them", dialect_flag);
}

Expected<CsvDialect> detect_dialect(const Cells& cells) {
  const CellStep* const input_grad = first_of(cells, Verb::input_grad);
  const CellStep* const fused = first_of(cells, Verb::backward_weight);
  if (input_grad != nullptr && fused != nullptr) {
    return pytorch::refuse(cells, *fused,
        fmt::format("is of the older dialect, but {} at {} of today's", pytorch::text_of(*input_grad),
            pytorch::place(cells, *input_grad)),
        dialect_flag);
  }
  if (input_grad != nullptr) return CsvDialect::today;
  if (fused != nullptr) return CsvDialect::older;
  return dialect_by_weight_grads(cells);
}

/// Nothing where the dialect lacks the verb.
std::optional<ActionKind> kind_under(CsvDialect dialect, Verb verb) {
  const bool today = dialect == CsvDialect::today;
  switch (verb) {
    case Verb::forward: return ActionKind::forward;
    case Verb::weight_grad: return ActionKind::weight_grad;
    case Verb::backward: return today ? ActionKind::backward : ActionKind::input_grad;
    case Verb::input_grad: return today ? std::optional(ActionKind::input_grad) : std::nullopt;
    case Verb::backward_weight: return today ? std::nullopt : std::optional(ActionKind::backward);
    default: return std::nullopt;
  }
}

/// Computing cells with what they do, in the file's order, and the sizes that they show.
struct Reading {
  const Cells& cells;
  std::vector<const CellStep*> steps;
  std::vector<Action> actions;
  Order order;
};

Expected<void> translate(Reading& reading, CsvDialect dialect) {
  for (const CellStep& step : reading.cells.steps) {
    if (!pytorch::computes(step.verb)) continue;
    const auto kind = kind_under(dialect, step.verb);
    if (!kind) {
      return pytorch::refuse(
          reading.cells, step, fmt::format("is not of the dialect '{}'", name_of(dialect)), dialect_flag);
    }
    reading.steps.push_back(&step);
    reading.actions.push_back({*kind, step.stage, step.micro_batch, step.with_next});
  }
  if (!reading.steps.empty()) return {};
  return fail(reading.cells.where, "the file has no computation", "forwards and backwards, as in 0F0 and 0B0");
}

/// 1 + the largest of `numbers`, which must be dense.
Expected<int> count_dense(const std::string& where, const char* what, std::vector<int> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == static_cast<int>(i)) continue;
    return fail(where, fmt::format("{} {} is there, but {} {} is not", what, numbers.back(), what, i),
        fmt::format("{} numbers from 0 on without gaps", what));
  }
  return static_cast<int>(numbers.size());
}

Expected<void> find_placement(Reading& reading) {
  Order& order = reading.order;
  const std::string& where = reading.cells.where;
  std::vector<int> stages, units;
  for (const Action& action : reading.actions) {
    stages.push_back(action.stage);
    units.push_back(action.micro_batch);
  }
  TRY(const auto stage_count, count_dense(where, "stage", std::move(stages)));
  TRY(const auto unit_count, count_dense(where, "micro-batch", std::move(units)));
  order.ranks = reading.cells.ranks;
  order.micro_batches = unit_count;
  order.rank_of.assign(static_cast<std::size_t>(stage_count), -1);
  for (const CellStep* step : reading.steps) {
    std::int32_t& rank = order.rank_of[step->stage];
    if (rank < 0) rank = step->rank;
    if (rank != step->rank)
      return pytorch::refuse(reading.cells, *step,
          fmt::format("is on rank {}, but the stage began on rank {}", step->rank, rank), "each stage on one rank");
  }
  if (stage_count % order.ranks != 0)
    return fail(where, fmt::format("{} stages on {} ranks", stage_count, order.ranks),
        "the same number of stages for every rank, one row per rank");
  order.chunks = stage_count / order.ranks;
  return {};
}

Expected<void> set_slices(Reading& reading, int slices) {
  Order& order = reading.order;
  if (slices < 1 || order.micro_batches % slices != 0) {
    return fail(reading.cells.where,
        fmt::format("{} units cannot be micro-batches of {} slices", order.micro_batches, slices),
        "a number of slices that divides them");
  }
  order.slices = slices;
  order.micro_batches /= slices;
  return {};
}

/// Half of the stages take half of the micro-batches each: two copies of the model.
void find_directions(Reading& reading) {
  Order& order = reading.order;
  if (order.stages() % 2 != 0 || order.micro_batches % 2 != 0) return;
  const auto own_half = [&](const Action& action) {
    return (action.stage < order.stages() / 2) == (action.micro_batch < order.units() / 2);
  };
  if (std::ranges::all_of(reading.actions, own_half)) order.directions = 2;
}

using StagePass = std::tuple<int, int, ActionKind, std::size_t>;  // stage, unit, kind, position

std::vector<StagePass> sorted_passes(const Reading& reading) {
  std::vector<StagePass> passes;
  for (std::size_t i = 0; i < reading.actions.size(); ++i) {
    const Action& action = reading.actions[i];
    passes.emplace_back(action.stage, action.micro_batch, action.kind, i);
  }
  std::ranges::sort(passes);
  return passes;
}

tl::unexpected<Error> missing(const Reading& reading, int stage, int unit, const char* what) {
  const int rank = reading.order.rank_of[stage];
  return fail(fmt::format("{}:{}", reading.cells.where, rank + 1),
      fmt::format("micro-batch {} has no {} on stage {}", unit, what, stage),
      fmt::format("one forward and one backward (or input and weight gradient) of each on row {}", rank + 1));
}

/// Every (stage, micro-batch) has its F and its backward once: what is missing or twice is named before order matters.
Expected<void> check_complete(const Reading& reading) {
  const Order& order = reading.order;
  const std::vector<StagePass> passes = sorted_passes(reading);
  const int each_way = order.units() / order.directions;
  std::size_t at = 0;
  for (int stage = 0; stage < order.stages(); ++stage) {
    for (int i = 0; i < each_way; ++i) {
      const int unit = order.direction_of(stage) * each_way + i;
      bool has[4] = {};
      for (; at < passes.size() && std::get<0>(passes[at]) == stage && std::get<1>(passes[at]) == unit; ++at) {
        const auto kind = static_cast<int>(std::get<2>(passes[at]));
        if (has[kind])
          return pytorch::refuse(reading.cells, *reading.steps[std::get<3>(passes[at])], "is there twice",
              "each micro-batch once per stage");
        has[kind] = true;
      }
      const auto there = [&](ActionKind kind) { return has[static_cast<int>(kind)]; };
      if (!there(ActionKind::forward)) return missing(reading, stage, unit, "forward");
      if (there(ActionKind::backward)) continue;
      if (!there(ActionKind::input_grad)) return missing(reading, stage, unit, "backward");
      if (!there(ActionKind::weight_grad)) return missing(reading, stage, unit, "weight gradient");
    }
  }
  return {};
}

/// The order's own check speaks of an action, which is a cell's; the order has those of the cells one by one.
Expected<void> check_at_cells(const Reading& reading) {
  const auto found = find_fault(reading.order);
  if (found) return {};
  const OrderFault& fault = found.error();
  if (fault.at) return pytorch::refuse(reading.cells, *reading.steps[*fault.at], fault.what, fault.hint);
  return tl::unexpected(error_in(reading.cells.where, error_of(fault, reading.order)));
}

void write_ranks(Reading& reading) {
  Order& order = reading.order;
  order.actions = reading.actions;
  order.begin.assign(static_cast<std::size_t>(order.ranks) + 1, 0);
  for (const CellStep* step : reading.steps) ++order.begin[step->rank + 1];
  for (int rank = 0; rank < order.ranks; ++rank) order.begin[rank + 1] += order.begin[rank];
}

std::vector<std::string> notes_on(const Cells& cells) {
  std::vector<std::string> notes;
  const auto carried =
      std::ranges::count_if(cells.steps, [](const CellStep& step) { return pytorch::carries(step.verb); });
  const auto handled = std::ranges::count_if(
      cells.steps, [](const CellStep& step) { return !pytorch::carries(step.verb) && !pytorch::computes(step.verb); });
  if (carried > 0)
    notes.push_back(fmt::format("{} sends and receives left out: the engine places messages itself", carried));
  if (handled > 0)
    notes.push_back(fmt::format("{} UNSHARD, RESHARD and REDUCE_GRAD left out: the order holds computation", handled));
  if (carried > 0 && cells.pauses)
    notes.emplace_back("empty cells beside communication: PyTorch itself refuses such a file");
  return notes;
}

}  // namespace

const char* name_of(CsvDialect dialect) {
  for (const DialectName& row : dialect_names) {
    if (row.dialect == dialect) return row.name;
  }
  return "?";
}

Expected<CsvDialect> find_csv_dialect(const std::string& name) {
  std::vector<std::string> names;
  for (const DialectName& row : dialect_names) {
    if (name == row.name) return row.dialect;
    names.emplace_back(row.name);
  }
  return fail("--csv-dialect", fmt::format("unknown dialect '{}'", name), name_hint(name, names));
}

Expected<CsvOrder> read_pytorch_csv(std::string_view text, const std::string& where, const CsvOptions& options) {
  TRY(const auto cells, pytorch::read_cells(text, where));
  TRY(const auto dialect,
      options.dialect == CsvDialect::detect ? detect_dialect(cells) : Expected<CsvDialect>(options.dialect));
  Reading reading{cells, {}, {}, {}};
  TRY(translate(reading, dialect));
  TRY(find_placement(reading));
  TRY(set_slices(reading, options.slices));
  find_directions(reading);
  TRY(check_complete(reading));
  write_ranks(reading);
  TRY(check_at_cells(reading));
  TRY(pytorch::check_messages(cells, reading.order));
  return CsvOrder{std::move(reading.order), dialect, notes_on(cells)};
}

std::vector<std::string> pytorch_actions(const Order& order, int rank) {
  std::vector<std::string> cells;
  bool paired = false;
  for (const Action& action : order.of_rank(rank)) {
    const std::string text =
        fmt::format("{}{}{}", action.stage, "FBIW"[static_cast<int>(action.kind)], action.micro_batch);
    if (paired) cells.back() += ";" + text + ")OVERLAP_F_B";
    else cells.push_back(action.with_next ? "(" + text : text);
    paired = action.with_next;
  }
  return cells;
}

std::string write_pytorch_csv(const Order& order) {
  std::string text;
  for (int rank = 0; rank < order.ranks; ++rank)
    text += fmt::format("{}\n", fmt::join(pytorch_actions(order, rank), ","));
  return text;
}

}  // namespace stepcast::sim
