#include "studies/roofline/draw/kernel_labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "studies/print/page/html_text.h"
#include "studies/roofline/draw/kernel_places.h"

namespace stepcast::roofline {
namespace {

using Heap = std::vector<std::size_t>;

constexpr std::size_t listed_heaps = 3;
constexpr double list_row = 16, list_side = 8, list_mark = 5, list_text = 20;
constexpr std::size_t most_rows(Sheet sheet) { return sheet == Sheet::wide ? 10 : 7; }

/// Operators of one name and pass in a heap: blocks repeat them.
struct HeapRow {
  const OperatorPoint* first = nullptr;
  double share = 0;
  std::vector<std::size_t> points;
  [[nodiscard]] std::string words() const {
    return counted_name(first->name, points.size()) + " " + html_percent(share);
  }
};

std::vector<HeapRow> heap_rows(const RooflineReport& report, const Heap& heap) {
  std::vector<HeapRow> rows;
  for (const std::size_t i : heap) {
    const OperatorPoint& point = report.points[i];
    auto row = std::find_if(rows.begin(), rows.end(),
        [&](const HeapRow& one) { return one.first->name == point.name && one.first->pass == point.pass; });
    if (row == rows.end()) row = rows.insert(rows.end(), {&point, 0, {}});
    row->share += point.share;
    row->points.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const HeapRow& a, const HeapRow& b) { return a.share > b.share; });
  return rows;
}

SvgBox box_around(const std::vector<PlaneMark>& marks, const Heap& heap) {
  SvgBox all = marks[heap.front()].box();
  for (const std::size_t i : heap) {
    const SvgBox one = marks[i].box();
    all = {std::min(all.left, one.left), std::min(all.top, one.top), std::max(all.right, one.right),
        std::max(all.bottom, one.bottom)};
  }
  return all;
}

/// The shortest line from a list to its heap.
struct HeapLeader {
  double from_x, from_y, to_x, to_y;
  HeapLeader(const SvgBox& list, const SvgBox& heap)
      : from_x(nearest(list.left, list.right, heap.left, heap.right)),
        from_y(nearest(list.top, list.bottom, heap.top, heap.bottom)),
        to_x(nearest(heap.left, heap.right, list.left, list.right)),
        to_y(nearest(heap.top, heap.bottom, list.top, list.bottom)) {}
  [[nodiscard]] std::vector<SvgBox> ground() const { return boxes_along(from_x, from_y, to_x, to_y); }
  [[nodiscard]] std::string text() const {
    return fmt::format("<path class=\"leader\" d=\"M{} {}L{} {}\"/>", svg_number(from_x), svg_number(from_y),
        svg_number(to_x), svg_number(to_y));
  }

