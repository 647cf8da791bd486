#include "calibrate/import/profilers/raw_event_reader.h"

#include <istream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepcast::calibrate {
namespace {

using Json = nlohmann::json;
constexpr int list_depth = 2, event_depth = 3, args_depth = 4, sizes_depth = 6, most_depth = 200;

/// The parser's events, with the fields of one event of the trace filled in.
class RawEvents {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  RawEvents(TimingsStream& stream, RawTraceHead& head, OperatorInputs inputs, const TakeRawEvent& take)
      : stream_(stream), head_(head), all_inputs_(inputs == OperatorInputs::all), take_(take) {}

  bool null() { return nothing(); }
  bool boolean(bool) { return nothing(); }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value), value); }
  bool number_unsigned(number_unsigned_t value) {
    return number(static_cast<double>(value), static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) {
    constexpr double most_whole = 9e15;
    return number(value, std::abs(value) < most_whole ? static_cast<std::int64_t>(value) : -1);
  }
  bool string(string_t& value) {
    if (texts_ != nullptr) {
      if (depth_ == args_depth + 1) texts_->push_back(value);
    } else if (in_sizes_) {
      return nothing();
    } else if (in_events()) {
      if (depth_ == event_depth || in_arguments()) event_.set_text(key_, depth_ == args_depth, value);
    } else if (depth_ == 2 && part_ == "otherData" && key_ == "generator") {
      head_.generator = value;
    } else if (depth_ == 2 && part_ == "otherData" && (key_ == "title" || key_ == "size")) {
      (key_ == "title" ? head_.title : head_.size) = value;
    } else if (depth_ == 2 && part_ == "distributedInfo" && key_ == "nccl_version") {
      head_.nccl = value;
    } else if (depth_ == 3 && part_ == "deviceProperties" && key_ == "name" && !head_.gpus.empty()) {
      head_.gpus.back().second = value;
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
    if (depth_ == args_depth) in_sizes_ = false, texts_ = nullptr;
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
        fmt::format("this is no JSON, or not all of it: it breaks "
                    "off or is damaged at byte {}, behind {} events",
            position, events_),
        "a whole trace, as the profiler wrote it"};
    return false;
  }

  bool has_list = false;
  std::optional<Error> fault;

 private:
  [[nodiscard]] bool in_events() const { return part_ == "traceEvents" && depth_ >= event_depth; }
  [[nodiscard]] bool in_arguments() const { return in_args_ && depth_ == args_depth; }
  bool deeper(bool list) {
    if (depth_ == 1 && part_ == "traceEvents") has_list = list;
    if (part_ == "traceEvents" && depth_ == list_depth && !list) ++events_;
    if (part_ == "traceEvents" && depth_ == event_depth && !list) in_args_ = outer_ == "args";
    if (in_args_ && list && depth_ == args_depth) {
      in_sizes_ = key_ == "Input Dims" || key_ == "Input dims";
      if (all_inputs_)
        texts_ = key_ == "Input type" ? &event_.types : key_ == "Concrete Inputs" ? &event_.values : nullptr;
    }
    if (part_ == "deviceProperties" && depth_ == 2 && !list) head_.gpus.emplace_back(head_.gpus.size(), "");
    if (in_sizes_ && list && depth_ == sizes_depth - 1) event_.inputs.emplace_back();
    if (++depth_ <= most_depth) return true;
    fault = Error{stream_.where(), "lists and objects nest too deeply", fmt::format("at most {} levels", most_depth)};
    return false;
  }
  bool number(double value, std::int64_t whole) {
    if (in_sizes_ || texts_ != nullptr) {
      if (in_sizes_ && depth_ == sizes_depth) event_.inputs.back().push_back(value);
      else return nothing();
    } else if (in_events()) {
      if (depth_ == event_depth || in_arguments()) event_.set_number(key_, depth_ == args_depth, value, whole);
    } else if (part_ == "distributedInfo" && depth_ == 2) {
      if (key_ == "rank") head_.rank = whole;
      if (key_ == "world_size") head_.world = whole;
    } else if (part_ == "deviceProperties" && depth_ == 3 && key_ == "id" && !head_.gpus.empty()) {
      head_.gpus.back().first = whole;
    }
    return pass();
  }
  /// An input without sizes, or without a text, has its place among the others.
  bool nothing() {
    if (depth_ == args_depth + 1 && in_sizes_) event_.inputs.emplace_back();
    if (depth_ == args_depth + 1 && texts_ != nullptr) texts_->emplace_back();
    return pass();
  }
  /// What nobody wants is passed over, however long.
  bool pass() {
    if (!in_events()) stream_.mark();
    return true;
  }

  TimingsStream& stream_;
  RawTraceHead& head_;
  bool all_inputs_;
  const TakeRawEvent& take_;
  RawTraceEvent event_;
  int depth_ = 0;
  bool in_args_ = false, in_sizes_ = false;
  std::size_t events_ = 0;
  std::vector<std::string>* texts_ = nullptr;  ///< of the event, that a list fills
  std::string part_, outer_,
      key_;  ///< keys at the top, of the event, and the last one
};

}  // namespace

Expected<void> read_raw_events(
    TimingsStream& stream, RawTraceHead& head, OperatorInputs inputs, const TakeRawEvent& take) {
  RawEvents events(stream, head, inputs, take);
  std::istream bytes(&stream);
  const bool whole = Json::sax_parse(bytes, &events);
  if (stream.error()) return tl::unexpected<Error>(*stream.error());
  if (events.fault) return tl::unexpected<Error>(*events.fault);
  if (!whole || !events.has_list)
    return fail(stream.where(), "JSON without a list traceEvents",
        "a trace of torch.profiler (export_chrome_trace), or one of "
        "stepcast timeline");
  return {};
}

}  // namespace stepcast::calibrate
