// A sweep's result, read back. Strict: what is kept must be what was written, down to the byte, as it will be merged
// with others and gone on from.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/base/json_reader.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {
namespace {

constexpr std::string_view result_first_words = "{\"stepcast_sweep\": ";

/// What helps where the lines of a file contradict each other.
constexpr const char* whole_file = "the whole file as a sweep wrote it";

struct ResultLines {
  std::vector<std::string_view> lines;
  std::string file;
  [[nodiscard]] std::string at(std::size_t i) const { return fmt::format("{} line {}", file, i + 1); }
};

/// A syntax error stands in line 1 of its line.
template <typename T> Expected<T> finish_line(JsonObject& json, T value, const std::string& at) {
  return json.finish(std::move(value)).map_error([&](Error error) {
    return renamed_front(std::move(error), at + ":1:", at + " column ");
  });
}

void read_size(JsonObject& json, const std::string& key, std::uint64_t& out, std::int64_t least = 0) {
  std::int64_t value = least;
  json.read(key, value, IntegerRange{least});
  out = static_cast<std::uint64_t>(value);
}

SweepQuestion read_question(JsonObject json) {
  SweepQuestion q;
  json.read("network", q.network);
  json.read("machine", q.machine);
  json.read("stack", q.stack);
  json.read("profile", q.profile);
  JsonObject fixed = json.object("fixed");
  for (const std::string& key : fixed.keys()) fixed.read(key, q.fixed.emplace_back(key, "").second);
  for (JsonObject& axis : json.objects("axes")) {
    SweepAxis& row = q.axes.emplace_back();
    axis.read("key", row.key);
    axis.read("values", row.values);
  }
  json.read("objective", q.objective);
  json.read("where", q.where);
  json.read("pareto", q.pareto);
  read_size(json, "top", q.top);
  json.read("exhaustive", q.exhaustive);
  json.read("price_per_gpu_hour", q.price_per_gpu_hour, NumberRange{});
  json.read("nouns_hash", q.nouns_hash);
  return q;
}

SweepTally read_tally(JsonObject json) {
  SweepTally tally;
  read_size(json, "enumerated", tally.enumerated);
  JsonObject illegal = json.object("illegal");
  for (const std::string& reason : illegal.keys()) read_size(illegal, reason, tally.illegal[reason]);
  read_size(json, "does_not_fit", tally.does_not_fit);
  read_size(json, "excluded", tally.excluded);
  json.read("smallest_overflow_bytes", tally.smallest_overflow_bytes, NumberRange{0});
  read_size(json, "smallest_overflow_index", tally.smallest_overflow_index);
  return tally;
}

struct HeaderRead {
  SweepResult result;
  std::uint64_t top = 0, pareto = 0;
};

void check_figures(JsonObject& json, const SweepQuestion& question) {
  std::vector<std::string> names = question.pareto;
  names.push_back(question.objective);
  for (const std::string& name : names)
    if (const auto figure = find_figure(name, ""); !figure)
      json.require(false, "question", fmt::format("unknown figure '{}'", name), figure.error().hint);
}

void check_done(JsonObject& json, const SweepResult& result) {
  const IndexRange all = range_of(result.shard, result.question.size());
  std::uint64_t sum = 0;
  Ranges seen;
  for (const IndexRange& range : result.done) {
    const bool ordered = range.begin < range.end && (seen.empty() || seen.back().end < range.begin);
    json.require(
        ordered, "done", fmt::format("{} to {} is not in order", range.begin, range.end), "ranges that do not touch");
    json.require(range.begin >= all.begin && range.end <= all.end, "done",
        fmt::format(
            "{} to {} is outside of shard {}/{}", range.begin, range.end, result.shard.index, result.shard.count),
        fmt::format("{} to {}", all.begin, all.end));
    seen.push_back(range);
    sum += range.size();
  }
  const SweepTally& tally = result.tally;
  json.require(
      tally.enumerated == sum, "tally", fmt::format("{} enumerated, but {} done", tally.enumerated, sum), whole_file);
  json.require(tally.illegal_sum() + tally.does_not_fit + tally.excluded <= sum, "tally",
      "more dismissed than enumerated", whole_file);
}

Expected<HeaderRead> read_header(const ResultLines& text) {
  JsonObject json(text.lines.front(), text.at(0));
  std::int64_t version = 1;
  json.read("stepcast_sweep", version, IntegerRange{1, 1});
  HeaderRead head;
  SweepResult& result = head.result;
  result.question = read_question(json.object("question"));
  std::string hash, check;
  json.read("hash", hash);
  JsonObject shard = json.object("shard");
  read_size(shard, "count", result.shard.count, 1);
  read_size(shard, "index", result.shard.index);
  for (JsonObject& range : json.objects("done")) {
    read_size(range, "begin", result.done.emplace_back().begin);
    read_size(range, "end", result.done.back().end);
  }
  result.tally = read_tally(json.object("tally"));
  JsonObject rows = json.object("rows");
  read_size(rows, "top", head.top);
  read_size(rows, "pareto", head.pareto);
  json.read("check", check);
  if (json.failed()) return finish_line(json, head, text.at(0));
  const std::string real_hash = result.question.hash();
  json.require(
      hash == real_hash, "hash", fmt::format("the question was changed: its hash is {}", real_hash), whole_file);
  const Shard& part = result.shard;
  json.require(
      part.index < part.count, "shard", fmt::format("no shard {}/{}", part.index, part.count), "they count from 0");
  check_figures(json, result.question);
  if (!json.failed()) check_done(json, result);
  const std::uint64_t most = result.question.top;
  json.require(head.top <= most, "rows", fmt::format("{} rows in the top {}", head.top, most), whole_file);
  return finish_line(json, head, text.at(0));
}

bool is_done(const Ranges& done, std::uint64_t index) {
  const auto after = std::upper_bound(
      done.begin(), done.end(), index, [](std::uint64_t i, const IndexRange& range) { return i < range.begin; });
  return after != done.begin() && index < (after - 1)->end;
}

/// Null and absent read alike; the count tells them apart.
void read_result_figures(JsonObject json, Figures& figures) {
  using Limits = std::numeric_limits<double>;
  for (const FigureRow& row : figure_rows()) {
    double& value = figures[static_cast<std::size_t>(row.figure)] = Limits::quiet_NaN();
    json.optional(std::string(row.key), value, NumberRange{Limits::lowest(), Limits::max()});
  }
  const std::size_t found = json.keys().size();
  json.require(
      found == figure_count, "", fmt::format("{} figures", found), fmt::format("{}, null where unknown", figure_count));
}

Expected<SweepRow> read_result_row(
    std::string_view line, const std::string& where, const std::string& list, const SweepResult& result) {
  JsonObject json(line, where);
  SweepRow row;
  std::string found;
  json.read("list", found);
  read_size(json, "index", row.index);
  JsonObject choices = json.object("choices");
  for (const SweepAxis& axis : result.question.axes) choices.read(axis.key, row.choices.emplace_back());
  read_result_figures(json.object("figures"), row.figures);
  json.require(found == list, "list", fmt::format("found '{}'", found), list);
  json.require(is_done(result.done, row.index), "index",
      fmt::format("configuration {} is not among those done", row.index), whole_file);
  return finish_line(json, row, where);
}

/// The rows of one list, which begin at line `first`.
Expected<std::vector<SweepRow>> read_result_list(const ResultLines& text, std::size_t first, std::size_t count,
    const std::string& list, const SweepResult& result, const std::string& by) {
  SweepQuestion order = result.question;
  order.objective = by;
  std::vector<SweepRow> rows;
  for (std::size_t i = first; i < first + count; ++i) {
    TRY(auto row, read_result_row(text.lines[i], text.at(i), list, result));
    if (!rows.empty() && !better(rows.back(), row, order))
      return fail(text.at(i), fmt::format("configuration {} is out of order", row.index),
          fmt::format("the best {} first, equal ones by index", by));
    rows.push_back(std::move(row));
  }
  return rows;
}

Expected<ResultLines> lines_of_result(std::string_view text, const std::string& file) {
  ResultLines out{{}, file};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return fail(out.at(out.lines.size() - 1), "the file is cut short in this line",
          "a whole copy, or a new run under another name");
    text.remove_prefix(end + 1);
  }
  return out;
}

