#include "studies/timeline/memory_svg.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/print/scale.h"
#include "studies/timeline/schedule_svg_style.h"

namespace stepcast::timeline {
namespace {

constexpr double memory_left = 74, memory_top = 14, memory_height = 250, legend_row = 18;
constexpr int most_memory_curves = 7;

double highest_of(const std::vector<MemoryStep>& steps) {
  double highest = 0;
  for (const MemoryStep& step : steps) highest = std::max(highest, step.bytes);
  return highest;
}

double gibibytes(double bytes) { return bytes / (1024.0 * 1024 * 1024); }

class MemoryPicture {
 public:
  MemoryPicture(const StepScene& scene, Sheet sheet)
      : scene_(scene), sheet_(sheet), memory_width_(is_wide() ? 870 : narrow_sheet - memory_left - right()),
        ranks_(memory_ranks(scene)) {
    for (const int rank : ranks_) {
      steps_.push_back(memory_steps(scene, rank));
      most_ = std::max(most_, highest_of(steps_.back()));
    }
    top_bytes_ = 1.06 * std::max({most_, scene.capacity, 1.0});
  }

  std::string text() const {
    std::string body = grid();
    for (std::size_t i = 0; i < ranks_.size(); ++i) body += curve(i);
    const double width = memory_left + memory_width_ + right(), height = legend_y(ranks_.size() - 1) + 24;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"memory {}\" viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
               "aria-label=\"Memory over the step, by pipeline rank; at most {} of {}\">\n",
               is_wide() ? "wide" : "narrow", width, height, format_bytes(Bytes(most_)),
               format_bytes(Bytes(scene_.capacity))) +
           body + capacity() + legend() + "</svg>\n";
  }

 private:
  [[nodiscard]] bool is_wide() const { return sheet_ == Sheet::wide; }
  /// Entries of the legend stand in rows.
  [[nodiscard]] std::size_t per_row() const { return is_wide() ? 7 : 2; }
  [[nodiscard]] double right() const { return is_wide() ? 16 : 24; }
  [[nodiscard]] double legend_y(std::size_t entry) const {
    return memory_top + memory_height + 40 + legend_row * static_cast<double>(entry / per_row());
  }
  [[nodiscard]] double x_of(double time) const { return memory_left + memory_width_ * time / scene_.end; }
  [[nodiscard]] double y_of(double bytes) const { return memory_top + memory_height * (1 - bytes / top_bytes_); }

  [[nodiscard]] std::string grid() const {
    std::string text;
    const double in_gib = gibibytes(top_bytes_), up = nice_step(in_gib, 6),
                 along = nice_step(scene_.end, is_wide() ? 8 : 3);
    for (int i = 0; i * up <= in_gib; ++i) {
      const double y = y_of(i * up * 1024 * 1024 * 1024);
      text += fmt::format(
          "<path class=\"grid\" d=\"M{:g} {:.1f}h{:g}\"/><text class=\"end\" x=\"{:g}\" y=\"{:.1f}\">{:g} GiB</text>\n",
          memory_left, y, memory_width_, memory_left - 6, y + 4, i * up);
    }
    for (int i = 0; i * along <= scene_.end * (1 + 1e-9); ++i)
      text += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:g}\">{}</text>\n", x_of(i * along),
          memory_top + memory_height + 16, i == 0 ? "0" : format_seconds(Seconds(i * along)));
    return text;
  }

  [[nodiscard]] std::string capacity() const {
    if (scene_.capacity <= 0) return "";
    const double y = y_of(scene_.capacity);
    return fmt::format("<path class=\"capacity\" d=\"M{:g} {:.1f}h{:g}\"/><text class=\"end\" x=\"{:g}\" "
                       "y=\"{:.1f}\">capacity {}</text>\n",
        memory_left, y, memory_width_, memory_left + memory_width_, y - 4, format_bytes(Bytes(scene_.capacity)));
  }

  /// Steps of one half of a pixel become one that reaches their least and their most.
  [[nodiscard]] std::string curve(std::size_t number) const {
    const auto& steps = steps_[number];
    std::string path = fmt::format("M{:.1f} {:.1f}", x_of(0), y_of(steps.front().bytes));
    for (std::size_t from = 0, to = 0; from < steps.size(); from = to) {
      double low = steps[from].bytes, high = low;
      const double x = x_of(steps[from].time);
      while (to < steps.size() && x_of(steps[to].time) < x + 0.5) {
        low = std::min(low, steps[to].bytes), high = std::max(high, steps[to].bytes);
        ++to;
      }
      path += fmt::format("H{:.1f}", x);
      if (low < high) path += fmt::format("V{:.1f}V{:.1f}", y_of(high), y_of(low));
      path += fmt::format("V{:.1f}", y_of(steps[to - 1].bytes));
    }
    return fmt::format(
        "<path class=\"curve m{}\" data-rank=\"{}\" data-peak-bytes=\"{:.9g}\" d=\"{}H{:.1f}\"><title>{} {}, at most {}"
        "</title></path>\n",
        number, ranks_[number], highest_of(steps), path, x_of(scene_.end), word_, ranks_[number],
        format_bytes(Bytes(highest_of(steps))));
  }

  [[nodiscard]] std::string legend() const {
    std::string text;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const double x = (is_wide() ? memory_left : 16) +
                       (is_wide() ? 124.0 : 172.0) * static_cast<double>(i % per_row()),
                   y = legend_y(i);
      text +=
          fmt::format("<path class=\"curve m{}\" d=\"M{:g} {:g}h14\"/><text x=\"{:g}\" y=\"{:g}\">{} {}: {}</text>\n",
              i, x, y - 4, x + 18, y, word_, ranks_[i], format_bytes(Bytes(highest_of(steps_[i]))));
    }
    return text;
  }

  const StepScene& scene_;
  Sheet sheet_;
  double memory_width_;
  std::string word_ = html_escaped(rank_word_of(scene_));
  std::vector<int> ranks_;
  std::vector<std::vector<MemoryStep>> steps_;
  double most_ = 0, top_bytes_ = 1;
};

}  // namespace

