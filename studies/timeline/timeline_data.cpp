// The scene for the script, small: what is inside of an action once for all micro-batches, and once for all layers that
// are alike.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/timeline/memory_svg.h"
#include "studies/timeline/page.h"

namespace stepcast::timeline {
namespace {

constexpr double timeline_grain = 0.01;  ///< of a tick, inside of actions

/// A power of ten: a step has ten to a hundred million of them.
double timeline_tick(double step_us) { return step_us > 0 ? std::pow(10, std::floor(std::log10(step_us)) - 7) : 1; }

template <typename List, typename ToText> std::string timeline_list(const List& list, const ToText& to_text) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() == 1 ? "" : ",") + to_text(item);
  return text + "]";
}

std::string timeline_microseconds(double seconds) { return fmt::format("{:.9g}", 1e6 * seconds); }

/// Spans of one layer behind each other; their times run from the first one's start.
std::string layer_spans(const SceneSpan* first, const SceneSpan* last, double grains) {
  std::string text;
  long long before = 0;
  for (const SceneSpan* span = first; span != last; ++span) {
    const auto start = std::llround((span->start - first->start) * grains),
               end = std::llround((span->end - first->start) * grains);
    text += fmt::format(",{},{},{},{},{}", static_cast<int>(span->kind) + 3 * static_cast<int>(span->pass),
        span->stream, span->name, start - before, end - start);
    before = end;
  }
  return text;
}

/// Layers that follow each other with the same spans at the same distance.
struct LayerRun {
  int first = 0, count = 1, step = 0;
  double start = 0, last = 0, period = 0;  ///< in grains
  std::string spans;

  bool takes(int layer, double at, const std::string& same) {
    const int apart = layer - (first + (count - 1) * step);
    if (same != spans || (count > 1 && (apart != step || std::abs(at - last - period) > 0.01))) return false;
    if (count == 1) step = apart, period = at - last;
    last = at;
    ++count;
    return true;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format(
        "[{},{},{},{:.2f},{:.4f}{}]", first, count, step, start, count > 1 ? (last - start) / (count - 1) : 0, spans);
  }
};

/// As the script reads it back.
double inside_ticks(double seconds, double tick) { return std::round(seconds * 1e6 / tick * 1000) / 1000; }

std::string inside_text(const std::vector<SceneSpan>& spans, double seconds, double tick) {
  const double grains = 1e6 / (tick * timeline_grain);
  std::vector<LayerRun> runs;
  for (std::size_t from = 0, to = 0; from < spans.size(); from = to) {
    while (to < spans.size() && spans[to].layer == spans[from].layer) ++to;
    const double start = spans[from].start * grains;
    const std::string text = layer_spans(&spans[from], &spans[from] + (to - from), grains);
    if (runs.empty() || !runs.back().takes(spans[from].layer, start, text))
      runs.push_back({.first = spans[from].layer, .start = start, .last = start, .spans = text});
  }
  return fmt::format(R"({{"ticks":{:.3f},"runs":{}}})", inside_ticks(seconds, tick),
      timeline_list(runs, [](const LayerRun& run) { return run.text(); }));
}

/// What a rank does, in tokens that leave out what follows from those before. It knows where the reader is by then, so
/// that no moment is more than a tick beside the truth, however many go before.
class RankTokens {
 public:
  void action(const Action& action, int place, double start, double end, double own) {
    text_ += "FBIW"[static_cast<int>(action.kind)];
    if (place > 0) text_ += fmt::format("{}", place);
    int& unit = next_[static_cast<std::size_t>(place) * 4 + static_cast<std::size_t>(action.kind)];
    add('u', action.micro_batch - unit);
    unit = action.micro_batch + 1;
    go('g', start);
    at_ += own;
    go('s', end);
  }
  void hold(double start, double end) {
    text_ += 'H';
    go('g', start);
    if (std::abs(end - at_ - length_) > 1) {
      length_ = std::llround(end - at_);
      add('l', length_);
    }
    at_ += static_cast<double>(length_);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add(char what, long long number) {
    if (number != 0) text_ += fmt::format("{}{}", what, number);
  }
  void go(char what, double to) {
    const long long step = std::abs(to - at_) > 1 ? std::llround(to - at_) : 0;
    add(what, step);
    at_ += static_cast<double>(step);
  }

  std::string text_;
  double at_ = 0;
  long long length_ = 0;
  std::unordered_map<std::size_t, int> next_;
};

class TimelineData {
 public:
  explicit TimelineData(const StepScene& scene)
      : scene_(scene), order_(*scene.order), tick_(timeline_tick(1e6 * scene.end)) {
    find_insides();
  }

