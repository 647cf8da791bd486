// Quantities as people write them: "400 GB/s", "80 GiB", "30 us", "312 TFLOP/s", and back.
//
// A unit is always needed. GB is 1e9 and GiB is 2^30; Gb is a bit unit (NIC rates: "400 Gb/s" is 50 GB/s).
// Case matters because it carries meaning (Mb, MB, ms). Refused with an Error that names the allowed units:
// a missing or unknown unit, a unit of another dimension, a negative, infinite or absurdly large value.
#pragma once

#include <string>
#include <string_view>

#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast {

using Hertz = Quantity<-1, 0, 0>;

/// Whether "0 s" is a legal value where the text stands.
enum class Zero : bool { refused, allowed };

/// Q is Seconds, Bytes, BytesPerSecond, Flops, FlopsPerSecond or Hertz. `where` goes into the Error.
template <typename Q>
Expected<Q> parse_quantity(std::string_view text, const std::string& where, Zero zero = Zero::refused);

/// A bare number in base units held to the same limits as text: finite, not negative, not absurd.
template <typename Q> Expected<Q> check_quantity(double value, const std::string& where, Zero zero = Zero::refused);

/// "19 %" or "0.19" as the fraction 0.19; from 0 to `highest`.
Expected<double> parse_fraction(std::string_view text, const std::string& where, double highest = 1);

/// The shortest text that parse_quantity turns back into exactly this value: "80 GiB", "30 us".
template <typename Q> std::string exact_text(Q quantity);

/// The key ending that lets a bare number stand for Q in a file: "_s", "_bytes", "_bytes_per_s", "_flops",
/// "_flops_per_s", "_hz".
template <typename Q> std::string_view key_suffix();

/// How to write a Q, for hints: "400 GB/s".
template <typename Q> std::string_view quantity_example();

// For reports: three significant digits, the prefix chosen so that the number lies in 1..999.
std::string format_seconds(Seconds time);       ///< "13.7 s", "412 ms", "37.2 us"; hours from 2 h on
std::string format_bytes(Bytes bytes);          ///< memory: powers of 1024, "79.1 GiB"
std::string format_bytes_decimal(Bytes bytes);  ///< traffic: powers of 1000, "268 MB"
std::string format_rate(BytesPerSecond rate);   ///< "450 GB/s"
std::string format_flops(Flops flops);          ///< "1.23 PFLOP"
std::string format_flops(FlopsPerSecond rate);  ///< "412 TFLOP/s"
std::string format_percent(double fraction);    ///< 0.523 -> "52.3 %"

}  // namespace stepcast
