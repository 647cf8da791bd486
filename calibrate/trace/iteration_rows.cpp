#include "calibrate/trace/iteration_rows.h"

#include <charconv>
#include <cmath>

namespace stepcast::calibrate {
namespace {

/// A name with # where a number stands; what is behind its end may be anything. `fills` says, number by number, what it
/// is: p prompts, t their positions, w words, - anything else.
struct RangeForm {
  std::string_view form, fills;
};
// clang-format off
constexpr RangeForm range_forms[] = {
    // vLLM V1 (gpu_worker.py): new requests, and those that run on.
    {"execute_context_#(#_#)_generation_#(", "pt-w"}, {"execute_context_#(#)_generation_#(", "ptw"},
    {"execute_new_#_cached_#", "pw"},
    // SGLang's ranges with sums of queries and keys.
    {"execute_#_context_#(sq#sk#sqsq#sqsk#)_generation_#(", "-pt---w"},
    // SGLang (scheduler_profiler_mixin.py).
    {"step[EXTEND bs=# toks=#]", "pt"}, {"step[EXTEND bs=#]", "p"}, {"step[DECODE bs=#", "w"},
    {"step[PREFILL bs=# toks=#]", "pt"},
    // TensorRT-LLM (py_executor.py).
    {"[Executor] _forward_step #: # ctx reqs, # gen reqs", "-pw"},
};
/// Those that say no more.
constexpr std::string_view range_beginnings[] = {"execute_model", "step[", "[Executor] _forward_step"};
// clang-format on

std::optional<IterationRows> read(std::string_view name, const RangeForm& form) {
  IterationRows rows;
  std::size_t at = 0, filled = 0;
  for (const char c : form.form) {
    if (c != '#') {
      if (at >= name.size() || name[at] != c) return std::nullopt;
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(name.data() + at, name.data() + name.size(), number);
    if (code != std::errc() || number < 0) return std::nullopt;
    at = static_cast<std::size_t>(end - name.data());
    switch (form.fills[filled++]) {
      case 'p': rows.prompts = number; break;
      case 't': rows.prompt_positions = number; break;
      case 'w': rows.words = number; break;
      default: break;
    }
  }
  // What the form does not name is not there.
  if (rows.prompts < 0 && rows.words >= 0) rows.prompts = rows.prompt_positions = 0;
  if (rows.words < 0 && rows.prompts >= 0) rows.words = 0;
  return rows;
}

}  // namespace

std::optional<IterationRows> iteration_rows_in(std::string_view range) {
  for (const RangeForm& form : range_forms)
    if (const auto rows = read(range, form)) return rows;
  for (const std::string_view beginning : range_beginnings)
    if (range.starts_with(beginning)) return IterationRows{};
  return std::nullopt;
}

}  // namespace stepcast::calibrate
