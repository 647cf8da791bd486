// stepcast sweep: every configuration of a space, the best of them first, and why.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "studies/cli/interrupt.h"
#include "studies/cli/progress_line.h"
#include "studies/launch/emit/emit_run.h"
#include "studies/print/csv.h"
#include "studies/print/digits.h"
#include "studies/run/forecast.h"
#include "studies/sweep/write/report.h"
#include "studies/sweep/write/exports.h"
#include "studies/sweep/write/predict_line.h"
#include "studies/sweep/result/result_file.h"
#include "studies/sweep/sweep_flags.h"

namespace stepcast::sweep {
namespace {

constexpr double look_every_s = 0.25;
const char* const output_flag = "--output";
const char* const snapshot_flag = "--snapshot";
const char* const emit_flag_name = "--emit";

/// Seconds between writes of the file that can be resumed.
double save_every(const Arguments& arguments) {
  constexpr double usual = 2;
  return arguments.has(snapshot_flag) ? snapshot_seconds(arguments.value(snapshot_flag), snapshot_flag).value() : usual;
}

Expected<void> check_output_names(const std::vector<std::string>& names, const Arguments& arguments) {
  std::string kept;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return fail(output_flag, "an empty name", "-o result.jsonl");
    const auto path = std::filesystem::absolute(names[i]).lexically_normal();
    for (std::size_t j = 0; j < i; ++j)
      if (std::filesystem::absolute(names[j]).lexically_normal() == path)
        return fail(output_flag, fmt::format("{} is named twice", names[i]), "a name of its own for each");
    TRY(const auto kind, find_export(names[i], output_flag));
    if (is_resumable(*kind) && !kept.empty())
      return fail(output_flag, fmt::format("{} and {} would both keep the result", kept, names[i]), "one .jsonl file");
    if (is_resumable(*kind)) kept = names[i];
  }
  if (!kept.empty()) return {};
  if (arguments.has("--resume"))
    return fail("--resume", "there is no file to go on from", "-o FILE.jsonl, as in the run before");
  if (arguments.has(snapshot_flag)) return fail(snapshot_flag, "there is no file to bring up to date", "-o FILE.jsonl");
  return {};
}

/// The files of one sweep, opened before the work.
class SweepOutputs {
 public:
  Expected<void> open(const Arguments& arguments, const SweepQuestion& question, const Shard& shard) {
    const std::vector<std::string> names = arguments.values(output_flag);
    TRY(check_output_names(names, arguments));
    for (const std::string& name : names) {
      if (is_resumable(**find_export(name, output_flag))) {
        TRY(auto file, ResultFile::open(name, output_flag, {arguments.has("--resume"), arguments.has(force_flag.name)},
                           question, shard));
        kept_.emplace(std::move(file));
        kept_name_ = name;
      } else {
        TRY(auto file, ExportFile::open(arguments, name, output_flag));
        tables_.emplace_back(name, std::move(file));
      }
    }
    return {};
  }

  [[nodiscard]] const SweepResult* earlier() const { return kept_ && kept_->earlier() ? &*kept_->earlier() : nullptr; }
  [[nodiscard]] const std::string& kept_name() const { return kept_name_; }

  Expected<void> save(const SweepResult& so_far) { return kept_ ? kept_->save(so_far) : Expected<void>{}; }

  /// All that can be, with the first error of the others. Of a sweep that ended early they hold what was found until
  /// then.
  Expected<void> finish(const SweepResult& result) {
    Expected<void> all = save(result);
    if (all && kept_) written_.insert(kept_name_);
    for (auto& [name, table] : tables_) {
      auto one = table.write(result);
      if (one) written_.insert(name);
      else if (all) all = std::move(one);
    }
    return all;
  }
  [[nodiscard]] bool has_written(const std::string& name) const { return written_.contains(name); }

