#include "studies/sweep/search/run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/version.h"
#include "studies/sweep/search/worker.h"

namespace stepcast::sweep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t most_in_stretch = 1 << 18, least_in_stretch = 1 << 12;
constexpr std::uint64_t stretches_per_thread = 8;

/// Stretches of what is open, by number: a list of them would grow with the space.
class Stretches {
 public:
  Stretches(Ranges open, int threads) : open_(std::move(open)) {
    std::uint64_t left = 0;
    for (const IndexRange& range : open_) left += range.size();
    size_ = std::clamp(
        left / (static_cast<std::uint64_t>(threads) * stretches_per_thread) + 1, least_in_stretch, most_in_stretch);
    for (const IndexRange& range : open_) count_ += in(range);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] IndexRange at(std::uint64_t number) const {
    for (const IndexRange& range : open_) {
      if (number < in(range))
        return {range.begin + number * size_, std::min(range.end, range.begin + (number + 1) * size_)};
      number -= in(range);
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t in(const IndexRange& range) const { return (range.size() + size_ - 1) / size_; }
  Ranges open_;
  std::uint64_t size_ = 1, count_ = 0;
};

/// The threads of one sweep and what they have brought in.
class SweepCrew {
 public:
  /// `points`: for the first of them.
  SweepCrew(SharedSweep& shared, SweptSpace& swept, Stretches stretches, std::shared_ptr<SpacePoints> points)
      : shared_(shared), swept_(swept), stretches_(std::move(stretches)), points_(std::move(points)) {}

  Expected<void> run() {
    const int threads = static_cast<int>(
        std::clamp<std::uint64_t>(stretches_.count(), 1, static_cast<std::uint64_t>(shared_.options.threads)));
    std::vector<std::thread> crew;
    parts_ = std::vector<Part>(static_cast<std::size_t>(threads));
    for (std::uint64_t i = 0; i < parts_.size(); ++i) {
      parts_[i].next = stretches_.count() * i / parts_.size();
      parts_[i].end = stretches_.count() * (i + 1) / parts_.size();
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) crew.emplace_back([this, i] { work(i); });
    watch(threads);
    for (std::thread& thread : crew) thread.join();
    swept_.work.seconds = seconds();
    if (!failed_ && shared_.options.snapshot) note(shared_.options.snapshot(swept_.result, swept_.work));
    return failed_ ? tl::unexpected(*failed_) : Expected<void>{};
  }

 private:
  /// A thread's own part of the stretches: neighbours share what prices are made of.
  struct Part {
    std::atomic<std::uint64_t> next = 0;
    std::uint64_t end = 0;
  };

  /// Own stretches first, then what the others have left.
  std::optional<std::uint64_t> take_stretch(std::size_t own) {
    for (std::size_t i = 0; i < parts_.size() && !ended_; ++i) {
      Part& part = parts_[(own + i) % parts_.size()];
      if (part.next < part.end)
        if (const std::uint64_t taken = part.next++; taken < part.end) return taken;
    }
    return std::nullopt;
  }

  void work(std::size_t own) {
    Expected<std::unique_ptr<SweepWorker>> worker =
        own == 0 ? SweepWorker::make(shared_, points_) : SweepWorker::make(shared_);
    if (!worker) return leave(worker.error());
    if (own == 0) swept_.points = (*worker)->points();
    while (const auto mine = take_stretch(own)) {
      auto stretch = (*worker)->walk(stretches_.at(*mine));
      if (!stretch) return leave(stretch.error());
      if (!*stretch) break;
      bring(std::move(**stretch));
    }
    leave(std::nullopt);
  }

  void bring(Stretch stretch) {
    const std::lock_guard lock(mutex_);
    add_range(swept_.result.done, stretch.range);
    swept_.result.tally.add(stretch.tally);
    if (swept_.result.tally.does_not_fit > 0) shared_.smallest_overflow = swept_.result.tally.smallest_overflow_bytes;
    swept_.work.add(stretch.work);
    for (SweepRow& row : stretch.rows) {
      if (!shared_.front.empty()) keep_front(swept_.result.pareto, row, shared_.front);
      keep_top(swept_.result.top, std::move(row), swept_.result.question);
    }
  }

  void leave(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    if (error) note(tl::unexpected(*error));
    ++left_;
    changed_.notify_one();
  }

  /// Snapshots while the crew works; the lock makes each a whole.
  void watch(int threads) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(
        lock, std::chrono::duration<double>(shared_.options.snapshot_s), [&] { return left_ == threads; })) {
      swept_.work.seconds = seconds();
      if (!failed_ && shared_.options.snapshot) note(shared_.options.snapshot(swept_.result, swept_.work));
    }
  }

  void note(const Expected<void>& outcome) {
    if (outcome || failed_) return;
    failed_ = outcome.error();
    ended_ = true;
  }

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  SharedSweep& shared_;
  SweptSpace& swept_;
  Stretches stretches_;
  std::shared_ptr<SpacePoints> points_;
  std::vector<Part> parts_;
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_ = 0;
  std::optional<Error> failed_;
  Clock::time_point began_ = Clock::now();
};