/// Every value is read by now; what is left are changes that keep the form.
Expected<void> check_unchanged(const SweepResult& result, const ResultLines& text) {
  const std::string again = write_result(result);
  const auto lines = lines_of_result(again, text.file);
  for (std::size_t i = 1; i < text.lines.size(); ++i)
    if (text.lines[i] != lines->lines[i])
      return fail(text.at(i), "is not as stepcast wrote it", "the file was changed since");
  if (text.lines[0] != lines->lines[0])
    return fail(text.file, "was changed since stepcast wrote it: the check in line 1 is of other text",
        "an unchanged copy, or a new run under another name");
  return {};
}

}  // namespace

Expected<SweepResult> read_result(const std::string& text, const std::string& where) {
  if (!text.starts_with(result_first_words))
    return fail(
        where, "this is no result of a sweep", "a file that stepcast sweep or merge wrote with the ending .jsonl");
  TRY(const auto lines, lines_of_result(text, where));
  TRY(auto head, read_header(lines));
  SweepResult& result = head.result;
  const std::uint64_t rows = lines.lines.size() - 1, wanted = head.top + head.pareto;
  if (rows < wanted)
    return fail(where, fmt::format("the file is cut short: {} of {} rows are there", rows, wanted), whole_file);
  if (rows > wanted)
    return fail(lines.at(1 + wanted), fmt::format("a row more than the {} that line 1 says", wanted), whole_file);
  TRY(auto top, read_result_list(lines, 1, head.top, "top", result, result.question.objective));
  if (head.pareto > 0 && result.question.pareto.empty())
    return fail(lines.at(1 + head.top), "a row of a Pareto front that nobody asked for",
        "an unchanged copy, or a new run under another name");
  const std::string first = result.question.pareto.empty() ? "" : result.question.pareto.front();
  TRY(auto front, read_result_list(lines, 1 + head.top, head.pareto, "pareto", result, first));
  result.top = std::move(top);
  result.pareto = std::move(front);
  TRY(check_unchanged(result, lines));
  return std::move(head.result);
}

}  // namespace stepcast::sweep
