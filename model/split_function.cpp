#include "model/split_function.h"

#include <fmt/format.h>

#include "model/base/contains.h"

namespace stepcast {
namespace {

constexpr const char* list_key = "one_by_one";

const std::vector<std::string>& known_functions() {
  static const std::vector<std::string> functions = {"rmsnorm", "layernorm", "rope", "swiglu", "gelu"};
  return functions;
}

}  // namespace

void read_split_functions(JsonObject& file, std::vector<SplitFunction>& functions) {
  constexpr double most_moved = 100;
  constexpr std::int64_t most_kernels = 100;
  for (const JsonObject& object : file.optional_objects(list_key)) {
    RowReader row(object);
    SplitFunction& split = functions.emplace_back();
    row.read("function", split.function);
    row.read("moved", split.moved, NumberRange{1, most_moved});
    row.optional("kernels", split.kernels, IntegerRange{1, most_kernels});
    row.require(contains(known_functions(), split.function), "function",
        fmt::format("unknown function '{:.40}'", split.function), name_hint(split.function, known_functions()));
  }
}

void write_split_functions(RowWriter& json, const std::vector<SplitFunction>& functions) {
  if (functions.empty()) return;
  json.list(list_key, functions, [&](const SplitFunction& split) {
    json.fields("function", split.function, "moved", split.moved, "kernels", split.kernels);
  });
}

}  // namespace stepcast
