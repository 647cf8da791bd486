#include "calibrate/trace/host_mark.h"

#include <charconv>

namespace stepcast::calibrate {
namespace {

// clang-format off
struct MarkName { std::string_view begin; MarkKind kind; };
constexpr MarkName mark_names[] = {
    {"ProfilerStep#", MarkKind::step}, {"Optimizer.step", MarkKind::optimizer},
    {"Optimizer.zero_grad", MarkKind::zero_grad}, {"iteration", MarkKind::numbered},
    {"Iteration", MarkKind::numbered}, {"iter", MarkKind::numbered}, {"train_step", MarkKind::numbered},
    {"step", MarkKind::numbered}, {"Step", MarkKind::numbered}};
// clang-format on

}  // namespace

std::optional<HostMark> host_mark_of(std::string_view name, double start, double end) {
  if (const auto rows = iteration_rows_in(name)) return HostMark{MarkKind::pass, start, end, -1, *rows};
  for (const MarkName& row : mark_names) {
    if (!name.starts_with(row.begin)) continue;
    HostMark mark{row.kind, start, end, -1, {}};
    std::string_view number = name.substr(row.begin.size());
    if (row.kind == MarkKind::numbered)
      number.remove_prefix(std::min(number.find_first_not_of(" _:#-"), number.size()));
    const auto [last, code] = std::from_chars(number.data(), number.data() + number.size(), mark.number);
    if (row.kind != MarkKind::numbered || (code == std::errc() && last == number.data() + number.size())) return mark;
  }
  return std::nullopt;
}

}  // namespace stepcast::calibrate
