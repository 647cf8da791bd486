#include "calibrate/import/profilers/trace_events.h"

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/contains.h"

namespace stepcast::calibrate {
namespace {

using Json = nlohmann::json;

/// Builds what is wanted from the parser's events, and steps over all the rest.
class TraceEvents {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  TraceEvents(TimingsStream& stream, std::initializer_list<std::string_view> others, const TakeOfTrace& take)
      : stream_(stream), others_(others), take_(take) {}

  bool null() { return scalar({}); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(number_integer_t value) { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) { return scalar(value); }
  bool string(string_t& value) { return scalar(std::move(value)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return start(Json::value_t::object); }
  bool start_array(std::size_t) { return start(Json::value_t::array); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(string_t& name) {
    if (depth_ == 1) part_ = std::move(name);
    else key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    fault = Error{stream_.where(), fmt::format("this is no JSON, or not all of it, at byte {}", position),
        "a whole trace of torch.profiler as JSON"};
    return false;
  }

  bool has_list = false;
  std::optional<Error> fault;

 private:
  [[nodiscard]] bool in_events() const { return part_ == "traceEvents"; }
  [[nodiscard]] bool wanted() const {
    return in_events() ? has_list && depth_ >= 2 : depth_ >= 1 && contains(others_, part_);
  }

  bool scalar(Json value) {
    if (!wanted()) return pass();
    place(std::move(value));
    return !open_.empty() || take();
  }
  bool start(Json::value_t type) {
    constexpr std::size_t most_levels = 64;
    if (open_.size() >= most_levels) {
      fault =
          Error{stream_.where(), "lists and objects nest too deeply", fmt::format("at most {} levels", most_levels)};
      return false;
    }
    if (wanted()) open_.push_back(place(type));
    else if (depth_ == 1 && in_events()) has_list = type == Json::value_t::array;
    ++depth_;
    return true;
  }
  bool end() {
    --depth_;
    if (open_.empty()) return pass();
    open_.pop_back();
    return !open_.empty() || take();
  }

  Json* place(Json value) {
    if (open_.empty()) return &(value_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(value));
    return &(parent[key_] = std::move(value));
  }
  /// What nobody wants is passed over, however long.
  bool pass() {
    if (open_.empty()) stream_.mark();
    return true;
  }
  /// A value is whole.
  bool take() {
    stream_.mark();
    return take_(part_, value_);
  }

  TimingsStream& stream_;
  std::initializer_list<std::string_view> others_;
  const TakeOfTrace& take_;
  std::size_t depth_ = 0;
  std::string part_, key_;  ///< the key at the top, and the last one below it
  Json value_;
  std::vector<Json*> open_;
};

}  // namespace

Expected<void> read_trace(
    TimingsStream& stream, std::initializer_list<std::string_view> others, const TakeOfTrace& take) {
  TraceEvents events(stream, others, take);
  std::istream bytes(&stream);
  const bool whole = Json::sax_parse(bytes, &events);
  if (stream.error()) return tl::unexpected<Error>(*stream.error());
  if (events.fault) return tl::unexpected<Error>(*events.fault);
  if (whole && !events.has_list) return fail(stream.where(), "no list traceEvents", "a trace of torch.profiler");
  return {};
}

}  // namespace stepcast::calibrate
