// The pipeline as one picture for print and for readers without script. What would take many rectangles is one path per
// rank and kind, so that a thousand actions of a rank take 20 kB.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/page/html_text.h"
#include "studies/print/scale.h"
#include "studies/timeline/schedule_svg_style.h"
#include "studies/timeline/memory_svg.h"
#include "studies/timeline/page.h"

namespace stepcast::timeline {
namespace {

constexpr double picture_left = 60, picture_top = 22, picture_width = 900, picture_row = 16, picture_step = 20,
                 picture_foot = 6;
constexpr std::size_t most_pictured_actions = 12000;
constexpr const char* picture_classes[] = {"forward", "backward", "input", "weight"};  ///< by ActionKind

/// All ranks, or as many as there is room for: the slowest one's, the first and the last, others evenly between.
std::vector<int> pictured_ranks(const StepScene& scene) {
  const Order& order = *scene.order;
  const std::size_t per_rank = std::max<std::size_t>(1, order.actions.size() / static_cast<std::size_t>(order.ranks));
  const int room = static_cast<int>(std::clamp<std::size_t>(most_pictured_actions / per_rank, 4, 64));
  std::vector<int> ranks;
  for (int i = 0; i < std::min(room, order.ranks); ++i)
    ranks.push_back(order.ranks <= room ? i : static_cast<int>(std::lround(i * (order.ranks - 1) / (room - 1.0))));
  const int slowest = std::clamp(scene.slowest_stage, 0, order.ranks - 1);
  if (std::find(ranks.begin(), ranks.end(), slowest) == ranks.end()) {
    const auto next = std::lower_bound(ranks.begin(), ranks.end(), slowest);
    *(next - ranks.begin() > 1 ? next - 1 : next) = slowest;
  }
  return ranks;
}

class PipelinePicture {
 public:
  explicit PipelinePicture(const StepScene& scene)
      : scene_(scene), ranks_(pictured_ranks(scene)),
        bottom_(picture_top + picture_step * static_cast<double>(ranks_.size())) {}

  [[nodiscard]] std::string text() const {
    std::string body = axis();
    for (std::size_t row = 0; row < ranks_.size(); ++row)
      body += row_text(ranks_[row], picture_top + picture_step * static_cast<double>(row));
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"pipeline\" viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
               "aria-label=\"Actions of {} pipeline ranks over the step\">\n",
               picture_left + picture_width + 12, bottom_ + picture_foot, ranks_.size()) +
           body + "</svg>\n";
  }

  [[nodiscard]] std::string caption() const {
    const Order& order = *scene_.order;
    std::string text;
    if (static_cast<int>(ranks_.size()) < order.ranks)
      text = fmt::format("The picture shows {} of {} pipeline ranks, for all would take more than {} rectangles. ",
          ranks_.size(), order.ranks, html_count(static_cast<double>(most_pictured_actions)));
    const auto per_rank = static_cast<double>(order.actions.size()) / order.ranks;
    return per_rank > picture_width / 2 ? text + "Actions are narrower than two pixels: neighbours mix their colours."
                                        : text;
  }

 private:
  [[nodiscard]] double x_of(double time) const { return picture_left + picture_width * time / scene_.end; }

  [[nodiscard]] std::string axis() const {
    std::string text;
    const double along = nice_step(scene_.end, 8);
    for (int i = 0; i * along <= scene_.end * (1 + 1e-9); ++i)
      text += fmt::format(
          "<path class=\"grid\" d=\"M{0:.1f} {1:g}V{2:g}\"/><text class=\"mid\" x=\"{0:.1f}\" y=\"{3:g}\">{4}</text>\n",
          x_of(i * along), picture_top - 5, bottom_, picture_top - 9,
          i == 0 ? "0" : format_seconds(Seconds(i * along)));
    return text;
  }

  [[nodiscard]] std::string row_text(int rank, double y) const {
    std::string text =
        fmt::format("<g class=\"rank\" data-rank=\"{0}\"><text class=\"end\" x=\"{1:g}\" y=\"{2:g}\">{4} {0}</text>"
                    "<path class=\"idle\" d=\"{3}\"/>\n",
            rank, picture_left - 6, y + 12, block(scene_.begin, scene_.begin + scene_.timeline->makespan.value(), y),
            html_escaped(rank_word_of(scene_)));
    std::string around;
    for (const SceneStretch& stretch : scene_.around) around += block(stretch.start, stretch.end, y);
    if (!around.empty()) text += fmt::format("<path class=\"step\" d=\"{}\"/>\n", around);
    std::array<std::string, 4> paths = action_paths(rank, y);
    for (std::size_t kind = 0; kind < paths.size(); ++kind)
      if (!paths[kind].empty())
        text += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", picture_classes[kind], paths[kind]);
    return text + "</g>\n";
  }

  [[nodiscard]] std::array<std::string, 4> action_paths(int rank, double y) const {
    const Order& order = *scene_.order;
    std::array<std::string, 4> paths;
    for (std::int32_t i = order.begin[rank]; i < order.begin[rank + 1]; ++i) {
      paths[static_cast<std::size_t>(order.actions[i].kind)] += block(scene_.action_start[i], scene_.action_end[i], y);
    }
    return paths;
  }

  /// A hair of paper between neighbours where there is room for it.
  [[nodiscard]] std::string block(double from, double to, double y) const {
    const double x = x_of(from), width = x_of(to) - x, drawn = width > 3 ? width - 0.6 : width;
    return fmt::format("M{:.2f} {:g}h{:.2f}v{:g}h-{:.2f}z", x, y, drawn, picture_row, drawn);
  }

  const StepScene& scene_;
  std::vector<int> ranks_;
  double bottom_;
};

}  // namespace

TimelinePicture timeline_picture(const StepScene& scene) {
  const PipelinePicture picture(scene);
  return {picture.text(), picture.caption()};
}

}  // namespace stepcast::timeline