 private:
  std::optional<ResultFile> kept_;
  std::string kept_name_;
  std::vector<std::pair<std::string, ExportFile>> tables_;
  std::set<std::string> written_;
};

Expected<Shard> shard_of(const Arguments& arguments, std::string& source) {
  if (!arguments.has("--shard")) return Shard{};
  TRY(const auto shard, read_shard(arguments.value("--shard"), "--shard", process_environment()));
  TRY(source, shard_source(arguments.value("--shard"), "--shard", process_environment()));
  return shard;
}

int threads_of(const Arguments& arguments) {
  if (arguments.has("--threads")) return std::stoi(arguments.value("--threads"));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// The best of a part of the space, or of the space without its constraint; none where there is none or it was cut
/// short.
std::optional<SweepRow> best_alone(Space space, int threads) {
  space.top = 1;
  space.pareto.clear();
  SweepOptions options;
  options.threads = threads;
  options.stop = interrupted;
  auto swept = run_sweep(space, Shard{}, options);
  if (!swept || !swept->result.complete() || swept->result.top.empty()) return std::nullopt;
  return std::move(swept->result.top.front());
}

/// Ascending by GPUs. The list of the best may hold one count only, so that the others are searched by themselves.
std::vector<SweepRow> best_of_each_count(const Space& space, const std::vector<SweepRow>& top, int threads) {
  constexpr auto gpus = static_cast<std::size_t>(AxisId::gpus);
  std::vector<SweepRow> best;
  for (std::size_t i = 0; i < space.values[gpus].size(); ++i) {
    const auto has_count = [&](const SweepRow& row) { return row.choices[gpus] == space.values[gpus][i]; };
    const auto listed = std::ranges::find_if(top, has_count);
    if (listed != top.end()) {
      best.push_back(*listed);
      continue;
    }
    Space part = space;
    part.values[gpus] = {space.values[gpus][i]};
    part.numbers[gpus] = {space.numbers[gpus][i]};
    auto row = best_alone(std::move(part), threads);
    if (!row) continue;
    row->index += i * space.stride(AxisId::gpus);
    best.push_back(std::move(*row));
  }
  const auto count = [](const SweepRow& row) { return row.figures[static_cast<std::size_t>(Figure::gpus)]; };
  std::ranges::sort(best, [&](const SweepRow& a, const SweepRow& b) { return count(a) < count(b); });
  return best;
}

std::optional<WithoutWhere> without_where(Space space, int threads) {
  const auto where = where_of(space);
  space.where.clear();
  auto best = best_alone(std::move(space), threads);
  if (!best) return std::nullopt;
  return WithoutWhere{std::move(*best), where ? where->figures() : std::vector<Figure>{}};
}

/// A file may hold more of the best than the terminal lists; unknown endings are told when it is opened.
std::uint64_t rows_of_outputs(const Arguments& arguments, std::uint64_t rows) {
  for (const std::string& name : arguments.values(output_flag))
    if (const auto kind = find_export(name, output_flag)) rows = std::max(rows, (*kind)->usual_rows);
  return rows;
}

class SweepRun {
 public:
  /// `listed`: of the best, on the terminal.
  SweepRun(const Arguments& arguments, const Space& space, std::uint64_t listed, SpacePoints& points, Console& console)
      : arguments_(arguments), space_(space), listed_(listed), points_(points), console_(console),
        line_(arguments, space, points) {
    const Scenario& scenario = points_.setting(Digits{}).scenario;
    answer_.space = &space;
    answer_.names = {scenario.network.row.name, scenario.machine.row.name, scenario.machine.row.gpu.name, ""};
    answer_.threads = threads_of(arguments);
    answer_.command = [this](std::uint64_t index) { return line_.of(index); };
  }

  Expected<void> run() {
    TRY(const auto shard, shard_of(arguments_, answer_.names.shard_source));
    TRY(where_of(space_));
    const SweepQuestion question = question_of(points_, arguments_.has("--exhaustive"));
    if (arguments_.has("--dry-run")) return show_plan(question, shard);
    const InterruptGuard guard;
    TRY(outputs_.open(arguments_, question, shard));
    TRY(sweep(question, shard));
    TRY(tell());
    // What was found has been told: from here on the run has failed, not what was asked.
    if (!finished_) throw std::runtime_error(to_text(finished_.error()));
    if (answer_.ended_early) throw Interrupted(ended_early());
    return {};
  }

 private:
  Expected<void> tell() {
    if (arguments_.has(emit_flag_name)) return emit_best();
    explain();
    if (arguments_.has("--csv")) console_.out << csv_of(sweep_json(answer_), {"top"});
    else console_.out << (arguments_.has("--json") ? sweep_json(answer_) : sweep_text(answer_, console_));
    return {};
  }

  /// The best configuration in the words of a framework, instead of the list.
  Expected<void> emit_best() {
    const std::vector<SweepRow>& top = answer_.swept.result.top;
    if (top.empty() && answer_.ended_early) return {};
    if (top.empty())
      return fail(emit_flag_name, "no configuration is left to be written",
          fmt::format("the same without {} says why", emit_flag_name));
    TRY(const auto scenario, points_.scenario(space_.digits(top.front().index)));
    return emit_run(arguments_, scenario, console_);
  }

  /// Nothing is written and nothing gone on from.
  [[nodiscard]] Expected<void> check_dry_run() const {
    for (const char* other : {output_flag, "--resume", snapshot_flag, "--exhaustive", emit_flag_name})
      if (arguments_.has(other))
        return fail("--dry-run", fmt::format("does not go with {}", other), "leave one of them out");
    return {};
  }

  Expected<void> show_plan(const SweepQuestion& question, const Shard& shard) {
    TRY(check_dry_run());
    SweepPlan plan{&space_, answer_.names, question.hash(), range_of(shard, space_.size()).size(), answer_.threads, {}};
    TRY(const auto estimate, estimate_sweep(space_, plan.configurations, plan.threads));
    plan.estimate = estimate;
    console_.out << (arguments_.has("--json") ? sweep_plan_json(plan) : sweep_plan_text(plan, console_));
    return {};
  }

  Expected<void> sweep(const SweepQuestion& question, const Shard& shard) {
    const SweepResult* earlier = outputs_.earlier();
    if (earlier != nullptr) answer_.before = configurations_done(*earlier);
    Progress progress(console_);
    SweepOptions options;
    options.threads = answer_.threads;
    options.exhaustive = arguments_.has("--exhaustive");
    options.question = &question;
    std::atomic<bool> unsaved = false;
    options.stop = [&] { return unsaved || interrupted(); };
    const double save_every_s = save_every(arguments_);
    options.snapshot_s = std::min(look_every_s, save_every_s);
    double saved_s = 0;
    options.snapshot = [&](const SweepResult& so_far, const SweepWork& work) -> Expected<void> {
      progress.show(progress_line(so_far, work, answer_.before));
      if (work.seconds - saved_s < save_every_s) return {};
      saved_s = work.seconds;
      if (!unsaved) finished_ = outputs_.save(so_far);
      unsaved = !finished_;  // ends the sweep: without room for the result it is told what was found until now
      return {};
    };
    TRY(auto swept, run_sweep(space_, shard, options, earlier));
    answer_.swept = std::move(swept);
    answer_.ended_early = !answer_.swept.result.complete();
    finished_ = outputs_.finish(answer_.swept.result);
    for (const std::string& name : arguments_.values(output_flag))
      if (outputs_.has_written(name)) answer_.written.push_back(name);
    std::vector<SweepRow>& top = answer_.swept.result.top;
    if (top.size() > listed_) top.resize(listed_);
    return {};
  }

  /// What the list means; of a sweep that ended early only what costs nothing.
  void explain() {
    const SweepResult& result = answer_.swept.result;
    SpacePoints& points = answer_.swept.points != nullptr ? *answer_.swept.points : points_;
    const bool whole = !answer_.ended_early && result.shard.count == 1;
    const bool listed_all = result.top.size() < listed_;
    if (!answer_.ended_early) answer_.verdict = verdict_of(points, result, listed_all);
    if (whole && !result.top.empty() && space_.values[static_cast<std::size_t>(AxisId::gpus)].size() > 1)
      answer_.best_by_gpus = best_of_each_count(space_, result.top, answer_.threads);
    if (!result.top.empty() || answer_.ended_early) return;
    const SweepTally& tally = result.tally;
    if (tally.fitting() > 0 && whole && !space_.where.empty())
      answer_.without_where = without_where(space_, answer_.threads);
    if (tally.fitting() == 0 && tally.does_not_fit > 0)
      if (auto overflow = overflow_of(points, result)) answer_.overflow = std::move(*overflow);
    if (tally.fitting() == 0 && tally.does_not_fit == 0) answer_.broken_rule = broken_rule_text(points, tally);
  }

  [[nodiscard]] std::string ended_early() const {
    const SweepResult& result = answer_.swept.result;
    const auto digits = [](std::uint64_t n) { return grouped_digits(static_cast<double>(n)); };
    const std::string state = fmt::format("interrupted: {} of {} configurations are done",
        digits(configurations_done(result)), digits(configurations_in_all(result)));
    const std::string& kept = outputs_.kept_name();
    if (kept.empty()) return state + "; nothing keeps them: with -o FILE.jsonl a run can be resumed";
    return fmt::format("{}; they are in {}: go on with the same command and --resume", state, kept);
  }

  const Arguments& arguments_;
  const Space& space_;
  std::uint64_t listed_;
  SpacePoints& points_;
  Console& console_;
  PredictLine line_;
  SweepAnswer answer_;
  SweepOutputs outputs_;
  Expected<void> finished_;
};

}  // namespace

Expected<void> sweep_command(const Arguments& arguments, Console& console) {
  if (arguments.has("--json") && arguments.has(emit_flag_name))
    return fail("--json", fmt::format("does not go with {}", emit_flag_name), "leave one of them out");
  TRY(auto space, read_space(arguments));
  const std::uint64_t listed = space.top;
  if (!space.top_said) space.top = rows_of_outputs(arguments, listed);
  TRY(auto points, SpacePoints::make(space));
  return SweepRun(arguments, space, listed, points, console).run();
}

}  // namespace stepcast::sweep
