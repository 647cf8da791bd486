// One event of a trace as its file has it, with those of its fields that tell
// about a GPU, and what stands beside the events: the same whether the file is
// Chrome's JSON or Perfetto's protobuf.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/error.h"
#include "model/base/namespaces.h"

namespace stepcast::calibrate {

struct RawTraceEvent {
  std::string phase, category, name,
      shown;                           ///< shown: the name that a metadata event gives
  double start = NAN, duration = NAN;  ///< microseconds
  std::int64_t process = -1, thread = -1, device = -1, stream = -1, correlation = -1;
  std::int64_t external = -1;               ///< of an operator, and of the kernels that it launched
  std::vector<std::vector<double>> inputs;  ///< sizes of each input of an operator; of one that is no tensor
                                            ///< none
  std::vector<std::string> types,
      values;                    ///< of each input, where they were asked for
  std::string collective, type;  ///< "allreduce", "Float"
  double in_elements = 0, out_elements = 0;
  std::int64_t group = 0;

  void clear() {
    for (std::string* text : {&phase, &category, &name, &shown, &collective, &type}) text->clear();
    start = duration = NAN;
    process = thread = device = stream = correlation = external = -1;
    inputs.clear(), types.clear(), values.clear();
    in_elements = out_elements = 0, group = 0;
  }
  /// A field of the event, or (`argument`) of its arguments, by its key; what
  /// nobody wants is passed over.
  void set_text(std::string_view key, bool argument, std::string_view text);
  void set_number(std::string_view key, bool argument, double number, std::int64_t whole);
};

struct RawTraceHead {
  std::string generator, nccl;                             ///< "stepcast 0.1.0"; "2.21.5"
  std::string title, size;                                 ///< of traces that stepcast wrote: the run's words
  std::vector<std::pair<std::int64_t, std::string>> gpus;  ///< number and name
  std::int64_t rank = -1, world = 0;
};

/// Called for each event.
using TakeRawEvent = std::function<Expected<void>(const RawTraceEvent&)>;

}  // namespace stepcast::calibrate
