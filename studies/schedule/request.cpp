// The flags of `stepcast schedule`: sizes, and what goes with them.
#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/schedule/request.h"

namespace stepcast::schedule {
namespace {

Expected<int> size_flag(const Arguments& arguments, const char* name, int otherwise) {
  if (!arguments.has(name)) return otherwise;
  TRY(const auto count, parse_count(arguments.value(name), name, 1, 1 << 20));
  return static_cast<int>(count);
}

struct SizeFlag {
  const char* name;
  int ScheduleSize::*field;
  bool needed;
};
constexpr SizeFlag size_flags[] = {{"--stages", &ScheduleSize::ranks, true},
    {"--micro-batches", &ScheduleSize::micro_batches, true}, {"--chunks", &ScheduleSize::chunks, false},
    {"--group", &ScheduleSize::group, false}, {"--seq-splits", &ScheduleSize::slices, false}};

/// A file's order has its sizes; only the slices are not to be seen in it.
Expected<void> read_file_flags(const Arguments& arguments, ScheduleRequest& request) {
  for (const SizeFlag& flag : size_flags)
    if (flag.field != &ScheduleSize::slices && arguments.has(flag.name))
      return fail(flag.name, "does not go with --from", "leave it out: the file's order says it");
  TRY(request.size.slices, size_flag(arguments, "--seq-splits", 1));
  request.slices_given = arguments.has("--seq-splits");
  request.file = arguments.value("--from");
  if (arguments.has("--csv-dialect")) request.dialect = arguments.value("--csv-dialect");
  if (!arguments.has("--iteration")) return {};
  TRY(const auto iteration, parse_count(arguments.value("--iteration"), "--iteration", 0, 1 << 30));
  request.iteration = static_cast<int>(iteration);
  return {};
}

Expected<void> read_sizes(const Arguments& arguments, ScheduleRequest& request) {
  if (arguments.has("--from")) return read_file_flags(arguments, request);
  for (const char* flag : {"--csv-dialect", "--iteration"})
    if (arguments.has(flag)) return fail(flag, "is about the file of --from", "add --from FILE");
  for (const SizeFlag& flag : size_flags) {
    if (flag.needed && !arguments.has(flag.name))
      return fail(flag.name, "is missing", "--stages is the number of ranks, --micro-batches that of a step");
    TRY(request.size.*flag.field, size_flag(arguments, flag.name, request.size.*flag.field));
  }
  request.chunks_given = arguments.has("--chunks");
  request.slices_given = arguments.has("--seq-splits");
  return {};
}

Expected<void> read_factors(const Arguments& arguments, ScheduleRequest& request) {
  if (arguments.has("--overlap-factor")) {
    const std::string text = arguments.value("--overlap-factor");
    const auto factor = bare_number(text);
    if (!factor || !(*factor >= 0.5 && *factor <= 10))
      return fail("--overlap-factor", fmt::format("'{}' is no factor", text.substr(0, 60)),
          "from 0.5, where two of a length hide each other, to 10; 1: a fused pair lasts as long as its two one after "
          "the other");
    request.pair_factor = *factor;
  }
  TRY(request.memory_cap, size_flag(arguments, "--memory-cap", 0));
  return {};
}

}  // namespace

Expected<ScheduleRequest> read_schedule_request(const Arguments& arguments) {
  ScheduleRequest request;
  TRY(read_sizes(arguments, request));
  TRY(read_schedule_times(arguments, request));
  TRY(read_factors(arguments, request));
  TRY(read_schedule_knobs(arguments, request));
  return request;
}

}  // namespace stepcast::schedule