std::string rank_word_of(const StepScene& scene) {
  return scene.order->stages() > scene.order->ranks ? "rank" : scene.rank_word;
}

std::vector<MemoryStep> memory_steps(const StepScene& scene, int rank) {
  const Order& order = *scene.order;
  std::vector<MemoryStep> changes;
  for (std::int32_t i = order.begin[rank]; i < order.begin[rank + 1]; ++i) {
    const Action& action = order.actions[i];
    const double kept = scene.kept[action.stage];
    if (action.kind == ActionKind::forward) changes.push_back({scene.action_start[i], kept});
    if (action.kind == ActionKind::backward || action.kind == ActionKind::weight_grad)
      changes.push_back({scene.action_end[i], -kept});
  }
  std::stable_sort(changes.begin(), changes.end(),
      [](const MemoryStep& one, const MemoryStep& other) { return one.time < other.time; });
  double held = scene.always.empty() ? 0 : scene.always[rank];
  std::vector<MemoryStep> steps = {{0, held}};
  for (const MemoryStep& change : changes) steps.push_back({change.time, held += change.bytes});
  return steps;
}

std::vector<int> memory_ranks(const StepScene& scene) {
  const int ranks = scene.order->ranks;
  std::set<int> chosen;
  int fullest = 0;
  double most = -1;
  for (int rank = 0; rank < ranks; ++rank)
    if (const double peak = highest_of(memory_steps(scene, rank)); peak > most) fullest = rank, most = peak;
  chosen.insert({fullest, 0, ranks - 1});
  for (int i = 1; static_cast<int>(chosen.size()) < std::min(ranks, most_memory_curves); ++i)
    chosen.insert(
        ranks <= most_memory_curves ? i : static_cast<int>(std::lround(i * (ranks - 1) / (most_memory_curves - 1.0))));
  return {chosen.begin(), chosen.end()};
}

std::string memory_caption(const StepScene& scene) {
  const std::vector<int> ranks = memory_ranks(scene);
  const std::string all =
      "Weights, gradients and optimizer state of a rank, and what its micro-batches in flight keep for backward. "
      "Temporary buffers and what the framework takes for itself come on top.";
  if (static_cast<int>(ranks.size()) == scene.order->ranks) return all;
  return fmt::format("{} Shown are {} of {} pipeline ranks ({}), the fullest among them.", all, ranks.size(),
      scene.order->ranks, fmt::join(ranks, ", "));
}

std::string memory_svg(const StepScene& scene, Sheet sheet) { return MemoryPicture(scene, sheet).text(); }

/// Okabe and Ito's colours without the two that are too light on paper (Color Universal Design, 2008).
const char* memory_svg_style() {
  return ".memory .curve{fill:none;stroke-width:1.6}.memory "
         ".capacity{fill:none;stroke:var(--out);stroke-width:1.4;stroke-dasharray:6 4}"
         ".m0{stroke:#0072b2}.m1{stroke:#d55e00}.m2{stroke:#009e73}.m3{stroke:#cc79a7}.m4{stroke:#4aa3df}"
         ".m5{stroke:#c08400}.m6{stroke:#8a8f99}\n"
         "@media "
         "(prefers-color-scheme:dark){.m0{stroke:#4aa8e8}.m1{stroke:#f08a4b}.m2{stroke:#2fc79b}.m3{stroke:#e39ac1}"
         ".m4{stroke:#8cc9f0}.m5{stroke:#e6b03a}.m6{stroke:#a9aeb8}}\n";
}

}  // namespace stepcast::timeline
