// Durations and hops of `stepcast schedule`, from flags or from the file of --times.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "studies/schedule/layers.h"
#include "studies/schedule/request.h"

namespace stepcast::schedule {

std::optional<double> bare_number(const std::string& text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

namespace {

using TimesJson = nlohmann::json;

// Far above any time in any unit; sums of a step's worth of them keep their digits.
constexpr double most_time = 1e12;

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
        TRY(note(false, text, where));
      }
      return in_range(*bare, text, where);
    }
    if (text.starts_with("-"))
      return fail(where, fmt::format("{} is a negative time", text.substr(0, 60)), "0 or more");
    TRY(const auto time, parse_quantity<Seconds>(text, where, Zero::allowed));
    TRY(note(true, text, where));
    return in_range(time.value(), text, where);
  }
  /// With units? Nothing where all times were a bare 0.
  [[nodiscard]] std::optional<bool> units() const { return units_; }

 private:
  Expected<void> note(bool units, const std::string& text, const std::string& where) {
    if (!units_) {
      first_ = fmt::format("{} is {}", where, text);
      units_ = units;
    }
    if (units == *units_) return {};
    return fail(where, fmt::format("{} has {} unit, but {}", text, units ? "a" : "no", first_),
        "units on all times of a command, or on none");
  }
  std::string first_;
  std::optional<bool> units_;
};

struct TimeFlag {
  const char *flag, *key;
  double ScheduleRequest::*one;
  std::vector<double> ScheduleRequest::*list;
  std::vector<std::vector<double>> ScheduleRequest::*each;
};
constexpr TimeFlag time_flags[] = {
    {"--forward", "forward", &ScheduleRequest::forward, &ScheduleRequest::forward_list, &ScheduleRequest::forward_each},
    {"--input-grad", "input_grad", &ScheduleRequest::input_grad, &ScheduleRequest::input_grad_list,
        &ScheduleRequest::input_grad_each},
    {"--weight-grad", "weight_grad", &ScheduleRequest::weight_grad, &ScheduleRequest::weight_grad_list,
        &ScheduleRequest::weight_grad_each}};

Expected<void> read_time_flags(const Arguments& arguments, TimeReader& reader, ScheduleRequest& request) {
  for (const TimeFlag& row : time_flags) {
    if (arguments.has(row.flag)) {
      TRY(request.*row.one, reader.read(arguments.value(row.flag), row.flag));
      request.times_given = row.flag;
    } else if (arguments.has("--from")) {
      if (request.times_missing.empty()) request.times_missing = row.flag;
    } else {
      return fail(row.flag, "is missing", "--forward, --input-grad and --weight-grad, or --times FILE.json");
    }
  }
  return {};
}

/// The file of --times: three lists with an entry per virtual stage, a time or a list with one per micro-batch.
class TimesFile {
 public:
  TimesFile(std::string name, TimeReader& reader, ScheduleRequest& request)
      : name_(std::move(name)), reader_(reader), request_(request) {}

  Expected<void> read() {
    TRY(const auto text, read_text_file(name_));
    TRY(check_lists(text));
    const TimesJson file = TimesJson::parse(text);
    for (const TimeFlag& row : time_flags) TRY(read_stages(row, file.at(row.key)));
    request_.times_file = name_;
    return {};
  }

 private:
  Expected<void> check_lists(const std::string& text) const {
    JsonObject file(text, name_);
    for (const TimeFlag& row : time_flags) {
      std::vector<double> absent;
      if (!file.has(row.key)) {
        file.read(row.key, absent, NumberRange{});
        continue;
      }
      file.require(file.type_of(row.key) == "list", row.key, fmt::format("found a {}", file.type_of(row.key)),
          "a list with an entry per virtual stage");
    }
    if (auto error = file.first_error()) return tl::unexpected(std::move(*error));
    return {};
  }

  Expected<void> read_stages(const TimeFlag& row, const TimesJson& stages) {
    auto& each = request_.*row.each;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const std::string where = fmt::format("{}:/{}/{}", name_, row.key, s);
      std::vector<double> own;
      if (stages[s].is_array()) {
        TRY(read_micro_batches(stages[s], where, own));
        (request_.*row.list).push_back(std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size()));
      } else {
        TRY(const auto time, read_time(stages[s], where, "a time, or a list with one per micro-batch"));
        (request_.*row.list).push_back(time);
      }
      each.push_back(std::move(own));
    }
    if (std::all_of(each.begin(), each.end(), [](const auto& own) { return own.empty(); })) each.clear();
    return {};
  }

  Expected<void> read_micro_batches(const TimesJson& list, const std::string& where, std::vector<double>& own) {
    if (list.empty()) return fail(where, "the list is empty", "one time per micro-batch, or one for all of them");
    for (std::size_t i = 0; i < list.size(); ++i) {
      TRY(const auto time, read_time(list[i], fmt::format("{}/{}", where, i), "a time"));
      own.push_back(time);
    }
    return {};
  }

  /// Numbers are written out, so that one reader judges both.
  Expected<double> read_time(const TimesJson& value, const std::string& where, const char* wanted) {
    if (value.is_number()) return reader_.read(fmt::format("{}", value.get<double>()), where);
    if (value.is_string()) return reader_.read(value.get<std::string>(), where);
    return fail(where, fmt::format("found {}", value.type_name()), wanted);
  }

  std::string name_;
  TimeReader& reader_;
  ScheduleRequest& request_;
};

Expected<void> read_time_lists(const Arguments& arguments, TimeReader& reader, ScheduleRequest& request) {
  for (const TimeFlag& row : time_flags)
    if (arguments.has(row.flag)) return fail(row.flag, "does not go with --times", "leave one of them out");
  request.times_given = "--times";
  return TimesFile(arguments.value("--times"), reader, request).read();
}

Expected<void> check_some_time(const ScheduleRequest& request) {
  double sum = request.forward + request.input_grad + request.weight_grad;
  for (const TimeFlag& row : time_flags)
    for (const double time : request.*row.list) sum += time;
  if (sum > 0 || !request.times_missing.empty()) return {};
  return fail("--forward", "all work takes no time", "give at least one time above 0");
}

}  // namespace

Expected<void> read_schedule_times(const Arguments& arguments, ScheduleRequest& request) {
  TimeReader reader;
  const ReadTime one = [&](const std::string& text, const std::string& where) { return reader.read(text, where); };
  if (arguments.has("--layout") && !arguments.has("--layer-costs"))
    return fail("--layout", "says how the layers of --layer-costs lie", "add --layer-costs FILE.json");
  TRY(arguments.has("--layer-costs") ? read_layer_costs(arguments, one, request)
      : arguments.has("--times")     ? read_time_lists(arguments, reader, request)
                                     : read_time_flags(arguments, reader, request));
  if (arguments.has("--p2p")) {
    TRY(request.hop, reader.read(arguments.value("--p2p"), "--p2p"));
  }
  request.units = reader.units();
  request.in_seconds = reader.units().value_or(false);
  return check_some_time(request);
}

}  // namespace stepcast::schedule
