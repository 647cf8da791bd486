#include "studies/serve/sweep/words.h"

#include <fmt/format.h>

#include "studies/print/digits.h"

namespace stepcast::serve::sweeping {
namespace {

std::string or_usual(std::int64_t value) { return value == 0 ? "engine's" : std::to_string(value); }
std::string or_usual(const std::string& value) { return value.empty() ? "default" : value; }

template <class Count> std::string count_of(Count value) { return std::to_string(value); }

}  // namespace

const std::vector<AxisColumn>& axis_columns() {
  using C = const Configuration&;
  static const std::vector<AxisColumn> columns = {
      {"machine", [](C c) { return c.machine.empty() ? std::string("dgx-h100") : c.machine; }},
      {"engine", [](C c) { return c.engine.empty() ? std::string("vllm") : c.engine; }},
      {"weights", [](C c) { return or_usual(c.weights); }},
      {"kv", [](C c) { return or_usual(c.cache); }},
      {"gpus", [](C c) { return count_of(c.gpus); }},
      {"tp", [](C c) { return count_of(c.tp); }},
      {"pp", [](C c) { return count_of(c.pp); }},
      {"ep", [](C c) { return count_of(c.ep); }},
      {"dp-attention", [](C c) { return count_of(c.attention_dp); }},
      {"replicas", [](C c) { return count_of(c.replicas); }},
      {"most-sequences", [](C c) { return or_usual(c.most_sequences); }},
      {"most-positions", [](C c) { return or_usual(c.most_positions); }},
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

std::string configuration_words(const Explored& explored, const Configuration& configuration) {
  std::string words;
  for (const AxisColumn& column : axis_columns()) {
    bool varies = false;
    for (const Configuration& other : explored.configurations)
      varies = varies || column.text(other) != column.text(configuration);
    if (!varies) continue;
    const bool name = column.title == std::string("engine") || column.title == std::string("machine");
    words += fmt::format(
        "{}{}{}", words.empty() ? "" : ", ", name ? "" : std::string(column.title) + " ", column.text(configuration));
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
