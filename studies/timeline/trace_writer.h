// Writes Chrome's trace event format ("Trace Event Format" of the Chromium project), which Perfetto reads: millions of
// events into one text. Phases of events: X (a slice), s and f (an arrow's ends), C (a counter), M (names).
//
// Times are rounded to a millionth of a microsecond, starts and ends and not lengths, so that what follows each other
// or lies inside of each other still does. Names are given in quotes, escaped (json_quoted), once for all events that
// bear them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepcast::timeline {

/// A thread of a process.
struct TracePlace {
  std::int64_t process = 0;
  int thread = 0;
};

class TraceWriter {
 public:
  /// `microseconds` of a unit of the times below. One that only counts writes nothing: events() is all it knows.
  TraceWriter(double microseconds, bool only_counts) : microseconds_(microseconds), only_counts_(only_counts) {}

  /// Makes room for so many.
  void expect(std::int64_t events);
  /// What stands before the events. `mark` begins the text, up to the version. `quoted_size`: of the run's step; "":
  /// none.
  void begin(std::string_view mark, std::string_view quoted_title, std::string_view quoted_units,
      std::string_view quoted_size = "");
  void name_process(std::int64_t process, std::string_view quoted_name, std::int64_t sort_index);
  void name_thread(TracePlace place, std::string_view quoted_name, int sort_index);
  /// `args` is a JSON object, or "" for none.
  void slice(TracePlace place, double start, double end, std::string_view quoted_name, std::string_view category,
      std::string_view args);
  /// An arrow's two ends, each after the slice that begins there: viewers join an end to a slice that they have seen.
  /// `id` is the arrow's own, whatever its category.
  void arrow_from(std::int64_t id, TracePlace place, double time, std::string_view category);
  void arrow_to(std::int64_t id, TracePlace place, double time, std::string_view category);
  void count(std::int64_t process, double time, std::string_view quoted_name, std::string_view quoted_unit,
      std::int64_t value);

  [[nodiscard]] std::int64_t events() const { return events_; }
  /// The whole text.
  std::string finish();

 private:
  bool open(std::string_view phase, std::int64_t process, std::size_t size);
  void grow(std::size_t least);
  void close() { put("}"); }
  void put(std::string_view text);
  void put(std::int64_t number);
  void put_time(std::string_view key, double time);
  void put_ticks(std::int64_t ticks);
  void put_arrow_end(std::string_view phase, std::int64_t id, TracePlace place, double time, std::string_view category,
      std::string_view more);
  void put_name(std::string_view kind, TracePlace place, std::string_view key, std::string_view value);

  double microseconds_;
  bool only_counts_;
  std::int64_t events_ = 0;
  std::string text_;
  std::size_t used_ = 0;  ///< of `text_`, whose end is room
};

}  // namespace stepcast::timeline
