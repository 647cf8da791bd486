// A sweep's result as JSON Lines, written. The reader holds a file against what is written here, so every byte counts.
#include <cmath>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/json_writer.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {
namespace {

template <typename List, typename ToText> std::string joined_by_commas(const List& list, const ToText& to_text) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + to_text(item);
  return text;
}

std::string quoted_list(const std::vector<std::string>& texts) {
  return "[" + joined_by_commas(texts, json_quoted) + "]";
}

std::string axis_json(const SweepAxis& axis) {
  return fmt::format(R"({{"key": {}, "values": {}}})", json_quoted(axis.key), quoted_list(axis.values));
}

std::string pair_json(const std::pair<const std::string, std::string>& pair) {
  return json_quoted(pair.first) + ": " + json_quoted(pair.second);
}

/// A negative zero without a fraction would read back as the whole number 0.
std::string bitwise_number(double value) { return value == 0 && std::signbit(value) ? "-0.0" : json_number(value); }

std::string question_json(const SweepQuestion& q) {
  const auto fixed = joined_by_commas(q.fixed, [](const auto& pair) { return pair_json({pair.first, pair.second}); });
  return fmt::format(
      R"({{"network": {}, "machine": {}, "stack": {}, "profile": {}, "fixed": {{{}}}, "axes": [{}], "objective": {}, )"
      R"("where": {}, "pareto": {}, "top": {}, "exhaustive": {}, "price_per_gpu_hour": {}, "nouns_hash": {}}})",
      json_quoted(q.network), json_quoted(q.machine), json_quoted(q.stack), json_quoted(q.profile), fixed,
      joined_by_commas(q.axes, axis_json), json_quoted(q.objective), json_quoted(q.where), quoted_list(q.pareto), q.top,
      q.exhaustive, bitwise_number(q.price_per_gpu_hour), json_quoted(q.nouns_hash));
}

std::string tally_json(const SweepTally& t) {
  const auto reason = [](const auto& row) { return fmt::format("{}: {}", json_quoted(row.first), row.second); };
  return fmt::format(
      R"({{"enumerated": {}, "illegal": {{{}}}, "does_not_fit": {}, "excluded": {}, "smallest_overflow_bytes": {}, )"
      R"("smallest_overflow_index": {}}})",
      t.enumerated, joined_by_commas(t.illegal, reason), t.does_not_fit, t.excluded,
      bitwise_number(t.smallest_overflow_bytes), t.smallest_overflow_index);
}

/// Without the brace that ends it: the check follows.
std::string header_json(const SweepResult& r) {
  const auto range = [](const IndexRange& one) {
    return fmt::format(R"({{"begin": {}, "end": {}}})", one.begin, one.end);
  };
  return fmt::format(
      R"({{"stepcast_sweep": 1, "question": {}, "hash": "{}", "shard": {{"index": {}, "count": {}}}, "done": [{}], )"
      R"("tally": {}, "rows": {{"top": {}, "pareto": {}}})",
      question_json(r.question), r.question.hash(), r.shard.index, r.shard.count, joined_by_commas(r.done, range),
      tally_json(r.tally), r.top.size(), r.pareto.size());
}

std::string row_line(std::string_view list, const SweepRow& row, const SweepQuestion& question) {
  std::string choices, figures;
  for (std::size_t i = 0; i < question.axes.size(); ++i)
    choices += (i == 0 ? "" : ", ") + pair_json({question.axes[i].key, i < row.choices.size() ? row.choices[i] : ""});
  for (const FigureRow& figure : figure_rows()) {
    const double value = row.figures[static_cast<std::size_t>(figure.figure)];
    figures += fmt::format("{}{}: {}", figures.empty() ? "" : ", ", json_quoted(figure.key), bitwise_number(value));
  }
  return fmt::format("{{\"list\": \"{}\", \"index\": {}, \"choices\": {{{}}}, \"figures\": {{{}}}}}\n", list, row.index,
      choices, figures);
}

std::string named_difference(std::string_view what, std::string_view a, std::string_view b) {
  return a == b ? "" : fmt::format("{}: '{}' and '{}'", what, a, b);
}

std::string names_listed(const std::vector<std::string>& texts) {
  return joined_by_commas(texts, [](const std::string& text) { return text; });
}

/// "tp: '1, 2' and '1, 2, 4'"; of other axes, which there are.
std::string axes_difference(const std::vector<SweepAxis>& a, const std::vector<SweepAxis>& b) {
  const auto keys = [](const std::vector<SweepAxis>& axes) {
    return joined_by_commas(axes, [](const SweepAxis& axis) { return axis.key; });
  };
  if (keys(a) != keys(b)) return named_difference("axes", keys(a), keys(b));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].values != b[i].values)
      return named_difference(a[i].key, names_listed(a[i].values), names_listed(b[i].values));
  return "";
}

/// The settings that are not in both with one value.
std::string fixed_difference(const SweepQuestion& a, const SweepQuestion& b) {
  const auto only_in = [](const SweepQuestion& q, const SweepQuestion& other) {
    std::string text;
    for (const auto& pair : q.fixed)
      if (!contains(other.fixed, pair))
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair.first, pair.second);
    return text;
  };
  if (a.fixed == b.fixed) return "";
  const std::string in_a = only_in(a, b), in_b = only_in(b, a);
  return in_a == in_b ? "settings: in another order" : named_difference("settings", in_a, in_b);
}

}  // namespace

std::string SweepQuestion::hash() const { return text_hash(question_json(*this)); }

std::string question_difference(const SweepQuestion& a, const SweepQuestion& b) {
  const std::string differences[] = {named_difference("network", a.network, b.network),
      named_difference("machine", a.machine, b.machine), named_difference("stack", a.stack, b.stack),
      named_difference("profile", a.profile, b.profile), fixed_difference(a, b), axes_difference(a.axes, b.axes),
      named_difference("objective", a.objective, b.objective), named_difference("constraint", a.where, b.where),
      named_difference("figures of the Pareto front", names_listed(a.pareto), names_listed(b.pareto)),
      named_difference("top", fmt::format("{}", a.top), fmt::format("{}", b.top)),
      named_difference("exhaustive", a.exhaustive ? "yes" : "no", b.exhaustive ? "yes" : "no"),
      named_difference("price of a GPU hour", json_number(a.price_per_gpu_hour), json_number(b.price_per_gpu_hour))};
  for (const std::string& difference : differences)
    if (!difference.empty()) return difference;
  return a.hash() == b.hash()
             ? ""
             : "what stands behind the names of network, machine, stack and profile, or stepcast's version";
}

std::string write_result(const SweepResult& result) {
  std::string rows;
  for (const SweepRow& row : result.top) rows += row_line("top", row, result.question);
  for (const SweepRow& row : result.pareto) rows += row_line("pareto", row, result.question);
  const std::string header = header_json(result);
  return fmt::format("{}, \"check\": \"{}\"}}\n{}", header, text_hash(header + rows), rows);
}

}  // namespace stepcast::sweep
