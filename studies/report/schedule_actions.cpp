// Parts that the forms of a schedule's report share, and the CSV, which is hardly more than they.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/quantity_text.h"
#include "studies/report/schedule_report.h"

namespace stepcast {

char letter_of(ActionKind kind) {
  constexpr char letters[] = {'F', 'B', 'I', 'W'};
  return letters[static_cast<int>(kind)];
}

namespace {

std::string pytorch_text(const Action& action) {
  return fmt::format("{}{}{}", action.stage, letter_of(action.kind), action.micro_batch);
}

}  // namespace

std::vector<std::string> action_texts(const Order& order, int rank) {
  std::vector<std::string> texts;
  const auto actions = order.of_rank(rank);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string first = pytorch_text(actions[i]);
    if (!actions[i].with_next) {
      texts.push_back(first);
      continue;
    }
    texts.push_back(fmt::format("({};{})OVERLAP_F_B", first, pytorch_text(actions[++i])));
  }
  return texts;
}

std::vector<ScheduleBlock> rank_blocks(const ScheduleRun& run, int rank) {
  std::vector<ScheduleBlock> blocks;
  for (std::int32_t i = run.order.begin[rank]; i < run.order.begin[rank + 1]; ++i) {
    const double start = run.timeline.start[i].value(), end = run.timeline.end[i].value(), half = (start + end) / 2;
    if (!run.order.actions[i].with_next) {
      blocks.push_back({run.order.actions[i], start, end});
      continue;
    }
    blocks.push_back({run.order.actions[i], start, half});
    blocks.push_back({run.order.actions[++i], half, end});
  }
  return blocks;
}

std::string schedule_time_text(const ScheduleRun& run, double time) {
  return run.in_seconds ? format_seconds(Seconds(time)) : fmt::format("{:.7g}", time);
}

std::string schedule_csv(const ScheduleRun& run) {
  std::string text;
  for (int rank = 0; rank < run.order.ranks; ++rank)
    text += fmt::format("{}\n", fmt::join(action_texts(run.order, rank), ","));
  return text;
}

}  // namespace stepcast
