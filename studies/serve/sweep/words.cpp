#include "studies/serve/sweep/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "studies/print/digits.h"

namespace stepcast::serve::sweeping {
namespace {

std::string or_usual(std::int64_t value) { return value == 0 ? "engine's" : std::to_string(value); }
std::string or_usual(const std::string& value) { return value.empty() ? "default" : value; }

/// "2 x tp 4, dp 2": replicas and what each is.
std::string prefill_words(const Configuration& configuration) {
  if (!configuration.prompts) return "-";
  const PromptSplit& split = *configuration.prompts;
  std::string words = fmt::format("{} x tp {}", split.replicas, split.tp);
  if (split.attention_dp > 1) words += fmt::format(", dp {}", split.attention_dp);
  if (split.ep > 1) words += fmt::format(", ep {}", split.ep);
  if (split.most_sequences > 0) words += fmt::format(", {} sequences", split.most_sequences);
  if (split.most_positions > 0) words += fmt::format(", {} positions", split.most_positions);
  if (split.machine != configuration.machine) words += " on " + machine_name(split.machine);
  return words;
}

template <class Count> std::string count_of(Count value) { return std::to_string(value); }

}  // namespace

const std::vector<AxisColumn>& axis_columns() {
  using C = const Configuration&;
  static const std::vector<AxisColumn> columns = {
      {"machine", true, [](C c) { return machine_name(c.machine); }, true},
      {"engine", true, [](C c) { return c.engine.empty() ? std::string("vllm") : c.engine; }, true},
      {"weights", true, [](C c) { return or_usual(c.weights); }},
      {"kv", true, [](C c) { return or_usual(c.cache); }},
      {"gpus", false, [](C c) { return count_of(c.gpus); }},
      {"tp", false, [](C c) { return count_of(c.tp); }},
      {"pp", false, [](C c) { return count_of(c.pp); }},
      {"ep", false, [](C c) { return count_of(c.ep); }},
      {"dp-attention", false, [](C c) { return count_of(c.attention_dp); }},
      {"replicas", false, [](C c) { return count_of(c.replicas); }},
      {"most-sequences", false, [](C c) { return or_usual(c.most_sequences); }},
      {"most-positions", false, [](C c) { return or_usual(c.most_positions); }},
      {"prefill", true, prefill_words},
  };
  return columns;
}

std::vector<std::size_t> varying_axes(const Explored& explored, const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> varying;
  for (std::size_t axis = 0; axis < axis_columns().size(); ++axis) {
    const auto text = [&](std::size_t row) {
      return axis_columns()[axis].text(explored.configurations[explored.rows[row].configuration]);
    };
    for (const std::size_t row : rows)
      if (text(row) != text(rows.front())) {
        varying.push_back(axis);
        break;
      }
  }
  return varying;
}

ConfigurationWords::ConfigurationWords(const Explored& explored) {
  for (const AxisColumn& column : axis_columns()) {
    const auto differs = [&](const Configuration& one) {
      return column.text(one) != column.text(explored.configurations.front());
    };
    if (std::ranges::any_of(explored.configurations, differs)) varying_.push_back(&column);
  }
}

std::string ConfigurationWords::of(const Configuration& configuration) const {
  std::string words;
  for (const AxisColumn* column : varying_) {
    const std::string title = column->speaks_alone ? "" : fmt::format("{} ", column->title);
    words += fmt::format("{}{}{}", words.empty() ? "" : ", ", title, column->text(configuration));
  }
  return words.empty() ? "the only configuration" : words;
}

const char* mark_of(const Row& row) { return row.simulated ? "=" : row.sure() ? "" : "~"; }

std::string standing_of(const Row& row) {
  if (row.simulated) return "simulated";
  if (row.state.doubt != sim::MeanFieldDoubt::none) return fmt::format("not sure: {}", sim::to_text(row.state.doubt));
  return row.target_open ? "not sure: no time to the first token to hold against a target" : "mean field";
}

std::string title_of(const Asked& asked, const Explored& explored) {
  const auto lengths = [](const sim::Lengths& l) {
    return l.low == l.high ? print::grouped_digits(static_cast<double>(l.high))
                           : fmt::format("{} to {}", print::grouped_digits(static_cast<double>(l.low)),
                                 print::grouped_digits(static_cast<double>(l.high)));
  };
  return fmt::format("{}{}: {} input and {} output tokens", explored.network,
      explored.gpu.empty() ? "" : " on " + explored.gpu, lengths(asked.law.prompts), lengths(asked.law.outputs));
}

}  // namespace stepcast::serve::sweeping