 private:
  static double nearest(double low, double high, double other_low, double other_high) {
    return std::clamp((std::max(low, other_low) + std::min(high, other_high)) / 2, low, high);
  }
};

/// What lists must keep clear of: marks, names and roofs; and lists, of which the leaders of others keep clear, too.
struct ListRoom {
  LabelRoom room, lists;
};

/// The free place of this size that is nearest to `near`; none where the plane is full.
std::optional<SvgBox> nearest_room(ListRoom& free, const SvgBox& near, double width, double height) {
  constexpr double step = 8;
  const SvgBox& frame = free.room.frame();
  const auto far = [&](const SvgBox& box) {
    const double dx = std::max({0.0, box.left - near.right, near.left - box.right}),
                 dy = std::max({0.0, box.top - near.bottom, near.top - box.bottom});
    const double aside = box.left + box.right - near.left - near.right;
    return std::hypot(dx, dy) + 0.05 * std::abs(aside);
  };
  std::vector<SvgBox> boxes;
  for (double top = frame.top + 4; top + height <= frame.bottom - 4; top += step)
    for (double left = frame.left + 4; left + width <= frame.right - 4; left += step)
      boxes.push_back({left, top, left + width, top + height});
  std::stable_sort(boxes.begin(), boxes.end(), [&](const SvgBox& a, const SvgBox& b) { return far(a) < far(b); });
  for (const SvgBox& box : boxes)
    if (free.lists.all_free(HeapLeader(box, near).ground()) && free.room.take_if_free(box)) return box;
  return std::nullopt;
}

std::string box_rect(const char* classes, const SvgBox& box, double more) {
  return fmt::format("<rect class=\"{}\" rx=\"5\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", classes,
      svg_number(box.left - more), svg_number(box.top - more), svg_number(box.right - box.left + 2 * more),
      svg_number(box.bottom - box.top + 2 * more));
}

std::string list_line(const HeapRow& row, double x, double y) {
  const PointPass pass = point_pass(row.first->pass);
  return fmt::format("<g class=\"heap-row kind-{}\" {}><path class=\"mark forecast\" transform=\"translate({} {})\" "
                     "d=\"{}\"/>",
             to_text(row.first->kind), points_attribute(row.points), svg_number(x + list_side + list_mark),
             svg_number(y - 4), mark_outline(pass, list_mark)) +
         picture_text(x + list_side + list_text, y, "label", row.words()) + "</g>\n";
}

std::string rest_words(const std::vector<HeapRow>& rows, std::size_t shown) {
  std::size_t count = 0;
  double share = 0;
  for (std::size_t i = shown; i < rows.size(); ++i) count += rows[i].points.size(), share += rows[i].share;
  return fmt::format("and {} lighter {}", html_count(static_cast<double>(count)), html_percent(share));
}

/// The list of a heap: how many there are and what they are of the step, then the heaviest. Fewer rows where the plane
/// is full; "" where not even two find room.
std::string heap_list(const RooflineReport& report, Sheet sheet, const std::vector<PlaneMark>& marks, const Heap& heap,
    ListRoom& free, LabelRoom& room) {
  const std::vector<HeapRow> rows = heap_rows(report, heap);
  const SvgBox around = box_around(marks, heap);
  double share = 0;
  for (const HeapRow& row : rows) share += row.share;
  const std::string head =
      fmt::format("{} operators here: {}", html_count(static_cast<double>(heap.size())), html_percent(share));
  for (std::size_t shown = std::min(rows.size(), most_rows(sheet)); shown >= 2; shown -= 2) {
    const std::string rest = shown < rows.size() ? rest_words(rows, shown) : "";
    double width = svg_text_width(head, 1.16 * picture_font) + 2 * list_side;
    for (std::size_t i = 0; i < shown; ++i)
      width = std::max(width, svg_text_width(rows[i].words(), picture_font) + list_text + 2 * list_side);
    const double height = list_row * static_cast<double>(shown + (rest.empty() ? 1 : 2)) + 8;
    const auto box = nearest_room(free, around, width, height);
    if (!box) continue;
    const HeapLeader leader(*box, around);
    free.lists.take(*box);
    room.take(*box);
    for (const SvgBox& ground : leader.ground()) room.take(ground), free.room.take(ground);
    double y = box->top + list_row;
    std::string text = box_rect("heap-edge", around, 3) + leader.text() + box_rect("ground heap-ground", *box, 0) +
                       picture_text(box->left + list_side, y, "strong", head);
    for (std::size_t i = 0; i < shown; ++i) text += list_line(rows[i], box->left, y += list_row);
    if (!rest.empty()) text += picture_text(box->left + list_side + list_text, y + list_row, "soft", rest);
    return fmt::format("<g class=\"heap\" {}>", points_attribute(heap)) + text + "</g>\n";
  }
  return {};
}

/// The name beside a heap that has no list: of its heaviest, with how many more there are.
std::string heap_name(
    const RooflineReport& report, const std::vector<PlaneMark>& marks, const Heap& heap, LabelRoom& room) {
  const std::vector<HeapRow> rows = heap_rows(report, heap);
  const std::size_t others = heap.size() - rows.front().points.size();
  const std::string words = rows.front().words() + (others > 0 ? fmt::format(", {} more here", others) : "");
  const PlaneMark& mark = marks[heap.front()];
  const std::string label = mark_label(words, mark.place, mark.radius, room);
  if (label.empty()) return {};
  return fmt::format("<g class=\"mark-label\" {} transform=\"translate({} {})\">", points_attribute(heap),
             svg_number(mark.place.x), svg_number(mark.place.y)) +
         label + "</g>\n";
}

}  // namespace

std::vector<Heap> heaps_of(const std::vector<PlaneMark>& marks) {
  std::vector<std::size_t> leader(marks.size());
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&](std::size_t i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  for (std::size_t i = 0; i < marks.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (marks[i].in_strip || marks[j].in_strip || !marks[i].hides(marks[j])) continue;
      const std::size_t one = find(i), other = find(j);
      leader[std::max(one, other)] = std::min(one, other);
    }
  std::vector<Heap> heaps(marks.size());
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (!marks[i].in_strip) heaps[find(i)].push_back(i);
  std::erase_if(heaps, [](const Heap& heap) { return heap.empty(); });
  return heaps;
}

std::string kernel_labels(const RooflineReport& report, Sheet sheet, MemoryLevel level,
    const std::vector<PlaneMark>& marks, LabelRoom room, const std::vector<SvgBox>& lines) {
  const char* const word = level == MemoryLevel::hbm ? "hbm" : "l2";
  std::string text = fmt::format("<g class=\"labels {0}\" data-level=\"{0}\">\n", word);
  ListRoom free{room, LabelRoom(room.frame())};
  for (const SvgBox& line : lines) free.room.take(line);
  std::size_t lists = 0, names = 0;
  std::vector<Heap> without_list;  // their names go around all lists
  for (const Heap& heap : heaps_of(marks)) {
    const bool is_mixed = lists < listed_heaps && heap_rows(report, heap).size() > 1;
    const std::string list = is_mixed ? heap_list(report, sheet, marks, heap, free, room) : "";
    if (list.empty()) without_list.push_back(heap);
    else text += list, ++lists;
  }
  for (const Heap& heap : without_list) {
    if (names == labelled_points) break;
    const std::string name = heap_name(report, marks, heap, room);
    text += name, names += name.empty() ? 0 : 1;
  }
  return text + "</g>\n";
}

}  // namespace stepcast::roofline
