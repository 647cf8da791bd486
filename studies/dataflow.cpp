// stepcast dataflow: a program of the notation with its own operators, placed: which collectives follow, and their bytes.
#include <fmt/format.h>

#include "dataflow/block.h"
#include "dataflow/moves.h"
#include "dataflow/written.h"
#include "model/json_reader.h"
#include "model/json_writer.h"
#include "model/quantity_text.h"
#include "studies/commands.h"
#include "studies/report/table.h"

namespace stepcast {
namespace {

struct MoveRow {
  std::string pass, kind, tensor, axis;
  std::int64_t ranks = 1;
  double received = 0;
  std::string from, to;
};

void add_rows(const Network& network, const PlacedNetwork& placed, const std::vector<PlacedItem>& items, const char* pass, std::vector<MoveRow>& rows) {
  const PlacedBlock& block = placed.blocks.front();
  for (const PlacedItem& item : items) {
    if (item.kind != PlacedKind::move || item.move == MoveKind::slice || item.move == MoveKind::mask) continue;
    const Copy &from = block.copies[item.reads.front()], &to = block.copies[item.writes.front()];
    rows.push_back({pass, to_text(item.move), (from.gradient ? "d" : "") + network.tensors[from.tensor].name, placed.mesh.label(item.atoms),
                    placed.mesh.size_of(item.atoms), item.received, to_text(from.place, network, from.tensor, placed.mesh),
                    to_text(to.place, network, to.tensor, placed.mesh)});
  }
}

Expected<std::vector<MoveRow>> moves_of(const std::string& text, const std::string& file) {
  auto program = parse(text, file);
  if (!program) return tl::unexpected(program.error());
  if (program->meshes.empty()) return fail(file, "the program has no mesh line", "start with one, such as 'mesh x:4 y:4'");
  auto network = network_of(*program);
  if (!network) return tl::unexpected(network.error());
  auto statements = expand(*program);
  if (!statements) return tl::unexpected(statements.error());
  std::int64_t ranks = 1;
  for (const auto& axis : program->meshes.front().axes) ranks *= axis.size;
  auto placed = place(*network, program->meshes, *statements, ranks, {});
  if (!placed) return tl::unexpected(placed.error());
  std::vector<MoveRow> rows;
  const PlacedBlock& block = placed->blocks.front();
  add_rows(*network, *placed, block.forward, "forward", rows);
  add_rows(*network, *placed, block.backward, "backward", rows);
  add_rows(*network, *placed, block.step, "step", rows);
  return rows;
}

std::string json_text(const std::vector<MoveRow>& rows) {
  JsonWriter json;
  json.open();
  json.open_list("collectives");
  for (const MoveRow& row : rows) {
    json.open();
    json.field("pass", row.pass);
    json.field("kind", row.kind);
    json.field("tensor", row.tensor);
    json.field("axis", row.axis);
    json.field("group_size", row.ranks);
    json.field("received_bytes", row.received);
    json.field("from", row.from);
    json.field("to", row.to);
    json.close();
  }
  json.close();
  json.close();
  return json.text();
}

}  // namespace

Expected<void> dataflow_command(const Arguments& arguments, Console& console) {
  const std::string& file = arguments.words.front();
  auto text = read_text_file(file);
  if (!text) return tl::unexpected(text.error());
  auto rows = moves_of(*text, file);
  if (!rows) return tl::unexpected(rows.error());
  if (arguments.has("--json")) {
    console.out << json_text(*rows);
    return {};
  }
  Table table({{"pass"}, {"collective"}, {"tensor"}, {"axis"}, {"ranks", Align::right}, {"received/rank", Align::right}, {"from"}, {"to"}});
  for (const MoveRow& row : *rows)
    table.add({row.pass, row.kind, row.tensor, row.axis, std::to_string(row.ranks), fmt::format("{:.0f} B", row.received), row.from, row.to});
  console.out << (table.empty() ? "no collective: every operand is where it is needed\n" : table.text(""));
  return {};
}

}  // namespace stepcast
