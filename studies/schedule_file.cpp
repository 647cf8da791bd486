// The order of a file: PyTorch's CSV.
#include "model/json_reader.h"
#include "sim/schedule/pytorch_csv.h"
#include "studies/schedule.h"

namespace stepcast {

Expected<ScheduleRun> run_schedule_file(const ScheduleRequest& request) {
  const auto dialect = find_csv_dialect(request.dialect);
  if (!dialect) return tl::unexpected(dialect.error());
  const auto text = read_text_file(request.file);
  if (!text) return tl::unexpected(text.error());
  auto read = read_pytorch_csv(*text, request.file, {.dialect = *dialect, .slices = request.size.slices});
  if (!read) return tl::unexpected(read.error());
  if (!request.times_file.empty()) {
    const int copy = read->order.stages() / read->order.directions;
    const auto fits = check_list_lengths(request, request.file, copy, read->order.directions);
    if (!fits) return tl::unexpected(fits.error());
  }
  auto run = time_order(std::move(read->order), request, request.file, request.file);
  if (run) run->notes = read->notes;
  return run;
}

}  // namespace stepcast
