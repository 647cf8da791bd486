// The answers of stepcast sweep: what was looked at and dismissed, the best configurations and which of them are tied,
// why the first one wins, and the command that forecasts it. JSON holds the same in base units.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/base/json_writer.h"
#include "studies/cli/console.h"
#include "studies/print/paint.h"
#include "studies/sweep/search/progress.h"
#include "studies/sweep/search/run.h"
#include "studies/sweep/search/verdict.h"

namespace stepcast::sweep {

/// What a constraint leaves nothing of.
struct WithoutWhere {
  SweepRow best;                ///< of the space without the constraint
  std::vector<Figure> figures;  ///< that the constraint mentions
};

/// What people call the parts of a sweep.
struct SweepNames {
  std::string network, machine, gpu, shard_source;
};  ///< shard_source: "" for all of the space

struct SweepAnswer {
  const Space* space = nullptr;
  SweptSpace swept;
  SweepNames names;
  std::uint64_t before = 0;  ///< configurations that an earlier run had done
  int threads = 1;
  bool ended_early = false;
  SweepVerdict verdict;
  std::vector<SweepRow> best_by_gpus;  ///< ascending; empty for one GPU count
  std::optional<Overflow> overflow;    ///< where nothing fits
  std::string broken_rule;             ///< where nothing can run
  std::optional<WithoutWhere> without_where;
  std::vector<std::string> written;                         ///< files
  std::function<std::string(std::uint64_t index)> command;  ///< that forecasts one configuration
};

std::string sweep_text(const SweepAnswer& answer, const Console& console);
std::string sweep_json(const SweepAnswer& answer);

/// What --dry-run reports.
struct SweepPlan {
  const Space* space = nullptr;
  SweepNames names;
  std::string space_hash;
  std::uint64_t configurations = 0;  ///< of the shard
  int threads = 1;
  SweepEstimate estimate;
};
std::string sweep_plan_text(const SweepPlan& plan, const Console& console);
std::string sweep_plan_json(const SweepPlan& plan);

// Parts.

std::string best_rows_text(const SweepAnswer& answer, const Paint& paint);
std::string by_gpus_text(const SweepAnswer& answer, const Paint& paint);
std::string front_text(const SweepResult& result, const Paint& paint);
/// The best without a word on ties: those of a merged result.
std::string plain_rows_text(const SweepResult& result, const Paint& paint);
std::string why_text(const SweepAnswer& answer, const Paint& paint);

/// What cannot run by reason, does not fit, or is excluded. `late`: of the excluded, those that only their forecast
/// excluded.
std::string dismissed_text(const SweepResult& result, std::uint64_t late);
/// "No configuration fits in memory.", by what stands in the way of a complete result without rows.
std::string nothing_words(const SweepResult& result);
/// The choices and figures of a row, as "plan" and "report".
void write_row_figures(JsonWriter& json, const SweepQuestion& question, const SweepRow& row);

/// Priced in all runs so far: what fits and what the plan and memory say to the constraint does not exclude.
std::uint64_t priced_in_all(const SweepResult& result);
/// "Against number 4, the best with another split (tp 2, ...): wins by 784 ms (5.5 %), most of it 1.54 s of exposed
/// communication."
std::string why_sentence(const SweepAnswer& answer, const Rival& rival);
/// Names of the tied rows by the choices in which they differ, in the order of TiedRows::rows.
std::vector<std::string> tied_names(const SweepAnswer& answer);

}  // namespace stepcast::sweep
