// What rates, sizes and times of hardware and software can be. A file may describe what does not exist yet, but a
// figure beyond these bounds is a slip of the pen, and some would drop out of the forecast without a word.
#pragma once

#include <string>

#include "model/base/json_reader.h"

namespace stepcast {

/// A row of the table, base units.
struct PlausibleRange {
  const char* key;  ///< as files of machines, stacks and profiles have it
  double least, most;
  const char* why;
};
const PlausibleRange& plausible_range(const std::string& key);

/// Remembers an error at the key where the value lies outside its row. Zero is for the reader to allow.
template <int S, int B, int F> void check_plausible(JsonObject& file, const char* key, Quantity<S, B, F> value) {
  using Q = Quantity<S, B, F>;
  const PlausibleRange& row = plausible_range(key);
  const bool fits = value.value() == 0 || (value.value() >= row.least && value.value() <= row.most);
  if (!file.failed() && !fits)
    file.require(false, key, exact_text(value) + " cannot be: " + row.why,
        "from " + exact_text(Q(row.least)) + " to " + exact_text(Q(row.most)));
}

/// Reads a value that has a row; `optional`: where it is there.
template <class Q> void read_plausible(JsonObject& file, const char* key, Q& value, Zero zero = Zero::refused) {
  file.read(key, value, zero);
  check_plausible(file, key, value);
}
template <class Q> void optional_plausible(JsonObject& file, const char* key, Q& value, Zero zero = Zero::refused) {
  if (file.has(key)) read_plausible(file, key, value, zero);
}

}  // namespace stepcast
