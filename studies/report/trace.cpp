// Phases of trace events: X (a stretch), s and f (an arrow's ends), C (a counter), M (names). Format: "Trace Event
// Format" of the Chromium project. On one thread stretches follow each other: what runs at once has threads of its own.
#include "studies/report/trace.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "studies/report/schedule_report.h"

namespace stepcast {
namespace {

using TraceJson = nlohmann::ordered_json;

/// Threads of a rank: its work, its sends, the second of two actions at once, collectives around the pipeline.
constexpr int compute_thread = 0, first_send_thread = 1, pair_thread = 2, collective_thread = 3;
constexpr int send_thread_of(std::size_t n) {
  return n == 0 ? first_send_thread : collective_thread + static_cast<int>(n);
}

class TraceWriter {
 public:
  explicit TraceWriter(const TraceScene& scene) : scene_(scene), order_(scene.order) { index_actions(); }

  TraceJson events() {
    for (int rank = 0; rank < order_.ranks; ++rank) {
      send_ends_.clear();
      name_rank(rank);
      for (std::int32_t i = order_.begin[rank]; i < order_.begin[rank + 1]; ++i) add_action(rank, i);
      for (const TraceStretch& stretch : scene_.around) add_stretch(rank, stretch);
      count_held(rank);
    }
    return std::move(events_);
  }

 private:
  /// Positions by (way, stage, unit), to find what an action feeds.
  void index_actions() {
    position_.assign(std::size_t{2} * order_.stages() * order_.units(), -1);
    for (std::size_t i = 0; i < order_.actions.size(); ++i) {
      const Action& action = order_.actions[i];
      if (action.kind != ActionKind::weight_grad)
        slot(action.kind != ActionKind::forward, action.stage, action.micro_batch) = static_cast<std::int32_t>(i);
    }
  }
  std::int32_t& slot(bool back, int stage, int unit) {
    return position_[(static_cast<std::size_t>(back) * order_.stages() + stage) * order_.units() + unit];
  }
  [[nodiscard]] double shown(double time) const { return scene_.microseconds * time; }
  [[nodiscard]] double start(std::int32_t i) const { return shown(scene_.begin + scene_.timeline.start[i].value()); }
  [[nodiscard]] double end(std::int32_t i) const { return shown(scene_.begin + scene_.timeline.end[i].value()); }

  [[nodiscard]] bool second_of_pair(int rank, std::int32_t i) const {
    return i > order_.begin[rank] && order_.actions[i - 1].with_next;
  }
  [[nodiscard]] int thread_of(std::int32_t i) const {
    const int rank = order_.rank_of[order_.actions[i].stage];
    return second_of_pair(rank, i) ? pair_thread : compute_thread;
  }

  void add_name(int rank, const char* what, int thread, const char* key, const TraceJson& value) {
    events_.push_back({{"name", what}, {"ph", "M"}, {"pid", rank}, {"tid", thread}, {"args", {{key, value}}}});
  }
  void name_thread(int rank, int thread, const std::string& name) {
    add_name(rank, "thread_name", thread, "name", name);
  }

  void name_rank(int rank) {
    add_name(rank, "process_name", 0, "name", fmt::format("rank {}", rank));
    add_name(rank, "process_sort_index", 0, "sort_index", rank);
    name_thread(rank, compute_thread, "compute");
    const auto actions = order_.of_rank(rank);
    if (std::any_of(actions.begin(), actions.end(), [](const Action& action) { return action.with_next; }))
      name_thread(rank, pair_thread, "compute, at once");
    const auto& around = scene_.around;
    if (std::any_of(around.begin(), around.end(), [](const TraceStretch& one) { return one.communication; }))
      name_thread(rank, collective_thread, "collectives");
  }

  /// The first send thread that is free by then; a further one is named as it is needed.
  int send_thread(int rank, double from, double until) {
    std::size_t thread = 0;
    while (thread < send_ends_.size() && send_ends_[thread] > from) ++thread;
    if (thread == send_ends_.size()) {
      send_ends_.push_back(0);
      name_thread(rank, send_thread_of(thread), thread == 0 ? std::string("send") : fmt::format("send {}", thread + 1));
    }
    send_ends_[thread] = until;
    return send_thread_of(thread);
  }

