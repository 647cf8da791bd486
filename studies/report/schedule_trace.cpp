// A run as events of Chrome's trace viewer: phases X (a stretch), s and f (an arrow's ends), C (a counter), M (names).
// Format: "Trace Event Format" of the Chromium project.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "studies/report/schedule_report.h"

namespace stepcast {
namespace {

using TraceJson = nlohmann::ordered_json;

enum Stream { compute_stream = 0, send_stream = 1 };

class TraceWriter {
 public:
  explicit TraceWriter(const ScheduleRun& run) : run_(run), scale_(run.in_seconds ? 1e6 : 1) { index_actions(); }

  TraceJson events() {
    for (int rank = 0; rank < run_.order.ranks; ++rank) {
      name_rank(rank);
      for (std::int32_t i = run_.order.begin[rank]; i < run_.order.begin[rank + 1]; ++i) add_action(rank, i);
      count_activations(rank);
    }
    return std::move(events_);
  }

 private:
  /// Positions by (way, stage, unit), to find what an action feeds.
  void index_actions() {
    position_.assign(std::size_t{2} * run_.order.stages() * run_.order.units(), -1);
    for (std::size_t i = 0; i < run_.order.actions.size(); ++i) {
      const Action& action = run_.order.actions[i];
      if (action.kind != ActionKind::weight_grad)
        slot(action.kind != ActionKind::forward, action.stage, action.micro_batch) = static_cast<std::int32_t>(i);
    }
  }
  std::int32_t& slot(bool back, int stage, int unit) {
    return position_[(static_cast<std::size_t>(back) * run_.order.stages() + stage) * run_.order.units() + unit];
  }
  [[nodiscard]] double start(std::int32_t i) const { return scale_ * run_.timeline.start[i].value(); }
  [[nodiscard]] double end(std::int32_t i) const { return scale_ * run_.timeline.end[i].value(); }

  void name_rank(int rank) {
    const auto name = [&](const char* what, int thread, const char* key, const TraceJson& value) {
      events_.push_back({{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", {{key, value}}}});
    };
    name("process_name", 0, "name", fmt::format("rank {}", rank));
    name("process_sort_index", 0, "sort_index", rank);
    name("thread_name", compute_stream, "name", "compute");
    name("thread_name", send_stream, "name", "send");
  }

  void add_action(int rank, std::int32_t i) {
    const Action& action = run_.order.actions[i];
    constexpr const char* names[] = {"forward", "backward", "input gradient", "weight gradient"};
    const std::string text = fmt::format("{}{}{}", action.stage, letter_of(action.kind), action.micro_batch);
    events_.push_back({{"name", text}, {"cat", names[static_cast<int>(action.kind)]}, {"ph", "X"}, {"ts", start(i)},
                       {"dur", end(i) - start(i)}, {"pid", rank}, {"tid", compute_stream},
                       {"args", {{"stage", action.stage}, {"unit", action.micro_batch}}}});
    if (action.kind == ActionKind::weight_grad) return;
    const bool back = action.kind != ActionKind::forward;
    const int taker = back ? run_.order.before(action.stage) : run_.order.after(action.stage);
    if (taker < 0 || run_.order.rank_of[taker] == rank) return;
    add_hop(rank, text, i, run_.order.rank_of[taker], slot(back, taker, action.micro_batch));
  }

  void add_hop(int from, const std::string& text, std::int32_t giver, int to, std::int32_t taker) {
    events_.push_back({{"name", "send " + text}, {"cat", "send"}, {"ph", "X"}, {"ts", end(giver)},
                       {"dur", scale_ * run_.hop}, {"pid", from}, {"tid", send_stream}});
    ++arrows_;
    events_.push_back({{"name", "hop"}, {"cat", "hop"}, {"ph", "s"}, {"id", arrows_}, {"ts", end(giver)}, {"pid", from},
                       {"tid", send_stream}});
    events_.push_back({{"name", "hop"}, {"cat", "hop"}, {"ph", "f"}, {"bp", "e"}, {"id", arrows_}, {"ts", start(taker)},
                       {"pid", to}, {"tid", compute_stream}});
  }

  /// A forward holds its activations from its start, the weight gradient or a whole backward frees them at its end.
  void count_activations(int rank) {
    std::vector<std::pair<double, int>> changes;
    for (std::int32_t i = run_.order.begin[rank]; i < run_.order.begin[rank + 1]; ++i) {
      const ActionKind kind = run_.order.actions[i].kind;
      if (kind == ActionKind::forward) changes.emplace_back(start(i), +1);
      if (kind == ActionKind::backward || kind == ActionKind::weight_grad) changes.emplace_back(end(i), -1);
    }
    std::stable_sort(changes.begin(), changes.end());
    int held = 0;
    for (const auto& [time, change] : changes) {
      held += change;
      events_.push_back(
          {{"name", "activations"}, {"ph", "C"}, {"ts", time}, {"pid", rank}, {"args", {{"held", held}}}});
    }
  }

  const ScheduleRun& run_;
  double scale_;                          ///< microseconds per unit of time
  TraceJson events_ = TraceJson::array();
  std::vector<std::int32_t> position_;
  int arrows_ = 0;
};

}  // namespace

std::string schedule_trace(const ScheduleRun& run) {
  const TraceJson json = {{"traceEvents", TraceWriter(run).events()}, {"displayTimeUnit", "ms"}};
  return json.dump() + "\n";
}

}  // namespace stepcast
