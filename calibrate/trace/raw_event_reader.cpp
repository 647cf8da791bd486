#include "calibrate/trace/raw_event_reader.h"

#include <array>
#include <istream>
#include <optional>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepcast::calibrate {
namespace {

using Json = nlohmann::json;
constexpr int list_depth = 2, event_depth = 3, args_depth = 4, sizes_depth = 6, most_depth = 200;

using RawTextField = std::string RawTraceEvent::*;
using RawNumberField = std::variant<double RawTraceEvent::*, std::int64_t RawTraceEvent::*>;
// clang-format off
struct RawTextRow { std::string_view key; bool in_args; RawTextField field; };
constexpr RawTextRow text_rows[] = {
    {"ph", false, &RawTraceEvent::phase}, {"cat", false, &RawTraceEvent::category},
    {"name", false, &RawTraceEvent::name}, {"name", true, &RawTraceEvent::shown},
    {"Collective name", true, &RawTraceEvent::collective}, {"dtype", true, &RawTraceEvent::type}};
struct RawNumberRow { std::string_view key; bool in_args; RawNumberField field; };
constexpr RawNumberRow number_rows[] = {
    {"ts", false, &RawTraceEvent::start}, {"dur", false, &RawTraceEvent::duration},
    {"pid", false, &RawTraceEvent::process}, {"tid", false, &RawTraceEvent::thread},
    {"device", true, &RawTraceEvent::device}, {"stream", true, &RawTraceEvent::stream},
    {"correlation", true, &RawTraceEvent::correlation}, {"External id", true, &RawTraceEvent::external},
    {"external id", true, &RawTraceEvent::external}, {"In msg nelems", true, &RawTraceEvent::in_elements},
    {"Out msg nelems", true, &RawTraceEvent::out_elements}, {"Group size", true, &RawTraceEvent::group}};
// clang-format on

/// The parser's events, with the fields of one event of the trace filled in.
class RawEvents {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  RawEvents(TimingsStream& stream, RawTraceHead& head, const std::function<Expected<void>(const RawTraceEvent&)>& take)
      : stream_(stream), head_(head), take_(take) {}

  bool null() { return pass(); }
  bool boolean(bool) { return pass(); }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value), value); }
  bool number_unsigned(number_unsigned_t value) {
    return number(static_cast<double>(value), static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    constexpr double most_whole = 9e15;
    return number(value, std::abs(value) < most_whole ? static_cast<std::int64_t>(value) : -1);
  }
  bool string(string_t& value) {
    if (in_events()) {
      for (const RawTextRow& row : text_rows)
        if (wants(row.in_args) && row.key == key_) event_.*row.field = value;
    } else if (depth_ == 2 && part_ == "otherData" && key_ == "generator") {
      head_.generator = value;
    } else if (depth_ == 3 && part_ == "deviceProperties" && key_ == "name") {
      head_.gpus.emplace_back(device_, value);
    }
    return pass();
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return deeper(false); }
  bool start_array(std::size_t) {
    if (depth_ == 0) depth_ = 1, part_ = "traceEvents";  // a list alone is the events'
    return deeper(true);
  }
  bool end_object() {
    --depth_;
    if (depth_ == args_depth - 1) in_args_ = false;
    if (part_ == "traceEvents" && depth_ == list_depth) {
      stream_.mark();
      if (auto taken = take_(event_); !taken) {
        fault = std::move(taken.error());
        return false;
      }
      event_.clear();
    }
    return pass();
  }
  bool end_array() {
    --depth_;
    if (depth_ == args_depth) in_sizes_ = false;
    return pass();
  }
  bool key(string_t& name) {
    if (depth_ == 1) part_ = name;
    if (depth_ == event_depth) outer_ = name;
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    fault = Error{stream_.where(),
        fmt::format("the JSON breaks off or is damaged at byte {}, behind {} events", position, events_),
        "a whole trace, as the profiler wrote it"};
    return false;
  }

  bool has_list = false;
  std::optional<Error> fault;

 private:
  [[nodiscard]] bool in_events() const { return part_ == "traceEvents" && depth_ >= event_depth; }
  [[nodiscard]] bool wants(bool args) const { return args ? in_args_ && depth_ == args_depth : depth_ == event_depth; }
  bool deeper(bool list) {
    if (depth_ == 1 && part_ == "traceEvents") has_list = list;
    if (part_ == "traceEvents" && depth_ == list_depth && !list) ++events_;
    if (part_ == "traceEvents" && depth_ == event_depth && !list) in_args_ = outer_ == "args";
    if (in_args_ && list && depth_ == args_depth) in_sizes_ = key_ == "Input Dims" || key_ == "Input dims";
    if (in_sizes_ && list && depth_ == sizes_depth - 1) event_.inputs.emplace_back();
    if (++depth_ <= most_depth) return true;
    fault = Error{stream_.where(), "lists and objects nest too deeply", fmt::format("at most {} levels", most_depth)};
    return false;
  }
  bool number(double value, std::int64_t whole) {
    if (in_sizes_) {
      if (depth_ == sizes_depth) event_.inputs.back().push_back(value);
    } else if (in_events()) {
      for (const RawNumberRow& row : number_rows) {
        if (!wants(row.in_args) || row.key != key_) continue;
        if (const auto* real = std::get_if<double RawTraceEvent::*>(&row.field)) event_.** real = value;
        else event_.*std::get<std::int64_t RawTraceEvent::*>(row.field) = whole;
      }
    } else if (part_ == "distributedInfo" && depth_ == 2) {
      if (key_ == "rank") head_.rank = whole;
      if (key_ == "world_size") head_.world = whole;
    } else if (part_ == "deviceProperties" && depth_ == 3 && key_ == "id") {
      device_ = whole;
    }
    return pass();
  }
  /// What nobody wants is passed over, however long.
  bool pass() {
    if (!in_events()) stream_.mark();
    return true;
  }

  TimingsStream& stream_;
  RawTraceHead& head_;
  const std::function<Expected<void>(const RawTraceEvent&)>& take_;
  RawTraceEvent event_;
  int depth_ = 0;
  bool in_args_ = false, in_sizes_ = false;
  std::size_t events_ = 0;
  std::int64_t device_ = -1;
  std::string part_, outer_, key_;  ///< keys at the top, of the event, and the last one
};

}  // namespace

Expected<void> read_raw_events(
    TimingsStream& stream, RawTraceHead& head, const std::function<Expected<void>(const RawTraceEvent&)>& take) {
  RawEvents events(stream, head, take);
  std::istream bytes(&stream);
  const bool whole = Json::sax_parse(bytes, &events);
  if (stream.error()) return tl::unexpected<Error>(*stream.error());
  if (events.fault) return tl::unexpected<Error>(*events.fault);
  if (!whole || !events.has_list)
    return fail(stream.where(), "JSON without a list traceEvents",
        "a trace of torch.profiler (export_chrome_trace), or one of stepcast timeline");
  return {};
}

}  // namespace stepcast::calibrate