  void add_action(int rank, std::int32_t i) {
    const Action& action = order_.actions[i];
    constexpr const char* names[] = {"forward", "backward", "input gradient", "weight gradient"};
    const std::string text = fmt::format("{}{}{}", action.stage, letter_of(action.kind), action.micro_batch);
    events_.push_back({{"name", text}, {"cat", names[static_cast<int>(action.kind)]}, {"ph", "X"}, {"ts", start(i)},
                       {"dur", end(i) - start(i)}, {"pid", rank}, {"tid", thread_of(i)},
                       {"args", {{"stage", action.stage}, {"unit", action.micro_batch}}}});
    if (action.kind == ActionKind::weight_grad) return;
    const bool back = action.kind != ActionKind::forward;
    const int taker = back ? order_.before(action.stage) : order_.after(action.stage);
    if (taker < 0 || order_.rank_of[taker] == rank) return;
    const double hop = (back ? scene_.hop_back : scene_.hop_ahead)[action.stage];
    add_hop(rank, text, end(i), shown(hop), slot(back, taker, action.micro_batch));
  }

  void add_hop(int from, const std::string& text, double sent, double hop, std::int32_t taker) {
    const int thread = send_thread(from, sent, sent + hop), to = order_.rank_of[order_.actions[taker].stage];
    events_.push_back({{"name", "send " + text}, {"cat", "send"}, {"ph", "X"}, {"ts", sent}, {"dur", hop},
                       {"pid", from}, {"tid", thread}});
    ++arrows_;
    events_.push_back(
        {{"name", "hop"}, {"cat", "hop"}, {"ph", "s"}, {"id", arrows_}, {"ts", sent}, {"pid", from}, {"tid", thread}});
    events_.push_back({{"name", "hop"}, {"cat", "hop"}, {"ph", "f"}, {"bp", "e"}, {"id", arrows_}, {"ts", start(taker)},
                       {"pid", to}, {"tid", thread_of(taker)}});
  }

  void add_stretch(int rank, const TraceStretch& stretch) {
    const double from = shown(stretch.start);
    events_.push_back({{"name", stretch.name}, {"cat", "step"}, {"ph", "X"}, {"ts", from},
                       {"dur", shown(stretch.end) - from}, {"pid", rank},
                       {"tid", stretch.communication ? collective_thread : compute_thread}});
  }

  void add_count(int rank, double time, double held) {
    events_.push_back({{"name", scene_.counter}, {"ph", "C"}, {"ts", time}, {"pid", rank},
                       {"args", {{scene_.counted, std::llround(held)}}}});
  }

  /// A forward holds its activations from its start, the weight gradient or a whole backward frees them at its end.
  void count_held(int rank) {
    std::vector<std::pair<double, double>> changes;
    for (std::int32_t i = order_.begin[rank]; i < order_.begin[rank + 1]; ++i) {
      const Action& action = order_.actions[i];
      const double kept = scene_.kept[action.stage];
      if (action.kind == ActionKind::forward) changes.emplace_back(start(i), kept);
      if (action.kind == ActionKind::backward || action.kind == ActionKind::weight_grad)
        changes.emplace_back(end(i), -kept);
    }
    // By time alone: at one moment they stay in the rank's order, where nothing is released before it is taken.
    std::stable_sort(changes.begin(), changes.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
    double held = 0;
    if (!scene_.always.empty()) add_count(rank, 0, held = scene_.always[rank]);
    for (const auto& [time, change] : changes) add_count(rank, time, held += change);
  }

  const TraceScene& scene_;
  const Order& order_;
  TraceJson events_ = TraceJson::array();
  std::vector<std::int32_t> position_;
  std::vector<double> send_ends_;  ///< of the rank at hand, by send thread
  int arrows_ = 0;
};

}  // namespace

std::string trace_text(const TraceScene& scene) {
  const TraceJson json = {{"traceEvents", TraceWriter(scene).events()}, {"displayTimeUnit", "ms"}};
  return json.dump() + "\n";
}

}  // namespace stepcast
