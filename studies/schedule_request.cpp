// The flags of `stepcast schedule`, read into sizes and times.
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "model/json_reader.h"
#include "model/quantity_text.h"
#include "studies/schedule.h"

namespace stepcast {
namespace {

// Far above any time in any unit; sums of a step's worth of them keep their digits.
constexpr double most_time = 1e12;

std::optional<double> bare_number(const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Expected<double> in_range(double value, const std::string& text, const std::string& where) {
  if (value < 0) return fail(where, fmt::format("{} is a negative time", text), "0 or more");
  if (!std::isfinite(value) || value > most_time)
    return fail(where, fmt::format("{} is no time", text), fmt::format("at most {:g}", most_time));
  return value;
}

/// Takes times one after the other and holds them to one kind: all with units or all without. A bare 0 suits both.
class TimeReader {
 public:
  Expected<double> read(const std::string& text, const std::string& where) {
    if (const auto bare = bare_number(text)) {
      if (*bare != 0) {
        if (auto same = note(false, text, where); !same) return tl::unexpected(same.error());
      }
      return in_range(*bare, text, where);
    }
    if (text.starts_with("-"))
      return fail(where, fmt::format("{} is a negative time", text.substr(0, 60)), "0 or more");
    const auto time = parse_quantity<Seconds>(text, where, Zero::allowed);
    if (!time) return tl::unexpected(time.error());
    if (auto same = note(true, text, where); !same) return tl::unexpected(same.error());
    return in_range(time->value(), text, where);
  }
  [[nodiscard]] bool in_seconds() const { return !first_.empty() && units_; }

 private:
  Expected<void> note(bool units, const std::string& text, const std::string& where) {
    if (first_.empty()) {
      first_ = fmt::format("{} is {}", where, text);
      units_ = units;
    }
    if (units == units_) return {};
    return fail(where, fmt::format("{} has {} unit, but {}", text, units ? "a" : "no", first_),
                "units on all times of a command, or on none");
  }
  std::string first_;
  bool units_ = false;
};

Expected<int> size_flag(const Arguments& arguments, const char* name, int otherwise) {
  if (!arguments.has(name)) return otherwise;
  const auto count = parse_count(arguments.value(name), name, 1, 1 << 20);
  if (!count) return tl::unexpected(count.error());
  return static_cast<int>(*count);
}

struct SizeFlag {
  const char* name;
  int ScheduleSize::*field;
  bool needed;
};
constexpr SizeFlag size_flags[] = {{"--stages", &ScheduleSize::ranks, true},
                                   {"--micro-batches", &ScheduleSize::micro_batches, true},
                                   {"--chunks", &ScheduleSize::chunks, false},
                                   {"--group", &ScheduleSize::group, false},
                                   {"--seq-splits", &ScheduleSize::slices, false}};

/// A file's order has its sizes; only the slices are not to be seen in it.
Expected<void> read_file_flags(const Arguments& arguments, ScheduleRequest& request) {
  for (const SizeFlag& flag : size_flags)
    if (flag.field != &ScheduleSize::slices && arguments.has(flag.name))
      return fail(flag.name, "does not go with --from", "leave it out: the file's order says it");
  const auto slices = size_flag(arguments, "--seq-splits", 1);
  if (!slices) return tl::unexpected(slices.error());
  request.size.slices = *slices;
  request.file = arguments.value("--from");
  if (arguments.has("--csv-dialect")) request.dialect = arguments.value("--csv-dialect");
  return {};
}

Expected<void> read_sizes(const Arguments& arguments, ScheduleRequest& request) {
  if (arguments.has("--from")) return read_file_flags(arguments, request);
  if (arguments.has("--csv-dialect"))
    return fail("--csv-dialect", "is about the file of --from", "add --from FILE.csv");
  for (const SizeFlag& flag : size_flags) {
    if (flag.needed && !arguments.has(flag.name))
      return fail(flag.name, "is missing", "--stages is the number of ranks, --micro-batches that of a step");
    const auto value = size_flag(arguments, flag.name, request.size.*flag.field);
    if (!value) return tl::unexpected(value.error());
    request.size.*flag.field = *value;
  }
  request.chunks_given = arguments.has("--chunks");
  request.slices_given = arguments.has("--seq-splits");
  return {};
}

struct TimeFlag {
  const char *flag, *key;
  double ScheduleRequest::*one;
  std::vector<double> ScheduleRequest::*list;
};
constexpr TimeFlag time_flags[] = {
    {"--forward", "forward", &ScheduleRequest::forward, &ScheduleRequest::forward_list},
    {"--input-grad", "input_grad", &ScheduleRequest::input_grad, &ScheduleRequest::input_grad_list},
    {"--weight-grad", "weight_grad", &ScheduleRequest::weight_grad, &ScheduleRequest::weight_grad_list}};

Expected<void> read_time_flags(const Arguments& arguments, TimeReader& reader, ScheduleRequest& request) {
  for (const TimeFlag& row : time_flags) {
    if (!arguments.has(row.flag))
      return fail(row.flag, "is missing", "--forward, --input-grad and --weight-grad, or --times FILE.json");
    const auto time = reader.read(arguments.value(row.flag), row.flag);
    if (!time) return tl::unexpected(time.error());
    request.*row.one = *time;
  }
  return {};
}

/// The three lists as text: numbers are written out, so that one reader judges both.
Expected<std::vector<std::vector<std::string>>> lists_of(const std::string& file, const std::string& text) {
  std::vector<std::vector<std::string>> lists;
  JsonObject numbers(text, file);
  std::vector<double> values;
  for (const TimeFlag& row : time_flags) {
    values.clear();
    numbers.read(row.key, values, NumberRange{});
    lists.emplace_back();
    for (const double value : values) lists.back().push_back(fmt::format("{}", value));
  }
  auto read = numbers.finish(lists);
  if (read) return read;
  JsonObject texts(text, file);
  for (std::size_t i = 0; i < std::size(time_flags); ++i) texts.read(time_flags[i].key, lists[i]);
  if (auto as_text = texts.finish(lists)) return as_text;
  return read;
}

Expected<void> read_time_lists(const Arguments& arguments, TimeReader& reader, ScheduleRequest& request) {
  const std::string file = arguments.value("--times");
  for (const TimeFlag& row : time_flags)
    if (arguments.has(row.flag)) return fail(row.flag, "does not go with --times", "leave one of them out");
  const auto text = read_text_file(file);
  if (!text) return tl::unexpected(text.error());
  const auto lists = lists_of(file, *text);
  if (!lists) return tl::unexpected(lists.error());
  for (std::size_t i = 0; i < lists->size(); ++i) {
    for (std::size_t s = 0; s < (*lists)[i].size(); ++s) {
      const auto time = reader.read((*lists)[i][s], fmt::format("{}:/{}/{}", file, time_flags[i].key, s));
      if (!time) return tl::unexpected(time.error());
      (request.*time_flags[i].list).push_back(*time);
    }
  }
  request.times_file = file;
  return {};
}

Expected<void> read_times(const Arguments& arguments, ScheduleRequest& request) {
  TimeReader reader;
  auto read = arguments.has("--times") ? read_time_lists(arguments, reader, request)
                                       : read_time_flags(arguments, reader, request);
  if (!read) return read;
  if (arguments.has("--p2p")) {
    const auto hop = reader.read(arguments.value("--p2p"), "--p2p");
    if (!hop) return tl::unexpected(hop.error());
    request.hop = *hop;
  }
  double sum = request.forward + request.input_grad + request.weight_grad;
  for (const TimeFlag& row : time_flags)
    for (const double time : request.*row.list) sum += time;
  if (sum <= 0) return fail("--forward", "all work takes no time", "give at least one time above 0");
  request.in_seconds = reader.in_seconds();
  return {};
}

Expected<void> read_factors(const Arguments& arguments, ScheduleRequest& request) {
  if (arguments.has("--overlap-factor")) {
    const std::string text = arguments.value("--overlap-factor");
    const auto factor = bare_number(text);
    if (!factor || !(*factor > 0 && *factor <= 10))
      return fail("--overlap-factor", fmt::format("'{}' is no factor", text.substr(0, 60)),
                  "above 0, at most 10; 1: a fused pair lasts as long as its two one after the other");
    request.pair_factor = *factor;
  }
  const auto cap = size_flag(arguments, "--memory-cap", 0);
  if (!cap) return tl::unexpected(cap.error());
  request.memory_cap = *cap;
  return {};
}

}  // namespace

Expected<ScheduleRequest> read_schedule_request(const Arguments& arguments) {
  ScheduleRequest request;
  if (auto read = read_sizes(arguments, request); !read) return tl::unexpected(read.error());
  if (auto read = read_times(arguments, request); !read) return tl::unexpected(read.error());
  if (auto read = read_factors(arguments, request); !read) return tl::unexpected(read.error());
  return request;
}

}  // namespace stepcast
