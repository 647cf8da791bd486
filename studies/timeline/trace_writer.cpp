#include "studies/timeline/trace_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "model/version.h"

namespace stepcast::timeline {
namespace {

constexpr double ticks_of_microsecond = 1e6;
constexpr int tick_digits = 6;
constexpr double most_tick_microseconds = 9e12;  ///< beyond, 64 bits hold no ticks: 104 days

}  // namespace

void TraceWriter::expect(std::int64_t events) {
  constexpr std::size_t usual_event = 130;
  text_.reserve(usual_event * static_cast<std::size_t>(events));
}

void TraceWriter::begin(
    std::string_view mark, std::string_view quoted_title, std::string_view quoted_units, std::string_view quoted_size) {
  if (only_counts_) return;
  for (const std::string_view part : {mark, version(), std::string_view("\",\"title\":"), quoted_title,
           std::string_view(quoted_size.empty() ? "" : ",\"size\":"), quoted_size, std::string_view(",\"units\":"),
           quoted_units, std::string_view("},\"displayTimeUnit\":\"ms\",\"traceEvents\":[")})
    text_ += part;
  used_ = text_.size();
}

std::string TraceWriter::finish() {
  text_.resize(used_);
  return std::move(text_) + "\n]}\n";
}

// Room for the whole event: its names, and numbers and keys of less than 400 characters.
bool TraceWriter::open(std::string_view phase, std::int64_t process, std::size_t size) {
  ++events_;
  if (only_counts_) return false;
  constexpr std::size_t of_event = 400;
  if (used_ + size + of_event > text_.size()) grow(used_ + size + 2 * of_event);
  put(events_ > 1 ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  put(phase);
  put("\",\"pid\":");
  put(process);
  return true;
}

/// Into the room that was made, as long as there is some.
void TraceWriter::grow(std::size_t least) {
  const std::size_t ample = std::max(2 * text_.size(), least);
  text_.resize(least <= text_.capacity() ? std::min(ample, text_.capacity()) : ample);
}

void TraceWriter::put(std::string_view text) {
  std::memcpy(text_.data() + used_, text.data(), text.size());
  used_ += text.size();
}

void TraceWriter::put(std::int64_t number) {
  char* const at = text_.data() + used_;
  used_ += static_cast<std::size_t>(std::to_chars(at, at + 24, number).ptr - at);
}

/// With the digits behind the point that are needed.
void TraceWriter::put_ticks(std::int64_t ticks) {
  constexpr auto whole = static_cast<std::int64_t>(ticks_of_microsecond);
  put(ticks / whole);
  std::int64_t rest = ticks % whole;
  if (rest == 0) return;
  char digits[tick_digits + 1] = ".";
  for (int i = tick_digits; i > 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  std::size_t size = sizeof digits;
  while (digits[size - 1] == '0') --size;
  put({digits, size});
}

void TraceWriter::put_time(std::string_view key, double time) {
  put(key);
  const double microseconds = time * microseconds_;
  if (microseconds < most_tick_microseconds) return put_ticks(std::llround(microseconds * ticks_of_microsecond));
  char* const at = text_.data() + used_;
  used_ += static_cast<std::size_t>(std::to_chars(at, at + 32, microseconds).ptr - at);
}

void TraceWriter::slice(TracePlace place, double start, double end, std::string_view quoted_name,
    std::string_view category, std::string_view args) {
  if (!open("X", place.process, quoted_name.size() + category.size() + args.size())) return;
  put(",\"tid\":");
  put(std::int64_t{place.thread});
  put_time(",\"ts\":", start);
  if (end * microseconds_ < most_tick_microseconds) {
    put(",\"dur\":");
    put_ticks(std::llround(end * microseconds_ * ticks_of_microsecond) -
              std::llround(start * microseconds_ * ticks_of_microsecond));
  } else {
    put_time(",\"dur\":", end - start);
  }
  put(",\"name\":");
  put(quoted_name);
  put(",\"cat\":\"");
  put(category);
  put("\"");
  if (!args.empty()) {
    put(",\"args\":");
    put(args);
  }
  close();
}

void TraceWriter::put_arrow_end(std::string_view phase, std::int64_t id, TracePlace place, double time,
    std::string_view category, std::string_view more) {
  if (!open(phase, place.process, category.size())) return;
  put(",\"tid\":");
  put(std::int64_t{place.thread});
  put_time(",\"ts\":", time);
  put(",\"id\":");
  put(id);
  put(",\"name\":\"");
  put(category);
  put("\",\"cat\":\"");
  put(category);
  put("\"");
  put(more);
  close();
}

void TraceWriter::arrow_from(std::int64_t id, TracePlace place, double time, std::string_view category) {
  put_arrow_end("s", id, place, time, category, "");
}

void TraceWriter::arrow_to(std::int64_t id, TracePlace place, double time, std::string_view category) {
  put_arrow_end("f", id, place, time, category, ",\"bp\":\"e\"");
}

void TraceWriter::count(
    std::int64_t process, double time, std::string_view quoted_name, std::string_view quoted_unit, std::int64_t value) {
  if (!open("C", process, quoted_name.size() + quoted_unit.size())) return;
  put_time(",\"ts\":", time);
  put(",\"name\":");
  put(quoted_name);
  put(",\"args\":{");
  put(quoted_unit);
  put(":");
  put(value);
  put("}");
  close();
}

void TraceWriter::put_name(std::string_view kind, TracePlace place, std::string_view key, std::string_view value) {
  if (!open("M", place.process, value.size())) return;
  put(",\"tid\":");
  put(std::int64_t{place.thread});
  put(",\"name\":\"");
  put(kind);
  put("\",\"args\":{\"");
  put(key);
  put("\":");
  put(value);
  put("}");
  close();
}

void TraceWriter::name_process(std::int64_t process, std::string_view quoted_name, std::int64_t sort_index) {
  put_name("process_name", {process, 0}, "name", quoted_name);
  put_name("process_sort_index", {process, 0}, "sort_index", std::to_string(sort_index));
}

void TraceWriter::name_thread(TracePlace place, std::string_view quoted_name, int sort_index) {
  put_name("thread_name", place, "name", quoted_name);
  put_name("thread_sort_index", place, "sort_index", std::to_string(sort_index));
}

}  // namespace stepcast::timeline