  [[nodiscard]] std::string text() const {
    std::vector<int> ranks(static_cast<std::size_t>(order_.ranks)), stages(static_cast<std::size_t>(order_.stages()));
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
    for (std::size_t i = 0; i < stages.size(); ++i) stages[i] = static_cast<int>(i);
    const auto number = [](auto value) { return fmt::format("{}", value); };
    const auto bytes = [](double value) { return fmt::format("{:.9g}", value); };
    return fmt::format(
               R"({{"title":{},"tick":{:g},"end":{},"begin":{},"names":{},"streams":{},"slices":{},"slowest":{},"word":{})",
               json_quoted(scene_.title), tick_, timeline_microseconds(scene_.end), timeline_microseconds(scene_.begin),
               timeline_list(scene_.names, json_quoted), timeline_list(scene_.streams, stream), order_.slices,
               scene_.slowest_stage, json_quoted(rank_word_of(scene_))) +
           fmt::format(R"(,"rank_of":{},"around":{},"ahead":{},"back":{},"after":{},"before":{})",
               timeline_list(order_.rank_of, number), timeline_list(scene_.around, stretch),
               timeline_list(scene_.hop_ahead, timeline_microseconds),
               timeline_list(scene_.hop_back, timeline_microseconds),
               timeline_list(stages, [&](int stage) { return number(order_.after(stage)); }),
               timeline_list(stages, [&](int stage) { return number(order_.before(stage)); })) +
           fmt::format(R"(,"inside":{},"which":{},"actions":{},"kept":{},"always":{},"capacity":{},"gpus":[{},{}]}})",
               timeline_list(texts_, [](const std::string& one) { return one; }), timeline_list(which_, number),
               timeline_list(ranks, [&](int rank) { return actions(rank); }), timeline_list(scene_.kept, bytes),
               timeline_list(scene_.always, bytes), bytes(scene_.capacity), scene_.ranks_per_stage,
               scene_.stage_stride);
  }

 private:
  static std::string stream(const SceneStream& one) {
    return "[" + json_quoted(one.key) + "," + json_quoted(one.name) + "]";
  }
  static std::string stretch(const SceneStretch& one) {
    return fmt::format("[{},{},{},{},{}]", json_quoted(one.name), json_quoted(one.key), one.communication ? 1 : 0,
        timeline_microseconds(one.start), timeline_microseconds(one.end));
  }

  void find_insides() {
    which_.assign(std::size_t{4} * order_.stages() * order_.slices, -1);
    std::unordered_map<std::string, int> known;
    for (const Action& action : order_.actions) {
      int& place = which_[place_of(action)];
      if (place >= 0) continue;
      const std::size_t index = place_of(action);
      std::string text = inside_text(scene_.inside[index], scene_.inside_seconds[index], tick_);
      const auto [at, is_new] = known.emplace(text, static_cast<int>(texts_.size()));
      if (is_new) {
        texts_.push_back(std::move(text));
        own_.push_back(inside_ticks(scene_.inside_seconds[index], tick_));
      }
      place = at->second;
    }
  }

  [[nodiscard]] std::size_t place_of(const Action& action) const {
    return scene_.inside_index(action.stage, action.kind, action.micro_batch % order_.slices);
  }
  [[nodiscard]] double ticks(double moment) const { return (moment - scene_.begin) * 1e6 / tick_; }

  /// Holds that touch are one.
  [[nodiscard]] std::vector<HopHold> joined_holds(int rank) const {
    std::vector<HopHold> joined;
    if (static_cast<std::size_t>(rank) < scene_.holds.size())
      for (const HopHold& hold : scene_.holds[rank]) {
        if (ticks(hold.end) - ticks(hold.start) < 1) continue;
        if (!joined.empty() && ticks(hold.start) - ticks(joined.back().end) < 1) joined.back().end = hold.end;
        else joined.push_back(hold);
      }
    return joined;
  }

  [[nodiscard]] std::string actions(int rank) const {
    std::vector<int> place(static_cast<std::size_t>(order_.stages()));
    for (int stage = 0, next = 0; stage < order_.stages(); ++stage)
      if (order_.rank_of[stage] == rank) place[stage] = next++;
    RankTokens tokens;
    const std::vector<HopHold> holds = joined_holds(rank);
    auto hold = holds.begin();
    for (std::int32_t i = order_.begin[rank]; i < order_.begin[rank + 1]; ++i) {
      for (; hold != holds.end() && hold->start < scene_.action_start[i]; ++hold)
        tokens.hold(ticks(hold->start), ticks(hold->end));
      const Action& action = order_.actions[i];
      tokens.action(action, place[action.stage], ticks(scene_.action_start[i]), ticks(scene_.action_end[i]),
          own_[static_cast<std::size_t>(which_[place_of(action)])]);
    }
    for (; hold != holds.end(); ++hold) tokens.hold(ticks(hold->start), ticks(hold->end));
    return json_quoted(tokens.text());
  }

  const StepScene& scene_;
  const Order& order_;
  double tick_;
  std::vector<int> which_;
  std::vector<std::string> texts_;
  std::vector<double> own_;
};

}  // namespace

std::string timeline_data(const StepScene& scene) { return TimelineData(scene).text(); }

}  // namespace stepcast::timeline
