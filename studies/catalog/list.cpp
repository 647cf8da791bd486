// stepcast list: the rows of the catalogue with their main figures.
#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/catalog.h"
#include "model/failure_rates.h"
#include "model/base/contains.h"
#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "sim/schedule/schedule_table.h"
#include "studies/catalog/kinds.h"
#include "studies/print/csv.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::catalog {
namespace {

/// A cell for people and the value behind it for programs.
struct Cell {
  std::string text;
  std::variant<std::string, double> value;
};

struct Listing {
  struct Column {
    std::string key, heading;
    Align align = Align::left;
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

Cell word(const std::string& text) { return {text.empty() ? "-" : text, text}; }
Cell number(double value) { return {grouped_digits(value), value}; }
template <typename Format, typename Q> Cell quantity(Format format, Q q) {
  return {q.value() > 0 ? format(q) : "-", q.value()};
}

Listing networks() {
  Listing list{{{"id", "id"}, {"parameters", "parameters", Align::right}, {"layers", "layers", Align::right},
                   {"hidden", "hidden", Align::right}, {"heads", "heads", Align::right},
                   {"kv_heads", "kv", Align::right}, {"ffn_hidden", "MLP", Align::right},
                   {"vocab", "vocab", Align::right}, {"sequence", "sequence", Align::right}, {"name", "name"}},
      {}};
  for (const NetworkSpec& row : built_in().networks) {
    const auto count = static_cast<double>(parameter_count(row));
    list.rows.push_back({word(row.id), {fmt::format("{:.4g} B", count / 1e9), count}, number(row.layers),
        number(row.hidden), number(row.heads), number(row.kv_heads), number(row.ffn_hidden), number(row.vocab),
        number(row.sequence), word(row.name)});
  }
  return list;
}

Listing machines() {
  Listing list{{{"id", "id"}, {"gpu", "gpu"}, {"gpus_per_node", "GPUs/node", Align::right},
                   {"inside_bytes_per_s", "inside", Align::right}, {"outside_bytes_per_s", "outside", Align::right},
                   {"max_gpus", "most GPUs", Align::right}, {"name", "name"}},
      {}};
  for (const Machine& row : built_in().machines) {
    const BytesPerSecond outside = row.levels.size() > 1 ? row.levels[1].bandwidth_per_gpu : BytesPerSecond(0);
    list.rows.push_back({word(row.id), word(row.gpu.id), number(row.levels[0].gpus),
        quantity(format_rate, row.levels[0].bandwidth_per_gpu), quantity(format_rate, outside), number(row.max_gpus()),
        word(row.name)});
  }
  return list;
}

Listing gpus() {
  Listing list{{{"id", "id"}, {"architecture", "architecture"}, {"memory_bytes", "memory", Align::right},
                   {"memory_bandwidth_bytes_per_s", "bandwidth", Align::right},
                   {"bf16_flops_per_s", "bf16 dense", Align::right}, {"fp8_flops_per_s", "fp8 dense", Align::right},
                   {"scale_up_bytes_per_s", "scale-up", Align::right}, {"name", "name"}},
      {}};
  const auto rate = [](FlopsPerSecond flops) { return format_flops(flops); };
  for (const Gpu& row : built_in().gpus)
    list.rows.push_back({word(row.id), word(row.architecture), quantity(format_bytes, row.memory),
        quantity(format_rate, row.memory_bandwidth), quantity(rate, row.peak[static_cast<int>(Precision::bf16)]),
        quantity(rate, row.peak[static_cast<int>(Precision::fp8)]), quantity(format_rate, row.scale_up_bandwidth),
        word(row.name)});
  return list;
}

Listing profiles() {
  Listing list{{{"id", "id"}, {"gpu", "gpu"}, {"regime", "regime"}, {"precisions", "precisions"}, {"source", "source"},
                   {"name", "name"}},
      {}};
  for (const ProfileRow& profile : built_in().profiles) {
    const Profile& row = profile.steps();
    std::vector<std::string> precisions;
    for (const RooflineLaw& law : row.gemm)
      if (!contains(precisions, to_text(law.precision))) precisions.emplace_back(to_text(law.precision));
    const char* source = row.gemm.empty() ? "" : to_text(row.gemm.front().source);
    list.rows.push_back({word(row.id), word(row.gpu), word(row.regime),
        word(fmt::format("{}", fmt::join(precisions, ", "))), word(source), word(row.name)});
  }
  return list;
}

Listing engines() {
  Listing list{{{"id", "id"}, {"from", "from"}, {"until", "until"}, {"captured", "graphs"}, {"name", "name"}}, {}};
  for (const Engine& row : built_in().engines)
    list.rows.push_back(
        {word(row.id), word(row.from), word(row.until), word(row.captured ? "yes" : "no"), word(row.name)});
  return list;
}

Listing failures() {
  Listing list{{{"id", "id"}, {"per_node_day", "per node-day", Align::right}, {"low", "low", Align::right},
                   {"high", "high", Align::right}, {"fixed_per_day", "per day", Align::right},
                   {"taken", "repaired", Align::right}, {"name", "name"}},
      {}};
  for (const FailureRates& row : failure_rates())
    list.rows.push_back(
        {word(row.id), number(row.per_node_day.value), number(row.per_node_day.low), number(row.per_node_day.high),
            number(row.fixed_per_day.value), {format_percent(row.taken), row.taken}, word(row.name)});
  return list;
}

Listing stacks() {
  Listing list{{{"id", "id"}, {"from", "from"}, {"until", "until"}, {"attention", "attention"}, {"name", "name"}}, {}};
  for (const Stack& row : built_in().stacks)
    list.rows.push_back({word(row.id), word(row.from), word(row.until),
        word(row.attention == AttentionForm::fused ? "fused" : "unfused"), word(row.name)});
  return list;
}

/// How many chunks a kind takes; the table itself says whether one is enough.
std::string chunks_text(const ScheduleKind& kind) {
  if (!kind.takes_chunks) return std::to_string(std::max(1, kind.own_chunks));
  return check_size(kind, {.ranks = 2, .chunks = 1, .micro_batches = 4}) ? "1 or more" : "2 or more";
}

Listing schedules() {
  Listing list{{{"id", "id"}, {"chunks", "chunks"}, {"name", "name"}, {"source", "source"}}, {}};
  for (const ScheduleKind& row : schedule_kinds())
    list.rows.push_back({word(row.id), word(chunks_text(row)), word(row.name), word(row.source)});
  return list;
}

Listing listing(RowKind kind) {
  switch (kind) {
    case RowKind::network: return networks();
    case RowKind::machine: return machines();
    case RowKind::gpu: return gpus();
    case RowKind::profile: return profiles();
    case RowKind::stack: return stacks();
    case RowKind::engine: return engines();
    case RowKind::failures: return failures();
    case RowKind::schedule: return schedules();
  }
  return {};
}

std::string as_text(const Listing& list, const Paint& paint) {
  std::vector<Table::Column> columns;
  for (const Listing::Column& column : list.columns) columns.push_back({paint.dim(column.heading), column.align});
  Table table(columns);
  for (const std::vector<Cell>& row : list.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(cell.text);
    table.add(std::move(cells));
  }
  return table.text("");
}

std::string as_json(const Listing& list, const std::string& kind) {
  JsonWriter json;
  json.open();
  json.open_list(kind);
  for (const std::vector<Cell>& row : list.rows) {
    json.open();
    for (std::size_t c = 0; c < row.size(); ++c)
      std::visit([&](const auto& value) { json.field(list.columns[c].key, value); }, row[c].value);
    json.close();
  }
  json.close();
  json.close();
  return json.text();
}

}  // namespace

Expected<void> list_command(const Arguments& arguments, Console& console) {
  const std::string& word = arguments.words.at(0);
  TRY(const auto kind, parse_row_kind(word));
  const Listing list = listing(kind);
  if (arguments.has("--csv")) console.out << csv_of(as_json(list, word), {word});
  else console.out << (arguments.has("--json") ? as_json(list, word) : as_text(list, Paint(console)));
  return {};
}

}  // namespace stepcast::catalog
