#include "model/split_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/operator.h"

namespace stepcast {
namespace {

constexpr const char* list_key = "one_by_one";
constexpr const char* former_key = "eager";

}  // namespace

void read_split_functions(JsonObject& file, std::vector<SplitFunction>& functions) {
  constexpr double most_passes = 100;
  constexpr std::int64_t most_kernels = 100;
  const std::vector<std::string> known = function_names();
  file.require(!file.has(former_key), former_key, "is called by another name now", fmt::format("\"{}\"", list_key));
  for (const JsonObject& object : file.optional_objects(list_key)) {
    RowReader row(object);
    SplitFunction split;
    row.read("function", split.function);
    row.read("passes", split.passes, NumberRange{1, most_passes});
    row.optional("kept", split.kept, IntegerRange{1, most_kernels});
    row.optional("kernels", split.kernels, IntegerRange{1, most_kernels});
    row.require(contains(known, split.function), "function", fmt::format("unknown function '{:.40}'", split.function),
        name_hint(split.function, known));
    row.require(!std::ranges::count(functions, split.function, &SplitFunction::function), "function",
        fmt::format("{} is listed twice", split.function), "one row for each function");
    functions.push_back(std::move(split));
  }
}

void write_split_functions(RowWriter& json, const std::vector<SplitFunction>& functions) {
  if (functions.empty()) return;
  json.open_list(list_key);
  for (const SplitFunction& split : functions) {
    json.open();
    json.fields("function", split.function, "passes", split.passes);
    if (split.kept > 0) json.field("kept", split.kept);
    if (split.kernels > 0) json.field("kernels", split.kernels);
    json.close();
  }
  json.close();
}

}  // namespace stepcast
