// Traces in the format of Chrome's, of any length: the events of the list traceEvents one by one, and some other values
// of the top. Memory is that of one event.
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/import/timings_file.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Takes one event, with the key "traceEvents", or the value of another key. False: the rest is not wanted.
using TakeOfTrace = std::function<bool(std::string_view key, const nlohmann::json& value)>;

/// `others` are the keys of the top whose values are wanted, too.
Expected<void> read_trace(
    TimingsStream& stream, std::initializer_list<std::string_view> others, const TakeOfTrace& take);

}  // namespace stepcast::calibrate
