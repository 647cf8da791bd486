#include "model/failure_rates.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/errors/carried.h"
#include "model/base/embedded.h"
#include "model/base/row_text.h"
#include "model/base/text.h"

namespace stepcast {
namespace {

constexpr NumberRange rate_range{0, 1000};

constexpr auto range_members = [](auto& file, auto& range) {
  file.read("value", range.value, rate_range);
  file.read("low", range.low, rate_range);
  file.read("high", range.high, rate_range);
};

constexpr auto failure_members = [](auto& file, auto& rates) {
  file.head(rates);
  file.part("per_node_day", true, rates.per_node_day, range_members);
  file.part("fixed_per_day", rates.fixed_per_day.high > 0, rates.fixed_per_day, range_members);
  file.rare("fixed_nodes", rates.fixed_nodes, IntegerRange{0, 1'000'000});
  file.read("node_gpus", rates.node_gpus, IntegerRange{1, 1'000'000});
  file.read("taken", rates.taken, NumberRange{0, 1});
  file.read("repair_median", rates.repair_median);
  file.read("repair_mean", rates.repair_mean);
  file.rare("note", rates.note);
};

}  // namespace

Expected<FailureRates> read_failure_rates(const std::string& text, const std::string& where) {
  RowReader file(text, where);
  FailureRates rates;
  failure_members(file, rates);
  for (const auto& [key, range] :
      {std::pair{"per_node_day", rates.per_node_day}, {"fixed_per_day", rates.fixed_per_day}})
    file.require(range.low <= range.value && range.value <= range.high, key, "low, value and high do not rise",
        "low <= value <= high");
  file.require(rates.per_node_day.value + rates.fixed_per_day.value > 0, "per_node_day", "nothing ever fails",
      "a rate above 0, here or in fixed_per_day");
  file.require(rates.repair_mean >= rates.repair_median, "repair_mean", "the mean is below the median",
      "repair times have a long tail: a mean of at least the median");
  return file.finish(std::move(rates));
}

double fixed_share(const FailureRates& rates, double nodes) {
  return rates.fixed_nodes > 0 ? std::min(1.0, nodes / static_cast<double>(rates.fixed_nodes)) : 1;
}

const std::vector<FailureRates>& failure_rates() {
  static const std::vector<FailureRates> rows = [] {
    std::vector<FailureRates> all;
    for (const EmbeddedFile& file : embedded_catalog()) {
      if (!file.name.starts_with("failures/")) continue;
      all.push_back(carried(read_failure_rates(std::string(file.text), std::string(file.name))));
    }
    return all;
  }();
  return rows;
}

Expected<const FailureRates*> find_failure_rates(const std::string& name, const std::string& where) {
  const std::string wanted = lower_case(name);
  std::vector<std::string> ids;
  for (const FailureRates& row : failure_rates()) {
    if (row.id == wanted || std::ranges::count(row.aliases, wanted) > 0) return &row;
    ids.push_back(row.id);
  }
  return fail(where, fmt::format("unknown failure rates '{:.80}'", name), name_hint(name, ids));
}

std::string write_failure_rates(const FailureRates& rates) { return row_json(rates, failure_members); }

}  // namespace stepcast