/// All that prices depend on and the axes do not say.
std::string nouns_text(const Scenario& scenario) {
  return std::string(version()) + write_network(scenario.network.row) + write_machine(scenario.machine.row) +
         write_stack(scenario.stack.row) + write_profile(scenario.profile.row);
}

/// A row may stand in the list and in the front.
void enter_rows(const SweepResult& result, const CostRule& costs, Standings& standings) {
  std::set<std::uint64_t> entered;
  for (const std::vector<SweepRow>* rows : {&result.top, &result.pareto})
    for (const SweepRow& row : *rows)
      if (entered.insert(row.index).second) standings.enter(row.index, costs.of(row.figures));
}

/// Any value that the axis may have is good, whether this space tries it or not: "schedule != gpipe" holds where gpipe
/// is not tried.
std::vector<WordAxis> word_axes(const Space& space) {
  std::vector<WordAxis> axes;
  for (const AxisRow& row : axis_rows()) {
    std::vector<std::string> values =
        row.flag.empty() ? row.axis.all({}) : space.values[static_cast<std::size_t>(row.id)];
    if (!row.axis.own_word.empty()) values.emplace_back(row.axis.own_word);
    axes.push_back({std::string(row.key), std::move(values), row.is_noun() ? nullptr : &row});
    if (row.flag.empty() && !space.tiers)
      axes.back().unsaid = fmt::format("\"{}\": [\"node\", \"cluster\"] among the axes of --space FILE", row.key);
    if (!row.axis.own_word.empty() && contains(space.values[static_cast<std::size_t>(row.id)], row.axis.own_word))
      axes.back().left_open = row.id == AxisId::schedule ? std::vector<std::string>{"1f1b", "interleaved-1f1b"}
                                                         : std::vector<std::string>{"on", "off"};
  }
  return axes;
}

}  // namespace

SweepQuestion question_of(SpacePoints& points, bool exhaustive) {
  const Space& space = points.space();
  const Scenario& scenario = points.setting(Digits{}).scenario;
  SweepQuestion question;
  const Request& request = space.request;
  const auto name = [](const auto& chosen) { return chosen.id.empty() ? chosen.row.id : chosen.id; };
  question.network = name(scenario.network);
  question.machine = name(scenario.machine);
  question.stack = name(scenario.stack);
  question.profile = name(scenario.profile);
  for (const auto& [key, value] : request.said())
    if (find_axis(key) == nullptr) question.fixed.emplace_back(key, value.text);
  question.fixed.emplace_back("global_batch", std::to_string(space.global_batch));
  question.fixed.emplace_back("sequence", std::to_string(space.sequence));
  std::ranges::sort(question.fixed);
  question.fixed.erase(std::unique(question.fixed.begin(), question.fixed.end()), question.fixed.end());
  for (const AxisRow& row : axis_rows())
    question.axes.push_back({std::string(row.key), space.values[static_cast<std::size_t>(row.id)]});
  question.objective = space.objective;
  question.where = space.where;
  question.pareto = space.pareto;
  question.top = space.top;
  question.exhaustive = exhaustive;
  question.price_per_gpu_hour = space.price_per_gpu_hour;
  question.nouns_hash = text_hash(nouns_text(scenario));
  return question;
}

Expected<Where> where_of(const Space& space) {
  auto where = Where::read(space.where, space.where_origin, word_axes(space));
  if (!where || space.price_per_gpu_hour > 0) return where;
  const std::vector<Figure> figures = where->figures();
  if (!contains(figures, Figure::cost)) return where;
  return fail(space.where_origin, "the cost needs the price of a GPU-hour",
      "--price 2.5, in US dollars; \"price\" in a space file");
}

Expected<SweptSpace> run_sweep(
    const Space& space, const Shard& shard, const SweepOptions& options, const SweepResult* earlier) {
  TRY(auto where, where_of(space));
  TRY(const auto objective, find_figure(space.objective, "--objective"));
  std::vector<Figure> front;
  for (const std::string& name : space.pareto) {
    TRY(const auto figure, find_figure(name, "--pareto"));
    front.push_back(figure);
  }
  TRY(auto made, SpacePoints::make(space));
  const auto points = std::make_shared<SpacePoints>(std::move(made));
  SweptSpace swept;
  if (earlier != nullptr) swept.result = *earlier;
  swept.result.question = options.question != nullptr ? *options.question : question_of(*points, options.exhaustive);
  swept.result.shard = shard;
  SharedSweep shared{space, options, std::move(where), objective, front, {space.top, static_cast<int>(front.size())},
      std::numeric_limits<double>::infinity()};
  if (swept.result.tally.does_not_fit > 0) shared.smallest_overflow = swept.result.tally.smallest_overflow_bytes;
  enter_rows(swept.result, CostRule(objective, front, *points), shared.standings);
  SweepCrew crew(
      shared, swept, {missing(swept.result.done, range_of(shard, space.size())), std::max(1, options.threads)}, points);
  TRY(crew.run());
  return swept;
}

}  // namespace stepcast::sweep
