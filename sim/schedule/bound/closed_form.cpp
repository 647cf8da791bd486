#include "sim/schedule/bound/closed_form.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/schedule/orders/orders.h"

namespace stepcast {
namespace {

struct ClosedForm {
  std::string_view schedule;
  std::int32_t (*peak)(const ScheduleSize&, int rank);
};

std::int32_t chunk_peak(const ScheduleSize& size, int group, int ahead) {
  return std::min(size.micro_batches * size.chunks, ahead + (size.chunks - 1) * group + 1);
}

constexpr std::array closed_forms = {
    ClosedForm{"gpipe", [](const ScheduleSize& s, int) { return s.micro_batches; }},
    ClosedForm{"1f1b",
               [](const ScheduleSize& s, int r) { return std::min(s.micro_batches, s.ranks - r); }},
    ClosedForm{"eager-1f1b",
               [](const ScheduleSize& s, int r) { return std::min(s.micro_batches, 2 * (s.ranks - r) - 1); }},
    ClosedForm{"interleaved-1f1b",
               [](const ScheduleSize& s, int r) {
                 return chunk_peak(s, s.group > 0 ? s.group : s.ranks, 2 * (s.ranks - 1 - r));
               }},
    ClosedForm{"interleaved-flex",
               [](const ScheduleSize& s, int r) {
                 return chunk_peak(s, orders::group_of_rounds(s.ranks, s.micro_batches), 2 * (s.ranks - 1 - r));
               }},
    ClosedForm{"looped-bfs",
               [](const ScheduleSize& s, int) { return s.micro_batches * s.chunks; }},
    ClosedForm{"zb-h1", [](const ScheduleSize& s, int) { return std::min(s.micro_batches, s.ranks); }},
    ClosedForm{"interleaved-zb",
               [](const ScheduleSize& s, int) {
                 return chunk_peak(s, orders::group_of_rounds(s.ranks, s.micro_batches), s.ranks - 1);
               }},
    ClosedForm{"zb-h2",
               [](const ScheduleSize& s, int) { return std::min(s.micro_batches, 2 * s.ranks - 1); }},
    ClosedForm{"dualpipe", [](const ScheduleSize& s, int) { return s.ranks + 1; }},
    ClosedForm{"dualpipev", [](const ScheduleSize& s, int) { return 2 * s.ranks + 1; }},
    ClosedForm{
        "seq-1f1b",
        [](const ScheduleSize& s, int r) { return std::min(s.micro_batches * s.slices, s.ranks - 1 - r + s.slices); }},
    ClosedForm{"terapipe", [](const ScheduleSize& s, int) { return s.micro_batches * s.slices; }},
};

}  // namespace

std::optional<std::vector<std::int32_t>> closed_form_peaks(const std::string& schedule, const ScheduleSize& size) {
  const auto form = std::find_if(closed_forms.begin(), closed_forms.end(),
                                 [&](const ClosedForm& row) { return row.schedule == schedule; });
  if (form == closed_forms.end()) return std::nullopt;
  std::vector<std::int32_t> peaks;
  for (int rank = 0; rank < size.ranks; ++rank) peaks.push_back(form->peak(size, rank));
  return peaks;
}

}  // namespace stepcast
